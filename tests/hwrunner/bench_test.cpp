// `lockstep measure --bench`: from records to rows, the layouts that other programs read, and failures, with the fake
// worker as the runner. What LibTorch measures is tested in runner_test.cpp.
#include "hwrunner/measure/bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "tests/hwrunner/fake.h"
#include "tests/simulator/cli/in_process.h"

namespace lockstep {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::lockstep_in_process;
using ::testing::Not;
using testing::Outcome;
using testing::Pids;

TEST(BusFactor, is_that_of_the_traffic_that_each_rank_has) {
  // mechanics of nccl-tests, doc/PERFORMANCE.md: 2 (n-1)/n, 1, 1
  EXPECT_DOUBLE_EQ(bus_factor("all_reduce", 2), 1);
  EXPECT_DOUBLE_EQ(bus_factor("all_reduce", 4), 1.5);
  EXPECT_DOUBLE_EQ(bus_factor("all_reduce", 8), 1.75);
  EXPECT_DOUBLE_EQ(bus_factor("broadcast", 8), 1);
  EXPECT_DOUBLE_EQ(bus_factor("reduce", 8), 1);
}

TEST(BenchSizes, grow_by_the_factor_up_to_the_largest) {
  BenchPlan plan = default_bench(BenchKind::Collectives);
  EXPECT_EQ(bench_sizes(plan).size(), 27U);  // 8 B to 512 MiB
  EXPECT_EQ(bench_sizes(plan).back(), 512 << 20);
  plan.max_bytes = 100;
  plan.step_factor = 4;
  EXPECT_THAT(bench_sizes(plan), ElementsAre(8, 32));
}

TEST(BenchPlanJson, is_read_back_and_checked) {
  RunPlan plan = testing::fake_plan(Strategy::Ddp, 2);
  plan.bench = default_bench(BenchKind::Copies);
  const auto back = plan_from_json(plan_to_json(plan));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->bench, plan.bench);
  plan.bench.max_bytes = 1;
  const auto wrong = plan_from_json(plan_to_json(plan));
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().front().key, "bench.max_bytes");
}

RankLog bench_log(const std::vector<BenchRecord>& points) {
  RankLog log;
  for (const BenchRecord& one : points) log.records.emplace_back(one);
  return log;
}
BenchRecord bench_point(const char* what, std::int64_t bytes, double time_s, std::int64_t wrong = 0) {
  BenchRecord point;
  point.what = what;
  point.bytes = bytes;
  point.time_s = time_s;
  point.wrong = wrong;
  return point;
}

TEST(BenchRows, are_means_over_ranks_of_the_points_that_all_reached) {
  const auto rows = bench_rows(
      {bench_log({bench_point("all_reduce", 1'000'000, 0.001, 2)}),
       bench_log({bench_point("all_reduce", 1'000'000, 0.003, 1), bench_point("all_reduce", 2'000'000, 0.004)})},
      BenchKind::Collectives);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].ranks, 2);
  EXPECT_DOUBLE_EQ(rows[0].point.time_s, 0.002);
  EXPECT_DOUBLE_EQ(rows[0].slowest_s, 0.003);
  EXPECT_EQ(rows[0].point.wrong, 3);
  EXPECT_DOUBLE_EQ(rows[0].algbw, 0.5e9);
  EXPECT_DOUBLE_EQ(rows[0].busbw, 0.5e9);
}

TEST(BenchRows, of_ops_rate_what_they_move) {
  BenchRecord point = bench_point("linear", 4096, 0.5);
  point.moved_bytes = 1e9;
  const auto rows = bench_rows({bench_log({point})}, BenchKind::Ops);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_DOUBLE_EQ(rows[0].algbw, 2e9);
  EXPECT_DOUBLE_EQ(rows[0].busbw, 0);
}

std::string scenario_on(int ranks) {
  return "model: {mlp: {inputs: 16, hidden: [8], outputs: 4}}\nbatch: {per_gpu: 4}\n"
         "topology: {node: cpu-host, gpus_per_node: " +
         std::to_string(ranks) + "}\ngpus: " + std::to_string(ranks) + "\nmeasure: {timeout: 2s}\n";
}

class BenchCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    if (this_machine().cores < 2) GTEST_SKIP() << "two ranks need two cores, this process may use one";
    setenv("LOCKSTEP_HWRUNNER", LOCKSTEP_FAKE_WORKER, 1);
    for (const char* name : {"LOCKSTEP_FAKE", "LOCKSTEP_FAKE_PROBE", "RANK", "WORLD_SIZE"}) unsetenv(name);
    setenv("LOCKSTEP_FAKE_PIDS", pids_.folder().c_str(), 1);
  }
  void TearDown() override { EXPECT_THAT(pids_.running(), IsEmpty()); }
  static Outcome benched(std::vector<std::string> words, const std::string& orders = "", int ranks = 2) {
    setenv("LOCKSTEP_FAKE", orders.c_str(), 1);
    words.insert(words.begin(), {"measure", "-", "--bench", "collectives", "--minbytes", "1K", "--maxbytes", "8K"});
    return lockstep_in_process(words, scenario_on(ranks));
  }
  Pids pids_;
};

