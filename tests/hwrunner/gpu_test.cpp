// NVML against a library of the test's own, and the slow-down measurement against a trainer and a kernel of its own: no
// GPU, no LibTorch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <thread>

#include "hwrunner/gpu/event_clock.h"
#include "hwrunner/gpu/gpu_watch.h"
#include "hwrunner/gpu/nvml.h"
#include "hwrunner/gpu/slowdown.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

class NvmlReader : public ::testing::Test {
 protected:
  static Nvml opened(const char* mood = "") {
    setenv("FAKE_NVML", mood, 1);
    auto nvml = Nvml::open(LOCKSTEP_FAKE_NVML);
    EXPECT_TRUE(nvml) << to_text(nvml.error().front());
    return *std::move(nvml);
  }
};

TEST_F(NvmlReader, reads_names_clocks_and_links_in_si_units) {
  const Nvml nvml = opened();
  EXPECT_EQ(nvml.driver_version(), "580.65.06");
  ASSERT_EQ(nvml.count(), 2);
  const NvmlGpu gpu = nvml.gpu(0);
  EXPECT_EQ(gpu.name, "NVIDIA A100-SXM4-80GB");
  EXPECT_EQ(gpu.uuid, "GPU-aa");
  EXPECT_EQ(gpu.memory_bytes, 85899345920);
  EXPECT_DOUBLE_EQ(gpu.max_sm_clock_hz, 1.41e9);
  EXPECT_EQ(gpu.pcie_generation, 4);
  EXPECT_EQ(gpu.pcie_width, 16);
  EXPECT_EQ(gpu.nvlinks, 11);  // twelve, one of them down
  EXPECT_EQ(nvml.path_between(0, 1), "host bridge");
}

TEST_F(NvmlReader, samples_utilisation_clock_power_temperature_memory_and_reasons) {
  const Nvml nvml = opened();
  const NvmlSample sample = nvml.sample(0);
  EXPECT_DOUBLE_EQ(sample.utilisation.value(), 0.87);
  EXPECT_DOUBLE_EQ(sample.sm_clock_hz.value(), 1.2e9);
  EXPECT_DOUBLE_EQ(sample.power_w.value(), 401.5);
  EXPECT_DOUBLE_EQ(sample.temperature_c.value(), 63);
  EXPECT_EQ(sample.memory_used_bytes.value(), 5899345920);
  EXPECT_THAT(throttle_reasons(sample.clock_reasons_bits.value()), ElementsAre("power cap", "thermal"));
  EXPECT_THAT(throttle_reasons(nvml.sample(1).clock_reasons_bits.value()), IsEmpty());
}

TEST_F(NvmlReader, leaves_out_what_a_gpu_does_not_tell) {
  const Nvml nvml = opened("silent");
  const NvmlSample sample = nvml.sample(0);
  EXPECT_FALSE(sample.utilisation || sample.sm_clock_hz || sample.power_w || sample.temperature_c);
  EXPECT_FALSE(sample.memory_used_bytes || sample.clock_reasons_bits);
  EXPECT_EQ(nvml.path_between(0, 1), "unknown");
  EXPECT_EQ(nvml.gpu(0).nvlinks, 0);
  EXPECT_FALSE(nvml.sample(7).utilisation);  // no such GPU
  NvmlSummary summary;
  summary.add(sample);
  EXPECT_THAT(summary.facts(), ElementsAre(Pair("gpu_samples", "1"), Pair("gpu_throttled", "no")));
}

TEST_F(NvmlReader, finds_a_gpu_by_its_place_on_the_bus) {
  const Nvml nvml = opened();
  EXPECT_EQ(nvml.index_of("0000:1b:00.0"), 1);
  EXPECT_EQ(nvml.index_of("0000:ff:00.0"), std::nullopt);
}

