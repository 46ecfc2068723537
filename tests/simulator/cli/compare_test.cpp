#include "simulator/answers/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/simulator/cli/in_process.h"

namespace lockstep {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using testing::lockstep_in_process;
using testing::small_scenario;

class Compare : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "lockstep-compare-" + std::to_string(getpid());
    std::filesystem::create_directories(folder_);
    const auto predicted = lockstep_in_process({"predict", "-", "--json"}, small_scenario());
    ASSERT_EQ(predicted.code, 0) << predicted.err;
    result_ = json::parse(predicted.out);
    write("a.json", result_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void write(const std::string& name, const json& result) const { std::ofstream(path(name)) << result.dump(); }

  // The last run, ddp on 4, with 5 ms more of exposed communication.
  json slower() const {
    json changed = result_;
    json& run = changed["runs"].back();
    run["step_time_s"] = run["step_time_s"].get<double>() + 5e-3;
    const double before = run["breakdown_s"].value("exposed_communication", 0.0);
    run["breakdown_s"]["exposed_communication"] = before + 5e-3;
    return changed;
  }
  std::string folder_;
  json result_;
};

TEST_F(Compare, a_result_with_itself_has_no_error) {
  const auto outcome =
      lockstep_in_process({"compare", path("a.json"), path("a.json"), "--json", "--fail-above", "0.1%"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json comparison = json::parse(outcome.out);
  EXPECT_EQ(comparison["rows"].size(), result_["runs"].size());
  for (const json& row : comparison["rows"]) {
    EXPECT_EQ(row["error"], 0.0);
    EXPECT_TRUE(row["parts"].empty());
  }
}

TEST_F(Compare, takes_the_document_of_several_scenarios_apart) {
  json one = result_, other = slower();
  one["file"] = "a.yaml";
  other["file"] = "b.yaml";
  write("both.json", {{"results", {one, other}}});
  const auto outcome = lockstep_in_process({"compare", path("both.json"), "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json comparison = json::parse(outcome.out);
  EXPECT_EQ(comparison["reference"], path("both.json") + ": a.yaml");
  EXPECT_EQ(comparison["rows"].size(), result_["runs"].size());
  EXPECT_EQ(comparison["rows"].back()["set"], path("both.json") + ": b.yaml");
  EXPECT_GT(comparison["rows"].back()["error"], 0.0);
  // Beside a plain one.
  const auto three = lockstep_in_process({"compare", path("a.json"), path("both.json"), "--json"});
  ASSERT_EQ(three.code, 0) << three.err;
  EXPECT_EQ(json::parse(three.out)["rows"].size(), 2 * result_["runs"].size());
}

TEST_F(Compare, says_what_a_document_is_that_is_no_result) {
  const auto explained = lockstep_in_process({"explain", "-", "--json"}, small_scenario());
  ASSERT_EQ(explained.code, 0) << explained.err;
  write("explained.json", json::parse(explained.out));
  const auto outcome = lockstep_in_process({"compare", path("a.json"), path("explained.json")});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("this is an answer of explain, not a result"));
  const auto wrong = lockstep_in_process({"predict", "-", "--json"}, "model: resnet18\n");
  write("wrong.json", json::parse(wrong.out));
  EXPECT_THAT(lockstep_in_process({"compare", path("a.json"), path("wrong.json")}).err,
              HasSubstr("this is an error, not a result"));
}

TEST_F(Compare, an_edited_result_shows_the_edit_as_error_and_part) {
  json measured = slower();
  measured["kind"] = "measured";
  write("b.json", measured);
  const auto outcome = lockstep_in_process({"compare", path("a.json"), path("b.json"), "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json comparison = json::parse(outcome.out);
  EXPECT_EQ(comparison["reference"], path("b.json"));  // the measured one, wherever it stands
  const json& row = comparison["rows"].back();
  const double predicted = result_["runs"].back()["step_time_s"];
  EXPECT_EQ(row["name"], "ddp on 4");
  EXPECT_EQ(row["predicted_s"], predicted);
  EXPECT_NEAR(row["error"].get<double>(), predicted / (predicted + 5e-3) - 1, 1e-12);
  ASSERT_EQ(row["parts"].size(), 1U);
  EXPECT_EQ(row["parts"][0]["cause"], "exposed_communication");
  EXPECT_NEAR(row["parts"][0]["seconds"].get<double>(), -5e-3, 1e-12);
}

TEST_F(Compare, fail_above_decides_the_exit_code_by_the_worst_row) {
  write("b.json", slower());
  const double error = 5e-3 / result_["runs"].back()["step_time_s"].get<double>();
  const std::string below = std::to_string(0.9 * error), above = std::to_string(1.1 * error);
  EXPECT_EQ(lockstep_in_process({"compare", path("a.json"), path("b.json"), "--fail-above", below}).code, 3);
  EXPECT_EQ(lockstep_in_process({"compare", path("a.json"), path("b.json"), "--fail-above", above}).code, 0);
  EXPECT_EQ(lockstep_in_process({"compare", path("a.json"), path("b.json")}).code, 0);
}

TEST_F(Compare, families_are_not_mixed_unless_forced) {
  json other = slower();
  other["runs"].back()["implementation"] = "cpu stand-in";
  write("b.json", other);
  const auto refused = lockstep_in_process({"compare", path("a.json"), path("b.json")});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("--force"));
  EXPECT_EQ(lockstep_in_process({"compare", path("a.json"), path("b.json"), "--force"}).code, 0);
  EXPECT_EQ(family_of("c10d Reducer, paced"), family_of("model of DDP"));
  EXPECT_EQ(family_of("LibTorch data_parallel"), "dp-cpp");
}

TEST_F(Compare, results_of_other_scenarios_are_warned_about_and_change_no_exit_code) {
  const std::string same = lockstep_in_process({"compare", path("a.json"), path("a.json"), "--json"}).out;
  EXPECT_TRUE(json::parse(same)["warnings"].empty());
  EXPECT_TRUE(json::parse(same)["differs"].empty());
  json other = slower();
  other["kind"] = "measured";
  other["scenario"]["model"]["name"] = "resnet50";
  other["scenario"]["batch"]["per_gpu"] = 16;
  other["scenario"]["calibrate"]["single_gpu"] = "100samples/s";  // how a prediction is made, not of what
  other["scenario"]["measure"]["steps"] = 3;
  write("b.json", other);
  const auto outcome = lockstep_in_process({"compare", path("a.json"), path("b.json"), "--json"});
  EXPECT_EQ(outcome.code, 0);
  const json comparison = json::parse(outcome.out);
  ASSERT_EQ(comparison["warnings"].size(), 1U);
  std::map<std::string, std::pair<std::string, std::string>> told;
  for (const json& one : comparison["differs"]) told[one["key"]] = {one["value"], one["reference"]};
  EXPECT_THAT(told, ::testing::UnorderedElementsAre(std::pair{"model.name", std::pair{"resnet18", "resnet50"}},
                                                    std::pair{"batch.per_gpu", std::pair{"32", "16"}}));
  const auto text = lockstep_in_process({"compare", path("a.json"), path("b.json")});
  EXPECT_EQ(text.code, 0);
  EXPECT_THAT(text.err, HasSubstr("lockstep compare: warning: "));
  EXPECT_THAT(text.err, HasSubstr("model.name resnet18 (resnet50)"));
  EXPECT_EQ(text.out.find("warning"), std::string::npos);
}

TEST_F(Compare, a_changed_setting_is_no_warning_between_predictions_but_against_a_measurement) {
  json other = slower();
  other["scenario"]["ddp"]["bucket_cap"] = "1MiB";
  write("b.json", other);
  EXPECT_EQ(lockstep_in_process({"compare", path("a.json"), path("b.json")}).err, "");
  other["kind"] = "measured";
  write("b.json", other);
  EXPECT_THAT(lockstep_in_process({"compare", path("a.json"), path("b.json")}).err, HasSubstr("ddp.bucket_cap"));
  other["scenario"] = json();
  other.erase("scenario");
  write("b.json", other);
  EXPECT_THAT(lockstep_in_process({"compare", path("a.json"), path("b.json")}).err, HasSubstr("does not say of what"));
}

// What was measured for the tables of this project, beside its predictions: no false alarm, and the step of one rank.
TEST_F(Compare, measurements_of_the_very_scenario_draw_no_warning) {
  int pairs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(LOCKSTEP_SOURCE_DIR "/scenarios/measured")) {
    std::string measured = entry.path().string();
    const auto at = measured.find(".measured.json");
    if (at == std::string::npos) continue;
    const std::string predicted = measured.substr(0, at) + ".predicted.json";
    if (!std::filesystem::exists(predicted)) continue;
    ++pairs;
    const auto outcome = lockstep_in_process({"compare", predicted, measured, "--json"});
    EXPECT_EQ(outcome.code, 0) << predicted << outcome.err;
    EXPECT_EQ(outcome.err, "") << predicted;
    const json summary = json::parse(outcome.out)["summary"];
    EXPECT_GT(summary["null_errors"]["single"], summary["mean_error"]) << predicted;
  }
  EXPECT_GE(pairs, 15);
}

TEST_F(Compare, the_step_of_one_gpu_for_every_row_is_the_constant_to_beat) {
  json measured = result_;
  measured["kind"] = "measured";
  write("b.json", measured);
  const json summary =
      json::parse(lockstep_in_process({"compare", path("a.json"), path("b.json"), "--json"}).out)["summary"];
  const double single = result_["runs"][0]["step_time_s"];
  double sum = 0;
  int rows = 0;
  for (const json& run : result_["runs"]) {
    if (run["strategy"] == "single") continue;
    sum += std::abs(single / run["step_time_s"].get<double>() - 1);
    ++rows;
  }
  ASSERT_GT(rows, 0);
  EXPECT_NEAR(summary["null_errors"]["single"].get<double>(), sum / rows, 1e-12);
}

TEST_F(Compare, rows_of_one_side_alone_are_named_and_nothing_in_common_is_an_error) {
  json fewer = result_, none = result_;
  fewer["runs"].erase(fewer["runs"].size() - 1);
  for (json& run : none["runs"]) run["gpus"] = 7;
  write("fewer.json", fewer);
  write("none.json", none);
  const auto outcome = lockstep_in_process({"compare", path("a.json"), path("fewer.json")});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("a.json: ddp on 4"));
  EXPECT_EQ(lockstep_in_process({"compare", path("a.json"), path("none.json")}).code, 1);
  EXPECT_EQ(lockstep_in_process({"compare", path("a.json")}).code, 1);
  EXPECT_EQ(lockstep_in_process({"compare", path("a.json"), path("nowhere.json")}).code, 1);
}

}  // namespace
}  // namespace lockstep
