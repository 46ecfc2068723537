// `lockstep measure` on top of the program with LibTorch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "hwrunner/launch/pinning.h"
#include "hwrunner/measure/runner_program.h"
#include "tests/hwrunner/runner_support.h"
#include "tests/simulator/cli/in_process.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;
using testing::lockstep_in_process;
using testing::Outcome;
using testing::Runner;
using testing::scenario;
using ::testing::StartsWith;

Outcome measured(std::vector<std::string> words, const std::string& text = scenario()) {
  words.insert(words.begin(), {"measure", "-", "--json"});
  return lockstep_in_process(words, text);
}

double sum_of(const json& parts) {
  double sum = 0;
  for (const auto& [cause, seconds] : parts.items()) sum += seconds.get<double>();
  return sum;
}

TEST_F(Runner, measures_single_dp_and_ddp_as_one_result) {
  if (allowed_cores().size() < 2) GTEST_SKIP() << "two ranks need two cores, this process may use one";
  const Outcome outcome = measured({});
  ASSERT_EQ(outcome.code, 0) << outcome.err << outcome.out;
  const json result = json::parse(outcome.out);
  ASSERT_EQ(result["runs"].size(), 5U);
  const std::vector<std::string> implementations = {"LibTorch module", "cpu stand-in", "cpu stand-in", "c10d Reducer",
                                                    "c10d Reducer"};
  for (std::size_t i = 0; i < implementations.size(); ++i) {
    const json& run = result["runs"][i];
    EXPECT_EQ(run["implementation"], implementations[i]);
    EXPECT_EQ(run["global_batch"], 8);
    EXPECT_EQ(run["spread_s"]["n"], 3);
    EXPECT_NEAR(sum_of(run["breakdown_s"]), run["step_time_s"], 1e-9);
    EXPECT_TRUE(run["breakdown_s"].contains("backward"));
  }
  EXPECT_EQ(result["runs"][2]["processes"], 1);
  EXPECT_EQ(result["runs"][4]["ranks"].size(), 2U);
  ASSERT_EQ(result["runs"][4]["buckets"].size(), 2U);
  EXPECT_EQ(result["runs"][4]["buckets"][0]["bytes"], 2600);
  EXPECT_EQ(result["machine"]["network_interface"], "lo");
}

TEST_F(Runner, obeys_number_format_clipping_reading_the_loss_and_where_the_batch_lies) {
  for (const char* precision : {"amp-bf16", "amp-fp16"}) {
    const Outcome outcome =
        measured({"--set", "strategy=dp", "--set", "gpus=1"},
                 scenario(std::string("precision: ") + precision +
                          "\nloop: {host_sync: each_step}\ninput: {source: host, memory: pinned}\n")
                     .replace(scenario().find("optimizer: adam"), 15, "optimizer: {name: adam, clip_grad_norm: true}"));
    ASSERT_EQ(outcome.code, 0) << outcome.err << outcome.out;
    const json result = json::parse(outcome.out);
    EXPECT_EQ(result["scenario"]["precision"], precision);
    for (const json& run : result["runs"]) {
      EXPECT_FALSE(run.contains("not_run")) << run["not_run"];
      EXPECT_GT(run["breakdown_s"]["copy_to_device"], 0);
    }
  }
}

TEST_F(Runner, refuses_what_a_cpu_does_not_have_and_what_it_does_not_do) {
  for (const auto& [more, reason] : std::vector<std::pair<std::string, std::string>>{
           {"precision: tf32\n", "a CPU has no TF32"},
           {"loader: {sample_cost: {mean: 1ms}}\n", "has no data loader yet"},
           {"input: {source: host, touched: false}\n", "needs a data loader"}}) {
    const Outcome outcome = measured({"--set", "strategy=dp", "--set", "gpus=1"}, scenario(more));
    EXPECT_EQ(outcome.code, 2) << more << outcome.err;
    EXPECT_THAT(json::parse(outcome.out)["runs"][0]["not_run"].get<std::string>(), HasSubstr(reason));
  }
}

