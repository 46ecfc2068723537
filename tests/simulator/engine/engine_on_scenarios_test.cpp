// The engine on graphs of real strategies: against one event per op, and with many explicit ranks.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "simulator/estimate/estimate.h"
#include "tests/laws/support/checks.h"
#include "tests/laws/support/draw.h"
#include "tests/simulator/support/event_per_op.h"

namespace lockstep::testing {
namespace {

void compare_with_one_event_per_op(const TestPoint& point, const JitterSource& jitter) {
  const StepGraph graph = point.graph();
  const StepRecord mine = simulated(graph, 2, jitter);
  const auto network = make_simgrid_network();
  const StepRecord theirs = simulate_event_per_op(graph, *network, jitter, static_cast<int>(mine.steps.size()));
  for (std::size_t s = 0; s < mine.steps.size(); ++s)
    for (std::size_t r = 0; r < mine.steps[s].stream_ends.size(); ++r) {
      const double a = mine.steps[s].stream_ends[r], b = theirs.steps[s].stream_ends[r];
      if (std::abs(a - b) > 1e-9 * theirs.steps[s].end)
        RC_FAIL(fmt::format("{} step {} rank {}: {} s, one event per op {} s", point.text(), s, r, a, b));
    }
}

TEST(TheEngineOnScenarios, EqualsOneEventPerOpWithSharedCopiesAndJitter) {
  EXPECT_TRUE(holds("engine = one event per op", 60, [] {
    DrawOptions options;
    options.strategies = {Strategy::Single, Strategy::Dp, Strategy::Ddp};
    options.models = {"mlp", "resnet18", "vgg16", "gpt2"};
    options.most_gpus = 8;
    TestPoint point = draw_point(options);
    point.folded = false;
    const double sigma = *rc::gen::element(0.0, 0.02, 0.2).as("sigma");
    compare_with_one_event_per_op(point, {sigma, false, *rc::gen::inRange<std::uint64_t>(1, 100).as("seed")});
  }));
}

TestPoint many_ranks(int gpus) {
  TestPoint point;
  point.model_name = "resnet18";
  point.fabric = "ib-hdr-8x200";
  point.gpus = gpus;
  point.folded = false;
  point.scenario.input.source = InputSource::Host;
  point.load();
  return point;
}

TEST(TheEngineOnScenarios, RunsAThousandRanksThatShareCopiesAndJitter) {
  TestPoint point = many_ranks(1024);
  point.model_name = "resnet50";
  point.batch = 128;
  point.load();
  const StepGraph graph = point.graph();
  const JitterSource jitter{0.05, false, 1};
  const StepRecord record = simulated(graph, 2, jitter);
  ASSERT_EQ(record.steps.size(), 4U);
  StopRule rule;
  rule.fixed_steady = 2;
  EXPECT_GE(record.steps.back().end, estimate(graph, rule, jitter).steps.back().end * (1 - 1e-9));
  const int critical = record.steps.back().critical_rank;
  EXPECT_EQ(breakdown_is_whole(watch(graph, record, critical, 3, jitter)), "");
}

// Runs of one process follow each other on SimGrid's clock; after hours of simulated time its dates have fewer
// digits.
TEST(TheEngineOnScenarios, RunsLateInTheLifeOfAProcess) {
  struct OneFlow final : NetworkListener {
    Network* network = nullptr;
    void on_wakeup() override { network->start_flow(0, 20'000'000'000'000, 0); }
    void on_flow_end(std::uint64_t) override {}
  };
  {
    const auto network = make_simgrid_network();
    network->add_route({network->add_link("link", 1e9)});
    OneFlow hours;
    hours.network = network.get();
    network->run(hours);
  }
  const StepGraph graph = many_ranks(256).graph();
  const JitterSource jitter{0.05, false, 1};
  const double late = simulated(graph, 2, jitter).steps.back().end;
  StopRule rule;
  rule.fixed_steady = 2;
  EXPECT_GE(late, estimate(graph, rule, jitter).steps.back().end * (1 - 1e-9));
}

// Every rank of a DGX A100 sees the same two sharers of its uplink and eight of its host.
TEST(TheEngineOnScenarios, GivesAlikeRanksTheStepOfAFoldedOne) {
  TestPoint point = many_ranks(64);
  const double explicit_ranks = simulated_sum_s(point.graph());
  point.folded = true;
  EXPECT_NEAR(simulated_sum_s(point.graph()), explicit_ranks, 1e-9 * explicit_ranks);
}

// Sixteen ranks drawn with jitter wait for the slowest: the mean step grows with sigma.
TEST(TheEngineOnScenarios, LosesMoreToMoreJitter) {
  TestPoint point = many_ranks(16);
  point.batch = 128;
  const StepGraph graph = point.graph();
  double before = simulated_sum_s(graph, 20);
  for (const double sigma : {0.02, 0.05, 0.1}) {
    const double sum = simulated(graph, 20, {sigma, false, 4}).steps.back().end;
    EXPECT_GT(sum, before) << sigma;
    before = sum;
  }
}

}  // namespace
}  // namespace lockstep::testing
