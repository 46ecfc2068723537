// Which lists are axes, in which order they combine, and what is refused before anything runs.
#include "scenarios/sweep_axes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Point = std::vector<std::pair<std::string, std::string>>;

const char* const kRest = "model: resnet50\nbatch: {per_gpu: 64}\ntopology: dgx-a100-80gb\n";

SweepAxes axes_of(const std::string& text, const std::vector<std::string>& sets = {}) {
  auto axes = read_sweep_axes(text, "x.yaml", sets);
  EXPECT_TRUE(axes.has_value()) << (axes ? "" : to_text(axes.error().front()));
  return axes ? *std::move(axes) : SweepAxes({}, {});
}

std::vector<std::string> keys_of(const SweepAxes& axes) {
  std::vector<std::string> keys;
  for (const SweepAxis& axis : axes.axes()) keys.push_back(axis.key);
  return keys;
}

std::string errors_of(const std::string& text, const std::vector<std::string>& sets = {}) {
  const auto axes = read_sweep_axes(text, "x.yaml", sets);
  std::string all;
  if (axes) return "no error";
  for (const Error& error : axes.error()) all += to_text(error) + '\n';
  return all;
}

TEST(SweepAxes, combine_in_the_order_of_the_file_and_the_last_one_changes_fastest) {
  const SweepAxes axes = axes_of(
      "model: {name: resnet50, image: [32, 224]}\nbatch: {per_gpu: 64}\ntopology: dgx-a100-80gb\n"
      "gpus: [2, 4, 8]\n");
  EXPECT_THAT(keys_of(axes), ElementsAre("model.image", "gpus"));
  ASSERT_EQ(axes.points(), 6u);
  EXPECT_EQ(axes.point(0), (Point{{"model.image", "32"}, {"gpus", "2"}}));
  EXPECT_EQ(axes.point(1), (Point{{"model.image", "32"}, {"gpus", "4"}}));
  EXPECT_EQ(axes.point(3), (Point{{"model.image", "224"}, {"gpus", "2"}}));
  EXPECT_EQ(axes.point(5), (Point{{"model.image", "224"}, {"gpus", "8"}}));
}

TEST(SweepAxes, give_the_scenario_that_the_file_would_have_said) {
  const SweepAxes axes = axes_of(
      "model: resnet50\nbatch.per_gpu: [32, 64]\ntopology: {node: [dgx-a100-80gb, dgx1-v100]}\n"
      "gpus: 8\nddp: {bucket_cap: [default, 10MiB]}\n");
  ASSERT_EQ(axes.points(), 8u);
  for (std::size_t i = 0; i < 8; ++i) {
    const auto swept = read_scenario_document(axes.document(i));
    const auto plain = read_scenario(std::string("model: resnet50\nbatch.per_gpu: ") + (i < 4 ? "32" : "64") +
                                         "\ntopology: {node: " + (i % 4 < 2 ? "dgx-a100-80gb" : "dgx1-v100") +
                                         "}\ngpus: 8\nddp: {bucket_cap: " + (i % 2 == 0 ? "default" : "10MiB") + "}\n",
                                     "x.yaml");
    ASSERT_TRUE(swept.has_value() && plain.has_value()) << i;
    EXPECT_EQ(scenario_yaml(swept->scenario), scenario_yaml(*plain)) << i;
  }
}

TEST(SweepAxes, a_list_by_nature_sweeps_as_a_list_of_lists_only) {
  const std::string rest = "batch: {per_gpu: 64}\ntopology: dgx-a100-80gb\ngpus: 2\n";
  EXPECT_EQ(axes_of("model: {mlp: {hidden: [64, 32]}}\n" + rest).points(), 1u);
  const SweepAxes axes = axes_of("model: {mlp: {hidden: [[64], [64, 32], default]}}\n" + rest);
  ASSERT_EQ(axes.points(), 3u);
  EXPECT_EQ(axes.point(1), (Point{{"model.mlp.hidden", "[64, 32]"}}));
  const auto scenario = read_scenario_document(axes.document(1));
  ASSERT_TRUE(scenario.has_value());
  EXPECT_THAT(scenario->scenario.model_options.hidden, ElementsAre(64, 32));
}

TEST(SweepAxes, a_list_where_a_map_is_expected_sweeps_its_first_key_or_whole_maps) {
  const SweepAxes names =
      axes_of("model: [resnet18, resnet50]\nbatch: {per_gpu: 64}\ntopology: dgx-a100-80gb\ngpus: 2\n");
  EXPECT_THAT(keys_of(names), ElementsAre("model.name"));
  const SweepAxes maps =
      axes_of("model: resnet50\nbatch: [{per_gpu: 64}, {global: 128}]\ntopology: dgx-a100-80gb\ngpus: 2\n");
  EXPECT_EQ(maps.point(1), (Point{{"batch", "{global: 128}"}}));
  const SweepAxes noise = axes_of(std::string(kRest) + "gpus: 2\nnoise: [none, {jitter: 5%}]\n");
  EXPECT_EQ(noise.points(), 2u);
}

