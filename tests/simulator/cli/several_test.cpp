// Several scenarios at once: every form, and what happens when one of them is wrong.
#include "simulator/cli/several.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/simulator/cli/in_process.h"

namespace lockstep {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::lockstep_in_process;
using testing::Outcome;
using testing::small_scenario;

// Two small scenarios, one from a file and one from standard input.
class Several : public ::testing::Test {
 protected:
  void SetUp() override {
    file_ = ::testing::TempDir() + "lockstep-several-" +
            ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".yaml";
    std::ofstream(file_) << "question: Which one, \"this\"?\n" << small_scenario();
  }
  void TearDown() override { std::filesystem::remove(file_); }

  Outcome run(std::vector<std::string> words, const std::string& command = "predict") {
    const std::vector<std::string> front = {command, file_, "-", "--estimate", "--set", "gpus=2"};
    words.insert(words.begin(), front.begin(), front.end());
    return lockstep_in_process(words, small_scenario());
  }
  Outcome alone(std::vector<std::string> words, const std::string& command = "predict") {
    const std::vector<std::string> front = {command, "-", "--estimate", "--set", "gpus=2"};
    words.insert(words.begin(), front.begin(), front.end());
    return lockstep_in_process(words, small_scenario());
  }

  std::string file_;
};

TEST_F(Several, text_has_a_block_each_as_alone) {
  for (const char* command : {"predict", "explain"}) {
    const auto both = run({}, command);
    ASSERT_EQ(both.code, 0) << both.err;
    EXPECT_EQ(both.out.rfind("==> " + file_ + " <==\n", 0), 0U) << both.out;
    EXPECT_THAT(both.out, HasSubstr("\n\n==> standard input <==\n" + alone({}, command).out));
  }
  EXPECT_THAT(run({}).out, HasSubstr("Which one"));
}

TEST_F(Several, json_is_one_document_with_the_documents_of_each) {
  for (const char* command : {"predict", "explain"}) {
    const auto both = run({"--json"}, command);
    ASSERT_EQ(both.code, 0) << both.err;
    const json document = json::parse(both.out);
    ASSERT_EQ(document["results"].size(), 2U);
    EXPECT_EQ(document["results"][0]["file"], file_);
    json second = document["results"][1];
    EXPECT_EQ(second["file"], "standard input");
    second.erase("file");
    EXPECT_EQ(second, json::parse(alone({"--json"}, command).out));
    // Laid out as any document.
    std::istringstream lines(both.out);
    std::vector<std::string> all;
    for (std::string line; std::getline(lines, line);) all.push_back(line);
    EXPECT_EQ(all[2], "    {");
    EXPECT_EQ(all[3].rfind("      \"file\": ", 0), 0U);
    EXPECT_EQ(all[all.size() - 3], "    }");
  }
}

TEST_F(Several, json_lines_say_which_file) {
  std::istringstream lines(run({"--jsonl"}).out);
  std::vector<std::string> results;
  for (std::string line; std::getline(lines, line);) {
    const json one = json::parse(line);
    ASSERT_TRUE(one.contains("file")) << line;
    if (one["type"] == "result") results.push_back(one["file"]);
  }
  EXPECT_EQ(results, (std::vector<std::string>{file_, "standard input"}));
  std::istringstream plain(alone({"--jsonl"}).out);
  for (std::string line; std::getline(plain, line);) EXPECT_FALSE(json::parse(line).contains("file"));
}

TEST_F(Several, csv_has_one_header_and_a_column_in_front) {
  for (const char* command : {"predict", "explain"}) {
    std::istringstream lines(run({"--csv"}, command).out), one(alone({"--csv"}, command).out);
    std::string line, header;
    std::getline(one, header);
    std::getline(lines, line);
    EXPECT_EQ(line, "file," + header);
    std::vector<std::string> rest, expected;
    while (std::getline(one, line)) expected.push_back(line);
    for (std::size_t i = 0; std::getline(lines, line); ++i)
      EXPECT_EQ(line, (i < expected.size() ? file_ : "standard input") + ',' + expected[i % expected.size()]);
  }
}

TEST_F(Several, output_file_holds_all_of_it) {
  for (const char* form : {"--quiet", "--json", "--csv", "--jsonl"}) {
    const std::string path = file_ + ".out";
    const auto outcome = run({form, "-o", path});
    EXPECT_EQ(outcome.code, 0);
    EXPECT_THAT(outcome.out, IsEmpty());
    std::ifstream file(path);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    // The file takes the results of the JSON lines alone; progress and runs go to standard output as they come.
    if (std::string(form) != "--jsonl") {
      EXPECT_EQ(text, run({form}).out);
    }
    EXPECT_THAT(text, HasSubstr("standard input"));
    std::filesystem::remove(path);
  }
}

TEST_F(Several, if_one_is_wrong_all_errors_are_told_and_nothing_runs) {
  const auto outcome =
      lockstep_in_process({"predict", file_, "-", "no-such-file", "--json"},
                          "modle: x\nmodel: resnet18\nbatch: {per_gpu: 1}\ntopology: dgx-a100-80gb\ngpus: many\n");
  EXPECT_EQ(outcome.code, 1);
  const json errors = json::parse(outcome.out)["errors"];
  ASSERT_EQ(errors.size(), 3U) << outcome.out;
  EXPECT_EQ(errors[0]["file"], "standard input");
  EXPECT_EQ(errors[1]["line"], 5);
  EXPECT_EQ(errors[2]["file"], "no-such-file");
}

TEST_F(Several, what_is_wrong_with_set_is_told_once_or_with_the_scenario) {
  const auto everywhere = run({"--set", "gpus=nine"});
  EXPECT_EQ(std::count(everywhere.err.begin(), everywhere.err.end(), '\n'), 1) << everywhere.err;
  const auto here = lockstep_in_process({"predict", file_, "infiniband-scaling", "--set", "gpus=16"});
  EXPECT_EQ(here.code, 1);
  EXPECT_EQ(std::count(here.err.begin(), here.err.end(), '\n'), 1) << here.err;
  EXPECT_THAT(here.err, HasSubstr("(in " + file_ + ")"));
}

TEST_F(Several, nothing_could_run_in_one_of_them_is_exit_code_2) {
  const auto outcome =
      lockstep_in_process({"predict", "strong-scaling", "pcie-box", "--set", "gpus=3", "--estimate", "--quiet"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.out, HasSubstr("==> pcie-box <=="));
}

TEST(SeveralForms, csv_fields_with_line_breaks_stay_in_their_record) {
  EXPECT_EQ(csv_with_file("a,b\n1,\"x\ny \"\"z\"\"\"\n2,3\n", "f,g", true),
            "file,a,b\n\"f,g\",1,\"x\ny \"\"z\"\"\"\n\"f,g\",2,3\n");
  EXPECT_EQ(csv_with_file("a\n1\n", "f", false), "f,1\n");
}

}  // namespace
}  // namespace lockstep
