// One rank as a process: its command line, its environment, its JSON lines, and how it fails.
#include "hwrunner/worker/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/hwrunner/ranks.h"

namespace lockstep {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

std::function<const char*(const char*)> environment(const std::map<std::string, std::string>& variables) {
  return [&variables](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

TEST(WorkerEnvironment, WithoutVariablesIsAWorldOfOne) {
  const auto group = group_from_environment(environment({}));
  ASSERT_TRUE(group);
  EXPECT_EQ(group->world, 1);
  EXPECT_EQ(group->rank, 0);
}

TEST(WorkerEnvironment, OfTorchrunMakesEveryRankAClientOfItsAgent) {
  const std::map<std::string, std::string> variables = {{"RANK", "2"},
                                                        {"WORLD_SIZE", "4"},
                                                        {"MASTER_ADDR", "10.0.0.7"},
                                                        {"MASTER_PORT", "1234"},
                                                        {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                                                        {"TORCHELASTIC_RESTART_COUNT", "1"}};
  const auto group = group_from_environment(environment(variables));
  ASSERT_TRUE(group);
  EXPECT_EQ(group->rank, 2);
  EXPECT_EQ(group->world, 4);
  EXPECT_EQ(group->master, "10.0.0.7");
  EXPECT_EQ(group->port, 1234);
  EXPECT_FALSE(group->serve_store);
  EXPECT_EQ(group->store_prefix, "/worker/attempt_1");
}

TEST(WorkerEnvironment, ThatIsWrongIsAnErrorThatNamesTheVariable) {
  const std::map<std::string, std::string> outside = {{"RANK", "4"}, {"WORLD_SIZE", "4"}};
  const std::map<std::string, std::string> half = {{"RANK", "0"}};
  const std::map<std::string, std::string> no_number = {{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", "x"}};
  EXPECT_EQ(group_from_environment(environment(outside)).error().front().key, "RANK");
  EXPECT_EQ(group_from_environment(environment(half)).error().front().key, "WORLD_SIZE");
  EXPECT_EQ(group_from_environment(environment(no_number)).error().front().key, "MASTER_PORT");
}

TEST(WorkerOptions, AreReadOrRefusedWithWhatIsAllowed) {
  const auto good = parse_worker_options({"--scenario", "s.yaml", "--set", "seed=2", "--hook", "fp16", "--steps", "7",
                                          "--strategy", "ddp", "--batch", "3", "--instrument", "--timeout", "2.5"},
                                         {});
  ASSERT_TRUE(good);
  EXPECT_EQ(good->steps, 7);
  EXPECT_EQ(good->batch, 3);
  EXPECT_EQ(good->trainer.hook, CommHook::Fp16);
  EXPECT_EQ(good->trainer.group.timeout_s, 2.5);
  EXPECT_TRUE(good->trainer.instrument);
  const auto unknown = parse_worker_options({"--scenario", "s", "--stesp", "3"}, {});
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().front().hint, HasSubstr("--steps"));
  const auto bad = parse_worker_options({"--scenario", "s", "--steps", "0", "--hook", "fp8"}, {});
  ASSERT_FALSE(bad);
  ASSERT_EQ(bad.error().size(), 2U);
  EXPECT_EQ(bad.error()[1].allowed, "none, allreduce, fp16, bf16");
  EXPECT_EQ(parse_worker_options({"--steps"}, {}).error().front().kind, ErrorKind::Missing);
  EXPECT_EQ(parse_worker_options({}, {}).error().front().key, "--scenario");
}

// --- The program -------------------------------------------------------------------------------

struct Ended {
  int code = -1;
  std::vector<Json> lines;
};

std::string scenario_file() {
  const std::string path = ::testing::TempDir() + "lockstep_worker_" + std::to_string(getpid()) + ".yaml";
  std::ofstream(path) << "model: {mlp: {inputs: 40, hidden: [64], outputs: 10}}\n"
                         "batch: {global: 8}\ntopology: dgx-a100-80gb\ngpus: [2]\n"
                         "optimizer: adam\nddp: {bucket_cap: 2KiB}\n";
  return path;
}

Ended run(const std::string& variables, const std::string& arguments) {
  Ended ended;
  const std::string command = variables + " " + LOCKSTEP_HWRUNNER + " --worker " + arguments;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return ended;
  std::string text;
  char buffer[4096];
  while (fgets(buffer, sizeof buffer, pipe) != nullptr) {
    text += buffer;
    if (text.back() != '\n') continue;
    ended.lines.push_back(Json::parse(text));
    text.clear();
  }
  ended.code = WEXITSTATUS(pclose(pipe));
  return ended;
}

TEST(Worker, OfAWorldOfOneWritesALineForEachStep) {
  const Ended ended = run("", "--scenario " + scenario_file() + " --warm-up 1 --steps 2 --repeat 3");
  ASSERT_EQ(ended.code, 0);
  ASSERT_EQ(ended.lines.size(), 5U);
  EXPECT_EQ(ended.lines[0]["type"], "worker");
  EXPECT_EQ(ended.lines[0]["strategy"], "single");
  EXPECT_EQ(ended.lines[0]["per_gpu_batch"], 8);
  for (int i = 0; i < 3; ++i) {
    const Json& line = ended.lines[static_cast<std::size_t>(i + 1)];
    EXPECT_EQ(line["type"], "step");
    EXPECT_EQ(line["index"], i);
    EXPECT_EQ(line["warm_up"], i == 0);
    EXPECT_EQ(line["repeat"], 3);
    double sum = 0;
    for (const auto& part : line["breakdown_s"]) sum += part.get<double>();
    EXPECT_NEAR(sum, line["step_time_s"].get<double>(), 1e-9);
  }
  EXPECT_EQ(ended.lines[4]["type"], "done");
}

TEST(Worker, OfTheStandInSplitsTheBatchAmongItsReplicas) {
  const Ended ended = run("", "--scenario " + scenario_file() + " --strategy dp --replicas 2 --warm-up 0 --steps 1");
  ASSERT_EQ(ended.code, 0);
  EXPECT_EQ(ended.lines[0]["implementation"], "cpu stand-in");
  EXPECT_EQ(ended.lines[0]["per_gpu_batch"], 4);
  EXPECT_GT(ended.lines[1]["breakdown_s"]["replicate"].get<double>(), 0);
}

TEST(Worker, OfTwoRanksShareTheBatchAndTheirBuckets) {
  const std::string file = scenario_file(), port = std::to_string(free_port());
  const auto ranks = run_ranks(2, [&](int rank) -> RankReport {
    const Ended ended = run("RANK=" + std::to_string(rank) + " WORLD_SIZE=2 MASTER_PORT=" + port,
                            "--scenario " + file + " --interface lo --warm-up 2 --steps 2 --instrument");
    Json all = ended.lines;
    return {{static_cast<double>(ended.code)}, all.dump()};
  });
  for (const RankReport& rank : ranks) {
    ASSERT_EQ(rank.numbers, std::vector<double>{0});
    const Json lines = Json::parse(rank.error);
    ASSERT_EQ(lines.size(), 6U);
    EXPECT_EQ(lines[0]["implementation"], "c10d Reducer");
    EXPECT_EQ(lines[0]["per_gpu_batch"], 4);
    // 40 x 64 + 64 and 64 x 10 + 10 values of 4 bytes: one bucket at first, then one that the last layer fills.
    EXPECT_EQ(lines[0]["bucket_bytes"], Json({13096}));
    EXPECT_EQ(lines[5]["bucket_bytes"], Json({2600, 10496}));
    EXPECT_EQ(lines[4]["buckets"][1]["bytes"], 10496);
    EXPECT_EQ(lines[5]["ddp_log"]["backend_name"], "gloo");
  }
}

TEST(Worker, RefusesWhatTheRunnerCannotDoUnderTheScenariosOwnKeys) {
  const std::string file = scenario_file();
  const Ended precision = run("", "--scenario " + file + " --set precision=amp-bf16");
  EXPECT_EQ(precision.code, 1);
  ASSERT_EQ(precision.lines.size(), 1U);
  EXPECT_EQ(precision.lines[0]["errors"][0]["key"], "precision");
  const Ended batch = run("RANK=0 WORLD_SIZE=3 MASTER_PORT=" + std::to_string(free_port()), "--scenario " + file);
  EXPECT_EQ(batch.code, 1);
  EXPECT_EQ(batch.lines[0]["errors"][0]["key"], "batch.global");
}

TEST(Worker, WithoutItsPeersEndsWithOneErrorLine) {
  const Ended ended = run("RANK=0 WORLD_SIZE=2 MASTER_PORT=" + std::to_string(free_port()),
                          "--scenario " + scenario_file() + " --store-timeout 1 --interface lo");
  EXPECT_EQ(ended.code, 2);
  ASSERT_EQ(ended.lines.size(), 1U);
  EXPECT_EQ(ended.lines[0]["type"], "error");
  EXPECT_THAT(ended.lines[0]["message"].get<std::string>(), HasSubstr("1/2 clients joined"));
}

}  // namespace
}  // namespace lockstep
