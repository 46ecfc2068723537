#include "simulator/answers/levers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulator/answers/fake_machine.h"

namespace lockstep {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using testing::FakeMachine;
using testing::inputs_of;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

struct Found {
  lockstep::Run run;
  std::vector<Lever> levers;
  std::optional<BucketCapEffect> bucket_cap;
  std::vector<std::string> sets() const {
    std::vector<std::string> sets;
    for (const Lever& lever : levers) sets.push_back(lever.set);
    return sets;
  }
};

Found levers_for(const std::string& more, Strategy strategy, int gpus) {
  const Inputs inputs = inputs_of(more);
  FakeMachine machine;
  Points points(inputs, Method::Simulate, machine.source());
  Found found;
  const auto run = points.run(strategy, gpus);
  EXPECT_TRUE(run);
  found.run = run.value_or(lockstep::Run{});
  const auto levers = find_levers(found.run, inputs, Method::Simulate, machine.source());
  EXPECT_TRUE(levers);
  found.levers = levers.value_or(FoundLevers{}).levers;
  found.bucket_cap = levers.value_or(FoundLevers{}).bucket_cap;
  return found;
}

TEST(Levers, are_best_first_with_the_step_they_give) {
  const Found found = levers_for("batch: {per_gpu: 60}\n", Strategy::Ddp, 8);
  // 94 ms: twice the batch 154 ms for twice the samples (+22 %), half the all-reduce 79 ms (+19 %).
  ASSERT_THAT(found.sets(),
              ElementsAre("batch.per_gpu=120", "topology.override.nvlink.rate=600GB/s", "ddp.bucket_cap=10MiB"));
  EXPECT_DOUBLE_EQ(found.levers[0].step_time_s, 0.154);
  EXPECT_DOUBLE_EQ(found.levers[0].gain, 2 * 0.094 / 0.154 - 1);
  EXPECT_DOUBLE_EQ(found.levers[1].step_time_s, 0.079);
  EXPECT_DOUBLE_EQ(found.levers[1].gain, 0.094 / 0.079 - 1);
}

TEST(Levers, data_parallel_is_offered_ddp_and_no_buckets) {
  const Found found = levers_for("", Strategy::Dp, 8);
  EXPECT_THAT(found.sets(), Contains("strategy=ddp"));
  for (const std::string& set : found.sets()) EXPECT_NE(set.rfind("ddp.", 0), 0U);
}

TEST(Levers, pinned_memory_is_offered_where_the_batch_comes_from_pageable) {
  EXPECT_THAT(levers_for("input: {source: host}\n", Strategy::Ddp, 8).sets(), Contains("input.memory=pinned"));
  EXPECT_THAT(levers_for("input: {source: host, memory: pinned}\n", Strategy::Ddp, 8).sets(),
              Not(Contains("input.memory=pinned")));
  EXPECT_THAT(levers_for("", Strategy::Ddp, 8).sets(), Not(Contains("input.memory=pinned")));
}

TEST(Levers, more_workers_are_offered_to_a_step_that_waits_for_its_loader) {
  const Found found = levers_for("loader: {workers_per_process: 2, sample_cost: 2ms}\n", Strategy::Ddp, 8);
  EXPECT_THAT(found.sets(), Contains("loader.workers_per_process=4"));
  EXPECT_THAT(found.sets(), Contains("loader.pin_memory=true"));
  EXPECT_THAT(found.sets(), Not(Contains("input.memory=pinned")));
  EXPECT_THAT(levers_for("loader: {sample_cost: 2ms}\n", Strategy::Ddp, 8).sets(),
              Contains("loader.workers_per_process=4"));
  for (const std::string& set :
       levers_for("loader: {workers_per_process: 100, sample_cost: 2ms}\n", Strategy::Ddp, 8).sets())
    EXPECT_EQ(set.find("workers"), std::string::npos) << set;  // 0.8 ms of 155
}

TEST(Levers, gains_below_one_per_cent_stay_away) {
  const Found found = levers_for("batch: {per_gpu: 70}\n", Strategy::Single, 1);
  // Twice the batch: 144 ms for twice the samples, +2.8 %. Nothing else helps one GPU.
  EXPECT_THAT(found.sets(), UnorderedElementsAre("batch.per_gpu=140"));
  const Found large = levers_for("batch: {per_gpu: 400}\n", Strategy::Single, 1);
  EXPECT_TRUE(large.levers.empty());
}

TEST(Levers, a_batch_that_no_longer_fits_is_not_offered) {
  const Found found = levers_for("batch: {per_gpu: 140}\n", Strategy::Ddp, 8);  // 70 GiB; twice that does not fit
  EXPECT_THAT(found.sets(), Not(Contains("batch.per_gpu=280")));
}

TEST(Levers, a_calibrated_batch_is_not_doubled) {
  const Found found = levers_for("batch: {per_gpu: 60}\ncalibrate: {single_gpu: 900img/s}\n", Strategy::Ddp, 8);
  EXPECT_THAT(found.sets(), Not(Contains("batch.per_gpu=120")));
}

TEST(Levers, each_one_given_to_set_gives_the_step_that_it_claims) {
  const std::string scenario = "batch: {per_gpu: 60}\ninput: {source: host}\n";
  for (const Strategy strategy : {Strategy::Dp, Strategy::Ddp}) {
    const Found found = levers_for(scenario, strategy, 8);
    ASSERT_FALSE(found.levers.empty());
    for (const Lever& lever : found.levers) {
      const Inputs changed = inputs_of(scenario, {lever.set});
      FakeMachine machine;
      Points points(changed, Method::Simulate, machine.source());
      const auto run = points.run(lever.set == "strategy=ddp" ? Strategy::Ddp : strategy, 8);
      ASSERT_TRUE(run);
      EXPECT_EQ(run->step_time_s, lever.step_time_s) << lever.set;
    }
  }
}

TEST(Levers, the_effect_of_all_bucket_sizes_is_kept) {
  const Found found = levers_for("ddp: {bucket_cap: 10MiB}\n", Strategy::Ddp, 8);
  ASSERT_TRUE(found.bucket_cap);
  EXPECT_EQ(found.bucket_cap->smallest_bytes, 1 << 20);
  EXPECT_EQ(found.bucket_cap->largest_bytes, 100 << 20);
  // Only 10 MiB hides half of the all-reduce: 119 ms against 134 ms.
  EXPECT_NEAR(found.bucket_cap->lowest_gain, 0.119 / 0.134 - 1, 1e-12);
  EXPECT_NEAR(found.bucket_cap->highest_gain, 0.119 / 0.134 - 1, 1e-12);
  EXPECT_NEAR(levers_for("", Strategy::Ddp, 8).bucket_cap->highest_gain, 0.134 / 0.119 - 1, 1e-12);
  EXPECT_FALSE(levers_for("", Strategy::Dp, 8).bucket_cap);
}

TEST(Levers, the_links_of_a_class_are_named_in_words) {
  EXPECT_EQ(lever_note("topology.override.host.rate=760GB/s"), "memory and the link between sockets");
  EXPECT_EQ(lever_note("topology.override.nic.rate=2.5GB/s"), "20 Gb/s for each network card");
  EXPECT_EQ(lever_note("batch.per_gpu=64"), "");
}

}  // namespace
}  // namespace lockstep
