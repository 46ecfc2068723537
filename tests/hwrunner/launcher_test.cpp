// Launches of real processes: all goes well, and every way in which it does not. The fake worker takes the place of
// LibTorch (fake_worker.cpp).
#include "hwrunner/launch/launcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "hwrunner/launch/pinning.h"
#include "hwrunner/launch/rank_process.h"
#include "tests/hwrunner/fake.h"
#include "tests/hwrunner/records.h"

namespace lockstep {
namespace {

using testing::fake_options;
using testing::fake_plan;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Pids;
using testing::records_of;
using ::testing::StartsWith;

// The launch of `plan` under these orders, and a check that it left no process behind.
class Launches : public ::testing::Test {
 protected:
  LaunchOutcome launched(const RunPlan& plan, const std::string& orders) {
    LaunchOptions options = fake_options(orders);
    options.environment.push_back("LOCKSTEP_FAKE_PIDS=" + pids_.folder());
    LaunchOutcome outcome = launch(plan, options);
    EXPECT_THAT(pids_.running(), IsEmpty());
    return outcome;
  }
  // The sentence of a launch of ddp on two ranks.
  std::string sentence(const std::string& orders, int ranks = 2) {
    const LaunchOutcome outcome = launched(fake_plan(Strategy::Ddp, ranks), orders);
    return outcome.failure ? outcome.failure->sentence : "nothing failed";
  }
  Pids pids_;
};

TEST_F(Launches, every_rank_tells_every_step_in_order) {
  const RunPlan plan = fake_plan(Strategy::Ddp, 3);
  const LaunchOutcome outcome = launched(plan, "");
  EXPECT_FALSE(outcome.failure) << outcome.failure->sentence;
  ASSERT_EQ(outcome.ranks.size(), 3U);
  EXPECT_EQ(pids_.all().size(), 3U);
  for (const RankLog& log : outcome.ranks) {
    const auto steps = records_of<RankStepRecord>(log);
    ASSERT_EQ(steps.size(), 8U);
    for (std::size_t i = 0; i < steps.size(); ++i) EXPECT_EQ(steps[i].step, static_cast<int>(i));
    EXPECT_TRUE(std::holds_alternative<HelloRecord>(log.records.front()));
    EXPECT_TRUE(std::holds_alternative<DoneRecord>(log.records.back()));
    EXPECT_GT(log.peak_memory_bytes, 0);
  }
}

TEST_F(Launches, ranks_find_their_place_threads_and_cores_in_their_surroundings) {
  RunPlan plan = fake_plan(Strategy::Ddp, 2);
  plan.threads_per_rank = 3;
  const auto environment = environment_of_rank(plan, 1, 4711, {"OMP_WAIT_POLICY=ACTIVE"});
  for (const char* wanted :
       {"RANK=1", "WORLD_SIZE=2", "LOCAL_RANK=1", "MASTER_PORT=4711", "OMP_NUM_THREADS=3", "OMP_WAIT_POLICY=ACTIVE"})
    EXPECT_THAT(environment, ::testing::Contains(wanted));
  const auto allowed = allowed_cores();
  LaunchOptions options = fake_options();
  options.cores = {{allowed.front()}, {allowed.back()}};
  const LaunchOutcome outcome = launch(plan, options);
  ASSERT_FALSE(outcome.failure);
  EXPECT_EQ(records_of<HelloRecord>(outcome.ranks[0]).at(0).cores, std::vector<int>{allowed.front()});
  EXPECT_EQ(records_of<HelloRecord>(outcome.ranks[1]).at(0).cores, std::vector<int>{allowed.back()});
}

TEST_F(Launches, a_killed_rank_is_named_with_signal_step_and_repeat) {
  RunPlan plan = fake_plan(Strategy::Ddp, 2);
  plan.repeat = 1;
  const LaunchOutcome outcome = launched(plan, "do=kill,rank=1,step=5");
  ASSERT_TRUE(outcome.failure);
  EXPECT_EQ(outcome.failure->sentence, "rank 1 was killed by signal 9 during step 4 of repeat 2 (ddp, 2 ranks)");
  EXPECT_THAT(outcome.failure->hint, HasSubstr("memory"));
  ASSERT_EQ(outcome.failure->consequences.size(), 1U);
  EXPECT_THAT(outcome.failure->consequences[0], StartsWith("rank 0 failed ([pair.cc"));
  EXPECT_EQ(records_of<RankStepRecord>(outcome.ranks[1]).size(), 5U);  // what was done is kept
}

TEST_F(Launches, a_rank_that_throws_is_the_cause_and_not_those_that_lose_the_connection) {
  EXPECT_EQ(
      sentence("do=throw,rank=2,step=1", 3),
      "rank 2 failed during warm-up step 2 of repeat 1 (ddp, 3 ranks): mat1 and mat2 shapes cannot be multiplied");
  EXPECT_EQ(sentence("do=oom,rank=0,at=build"),
            "rank 0 failed while building the model for repeat 1 (ddp, 2 ranks): out of memory");
}

TEST_F(Launches, a_rank_that_leaves_early_or_aborts_is_named_with_its_last_words) {
  EXPECT_EQ(sentence("do=exit,rank=1,step=2"),
            "rank 1 ended with exit code 7 before its time during step 1 of repeat 1 (ddp, 2 ranks)");
  EXPECT_EQ(sentence("do=abort,rank=0,step=3"),
            "rank 0 was killed by signal 6 during step 2 of repeat 1 (ddp, 2 ranks); its last words: terminate called: "
            "enforce fail");
}

TEST_F(Launches, a_line_that_is_no_record_is_shown) {
  EXPECT_EQ(sentence("do=garbage,rank=1,step=4"),
            "rank 1 sent something that is no record during step 3 of repeat 1 (ddp, 2 ranks): `[W socket.cpp:764] "
            "hello`");
}

TEST_F(Launches, a_hung_rank_is_named_by_those_that_waited_for_it) {
  EXPECT_EQ(sentence("do=hang,rank=1,step=3", 3),
            "rank 1 said nothing for more than 1.5 s during step 2 of repeat 1 (ddp, 3 ranks)");
}

TEST_F(Launches, a_stopped_rank_is_named_with_its_signal) {
  EXPECT_EQ(sentence("do=stop,rank=0,step=2"),
            "rank 0 was stopped by signal 19 and did not go on during step 1 of repeat 1 (ddp, 2 ranks)");
}

TEST_F(Launches, a_rank_that_never_joins_is_named) {
  EXPECT_EQ(sentence("do=hang,rank=2,at=join", 3),
            "rank 2 said nothing for more than 1.5 s while joining the group of repeat 1 (ddp, 3 ranks)");
}

TEST_F(Launches, a_process_that_hangs_alone_is_ended_by_the_launcher) {
  RunPlan plan = fake_plan(Strategy::Single, 1);
  plan.timeouts.silence_s = 0.5;
  plan.instrumented = true;
  const LaunchOutcome outcome = launched(plan, "do=hang,step=7");
  ASSERT_TRUE(outcome.failure);
  EXPECT_EQ(outcome.failure->sentence,
            "rank 0 said nothing for more than 500 ms during step 6 of the instrumented pass (single)");
}

TEST_F(Launches, a_program_that_cannot_be_started_is_a_failure_and_not_a_crash) {
  LaunchOptions options = fake_options();
  options.program = "/nowhere/lockstep-hwrunner";
  const LaunchOutcome outcome = launch(fake_plan(Strategy::Ddp, 2), options);
  ASSERT_TRUE(outcome.failure);
  EXPECT_THAT(outcome.failure->sentence, HasSubstr("No such file or directory"));
}

TEST_F(Launches, nothing_of_a_launch_stays_in_the_folder_for_temporary_files) {
  const std::string folder = ::testing::TempDir() + "lockstep-tmp-" + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  ASSERT_EQ(setenv("TMPDIR", folder.c_str(), 1), 0);
  launch(fake_plan(Strategy::Ddp, 2), fake_options());
  launch(fake_plan(Strategy::Ddp, 2), fake_options("do=kill,rank=0"));
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::filesystem::remove_all(folder);
}

TEST_F(Launches, a_launch_that_is_asked_to_stop_ends_all_ranks_and_keeps_what_came) {
  volatile std::sig_atomic_t stop = 0;
  RunPlan plan = fake_plan(Strategy::Ddp, 2);
  plan.steps = 100'000;
  LaunchOptions options = fake_options();
  options.environment.push_back("LOCKSTEP_FAKE_PIDS=" + pids_.folder());
  options.stop = &stop;
  options.on_record = [&stop](int, const Record& record) {
    if (const auto* step = std::get_if<RankStepRecord>(&record); step != nullptr && step->step == 10) stop = 1;
  };
  const LaunchOutcome outcome = launch(plan, options);
  EXPECT_TRUE(outcome.interrupted);
  EXPECT_FALSE(outcome.failure);
  EXPECT_GE(records_of<RankStepRecord>(outcome.ranks[0]).size(), 10U);
  EXPECT_THAT(pids_.running(), IsEmpty());
}

TEST_F(Launches, ranks_die_with_a_launcher_that_is_killed) {
  RunPlan plan = fake_plan(Strategy::Ddp, 3);
  plan.steps = 1'000'000;
  const pid_t launcher = fork();
  ASSERT_GE(launcher, 0);
  if (launcher == 0) {
    LaunchOptions options = fake_options();
    options.environment.push_back("LOCKSTEP_FAKE_PIDS=" + pids_.folder());
    launch(plan, options);
    _exit(0);
  }
  while (pids_.all().size() < 3) usleep(2000);
  ASSERT_EQ(kill(launcher, SIGKILL), 0);
  ASSERT_EQ(waitpid(launcher, nullptr, 0), launcher);
  while (!pids_.running().empty()) usleep(2000);  // else the test's own time ends
  EXPECT_EQ(pids_.all().size(), 3U);
}

TEST(Cores, are_given_out_once_and_only_when_there_are_enough) {
  EXPECT_EQ(cores_for(2, 2, {0, 1, 4, 5, 6}), (std::vector<std::vector<int>>{{0, 1}, {4, 5}}));
  EXPECT_THAT(cores_for(3, 2, {0, 1, 4, 5, 6}), IsEmpty());
  EXPECT_EQ(core_list({0, 1, 2, 4, 6, 7}), "0-2,4,6-7");
  EXPECT_EQ(core_list({}), "");
}

}  // namespace
}  // namespace lockstep
