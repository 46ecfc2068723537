// The order of events in a step of torch.nn.DataParallel (torch/nn/parallel).
#include <gtest/gtest.h>

#include <set>

#include "models/derived.h"
#include "simulator/costs/constants.h"
#include "simulator/estimate/estimate.h"
#include "tests/laws/support/checks.h"

namespace lockstep::testing {
namespace {

TestPoint dp_point(const std::string& model, int gpus = 4) {
  TestPoint point;
  point.model_name = model;
  point.strategy = Strategy::Dp;
  point.gpus = gpus;
  point.load();
  return point;
}

std::vector<const Meeting*> meetings_named(const StepGraph& graph, const std::string& name) {
  std::vector<const Meeting*> found;
  for (const auto& meeting : graph.steady.meetings)
    if (meeting.name.find(name) == 0) found.push_back(&meeting);
  return found;
}

double kernel_s(const StepGraph& graph, int rank_class, const std::string& label) {
  for (const auto& item : graph.steady.programs[static_cast<std::size_t>(rank_class)])
    if (item.kind == ItemKind::Kernel && item.label >= 0 && graph.labels[static_cast<std::size_t>(item.label)] == label)
      return item.device_s;
  ADD_FAILURE() << "no kernel " << label;
  return 0;
}

std::set<Cause> kernel_causes(const StepGraph& graph, int rank_class) {
  std::set<Cause> causes;
  for (const auto& item : graph.steady.programs[static_cast<std::size_t>(rank_class)])
    if (item.kind == ItemKind::Kernel) causes.insert(item.cause);
  return causes;
}

TEST(GradientsOfDp, AreReducedAfterTheLastBackwardKernelOfEveryRank) {
  for (const std::string model : {"mlp", "resnet18", "resnet50", "vgg16"})
    for (const bool folded : {true, false}) {
      TestPoint point = dp_point(model);
      point.folded = folded;
      const StepGraph graph = point.graph();
      const StepRecord record = simulated(graph);
      for (int step = 0; step < 4; ++step)
        EXPECT_EQ(reduce_follows_backward(graph, record, step), "") << model << " step " << step;
    }
}

// Tensors in bytes: 12 845 056, 16 384, 67 108 864, 16 384, 163 840, 40. A group closes before it would exceed 10 MiB,
// so only the last three share one; tensors alone in their group are reduced in place.
TEST(GradientsOfDp, AreFlattenedInGroupsThatCloseBeforeTenMebibytes) {
  TestPoint point = dp_point("mlp");
  point.model_options.hidden = {4096, 4096};
  point.load();
  const StepGraph graph = point.graph();
  const double rate = default_constants().ddp.copy_efficiency * point.topology.node.gpu.memory_bandwidth;
  EXPECT_NEAR(kernel_s(graph, 0, "flatten gradients"), 2 * 180264 / rate, 1e-15);
  EXPECT_NEAR(kernel_s(graph, 1, "flatten gradients"), 2 * 180264 / rate, 1e-15);
}

TEST(ParametersOfDp, AreBroadcastInEveryForward) {
  TestPoint point = dp_point("resnet18");
  point.micro_steps = 3;
  const StepGraph graph = point.graph();
  const auto broadcasts = meetings_named(graph, "broadcast parameters");
  ASSERT_EQ(broadcasts.size(), 3U);
  EXPECT_EQ(broadcasts[0]->payload_bytes, 46758048);
  EXPECT_EQ(meetings_named(graph, "broadcast buffers").size(), 3U);
  EXPECT_EQ(meetings_named(graph, "reduce gradients").size(), 3U);
}

TEST(TheBatchOfDp, GoesWholeThroughGpu0OrInPiecesToEach) {
  TestPoint point = dp_point("resnet18");
  point.scenario.input.source = InputSource::Host;
  const StepGraph whole = point.graph();
  ASSERT_EQ(meetings_named(whole, "batch to GPU").size(), 1U);
  EXPECT_EQ(meetings_named(whole, "batch to GPU 0")[0]->payload_bytes, 4 * 32 * (3 * 224 * 224 * 4 + 8));
  ASSERT_EQ(meetings_named(whole, "scatter").size(), 1U);
  EXPECT_EQ(meetings_named(whole, "scatter")[0]->payload_bytes, 3 * 32 * (3 * 224 * 224 * 4 + 8));
  point.scenario.input.dp_copy = DpCopy::Scatter;
  const StepGraph pieces = point.graph();
  EXPECT_EQ(meetings_named(pieces, "batch to GPU").size(), 4U);
}

TEST(TheOptimizerOfDp, RunsOnGpu0Alone) {
  const StepGraph graph = dp_point("resnet18").graph();
  EXPECT_TRUE(kernel_causes(graph, 0).count(Cause::Optimizer));
  EXPECT_FALSE(kernel_causes(graph, 1).count(Cause::Optimizer));
  EXPECT_TRUE(kernel_causes(graph, 1).count(Cause::Backward));
}

TEST(TheHostOfDp, PaysForwardForAllReplicasUnderOneLock) {
  TestPoint two = dp_point("resnet50", 2), four = dp_point("resnet50", 4);
  const auto forward_host_s = [](const StepGraph& graph) {
    double sum = 0;
    for (const auto& item : graph.steady.programs[1])
      if (item.kind == ItemKind::Kernel && item.cause == Cause::Forward) sum += item.host_s;
    return sum;
  };
  const HostCosts& host = default_constants().host;
  EXPECT_NEAR(forward_host_s(four.graph()) / forward_host_s(two.graph()), 4 * host.phi / (1 + host.kappa), 1e-9);
}

TEST(DpOnOneGpu, IsTheGraphOfTheSingleGpu) {
  TestPoint point = dp_point("resnet50", 1);
  const StepGraph dp = point.graph();
  const StepGraph single = single_of(point).graph();
  ASSERT_EQ(dp.steady.programs[0].size(), single.steady.programs[0].size());
  EXPECT_EQ(estimated_step_s(dp), estimated_step_s(single));
}

}  // namespace
}  // namespace lockstep::testing
