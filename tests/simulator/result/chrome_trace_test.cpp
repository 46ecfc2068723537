#include "simulator/result/chrome_trace.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/simulator/result/sample_run.h"
#include "tests/simulator/result/trace_checks.h"

namespace lockstep {
namespace {

using nlohmann::json;

json trace_of(const std::vector<Run>& runs) {
  std::vector<const Run*> pointers;
  for (const Run& run : runs) pointers.push_back(&run);
  return json::parse(chrome_trace(pointers, testing::full_result()));
}

TEST(ChromeTrace, has_the_header_that_tensorboard_reads) {
  const json trace = trace_of({testing::full_run()});
  EXPECT_EQ(trace["displayTimeUnit"], "ms");
  EXPECT_EQ(trace["schemaVersion"], 1);
  EXPECT_EQ(trace["distributedInfo"]["rank"], 0);
  EXPECT_EQ(trace["distributedInfo"]["world_size"], 8);
  EXPECT_EQ(trace["distributedInfo"]["nccl_version"], "2.28.9");
  EXPECT_EQ(trace["deviceProperties"][0]["id"], 0);
}

TEST(ChromeTrace, events_of_one_thread_nest_and_none_starts_before_zero) {
  const json trace = trace_of({testing::full_run(), testing::full_run()});
  EXPECT_EQ(testing::nesting_problem(trace), "");
  for (const json& event : trace["traceEvents"]) {
    if (event.contains("ts")) {
      EXPECT_GE(event["ts"].get<double>(), 0);
    }
  }
}

TEST(ChromeTrace, every_span_is_one_event_of_its_category) {
  std::map<std::string, int> count;
  const json trace = trace_of({testing::full_run()});
  for (const json& event : trace["traceEvents"])
    if (event["ph"] == "X") ++count[event["cat"]];
  EXPECT_EQ(count, (std::map<std::string, int>{{"cpu_op", 3},
                                               {"cuda_runtime", 3},
                                               {"gpu_memcpy", 2},
                                               {"gpu_user_annotation", 1},
                                               {"kernel", 3},
                                               {"user_annotation", 1}}));
}

TEST(ChromeTrace, durations_and_gaps_add_up_to_the_step) {
  const lockstep::Run run = testing::full_run();
  const json trace = trace_of({run});
  double step_us = 0, kernels_us = 0;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    if (event["cat"] == "gpu_user_annotation") step_us = event["dur"];
    if (event["cat"] == "kernel" && event["tid"] == 7) kernels_us += event["dur"].get<double>();
  }
  EXPECT_NEAR(step_us, run.step_time_s * 1e6, 0.001);
  EXPECT_NEAR(kernels_us, 0.3098 * 1e6, 0.002);
}

TEST(ChromeTrace, launches_flow_to_their_kernels) {
  std::map<int, std::pair<double, double>> flows;  // id -> start, end
  std::map<int, int> correlations;
  const json trace = trace_of({testing::full_run()});
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == "s") flows[event["id"]].first = event["ts"];
    if (event["ph"] == "f") {
      flows[event["id"]].second = event["ts"];
      EXPECT_EQ(event["bp"], "e");
    }
    if (event["ph"] == "X" && event.contains("args") && event["args"].contains("correlation"))
      ++correlations[event["args"]["correlation"]];
  }
  ASSERT_EQ(flows.size(), 3U);
  for (const auto& [id, times] : flows) {
    EXPECT_GT(times.second, times.first) << id;
    EXPECT_EQ(correlations[id], 2) << id;
  }
}

TEST(ChromeTrace, collectives_are_named_as_nccl_names_its_kernels) {
  std::set<std::string> names;
  const json trace = trace_of({testing::full_run()});
  for (const json& event : trace["traceEvents"])
    if (event["ph"] == "X" && event["cat"] == "kernel" && event["args"].contains("Collective name"))
      names.insert(event["name"]);
  ASSERT_EQ(names.size(), 1U);
  EXPECT_EQ(names.begin()->rfind("ncclDevKernel_AllReduce_Sum_f32_RING_SIMPLE", 0), 0U);
}

TEST(ChromeTrace, copies_that_overlap_get_streams_of_their_own) {
  std::set<int> streams;
  const json trace = trace_of({testing::full_run()});
  for (const json& event : trace["traceEvents"])
    if (event["ph"] == "X" && event["cat"] == "gpu_memcpy") streams.insert(event["tid"].get<int>());
  EXPECT_EQ(streams.size(), 2U);
}

TEST(ChromeTrace, several_runs_are_separate_processes) {
  std::set<int> pids;
  const json trace = trace_of({testing::full_run(), testing::full_run()});
  for (const json& event : trace["traceEvents"]) pids.insert(event["pid"].get<int>());
  EXPECT_EQ(pids.size(), 4U);
}

}  // namespace
}  // namespace lockstep