// The rule by which readers of nccl-tests find rows: twelve or more columns that begin with two whole numbers.
TEST_F(BenchCommand, prints_what_readers_of_nccl_tests_find) {
  const Outcome outcome = benched({"--iters", "7"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const std::regex row(
      R"(\s*(\d+)\s+(\d+)\s+(\w+)\s+(\w+)\s+(-?\d+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+(\d+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+(\d+)\s*)");
  std::istringstream lines(outcome.out);
  std::vector<std::string> rows;
  for (std::string line; std::getline(lines, line);) {
    std::smatch found;
    if (line.rfind('#', 0) == 0) continue;
    ASSERT_TRUE(std::regex_match(line, found, row)) << line;
    rows.push_back(found.str(1) + " " + found.str(2) + " " + found.str(3) + " " + found.str(4) + " " + found.str(5) +
                   " " + found.str(6) + " " + found.str(9));
  }
  // 1 ms on rank 0, 2 ms on rank 1; both find a wrong element in the second
  EXPECT_THAT(rows, ElementsAre("1024 256 float sum -1 1500.0 0", "2048 512 float sum -1 1500.0 2",
                                "4096 1024 float sum -1 1500.0 0"));
  EXPECT_THAT(outcome.out, HasSubstr("# Out of bounds values : 2 FAILED"));
  EXPECT_THAT(outcome.out, HasSubstr("# 8192 B: not run: no time for it"));
  EXPECT_THAT(outcome.out, HasSubstr("iters: 7"));
}

TEST_F(BenchCommand, has_a_row_for_each_point_in_json_and_csv) {
  const json result = json::parse(benched({"--json"}).out);
  EXPECT_EQ(result["format"], "lockstep-bench");
  EXPECT_EQ(result["kind"], "collectives");
  EXPECT_EQ(result["scenario"]["gpus"], json::array({2}));
  ASSERT_EQ(result["rows"].size(), 4U);
  EXPECT_EQ(result["rows"][2]["bytes"], 4096);
  EXPECT_DOUBLE_EQ(result["rows"][2]["time_s"], 1.5e-3);
  EXPECT_DOUBLE_EQ(result["rows"][2]["slowest_rank_s"], 2e-3);
  EXPECT_DOUBLE_EQ(result["rows"][2]["busbw_bytes_per_s"], 4096 / 1.5e-3);
  EXPECT_EQ(result["rows"][3]["not_run"], "no time for it");
  EXPECT_FALSE(result["rows"][3].contains("time_s"));
  const std::string csv = benched({"--csv"}).out;
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 5);
  EXPECT_THAT(csv, HasSubstr("all_reduce,,2,1,1024,256,float,,20,0.0015,0.002,"));
}

TEST_F(BenchCommand, keeps_the_points_before_a_rank_died_and_ends_with_2) {
  const Outcome outcome = benched({"--json"}, "do=kill,rank=1,at=point,step=2");
  EXPECT_EQ(outcome.code, 2);
  const json result = json::parse(outcome.out);
  EXPECT_EQ(result["rows"].size(), 2U);
  EXPECT_THAT(result["partial"].get<std::string>(),
              HasSubstr("rank 1 was killed by signal 9 at point 3 of the bench of collectives (ddp, 2 ranks)"));
  EXPECT_THAT(outcome.err, HasSubstr("partial result"));
}

TEST_F(BenchCommand, names_a_rank_that_hangs_in_a_point) {
  const Outcome outcome = benched({"--json"}, "do=hang,rank=1,at=point,step=1");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(json::parse(outcome.out)["partial"].get<std::string>(), HasSubstr("rank 1 said nothing"));
}

TEST_F(BenchCommand, of_one_rank_has_no_collectives_and_says_so) {
  const Outcome outcome = benched({"--json"}, "", 1);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(json::parse(outcome.out)["notes"][0].get<std::string>(), HasSubstr("collectives need two ranks"));
}

TEST_F(BenchCommand, refuses_sizes_that_are_none_and_options_without_a_bench) {
  for (const char* wrong : {"x", "1", "-5", "1.5"}) {
    const Outcome outcome =
        lockstep_in_process({"measure", "-", "--bench", "copies", "--minbytes", wrong}, scenario_on(1));
    EXPECT_EQ(outcome.code, 1) << wrong;
    EXPECT_THAT(outcome.err, HasSubstr("--minbytes")) << wrong;
  }
  for (const char* wrong : {"x", "1", "-5"}) {
    const Outcome outcome =
        lockstep_in_process({"measure", "-", "--bench", "copies", "--maxbytes", wrong}, scenario_on(1));
    EXPECT_EQ(outcome.code, 1) << wrong;
    EXPECT_THAT(outcome.err, HasSubstr("--maxbytes")) << wrong;
  }
  EXPECT_EQ(benched({"--minbytes", "1M"}).code, 1);  // given twice
  EXPECT_EQ(lockstep_in_process({"measure", "-", "--maxbytes", "8"}, scenario_on(1)).code, 1);
  EXPECT_EQ(lockstep_in_process({"measure", "-", "--bench", "ops", "--paced"}, scenario_on(1)).code, 1);
  EXPECT_EQ(
      lockstep_in_process({"measure", "-", "--bench", "ops", "--minbytes", "2M", "--maxbytes", "1M"}, scenario_on(1))
          .code,
      1);
}

}  // namespace
}  // namespace lockstep
