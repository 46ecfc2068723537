// Steps that a person can work out: one linear layer on one GPU, in the regime where the host is the limit and in the
// one where the GPU is.
#include <gtest/gtest.h>

#include "simulator/costs/constants.h"
#include "simulator/costs/op_cost.h"
#include "tests/laws/support/points.h"

namespace lockstep::testing {
namespace {

// `width` inputs and outputs and one hidden layer of that width; no optimizer, gradients set to none.
TestPoint mlp(std::int64_t width, std::int64_t batch) {
  TestPoint point;
  point.model_name = "mlp";
  point.model_options.inputs = point.model_options.outputs = width;
  point.model_options.hidden = {width};
  point.strategy = Strategy::Single;
  point.batch = batch;
  point.scenario.optimizer = OptimizerKind::None;
  point.scenario.zero_grad = ZeroGrad::None;
  point.scenario.host_factor = 1.0;
  point.load();
  return point;
}

// Forward: linear, relu, linear = 3 ops. Backward: the last linear 3 kernels (input, weight, bias), relu 1, the first
// linear 2 (its input is the data). The loss has a host time of its own; a step starts with one more.
TEST(AStepOfAnMlp, IsTheSumOfHostTimesWhenTheHostIsTheLimit) {
  const HostCosts& host = default_constants().host;
  const double by_hand = host.start + 3 * (host.c_f + host.c_ag) + host.t_loss + 6 * host.c_b;
  EXPECT_NEAR(estimated_step_s(mlp(32, 4).graph()), by_hand, 1e-12);
  EXPECT_NEAR(simulated_step_s(mlp(32, 4).graph()), by_hand, 1e-9 * by_hand);
}

TEST(AStepOfAnMlp, IsTheSumOfKernelTimesWhenTheGpuIsTheLimit) {
  const TestPoint point = mlp(8192, 16384);
  const auto costs = op_costs(*point.model, compute_context(point.request(), point.batch));
  const double by_hand = forward_seconds(costs) + backward_seconds(costs);
  ASSERT_GT(by_hand, 0.1);
  EXPECT_NEAR(estimated_step_s(point.graph()), by_hand, 1e-9 * by_hand);
  EXPECT_NEAR(simulated_step_s(point.graph()), by_hand, 1e-9 * by_hand);
}

// Six matrix products of 2 m n k FLOP less the one of the data's gradient, at the efficiency of the tables.
TEST(AStepOfAnMlp, IsMostlyItsMatrixProducts) {
  const TestPoint point = mlp(8192, 16384);
  const double flop = 5 * 2 * 16384.0 * 8192 * 8192;
  const double products =
      flop / (default_constants().op.e_gemm_simt_a100_and_later * point.topology.node.gpu.peak_fp32);
  const double step = estimated_step_s(point.graph());
  EXPECT_GT(step, products * 0.95);
  EXPECT_LT(step, products * 1.10);
}

TEST(ASlowHost, TakesNothingFromAStepThatTheGpuLimits) {
  TestPoint point = mlp(8192, 16384);
  const double before = estimated_step_s(point.graph());
  point.scenario.host_factor = 2.0;
  EXPECT_NEAR(estimated_step_s(point.graph()), before, 1e-9 * before);
  TestPoint small = mlp(32, 4);
  const double small_before = estimated_step_s(small.graph());
  small.scenario.host_factor = 2.0;
  EXPECT_NEAR(estimated_step_s(small.graph()), 2 * small_before, 1e-12);
}

// The blocking copy of pageable memory waits for the stream: copy and kernels add.
TEST(ABlockingCopy, AddsToTheStep) {
  TestPoint point = mlp(8192, 16384);
  const double without = estimated_step_s(point.graph());
  point.scenario.input.source = InputSource::Host;
  const double bytes = 16384.0 * (8192 * 4 + 8);
  const double with = estimated_step_s(point.graph());
  const double copy = bytes / default_constants().input.pageable_rate;
  EXPECT_GT(with - without, copy);
  EXPECT_LT(with - without, copy + 1e-3);  // plus host work until the first kernel
}

}  // namespace
}  // namespace lockstep::testing
