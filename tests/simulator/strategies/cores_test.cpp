// Ranks of cpu-host: the thread that launches a kernel computes it, so nothing runs ahead of anything; Gloo's threads
// take their time from the same cores; DataParallel's stand-in copies within one memory.
#include <gtest/gtest.h>

#include "models/derived.h"
#include "simulator/collectives/ring.h"
#include "simulator/costs/constants.h"
#include "simulator/estimate/estimate.h"
#include "tests/laws/support/points.h"

namespace lockstep::testing {
namespace {

TestPoint on_cores(Strategy strategy, int gpus, const std::string& model = "resnet18") {
  TestPoint point;
  point.model_name = model;
  point.node = "cpu-host";
  point.strategy = strategy;
  point.gpus = gpus;
  point.batch = 8;
  point.load();
  return point;
}

double all_work_s(const StepProgram& step, int rank_class) {
  double seconds = 0;
  for (const Item& item : step.programs[static_cast<std::size_t>(rank_class)]) seconds += item.host_s + item.device_s;
  return seconds;
}

TEST(OneCore, TakesItsHostWorkAndItsKernelsOneAfterTheOther) {
  for (const std::string model : {"resnet18", "mlp", "vgg16"}) {
    const StepGraph graph = on_cores(Strategy::Single, 1, model).graph();
    EXPECT_NEAR(estimated_step_s(graph), all_work_s(graph.steady, 0), 1e-9) << model;
    EXPECT_NEAR(simulated_step_s(graph), all_work_s(graph.steady, 0), 1e-9) << model;
  }
}

TEST(DdpOnOneCore, TakesItsCopiesOnTop) {
  const StepGraph graph = on_cores(Strategy::Ddp, 1).graph();
  EXPECT_NEAR(estimated_step_s(graph), all_work_s(graph.steady, 0), 1e-9);
}

// A GPU's host is done with launching long before the first bucket is full; a core comes to it when it has computed.
TEST(DdpOnCores, LaunchesABucketWhenItIsComputed) {
  for (const auto& [node, ahead] : {std::pair{"cpu-host", false}, std::pair{"dgx-a100-80gb", true}}) {
    TestPoint point = on_cores(Strategy::Ddp, 2);
    point.node = node;
    point.batch = 64;
    point.load();
    const StepGraph graph = point.graph();
    const auto& items = graph.steady.programs.front();
    double host_s = 0, work_s = 0;
    int launched = 0;
    for (const Item& item : items) {
      host_s += item.host_s;
      work_s += item.host_s + item.device_s;
      if (item.kind == ItemKind::HostSync) host_s = work_s;
      if (item.kind != ItemKind::Arrive || graph.steady.meetings[static_cast<std::size_t>(item.meeting)].bucket < 0)
        continue;
      ++launched;
      EXPECT_EQ(host_s < 0.9 * work_s, ahead) << node << " bucket " << launched;
    }
    EXPECT_GE(launched, 2) << node;
  }
}

TEST(DdpOnCores, LosesToGloosThreadsWhatTheyComputeAndNoMoreThanNineTenths) {
  const double per_byte = default_constants().ddp.gloo_cpu;
  TestPoint point = on_cores(Strategy::Ddp, 2);
  const double rate = ring_rate(ring_of(point.topology, 2));
  EXPECT_NEAR(point.graph().contention, 1 / (1 - per_byte * rate), 1e-12);
  point.scenario.measure.threads_per_rank = 4;
  EXPECT_NEAR(point.graph().contention, 1 / (1 - per_byte * rate / 4), 1e-12);
  TestPoint apart = on_cores(Strategy::Ddp, 128);
  apart.fabric = "eth-1g";
  apart.load();
  const double slow = ring_rate(ring_of(apart.topology, 128));
  EXPECT_LT(slow, rate);
  EXPECT_NEAR(apart.graph().contention, 1 / (1 - per_byte * slow), 1e-12);
  apart.fabric = "eth-100g";
  apart.load();
  EXPECT_LE(apart.graph().contention, 10 + 1e-9);
}

TEST(DdpOnCores, CarriesTheExpectedWaitOnce) {
  TestPoint point = on_cores(Strategy::Ddp, 2);
  const double without = estimated_step_s(point.graph());
  expect_stragglers(point);
  const double wait = straggler_wait_seconds(point.single_step_s, 2, default_constants().ddp);
  ASSERT_GT(wait, 0);
  EXPECT_NEAR(estimated_step_s(point.graph()), without + wait, 1e-9);
}

// One thread copies the parameters to each other replica (read, write) and adds up their gradients (read both, write).
TEST(DpOnCores, CopiesWithinOneMemory) {
  const StepGraph two = on_cores(Strategy::Dp, 2).graph();
  const TestPoint point = on_cores(Strategy::Dp, 4);
  const StepGraph four = point.graph();
  const double rate = default_constants().ddp.copy_efficiency * point.topology.node.gpu.memory_bandwidth;
  const auto parameters = static_cast<double>(parameter_bytes(*point.model));
  const auto buffers = static_cast<double>(buffer_bytes(*point.model));
  const auto spent = [](const StepGraph& graph, Cause cause) {
    double seconds = 0;
    for (const Item& item : graph.steady.programs.front())
      if (item.kind == ItemKind::Kernel && item.cause == cause) seconds += item.device_s;
    return seconds;
  };
  EXPECT_NEAR(spent(two, Cause::Replicate), 2 * (parameters + buffers) / rate, 1e-12);
  EXPECT_NEAR(spent(four, Cause::Replicate), 3 * 2 * (parameters + buffers) / rate, 1e-12);
  EXPECT_NEAR(spent(two, Cause::GradientReduce), 3 * parameters / rate, 1e-12);
  for (const Meeting& meeting : four.steady.meetings) {
    EXPECT_EQ(meeting.algorithm, "") << meeting.name;
  }
}

}  // namespace
}  // namespace lockstep::testing