TEST_F(NvmlReader, the_fingerprint_counts_gpus_as_cuda_does) {
  const auto facts = nvml_fingerprint(opened(), {1, 0});
  EXPECT_EQ(facts.at("driver"), "580.65.06");
  EXPECT_EQ(facts.at("gpu0"), "NVIDIA H200");
  EXPECT_EQ(facts.at("gpu1"), "NVIDIA A100-SXM4-80GB");
  EXPECT_EQ(facts.at("gpu1_pcie"), "gen4 x16");
  EXPECT_EQ(facts.at("gpu1_nvlinks"), "11");
  EXPECT_EQ(facts.at("gpu0_gpu1"), "host bridge");
}

TEST_F(NvmlReader, says_that_there_is_no_driver_or_what_the_library_says) {
  const auto none = Nvml::open("libnvidia-ml-that-is-not-there.so.1");
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().front().message, HasSubstr("no NVIDIA driver here"));
  setenv("FAKE_NVML", "broken", 1);
  const auto broken = Nvml::open(LOCKSTEP_FAKE_NVML);
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().front().message, "NVML: Driver Not Loaded");
  const auto other = Nvml::open("libm.so.6");
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().front().message, HasSubstr("has no nvmlInit_v2"));
}

TEST_F(NvmlReader, a_watch_sums_up_what_it_saw_and_warns_of_throttling) {
  GpuWatch watch(opened(), 0);
  EXPECT_THAT(watch.facts(), IsEmpty());
  watch.start();
  while (watch.facts().empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const auto facts = watch.facts();
  EXPECT_EQ(facts.at("gpu_utilisation"), "0.87");
  EXPECT_EQ(facts.at("gpu_sm_clock_hz_min"), "1.2e+09");
  EXPECT_EQ(facts.at("gpu_throttled"), "power cap 100 %, thermal 100 %");
  ASSERT_EQ(watch.warnings().size(), 1U);
  EXPECT_THAT(watch.warnings().front(), HasSubstr("power cap in 100 % of the samples"));
  EXPECT_THAT(watch.warnings().front(), HasSubstr("1200 MHz"));
}

TEST(GpuWatch, without_nvml_knows_nothing) {
  GpuWatch watch(std::nullopt, 0);
  watch.start();
  EXPECT_THAT(watch.facts(), IsEmpty());
  EXPECT_THAT(watch.warnings(), IsEmpty());
}

TEST(NvmlSummary, warns_from_a_tenth_of_the_samples_on) {
  NvmlSummary summary;
  NvmlSample capped, free;
  capped.clock_reasons_bits = 0x4;
  capped.sm_clock_hz = 1e9;
  free.clock_reasons_bits = 0x1;  // idle
  free.sm_clock_hz = 2e9;
  for (int i = 0; i < 10; ++i) summary.add(free);
  EXPECT_FALSE(summary.warning());
  EXPECT_EQ(summary.facts().at("gpu_throttled"), "no");
  summary.add(capped);
  EXPECT_FALSE(summary.warning());  // one of eleven
  summary.add(capped);
  ASSERT_TRUE(summary.warning());
  EXPECT_EQ(summary.facts().at("gpu_sm_clock_hz_min"), "1e+09");
}

// --- The clock of events ------------------------------------------------------------------------------

// As cudaEventElapsedTime: a float of milliseconds.
struct FakeEvent {
  double at_s = 0;
  double since(const FakeEvent& earlier) const {
    const float milliseconds = static_cast<float>((at_s - earlier.at_s) * 1e3);
    EXPECT_GE(milliseconds, 0) << "an event from before the one that is measured from";
    EXPECT_LE(milliseconds, 60e3);
    return static_cast<double>(milliseconds) * 1e-3;
  }
};

TEST(EventClock, stays_exact_for_hours) {
  EventClock<FakeEvent> clock(std::make_shared<FakeEvent>(FakeEvent{100}), 5000);
  double worst_s = 0;
  for (double at = 100; at < 100 + 4 * 3600; at += 0.731) {
    const double told = clock.seconds(std::make_shared<FakeEvent>(FakeEvent{at}));
    worst_s = std::max(worst_s, std::abs(told - 5000 - (at - 100)));
  }
  EXPECT_LT(worst_s, 200e-6);  // the rounding of some 3000 replacements adds up like a random walk
}

TEST(EventClock, takes_marks_of_some_seconds_in_any_order) {
  EventClock<FakeEvent> clock(std::make_shared<FakeEvent>(FakeEvent{0}), 10);
  for (double end = 4; end < 200; end += 3.7) {
    EXPECT_NEAR(clock.seconds(std::make_shared<FakeEvent>(FakeEvent{end})), 10 + end, 5e-5);
    for (double at = end - 4; at < end; at += 0.9)  // buckets, after the step that they belong to
      EXPECT_NEAR(clock.seconds(std::make_shared<FakeEvent>(FakeEvent{at})), 10 + at, 5e-5);
  }
}

TEST(EventClock, bears_steps_longer_than_it_renews_itself) {
  EventClock<FakeEvent> clock(std::make_shared<FakeEvent>(FakeEvent{0}), 0);
  for (double at = 0; at < 300; at += 20)
    EXPECT_NEAR(clock.seconds(std::make_shared<FakeEvent>(FakeEvent{at})), at, 5e-5);
}

// --- Beside a kernel ------------------------------------------------------------------------------------

// A step of 1 s forward and 2 s backward; a kernel of k blocks makes the backward pass take k per cent more.
class FakeTrainer : public RankTrainer {
 public:
  std::string implementation() const override { return "fake"; }
  std::map<std::string, std::string> software() const override { return {}; }
  TrainedStep step() override {
    ++steps;
    TrainedStep step;
    step.parts = {{"forward", 1}, {"backward", 2 * (1 + beside / 100.0)}, {"optimizer", 0.5}};
    return step;
  }
  int steps = 0, beside = 0;
};

class Slowdown : public ::testing::Test {
 protected:
  SideWork kernel() {
    return {[this](const SideLoad& load) -> tl::expected<void, Errors> {
              loads.push_back(load);
              trainer.beside = load.blocks;
              return {};
            },
            [this]() -> Expected<SideRun> {
              trainer.beside = 0;
              return SideRun{loads.back().rate_bps * 3, 3.0};
            }};
  }
  FakeTrainer trainer;
  std::vector<SideLoad> loads;
};

TEST_F(Slowdown, takes_every_number_of_blocks_at_every_rate_between_two_steps_alone) {
  SlowdownOptions options;
  options.blocks = {1, 32};
  options.rates_bps = {0, 1e9};
  options.warm_up = 2;
  options.steps = 3;
  SideWork work = kernel();
  const auto rows = measure_slowdown(trainer, work, options);
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 6U);
  EXPECT_EQ(trainer.steps, 2 + 6 * 3);
  EXPECT_EQ(rows->front().blocks, 0);
  EXPECT_EQ(rows->back().blocks, 0);
  EXPECT_DOUBLE_EQ((*rows)[2].backward_ratio, 1.32);
  EXPECT_DOUBLE_EQ((*rows)[2].forward_s, 1);
  EXPECT_DOUBLE_EQ((*rows)[4].moved_bps, 1e9);
  ASSERT_EQ(loads.size(), 4U);
  EXPECT_DOUBLE_EQ(loads.front().most_s, 100 * 3 * 3.5);
  EXPECT_THAT(slowdown_csv(*rows), HasSubstr("\n32,1e+09,1e+09,1,2.64,4.14,1.32\n"));
}

TEST_F(Slowdown, gives_back_what_the_kernel_complains_of) {
  SideWork work = kernel();
  work.start = [](const SideLoad&) -> tl::expected<void, Errors> {
    Error error;
    error.message = "no such kernel";
    return tl::unexpected(Errors{error});
  };
  const auto rows = measure_slowdown(trainer, work, {});
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().front().message, "no such kernel");
}

}  // namespace
}  // namespace lockstep
