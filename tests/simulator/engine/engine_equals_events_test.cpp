// The engine (recurrence between meetings, predict and revise) against one event per op, on random graphs.
#include <gtest/gtest.h>

#include "simulator/engine/engine.h"
#include "tests/simulator/support/event_per_op.h"
#include "tests/simulator/support/random_graph.h"

namespace lockstep::testing {
namespace {

void expect_same_record(const StepRecord& engine, const StepRecord& oracle, std::uint64_t seed) {
  ASSERT_EQ(engine.steps.size(), oracle.steps.size()) << "seed " << seed;
  for (std::size_t s = 0; s < oracle.steps.size(); ++s) {
    const auto& mine = engine.steps[s];
    const auto& theirs = oracle.steps[s];
    EXPECT_NEAR(mine.end, theirs.end, 1e-9 * theirs.end) << "seed " << seed << " step " << s;
    for (std::size_t r = 0; r < theirs.stream_ends.size(); ++r)
      EXPECT_NEAR(mine.stream_ends[r], theirs.stream_ends[r], 1e-9 * theirs.end)
          << "seed " << seed << " step " << s << " rank " << r;
    for (std::size_t m = 0; m < theirs.meetings.size(); ++m) {
      EXPECT_NEAR(mine.meetings[m].start, theirs.meetings[m].start, 1e-9 * theirs.end)
          << "seed " << seed << " step " << s << " meeting " << m;
      EXPECT_NEAR(mine.meetings[m].end, theirs.meetings[m].end, 1e-9 * theirs.end)
          << "seed " << seed << " step " << s << " meeting " << m;
    }
  }
}

StepRecord run_engine(const StepGraph& graph, const JitterSource& jitter, int steps) {
  EngineOptions options;
  options.jitter = jitter;
  options.stop.fixed_steady = steps - static_cast<int>(graph.warm_up.size());
  return simulate(graph, options);
}

void compare(std::uint64_t seed, const RandomGraphOptions& shape, const JitterSource& jitter) {
  const StepGraph graph = random_graph(seed, shape);
  const int steps = 3 + static_cast<int>(graph.warm_up.size());
  const StepRecord mine = run_engine(graph, jitter, steps);
  const auto network = make_simgrid_network();
  const StepRecord theirs = simulate_event_per_op(graph, *network, jitter, steps);
  expect_same_record(mine, theirs, seed);
}

TEST(EngineEqualsOneEventPerOp, ForBucketsOnly) {
  for (std::uint64_t seed = 0; seed < 150; ++seed) compare(seed, {4, false, false, false}, {});
}

TEST(EngineEqualsOneEventPerOp, WithContendedCopiesHostMeetingsAndJitter) {
  for (std::uint64_t seed = 1000; seed < 1200; ++seed) compare(seed, {4, true, true, false}, {0.1, false, seed});
}

TEST(EngineEqualsOneEventPerOp, WithDataLoaders) {
  for (std::uint64_t seed = 3000; seed < 3200; ++seed)
    compare(seed, {4, seed % 2 == 0, seed % 3 != 0, seed % 10 == 0, true}, {0.1, false, seed});
}

TEST(EngineEqualsOneEventPerOp, WhenTheLaunchQueueIsFull) {
  for (std::uint64_t seed = 2000; seed < 2040; ++seed) compare(seed, {3, true, true, true}, {0.05, false, seed});
}

}  // namespace
}  // namespace lockstep::testing
