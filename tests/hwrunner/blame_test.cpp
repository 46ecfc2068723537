// Who is to blame, from states alone.
#include "hwrunner/launch/blame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/hwrunner/fake.h"

namespace lockstep {
namespace {

using testing::fake_plan;
using ::testing::HasSubstr;

LaunchedRankState at_step(int done) {
  LaunchedRankState state;
  state.phase = Phase::Stepping;
  state.steps_done = done;
  return state;
}
LaunchedRankState killed(int done, double ended_s, int signal = 9) {
  LaunchedRankState state = at_step(done);
  state.end = LaunchedRankState::End::Signalled;
  state.status = signal;
  state.ended_s = ended_s;
  return state;
}
LaunchedRankState failed(const char* kind, int done, double ended_s, std::vector<int> ranks = {}) {
  LaunchedRankState state = at_step(done);
  state.error = ErrorRecord{kind, std::string("a ") + kind + " error", std::move(ranks)};
  state.end = LaunchedRankState::End::Exited;
  state.status = 1;
  state.ended_s = ended_s;
  return state;
}
LaunchedRankState finished() {
  LaunchedRankState state = at_step(8);
  state.phase = Phase::Done;
  state.end = LaunchedRankState::End::Exited;
  return state;
}

int blamed(const std::vector<LaunchedRankState>& ranks, bool too_silent = false) {
  const auto failure = blame(fake_plan(Strategy::Ddp, static_cast<int>(ranks.size())), ranks, too_silent);
  return failure ? failure->rank : -1;
}

TEST(Blame, nobody_where_all_is_well_or_goes_on) {
  EXPECT_EQ(blamed({finished(), finished()}), -1);
  EXPECT_EQ(blamed({at_step(3), finished()}), -1);
}

TEST(Blame, lost_connections_are_consequences_even_when_they_come_first) {
  EXPECT_EQ(blamed({failed("network", 4, 1.0), failed("network", 4, 1.1), killed(4, 1.2)}), 2);
  EXPECT_EQ(blamed({failed("network", 4, 1.0), failed("exception", 4, 1.2)}), 1);
  EXPECT_EQ(blamed({failed("network", 4, 1.3), failed("network", 4, 1.1)}), 1);  // no other cause: the earliest
}

TEST(Blame, of_several_faults_the_earliest) {
  EXPECT_EQ(blamed({killed(4, 2.0), killed(4, 1.9, 11)}), 1);
  EXPECT_EQ(blamed({failed("out_of_memory", 4, 1.0), killed(4, 1.9)}), 0);
}

TEST(Blame, those_who_waited_in_vain_point_to_those_who_are_silent) {
  EXPECT_EQ(blamed({failed("timeout", 4, 1), failed("timeout", 4, 1), at_step(4), failed("timeout", 4, 1)}), 2);
  EXPECT_EQ(blamed({failed("timeout", 4, 1, {3}), at_step(4), at_step(4), at_step(4)}), 3);
  LaunchedRankState stopped = at_step(4);
  stopped.stopped = true;
  stopped.stop_signal = 19;
  EXPECT_EQ(blamed({failed("timeout", 4, 1), at_step(4), stopped}), 2);
}

TEST(Blame, silence_points_to_whoever_is_furthest_behind) {
  EXPECT_EQ(blamed({at_step(4), at_step(3), at_step(4)}, true), 1);
  LaunchedRankState joining;
  joining.phase = Phase::Joining;
  LaunchedRankState building;
  building.phase = Phase::Building;
  EXPECT_EQ(blamed({joining, building, joining}, true), 1);
  const auto all = blame(fake_plan(Strategy::Ddp, 2), {at_step(4), at_step(4)}, true);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->sentence, "ranks 0 and 1 all said nothing for more than 3 s during step 3 of repeat 1 (ddp, 2 ranks)");
}

TEST(Blame, a_rank_that_we_ended_ourselves_is_no_cause) {
  LaunchedRankState ended = killed(4, 3);
  ended.killed_by_us = true;
  EXPECT_EQ(blamed({ended, finished()}), -1);
}

TEST(Blame, an_end_with_code_0_before_the_last_step_is_a_failure) {
  LaunchedRankState early = at_step(5);
  early.end = LaunchedRankState::End::Exited;
  const auto failure = blame(fake_plan(Strategy::Dp, 2), {early}, false);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->sentence,
            "rank 0 ended with exit code 0 before its time during step 4 of repeat 1 (dp, 2 replicas)");
  const auto other = blame(fake_plan(Strategy::DpCpp, 2), {early}, false);
  ASSERT_TRUE(other);
  EXPECT_THAT(other->sentence, HasSubstr("(dp-cpp, 2 replicas)"));
}

TEST(Blame, says_what_a_rank_was_at) {
  const RunPlan plan = fake_plan(Strategy::Ddp, 2);
  LaunchedRankState state;
  EXPECT_EQ(place_of(plan, state), "while starting for repeat 1");
  state.phase = Phase::Joined;
  EXPECT_EQ(place_of(plan, state), "before the first step of repeat 1");
  EXPECT_EQ(place_of(plan, at_step(1)), "during warm-up step 2 of repeat 1");
  EXPECT_EQ(place_of(plan, at_step(8)), "after the last step of repeat 1");
}

}  // namespace
}  // namespace lockstep
