#include "simulator/answers/predict.h"

#include <gtest/gtest.h>

#include "tests/simulator/answers/fake_machine.h"

namespace lockstep {
namespace {

using testing::FakeMachine;
using testing::inputs_of;

PredictOptions options_for(FakeMachine& machine) {
  PredictOptions options;
  options.source = machine.source();
  return options;
}

std::vector<std::string> names_of(const Result& result) {
  std::vector<std::string> names;
  for (const lockstep::Run& run : result.runs) names.push_back(name_of(run.strategy) + std::to_string(run.gpus));
  return names;
}

TEST(Predict, runs_are_the_single_gpu_and_then_strategy_by_strategy) {
  FakeMachine machine;
  const auto result = predict(inputs_of("strategy: [ddp, dp, single]\n"), options_for(machine));
  ASSERT_TRUE(result);
  EXPECT_EQ(names_of(*result), (std::vector<std::string>{"single1", "ddp1", "ddp2", "ddp8", "dp1", "dp2", "dp8"}));
}

TEST(Predict, every_run_has_a_band_around_its_step) {
  FakeMachine machine;
  const auto result = predict(inputs_of(), options_for(machine));
  ASSERT_TRUE(result);
  for (const lockstep::Run& run : result->runs) {
    ASSERT_TRUE(run.uncertainty);
    EXPECT_LT(run.uncertainty->low, run.step_time_s);
    EXPECT_GT(run.uncertainty->high, run.step_time_s);
  }
}

TEST(Predict, a_dead_simulation_is_an_error) {
  FakeMachine machine;
  machine.dies_in = Strategy::Ddp;
  const auto result = predict(inputs_of(), options_for(machine));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error()[0].kind, ErrorKind::RunFailed);
}

TEST(Predict, says_how_each_part_was_obtained) {
  FakeMachine machine;
  const auto host = predict(inputs_of("input: {source: host}\n"), options_for(machine));
  ASSERT_TRUE(host);
  EXPECT_EQ(host->fidelity.at("compute"), "uncalibrated");
  EXPECT_EQ(host->fidelity.at("host"), "table");
  EXPECT_EQ(host->fidelity.at("network"), "simulated");
  EXPECT_EQ(host->fidelity.at("input"), "simulated");
  EXPECT_EQ(host->fidelity.at("memory"), "estimated");
  PredictOptions options = options_for(machine);
  options.method = Method::Estimate;
  const auto one = predict(inputs_of("gpus: 1\ncalibrate: {single_gpu: 961img/s}\n"), options);
  ASSERT_TRUE(one);
  EXPECT_EQ(one->fidelity.at("compute"), "calibrated");
  EXPECT_EQ(one->fidelity.at("network"), "none");
  EXPECT_EQ(one->fidelity.at("input"), "none");
}

TEST(Predict, a_calibration_that_the_host_forbids_is_not_called_calibrated) {
  FakeMachine machine;
  machine.calibration = {1, true, 0.4};
  const auto result = predict(inputs_of("calibrate: {single_gpu: 99999img/s}\n"), options_for(machine));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->fidelity.at("compute"), "uncalibrated");
  bool said = false;
  for (const Sentence& sentence : result->answer.sentences) said |= sentence.id == "host_limits_calibration";
  EXPECT_TRUE(said);
}

TEST(Predict, the_timeline_is_of_each_strategys_largest_run_that_can_run) {
  FakeMachine machine;
  PredictOptions options = options_for(machine);
  options.timeline = true;
  const auto result =
      predict(inputs_of("topology: {node: dgx-a100-80gb, fabric: ib-hdr-8x200}\ngpus: [4, 8, 16]\n"), options);
  ASSERT_TRUE(result);
  std::vector<std::string> with;
  for (const lockstep::Run& run : result->runs)
    if (!run.timeline.empty()) with.push_back(name_of(run.strategy) + std::to_string(run.gpus));
  EXPECT_EQ(with, (std::vector<std::string>{"dp8", "ddp16"}));
}

TEST(Predict, nothing_ran_when_no_asked_point_could) {
  FakeMachine machine;
  const std::string two_nodes = "topology: {node: dgx-a100-80gb, fabric: ib-hdr-8x200}\ngpus: 16\n";
  const auto none = predict(inputs_of(two_nodes + "strategy: dp\n"), options_for(machine));
  const auto some = predict(inputs_of(two_nodes), options_for(machine));
  const auto single = predict(inputs_of("gpus: 1\nstrategy: single\n"), options_for(machine));
  ASSERT_TRUE(none && some && single);
  EXPECT_TRUE(nothing_ran(*none));
  EXPECT_FALSE(nothing_ran(*some));
  EXPECT_FALSE(nothing_ran(*single));
}

TEST(Predict, progress_counts_up_to_the_points) {
  FakeMachine machine;
  PredictOptions options = options_for(machine);
  std::vector<int> done;
  int known = 0;
  options.progress = [&](int at, int total, const std::string&) {
    done.push_back(at);
    EXPECT_EQ(total, 7);
  };
  options.each_run = [&](const lockstep::Run&) { ++known; };
  ASSERT_TRUE(predict(inputs_of(), options));
  EXPECT_EQ(done, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(known, 7);
}

TEST(Predict, the_scenario_of_the_result_predicts_the_same) {
  FakeMachine machine;
  const auto result = predict(inputs_of("", {"gpus=[1, 2]"}), options_for(machine));
  ASSERT_TRUE(result);
  const auto again_inputs = load_inputs({result->scenario_yaml, "again.yaml", {}});
  ASSERT_TRUE(again_inputs) << to_text(again_inputs.error().front());
  const auto again = predict(*again_inputs, options_for(machine));
  ASSERT_TRUE(again);
  ASSERT_EQ(again->runs.size(), result->runs.size());
  for (std::size_t i = 0; i < again->runs.size(); ++i)
    EXPECT_EQ(again->runs[i].step_time_s, result->runs[i].step_time_s);
}

}  // namespace
}  // namespace lockstep
