// The program with LibTorch in it: what its ranks tell. Ranks are real processes that meet over Gloo; the networks are
// tiny.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "tests/hwrunner/runner_support.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::plan_of;
using testing::records_of;
using testing::Runner;
using testing::scenario;

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

}  // namespace
}  // namespace lockstep
