// The program with LibTorch in it: what its ranks tell, how they fail, and `lockstep measure` on top of it. Ranks are
// real processes that meet over Gloo; the networks are tiny.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "hwrunner/launch/launcher.h"
#include "hwrunner/launch/pinning.h"
#include "hwrunner/launch/rank_process.h"
#include "hwrunner/measure/runner_program.h"
#include "tests/simulator/cli/in_process.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::lockstep_in_process;
using ::testing::MatchesRegex;
using testing::Outcome;
using ::testing::StartsWith;

// 40 x 64 + 64 and 64 x 10 + 10 parameters.
std::string scenario(const std::string& more = "") {
  return "model: {mlp: {inputs: 40, hidden: [64], outputs: 10}}\nbatch: {global: 8}\n"
         "topology: {node: cpu-host, gpus_per_node: 2}\ngpus: [1, 2]\nstrategy: [dp, ddp]\noptimizer: adam\n"
         "ddp: {bucket_cap: 2KiB}\nmeasure: {steps: 3, warm_up: 2, repeats: 1, timeout: 20s}\n" +
         more;
}

RunPlan plan_of(Strategy strategy, int world_size) {
  RunPlan plan;
  plan.strategy = strategy;
  plan.world_size = world_size;
  plan.per_gpu_batch = 4;
  plan.warm_up = 2;
  plan.steps = 2;
  plan.instrumented = true;
  plan.timeouts = {60, 60, 80};
  plan.scenario = scenario();
  return plan;
}

template <class T>
std::vector<T> records_of(const RankLog& log) {
  std::vector<T> found;
  for (const Record& record : log.records)
    if (const T* one = std::get_if<T>(&record)) found.push_back(*one);
  return found;
}

bool is_there(std::int64_t pid) {
  return fs::exists("/proc/" + std::to_string(pid));
}

// A folder for programs of the test's own making.
class Runner : public ::testing::Test {
 protected:
  Runner() : folder_(fs::path(::testing::TempDir()) / ("lockstep-runner-" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
    for (const char* name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "GLOO_SOCKET_IFNAME"}) unsetenv(name);
    use(LOCKSTEP_HWRUNNER);
  }
  ~Runner() override { fs::remove_all(folder_); }
  static void use(const std::string& program) { setenv("LOCKSTEP_HWRUNNER", program.c_str(), 1); }

  // The runner, but before rank 1 starts, `line` of shell is run with the plan's path in $3.
  std::string with_another_rank_1(const std::string& line) const {
    const std::string path = (folder_ / "runner").string();
    std::ofstream(path) << "#!/bin/sh\nif [ \"$1\" = worker ] && [ \"$RANK\" = 1 ]; then\n"
                        << line << "\nfi\nexec '" << LOCKSTEP_HWRUNNER << "' \"$@\"\n";
    ::chmod(path.c_str(), 0755);
    return path;
  }
  // Rank 1's plan with one text in another's place.
  std::string with_another_plan(const std::string& from, const std::string& to) const {
    return with_another_rank_1("sed 's/" + from + "/" + to +
                               "/' \"$3\" >\"$3.1\"; set -- worker --plan \"$3.1\" \"$4\" \"$5\"");
  }

  // Launches and checks that no process is left.
  static LaunchOutcome launched(const RunPlan& plan, LaunchOptions options = {}) {
    if (options.program.empty()) options.program = LOCKSTEP_HWRUNNER;
    LaunchOutcome outcome = launch(plan, options);
    for (const RankLog& rank : outcome.ranks)
      for (const HelloRecord& hello : records_of<HelloRecord>(rank)) EXPECT_FALSE(is_there(hello.pid));
    return outcome;
  }
  static LaunchOutcome launched_by(const std::string& program, const RunPlan& plan) {
    LaunchOptions options;
    options.program = program;
    return launched(plan, options);
  }
  // Sends rank 1 a signal when it has done its third step.
  static LaunchOutcome launched_and_hit(RunPlan plan, int signal) {
    plan.steps = 1'000'000;
    plan.instrumented = false;
    LaunchOptions options;
    pid_t pid = 0;
    options.on_record = [&pid, signal](int rank, const Record& record) {
      if (rank != 1) return;
      if (const auto* hello = std::get_if<HelloRecord>(&record)) pid = static_cast<pid_t>(hello->pid);
      if (const auto* step = std::get_if<RankStepRecord>(&record); step != nullptr && step->step == 2)
        ::kill(pid, signal);
    };
    return launched(plan, options);
  }

