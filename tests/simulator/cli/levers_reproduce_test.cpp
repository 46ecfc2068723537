// Every lever that is printed, given to --set, gives the step that it claims: with the real engine.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/simulator/cli/in_process.h"

namespace lockstep {
namespace {

using nlohmann::json;
using testing::lockstep_in_process;
using testing::small_scenario;

const json* run_of(const json& document, const std::string& strategy, int gpus) {
  for (const json& run : document["runs"])
    if (run["strategy"] == strategy && run["gpus"] == gpus) return &run;
  return nullptr;
}

void expect_levers_reproduce(const std::string& scenario, const std::string& strategy, int gpus, std::size_t at_least) {
  const json before = json::parse(lockstep_in_process({"predict", "-", "--json"}, scenario).out);
  const json& levers = before["answer"]["levers"];
  EXPECT_GE(levers.size(), at_least) << levers.dump();
  const json* slow = run_of(before, strategy, gpus);
  ASSERT_NE(slow, nullptr);
  double last_gain = 1e9;
  for (const json& lever : levers) {
    const std::string set = lever["set"];
    const auto outcome = lockstep_in_process({"predict", "-", "--json", "--set", set}, scenario);
    ASSERT_EQ(outcome.code, 0) << set << outcome.err;
    const json after = json::parse(outcome.out);
    const json* fast = run_of(after, set == "strategy=ddp" ? "ddp" : strategy, gpus);
    ASSERT_NE(fast, nullptr) << set;
    EXPECT_EQ((*fast)["step_time_s"], lever["step_time_s"]) << set;
    const double gain = (*fast)["throughput"].get<double>() / (*slow)["throughput"].get<double>() - 1;
    EXPECT_NEAR(gain, lever["gain"].get<double>(), 1e-12) << set;
    EXPECT_GE(gain, 0.01) << set;
    EXPECT_LE(gain, last_gain) << set;
    last_gain = gain;
  }
}

TEST(PrintedLevers, reproduce_for_data_parallel) {
  expect_levers_reproduce(small_scenario(), "dp", 4, 3);
}

TEST(PrintedLevers, reproduce_for_ddp_on_a_slow_network) {
  expect_levers_reproduce(
      "model: resnet50\nbatch: {per_gpu: 32}\nprecision: amp-fp16\n"
      "topology: {node: hgx-a100-4gpu-40gb, fabric: eth-10g}\ngpus: [4, 8]\nstrategy: ddp\n",
      "ddp", 8, 2);
}

TEST(PrintedLevers, reproduce_under_strong_scaling) {
  expect_levers_reproduce(
      "model: resnet50\nbatch: {global: 128}\nprecision: amp-fp16\ntopology: dgx-a100-80gb\ngpus: [1, 8]\n", "ddp", 8,
      1);
}

TEST(PrintedLevers, reproduce_for_a_loader_without_cores) {
  expect_levers_reproduce(
      "model: resnet18\nbatch: {per_gpu: 64}\ntopology: titan-rtx-4gpu\ngpus: 4\nstrategy: [dp, ddp]\n"
      "input: {source: host, memory: pageable}\nloader: {workers_per_process: 2, sample_cost: 8ms}\n",
      "dp", 4, 2);
}

}  // namespace
}  // namespace lockstep
