// The baseline that is remembered is the one that would be predicted: to the bit.
#include "simulator/answers/single_memo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/fields.h"
#include "simulator/result/json.h"
#include "tests/simulator/answers/fake_machine.h"

namespace lockstep {
namespace {

using testing::FakeMachine;
using testing::inputs_of;

// With a copy from the host, so that links of the machine are used.
const char* const kScenario =
    "topology: {node: dgx-a100-80gb, fabric: ib-hdr-8x200}\ngpus: 16\nstrategy: ddp\nbatch: {per_gpu: 32}\n"
    "input: {source: host}\nprecision: amp-fp16\naccumulate: {steps: 2}\ncalibrate: {single_gpu: 900img/s}\n"
    "data: {samples: 1000000}\n";

// Another value than kScenario's for every key that one GPU is said not to feel.
const std::map<std::string, std::string>& other_values() {
  static const std::map<std::string, std::string> values = {{"question", "why"},
                                                            {"gpus", "64"},
                                                            {"strategy", "dp"},
                                                            {"ddp.bucket_cap", "5MiB"},
                                                            {"ddp.first_bucket", "2MiB"},
                                                            {"ddp.gradient_as_bucket_view", "true"},
                                                            {"ddp.broadcast_buffers", "false"},
                                                            {"ddp.find_unused_parameters", "true"},
                                                            {"ddp.static_graph", "true"},
                                                            {"accumulate.no_sync", "false"},
                                                            {"data.samples", "77"},
                                                            {"data.epochs", "3"},
                                                            {"data.validation_samples", "5"},
                                                            {"data.startup", "9s"},
                                                            {"price_per_gpu_hour", "2.5"},
                                                            {"topology.fabric", "eth-10g"},
                                                            {"topology.override.nvlink.rate", "50GB/s"},
                                                            {"topology.override.nvlink.latency", "5us"},
                                                            {"topology.override.nic.rate", "1GB/s"},
                                                            {"topology.override.nic.latency", "50us"},
                                                            {"topology.override.wan.rate", "1GB/s"},
                                                            {"topology.override.wan.latency", "5ms"},
                                                            {"software.nccl", "\"2.19.3\""},
                                                            {"input.dp_copy", "scatter"}};
  return values;
}

PointInputs single_of(const Inputs& inputs) {
  PointInputs point;
  point.scenario = &inputs.scenario();
  point.model = &inputs.model;
  point.topology = &inputs.topology;
  point.per_gpu_batch = 32;
  point.micro_steps = 2;
  return point;
}

std::vector<std::string> sets_for(const std::string& key, const std::string& value) {
  // Only a wide-area fabric has such a line.
  if (key.find(".wan.") != std::string::npos) return {"topology.fabric=wan-10g-50ms", key + "=" + value};
  return {key + "=" + value};
}

int live_choices(const FieldInfo& field) {
  int live = 0;
  for (const FieldChoice& choice : field.choices) live += choice.later ? 0 : 1;
  return live;
}

TEST(SingleMemo, leaves_out_only_keys_that_do_not_change_one_gpu_by_a_bit) {
  const Inputs plain = inputs_of(kScenario);
  const PointInputs single = single_of(plain);
  const std::string expected = run_to_message(predict_point(single, {Method::Estimate, false, false}));
  const KernelCalibration calibration = calibrate_kernels(single, 0.02);
  for (const FieldInfo& field : scenario_fields().info().fields) {
    const bool settable = field.type != FieldType::Later && field.type != FieldType::Ignored;
    // ddp.hook: predictions take none only.
    const bool one_value = (field.type == FieldType::Choice && live_choices(field) < 2) || field.key == "ddp.hook";
    if (one_gpu_feels(field.key) || !settable || one_value) continue;
    ASSERT_EQ(other_values().count(field.key), 1u) << field.key << ": give another value to try";
    const Inputs changed = inputs_of(kScenario, sets_for(field.key, other_values().at(field.key)));
    EXPECT_EQ(run_to_message(predict_point(single_of(changed), {Method::Estimate, false, false})), expected)
        << field.key;
    EXPECT_EQ(calibrate_kernels(single_of(changed), 0.02).factor, calibration.factor) << field.key;
  }
}

TEST(SingleMemo, asks_once_for_what_is_the_same_and_again_for_what_is_not) {
  FakeMachine machine;
  SingleMemo memo;
  const PointSource source = memo.around(machine.source());
  const auto ask = [&](const std::vector<std::string>& sets, int micro_steps = 1) {
    const Inputs inputs = inputs_of(kScenario, sets);
    PointInputs single = single_of(inputs);
    single.micro_steps = micro_steps;
    EXPECT_TRUE(source.run(single, {Method::Simulate, false, false}));
    return machine.runs;
  };
  EXPECT_EQ(ask({}), 1);
  EXPECT_EQ(ask({}), 1);
  EXPECT_EQ(ask({"gpus=8", "ddp.bucket_cap=1MiB"}), 1);
  EXPECT_EQ(ask({"host.factor=2"}), 2);
  EXPECT_EQ(ask({"topology.override.pcie.rate=4GB/s"}), 3);
  EXPECT_EQ(ask({}, 4), 4);
  EXPECT_EQ(ask({"seed=2"}), 5);
  EXPECT_EQ(ask({}), 5);
}

TEST(SingleMemo, passes_on_everything_that_is_not_the_baseline) {
  FakeMachine machine;
  SingleMemo memo;
  const PointSource source = memo.around(machine.source());
  const Inputs inputs = inputs_of(kScenario);
  PointInputs point = single_of(inputs);
  point.strategy = Strategy::Ddp;
  point.gpus = 8;
  for (int i = 1; i <= 3; ++i) {
    EXPECT_TRUE(source.run(point, {}));
    EXPECT_EQ(machine.runs, i);
  }
  point.strategy = Strategy::Single;
  EXPECT_TRUE(source.run(point, {Method::Simulate, true, false}));
  const auto timeline = source.run(point, {Method::Simulate, true, false});
  ASSERT_TRUE(timeline);
  EXPECT_FALSE(timeline->timeline.empty());
  EXPECT_EQ(machine.runs, 5);
}

TEST(SingleMemo, does_not_keep_what_failed_nor_grow_without_end) {
  FakeMachine machine;
  machine.dies_in = Strategy::Single;
  SingleMemo memo;
  const PointSource source = memo.around(machine.source());
  const Inputs inputs = inputs_of(kScenario);
  PointInputs single = single_of(inputs);
  EXPECT_FALSE(source.run(single, {}));
  machine.dies_in.reset();
  EXPECT_TRUE(source.run(single, {}));
  for (int batch = 1; batch <= 600; ++batch) {
    single.per_gpu_batch = batch;
    EXPECT_TRUE(source.run(single, {}));
  }
  const int before = machine.runs;
  single.per_gpu_batch = 600;
  EXPECT_TRUE(source.run(single, {}));
  EXPECT_EQ(machine.runs, before);
  single.per_gpu_batch = 1;  // the oldest went first
  EXPECT_TRUE(source.run(single, {}));
  EXPECT_EQ(machine.runs, before + 1);
}

}  // namespace
}  // namespace lockstep
