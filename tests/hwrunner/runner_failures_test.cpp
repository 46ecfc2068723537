// How ranks of the program with LibTorch fail, and that the launcher names the one that did.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "hwrunner/launch/pinning.h"
#include "tests/hwrunner/runner_support.h"
#include "tests/simulator/cli/in_process.h"

namespace lockstep {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using testing::lockstep_in_process;
using ::testing::MatchesRegex;
using testing::Outcome;
using testing::plan_of;
using testing::Runner;
using ::testing::StartsWith;

TEST_F(Runner, names_the_rank_that_was_killed) {
  const LaunchOutcome outcome = launched_and_hit(plan_of(Strategy::Ddp, 2), SIGKILL);
  ASSERT_TRUE(outcome.failure);
  EXPECT_THAT(outcome.failure->sentence,
              MatchesRegex("rank 1 was killed by signal 9 during step [0-9]+ of repeat 1 \\(ddp, 2 ranks\\)"));
}

TEST_F(Runner, names_the_rank_that_was_stopped) {
  RunPlan plan = plan_of(Strategy::Ddp, 2);
  plan.timeouts.group_s = 3;
  const LaunchOutcome outcome = launched_and_hit(plan, SIGSTOP);
  ASSERT_TRUE(outcome.failure);
  EXPECT_THAT(
      outcome.failure->sentence,
      MatchesRegex(
          "rank 1 was stopped by signal 19 and did not go on during step [0-9]+ of repeat 1 \\(ddp, 2 ranks\\)"));
}

TEST_F(Runner, names_the_rank_that_throws_for_want_of_memory) {
  // More than any address space holds.
  const LaunchOutcome outcome = launched_by(
      with_another_plan("\"per_gpu_batch\":4", "\"per_gpu_batch\":10000000000000"), plan_of(Strategy::Ddp, 2));
  ASSERT_TRUE(outcome.failure);
  EXPECT_THAT(outcome.failure->sentence,
              StartsWith("rank 1 failed while joining the group of the instrumented pass (ddp, "
                         "2 ranks): "));
  EXPECT_THAT(outcome.failure->sentence, HasSubstr("can't allocate memory"));
  EXPECT_THAT(outcome.failure->hint, HasSubstr("a smaller batch"));
}

TEST_F(Runner, says_that_models_differ_between_ranks) {
  const LaunchOutcome outcome =
      launched_by(with_another_plan("hidden: \\[64\\]", "hidden: [32]"), plan_of(Strategy::Ddp, 2));
  ASSERT_TRUE(outcome.failure);
  EXPECT_THAT(outcome.failure->sentence, MatchesRegex("rank [01] failed while joining the group .*"));
  EXPECT_THAT(outcome.failure->sentence, HasSubstr("sizes"));
}

TEST_F(Runner, names_the_rank_that_never_joins) {
  RunPlan plan = plan_of(Strategy::Ddp, 2);
  plan.timeouts = {3, 3, 5};
  const LaunchOutcome outcome = launched_by(with_another_rank_1("sleep 1000"), plan);
  ASSERT_TRUE(outcome.failure);
  EXPECT_THAT(outcome.failure->sentence, StartsWith("rank 1 "));
  EXPECT_THAT(outcome.failure->sentence, HasSubstr("while starting"));
}

// Rank 1's network leaves a layer out, which the Reducer notices in its second step: an exception of LibTorch within a
// step of one rank, while the other waits for that rank's gradients.
TEST_F(Runner, names_the_rank_that_throws_in_a_step) {
  if (allowed_cores().size() < 2) GTEST_SKIP() << "two ranks need two cores, this process may use one";
  const std::string head = "name: net\ninput: {shape: [8], dtype: fp32}\nops:\n";
  const std::string last = "- {op: linear, name: last, out: 4}\n- {op: cross_entropy}\n";
  std::ofstream(folder_ / "whole.yaml") << head << "- {op: linear, name: first, out: 8}\n" << last;
  std::ofstream(folder_ / "spare.yaml") << head << last
                                        << "unused_parameters:\n- {name: first.weight, shape: [8, 8]}\n"
                                           "- {name: first.bias, shape: [8]}\n"
                                           "registration: [first.weight, first.bias, last.weight, last.bias]\n";
  use(with_another_plan("whole.yaml", "spare.yaml"));
  const Outcome outcome = lockstep_in_process(
      {"measure", "-", "--json"}, "model: " + (folder_ / "whole.yaml").string() +
                                      "\nbatch: {per_gpu: 4}\ntopology: {node: cpu-host, gpus_per_node: 2}\ngpus: 2\n"
                                      "measure: {steps: 3, warm_up: 2, repeats: 1, timeout: 20s}\n");
  EXPECT_EQ(outcome.code, 2) << outcome.err;
  const json result = json::parse(outcome.out);
  EXPECT_THAT(result["partial"].get<std::string>(),
              MatchesRegex("rank 1 failed during warm-up step 2 of repeat 1 \\(ddp, 2 ranks\\): the step failed: "
                           "Expected to have finished reduction in the prior iteration.*"));
  EXPECT_TRUE(result["runs"][0].contains("step_time_s"));
}

}  // namespace
}  // namespace lockstep