  // A rank that somebody else started: what it said, and its exit code.
  struct Alone {
    RankLog log;
    int code = -1;
  };
  Alone alone(const RunPlan& plan, const std::string& variables) const {
    const std::string file = (folder_ / "plan.json").string();
    std::ofstream(file) << plan_to_json(plan);
    const std::string line = variables + " '" + LOCKSTEP_HWRUNNER + "' worker --plan '" + file + "' --records 1";
    Alone result;
    FILE* pipe = popen(line.c_str(), "r");
    if (pipe == nullptr) return result;
    char text[65536];
    while (fgets(text, sizeof text, pipe) != nullptr) {
      const auto record = record_from_line(std::string_view(text).substr(0, std::strlen(text) - 1));
      EXPECT_TRUE(record) << text;
      if (record) result.log.records.push_back(*record);
    }
    const int status = pclose(pipe);
    result.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return result;
  }
  static ErrorRecord error_of(const RankLog& log) {
    const auto errors = records_of<ErrorRecord>(log);
    return errors.empty() ? ErrorRecord{} : errors.front();
  }

  fs::path folder_;
};

std::vector<std::int64_t> bucket_bytes(const RankLog& log, int step) {
  std::vector<std::int64_t> bytes;
  for (const BucketRecord& one : records_of<BucketRecord>(log))
    if (one.step == step) bytes.push_back(one.bytes);
  return bytes;
}

// The parts of each step fit into the time since the one before.
void expect_parts_that_fit(const RankLog& log) {
  double before = records_of<StartRecord>(log).at(0).at_s;
  for (const RankStepRecord& step : records_of<RankStepRecord>(log)) {
    double sum = 0;
    for (const auto& [name, seconds] : step.parts) sum += seconds;
    EXPECT_GT(sum, 0);
    EXPECT_LE(sum, step.end_s - before + 1e-9);
    EXPECT_GT(step.cpu_s, 0);
    before = step.end_s;
  }
}

// --- What ranks tell ------------------------------------------------------------------------------

TEST_F(Runner, alone_tells_each_step_and_its_parts) {
  const LaunchOutcome outcome = launched(plan_of(Strategy::Single, 1));
  ASSERT_FALSE(outcome.failure) << outcome.failure->sentence;
  const RankLog& log = outcome.ranks.at(0);
  EXPECT_EQ(records_of<HelloRecord>(log).at(0).implementation, "LibTorch module");
  EXPECT_EQ(records_of<HelloRecord>(log).at(0).network_interface, "");
  ASSERT_EQ(records_of<RankStepRecord>(log).size(), 4U);
  expect_parts_that_fit(log);
  const auto parts = records_of<RankStepRecord>(log).back().parts;
  EXPECT_EQ(parts.count("scatter") + parts.count("exposed_communication"), 0U);
  EXPECT_GT(parts.at("backward"), 0);
  EXPECT_TRUE(records_of<BucketRecord>(log).empty());
  EXPECT_TRUE(std::holds_alternative<DoneRecord>(log.records.back()));
}

TEST_F(Runner, stands_in_for_data_parallel_with_replicas_in_one_process) {
  const LaunchOutcome outcome = launched(plan_of(Strategy::Dp, 2));
  ASSERT_FALSE(outcome.failure) << outcome.failure->sentence;
  ASSERT_EQ(outcome.ranks.size(), 1U);
  EXPECT_EQ(records_of<HelloRecord>(outcome.ranks[0]).at(0).implementation, "cpu stand-in");
  expect_parts_that_fit(outcome.ranks[0]);
  const auto parts = records_of<RankStepRecord>(outcome.ranks[0]).back().parts;
  for (const char* part : {"scatter", "replicate", "forward", "gather", "backward", "gradient_reduce", "optimizer"})
    EXPECT_EQ(parts.count(part), 1U) << part;
}

// Two machines of one GPU each: nothing here but their times.
RunPlan paced_plan(const std::string& ddp = "bucket_cap: 2KiB") {
  RunPlan plan = plan_of(Strategy::Ddp, 2);
  plan.dilate = 2;
  plan.scenario =
      "model: {mlp: {inputs: 40, hidden: [64], outputs: 10}}\nbatch: {per_gpu: 4}\n"
      "topology: {node: hgx-a100-4gpu-40gb, gpus_per_node: 1, fabric: eth-10g}\ngpus: 2\nstrategy: ddp\n"
      "precision: amp-fp16\nnoise: none\nddp: {" +
      ddp + "}\n";
  return plan;
}

