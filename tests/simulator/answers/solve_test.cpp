#include "simulator/answers/solve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulator/answers/solve_key.h"
#include "tests/simulator/answers/fake_machine.h"

namespace lockstep {
namespace {

using testing::FakeMachine;
using ::testing::HasSubstr;
using testing::inputs_of;

Given given(const std::string& text) {
  const auto parsed = parse_given(text);
  EXPECT_TRUE(parsed) << text;
  return parsed.value_or(Given{});
}

Expected<Solution> on_fake(const std::string& more, const std::string& key, const std::string& wanted) {
  static FakeMachine machine;
  machine = {};
  SolveOptions options;
  options.source = machine.source();
  return solve(inputs_of(more), key, given(wanted), options);
}

TEST(Given, takes_a_name_and_a_value_with_its_unit) {
  EXPECT_DOUBLE_EQ(given("step_time=1.71s").value, 1.71);
  EXPECT_DOUBLE_EQ(given("efficiency=90%").value, 0.9);
  EXPECT_DOUBLE_EQ(given("throughput=2000img/s").value, 2000);
  for (const char* bad :
       {"", "speed=2", "step_time=2", "efficiency=0", "efficiency=-1", "throughput=3it/s", "efficiency"})
    EXPECT_FALSE(parse_given(bad)) << bad;
}

TEST(Given, takes_what_was_otherwise_before_it) {
  const Given one = given("gpus=16:batch.per_gpu=24:throughput=160img/s");
  EXPECT_EQ(one.goal, Goal::Throughput);
  EXPECT_DOUBLE_EQ(one.value, 160);
  EXPECT_EQ(one.sets, (std::vector<std::string>{"gpus=16", "batch.per_gpu=24"}));
  EXPECT_EQ(one.text, "gpus=16:batch.per_gpu=24:throughput=160img/s");
  for (const char* bad : {"gpus=16:", "16:throughput=160img/s", "gpus=16:throughput", ":throughput=1img/s"})
    EXPECT_FALSE(parse_given(bad)) << bad;
}

// On the fake machine a step of DDP is 104 ms and 30 ms x 300 GB/s / nvlink.rate.
TEST(Solve, finds_the_rate_that_a_step_time_implies) {
  const auto solution = on_fake("", "topology.override.nvlink.rate", "step_time=119ms");
  ASSERT_TRUE(solution) << to_text(solution.error().front());
  ASSERT_TRUE(solution->low);
  EXPECT_LE(*solution->low, 600e9);
  EXPECT_GE(*solution->high, 600e9);
  EXPECT_LE(*solution->high, 1.0011 * *solution->low);
  EXPECT_TRUE(solution->rises_to_goal);
  EXPECT_TRUE(solution->monotonic);
  EXPECT_EQ(solution->unit, "B/s");
  EXPECT_EQ(solution->answer.id, "solve_at_least");
}

TEST(Solve, a_value_that_must_not_be_exceeded_is_at_most) {
  // 100 ms of kernels, 30 of all-reduce, 4 ms x factor / 0.8.
  const auto solution = on_fake("", "host.factor", "step_time=150ms");
  ASSERT_TRUE(solution);
  ASSERT_TRUE(solution->low);
  EXPECT_NEAR(*solution->low, 4, 0.005);
  EXPECT_FALSE(solution->rises_to_goal);
  EXPECT_EQ(solution->answer.id, "solve_at_most");
}

TEST(Solve, says_that_no_value_can_with_the_floor_and_its_cause) {
  const auto solution = on_fake("input: {source: host}\n", "topology.override.nvlink.rate", "step_time=100ms");
  ASSERT_TRUE(solution);
  EXPECT_FALSE(solution->low);
  EXPECT_EQ(solution->answer.id, "solve_none_computing");
  EXPECT_THAT(solution->answer.text, HasSubstr("124 ms"));
  const auto other = on_fake("", "host.factor", "step_time=100ms");
  ASSERT_TRUE(other);
  EXPECT_FALSE(other->low);
  EXPECT_EQ(other->floor_cause, "exposed_communication");
}

// Small images and a loader that four processes share on 14 cores; without contention, in this process.
const char* const kShared =
    "model: resnet18\nbatch: {per_gpu: 128}\ntopology: titan-rtx-4gpu\ngpus: [1, 4]\nstrategy: ddp\n"
    "loader: {workers_per_process: 8, sample_cost: 8ms}\n";

std::vector<double> swept_efficiencies(const Inputs& inputs) {
  Points points(inputs, Method::Estimate, {});
  std::vector<double> efficiencies;
  for (int gpus = 1; gpus <= 4; ++gpus) {
    const auto run = points.run(Strategy::Ddp, gpus);
    EXPECT_TRUE(run);
    efficiencies.push_back(run ? run->efficiency : 0);
  }
  return efficiencies;
}

TEST(Solve, finds_as_many_gpus_as_a_loader_can_feed_as_a_sweep_does) {
  const auto inputs = load_inputs({kShared, "shared.yaml", {}});
  ASSERT_TRUE(inputs) << to_text(inputs.error().front());
  const auto swept = swept_efficiencies(*inputs);
  EXPECT_GT(swept.front(), 0.9);
  EXPECT_LT(swept.back(), 0.5);
  SolveOptions options;
  options.method = Method::Estimate;
  for (const char* wanted : {"efficiency=90%", "efficiency=70%", "efficiency=50%"}) {
    const auto solution = solve(*inputs, "gpus", given(wanted), options);
    ASSERT_TRUE(solution) << to_text(solution.error().front());
    ASSERT_TRUE(solution->low) << wanted;
    EXPECT_FALSE(solution->rises_to_goal);
    EXPECT_EQ(solution->answer.id, *solution->low == 1 ? "solve_only" : "solve_at_most") << wanted;
    const auto most = static_cast<std::size_t>(*solution->low);
    EXPECT_GE(swept[most - 1], given(wanted).value) << wanted;
    EXPECT_LT(swept[most], given(wanted).value) << wanted;
  }
}

TEST(Solve, finds_the_workers_and_the_cores_that_a_loader_needs) {
  SolveOptions options;
  options.method = Method::Estimate;
  for (const std::string key : {"loader.workers_per_process", "host.cores", "loader.sample_cost.mean"}) {
    const std::string set = key == "loader.workers_per_process" ? "host.cores=200" : "loader.workers_per_process=40";
    const auto inputs = load_inputs({kShared, "shared.yaml", {set, "gpus=4", "loader.sample_cost=16ms"}});
    ASSERT_TRUE(inputs) << to_text(inputs.error().front());
    const auto solution = solve(*inputs, key, given("throughput=1990img/s"), options);
    ASSERT_TRUE(solution) << to_text(solution.error().front());
    ASSERT_TRUE(solution->low) << key;
    EXPECT_EQ(solution->rises_to_goal, key != "loader.sample_cost.mean");
    // 1990 images of 16 ms each second are 32 cores at work, for four processes; launching takes some more cores.
    const bool workers = key == "loader.workers_per_process", cores = key == "host.cores";
    EXPECT_GE(*solution->high, workers ? 8 : cores ? 32 : 0.0056);
    EXPECT_LE(*solution->high, workers ? 8 : cores ? 36 : 14.0 / 1990);
  }
}

TEST(Solve, counts_efficiency_against_a_gpu_that_is_fed) {
  SolveOptions options;
  options.method = Method::Estimate;
  // 125 images/s for each worker, 750 for six of them; a GPU that is fed takes about 800.
  const auto starved = load_inputs({kShared, "shared.yaml", {"loader.workers_per_process=1", "host.cores=200"}});
  ASSERT_TRUE(starved) << to_text(starved.error().front());
  const auto gpus = solve(*starved, "gpus", given("efficiency=90%"), options);
  ASSERT_TRUE(gpus) << to_text(gpus.error().front());
  EXPECT_FALSE(gpus->low);
  EXPECT_EQ(gpus->floor_cause, "input");
  ASSERT_TRUE(gpus->baseline);
  const auto workers = solve(*starved, "loader.workers_per_process", given("efficiency=90%"), options);
  ASSERT_TRUE(workers);
  ASSERT_TRUE(workers->low);
  EXPECT_EQ(*workers->high, 6);
  EXPECT_TRUE(workers->monotonic);
}

TEST(Solve, says_that_every_value_does) {
  const auto none = on_fake("", "data.epochs", "step_time=100s");
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->low);
  EXPECT_EQ(none->answer.id, "solve_always");
}

TEST(Solve, says_so_where_the_answer_is_not_monotonic) {
  // The fake machine likes a bucket cap of exactly 10 MiB.
  const auto solution = on_fake("ddp: {bucket_cap: 5MiB}\n", "ddp.bucket_cap", "step_time=120ms");
  ASSERT_TRUE(solution);
  ASSERT_TRUE(solution->low);
  EXPECT_FALSE(solution->monotonic);
  ASSERT_EQ(solution->meeting.size(), 1U);
  EXPECT_EQ(solution->meeting[0].low, 10 << 20);
  EXPECT_EQ(solution->meeting[0].high, 10 << 20);
  ASSERT_TRUE(solution->doubt);
  EXPECT_THAT(solution->doubt->text, HasSubstr("10 MiB"));
}

TEST(Solve, answers_in_sentences_with_the_unit_the_interval_and_the_present_value) {
  const auto text = [](const std::string& more, const std::string& key, const std::string& wanted) {
    const auto solution = on_fake(more, key, wanted);
    return solution ? solution->answer.text : to_text(solution.error().front());
  };
  EXPECT_EQ(text("", "topology.override.nvlink.rate", "step_time=119ms"),
            "DDP on 8 GPUs reaches a step of 119 ms with 600 GB/s of NVLink per GPU or more (the border lies between "
            "599.6 GB/s and 600 GB/s). At present, with 300 GB/s of NVLink per GPU, it reaches a step of 134 ms.");
  EXPECT_EQ(text("", "host.factor", "step_time=150ms"),
            "DDP on 8 GPUs reaches a step of 150 ms with a host factor of 3.998 or less (the border lies between 3.998 "
            "and 4.001). At present, with a host factor of 0.8, it reaches a step of 134 ms.");
  EXPECT_EQ(
      text("", "batch.per_gpu", "step_time=84ms"),
      "DDP on 8 GPUs reaches a step of 84 ms with a batch of 50 per GPU or less; with 51 it does not. At present, "
      "with a batch of 100 per GPU, it reaches a step of 134 ms.");
  EXPECT_EQ(
      text("accumulate: {steps: 2}\n", "accumulate.steps", "step_time=440ms"),
      "DDP on 8 GPUs reaches a step of 440 ms with 4 micro-steps or fewer; with 5 it does not. At present, with 2 "
      "micro-steps, it reaches a step of 234 ms.");
  EXPECT_EQ(text("strategy: single\ngpus: 1\n", "host.factor", "step_time=150ms"),
            "One GPU reaches a step of 150 ms with a host factor of 9.998 or less (the border lies between 9.998 and "
            "10.00). At present, with a host factor of 0.8, it reaches a step of 104 ms.");
  EXPECT_EQ(text("", "data.epochs", "step_time=100s")
                .find("DDP on 8 GPUs reaches a step of 100 s with every "
                      "data.epochs tried, from 1 to "),
            0u);
}

TEST(Solve, starts_at_the_value_that_an_unset_key_stands_for) {
  const auto present = [](const std::string& more, const std::string& key) {
    const Inputs inputs = inputs_of(more);
    const auto found = SolveKey::find(key, inputs);
    EXPECT_TRUE(found) << key;
    return found ? found->present(inputs) : -1;
  };
  EXPECT_EQ(present("", "model.image"), 224);
  EXPECT_EQ(present("", "topology.gpus_per_node"), 8);
  EXPECT_EQ(present("", "topology.override.nvlink.latency"), 0);  // comes on top
  EXPECT_EQ(present("topology: {node: dgx-a100-80gb, fabric: eth-10g}\n", "topology.override.nic.latency"), 40e-6);
  EXPECT_EQ(present("", "gpus"), 8);
}

// Two measurements of one machine with NVLinks of 600 GB/s: 104 ms and 54 ms of kernels and host, 15 ms of all-reduce.
TEST(SolveCommon, one_value_explains_measurements_of_one_machine) {
  FakeMachine machine;
  SolveOptions options;
  options.source = machine.source();
  const auto common =
      solve_common(inputs_of(""), "topology.override.nvlink.rate",
                   {given("batch.per_gpu=100:step_time=119ms"), given("batch.per_gpu=50:step_time=69ms")}, options);
  ASSERT_TRUE(common) << to_text(common.error().front());
  EXPECT_TRUE(common->fits);
  EXPECT_EQ(common->verdict.id, "solve_fits");
  ASSERT_EQ(common->values.size(), 2u);
  for (const ImpliedValue& one : common->values) {
    EXPECT_TRUE(one.possible);
    EXPECT_NEAR(*one.solution.low, 600e9, 1e9);
    EXPECT_LT(one.band_low.value_or(0), 600e9);
    EXPECT_GT(one.band_high.value_or(1e18), 600e9);
  }
}

// The band of the whole step (kernels 0.85 to 1.15, host, all-reduce) is wide; 380 ms and 134 ms are further apart.
TEST(SolveCommon, says_that_no_single_value_does_and_which_way_it_moves) {
  FakeMachine machine;
  SolveOptions options;
  options.source = machine.source();
  const std::vector<Given> givens = {given("gpus=8:step_time=380ms"), given("gpus=2:step_time=134ms"),
                                     given("gpus=4:step_time=230ms")};
  const auto common = solve_common(inputs_of(""), "topology.override.nvlink.rate", givens, options);
  ASSERT_TRUE(common) << to_text(common.error().front());
  EXPECT_FALSE(common->fits);
  EXPECT_FALSE(common->low || common->high);
  EXPECT_EQ(common->trend, ImpliedTrend::Falls);
  EXPECT_EQ(common->values.front().solution.gpus, 2);  // by GPUs, whatever the order
  EXPECT_THAT(common->verdict.text, HasSubstr("No single value of topology.override.nvlink.rate explains all 3"));
  EXPECT_THAT(common->verdict.text, HasSubstr("falls as GPUs are added"));
}

TEST(SolveCommon, a_measurement_faster_than_any_value_allows_fits_none) {
  FakeMachine machine;
  SolveOptions options;
  options.source = machine.source();
  const auto common = solve_common(inputs_of(""), "topology.override.nvlink.rate",
                                   {given("gpus=8:step_time=10ms"), given("gpus=4:step_time=134ms")}, options);
  ASSERT_TRUE(common) << to_text(common.error().front());
  EXPECT_FALSE(common->fits);
  EXPECT_FALSE(common->values[1].possible);
  EXPECT_THAT(common->verdict.text, HasSubstr("DDP on 8 GPUs fits no value"));
}

TEST(SolveCommon, refuses_the_key_itself_in_a_measurement) {
  const auto wrong = solve_common(inputs_of(""), "gpus", {given("gpus=8:step_time=1s"), given("step_time=2s")}, {});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().front().kind, ErrorKind::Conflict);
}

