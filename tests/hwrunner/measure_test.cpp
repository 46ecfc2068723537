// `lockstep measure` from scenario to result, with the fake worker as the runner: orders to it make every failure.
#include "hwrunner/measure/measure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "hwrunner/rank/rank.h"
#include "simulator/result/json.h"
#include "tests/hwrunner/fake.h"
#include "tests/simulator/cli/in_process.h"

namespace lockstep {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::lockstep_in_process;
using ::testing::Not;
using testing::Outcome;
using testing::Pids;

const char* small() {
  return "model: {mlp: {inputs: 16, hidden: [8], outputs: 4}}\nbatch: {per_gpu: 4}\n"
         "topology: {node: cpu-host, gpus_per_node: 1}\ngpus: 1\nstrategy: [dp, ddp]\n"
         "measure: {steps: 4, warm_up: 2, repeats: 2, timeout: 2s}\n";
}
// As many cores as the test has: rows on two ranks are asked for where two fit.
bool has_two_cores() {
  return this_machine().cores >= 2;
}

class Measure : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("LOCKSTEP_HWRUNNER", LOCKSTEP_FAKE_WORKER, 1);
    for (const char* name : {"LOCKSTEP_FAKE", "LOCKSTEP_FAKE_PROBE", "RANK", "WORLD_SIZE"}) unsetenv(name);
    setenv("LOCKSTEP_FAKE_PIDS", pids_.folder().c_str(), 1);
  }
  void TearDown() override { EXPECT_THAT(pids_.running(), IsEmpty()); }
  static Outcome measured(std::vector<std::string> words, const std::string& orders = "",
                          const std::string& scenario = small()) {
    setenv("LOCKSTEP_FAKE", orders.c_str(), 1);
    words.insert(words.begin(), {"measure", "-"});
    return lockstep_in_process(words, scenario);
  }
  static json document(const Outcome& outcome) {
    const json read = json::parse(outcome.out, nullptr, false);
    EXPECT_TRUE(read.is_object()) << outcome.out << outcome.err;
    return read;
  }
  Pids pids_;
};

TEST_F(Measure, a_dry_run_tells_what_would_be_measured_and_measures_nothing) {
  const std::string more = "\ngpus: [1, 4096]\n";
  std::string text = small();
  text.replace(text.find("\ngpus: 1\n"), 9, more);
  text.replace(text.find("gpus_per_node: 1"), 16, "gpus_per_node: 64");
  const Outcome outcome = measured({"--here", "--dry-run", "--json"}, "", text);
  ASSERT_EQ(outcome.code, 0) << outcome.err << outcome.out;
  const json plan = document(outcome);
  EXPECT_EQ(plan["type"], "plan");
  EXPECT_EQ(plan["steps"], 4);
  EXPECT_EQ(plan["repeats"], 2);
  int rows = 0, not_run = 0;
  double expected_s = 0;
  for (const json& row : plan["rows"]) {
    row.contains("not_run") ? ++not_run : ++rows;
    if (row.contains("expected_step_s")) expected_s += 3 * (0.5 + 6 * row["expected_step_s"].get<double>());
  }
  EXPECT_EQ(rows, 3);
  EXPECT_EQ(not_run, 2);  // dp and ddp on 4096
  EXPECT_NEAR(plan["expected_s"].get<double>(), expected_s, 1e-9 * expected_s);
  const Outcome words = measured({"--dry-run"});
  EXPECT_THAT(words.out, HasSubstr("Would be measured on"));
  EXPECT_EQ(measured({"--dry-run", "--bench", "ops"}).code, 1);
}

