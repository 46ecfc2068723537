// The program for GPUs: without one it starts, says what is missing and still trains over Gloo. With one (the last
// group), GPUs give the gradients that CPUs give.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "hwrunner/cuda/cuda_device.h"
#include "hwrunner/cuda/cuda_facts.h"
#include "hwrunner/gpu/side_kernel.h"
#include "hwrunner/launch/launcher.h"
#include "hwrunner/measure/runner_program.h"
#include "hwrunner/trainers/trainer.h"
#include "tests/hwrunner/ranks.h"
#include "tests/models/zoo_helpers.h"
#include "tests/simulator/cli/in_process.h"

namespace lockstep {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Key;
using testing::lockstep_in_process;
using ::testing::Not;
using testing::Outcome;
using ::testing::StartsWith;

constexpr const char* kScenario =
    "model: {mlp: {inputs: 40, hidden: [64], outputs: 10}}\nbatch: {per_gpu: 4}\n"
    "topology: {node: cpu-host, gpus_per_node: 2}\ngpus: [2]\nstrategy: [dp, ddp]\n"
    "measure: {steps: 3, warm_up: 2, repeats: 1, timeout: 30s}\n";

// GPUs that are there are hidden from the program.
class CudaRunner : public ::testing::Test {
 protected:
  CudaRunner() {
    for (const char* name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "GLOO_SOCKET_IFNAME"}) unsetenv(name);
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    setenv("LOCKSTEP_HWRUNNER", LOCKSTEP_HWRUNNER_CUDA, 1);
  }
  static std::string what_is_missing_here() {
    return std::filesystem::exists("/dev/nvidiactl") ? "there is an NVIDIA driver but no GPU"
                                                     : "there is no NVIDIA driver on this machine";
  }
  static RunPlan plan_of(Strategy strategy, int world_size) {
    RunPlan plan;
    plan.strategy = strategy;
    plan.world_size = world_size;
    plan.per_gpu_batch = 4;
    plan.warm_up = plan.steps = 2;
    plan.instrumented = true;
    plan.timeouts = {60, 60, 80};
    plan.scenario = kScenario;
    return plan;
  }
  static LaunchOutcome launched(const RunPlan& plan) {
    LaunchOptions options;
    options.program = LOCKSTEP_HWRUNNER_CUDA;
    return launch(plan, options);
  }
};

TEST_F(CudaRunner, starts_and_says_which_piece_is_missing) {
  const auto probe = probe_runner(Backend::Gloo, true);
  ASSERT_TRUE(probe) << to_text(probe.error().front());
  EXPECT_THAT(probe->backends, ElementsAre("gloo"));
  EXPECT_TRUE(probe->devices.empty());
  EXPECT_THAT(probe->missing, StartsWith(what_is_missing_here()));
  for (const char* name : {"torch", "cuda", "nccl"}) EXPECT_THAT(probe->software, Contains(Key(name)));
}

TEST_F(CudaRunner, trains_over_gloo_on_the_cpu) {
  for (const Strategy strategy : {Strategy::Single, Strategy::Ddp, Strategy::Dp}) {
    const LaunchOutcome outcome = launched(plan_of(strategy, strategy == Strategy::Single ? 1 : 2));
    EXPECT_FALSE(outcome.failure) << outcome.failure->sentence;
    int steps = 0;
    for (const RankLog& rank : outcome.ranks)
      for (const Record& record : rank.records) steps += std::holds_alternative<RankStepRecord>(record) ? 1 : 0;
    EXPECT_EQ(steps, strategy == Strategy::Ddp ? 8 : 4);
  }
}

TEST_F(CudaRunner, a_rank_that_is_asked_for_gpus_names_what_is_missing) {
  for (const Backend backend : {Backend::Nccl, Backend::Gloo}) {
    RunPlan plan = plan_of(Strategy::Ddp, 2);
    plan.backend = backend;
    plan.on_gpus = true;
    const LaunchOutcome outcome = launched(plan);
    ASSERT_TRUE(outcome.failure);
    EXPECT_THAT(outcome.failure->sentence, HasSubstr(what_is_missing_here()));
  }
}

