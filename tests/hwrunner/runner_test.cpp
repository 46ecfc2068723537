// The program with LibTorch in it: what its ranks tell, how they fail, and `lockstep measure` on top of it. Ranks are
// real processes that meet over Gloo; the networks are tiny.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
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

TEST_F(Runner, refuses_the_data_parallel_of_libtorch_on_cpus) {
  const LaunchOutcome outcome = launched(plan_of(Strategy::DpCpp, 2));
  ASSERT_TRUE(outcome.failure);
  EXPECT_TRUE(outcome.failure->refused);
  EXPECT_THAT(outcome.failure->sentence, HasSubstr("LibTorch's data_parallel wants GPUs"));
}

// Two machines of one GPU each: nothing here but their times.
RunPlan paced_plan(const std::string& ddp = "bucket_cap: 2KiB", int ranks = 2) {
  RunPlan plan = plan_of(Strategy::Ddp, ranks);
  plan.dilate = 2;
  plan.scenario =
      "model: {mlp: {inputs: 40, hidden: [64], outputs: 10}}\nbatch: {per_gpu: 4}\n"
      "topology: {node: hgx-a100-4gpu-40gb, gpus_per_node: 1, fabric: eth-10g}\ngpus: 2\nstrategy: ddp\n"
      "precision: amp-fp16\nnoise: none\nddp: {" +
      ddp + "}\n";
  return plan;
}

TEST_F(Runner, paced_on_one_rank_reduces_with_nobody) {
  const LaunchOutcome outcome = launched(paced_plan("bucket_cap: 2KiB", 1));
  ASSERT_FALSE(outcome.failure) << outcome.failure->sentence;
  ASSERT_EQ(outcome.ranks.size(), 1U);
  EXPECT_EQ(bucket_bytes(outcome.ranks[0], 3), (std::vector<std::int64_t>{2560, 10280, 256}));
  expect_parts_that_fit(outcome.ranks[0]);
}

TEST_F(Runner, paced_has_the_real_reducer_and_the_predicted_buckets) {
  const LaunchOutcome outcome = launched(paced_plan());
  ASSERT_FALSE(outcome.failure) << outcome.failure->sentence;
  ASSERT_EQ(outcome.ranks.size(), 2U);
  for (const RankLog& log : outcome.ranks) {
    EXPECT_EQ(records_of<HelloRecord>(log).at(0).implementation, "c10d Reducer, paced");
    // In the order of mixed precision: a linear layer's weight before its bias.
    EXPECT_EQ(bucket_bytes(log, 3), (std::vector<std::int64_t>{2560, 10280, 256}));
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
  plan.scenario = scenario("precision: tf32\n");
  const LaunchOutcome outcome = launched(plan);
  ASSERT_TRUE(outcome.failure);
  EXPECT_TRUE(outcome.failure->refused);
  EXPECT_THAT(outcome.failure->sentence, HasSubstr("`precision: tf32` needs a GPU"));
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

// Rank 1's network leaves a layer out, which the Reducer notices in its second step: an exception of LibTorch within a
// step of one rank, while the other waits for that rank's gradients.
TEST_F(Runner, names_the_rank_that_throws_in_a_step) {
  if (allowed_cores().size() < 2) GTEST_SKIP() << "two ranks need two cores, this process may use one";
  const std::string head = "name: net\ninput: {shape: [8], dtype: fp32}\nops:\n";
  const std::string last = "- {op: linear, name: last, out: 4}\n- {op: cross_entropy}\n";
  std::ofstream(folder_ / "whole.yaml") << head << "- {op: linear, name: first, out: 8}\n" << last;
  std::ofstream(folder_ / "spare.yaml") << head << last
                                        << "unused_parameters:\n- {name: first.weight, shape: [8, 8]}\n"
                                           "- {name: first.bias, shape: [8]}\n"
                                           "registration: [first.weight, first.bias, last.weight, last.bias]\n";
  use(with_another_plan("whole.yaml", "spare.yaml"));
  const Outcome outcome = lockstep_in_process(
      {"measure", "-", "--json"}, "model: " + (folder_ / "whole.yaml").string() +
                                      "\nbatch: {per_gpu: 4}\ntopology: {node: cpu-host, gpus_per_node: 2}\ngpus: 2\n"
                                      "measure: {steps: 3, warm_up: 2, repeats: 1, timeout: 20s}\n");
  EXPECT_EQ(outcome.code, 2) << outcome.err;
  const json result = json::parse(outcome.out);
  EXPECT_THAT(result["partial"].get<std::string>(),
              MatchesRegex("rank 1 failed during warm-up step 2 of repeat 1 \\(ddp, 2 ranks\\): the step failed: "
                           "Expected to have finished reduction in the prior iteration.*"));
  EXPECT_TRUE(result["runs"][0].contains("step_time_s"));
}

// --- Benches -----------------------------------------------------------------------------------------

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
    EXPECT_TRUE(std::any_of(trace["traceEvents"].begin(), trace["traceEvents"].end(), [](const json& event) {
      return event["name"].get<std::string>().starts_with("ProfilerStep#");
    })) << name;
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