TEST_F(Runner, paced_has_the_real_reducer_and_the_predicted_buckets) {
  const LaunchOutcome outcome = launched(paced_plan());
  ASSERT_FALSE(outcome.failure) << outcome.failure->sentence;
  ASSERT_EQ(outcome.ranks.size(), 2U);
  for (const RankLog& log : outcome.ranks) {
    EXPECT_EQ(records_of<HelloRecord>(log).at(0).implementation, "c10d Reducer, paced");
    EXPECT_EQ(bucket_bytes(log, 3), (std::vector<std::int64_t>{2600, 10496}));
    EXPECT_EQ(records_of<FactsRecord>(log).at(0).logging.count(kPacedLate), 1U);
    expect_parts_that_fit(log);
  }
}

TEST_F(Runner, paced_refuses_what_has_no_real_counterpart) {
  const LaunchOutcome outcome = launched(paced_plan("static_graph: true"));
  ASSERT_TRUE(outcome.failure);
  EXPECT_TRUE(outcome.failure->refused);
  EXPECT_THAT(outcome.failure->sentence, HasSubstr("a paced run does not have static graphs"));
}

TEST_F(Runner, on_two_ranks_tells_first_and_rebuilt_buckets_and_pytorchs_own_log) {
  const LaunchOutcome outcome = launched(plan_of(Strategy::Ddp, 2));
  ASSERT_FALSE(outcome.failure) << outcome.failure->sentence;
  ASSERT_EQ(outcome.ranks.size(), 2U);
  for (const RankLog& log : outcome.ranks) {
    EXPECT_EQ(records_of<HelloRecord>(log).at(0).implementation, "c10d Reducer");
    EXPECT_EQ(records_of<HelloRecord>(log).at(0).network_interface, "lo");
    // Values of 4 bytes: one bucket at first, then one that the last layer fills.
    EXPECT_THAT(bucket_bytes(log, 0), ElementsAre(13096));
    EXPECT_THAT(bucket_bytes(log, 3), ElementsAre(2600, 10496));
    expect_parts_that_fit(log);
    const auto logging = records_of<FactsRecord>(log).at(0).logging;
    EXPECT_EQ(logging.at("backend_name"), "gloo");
    EXPECT_EQ(logging.at("rebuilt_bucket_sizes"), "2600, 10496");
  }
}

TEST_F(Runner, runs_the_scenarios_hook_and_number_of_gloo_threads) {
  RunPlan plan = plan_of(Strategy::Ddp, 2);
  plan.instrumented = false;
  plan.scenario = scenario("gloo: {threads: 1}\n");
  plan.scenario.replace(plan.scenario.find("2KiB"), 4, "2KiB, hook: fp16");
  const LaunchOutcome outcome = launched(plan);
  ASSERT_FALSE(outcome.failure) << outcome.failure->sentence;
  EXPECT_EQ(records_of<FactsRecord>(outcome.ranks[1]).at(0).logging.at("comm_hook"), "fp16_compress_hook");
}

TEST_F(Runner, refuses_what_it_cannot_do_under_the_scenarios_own_key) {
  RunPlan plan = plan_of(Strategy::Single, 1);
  plan.scenario = scenario("precision: amp-bf16\n");
  const LaunchOutcome outcome = launched(plan);
  ASSERT_TRUE(outcome.failure);
  EXPECT_TRUE(outcome.failure->refused);
  EXPECT_THAT(outcome.failure->sentence, HasSubstr("`precision: fp32` only, not amp-bf16"));
}

// --- Ranks that others start ------------------------------------------------------------------------

TEST_F(Runner, without_its_peers_ends_with_one_error_record) {
  RunPlan plan = plan_of(Strategy::Ddp, 2);
  plan.timeouts.join_s = 1;
  const Alone rank =
      alone(plan, "RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=" + std::to_string(free_port()));
  EXPECT_EQ(rank.code, 1);
  EXPECT_EQ(error_of(rank.log).kind, "timeout");
  EXPECT_THAT(error_of(rank.log).message, HasSubstr("1/2 clients joined"));
}

TEST_F(Runner, says_that_it_is_not_as_many_as_the_plan_wants) {
  const Alone rank = alone(plan_of(Strategy::Ddp, 2), "");
  EXPECT_EQ(rank.code, 1);
  EXPECT_EQ(error_of(rank.log).kind, "setup");
  EXPECT_THAT(error_of(rank.log).message, HasSubstr("started 1 rank, the scenario asks for 2"));
}

// A socket that listens as long as it lives.
class Listener {
 public:
  Listener() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    socklen_t size = sizeof address;
    const bool good = ::bind(socket_, reinterpret_cast<sockaddr*>(&address), size) == 0 && ::listen(socket_, 8) == 0 &&
                      ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) == 0;
    port_ = good ? ntohs(address.sin_port) : 0;
  }
  ~Listener() { ::close(socket_); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  int port() const { return port_; }

 private:
  int socket_, port_ = 0;
};

