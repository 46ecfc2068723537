// `lockstep measure` started several times, as a launcher does it or as people do on several hosts. The program itself,
// with the fake worker as the runner.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/hwrunner/fake.h"

namespace lockstep {
namespace {

using nlohmann::json;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Pids;

using Variables = std::map<std::string, std::string>;

// Two machines of one GPU each: paced, so that any number of ranks may share the cores.
const char* two_nodes() {
  return "model: {mlp: {inputs: 16, hidden: [8], outputs: 4}}\nbatch: {per_gpu: 4}\n"
         "topology: {node: hgx-a100-4gpu-40gb, gpus_per_node: 2, fabric: eth-10g}\ngpus: [2, 4]\nstrategy: ddp\n"
         "measure: {steps: 3, warm_up: 2, repeats: 2, timeout: 20s}\n";
}

class Started : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = pids_.folder() + "-files";
    std::filesystem::create_directories(folder_);
    write("plan.yaml", two_nodes());
    for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"}) unsetenv(name);
    setenv("LOCKSTEP_HWRUNNER", LOCKSTEP_FAKE_WORKER, 1);
    setenv("LOCKSTEP_FAKE", "", 1);
    setenv("LOCKSTEP_FAKE_PIDS", pids_.folder().c_str(), 1);
    setenv("TMPDIR", folder_.c_str(), 1);  // where the folders of launches go
  }
  void TearDown() override {
    for (const pid_t pid : children_) kill(pid, SIGKILL);
    codes();
    while (!pids_.running().empty()) usleep(2000);  // no orphan, or the test's time ends
    std::filesystem::remove_all(folder_);
  }

  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ + "/" + name) << text; }
  std::string read(const std::string& name) const {
    std::ifstream in(folder_ + "/" + name);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::string out(std::size_t i) const { return read(std::to_string(i) + ".out"); }
  std::string err(std::size_t i) const { return read(std::to_string(i) + ".err"); }

  // One more process of the program; what it writes goes to files.
  pid_t start(std::vector<std::string> words, const Variables& variables = {}, const std::string& file = "plan.yaml") {
    const std::string name = folder_ + "/" + std::to_string(children_.size());
    words.insert(words.begin(), {LOCKSTEP_PROGRAM, "measure", folder_ + "/" + file});
    const pid_t child = fork();
    if (child == 0) {
      for (const auto& [key, value] : variables) setenv(key.c_str(), value.c_str(), 1);
      dup2(open((name + ".out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
      dup2(open((name + ".err").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
      std::vector<char*> all;
      for (std::string& word : words) all.push_back(word.data());
      all.push_back(nullptr);
      execv(LOCKSTEP_PROGRAM, all.data());
      _exit(127);
    }
    children_.push_back(child);
    return child;
  }
  pid_t start_rank(int rank, int size, std::vector<std::string> words = {}, const std::string& file = "plan.yaml") {
    words.insert(words.begin(), {"--paced", "--json"});
    return start(std::move(words),
                 {{"RANK", std::to_string(rank)},
                  {"WORLD_SIZE", std::to_string(size)},
                  {"MASTER_ADDR", "127.0.0.1"},
                  {"MASTER_PORT", std::to_string(port_)}},
                 file);
  }
  std::vector<int> codes() {
    std::vector<int> all;
    for (const pid_t pid : std::exchange(children_, {})) {
      int status = 0;
      waitpid(pid, &status, 0);
      all.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
    }
    return all;
  }
  void wait_for_ranks(std::size_t count) const {
    while (pids_.running().size() < count) usleep(2000);
  }
  static json document(const std::string& text) {
    const json read = json::parse(text, nullptr, false);
    EXPECT_TRUE(read.is_object()) << text;
    return read;
  }

  Pids pids_;
  std::string folder_;
  std::vector<pid_t> children_;
  int port_ = free_port();
};

TEST_F(Started, as_three_ranks_measures_what_three_ranks_hold_and_only_rank_0_speaks) {
  for (const int rank : {2, 1, 0}) start_rank(rank, 3);
  EXPECT_THAT(codes(), ElementsAre(0, 0, 0));
  for (const std::size_t quiet : {0U, 1U}) {
    EXPECT_EQ(out(quiet), "");
    EXPECT_EQ(err(quiet), "");
  }
  const json result = document(out(2));
  EXPECT_EQ(result["machine"]["launcher"], "RANK and WORLD_SIZE");
  EXPECT_THAT(result["machine"]["hosts"].get<std::string>(), HasSubstr("(ranks 0-2)"));
  ASSERT_EQ(result["runs"].size(), 3U);
  EXPECT_EQ(result["runs"][0]["strategy"], "single");
  EXPECT_EQ(result["runs"][1]["ranks"].size(), 2U);
  EXPECT_EQ(result["runs"][1]["samples"].size(), 2U);
  EXPECT_EQ(result["runs"][2]["not_run"], "RANK and WORLD_SIZE started 3 ranks");
  // Two repeats and a pass with marks of single and of two ranks.
  EXPECT_EQ(pids_.all().size(), 3U * (1 + 2));
}

TEST_F(Started, on_two_nodes_by_rendezvous_starts_the_ranks_of_each) {
  const std::string where = "127.0.0.1:" + std::to_string(port_);
  for (const char* node : {"1", "0"})
    start({"--paced", "--json", "--rendezvous", where, "--nodes", "2", "--node-rank", node});
  EXPECT_THAT(codes(), ElementsAre(0, 0)) << err(0) << err(1) << out(1);
  EXPECT_EQ(out(0) + err(0), "");
  const json result = document(out(1));
  EXPECT_EQ(result["runs"][2]["ranks"].size(), 4U);
  EXPECT_EQ(result["machine"]["launcher"], "--rendezvous");
}

TEST_F(Started, with_a_rank_that_is_killed_keeps_the_rest_says_who_and_ends_with_2_everywhere) {
  setenv("LOCKSTEP_FAKE", "do=kill,rank=1,repeat=1,step=3", 1);
  for (const int rank : {1, 0}) start_rank(rank, 2);
  EXPECT_THAT(codes(), ElementsAre(2, 2));
  EXPECT_EQ(out(0) + err(0), "");
  const json result = document(out(1));
  EXPECT_THAT(result["partial"].get<std::string>(),
              HasSubstr("rank 1 was killed by signal 9 during step 2 of repeat 2 (ddp, 2 ranks)"));
  EXPECT_TRUE(result["runs"][0].contains("breakdown_s"));
  EXPECT_EQ(result["runs"][1]["samples"][0]["step_times_s"].size(), 3U);
  EXPECT_THAT(err(1), HasSubstr("partial result"));
}

TEST_F(Started, with_a_rank_that_never_starts_says_which_within_the_timeout) {
  for (const int rank : {1, 0}) start_rank(rank, 3, {"--set", "measure.timeout=1s"});
  EXPECT_THAT(codes(), ElementsAre(2, 2));
  EXPECT_EQ(out(0) + err(0), "");
  EXPECT_THAT(document(out(1))["error"]["message"].get<std::string>(),
              HasSubstr("rank 2 of 3 did not come within 1 s"));
}

TEST_F(Started, without_rank_0_says_that_it_cannot_be_reached) {
  start_rank(1, 2, {"--set", "measure.timeout=500ms"});
  EXPECT_THAT(codes(), ElementsAre(2));
  EXPECT_THAT(document(out(0))["error"]["message"].get<std::string>(), HasSubstr("rank 0 cannot be reached"));
}

TEST_F(Started, with_another_scenario_on_one_host_names_it) {
  write("other.yaml", two_nodes() + std::string("seed: 7\n"));
  start_rank(1, 2, {}, "other.yaml");
  start_rank(0, 2);
  EXPECT_THAT(codes(), ElementsAre(2, 2));
  EXPECT_EQ(out(0) + err(0), "");
  const std::string message = document(out(1))["error"]["message"];
  EXPECT_THAT(message, HasSubstr("rank 1 on "));
  EXPECT_THAT(message, HasSubstr("would measure something else"));
  EXPECT_THAT(message, HasSubstr("the scenario"));
  EXPECT_THAT(pids_.all(), IsEmpty());
}

TEST_F(Started, with_a_scenario_that_is_wrong_says_so_once) {
  write("wrong.yaml", "model: nothing\n");
  for (const int rank : {1, 0}) start_rank(rank, 2, {}, "wrong.yaml");
  const std::vector<int> ends = codes();
  EXPECT_EQ(ends.at(1), 1);
  EXPECT_NE(ends.at(0), 0);
  EXPECT_EQ(out(0) + err(0), "");
  EXPECT_THAT(document(out(1))["error"]["message"].get<std::string>(), HasSubstr("nothing"));
}

TEST_F(Started, without_a_runner_on_one_host_says_on_which) {
  setenv("LOCKSTEP_HWRUNNER", "/nowhere/lockstep-hwrunner", 1);
  start_rank(1, 2);
  setenv("LOCKSTEP_HWRUNNER", LOCKSTEP_FAKE_WORKER, 1);
  start_rank(0, 2);
  EXPECT_THAT(codes(), ElementsAre(2, 2));
  EXPECT_THAT(document(out(1))["error"]["message"].get<std::string>(), HasSubstr("needs the hardware runner"));
  EXPECT_EQ(out(0) + err(0), "");
}

TEST_F(Started, and_interrupted_anywhere_ends_everywhere_and_writes_what_there_is) {
  for (const int hit : {0, 1}) {
    const std::vector<pid_t> both = {start_rank(1, 2, {"--set", "measure.steps=1000000"}),
                                     start_rank(0, 2, {"--set", "measure.steps=1000000"})};
    wait_for_ranks(1);
    ASSERT_EQ(kill(both[static_cast<std::size_t>(hit)], SIGINT), 0);
    EXPECT_THAT(codes(), Each(130));
    EXPECT_THAT(pids_.running(), IsEmpty());
    EXPECT_THAT(document(out(1))["partial"].get<std::string>(), HasSubstr("interrupted after"));
    EXPECT_EQ(out(0) + err(0), "");
    for (const pid_t pid : pids_.all()) std::filesystem::remove(pids_.folder() + "/" + std::to_string(pid));
  }
}

TEST_F(Started, and_interrupted_while_it_waits_for_the_others_leaves_at_once) {
  const pid_t leader = start_rank(0, 2), other = start({"--paced"}, {{"RANK", "1"},
                                                                     {"WORLD_SIZE", "2"},
                                                                     {"MASTER_ADDR", "127.0.0.1"},
                                                                     {"MASTER_PORT", std::to_string(free_port())}});
  usleep(300'000);  // whatever they are at then
  kill(leader, SIGTERM);
  kill(other, SIGINT);
  const std::vector<int> ends = codes();
  // Before the program listens to signals they end it as they end any program.
  for (const int end : ends) EXPECT_TRUE(end == 130 || end == -SIGTERM || end == -SIGINT) << end;
}

TEST_F(Started, and_killed_takes_all_ranks_along_and_the_others_say_why_they_leave) {
  start_rank(1, 2, {"--set", "measure.steps=1000000", "--set", "gpus=2"});
  const pid_t leader = start_rank(0, 2, {"--set", "measure.steps=1000000", "--set", "gpus=2"});
  wait_for_ranks(1);
  ASSERT_EQ(kill(leader, SIGKILL), 0);
  const std::vector<int> ends = codes();
  EXPECT_THAT(ends, ElementsAre(2, -SIGKILL));
  while (!pids_.running().empty()) usleep(2000);
  EXPECT_THAT(out(0), HasSubstr("rank 0, which leads, is gone"));
}

TEST_F(Started, by_a_launcher_that_is_killed_ends_with_its_ranks) {
  const pid_t launcher = fork();
  if (launcher == 0) {
    start_rank(0, 2, {"--set", "measure.steps=1000000"});
    start_rank(1, 2, {"--set", "measure.steps=1000000"});
    for (const pid_t pid : children_) write("child" + std::to_string(pid), "");
    pause();
  }
  wait_for_ranks(1);
  std::vector<pid_t> measuring;
  while (measuring.size() < 2) {
    measuring.clear();
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      if (entry.path().filename().string().rfind("child", 0) == 0)
        measuring.push_back(static_cast<pid_t>(std::stol(entry.path().filename().string().substr(5))));
  }
  ASSERT_EQ(kill(launcher, SIGKILL), 0);
  waitpid(launcher, nullptr, 0);
  for (const pid_t pid : measuring) EXPECT_EQ(waitpid(pid, nullptr, 0), pid);  // orphans come here (Pids)
  while (!pids_.running().empty()) usleep(2000);
}

TEST_F(Started, after_one_that_was_killed_removes_the_folder_that_it_left) {
  const auto left = [this] {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      if (entry.path().filename().string().rfind("lockstep-ranks-", 0) == 0) ++count;
    return count;
  };
  const pid_t killed = start({"--paced", "--json", "--set", "measure.steps=1000000"});
  wait_for_ranks(1);
  std::filesystem::create_directories(folder_ + "/lockstep-ranks-other/owner");  // nobody's: not ours to remove
  ASSERT_EQ(kill(killed, SIGKILL), 0);
  codes();
  EXPECT_EQ(left(), 2);
  start({"--paced", "--json", "--set", "gpus=2", "--set", "measure.repeats=1"});
  EXPECT_THAT(codes(), ElementsAre(0)) << err(0);
  EXPECT_EQ(left(), 1);
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/lockstep-ranks-other"));
}

TEST_F(Started, with_options_that_make_no_sense_names_the_option) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"--rendezvous", "127.0.0.1:1"}, "--nodes"},
      {{"--nodes", "2", "--node-rank", "0"}, "--rendezvous"},
      {{"--rendezvous", "127.0.0.1:1", "--nodes", "2", "--node-rank", "2"}, "--node-rank"},
      {{"--rendezvous", "here", "--nodes", "2", "--node-rank", "1"}, "HOST:PORT"}};
  for (const auto& [words, named] : cases) {
    start(words);
    EXPECT_THAT(codes(), ElementsAre(1));
    EXPECT_THAT(err(0), HasSubstr(named));
  }
}

}  // namespace
}  // namespace lockstep