TEST(SweepAxes, set_may_bring_a_list_and_comes_after_the_file) {
  const SweepAxes axes = axes_of(std::string(kRest) + "gpus: [2, 4]\n", {"ddp.bucket_cap=[1MiB, 5MiB]", "gpus=[1,8]"});
  EXPECT_THAT(keys_of(axes), ElementsAre("gpus", "ddp.bucket_cap"));
  EXPECT_EQ(axes.point(3), (Point{{"gpus", "8"}, {"ddp.bucket_cap", "5MiB"}}));
}

TEST(SweepAxes, one_gpu_without_a_wrapper_stands_once_whatever_the_number_of_gpus) {
  const SweepAxes axes = axes_of(std::string(kRest) + "gpus: [2, 4, 8]\nstrategy: [single, dp, ddp]\n");
  EXPECT_EQ(axes.combinations(), 9u);
  EXPECT_EQ(axes.points(), 7u);
  EXPECT_FALSE(axes.left_out(0));
  EXPECT_TRUE(axes.left_out(3));
  EXPECT_TRUE(axes.left_out(6));
}

TEST(SweepAxes, a_scenario_without_lists_is_one_point) {
  const SweepAxes axes = axes_of(std::string(kRest) + "gpus: [8]\nstrategy: [ddp]\n");
  EXPECT_TRUE(axes.axes().empty());
  EXPECT_EQ(axes.points(), 1u);
  EXPECT_THAT(axes.probes(), ElementsAre(0u));
}

TEST(SweepAxes, every_wrong_value_is_told_with_its_place_before_anything_runs) {
  const std::string errors =
      errors_of(std::string(kRest) + "gpus: [2, 0]\nprecision: [fp32, fp33]\nddp: {bucket_cap: [1MiB, 3]}\n");
  EXPECT_THAT(errors, HasSubstr("x.yaml:4:11: gpus"));
  EXPECT_THAT(errors, HasSubstr("x.yaml:5:19: precision"));
  EXPECT_THAT(errors, HasSubstr("x.yaml:6:26: ddp.bucket_cap"));
  EXPECT_THAT(errors_of(std::string(kRest) + "gpus: [2, 4]\nsede: 3\n"), HasSubstr("did you mean `seed`"));
  EXPECT_THAT(errors_of("model: resnet50\ntopology: dgx-a100-80gb\ngpus: [2, 4]\n"), HasSubstr("`batch` is missing"));
}

TEST(SweepAxes, lists_that_are_empty_repeat_a_value_or_combine_too_often_are_refused) {
  EXPECT_THAT(errors_of(std::string(kRest) + "gpus: 2\nseed: []\n"), HasSubstr("the list is empty"));
  EXPECT_THAT(errors_of(std::string(kRest) + "gpus: [2, 2]\n"), HasSubstr("`2` is listed twice"));
  std::string thousand;
  for (int i = 1; i <= 1001; ++i) thousand += (i == 1 ? "" : ",") + std::to_string(i);
  EXPECT_THAT(errors_of(std::string(kRest) + "gpus: [" + thousand + "]\nseed: [" + thousand + "]\n"),
              HasSubstr("1002001 combinations; at most 1000000"));
}

TEST(SweepAxes, one_measured_speed_does_not_hold_for_several_models_or_batches) {
  const std::string calibrated = "topology: dgx-a100-80gb\ngpus: 2\ncalibrate: {single_gpu: 900img/s}\n";
  EXPECT_THAT(errors_of("model: resnet50\nbatch: {per_gpu: [32, 64]}\n" + calibrated),
              HasSubstr("calibrate.single_gpu"));
  EXPECT_EQ(errors_of("model: resnet50\nbatch: {per_gpu: 32}\nseed: [1, 2]\n" + calibrated), "no error");
}

// Each of these could only be wrong together with another value: those rows say so, the others run.
TEST(SweepAxes, a_combination_that_cannot_be_does_not_stop_the_others) {
  const SweepAxes axes = axes_of(
      "model: [{name: mlp}, {name: resnet50, image: 64}]\nbatch: {per_gpu: 64}\n"
      "topology: dgx-a100-80gb\ngpus: [8, 16]\n");
  EXPECT_EQ(axes.points(), 4u);
}

}  // namespace
}  // namespace lockstep