TEST(Solve, a_simulated_break_even_is_where_a_hand_scan_crosses) {
  const std::string scenario =
      "topology: {node: dgx-a100-80gb, fabric: ib-edr-1x100}\ngpus: 16\nstrategy: ddp\nbatch: {per_gpu: 32}\n";
  const auto solution = solve(inputs_of(scenario), "topology.override.nic.rate", given("efficiency=0.5"));
  ASSERT_TRUE(solution) << to_text(solution.error().front());
  ASSERT_TRUE(solution->low) << solution->answer.text;
  const auto efficiency_at = [&](double rate) {
    const Inputs inputs =
        inputs_of(scenario, {"topology.override.nic.rate=" + std::to_string(std::int64_t(rate)) + "B/s"});
    const auto run = Points(inputs, Method::Simulate, {}).run(Strategy::Ddp, 16);
    return run ? run->efficiency : -1;
  };
  for (const double factor : {0.5, 0.8, 0.95, 0.99}) EXPECT_LT(efficiency_at(factor * *solution->low), 0.5) << factor;
  for (const double factor : {1.01, 1.05, 1.3, 2.0}) EXPECT_GE(efficiency_at(factor * *solution->high), 0.5) << factor;
}

TEST(Solve, gpus_end_at_neighbours_that_a_scan_of_all_agrees_with) {
  const std::string scenario =
      "topology: {node: dgx-a100-80gb, fabric: eth-10g}\ngpus: 8\nstrategy: ddp\n"
      "batch: {per_gpu: 64}\n";
  const auto solution = solve(inputs_of(scenario), "gpus", given("efficiency=0.5"));
  ASSERT_TRUE(solution) << to_text(solution.error().front());
  ASSERT_TRUE(solution->low);
  EXPECT_EQ(*solution->high, *solution->low + 1);
  for (int gpus = 6; gpus <= 12; ++gpus) {
    const Inputs inputs = inputs_of(scenario, {"gpus=" + std::to_string(gpus)});
    const auto run = Points(inputs, Method::Simulate, {}).run(Strategy::Ddp, gpus);
    ASSERT_TRUE(run);
    EXPECT_EQ(run->efficiency >= 0.5, gpus <= *solution->low) << gpus;
  }
}

TEST(Solve, refuses_keys_without_a_number) {
  for (const char* key : {"model.name", "nonsense", "ddp.static_graph", "ddp.powersgd"})
    EXPECT_FALSE(on_fake("", key, "efficiency=0.9")) << key;
  const auto near = on_fake("", "topology.override.nic.rat", "efficiency=0.9");
  ASSERT_FALSE(near);
  EXPECT_THAT(near.error().front().hint, HasSubstr("nic.rate"));
  EXPECT_FALSE(on_fake("calibrate: {single_gpu: 900img/s}\n", "batch.per_gpu", "efficiency=0.9"));
}

}  // namespace
}  // namespace lockstep