TEST_F(Runner, says_that_another_service_holds_the_stores_port) {
  const Listener other;
  ASSERT_NE(other.port(), 0);
  const Alone rank = alone(plan_of(Strategy::Ddp, 2),
                           "RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=" + std::to_string(other.port()));
  EXPECT_EQ(rank.code, 1);
  EXPECT_EQ(error_of(rank.log).kind, "setup");
  EXPECT_THAT(error_of(rank.log).message, HasSubstr("cannot listen on port " + std::to_string(other.port())));
}

// As under torchrun, whose agent serves the store: here another group's rank 0, which waits for peers that never come.
TEST_F(Runner, meets_at_the_store_of_an_agent_where_there_is_one) {
  const int port = free_port();
  RunPlan waiting = plan_of(Strategy::Ddp, 3);
  std::ofstream(folder_ / "waiting.json") << plan_to_json(waiting);
  ProcessRequest request;
  request.program = LOCKSTEP_HWRUNNER;
  request.arguments = {"worker", "--plan", (folder_ / "waiting.json").string(), "--records", "3"};
  request.environment = environment_of_rank(waiting, 0, port, {});
  const auto agent = RankProcess::start(request);  // ended by its destructor
  ASSERT_TRUE(agent);
  LaunchOptions options;
  options.environment = {"MASTER_PORT=" + std::to_string(port), "TORCHELASTIC_RUN_ID=x",
                         "TORCHELASTIC_USE_AGENT_STORE=True", "TORCHELASTIC_RESTART_COUNT=1"};
  const LaunchOutcome outcome = launched(plan_of(Strategy::Ddp, 2), options);
  EXPECT_FALSE(outcome.failure) << outcome.failure->sentence;
  for (const RankLog& log : outcome.ranks) EXPECT_EQ(records_of<RankStepRecord>(log).size(), 4U);
}

// --- Failures -----------------------------------------------------------------------------------------

TEST_F(Runner, names_the_rank_that_was_killed) {
  const LaunchOutcome outcome = launched_and_hit(plan_of(Strategy::Ddp, 2), SIGKILL);
  ASSERT_TRUE(outcome.failure);
  EXPECT_THAT(outcome.failure->sentence,
              MatchesRegex("rank 1 was killed by signal 9 during step [0-9]+ of repeat 1 \\(ddp, 2 ranks\\)"));
}

TEST_F(Runner, names_the_rank_that_was_stopped) {
  RunPlan plan = plan_of(Strategy::Ddp, 2);
  plan.timeouts.group_s = 3;
  const LaunchOutcome outcome = launched_and_hit(plan, SIGSTOP);
  ASSERT_TRUE(outcome.failure);
  EXPECT_THAT(
      outcome.failure->sentence,
      MatchesRegex(
          "rank 1 was stopped by signal 19 and did not go on during step [0-9]+ of repeat 1 \\(ddp, 2 ranks\\)"));
}

TEST_F(Runner, names_the_rank_that_throws_for_want_of_memory) {
  // More than any address space holds.
  const LaunchOutcome outcome = launched_by(
      with_another_plan("\"per_gpu_batch\":4", "\"per_gpu_batch\":10000000000000"), plan_of(Strategy::Ddp, 2));
  ASSERT_TRUE(outcome.failure);
  EXPECT_THAT(outcome.failure->sentence,
              StartsWith("rank 1 failed while joining the group of the instrumented pass (ddp, "
                         "2 ranks): "));
  EXPECT_THAT(outcome.failure->sentence, HasSubstr("can't allocate memory"));
  EXPECT_THAT(outcome.failure->hint, HasSubstr("a smaller batch"));
}

TEST_F(Runner, says_that_models_differ_between_ranks) {
  const LaunchOutcome outcome =
      launched_by(with_another_plan("hidden: \\[64\\]", "hidden: [32]"), plan_of(Strategy::Ddp, 2));
  ASSERT_TRUE(outcome.failure);
  EXPECT_THAT(outcome.failure->sentence, MatchesRegex("rank [01] failed while joining the group .*"));
  EXPECT_THAT(outcome.failure->sentence, HasSubstr("sizes"));
}

TEST_F(Runner, names_the_rank_that_never_joins) {
  RunPlan plan = plan_of(Strategy::Ddp, 2);
  plan.timeouts = {3, 3, 5};
  const LaunchOutcome outcome = launched_by(with_another_rank_1("sleep 1000"), plan);
  ASSERT_TRUE(outcome.failure);
  EXPECT_THAT(outcome.failure->sentence, StartsWith("rank 1 "));
  EXPECT_THAT(outcome.failure->sentence, HasSubstr("while starting"));
}

// --- lockstep measure -----------------------------------------------------------------------------------

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
