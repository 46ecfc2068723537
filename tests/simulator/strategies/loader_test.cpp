// The data loader in a step: how fast it can be, and what a step then takes.
#include <gtest/gtest.h>

#include "simulator/estimate/estimate.h"
#include "simulator/strategies/loader_wait.h"
#include "tests/laws/support/checks.h"

namespace lockstep::testing {
namespace {

constexpr double kNear = 1e-9;
constexpr double kMs = 1e-3;

TestPoint point_of(Strategy strategy, int gpus, const std::string& node = "dgx-a100-80gb") {
  TestPoint point;
  point.strategy = strategy;
  point.gpus = gpus;
  point.node = node;
  point.scenario.input.source = InputSource::Host;
  point.scenario.noise.none = true;
  point.load();
  return point;
}

void set_loader(TestPoint& point, int workers, double sample_cost_s) {
  point.scenario.loader.workers_per_process = workers;
  point.scenario.loader.sample_cost_s = sample_cost_s;
}

LoaderPlan plan_of(const TestPoint& point) {
  return loader_plan(point.request());
}

// --- the plan ---

TEST(ALoader, MakesABatchInItsCostOverTheWorkers) {
  TestPoint point = point_of(Strategy::Ddp, 4);
  set_loader(point, 8, 2 * kMs);
  const LoaderPlan plan = plan_of(point);
  EXPECT_EQ(plan.batch, 32);
  EXPECT_NEAR(plan.period_s, 32 * 2 * kMs / 8, 1e-15);
  EXPECT_NEAR(plan.rate(), 4000, 1e-9);
  EXPECT_EQ(plan.depth, 16);
  EXPECT_EQ(plan.host_s, 0);
  EXPECT_FALSE(plan.cores_limit);
}

TEST(ALoader, OfDataParallelMakesTheBatchOfAllGpus) {
  TestPoint point = point_of(Strategy::Dp, 4);
  set_loader(point, 8, 2 * kMs);
  EXPECT_EQ(plan_of(point).batch, 4 * 32);
  EXPECT_NEAR(plan_of(point).period_s, 4 * 32 * 2 * kMs / 8, 1e-15);
  EXPECT_EQ(plan_of(point).processes, 1);
}

TEST(ALoader, SharesTheCoresOfItsNodeWithAllProcesses) {
  TestPoint point = point_of(Strategy::Ddp, 4, "titan-rtx-4gpu");  // 14 cores
  set_loader(point, 8, 2 * kMs);
  PointRequest request = point.request();
  EXPECT_NEAR(loader_plan(request).period_s, 4 * 64 * kMs / 14, 1e-15);  // all cores at work
  EXPECT_DOUBLE_EQ(loader_plan(request).workers, 14.0 / 4);
  EXPECT_TRUE(loader_plan(request).cores_limit);
  // Launching threads that never wait keep a core each: at the limit, where a step takes what its batch does.
  request.own_batch_s = 64 * kMs / ((14 - 4) / 4.0);
  EXPECT_NEAR(loader_plan(request).period_s, request.own_batch_s, 1e-15);
  EXPECT_DOUBLE_EQ(loader_plan(request).workers, 10.0 / 4);
  point.scenario.host_cores = 36;
  request.own_batch_s = 8 * kMs;
  EXPECT_NEAR(loader_plan(request).period_s, 8 * kMs, 1e-15);
  point.scenario.host_cores = 37;
  EXPECT_DOUBLE_EQ(loader_plan(request).workers, 8);
  EXPECT_FALSE(loader_plan(request).cores_limit);
}

TEST(ALoader, IsThatOfTheFullestNode) {
  TestPoint point = point_of(Strategy::Ddp, 12);
  point.fabric = "ib-hdr-8x200";
  point.load();
  set_loader(point, 100, 2 * kMs);
  EXPECT_EQ(plan_of(point).processes, 8);
  EXPECT_DOUBLE_EQ(plan_of(point).workers, 128 / 8.0);
}

TEST(ALoader, WithPinnedMemoryIsNoFasterThanTheThreadThatCopies) {
  TestPoint point = point_of(Strategy::Ddp, 1);
  set_loader(point, 8, 1e-6);
  point.scenario.loader.pin_memory = true;
  const double bytes = 32 * (3 * 224 * 224 * 4 + 8);
  EXPECT_NEAR(plan_of(point).period_s, bytes / 11e9, 1e-12);
  EXPECT_TRUE(plan_of(point).pin_limits);
  point.scenario.input.touched = false;
  EXPECT_NEAR(plan_of(point).period_s, bytes / 11e9 + bytes * 0.18e-9, 1e-12);
  set_loader(point, 8, 2 * kMs);
  EXPECT_FALSE(plan_of(point).pin_limits);
  EXPECT_NEAR(plan_of(point).period_s, 8 * kMs, 1e-15);
}

TEST(ALoader, WithoutWorkersIsTheLaunchingThread) {
  TestPoint point = point_of(Strategy::Ddp, 4);
  set_loader(point, 0, 2 * kMs);
  EXPECT_NEAR(plan_of(point).host_s, 64 * kMs, 1e-15);
  EXPECT_EQ(plan_of(point).period_s, 0);
  EXPECT_NEAR(plan_of(point).rate(), 500, 1e-9);
}

// --- the step: max(step without a loader, period of the loader) ---

void expect_closed_form(TestPoint point) {
  const double alone_s = estimated_step_s(point.graph());
  for (const double ratio : {0.01, 0.5, 0.9, 1.02, 1.3, 4.0}) {
    set_loader(point, 1, 1);
    set_loader(point, 1, ratio * alone_s / plan_of(point).period_s);
    const StepGraph graph = point.graph();
    const double expected = alone_s * std::max(1.0, ratio);
    EXPECT_NEAR(estimated_step_s(graph), expected, kNear * expected) << point.text() << ", loader x " << ratio;
    EXPECT_NEAR(simulated_step_s(graph), expected, kNear * expected) << point.text() << ", loader x " << ratio;
  }
}

TEST(AStepWithALoader, TakesTheLongerOfItsOwnTimeAndTheLoaders) {
  for (const Strategy strategy : {Strategy::Single, Strategy::Dp, Strategy::Ddp})
    for (const bool queued : {false, true}) {
      TestPoint point = point_of(strategy, strategy == Strategy::Single ? 1 : 4);
      if (queued) {
        point.scenario.input.memory = HostMemory::Pinned;
        point.scenario.input.non_blocking = true;
      }
      expect_closed_form(point);
    }
}

TEST(AStepWithALoader, TakesItInEveryMicroStep) {
  TestPoint point = point_of(Strategy::Ddp, 4);
  point.micro_steps = point.scenario.accumulate_steps = 3;
  set_loader(point, 2, 0.1);
  const StepGraph graph = point.graph();
  const double period_s = plan_of(point).period_s;
  EXPECT_NEAR(estimated_step_s(graph), 3 * period_s, kNear * period_s);
  EXPECT_NEAR(simulated_step_s(graph), 3 * period_s, kNear * period_s);
}

TEST(AStepWithALoader, CountsTheWaitAsInputInEveryRank) {
  for (const Strategy strategy : {Strategy::Single, Strategy::Dp, Strategy::Ddp}) {
    TestPoint point = point_of(strategy, strategy == Strategy::Single ? 1 : 4);
    point.folded = false;
    const double alone_s = estimated_step_s(point.graph());
    set_loader(point, 1, 1);
    set_loader(point, 1, 1.5 * alone_s / plan_of(point).period_s);
    const StepGraph graph = point.graph();
    const StepRecord record = simulated(graph, 3);
    const int last = static_cast<int>(record.steps.size()) - 1;
    for (int rank = 0; rank < graph.simulated_ranks(); ++rank) {
      const Watched watched = watch(graph, record, rank, last);
      EXPECT_EQ(breakdown_is_whole(watched), "");
      EXPECT_EQ(lanes_do_one_thing_at_a_time(watched), "");
      const double input_s = watched.replay.breakdown_s[static_cast<std::size_t>(Cause::Input)];
      // The GPU's last kernels run while the host waits already.
      EXPECT_GT(input_s, 0.3 * alone_s) << point.text() << ", rank " << rank;
      EXPECT_LE(input_s, 0.5 * alone_s * (1 + kNear)) << point.text() << ", rank " << rank;
    }
  }
}

// --- without workers ---

TEST(LoadingInTheProcess, AddsItsWholeTimeToAStepThatTheHostLimits) {
  TestPoint point = point_of(Strategy::Single, 1);
  point.model_name = "mlp";
  point.batch = 4;
  point.scenario.input.source = InputSource::Device;
  point.load();
  const double alone_s = estimated_step_s(point.graph());
  set_loader(point, 0, 0.5 * kMs);
  EXPECT_NEAR(estimated_step_s(point.graph()), alone_s + 2 * kMs, kNear * alone_s);
  EXPECT_NEAR(simulated_step_s(point.graph()), alone_s + 2 * kMs, kNear * alone_s);
}

TEST(LoadingInTheProcess, OverlapsOnlyWithKernelsThatAreLaunchedAlready) {
  TestPoint point = point_of(Strategy::Single, 1);
  const double alone_s = estimated_step_s(point.graph());
  set_loader(point, 0, 2 * kMs);
  const double loading_s = 64 * kMs;
  const double step_s = estimated_step_s(point.graph());
  EXPECT_GE(step_s, loading_s);
  EXPECT_GT(step_s, alone_s);
  EXPECT_LE(step_s, (alone_s + loading_s) * (1 + kNear));
}

}  // namespace
}  // namespace lockstep::testing
