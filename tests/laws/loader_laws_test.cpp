// Laws of data loaders over random scenarios. A program of its own: loaders make steps long, SimGrid's clock goes on
// within a process, and the digits that it loses would be missed by laws_test.cpp.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "simulator/strategies/loader_wait.h"
#include "tests/laws/support/checks.h"
#include "tests/laws/support/draw.h"

namespace lockstep::testing {
namespace {

constexpr double kNear = 1e-9;

DrawOptions with_loader(int most_gpus = 32) {
  DrawOptions options;
  options.strategies = {Strategy::Single, Strategy::Dp, Strategy::Ddp};
  options.most_gpus = most_gpus;
  options.loader = true;
  return options;
}

void expect_not_faster(double slow, double fast, const std::string& what) {
  if (slow < fast * (1 - kNear)) RC_FAIL(fmt::format("{}: {} s, {} s", what, slow, fast));
}

void expect_near(double a, double b, const std::string& what) {
  if (std::abs(a - b) > kNear * a) RC_FAIL(fmt::format("{}: {} s, {} s", what, a, b));
}

TEST(LoaderLaw, MoreWorkersAreNeverSlower) {
  EXPECT_TRUE(holds("twice the workers are never slower", 180, [] {
    TestPoint point = draw_point(with_loader());
    int& workers = point.scenario.loader.workers_per_process;
    if (workers == 0) workers = 2;
    const double before = estimated_sum_s(point.graph());
    workers *= 2;
    expect_not_faster(before, estimated_sum_s(point.graph()), point.text());
  }));
}

TEST(LoaderLaw, MoreCoresAreNeverSlower) {
  EXPECT_TRUE(holds("twice the cores are never slower", 120, [] {
    TestPoint point = draw_point(with_loader());
    point.scenario.host_cores = *rc::gen::element(1, 4, 30).as("cores");
    const double before = estimated_sum_s(point.graph());
    *point.scenario.host_cores *= 2;
    expect_not_faster(before, estimated_sum_s(point.graph()), point.text());
  }));
}

TEST(LoaderLaw, NoStepIsFasterThanItsLoader) {
  EXPECT_TRUE(holds("n batches take n - 1 periods at least", 180, [] {
    const TestPoint point = draw_point(with_loader());
    const StepGraph graph = point.graph();
    const LoaderPlan plan = loader_plan(point.request());
    const StepRecord record = simulated(graph, 3);
    const double batches = static_cast<double>(record.steps.size()) * point.micro_steps;
    expect_not_faster(record.steps.back().end, (batches - 1) * std::max(plan.period_s, plan.host_s), point.text());
  }));
}

TEST(LoaderLaw, ALoaderNeverMakesAStepFaster) {
  EXPECT_TRUE(holds("a loader only adds", 180, [] {
    TestPoint point = draw_point(with_loader());
    const double with_s = estimated_sum_s(point.graph());
    point.scenario.loader.sample_cost_s.reset();
    expect_not_faster(with_s, estimated_sum_s(point.graph()), point.text());
  }));
}

TEST(LoaderLaw, TheBreakdownIsTheWholeStepInEveryRankAndStep) {
  EXPECT_TRUE(holds("the breakdown sums to the step", 90, [] {
    TestPoint point = draw_point(with_loader(8));
    point.folded = *rc::gen::arbitrary<bool>().as("folded");
    const StepGraph graph = point.graph();
    const StepRecord record = simulated(graph, 3);
    for (int step = 0; step < static_cast<int>(record.steps.size()); ++step)
      for (int rank = 0; rank < graph.simulated_ranks(); ++rank) {
        const Watched watched = watch(graph, record, rank, step);
        for (const std::string& wrong : {breakdown_is_whole(watched), lanes_do_one_thing_at_a_time(watched)})
          if (!wrong.empty()) RC_FAIL(point.text() + ": " + wrong);
      }
  }));
}

TEST(LoaderLaw, FoldedRanksAreUnfoldedRanks) {
  EXPECT_TRUE(holds("folded = unfolded", 90, [] {
    TestPoint point = draw_point(with_loader(16));
    if (!ranks_are_alike(point.request())) RC_DISCARD("ranks differ");
    const double folded = simulated_sum_s(point.graph(), 3);
    point.folded = false;
    expect_near(folded, simulated_sum_s(point.graph(), 3), point.text());
  }));
}

TEST(LoaderLaw, TheEstimateIsTheSimulationWhereNothingContends) {
  EXPECT_TRUE(holds("estimate = simulation", 120, [] {
    const TestPoint point = draw_point(with_loader());
    const InputOptions& input = point.scenario.input;
    if (point.strategy == Strategy::Dp && input.dp_copy == DpCopy::Scatter && input.non_blocking)
      RC_DISCARD("the copies of GPU 0 and of the others run side by side over one host memory");
    const StepGraph graph = point.graph();
    expect_near(estimated_sum_s(graph, 3), simulated_sum_s(graph, 3), point.text());
  }));
}

}  // namespace
}  // namespace lockstep::testing
