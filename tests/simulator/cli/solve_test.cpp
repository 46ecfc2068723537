#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/simulator/cli/in_process.h"

namespace lockstep {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using testing::lockstep_in_process;
using testing::small_scenario;

TEST(SolveCommand, json_gives_the_interval_with_its_unit) {
  const auto outcome = lockstep_in_process(
      {"solve", "-", "--for", "topology.override.nvlink.rate", "--given", "efficiency=0.3", "--json"},
      small_scenario());
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json solution = json::parse(outcome.out);
  EXPECT_EQ(solution["for"], "topology.override.nvlink.rate");
  EXPECT_EQ(solution["given"], "efficiency=0.3");
  EXPECT_EQ(solution["unit"], "B/s");
  EXPECT_EQ(solution["no_value"], false);
  EXPECT_LE(solution["low"], solution["high"]);
  EXPECT_FALSE(solution["reason"].get<std::string>().empty());
  for (const json& sample : solution["samples"]) EXPECT_EQ(sample["meets"], sample["efficiency"] >= 0.3);
}

TEST(SolveCommand, no_value_can_comes_with_the_floor_and_its_cause) {
  const auto outcome = lockstep_in_process(
      {"solve", "-", "--for", "topology.override.nvlink.rate", "--given", "step_time=1us", "--json"}, small_scenario());
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json solution = json::parse(outcome.out);
  EXPECT_EQ(solution["no_value"], true);
  EXPECT_FALSE(solution.contains("low"));
  EXPECT_TRUE(solution.contains("floor_cause"));
  EXPECT_THAT(solution["reason"].get<std::string>(), HasSubstr("The best is a step of"));
}

TEST(SolveCommand, several_measurements_are_held_against_each_other) {
  const std::vector<std::string> words = {"solve",
                                          "-",
                                          "--for",
                                          "topology.override.nvlink.rate",
                                          "--estimate",
                                          "--given",
                                          "gpus=4:efficiency=0.4",
                                          "--given",
                                          "gpus=2:efficiency=0.05"};
  const auto with = [&](const std::string& form) {
    std::vector<std::string> all = words;
    all.push_back(form);
    const auto outcome = lockstep_in_process(all, small_scenario());
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  };
  const json answer = json::parse(with("--json"));
  EXPECT_EQ(answer["for"], "topology.override.nvlink.rate");
  EXPECT_EQ(answer["unit"], "B/s");
  ASSERT_EQ(answer["measurements"].size(), 2u);
  EXPECT_EQ(answer["measurements"][0]["given"], "gpus=2:efficiency=0.05");
  EXPECT_EQ(answer["measurements"][0]["gpus"], 2);
  EXPECT_TRUE(answer["measurements"][0].contains("possible"));
  EXPECT_FALSE(answer["measurements"][0].contains("samples"));
  EXPECT_TRUE(answer["one_value_fits"].is_boolean());
  EXPECT_FALSE(answer["reason"].get<std::string>().empty());
  EXPECT_THAT(with("--csv"), HasSubstr("given,gpus,low,high,band_low,band_high,possible\ngpus=2:efficiency=0.05,2,"));
  EXPECT_THAT(with("--quiet"), HasSubstr("topology.override.nvlink.rate explains both measurements"));
}

TEST(SolveCommand, wrong_questions_are_wrong_input) {
  const std::vector<std::vector<std::string>> wrong = {
      {"solve", "-"},
      {"solve", "-", "--for", "gpus"},
      {"solve", "-", "--for", "gpus", "--given", "speed=3"},
      {"solve", "-", "--for", "model.name", "--given", "efficiency=0.9"},
      {"solve", "-", "--for", "batch.global", "--given", "efficiency=0.9"}};
  for (const auto& words : wrong) EXPECT_EQ(lockstep_in_process(words, small_scenario()).code, 1) << words.back();
}

}  // namespace
}  // namespace lockstep
