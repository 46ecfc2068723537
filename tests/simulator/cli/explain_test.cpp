#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "simulator/cli/table.h"
#include "tests/simulator/cli/in_process.h"

namespace lockstep {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using testing::lockstep_in_process;
using testing::small_scenario;

TEST(ExplainCommand, rows_are_the_breakdown_of_predict) {
  const auto explained = lockstep_in_process({"explain", "-", "--json"}, small_scenario());
  ASSERT_EQ(explained.code, 0) << explained.err;
  const auto predicted = lockstep_in_process({"predict", "-", "--json"}, small_scenario());
  const json explanation = json::parse(explained.out), prediction = json::parse(predicted.out);
  ASSERT_EQ(explanation["runs"].size(), 2U);
  for (const json& one : explanation["runs"])
    for (const json& run : prediction["runs"]) {
      if (run["strategy"] != one["strategy"] || run["gpus"] != one["gpus"]) continue;
      EXPECT_EQ(run["step_time_s"], one["total_s"]);
      EXPECT_EQ(run["breakdown_s"].size(), one["rows"].size());
      double total = 0;
      for (const json& row : one["rows"]) {
        EXPECT_EQ(run["breakdown_s"][row["cause"].get<std::string>()], row["seconds"]);
        total += row["seconds"].get<double>();
      }
      EXPECT_NEAR(total, one["total_s"].get<double>(), 1e-12);
    }
  double difference = 0;
  for (const json& row : explanation["difference"]["rows"]) difference += row["seconds"].get<double>();
  EXPECT_NEAR(difference, explanation["difference"]["total_s"].get<double>(), 1e-12);
}

TEST(ExplainCommand, the_table_stays_within_100_columns) {
  const auto outcome = lockstep_in_process({"explain", "-"}, small_scenario());
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("dp against ddp"));
  EXPECT_THAT(outcome.out, HasSubstr("conv_wgrad"));
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(text_width(line), kColumns) << line;
}

TEST(ExplainCommand, csv_has_a_line_for_each_piece) {
  const auto outcome = lockstep_in_process({"explain", "-", "--csv", "--set", "strategy=ddp"}, small_scenario());
  ASSERT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("strategy,gpus,cause,detail,seconds,share\n"));
  EXPECT_THAT(outcome.out, HasSubstr("ddp,4,backward,conv_dgrad,"));
}

TEST(ExplainCommand, what_cannot_run_fails_with_2) {
  const auto outcome =
      lockstep_in_process({"explain", "-"}, "model: resnet18\nbatch: {global: 32}\ntopology: dgx-a100-80gb\ngpus: 3\n");
  EXPECT_EQ(outcome.code, 2) << outcome.err;
}

}  // namespace
}  // namespace lockstep