TEST_F(CudaRunner, the_runner_for_cpus_refuses_a_plan_on_gpus) {
  RunPlan plan = plan_of(Strategy::Single, 1);
  plan.on_gpus = true;
  LaunchOptions options;
  options.program = LOCKSTEP_HWRUNNER;
  const LaunchOutcome outcome = launch(plan, options);
  ASSERT_TRUE(outcome.failure);
  EXPECT_TRUE(outcome.failure->refused);
  EXPECT_THAT(outcome.failure->sentence, HasSubstr("built for CPUs"));
}

TEST_F(CudaRunner, measure_with_nccl_says_what_is_missing_and_ends_with_2) {
  const Outcome outcome = lockstep_in_process({"measure", "-", "--backend", "nccl", "--set", "topology=dgx-a100-80gb"},
                                              std::string(kScenario));
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("no NCCL here: " + what_is_missing_here()));
  EXPECT_THAT(outcome.err, HasSubstr("--backend gloo"));
  EXPECT_EQ(outcome.out, "");
}

TEST_F(CudaRunner, measure_without_the_program_for_gpus_says_how_to_get_it) {
  setenv("LOCKSTEP_HWRUNNER", "/nowhere/lockstep-hwrunner-cuda", 1);
  const Outcome outcome = lockstep_in_process({"measure", "-", "--backend", "nccl", "--set", "topology=dgx-a100-80gb"},
                                              std::string(kScenario));
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("./lockstep.sh libtorch cuda"));
  EXPECT_THAT(outcome.err, HasSubstr("unset LOCKSTEP_HWRUNNER"));
}