TEST_F(Measure, gives_a_result_with_samples_breakdown_machine_and_scenario) {
  const Outcome outcome = measured({"--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err << outcome.out;
  const json result = document(outcome);
  EXPECT_EQ(result["kind"], "measured");
  EXPECT_EQ(result["software"]["torch"], "0.0-fake");
  EXPECT_TRUE(result["machine"].contains("cores"));
  EXPECT_EQ(result["scenario"]["measure"]["steps"], 4);
  EXPECT_FALSE(result.contains("partial"));
  ASSERT_EQ(result["runs"].size(), 3U);
  for (const json& run : result["runs"]) {
    EXPECT_EQ(run["samples"].size(), 2U);
    EXPECT_EQ(run["samples"][1]["step_times_s"].size(), 4U);
    EXPECT_EQ(run["warm_up_step_times_s"].size(), 2U);
    EXPECT_EQ(run["spread_s"]["n"], 8);
    double sum = 0;
    for (const auto& [cause, seconds] : run["breakdown_s"].items()) sum += seconds.get<double>();
    EXPECT_NEAR(sum, run["step_time_s"], 1e-9);
    EXPECT_EQ(run["baseline"]["strategy"], "single");
  }
  EXPECT_EQ(result["runs"][1]["implementation"], "cpu stand-in");
  EXPECT_EQ(result["runs"][2]["implementation"], "c10d Reducer");
  EXPECT_TRUE(result_from_json(outcome.out, "x.json"));
  EXPECT_EQ(pids_.all().size(), 9U);  // fresh processes: three rows, two repeats and one pass with marks
}

TEST_F(Measure, on_two_ranks_has_buckets_ranks_and_the_interface) {
  if (!has_two_cores()) GTEST_SKIP() << "two ranks need two cores, this process may use one";
  const json result = document(measured({"--json", "--set", "topology.gpus_per_node=2", "--set", "gpus=2", "--set",
                                         "strategy=ddp", "--set", "measure.repeats=1"}));
  const json& run = result["runs"].back();
  EXPECT_EQ(run["ranks"].size(), 2U);
  ASSERT_EQ(run["buckets"].size(), 1U);
  EXPECT_EQ(run["buckets"][0]["bytes"], 4096);
  EXPECT_EQ(result["machine"]["network_interface"], "lo");
  EXPECT_TRUE(run["breakdown_s"].contains("backward"));
}

TEST_F(Measure, repeats_interleave_strategies_and_turn_the_order_around) {
  const Outcome outcome = measured({"--jsonl"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  std::istringstream lines(outcome.out);
  std::vector<std::string> order;
  int steps = 0, runs = 0;
  std::string last;
  for (std::string line; std::getline(lines, line);) {
    const json one = json::parse(line);
    last = one["type"];
    if (last == "progress") {
      const std::string text = one["text"];
      order.push_back(text.substr(0, text.find(", about")));
    }
    if (last == "step") ++steps;
    if (last == "run") ++runs;
  }
  EXPECT_THAT(order, ::testing::ElementsAre(
                         "single on 1 rank, repeat 1", "dp on 1 rank, repeat 1", "ddp on 1 rank, repeat 1",
                         "ddp on 1 rank, repeat 2", "dp on 1 rank, repeat 2", "single on 1 rank, repeat 2",
                         "single on 1 rank, with marks", "dp on 1 rank, with marks", "ddp on 1 rank, with marks"));
  EXPECT_EQ(steps, 3 * 2 * 6);
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(last, "result");
}

TEST_F(Measure, compares_with_the_prediction_row_by_row) {
  const std::string folder = pids_.folder() + "-results";
  std::filesystem::create_directories(folder);
  ASSERT_EQ(measured({"--json", "-o", folder + "/measured.json"}).code, 0);
  ASSERT_EQ(lockstep_in_process({"predict", "-", "--json", "-o", folder + "/predicted.json"}, small()).code, 0);
  const Outcome outcome =
      lockstep_in_process({"compare", folder + "/predicted.json", folder + "/measured.json", "--json"});
  std::filesystem::remove_all(folder);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json comparison = document(outcome);
  ASSERT_EQ(comparison["rows"].size(), 3U);
  EXPECT_TRUE(comparison["unmatched"].empty());
  for (const json& row : comparison["rows"]) {
    EXPECT_TRUE(row.contains("measured_s"));
    EXPECT_FALSE(row["parts"].empty());
  }
}

TEST_F(Measure, keeps_the_other_rows_when_one_fails_marks_the_result_and_ends_with_2) {
  const Outcome outcome = measured({"--json", "--set", "strategy=ddp"}, "do=kill,repeat=1,step=3");
  EXPECT_EQ(outcome.code, 2);
  const json result = document(outcome);
  EXPECT_THAT(result["partial"].get<std::string>(), HasSubstr("was killed by signal 9 during step 2 of repeat 2"));
  EXPECT_THAT(outcome.err, HasSubstr("partial result"));
  for (const json& run : result["runs"]) {
    EXPECT_FALSE(run.contains("not_run"));
    EXPECT_EQ(run["samples"][0]["step_times_s"].size(), 4U);
    EXPECT_EQ(run["samples"][1]["step_times_s"].size(), 1U);  // the step before
    EXPECT_THAT(run["notes"].dump(), HasSubstr("partial: rank 0 was killed"));
    EXPECT_FALSE(run.contains("breakdown_s"));
  }
}

TEST_F(Measure, a_row_that_never_stepped_did_not_run_and_the_rest_is_there) {
  if (!has_two_cores()) GTEST_SKIP() << "two ranks need two cores, this process may use one";
  const Outcome outcome =
      measured({"--json", "--set", "topology.gpus_per_node=2", "--set", "gpus=[1, 2]", "--set", "measure.repeats=1"},
               "do=oom,gpus=2,rank=1,at=build;do=oom,gpus=2,rank=0,at=build");
  EXPECT_EQ(outcome.code, 2);
  const json result = document(outcome);
  ASSERT_EQ(result["runs"].size(), 5U);
  EXPECT_THAT(result["runs"][2]["not_run"].get<std::string>(), HasSubstr("out of memory"));
  EXPECT_THAT(result["runs"][4]["not_run"].get<std::string>(), HasSubstr("out of memory"));
  EXPECT_TRUE(result["runs"][3].contains("step_time_s"));
  EXPECT_THAT(result["partial"].get<std::string>(), HasSubstr("a smaller batch"));
}

TEST_F(Measure, what_the_runner_refuses_did_not_run_and_is_no_failure) {
  const Outcome outcome = measured({"--json"}, "do=refuse,strategy=dp,at=build");
  EXPECT_EQ(outcome.code, 0);
  const json result = document(outcome);
  EXPECT_EQ(result["runs"][1]["not_run"], "this runner does not do that");
  EXPECT_TRUE(result["runs"][2].contains("step_time_s"));
  EXPECT_FALSE(result.contains("partial"));
  EXPECT_EQ(pids_.all().size(), 7U);  // it was asked once
}

TEST_F(Measure, says_what_the_machine_cannot_hold) {
  const Outcome outcome = measured({"--json", "--here", "--set", "gpus=[1, 4096]", "--set", "measure.repeats=1"});
  ASSERT_EQ(outcome.code, 0) << outcome.out;
  const json result = document(outcome);
  EXPECT_EQ(result["scenario"]["gpus"].dump(), "[1]");
  int held_back = 0;
  for (const json& run : result["runs"])
    if (run.contains("not_run")) {
      ++held_back;
      EXPECT_EQ(run["world_size"], 4096);
      EXPECT_THAT(run["not_run"].get<std::string>(), HasSubstr("this machine has"));
    }
  EXPECT_EQ(held_back, 2);
}

TEST_F(Measure, says_that_a_batch_cannot_be_shared_out) {
  if (!has_two_cores()) GTEST_SKIP() << "two ranks need two cores, this process may use one";
  std::string scenario = small();
  scenario.replace(scenario.find("per_gpu: 4"), 10, "global: 3");
  const Outcome outcome = measured(
      {"--json", "--set", "topology.gpus_per_node=2", "--set", "gpus=2", "--set", "measure.repeats=1"}, "", scenario);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const json result = document(outcome);
  EXPECT_TRUE(result["runs"][0].contains("step_time_s"));
  for (const std::size_t row : {1U, 2U}) EXPECT_TRUE(result["runs"][row].contains("not_run"));
}

TEST_F(Measure, takes_hooks_that_predictions_refuse) {
  const std::string hooked = std::string(small()) + "ddp: {hook: bf16}\ngloo: {threads: 1}\n";
  const Outcome outcome = measured({"--json", "--set", "measure.repeats=1"}, "", hooked);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(document(outcome)["scenario"]["ddp"]["hook"], "bf16");
  EXPECT_EQ(lockstep_in_process({"show", "scenario", "-"}, hooked).code, 0);
  const Outcome predicted = lockstep_in_process({"predict", "-"}, hooked);
  EXPECT_EQ(predicted.code, 1);
  EXPECT_THAT(predicted.err, HasSubstr("ddp.hook"));
  EXPECT_THAT(predicted.err, HasSubstr("predictions know no communication hook yet"));
}

TEST_F(Measure, takes_a_loop_that_reads_the_loss_back_which_predictions_refuse) {
  const std::string reading = std::string(small()) + "loop: {host_sync: each_step}\n";
  EXPECT_EQ(measured({"--json", "--set", "measure.repeats=1"}, "", reading).code, 0);
  const Outcome predicted = lockstep_in_process({"predict", "-"}, reading);
  EXPECT_EQ(predicted.code, 1);
  EXPECT_THAT(predicted.err, HasSubstr("loop.host_sync"));
  EXPECT_THAT(predicted.err, HasSubstr("predictions do not read the loss back yet"));
  EXPECT_EQ(lockstep_in_process({"predict", "-"}, std::string(small()) + "loop: {host_sync: none}\n").code, 0);
}

TEST_F(Measure, runs_no_data_parallel_of_libtorch_on_cpus_and_says_why) {
  const Outcome outcome = measured({"--json", "--set", "strategy=[dp-cpp, ddp]", "--set", "measure.repeats=1"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json result = document(outcome);
  ASSERT_EQ(result["runs"].size(), 3U);
  EXPECT_EQ(result["runs"][1]["strategy"], "dp-cpp");
  EXPECT_EQ(result["runs"][1]["not_run"], "LibTorch's data_parallel wants GPUs: these are CPUs");
  EXPECT_TRUE(result["runs"][2].contains("step_time_s"));
  EXPECT_TRUE(result_from_json(outcome.out, "x.json"));
  EXPECT_EQ(pids_.all().size(), 4U);  // two rows, a plain pass and one with marks
}

TEST_F(Measure, predictions_refuse_the_data_parallel_of_libtorch) {
  const std::string wanted = std::string(small()) + "front_end: auto\n";
  EXPECT_EQ(lockstep_in_process({"show", "scenario", "-", "--set", "strategy=dp-cpp"}, wanted).code, 0);
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"predict", "-"},
                                             {"explain", "-"},
                                             {"sweep", "-"},
                                             {"solve", "-", "--for", "batch.per_gpu", "--given", "efficiency=90%"},
                                             {"measure", "-", "--paced"}}) {
    std::vector<std::string> all = words;
    // A sweep takes a list apart: the other values have their points.
    all.insert(all.end(), {"--set", words.front() == "sweep" ? "strategy=dp-cpp" : "strategy=[dp, dp-cpp]"});
    const Outcome outcome = lockstep_in_process(all, wanted);
    EXPECT_EQ(outcome.code, 1) << words.front();
    EXPECT_THAT(outcome.err, HasSubstr("strategy")) << words.front();
    EXPECT_THAT(outcome.err, HasSubstr("predictions know no dp-cpp")) << words.front();
  }
  const Outcome swept = lockstep_in_process({"sweep", "-", "--json", "--set", "strategy=[dp, dp-cpp]"}, wanted);
  EXPECT_EQ(swept.code, 0) << swept.err;
  EXPECT_THAT(swept.out, HasSubstr("predictions know no dp-cpp"));
  EXPECT_THAT(pids_.all(), IsEmpty());
}

TEST_F(Measure, is_refused_for_another_machine_with_the_hint) {
  const Outcome gpus = measured({}, "", "model: resnet18\nbatch: {per_gpu: 2}\ntopology: dgx-a100-80gb\ngpus: 2\n");
  EXPECT_EQ(gpus.code, 1);
  EXPECT_THAT(gpus.err, HasSubstr("--here"));
  const Outcome cores = measured({"--set", "topology={node: cpu-host}", "--set", "measure.threads_per_rank=64"});
  EXPECT_EQ(cores.code, 1);
  EXPECT_THAT(cores.err, HasSubstr("--here"));
  EXPECT_EQ(measured({"--backend", "nccl"}).code, 1);
  EXPECT_EQ(measured({"--backend", "mpi"}).code, 1);
  EXPECT_THAT(pids_.all(), IsEmpty());
}

TEST_F(Measure, on_gpus_runs_what_they_hold_and_describes_them) {
  setenv("LOCKSTEP_FAKE_PROBE", "gpu", 1);
  const Outcome outcome = measured({"--json", "--backend", "nccl", "--set", "topology=dgx-a100-80gb", "--set",
                                    "gpus=[1,2]", "--set", "strategy=ddp", "--set", "measure.repeats=1"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json result = document(outcome);
  EXPECT_EQ(result["machine"]["driver"], "580.65.06");
  EXPECT_EQ(result["machine"]["gpu0"], "NVIDIA A100-SXM4-80GB");
  EXPECT_EQ(result["machine"]["gpu0_nvlinks"], "12");
  ASSERT_EQ(result["runs"].size(), 3U);
  EXPECT_FALSE(result["runs"][1].contains("not_run"));
  EXPECT_EQ(result["runs"][2]["not_run"], "this machine has 1 GPU");
  setenv("LOCKSTEP_FAKE_PROBE", "", 1);
  const Outcome none = measured({"--backend", "nccl", "--set", "topology=dgx-a100-80gb"});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("no NCCL here: no NVIDIA driver on this machine"));
}

TEST_F(Measure, on_gpus_runs_the_data_parallel_of_libtorch) {
  setenv("LOCKSTEP_FAKE_PROBE", "gpu", 1);
  const Outcome outcome = measured({"--json", "--backend", "nccl", "--set", "topology=dgx-a100-80gb", "--set", "gpus=1",
                                    "--set", "strategy=dp-cpp", "--set", "measure.repeats=1"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json run = document(outcome)["runs"].back();
  EXPECT_EQ(run["strategy"], "dp-cpp");
  EXPECT_EQ(run["implementation"], "LibTorch data_parallel");
  EXPECT_EQ(run["processes"], 1);
  EXPECT_GT(run["step_time_s"], 0);
}

// The plans of dp-cpp on 1, 2 and 4 of two GPUs, and why the others have none.
struct Planned {
  std::vector<RunPlan> plans;
  std::vector<std::string> not_run;
};
Planned planned_dp_cpp(const std::string& model, const std::string& more = "") {
  const auto inputs = load_inputs({"model: " + model +
                                       "\nbatch: {per_gpu: 4}\ntopology: dgx-a100-80gb\ngpus: [1, 2, 4]\n"
                                       "strategy: dp-cpp\n" +
                                       more,
                                   "x.yaml",
                                   {}},
                                  Accept::Measured);
  EXPECT_TRUE(inputs) << to_text(inputs.error().front());
  if (!inputs) return {};
  Planned planned;
  MeasureRequest request;
  request.on_gpus = true;
  request.backend = Backend::Nccl;
  request.runner.devices = {"NVIDIA A100-SXM4-80GB", "NVIDIA A100-SXM4-80GB"};
  request.machine = this_machine();
  request.launch = [&](const RunPlan& plan, const LaunchOptions&) {
    if (plan.strategy != Strategy::Single) planned.plans.push_back(plan);
    LaunchOutcome outcome;
    outcome.failure.emplace();
    outcome.failure->sentence = "tried";
    return outcome;
  };
  for (const Run& run : measure(*inputs, request).result.runs)
    if (run.strategy == Strategy::DpCpp && run.not_run != "tried") planned.not_run.push_back(run.not_run.value_or(""));
  return planned;
}

TEST(MeasureOnGpus, the_data_parallel_of_libtorch_is_one_process_with_a_replica_on_each) {
  const Planned planned = planned_dp_cpp("{mlp: {inputs: 16, hidden: [8], outputs: 4}}");
  ASSERT_EQ(planned.plans.size(), 2U);
  EXPECT_EQ(planned.plans[0].world_size, 1);
  EXPECT_EQ(planned.plans[1].world_size, 2);
  for (const RunPlan& plan : planned.plans) {
    EXPECT_EQ(plan.strategy, Strategy::DpCpp);
    EXPECT_EQ(plan.processes(), 1);
    EXPECT_TRUE(plan.on_gpus);
    EXPECT_GE(plan.timeouts.group_s, 60);
    const auto read = plan_from_json(plan_to_json(plan));
    ASSERT_TRUE(read) << to_text(read.error().front());
    EXPECT_EQ(*read, plan);
  }
  EXPECT_THAT(planned.not_run, ::testing::ElementsAre("this machine has 2 GPUs"));
}

TEST(MeasureOnGpus, the_data_parallel_of_libtorch_takes_no_python_and_no_network_of_two_outputs) {
  const Planned python = planned_dp_cpp("resnet18", "front_end: python\n");
  EXPECT_TRUE(python.plans.empty());
  EXPECT_THAT(python.not_run, ::testing::Each(HasSubstr("the Python front end has none")));
  EXPECT_EQ(python.not_run.size(), 3U);
  const Planned two = planned_dp_cpp("inception-v3");
  EXPECT_TRUE(two.plans.empty());
  EXPECT_THAT(two.not_run, ::testing::Each(HasSubstr("has 2 outputs")));
  EXPECT_EQ(two.not_run.size(), 3U);
}

TEST(MeasureOnGpus, ranks_of_gloo_may_share_one_and_are_not_pinned) {
  const auto inputs = load_inputs({"model: {mlp: {inputs: 16, hidden: [8], outputs: 4}}\nbatch: {per_gpu: 4}\n"
                                   "topology: dgx-a100-80gb\ngpus: 2\nstrategy: [dp, ddp]\n",
                                   "x.yaml",
                                   {}},
                                  Accept::Measured);
  ASSERT_TRUE(inputs) << to_text(inputs.error().front());
  std::vector<RunPlan> plans;
  MeasureRequest request;
  request.on_gpus = true;
  request.runner.devices = {"NVIDIA A100-SXM4-80GB"};
  request.machine = this_machine();
  request.launch = [&](const RunPlan& plan, const LaunchOptions& options) {
    plans.push_back(plan);
    EXPECT_THAT(options.cores, IsEmpty());
    LaunchOutcome outcome;
    outcome.failure.emplace();
    outcome.failure->sentence = "tried";
    return outcome;
  };
  const Measurement measurement = measure(*inputs, request);
  ASSERT_EQ(plans.size(), 2U);  // single and ddp
  for (const RunPlan& plan : plans) EXPECT_TRUE(plan.on_gpus);
  EXPECT_EQ(plans.back().strategy, Strategy::Ddp);
  EXPECT_EQ(plans.back().world_size, 2);
  EXPECT_EQ(measurement.result.runs[1].not_run, "this machine has 1 GPU");  // DataParallel's replicas share none
}

TEST_F(Measure, without_a_runner_that_works_says_what_to_run) {
  setenv("LOCKSTEP_HWRUNNER", "/nowhere/lockstep-hwrunner", 1);
  Outcome outcome = measured({});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("./lockstep.sh libtorch"));
  setenv("LOCKSTEP_HWRUNNER", LOCKSTEP_FAKE_WORKER, 1);
  for (const auto& [how, words] : std::vector<std::pair<std::string, std::string>>{
           {"fails", "libtorch_cpu.so"}, {"old", "protocol 0"}, {"no-gloo", "no Gloo here"}}) {
    setenv("LOCKSTEP_FAKE_PROBE", how.c_str(), 1);
    outcome = measured({"--json"});
    EXPECT_EQ(outcome.code, 2) << how;
    EXPECT_THAT(outcome.out, HasSubstr(words));
    EXPECT_EQ(document(outcome)["error"]["kind"], "run_failed");
  }
}

TEST_F(Measure, shows_a_table_with_spread_and_number_of_steps_and_what_to_doubt) {
  const Outcome outcome = measured({});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  for (const char* part : {"Measured: ", "Machine: ", "LibTorch 0.0-fake", "p5-p95", "steps", "ddp is c10d Reducer",
                           "breakdown and buckets are of a pass with marks"})
    EXPECT_THAT(outcome.out, HasSubstr(part));
  EXPECT_THAT(measured({"--csv"}).out, HasSubstr("LibTorch module"));
}

TEST_F(Measure, keys_say_in_predict_that_they_have_no_effect_there) {
  const Outcome outcome = lockstep_in_process({"predict", "-"}, small());
  EXPECT_THAT(outcome.out, HasSubstr("`measure.steps` has no effect"));
  const auto step = [](const char* threads) {
    const Outcome one = lockstep_in_process(
        {"predict", "-", "--json", "--estimate", "--set", std::string("measure.threads_per_rank=") + threads},
        "model: resnet18\nbatch: {per_gpu: 4}\ntopology: cpu-host\ngpus: 1\n");
    return json::parse(one.out)["runs"][0]["step_time_s"].get<double>();
  };
  EXPECT_LT(step("4"), 0.5 * step("1"));  // it sizes a rank of cpu-host
}

// The program itself, interrupted or killed while its ranks work.
class MeasureProgram : public Measure {
 protected:
  pid_t start(const std::string& result) {
    setenv("LOCKSTEP_FAKE", "", 1);
    const std::string file = pids_.folder() + "-scenario.yaml";
    std::ofstream(file) << small();
    const pid_t child = fork();
    if (child == 0) {
      execl(LOCKSTEP_PROGRAM, LOCKSTEP_PROGRAM, "measure", file.c_str(), "--json", "-o", result.c_str(), "--set",
            "measure.repeats=1", "--set", "measure.steps=1000000", static_cast<char*>(nullptr));
      _exit(127);
    }
    while (pids_.all().empty()) usleep(2000);
    return child;
  }
  void TearDown() override {
    std::filesystem::remove(pids_.folder() + "-scenario.yaml");
    while (!pids_.running().empty()) usleep(2000);  // no orphan, or the test's time ends
    Measure::TearDown();
  }
};

TEST_F(Measure, looks_at_the_path_of_its_result_before_it_starts_anything) {
  for (const char* option : {"-o", "--trace"}) {
    const Outcome outcome = measured({"--json", option, "/no-such-folder/result.json"});
    EXPECT_EQ(outcome.code, 1) << option;
    EXPECT_THAT(outcome.out, HasSubstr("/no-such-folder/result.json"));
    EXPECT_THAT(outcome.out, HasSubstr("nothing was run"));
  }
  EXPECT_THAT(pids_.all(), IsEmpty());
}

TEST_F(Measure, a_result_that_finds_no_room_in_its_file_is_printed) {
  const Outcome outcome = measured({"-o", "/dev/full"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("the result cannot be written"));
  EXPECT_THAT(outcome.out, HasSubstr("strategy"));
}

TEST_F(MeasureProgram, interrupted_writes_what_it_has_and_leaves_with_130) {
  const std::string file = pids_.folder() + "-result.json";
  const pid_t child = start(file);
  usleep(300'000);  // a few steps; none is needed for the test to pass
  ASSERT_EQ(kill(child, SIGINT), 0);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 130);
  EXPECT_THAT(pids_.running(), IsEmpty());
  std::ifstream in(file);
  const json result = json::parse(in, nullptr, false);
  std::filesystem::remove(file);
  ASSERT_TRUE(result.is_object());
  EXPECT_THAT(result["partial"].get<std::string>(), HasSubstr("interrupted after"));
}

TEST_F(MeasureProgram, killed_takes_its_ranks_with_it) {
  const pid_t child = start(pids_.folder() + "-result.json");
  ASSERT_EQ(kill(child, SIGKILL), 0);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
}

// Hosts made of this machine (tests/testbed): what says so is in the environment of the command.
TEST_F(Measure, nodes_run_here_only_where_they_are_made_of_this_machine) {
  if (!has_two_cores()) GTEST_SKIP() << "one core";
  const std::string two_nodes =
      "model: {mlp: {inputs: 16, hidden: [8], outputs: 4}}\nbatch: {per_gpu: 4}\n"
      "topology: {node: cpu-host, gpus_per_node: 1, fabric: eth-10g}\ngpus: [2, 4096]\nstrategy: ddp\n"
      "measure: {steps: 4, warm_up: 2, repeats: 1, timeout: 2s}\n";
  EXPECT_EQ(document(measured({"--json"}, "", two_nodes))["runs"][1]["not_run"], "this machine is one node");
  setenv("LOCKSTEP_NODES_HERE", "1", 1);
  const json result = document(measured({"--json"}, "", two_nodes));
  const json bench = document(measured({"--bench", "collectives", "--json", "--set", "gpus=[3]"}, "", two_nodes));
  unsetenv("LOCKSTEP_NODES_HERE");
  EXPECT_GT(result["runs"][1]["step_time_s"], 0);
  EXPECT_THAT(result["runs"][2]["not_run"], HasSubstr("holds"));  // each still computes on a core of its own
  EXPECT_EQ(bench["rows"][0]["ranks"], 3);
}

// A cluster of GPUs that no test machine has.
const char* eight_nodes() {
  return "model: {mlp: {inputs: 16, hidden: [8], outputs: 4}}\nbatch: {per_gpu: 4}\n"
         "topology: {node: hgx-a100-4gpu-40gb, gpus_per_node: 1, fabric: eth-10g}\ngpus: [4, 20]\nstrategy: ddp\n"
         "measure: {steps: 3, warm_up: 2, repeats: 1, timeout: 2s}\n";
}

// As on a machine with one of the four GPUs that the scenario asks for: nothing is started for them.
TEST(MeasureOnGpus, says_how_many_of_them_there_are) {
  const auto inputs = load_inputs({eight_nodes(), "x.yaml", {"topology.gpus_per_node=4", "gpus=[1, 4]"}});
  ASSERT_TRUE(inputs) << to_text(inputs.error().front());
  MeasureRequest request;
  request.backend = Backend::Nccl;
  request.on_gpus = true;
  request.runner.devices = {"NVIDIA A100-SXM4-40GB"};
  std::vector<int> launched;
  request.launch = [&launched](const RunPlan& plan, const LaunchOptions&) {
    launched.push_back(plan.world_size);
    return LaunchOutcome{};
  };
  const Measurement measurement = measure(*inputs, request);
  ASSERT_EQ(measurement.result.runs.size(), 3U);
  EXPECT_EQ(measurement.result.runs[2].not_run, "this machine has 1 GPU");
  EXPECT_THAT(launched, ::testing::Each(1));
  EXPECT_THAT(launched, Not(IsEmpty()));
}

TEST_F(Measure, paced_has_the_machine_of_the_scenario_and_its_time) {
  const double before_s = rank_clock_s();
  const json result = document(measured({"--paced", "--dilate", "100", "--json"}, "", eight_nodes()));
  const double wall_s = rank_clock_s() - before_s;
  EXPECT_EQ(result["fidelity"]["compute"], "paced");
  EXPECT_EQ(result["fidelity"]["host"], "paced");
  EXPECT_EQ(result["fidelity"]["network"], "measured");
  EXPECT_EQ(result["scenario"]["noise"], "none");
  ASSERT_EQ(result["runs"].size(), 3U);
  const json& ddp = result["runs"][1];
  EXPECT_EQ(ddp["gpus"], 4);
  EXPECT_FALSE(ddp["ranks"][0].contains("memory_reserved_bytes"));
  double steps_s = 0;
  for (const json& step : ddp["samples"][0]["step_times_s"]) steps_s += step.get<double>();
  EXPECT_GT(steps_s, 0);
  EXPECT_LE(100 * steps_s, wall_s);  // a hundredth of what they took
  EXPECT_THAT(ddp["notes"].get<std::vector<std::string>>(), Contains(HasSubstr("predicted")));
  EXPECT_THAT(result["runs"][2]["not_run"], HasSubstr("16 ranks at most"));
}

TEST_F(Measure, paced_keeps_the_jitter_of_the_scenario) {
  const json result = document(
      measured({"--paced", "--json", "--set", "noise={jitter: {sigma: 0.1}}", "--set", "gpus=2"}, "", eight_nodes()));
  EXPECT_EQ(result["scenario"]["noise"]["jitter"]["sigma"], "10%");
}

TEST_F(Measure, paced_says_so_in_words) {
  const Outcome outcome = measured({"--paced", "--set", "gpus=2"}, "", eight_nodes());
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("Paced: mlp"));
  EXPECT_THAT(outcome.out, HasSubstr("noise is none"));
}

TEST_F(Measure, paced_refuses_what_makes_no_sense_with_it) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"--paced", "--here"}, "--here"},
      {{"--paced", "--backend", "nccl"}, "--backend"},
      {{"--dilate", "10"}, "--paced"},
      {{"--paced", "--dilate", "0.5"}, "--dilate"},
      {{"--paced", "--dilate", "many"}, "--dilate"}};
  for (const auto& [words, named] : cases) {
    const Outcome outcome = measured(words, "", eight_nodes());
    EXPECT_EQ(outcome.code, 1) << named;
    EXPECT_THAT(outcome.err, HasSubstr(named));
  }
  EXPECT_TRUE(pids_.all().empty());
}

}  // namespace
}  // namespace lockstep
