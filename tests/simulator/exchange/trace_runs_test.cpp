#include "simulator/exchange/trace_runs.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace lockstep {
namespace {

std::shared_ptr<TraceFile> trace(const std::string& name) {
  auto read = read_chrome_trace(std::string(LOCKSTEP_SOURCE_DIR) + "/tests/data/traces/" + name);
  EXPECT_TRUE(read);
  return std::make_shared<TraceFile>(*std::move(read));
}

TEST(RunsOfTraces, make_one_run_of_the_ranks_of_a_job) {
  const auto runs = runs_of_traces({trace("ddp-two-gpus-rank0.json"), trace("ddp-two-gpus-rank1.json")});
  ASSERT_EQ(runs.size(), 1U);
  const lockstep::Run& run = runs[0].run;
  EXPECT_EQ(run.strategy, Strategy::Ddp);
  EXPECT_EQ(run.gpus, 2);
  EXPECT_EQ(run.timeline_ranks, "1");  // its step is longer
  ASSERT_EQ(run.other_timelines.size(), 1U);
  EXPECT_EQ(run.other_timelines[0].ranks, "0");
  EXPECT_NEAR(run.step_time_s, 1120e-6, 1e-9);
  ASSERT_EQ(runs[0].other_steps_s.size(), 1U);
  EXPECT_NEAR(runs[0].other_steps_s[0], 1100e-6, 1e-9);
}

TEST(RunsOfTraces, show_the_step_of_median_length_or_the_one_that_is_asked_for) {
  const TraceFiles files{trace("ddp-two-gpus-rank0.json")};
  EXPECT_EQ(steps_of(files), (std::vector<std::int64_t>{7, 8, 9}));
  EXPECT_EQ(runs_of_traces(files)[0].step, 9);  // 1200, 1000, 1100 us on the host
  EXPECT_EQ(runs_of_traces(files, 7)[0].step, 7);
  EXPECT_EQ(runs_of_traces(files, 55)[0].step, 9);
}

TEST(RunsOfTraces, hold_the_spans_of_that_step_alone_from_its_start) {
  const auto runs = runs_of_traces({trace("ddp-two-gpus-rank0.json")}, 8);
  const lockstep::Run& run = runs[0].run;
  int kernels = 0, launches = 0;
  for (const Span& span : run.timeline) {
    kernels += span.lane == Lane::Compute;
    launches += span.lane == Lane::Cpu;
    EXPECT_GT(span.start_s, -101e-6);
    EXPECT_LT(span.start_s, run.step_time_s);
  }
  EXPECT_EQ(kernels, 4);
  EXPECT_EQ(launches, 7);
  EXPECT_NEAR(run.timeline.front().start_s, -90e-6, 1e-9);  // launched before the GPU began
  ASSERT_EQ(run.buckets.size(), 2U);
  EXPECT_EQ(run.buckets[0].bytes, 4'000'000);
  EXPECT_NEAR(run.buckets[0].start_s, 425e-6, 1e-9);
}

TEST(RunsOfTraces, take_strategy_and_ranks_from_the_name_that_measure_gives) {
  const auto runs = runs_of_traces({trace("gloo-ddp-2.json")});
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].run.strategy, Strategy::Ddp);
  EXPECT_EQ(runs[0].run.gpus, 2);
  EXPECT_FALSE(runs[0].step);  // none is marked: all of it
  EXPECT_NEAR(runs[0].run.step_time_s, 2930e-6, 1e-9);
  EXPECT_EQ(runs[0].run.buckets.size(), 3U);
}

TEST(RunsOfTraces, are_of_one_gpu_where_nothing_says_otherwise) {
  const auto runs = runs_of_traces({trace("old-names-in-a-list.json")});
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].run.strategy, Strategy::Single);
  EXPECT_EQ(runs[0].run.gpus, 1);
}

TEST(RunsOfTraces, take_several_gpus_of_one_process_as_data_parallel) {
  auto file = std::make_shared<TraceFile>();
  file->file = "x.json";
  for (int device = 0; device < 4; ++device) {
    TracedRank rank;
    rank.device = device;
    rank.spans.push_back({Lane::Compute, Cause::Forward, "k", 1.0, 1.5 + 0.1 * device, 0});
    file->ranks.push_back(rank);
  }
  const auto runs = runs_of_traces({file});
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].run.strategy, Strategy::Dp);
  EXPECT_EQ(runs[0].run.gpus, 4);
  EXPECT_EQ(runs[0].run.timeline_ranks, "3");
  EXPECT_EQ(runs[0].run.other_timelines.size(), 3U);
}

TEST(RunsOfTraces, show_the_beginning_of_a_long_trace_without_steps) {
  auto file = std::make_shared<TraceFile>();
  TracedRank rank;
  for (std::size_t i = 0; i < kMostWholeSpans + 10; ++i) {
    const double at = 1e-6 * static_cast<double>(i);
    rank.spans.push_back({Lane::Compute, Cause::Forward, "k", at, at + 0.5e-6, 0});
  }
  file->ranks.push_back(std::move(rank));
  const auto runs = runs_of_traces({file});
  EXPECT_TRUE(runs[0].beginning);
  EXPECT_EQ(runs[0].run.timeline.size(), kMostWholeSpans);
  EXPECT_NEAR(runs[0].run.step_time_s, 1e-6 * static_cast<double>(kMostWholeSpans), 1e-6);
}

TEST(RunsOfTraces, count_the_later_file_of_a_rank) {
  const auto first = trace("ddp-two-gpus-rank0.json");
  auto second = std::make_shared<TraceFile>(*first);
  second->ranks[0].spans.resize(3);
  const auto runs = runs_of_traces({first, second}, 7);
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_LE(runs[0].run.timeline.size(), 3U);
  EXPECT_TRUE(runs[0].run.other_timelines.empty());
}

}  // namespace
}  // namespace lockstep