struct Said {
  std::string text;  // both outputs
  int code = -1;
};
Said said_by(const std::string& line) {
  Said said;
  FILE* pipe = popen((line + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return said;
  said.text.resize(1 << 16);
  said.text.resize(fread(said.text.data(), 1, said.text.size(), pipe));
  const int status = pclose(pipe);
  said.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return said;
}

TEST_F(CudaRunner, commands_of_its_own_end_with_2_and_the_cause) {
  for (const char* command : {"slowdown", "watch"}) {
    const bool watches = std::string(command) == "watch";
    if (watches && std::filesystem::exists("/dev/nvidiactl")) continue;  // it would go on
    const Said said = said_by(std::string("'") + LOCKSTEP_HWRUNNER_CUDA + "' " + command +
                              (watches ? "" : " '" LOCKSTEP_SOURCE_DIR "/scenarios/gallery/cpu-two-ranks.yaml'"));
    EXPECT_EQ(said.code, 2) << said.text;
    EXPECT_THAT(said.text, AnyOf(HasSubstr(what_is_missing_here()), HasSubstr("no NVIDIA driver here")));
  }
}

TEST_F(CudaRunner, commands_of_its_own_name_the_word_that_is_wrong) {
  const std::string program = std::string("'") + LOCKSTEP_HWRUNNER_CUDA + "' ";
  for (const auto& [words, wrong] : {std::pair("slowdown", "a scenario file"),
                                     {"slowdown x --blocks 1,,2", "1,,2"},
                                     {"slowdown x --steps 0", "--steps 0"},
                                     {"slowdown a b", "found b"},
                                     {"watch --every 0", "found 0"},
                                     {"watch now", "only --every"}}) {
    const Said said = said_by(program + words);
    EXPECT_EQ(said.code, 64) << words;
    EXPECT_THAT(said.text, HasSubstr(wrong));
  }
}

// --- gpu-check ------------------------------------------------------------------------------------------

class GpuCheck : public CudaRunner {
 protected:
  GpuCheck()
      : folder_(std::filesystem::path(::testing::TempDir()) / ("lockstep-gpu-check-" + std::to_string(getpid()))) {}
  ~GpuCheck() override { std::filesystem::remove_all(folder_); }
  Said said(const std::string& options) const {
    return said_by("'" LOCKSTEP_SOURCE_DIR "/hwrunner/gpu-check' " + options);
  }
  std::filesystem::path folder_;
};

TEST_F(GpuCheck, without_a_gpu_says_what_is_missing_and_ends_with_2) {
  const std::string bin = std::filesystem::path(LOCKSTEP_HWRUNNER_CUDA).parent_path().string();
  const Said here = said("--prebuilt '" + bin + "' --out '" + folder_.string() + "'");
  EXPECT_EQ(here.code, 2);
  EXPECT_THAT(here.text, HasSubstr("gpu-check: " + what_is_missing_here()));
  EXPECT_THAT(here.text, HasSubstr("nothing to check"));
  std::ifstream machine(folder_ / "machine.json");
  std::string line;
  ASSERT_TRUE(std::getline(machine, line));
  EXPECT_TRUE(probe_from_line(line));
}

// Programs that say what a machine with two GPUs would: copies fail, and a batch of 256 does not fit.
void write_program(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path) << "#!/bin/sh\n" << text;
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
}

TEST_F(GpuCheck, goes_on_after_a_step_that_fails_and_sums_up) {
  const std::filesystem::path bin = folder_ / "bin", out = folder_ / "out";
  std::filesystem::create_directories(bin);
  write_program(bin / "lockstep",
                "case \"$*\" in\n  *'--bench copies'*) echo 'no such copy' >&2; exit 2 ;;\n"
                "  *batch.per_gpu=256*) echo 'rank 0 failed (CUDA out of memory)' >&2; exit 2 ;;\nesac\n"
                "while [ $# -gt 1 ]; do if [ \"$1\" = -o ]; then echo '{}' >\"$2\"; fi; shift; done\n");
  write_program(
      bin / "lockstep-hwrunner-cuda",
      "case $1 in\n  probe) echo '{\"protocol\":1,\"software\":{},\"backends\":[\"gloo\",\"nccl\"],\"devices\":"
      "[\"NVIDIA A100-SXM4-80GB\",\"NVIDIA A100-SXM4-80GB\"],\"machine\":{\"gpu0_nvlinks\":\"12\"},\"missing\":"
      "\"\"}' ;;\n"
      "  watch) echo time_s,gpu,utilisation,sm_clock_hz,power_w,temperature_c,memory_used_bytes,throttled\n"
      "    echo 1,0,0.5,1.5e9,300,60,1,; echo 1,0,0.5,1.1e9,400,60,1,power cap; exec sleep 1000 ;;\n"
      "  slowdown) echo blocks ;;\nesac\n");
  setenv("LOCKSTEP_PYTHON", "/nowhere/python", 1);
  const Said here = said("--prebuilt '" + bin.string() + "' --out '" + out.string() + "'");
  EXPECT_EQ(here.code, 1) << here.text;
  std::ifstream file(out / "summary.txt");
  const std::string summary{std::istreambuf_iterator<char>(file), {}};
  for (const char* row :
       {"tests +skipped", "single-fp32 +passed", "single-amp-bf16 +passed", "ddp-of-one +passed", "slowdown +passed",
        "nccl-sizes +passed", "nccl +passed", "gloo +passed", "copies +FAILED +[0-9]+ +exit code 2; no such copy",
        "sweep-cpp-64 +passed", "sweep-cpp-256 +fits not +0 +out of memory: the largest batch tried that fits is 64",
        "sweep-python +skipped", "SM clock: 1300 MHz on average, 1100 to 1500, 2 samples",
        "slowed down by power cap: 50.0 % of the samples"})
    EXPECT_THAT(summary, ContainsRegex(row));
  EXPECT_THAT(summary, Not(HasSubstr("sweep-cpp-1024")));
  EXPECT_THAT(here.text, HasSubstr("not all steps passed"));
  EXPECT_TRUE(std::filesystem::exists(out / "single-fp32.json"));
  for (const char* node : {"node.yaml", "node-shared.yaml"})
    EXPECT_EQ(lockstep_in_process({"show", "topology", (out / node).string()}).code, 0) << node;
  const Outcome scenario =
      lockstep_in_process({"show", "scenario", (out / "resnet50.yaml").string(), "--set", "gpus=2"});
  EXPECT_EQ(scenario.code, 0) << scenario.err;
}

TEST_F(GpuCheck, tells_its_options_and_refuses_others) {
  const Said help = said("--help");
  EXPECT_EQ(help.code, 0);
  for (const char* option : {"--out", "--libtorch", "--prebuilt", "--gpu", "--minutes", "--only"})
    EXPECT_THAT(help.text, HasSubstr(option));
  for (const auto& [options, wrong] : {std::pair("--fast", "--fast"),
                                       {"--out", "--out takes a value"},
                                       {"--minutes soon", "found 'soon'"},
                                       {"--only tests,speed", "speed"},
                                       {"--prebuilt /nowhere", "/nowhere"},
                                       {"--libtorch /nowhere", "/nowhere"}}) {
    const Said other = said(options);
    EXPECT_EQ(other.code, 64) << options;
    EXPECT_THAT(other.text, HasSubstr(wrong));
  }
}

TEST(WhatIsMissing, names_driver_device_and_nccl_in_this_order) {
  CudaFacts facts;
  facts.runtime = 13000;
  EXPECT_EQ(what_is_missing(facts, "x"), "there is no NVIDIA driver on this machine (the runner has CUDA 13.0)");
  facts.driver = 12080;
  EXPECT_EQ(what_is_missing(facts, "x"), "the NVIDIA driver is one for CUDA 12.8, older than the runner's CUDA 13.0");
  facts.driver = 13010;
  unsetenv("CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(what_is_missing(facts, "no CUDA-capable device is detected"),
            "there is an NVIDIA driver but no GPU: no CUDA-capable device is detected");
  facts.devices = {"NVIDIA H200"};
  EXPECT_EQ(what_is_missing(facts, ""), "NCCL does not answer");
  facts.nccl = 22809;
  EXPECT_EQ(what_is_missing(facts, ""), "");
}

TEST(WhatIsMissing, versions_are_written_with_dots) {
  EXPECT_EQ(cuda_version_text(13000), "13.0");
  EXPECT_EQ(cuda_version_text(12080), "12.8");
  EXPECT_EQ(nccl_version_text(22809), "2.28.9");
  EXPECT_EQ(nccl_version_text(2708), "2.7.8");
}

TEST(SideKernel, is_compiled_at_run_time_without_a_gpu) {
  for (const char* architecture : {"compute_80", "compute_90"}) {
    const auto ptx = compile_side_kernel(architecture);
    ASSERT_TRUE(ptx) << to_text(ptx.error().front());
    EXPECT_THAT(*ptx, HasSubstr(".entry lockstep_side("));
    EXPECT_THAT(*ptx, HasSubstr("%globaltimer"));
    EXPECT_THAT(*ptx, HasSubstr(std::string(".target sm_") + (architecture + 8)));
  }
  const auto unknown = compile_side_kernel("compute_7");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().front().message, HasSubstr("NVRTC for compute_7"));
}