TEST_F(Runner, profiles_a_pass_of_its_own_and_keeps_its_traces) {
  if (allowed_cores().size() < 2) GTEST_SKIP() << "two ranks need two cores, this process may use one";
  const Outcome outcome = measured({"--set", "gpus=2", "--trace", (folder_ / "trace.json").string()}, scenario());
  ASSERT_EQ(outcome.code, 0) << outcome.err << outcome.out;
  const json result = json::parse(outcome.out);
  ASSERT_EQ(result["runs"].size(), 3U);
  for (const json& run : result["runs"]) {
    std::map<std::string, json> classes;
    for (const json& one : run["profile"]) classes[one["class"]] = one;
    ASSERT_EQ(classes.count("linear"), 1U) << run["profile"];
    EXPECT_GT(classes["linear"]["forward_s"], 0);
    EXPECT_GT(classes["linear"]["backward_s"], 0);
    EXPECT_GT(classes["optimizer"]["step_s"], 0);
    EXPECT_EQ(classes.count("bucket_copies"), run["strategy"] == "ddp" ? 1U : 0U);
    bool noted = false;
    for (const json& note : run["notes"])
      noted = noted || note.get<std::string>().find("the profile is of a pass of its own") == 0;
    EXPECT_TRUE(noted);
  }
  for (const char* name : {"trace-single-1.json", "trace-dp-2.json", "trace-ddp-2.json"}) {
    std::ifstream file(folder_ / name);
    const json trace = json::parse(file, nullptr, false);
    ASSERT_TRUE(trace.is_object()) << name;
    EXPECT_FALSE(trace["traceEvents"].empty()) << name;
  }
}

TEST_F(Runner, hands_on_what_ddp_logs_of_itself_and_the_cpu_time_of_each_rank) {
  if (allowed_cores().size() < 2) GTEST_SKIP() << "two ranks need two cores, this process may use one";
  const Outcome outcome = measured({"--set", "gpus=2", "--set", "strategy=ddp"});
  ASSERT_EQ(outcome.code, 0) << outcome.err << outcome.out;
  const json result = json::parse(outcome.out);
  const json& run = result["runs"][1];
  EXPECT_EQ(run["ddp_logging_data"]["backend_name"], "gloo");
  EXPECT_EQ(run["ddp_logging_data"]["world_size"], "2");
  EXPECT_EQ(run["ddp_logging_data"]["rebuilt_bucket_sizes"], "2600, 10496");
  EXPECT_TRUE(run["ddp_logging_data"].contains("backward_comm_time"));
  EXPECT_FALSE(result["runs"][0].contains("ddp_logging_data"));
  for (const json& rank : run["ranks"]) {
    EXPECT_GT(rank["cpu_time_s"], 0);
    EXPECT_GT(rank["memory_reserved_bytes"], 1 << 20);
  }
}

TEST_F(Runner, measure_ends_with_2_and_names_the_rank_that_broke_it) {
  if (allowed_cores().size() < 2) GTEST_SKIP() << "two ranks need two cores, this process may use one";
  use(with_another_plan("\"per_gpu_batch\":4", "\"per_gpu_batch\":10000000000000"));
  const Outcome outcome = measured({"--set", "gpus=2", "--set", "strategy=ddp"});
  EXPECT_EQ(outcome.code, 2);
  const json result = json::parse(outcome.out);
  EXPECT_TRUE(result["runs"][0].contains("step_time_s"));
  EXPECT_THAT(result["runs"][1]["not_run"].get<std::string>(), StartsWith("rank 1 failed while joining the group"));
  EXPECT_THAT(result["partial"].get<std::string>(), StartsWith("rank 1 failed"));
}

// A copy whose path to LibTorch leads nowhere.
TEST_F(Runner, measure_says_what_to_run_where_the_libraries_of_the_runner_are_gone) {
  std::ifstream in(LOCKSTEP_HWRUNNER, std::ios::binary);
  std::string program{std::istreambuf_iterator<char>(in), {}};
  int changed = 0;
  for (std::size_t at = 0; (at = program.find("/torch/lib", at)) != std::string::npos; ++at, ++changed)
    program[at + 7] = 'x';
  ASSERT_GT(changed, 0);
  const fs::path copy = folder_ / "lockstep-hwrunner";
  std::ofstream(copy, std::ios::binary) << program;
  fs::permissions(copy, fs::perms::owner_all);
  use(copy.string());
  const Outcome outcome = measured({});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.out, HasSubstr("the hardware runner does not start"));
  EXPECT_THAT(outcome.out, HasSubstr("error while loading shared libraries: lib"));
  EXPECT_THAT(outcome.out, HasSubstr("./lockstep.sh libtorch"));
}

}  // namespace
}  // namespace lockstep
