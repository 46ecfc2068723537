// Processes that measure as one: what one launch over all of them says, and every way in which it breaks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hwrunner/crew/channel.h"
#include "tests/hwrunner/crew_support.h"

namespace lockstep {
namespace {

using testing::CrewOf;
using testing::facts_of;
using testing::fake_options;
using testing::fake_plan;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using testing::place_of;
using testing::records_of;

TEST_F(CrewOf, three_runs_every_rank_at_its_place_and_leaves_with_the_code_of_rank_0) {
  auto crew = crew_of(3);
  ASSERT_TRUE(crew);
  EXPECT_EQ(crew->world().in_words(), "3 hosts: host0 (rank 0), host1 (rank 1), host2 (rank 2)");
  for (int launch = 0; launch < 2; ++launch) {
    const LaunchOutcome outcome = crew->launch(fake_plan(Strategy::Ddp, 3), fake_options());
    EXPECT_FALSE(outcome.failure) << outcome.failure->sentence;
    ASSERT_EQ(outcome.ranks.size(), 3U);
    for (const RankLog& log : outcome.ranks) {
      EXPECT_EQ(records_of<RankStepRecord>(log).size(), 8U);
      EXPECT_TRUE(std::holds_alternative<DoneRecord>(log.records.back()));
      EXPECT_GT(log.peak_memory_bytes, 0);
    }
  }
  EXPECT_EQ(pids_.all().size(), 6U);  // fresh processes for each launch
  crew->end(7);
  EXPECT_THAT(others_.codes(), ::testing::ElementsAre(7, 7));
}

TEST_F(CrewOf, three_runs_a_row_of_fewer_ranks_on_the_first_of_them) {
  auto crew = crew_of(3);
  ASSERT_TRUE(crew);
  const LaunchOutcome two = crew->launch(fake_plan(Strategy::Ddp, 2), fake_options());
  EXPECT_FALSE(two.failure) << two.failure->sentence;
  EXPECT_EQ(two.ranks.size(), 2U);
  const LaunchOutcome one = crew->launch(fake_plan(Strategy::Single, 1), fake_options());
  EXPECT_FALSE(one.failure) << one.failure->sentence;
  EXPECT_EQ(pids_.all().size(), 3U);
  const LaunchOutcome four = crew->launch(fake_plan(Strategy::Ddp, 4), fake_options());
  ASSERT_TRUE(four.failure);
  EXPECT_TRUE(four.failure->refused);
  EXPECT_EQ(four.failure->sentence, "tests started 3 ranks");
  crew->end(0);
}

TEST_F(CrewOf, two_processes_with_several_ranks_each_numbers_them_host_by_host) {
  CrewFacts two = facts_of(1);
  two.ranks = 2;
  others_.start(place_of(1, 2, port_), two);
  CrewOptions options;
  CrewFacts mine = facts_of(0);
  mine.ranks = 2;
  auto crew = Crew::assemble(place_of(0, 2, port_), mine, options);
  ASSERT_TRUE(crew);
  EXPECT_EQ((*crew)->world().in_words(), "2 hosts: host0 (ranks 0-1), host1 (ranks 2-3)");
  const LaunchOutcome outcome = (*crew)->launch(fake_plan(Strategy::Ddp, 4), fake_options());
  EXPECT_FALSE(outcome.failure) << outcome.failure->sentence;
  (*crew)->end(0);
}

// --- Clocks -------------------------------------------------------------------------------------------

TEST_F(CrewOf, two_hosts_with_clocks_apart_puts_dates_on_one) {
  const double start_s = host_clock_s();
  auto crew = crew_of(2, [start_s] { return host_clock_s() + 1000 + 0.001 * (host_clock_s() - start_s); });
  ASSERT_TRUE(crew);
  const LaunchOutcome outcome = crew->launch(fake_plan(Strategy::Ddp, 2), fake_options());
  ASSERT_FALSE(outcome.failure) << outcome.failure->sentence;
  const auto clocks = crew->clocks();
  ASSERT_EQ(clocks.size(), 1U);
  EXPECT_EQ(clocks[0].host, "host1");
  // The clock gained a thousandth since start_s: less than half a second in the time that a test may take.
  EXPECT_NEAR(clocks[0].offset.offset_s(), 1000, 0.4 + clocks[0].offset.uncertainty_s());
  EXPECT_LT(clocks[0].offset.uncertainty_s(), 1);
  // The fake ranks' own records are on the true clock, so moving them takes them a thousand seconds back.
  const double end0_s = records_of<RankStepRecord>(outcome.ranks[0]).back().end_s;
  const double end1_s = records_of<RankStepRecord>(outcome.ranks[1]).back().end_s;
  EXPECT_NEAR(end0_s - end1_s, 1000, 2);
  crew->end(0);
}

TEST_F(CrewOf, two_hosts_with_one_clock_finds_no_difference_beyond_the_uncertainty) {
  auto crew = crew_of(2);
  ASSERT_TRUE(crew);
  crew->launch(fake_plan(Strategy::Ddp, 2), fake_options());
  ASSERT_EQ(crew->clocks().size(), 1U);
  EXPECT_LE(std::abs(crew->clocks()[0].offset.offset_s()), crew->clocks()[0].offset.uncertainty_s());
  EXPECT_EQ(crew->clocks()[0].offset.drift(), 0);
  crew->end(0);
}

TEST(Clocks, are_read_by_the_shortest_round_trip_and_are_off_by_half_of_it_at_most) {
  double ours_s = 50, way_s = 0;
  std::vector<double> ways = {0.4, 0.01, 0.3};  // there; back takes no time: the worst that can happen
  std::size_t asked = 0;
  const auto ask = [&]() -> std::optional<double> {
    way_s = ways[asked++];
    ours_s += way_s;
    return ours_s + 1000;
  };
  const auto reading = read_clock(
      ask, [&] { return ours_s; }, 3);
  ASSERT_TRUE(reading);
  EXPECT_NEAR(reading->uncertainty_s, 0.005, 1e-12);
  EXPECT_NEAR(reading->offset_s, 1000.005, 1e-9);
  EXPECT_FALSE(read_clock([]() -> std::optional<double> { return std::nullopt; }, [] { return 0.0; }, 3));
}

TEST(Clocks, drift_between_two_readings_and_dates_follow_the_line) {
  // The other clock: 2 ours + 7.
  const ClockOffset offset({10, 17, 1e-6}, {20, 27, 1e-6});
  EXPECT_NEAR(offset.drift(), 1, 1e-12);
  for (const double ours_s : {10.0, 12.5, 20.0}) EXPECT_NEAR(offset.to_ours(2 * ours_s + 7), ours_s, 1e-12);
  const ClockOffset unsure({10, 17, 1e-3}, {20, 17.001, 1e-3});  // no more than they can tell apart
  EXPECT_EQ(unsure.drift(), 0);
  EXPECT_NEAR(unsure.to_ours(29), 12, 1e-12);
  RankStepRecord step;
  step.end_s = 31;
  step.idle_from_s = 27;
  step.idle_to_s = 29;
  step.parts = {{"forward", 0.5}};
  const auto moved = std::get<RankStepRecord>(on_our_clock(step, offset));
  EXPECT_NEAR(moved.end_s, 12, 1e-12);
  EXPECT_NEAR(*moved.idle_from_s, 10, 1e-12);
  EXPECT_EQ(moved.parts.at("forward"), 0.5);
}

// --- A launch that breaks -------------------------------------------------------------------------------

TEST_F(CrewOf, two_names_rank_and_host_of_one_that_was_killed_and_goes_on) {
  auto crew = crew_of(2);
  ASSERT_TRUE(crew);
  const LaunchOptions options = fake_options("do=kill,rank=1,repeat=0,step=3");
  RunPlan plan = fake_plan(Strategy::Ddp, 2);
  EXPECT_EQ(sentence_of(crew->launch(plan, options)),
            "rank 1 on host1 was killed by signal 9 during step 2 of repeat 1 (ddp, 2 ranks)");
  EXPECT_THAT(pids_.running(), IsEmpty());
  plan.repeat = 1;
  EXPECT_EQ(sentence_of(crew->launch(plan, options)), "nothing failed");
  crew->end(2);
}

TEST_F(CrewOf, two_names_one_that_hangs_stops_fails_or_talks_nonsense) {
  auto crew = crew_of(2);
  const LaunchOptions options = fake_options(
      "do=hang,rank=1,repeat=0,step=3;do=stop,rank=1,repeat=1,step=3;do=oom,rank=1,repeat=2,at=build;"
      "do=garbage,rank=1,repeat=3,step=3;do=hang,rank=1,repeat=4,at=join");
  ASSERT_TRUE(crew);
  const std::vector<std::string> wanted = {
      "rank 1 on host1 said nothing for more than 1.5 s during step 2 of repeat 1 (ddp, 2 ranks)",
      "rank 1 on host1 was stopped by signal 19 and did not go on during step 2 of repeat 2 (ddp, 2 ranks)",
      "rank 1 on host1 failed while building the model for repeat 3 (ddp, 2 ranks): out of memory",
      "rank 1 on host1 sent something that is no record during step 2 of repeat 4 (ddp, 2 ranks): `[W socket.cpp:764] "
      "hello`",
      "rank 1 on host1 said nothing for more than 1.5 s while joining the group of repeat 5 (ddp, 2 ranks)"};
  for (std::size_t repeat = 0; repeat < wanted.size(); ++repeat) {
    RunPlan plan = fake_plan(Strategy::Ddp, 2);
    plan.repeat = static_cast<int>(repeat);
    EXPECT_EQ(sentence_of(crew->launch(plan, options)), wanted[repeat]);
    EXPECT_THAT(pids_.running(), IsEmpty());
  }
  crew->end(2);
}

TEST_F(CrewOf, two_names_the_process_that_was_killed_with_its_rank_and_says_so_again_later) {
  auto crew = crew_of(2);
  ASSERT_TRUE(crew);
  const auto [plan, options] = that_hits_the_other(SIGKILL);
  EXPECT_THAT(
      sentence_of(crew->launch(plan, options)),
      MatchesRegex("rank 1 on host1 failed during step [0-9]+ of repeat 1 \\(ddp, 2 ranks\\): the connection to "
                   "its `lockstep measure` on host1 \\(pid [0-9]+\\) broke"));
  while (!pids_.running().empty()) usleep(2000);  // else the test's own time ends
  EXPECT_THAT(sentence_of(crew->launch(plan, fake_options())), HasSubstr("is gone"));
  crew->end(2);
}

TEST_F(CrewOf, two_gives_up_a_process_that_was_stopped_with_its_rank) {
  auto crew = crew_of(2);
  ASSERT_TRUE(crew);
  const auto [plan, options] = that_hits_the_other(SIGSTOP);
  EXPECT_THAT(sentence_of(crew->launch(plan, options)),
              MatchesRegex("rank 1 on host1 said nothing for more than .* during .*"));
  kill(others_.pid(0), SIGCONT);  // it finds the connection closed and takes its rank along
  EXPECT_THAT(others_.codes(), ::testing::ElementsAre(99));
  EXPECT_THAT(others_.error(0), HasSubstr("rank 0, which leads, is gone"));
  EXPECT_THAT(pids_.running(), IsEmpty());
}

TEST_F(CrewOf, two_that_is_asked_to_stop_ends_all_ranks) {
  auto crew = crew_of(2);
  ASSERT_TRUE(crew);
  RunPlan plan = fake_plan(Strategy::Ddp, 2);
  plan.steps = 1'000'000;
  LaunchOptions options = fake_options();
  options.stop = &stop_;
  options.on_record = [this](int, const Record& record) {
    const auto* step = std::get_if<RankStepRecord>(&record);
    if (step != nullptr && step->step == 10) stop_ = 1;
  };
  const LaunchOutcome outcome = crew->launch(plan, options);
  EXPECT_TRUE(outcome.interrupted);
  EXPECT_FALSE(outcome.failure);
  EXPECT_GE(records_of<RankStepRecord>(outcome.ranks[0]).size(), 10U);
  EXPECT_THAT(pids_.running(), IsEmpty());
  crew->end(130);
  EXPECT_THAT(others_.codes(), ::testing::ElementsAre(130));
}

TEST_F(CrewOf, two_says_that_the_other_has_no_program_to_start) {
  CrewFacts facts = facts_of(1);
  const pid_t child = fork();
  if (child == 0) {
    CrewOptions options;
    options.program = "/nowhere/lockstep-hwrunner";
    const auto code = serve_crew(place_of(1, 2, port_), facts, options);
    _exit(code ? *code : 99);
  }
  auto crew = assembled(2);
  ASSERT_TRUE(crew);
  EXPECT_THAT(sentence_of((*crew)->launch(fake_plan(Strategy::Ddp, 2), fake_options())),
              HasSubstr("No such file or directory"));
  (*crew)->end(2);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 2);
}

}  // namespace
}  // namespace lockstep
