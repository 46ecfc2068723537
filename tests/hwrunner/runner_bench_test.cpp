// `lockstep measure --bench` with LibTorch: what is timed, and that it is right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "hwrunner/launch/pinning.h"
#include "tests/hwrunner/runner_support.h"
#include "tests/simulator/cli/in_process.h"

namespace lockstep {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::lockstep_in_process;
using testing::Outcome;
using testing::Runner;
using testing::scenario;

Outcome benched(const std::string& kind, std::vector<std::string> words, const std::string& text = scenario()) {
  words.insert(words.begin(), {"measure", "-", "--json", "--bench", kind});
  return lockstep_in_process(words, text);
}

TEST_F(Runner, times_collectives_one_and_two_in_flight_and_checks_every_element) {
  if (allowed_cores().size() < 2) GTEST_SKIP() << "two ranks need two cores, this process may use one";
  const Outcome outcome =
      benched("collectives", {"--maxbytes", "1M", "--stepfactor", "512", "--iters", "3", "--budget", "60s"});
  ASSERT_EQ(outcome.code, 0) << outcome.err << outcome.out;
  const json rows = json::parse(outcome.out)["rows"];
  ASSERT_EQ(rows.size(), 3U * 2 * 2);  // 8 B and 4 KiB
  std::vector<std::string> seen;
  for (const json& row : rows) {
    seen.push_back(row["what"].get<std::string>() + " " + std::to_string(row["in_flight"].get<int>()) + " " +
                   std::to_string(row["bytes"].get<int>()));
    EXPECT_EQ(row["wrong"], 0);
    EXPECT_EQ(row["ranks"], 2);
    EXPECT_GT(row["time_s"], 0);
    EXPECT_GT(row["busbw_bytes_per_s"], 0);
  }
  EXPECT_THAT(seen, ElementsAre("all_reduce 1 8", "all_reduce 1 4096", "all_reduce 2 8", "all_reduce 2 4096",
                                "broadcast 1 8", "broadcast 1 4096", "broadcast 2 8", "broadcast 2 4096", "reduce 1 8",
                                "reduce 1 4096", "reduce 2 8", "reduce 2 4096"));
}

TEST_F(Runner, leaves_out_sizes_that_the_budget_has_no_room_for) {
  if (allowed_cores().size() < 2) GTEST_SKIP() << "two ranks need two cores, this process may use one";
  const Outcome outcome = benched("collectives", {"--maxbytes", "256M", "--stepfactor", "4096", "--budget", "60ms"});
  ASSERT_EQ(outcome.code, 0) << outcome.err << outcome.out;
  const json rows = json::parse(outcome.out)["rows"];
  EXPECT_GT(rows[0]["time_s"], 0);
  EXPECT_EQ(rows[2]["bytes"], 8LL * 4096 * 4096);
  EXPECT_THAT(rows[2]["not_run"].get<std::string>(), HasSubstr("--budget"));
}

TEST_F(Runner, times_each_class_of_op_forward_and_backward) {
  const Outcome outcome =
      benched("ops", {"--minbytes", "64K", "--maxbytes", "64K", "--iters", "2"}, scenario("precision: amp-bf16\n"));
  ASSERT_EQ(outcome.code, 0) << outcome.err << outcome.out;
  std::map<std::string, std::string> passes;
  const json rows = json::parse(outcome.out)["rows"];
  for (const json& row : rows) {
    passes[row["what"]] += row["pass"].get<std::string>() + " ";
    EXPECT_GT(row["time_s"], 0);
    EXPECT_GT(row["bytes_per_s"], 0);
    const bool casts = row["what"] == "conv2d" || row["what"] == "linear";
    if (casts) {
      EXPECT_EQ(row["type"], "bfloat16");
      EXPECT_GT(row["flop_per_s"], 0);
    }
    if (row["what"] == "batch_norm") {
      EXPECT_EQ(row["type"], "float");
    }
  }
  for (const char* op :
       {"conv2d", "linear", "batch_norm", "layer_norm", "elementwise", "pooling", "attention", "softmax", "embedding"})
    EXPECT_EQ(passes[op], "forward backward ") << op;
  EXPECT_EQ(passes["optimizer"], "step ");
}

TEST_F(Runner, times_copies_and_says_that_there_is_no_gpu_to_copy_to) {
  const Outcome outcome = benched("copies", {"--minbytes", "4K", "--maxbytes", "64K"});
  ASSERT_EQ(outcome.code, 0) << outcome.err << outcome.out;
  const json rows = json::parse(outcome.out)["rows"];
  ASSERT_EQ(rows.size(), 3U + 4);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(rows[i]["what"], "host_to_host");
    EXPECT_EQ(rows[i]["wrong"], 0);
  }
  for (std::size_t i = 3; i < 7; ++i) EXPECT_THAT(rows[i]["not_run"].get<std::string>(), HasSubstr("no GPU"));
}

}  // namespace
}  // namespace lockstep
