// --trace with the real engine: what Perfetto and TensorBoard need, and times that are those of the result.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "simulator/result/json.h"
#include "tests/simulator/cli/in_process.h"
#include "tests/simulator/result/trace_checks.h"

namespace lockstep {
namespace {

using nlohmann::json;
using testing::lockstep_in_process;
using testing::small_scenario;

struct Traced {
  json result, trace;
};

Traced traced(const std::string& strategy) {
  const std::string path = ::testing::TempDir() + "lockstep-trace-" + strategy + ".json";
  const auto outcome = lockstep_in_process(
      {"predict", "-", "--json", "--set", "gpus=4", "--set", "strategy=" + strategy, "--trace", path},
      small_scenario());
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  std::ifstream file(path);
  Traced both{json::parse(outcome.out), json::parse(file)};
  std::filesystem::remove(path);
  return both;
}

TEST(Spans, of_every_kind_of_rank_leave_as_a_line_for_each_run) {
  const std::string path = ::testing::TempDir() + "lockstep-spans.jsonl";
  const auto outcome = lockstep_in_process(
      {"predict", "-", "--csv", "--quiet", "--set", "gpus=[1, 4]", "--set", "strategy=[dp, ddp]", "--spans", path},
      small_scenario());
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  std::ifstream file(path);
  std::vector<lockstep::Run> runs;
  for (std::string line; std::getline(file, line);) {
    auto run = run_from_message(line);
    ASSERT_TRUE(run);
    runs.push_back(*std::move(run));
  }
  std::filesystem::remove(path);
  ASSERT_EQ(runs.size(), 2U);  // each strategy on its most GPUs
  for (const lockstep::Run& run : runs) {
    EXPECT_EQ(run.gpus, 4);
    double end_s = 0;
    for (const Span& span : run.timeline) end_s = std::max(end_s, span.lane == Lane::Compute ? span.end_s : 0);
    EXPECT_NEAR(end_s, run.step_time_s, 1e-9);
  }
  EXPECT_EQ(runs[0].other_timelines.size() + runs[1].other_timelines.size(), 1U);  // DataParallel's other GPUs
}

class Trace : public ::testing::TestWithParam<const char*> {};

TEST_P(Trace, nests_and_starts_at_or_after_zero) {
  const Traced both = traced(GetParam());
  EXPECT_EQ(testing::nesting_problem(both.trace), "");
  for (const json& event : both.trace["traceEvents"])
    if (event["ph"] == "X") {
      EXPECT_GE(event["ts"].get<double>(), 0);
    }
}

TEST_P(Trace, kernels_in_the_step_add_up_to_the_computing_parts_of_the_breakdown) {
  const Traced both = traced(GetParam());
  const json& run = both.result["runs"][1];
  double from = -1, until = -1;
  for (const json& event : both.trace["traceEvents"])
    if (event["ph"] == "X" && event["cat"] == "gpu_user_annotation") {
      from = event["ts"];
      until = from + event["dur"].get<double>();
    }
  EXPECT_NEAR(until - from, run["step_time_s"].get<double>() * 1e6, 0.01);
  double kernels_us = 0;
  for (const json& event : both.trace["traceEvents"]) {
    if (event["ph"] != "X" || event["cat"] != "kernel" || event["tid"] != 7) continue;
    const double start = event["ts"], end = start + event["dur"].get<double>();
    kernels_us += std::max(0.0, std::min(end, until) - std::max(start, from));
  }
  const double busy_us = run["ranks"][0]["gpu_compute_utilization"].get<double>() * (until - from);
  EXPECT_NEAR(kernels_us, busy_us, 0.01 * busy_us);
  EXPECT_LE(kernels_us, until - from);
}

TEST_P(Trace, every_flow_starts_at_a_launch_and_ends_at_its_kernel) {
  const Traced both = traced(GetParam());
  std::map<int, std::pair<int, int>> ends;  // id -> starts, ends
  std::map<int, int> of_kernels;
  for (const json& event : both.trace["traceEvents"]) {
    if (event["ph"] == "s") ++ends[event["id"]].first;
    if (event["ph"] == "f") ++ends[event["id"]].second;
    if (event["ph"] == "X" && event.contains("args") && event["args"].contains("correlation") &&
        event["cat"] != "cuda_runtime")
      ++of_kernels[event["args"]["correlation"]];
  }
  EXPECT_GT(ends.size(), 50U);
  for (const auto& [id, count] : ends) {
    EXPECT_EQ(count.first, 1) << id;
    EXPECT_EQ(count.second, 1) << id;
    EXPECT_EQ(of_kernels[id], 1) << id;
  }
}

TEST_P(Trace, names_processes_threads_and_the_job) {
  const Traced both = traced(GetParam());
  EXPECT_EQ(both.trace["displayTimeUnit"], "ms");
  EXPECT_EQ(both.trace["distributedInfo"]["world_size"], both.result["runs"][1]["world_size"]);
  std::set<std::pair<int, int>> used, named;
  bool step = false;
  for (const json& event : both.trace["traceEvents"]) {
    if (event["ph"] == "X") used.insert({event["pid"].get<int>(), event["tid"].get<int>()});
    if (event["name"] == "thread_name") named.insert({event["pid"].get<int>(), event["tid"].get<int>()});
    step |= event["ph"] == "X" && event["cat"] == "user_annotation" &&
            event["name"].get<std::string>().rfind("ProfilerStep#", 0) == 0;
  }
  EXPECT_TRUE(step);
  for (const auto& thread : used) EXPECT_EQ(named.count(thread), 1U) << thread.first << " " << thread.second;
}

INSTANTIATE_TEST_SUITE_P(Strategies, Trace, ::testing::Values("dp", "ddp"));

TEST(TraceOfDdp, has_one_all_reduce_kernel_per_bucket) {
  const Traced both = traced("ddp");
  std::size_t reduces = 0;
  for (const json& event : both.trace["traceEvents"])
    reduces += event["ph"] == "X" && event["name"].get<std::string>().rfind("ncclDevKernel_AllReduce_Sum_f32_", 0) == 0;
  EXPECT_EQ(reduces, both.result["runs"][1]["buckets"].size());
}

}  // namespace
}  // namespace lockstep
