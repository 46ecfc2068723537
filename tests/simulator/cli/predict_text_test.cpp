#include "simulator/cli/predict_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "simulator/base/format.h"
#include "simulator/cli/files.h"
#include "simulator/cli/table.h"
#include "tests/simulator/cli/in_process.h"

namespace lockstep {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using testing::lockstep_in_process;
using testing::small_scenario;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  std::istringstream in(line);
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// The row of a strategy and a number of GPUs.
std::vector<std::string> row_of(const std::string& text, const std::string& strategy, const std::string& gpus) {
  for (const std::string& line : lines_of(text)) {
    const auto words = words_of(line);
    if (words.size() > 5 && words[0] == strategy && words[1] == gpus) return words;
  }
  return {};
}

TEST(PredictText, the_table_has_the_numbers_of_the_result) {
  const std::string text = lockstep_in_process({"predict", "-"}, small_scenario()).out;
  const json document = json::parse(lockstep_in_process({"predict", "-", "--json"}, small_scenario()).out);
  ASSERT_EQ(document["runs"].size(), 5U);
  for (const json& run : document["runs"]) {
    const auto row = row_of(text, run["strategy"], std::to_string(run["gpus"].get<int>()));
    ASSERT_FALSE(row.empty()) << run["strategy"];
    EXPECT_EQ(row[2], format_column(run["step_time_s"].get<double>() * 1e3));
    EXPECT_EQ(row[3], format_column(run["throughput"].get<double>()));
    EXPECT_EQ(row[4], format_factor_column(run["speedup"].get<double>()));
  }
}

TEST(PredictText, the_sentences_have_the_numbers_of_the_table) {
  const std::string text = lockstep_in_process({"predict", "-"}, small_scenario()).out;
  EXPECT_THAT(text, HasSubstr("DDP on 4 GPUs trains " + row_of(text, "ddp", "4")[4] + " as fast as one GPU"));
  EXPECT_THAT(text, HasSubstr("DataParallel on 4 GPUs trains " + row_of(text, "dp", "4")[4] + " as fast as one GPU"));
}

TEST(PredictText, the_causes_of_a_row_add_up_to_its_step) {
  const std::string text = lockstep_in_process({"predict", "-", "--quiet"}, small_scenario()).out;
  for (const char* strategy : {"dp", "ddp"}) {
    const auto row = row_of(text, strategy, "4");
    const std::size_t epochs = text.find("epoch") == std::string::npos ? 1 : 2;  // columns: epoch, total
    double sum = 0;                                                              // between efficiency and those
    for (std::size_t i = 6; i + epochs < row.size(); ++i) sum += row[i] == "-" ? 0 : std::stod(row[i]);
    EXPECT_NEAR(sum, std::stod(row[2]), 0.01 * std::stod(row[2])) << strategy;
  }
}

TEST(PredictText, no_line_is_wider_than_a_page_in_any_shipped_scenario) {
  for (const ScenarioFile& scenario : shipped_scenarios()) {
    const auto outcome = lockstep_in_process({"predict", scenario.path, "--estimate"});
    EXPECT_EQ(outcome.code, 0) << scenario.name << outcome.err;
    for (const std::string& line : lines_of(outcome.out))
      EXPECT_LE(text_width(line), kColumns) << scenario.name << line;
  }
}

TEST(PredictJson, no_part_of_a_step_is_a_rounding_error) {
  for (const char* method : {"--estimate", "--json"}) {
    const json document = json::parse(lockstep_in_process({"predict", "-", "--json", method}, small_scenario()).out);
    for (const json& run : document["runs"])
      for (const auto& [cause, seconds] : run["breakdown_s"].items()) EXPECT_GT(seconds.get<double>(), 1e-12) << cause;
  }
}

TEST(PredictText, names_what_is_predicted) {
  const std::string text = lockstep_in_process({"predict", "-"}, small_scenario()).out;
  EXPECT_THAT(text, HasSubstr("Predicted: resnet18 (image 64) on dgx-a100-80gb, fp32, 32 images per GPU"));
  EXPECT_THAT(lockstep_in_process({"predict", "-", "--estimate"}, small_scenario()).out,
              HasSubstr("Estimated: resnet18"));
}

TEST(PredictText, a_model_file_is_called_by_its_name) {
  const std::string path = ::testing::TempDir() + "predict_text_model.json";
  std::ofstream(path) << lockstep_in_process({"show", "model", "resnet18", "--json"}).out;
  const std::string scenario = "model: " + path + "\nbatch: {per_gpu: 32}\ntopology: dgx-a100-80gb\ngpus: 1\n";
  EXPECT_THAT(lockstep_in_process({"predict", "-"}, scenario).out, HasSubstr("Predicted: resnet18 on dgx"));
}

TEST(PredictText, headers_are_bold_on_a_terminal_only) {
  std::ostringstream out, err;
  std::istringstream in(small_scenario());
  Output terminal{out, err, in, true, false};
  ASSERT_EQ(run_command_line({"predict", "-", "--estimate"}, terminal), 0);
  EXPECT_THAT(out.str(), HasSubstr("\033[1mstrategy"));
  EXPECT_EQ(lockstep_in_process({"predict", "-", "--estimate"}, small_scenario()).out.find('\033'), std::string::npos);
}

TEST(PredictText, quiet_has_the_costs_and_which_runs_do_not_fit) {
  const auto outcome = lockstep_in_process({"predict", "-", "--estimate", "--quiet"},
                                           "model: vit-b-16\nbatch: {per_gpu: 600}\ntopology: dgx1-v100\ngpus: 8\n"
                                           "strategy: ddp\ndata: {samples: 50000}\nprice_per_gpu_hour: 2.5\n");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto lines = lines_of(outcome.out);
  ASSERT_EQ(lines.size(), 9U) << outcome.out;
  EXPECT_THAT(lines[2], ::testing::EndsWith("does not fit"));
  EXPECT_EQ(lines[4], "");
  EXPECT_THAT(lines[5], ::testing::StartsWith("strategy  GPUs"));
  EXPECT_THAT(lines[6], HasSubstr("per s and GPU"));
}

}  // namespace
}  // namespace lockstep