TEST(SideKernel, without_a_driver_says_so) {
  if (std::filesystem::exists("/dev/nvidiactl")) GTEST_SKIP() << "there is a driver: OnGpus tries the kernel with it";
  const auto kernel = SideKernel::make(0);
  ASSERT_FALSE(kernel);
  EXPECT_THAT(kernel.error().front().message, HasSubstr("no NVIDIA driver"));
}

// --- With GPUs ------------------------------------------------------------------------------------------

class OnGpus : public ::testing::Test {
 protected:
  static int gpus() { return static_cast<int>(cuda_facts().devices.size()); }
  static std::shared_ptr<const Model> network() {
    ModelOptions options;
    options.stem = "cifar";
    return std::make_shared<const Model>(zoo_model("resnet18", options));
  }
  static TrainerOptions options_of(Strategy strategy, int replicas, std::int64_t batch) {
    TrainerOptions options;
    options.strategy = strategy;
    options.replicas = replicas;
    options.batch = batch;
    options.evaluation_mode = true;  // batch norms would see other batches
    options.group.port = free_port();
    options.group.interface = "lo";
    return options;
  }
  static std::vector<std::vector<float>> gradients(const TrainerOptions& options) {
    auto trainer = make_trainer(network(), options);
    EXPECT_TRUE(trainer) << to_text(trainer.error().front());
    if (!trainer) return {};
    const auto step = (*trainer)->step();
    EXPECT_TRUE(step) << to_text(step.error().front());
    if (step) {
      EXPECT_GT(step->total_s, 0);
    }
    return (*trainer)->gradients();
  }
  static void expect_near(const std::vector<std::vector<float>>& a, const std::vector<std::vector<float>>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t p = 0; p < a.size(); ++p) {
      ASSERT_EQ(a[p].size(), b[p].size());
      double difference = 0, size = 0;
      for (std::size_t i = 0; i < a[p].size(); ++i) {
        difference += std::pow(a[p][i] - b[p][i], 2);
        size += std::pow(b[p][i], 2);
      }
      EXPECT_LE(std::sqrt(difference), 0.01 * std::sqrt(size) + 1e-6) << "parameter " << p;
    }
  }
};

