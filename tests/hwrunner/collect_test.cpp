// From records to a Run, on records made by hand: every figure can be worked out on paper.
#include "hwrunner/measure/collect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulator/result/json.h"
#include "tests/hwrunner/fake.h"

namespace lockstep {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using testing::fake_plan;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A rank whose steps end at these times, warm-up from `start`.
RankLog rank_log(double start, const std::vector<double>& ends) {
  RankLog log;
  HelloRecord hello;
  hello.implementation = "c10d Reducer";
  hello.host = "node0";
  log.records = {hello, JoiningRecord{}, ReadyRecord{}, StartRecord{start}};
  for (std::size_t i = 0; i < ends.size(); ++i) {
    RankStepRecord step;
    step.step = static_cast<int>(i);
    step.end_s = ends[i];
    step.cpu_s = 0.05;
    log.records.push_back(step);
  }
  log.peak_memory_bytes = 1000;
  return log;
}

LaunchOutcome outcome_of(std::vector<RankLog> ranks) {
  LaunchOutcome outcome;
  outcome.ranks = std::move(ranks);
  return outcome;
}

RunPlan small_plan(int world_size) {
  RunPlan plan = fake_plan(world_size > 1 ? Strategy::Ddp : Strategy::Single, world_size);
  plan.warm_up = 2;
  plan.steps = 3;
  plan.per_gpu_batch = 8;
  plan.micro_steps = 2;
  return plan;
}

TEST(StepEnds, are_those_of_the_latest_rank) {
  EXPECT_THAT(step_ends_s({rank_log(10, {11, 12, 14}), rank_log(10.5, {11.5, 11.9, 13})}),
              ElementsAre(10.5, 11.5, 12, 14));
  EXPECT_THAT(step_ends_s({rank_log(10, {11, 12, 14}), rank_log(10, {11})}), ElementsAre(10, 11));  // what all ended
  RankLog joining;
  joining.records = {HelloRecord{}};
  EXPECT_THAT(step_ends_s({rank_log(10, {11}), joining}), IsEmpty());
}

TEST(Collect, takes_the_lower_median_of_all_repeats_and_the_definitions_of_the_contract) {
  Launches launches;
  launches.plan = small_plan(2);
  //                                              warm-up   0.5  0.4  0.6
  launches.plain = {outcome_of({rank_log(0, {3, 4, 4.5, 4.9, 5.5}), rank_log(0, {2, 3.9, 4.4, 4.8, 5.4})}),
                    outcome_of({rank_log(0, {1, 2, 2.7, 3.5, 4.4}), rank_log(0, {1, 2, 2.6, 3.4, 4.3})})};
  launches.repeats = {0, 1};
  const lockstep::Run run = collect(launches, "images/s");
  ASSERT_FALSE(run.not_run);
  EXPECT_EQ(run.implementation, "c10d Reducer");
  EXPECT_EQ(run.processes, 2);
  EXPECT_NEAR(run.step_time_s, 0.6, 1e-12);  // of 0.4 0.5 0.6 | 0.7 0.8 0.9
  EXPECT_EQ(run.global_batch, 8 * 2 * 2);
  EXPECT_NEAR(run.throughput, 32 / 0.6, 1e-9);
  ASSERT_EQ(run.samples.size(), 2U);
  EXPECT_EQ(run.samples[1].repeat, 1);
  EXPECT_EQ(run.samples[1].step_times_s.size(), 3U);
  EXPECT_THAT(run.warm_up_step_times_s, ElementsAre(3, 1));
  EXPECT_EQ(run.spread->n, 6);
  ASSERT_EQ(run.ranks.size(), 2U);
  EXPECT_EQ(run.ranks[1].ranks, "1");
  EXPECT_EQ(run.ranks[1].host, "node0");
  EXPECT_EQ(run.ranks[0].memory_reserved_bytes, 1000);
  // 2 ranks, 3 steps, 50 ms each, in 2.4 s of 2 cores.
  EXPECT_NEAR(*run.cpu_utilization, 0.3 / 4.8, 1e-12);
  EXPECT_TRUE(run.buckets.empty());
  const auto json = run_to_json(run);
  EXPECT_EQ(json.find("gpu_utilization"), std::string::npos);  // not known, so not there
  EXPECT_EQ(json.find("breakdown_s"), std::string::npos);
}

// Two ranks; all steps take 1 s on rank 0 and are the same. Rank 1 is late with the second bucket:
//   rank 0: forward 0.2, backward 0.5 until 0.7, waits until 0.95, optimizer 0.05
//   bucket 0: rank 0 launches at 0.4, rank 1 at 0.45, ends 0.6;  bucket 1: 0.7 and 0.8, ends 0.95
LaunchOutcome marked(int steps) {
  std::vector<RankLog> ranks = {rank_log(100, {}), rank_log(100, {})};
  for (int step = 0; step < steps; ++step) {
    const double start = 100 + step;
    const std::vector<std::vector<BucketRecord>> buckets = {{{step, 0, 4096, start + 0.39, start + 0.4, start + 0.6},
                                                             {step, 1, 512, start + 0.7, start + 0.7, start + 0.95}},
                                                            {{step, 1, 512, start + 0.8, start + 0.8, start + 0.95},
                                                             {step, 0, 4096, start + 0.45, start + 0.45, start + 0.6}}};
    for (std::size_t rank = 0; rank < 2; ++rank) {
      for (const BucketRecord& one : buckets[rank]) ranks[rank].records.push_back(one);
      RankStepRecord record;
      record.step = step;
      record.end_s = start + (rank == 0 ? 1 : 0.99);
      record.parts = {{"forward", 0.2}, {"backward", 0.5}, {"exposed_communication", 0.25}, {"optimizer", 0.05}};
      record.idle_from_s = start + 0.7;
      record.idle_to_s = start + 0.95;
      ranks[rank].records.push_back(record);
    }
  }
  return outcome_of(std::move(ranks));
}

TEST(Collect, splits_waiting_into_peers_and_communication_and_scales_to_the_plain_step) {
  Launches launches;
  launches.plan = small_plan(2);
  // Plain steps of 0.8 s: the marks cost a quarter.
  launches.plain = {outcome_of({rank_log(0, {1, 2, 2.8, 3.6, 4.4}), rank_log(0, {1, 2, 2.8, 3.6, 4.4})})};
  launches.repeats = {0};
  launches.instrumented = marked(5);
  const lockstep::Run run = collect(launches, "images/s");
  const auto part = [&run](Cause cause) { return run.part_s(cause); };
  EXPECT_NEAR(part(Cause::Forward), 0.8 * 0.2, 1e-9);
  EXPECT_NEAR(part(Cause::Backward), 0.8 * 0.5, 1e-9);
  EXPECT_NEAR(part(Cause::WaitForPeers), 0.8 * 0.1, 1e-9);           // 0.7 to 0.8: rank 1 has not launched
  EXPECT_NEAR(part(Cause::ExposedCommunication), 0.8 * 0.15, 1e-9);  // 0.8 to 0.95
  EXPECT_NEAR(part(Cause::Optimizer), 0.8 * 0.05, 1e-9);
  double sum = 0;
  for (const Cause cause : kCauses) sum += part(cause);
  EXPECT_NEAR(sum, run.step_time_s, 1e-9);
  EXPECT_NEAR(run.hidden_communication_s, 0.8 * 0.15, 1e-9);  // bucket 0
  ASSERT_EQ(run.buckets.size(), 2U);
  EXPECT_EQ(run.buckets[0].bytes, 4096);
  EXPECT_NEAR(run.buckets[0].ready_s, 0.39, 1e-9);
  EXPECT_NEAR(run.buckets[0].start_s, 0.45, 1e-9);
  EXPECT_NEAR(run.buckets[0].wait_s, 0.05, 1e-9);
  EXPECT_NEAR(run.buckets[1].transfer_s, 0.15, 1e-9);
  EXPECT_THAT(run.notes, Contains(HasSubstr("whose steps take +25.0 % (1 s)")));
}

TEST(Collect, keeps_what_was_measured_before_a_failure_and_says_so) {
  Launches launches;
  launches.plan = small_plan(2);
  LaunchOutcome broken = outcome_of({rank_log(0, {1, 2, 2.5}), rank_log(0, {1, 2, 2.4})});
  broken.failure = LaunchFailure{1, false, "rank 1 was killed", "", {}};
  launches.plain = {broken};
  launches.repeats = {0};
  const lockstep::Run run = collect(launches, "images/s");
  ASSERT_FALSE(run.not_run);
  EXPECT_NEAR(run.step_time_s, 0.5, 1e-12);
  EXPECT_THAT(run.notes, Contains("partial: rank 1 was killed"));
}

TEST(Collect, without_a_steady_step_the_row_did_not_run_for_the_reason_of_the_failure) {
  Launches launches;
  launches.plan = small_plan(2);
  LaunchOutcome broken = outcome_of({rank_log(0, {1}), rank_log(0, {})});
  broken.failure = LaunchFailure{1, false, "rank 1 was killed", "", {}};
  launches.plain = {broken};
  launches.repeats = {0};
  const lockstep::Run run = collect(launches, "images/s");
  EXPECT_EQ(run.not_run, "rank 1 was killed");
  EXPECT_TRUE(run_from_json(run_to_json(run)));
}

TEST(Comparison, with_the_measured_single_gives_speedup_and_efficiency) {
  lockstep::Run single, run;
  single.throughput = 100;
  single.step_time_s = 0.08;
  single.per_gpu_batch = 8;
  run.gpus = 2;
  run.throughput = 150;
  compare_with(single, run);
  EXPECT_DOUBLE_EQ(run.speedup, 1.5);
  EXPECT_DOUBLE_EQ(run.efficiency, 0.75);
  EXPECT_EQ(run.baseline->step_time_s, 0.08);
  lockstep::Run alone;
  alone.throughput = 5;
  single.not_run = "failed";
  compare_with(single, alone);
  EXPECT_FALSE(alone.baseline);
}

TEST(Paced, records_in_the_time_of_the_scenario_are_divided_by_the_dilation) {
  RankStepRecord step;
  step.end_s = 50;
  step.cpu_s = 2;
  step.parts = {{"forward", 30}};
  step.idle_from_s = 40;
  const auto record = std::get<RankStepRecord>(in_scenario_time(step, 10));
  EXPECT_EQ(record.end_s, 5);
  EXPECT_EQ(record.cpu_s, 0.2);
  EXPECT_EQ(record.parts.at("forward"), 3);
  EXPECT_EQ(record.idle_from_s, 4);
  EXPECT_FALSE(record.idle_to_s);
  EXPECT_EQ(std::get<StartRecord>(in_scenario_time(StartRecord{20}, 10)).at_s, 2);
  EXPECT_EQ(std::get<BucketRecord>(in_scenario_time(BucketRecord{0, 0, 8, 10, 20, 30}, 10)).end_s, 3);
}

}  // namespace
}  // namespace lockstep
