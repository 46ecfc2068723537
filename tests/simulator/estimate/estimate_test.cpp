// The walk without contention: against times worked out by hand, and against one event per op on graphs whose links
// nobody shares.
#include "simulator/estimate/estimate.h"

#include <gtest/gtest.h>

#include "tests/simulator/support/event_per_op.h"
#include "tests/simulator/support/random_graph.h"

namespace lockstep {
namespace {

constexpr double kUs = 1e-6;

Meeting meeting_of(ArriveOn on, double alpha_s, std::int64_t bytes, std::vector<std::int32_t> route) {
  Meeting meeting;
  meeting.name = "meeting";
  meeting.on = on;
  meeting.alpha_s = alpha_s;
  meeting.flow_bytes = bytes;
  meeting.routes = {std::move(route)};
  meeting.holds = {true};
  return meeting;
}

TEST(AMeetingAlone, TakesAlphaAndItsBytesOverTheSlowestLinkOfItsRoute) {
  StepGraph graph;
  graph.classes = {{0, 2, false}};
  graph.links = {{"quick", LinkClass::Nvlink, 4e9}, {"slow", LinkClass::Pcie, 1e9}};
  EXPECT_DOUBLE_EQ(time_alone(graph, meeting_of(ArriveOn::Stream, 5 * kUs, 8'000, {0}), 0), 7 * kUs);
  EXPECT_DOUBLE_EQ(time_alone(graph, meeting_of(ArriveOn::Stream, 5 * kUs, 8'000, {0, 1}), 0), 13 * kUs);
  EXPECT_DOUBLE_EQ(time_alone(graph, meeting_of(ArriveOn::Stream, 5 * kUs, 0, {}), 0), 5 * kUs);
  Meeting own = meeting_of(ArriveOn::Host, 0, 8'000, {0});
  own.own = true;
  own.routes.push_back({1});
  EXPECT_DOUBLE_EQ(time_alone(graph, own, 0), 2 * kUs);
  EXPECT_DOUBLE_EQ(time_alone(graph, own, 1), 8 * kUs);
}

// Two classes meet: the late one decides when the collective starts.
TEST(AnEstimate, StartsACollectiveWhenTheLastRankArrives) {
  StepGraph graph;
  graph.classes = {{0, 1, false}, {1, 3, true}};
  graph.launch_latency_s = 0;
  graph.steady.programs.resize(2);
  graph.steady.meetings = {meeting_of(ArriveOn::Stream, 20 * kUs, 0, {})};
  graph.steady.meetings[0].holds = {true, true};
  for (std::size_t c = 0; c < 2; ++c) {
    ProgramBuilder program(graph, graph.steady.programs[c]);
    program.kernel(0, (c == 0 ? 10 : 70) * kUs, Cause::Forward, "");
    program.arrive(0, 0, "");
    program.kernel(0, 5 * kUs, Cause::Backward, "");
  }
  const StepRecord record = estimate(graph, {});
  EXPECT_NEAR(record.steps[0].meetings[0].start, 70 * kUs, 1e-15);
  EXPECT_NEAR(record.steps[0].end, 95 * kUs, 1e-15);
  for (const double step : record.step_times_s()) EXPECT_NEAR(step, 95 * kUs, 1e-15);
  EXPECT_TRUE(record.converged);
  EXPECT_EQ(record.steps.size(), 4U);
}

TEST(AnEstimate, PutsOperationsOfOneCommunicationStreamBehindEachOther) {
  StepGraph graph;
  graph.classes = {{0, 2, true}};
  graph.launch_latency_s = 0;
  graph.contention = 1;
  graph.steady.programs.resize(1);
  ProgramBuilder program(graph, graph.steady.programs[0]);
  for (int m = 0; m < 3; ++m) {
    graph.steady.meetings.push_back(meeting_of(ArriveOn::Communication, 50 * kUs, 0, {}));
    program.kernel(0, 10 * kUs, Cause::Backward, "");
    program.arrive(m, 0, "");
  }
  program.stream_wait(2);
  const StepRecord record = estimate(graph, {});
  const auto& times = record.steps[0].meetings;
  EXPECT_NEAR(times[0].start, 10 * kUs, 1e-15);
  EXPECT_NEAR(times[1].start, 60 * kUs, 1e-15);
  EXPECT_NEAR(times[2].end, 160 * kUs, 1e-15);
  EXPECT_NEAR(record.steps[0].end, 160 * kUs, 1e-15);
}

// Each meeting gets links of its own: nothing contends, so the estimate is exact.
StepGraph without_sharing(StepGraph graph) {
  std::vector<Link> links;
  std::vector<StepProgram*> programs{&graph.steady};
  for (auto& program : graph.warm_up) programs.push_back(&program);
  for (auto* program : programs)
    for (auto& meeting : program->meetings)
      for (auto& route : meeting.routes)
        for (auto& link : route) {
          links.push_back(graph.links[static_cast<std::size_t>(link)]);
          links.back().id = "link" + std::to_string(links.size());
          link = static_cast<std::int32_t>(links.size()) - 1;
        }
  graph.links = links;
  return graph;
}

TEST(AnEstimate, IsOneEventPerOpWhereNoLinkIsShared) {
  for (std::uint64_t seed = 5000; seed < 5120; ++seed) {
    const StepGraph graph = without_sharing(testing::random_graph(seed, {4, true, true, seed % 12 == 0}));
    const JitterSource jitter{seed % 2 == 0 ? 0 : 0.1, false, seed};
    StopRule rule;
    rule.fixed_steady = 3;
    const StepRecord mine = estimate(graph, rule, jitter);
    const auto network = make_simgrid_network();
    const StepRecord theirs =
        testing::simulate_event_per_op(graph, *network, jitter, static_cast<int>(mine.steps.size()));
    for (std::size_t s = 0; s < mine.steps.size(); ++s)
      for (std::size_t r = 0; r < mine.steps[s].stream_ends.size(); ++r)
        ASSERT_NEAR(mine.steps[s].stream_ends[r], theirs.steps[s].stream_ends[r], 1e-9 * theirs.steps[s].end)
            << "seed " << seed << " step " << s << " rank " << r;
  }
}

}  // namespace
}  // namespace lockstep