TEST_F(OnGpus, a_gpu_gives_the_gradients_of_a_cpu) {
  if (gpus() < 1) GTEST_SKIP() << "no GPU";
  TrainerOptions options = options_of(Strategy::Single, 1, 8);
  const auto wanted = gradients(options);
  options.device = make_cuda_device({});
  expect_near(gradients(options), wanted);
}

TEST_F(OnGpus, ddp_over_nccl_in_a_world_of_one_gives_the_gradients_of_a_cpu) {
  if (gpus() < 1) GTEST_SKIP() << "no GPU";
  const auto wanted = gradients(options_of(Strategy::Single, 1, 8));
  TrainerOptions options = options_of(Strategy::Ddp, 1, 8);
  options.device = make_cuda_device({});
  options.instrument = true;
  expect_near(gradients(options), wanted);
}

TEST_F(OnGpus, data_parallel_gives_the_gradients_of_the_whole_batch) {
  if (gpus() < 2) GTEST_SKIP() << "fewer than two GPUs";
  const auto wanted = gradients(options_of(Strategy::Single, 1, 8));
  TrainerOptions options = options_of(Strategy::Dp, 2, 4);
  CudaDeviceOptions two;
  two.devices = 2;
  options.device = make_cuda_device(two);
  expect_near(gradients(options), wanted);
}

TEST_F(OnGpus, the_data_parallel_of_libtorch_gives_the_gradients_of_the_whole_batch) {
  if (gpus() < 2) GTEST_SKIP() << "fewer than two GPUs";
  const auto wanted = gradients(options_of(Strategy::Single, 1, 8));
  TrainerOptions options = options_of(Strategy::DpCpp, 2, 4);
  CudaDeviceOptions two;
  two.devices = 2;
  options.device = make_cuda_device(two);
  expect_near(gradients(options), wanted);
  options.threads = 4;  // the replicas' forward passes at once
  expect_near(gradients(options), wanted);
  options.input.source = InputSource::Host;
  options.input.dp_copy = DpCopy::Scatter;
  expect_near(gradients(options), wanted);
}

TEST_F(OnGpus, the_side_kernel_moves_about_as_much_as_it_is_asked_to) {
  if (gpus() < 1) GTEST_SKIP() << "no GPU";
  auto kernel = SideKernel::make(0);
  ASSERT_TRUE(kernel) << to_text(kernel.error().front());
  ASSERT_TRUE(kernel->start({4, 512, 10e9, 20}));
  usleep(500'000);
  const auto run = kernel->stop();
  ASSERT_TRUE(run) << to_text(run.error().front());
  EXPECT_GT(run->moved_bytes, 0);
  EXPECT_LT(run->moved_bytes / run->duration_s, 11e9);
}

}  // namespace
}  // namespace lockstep
