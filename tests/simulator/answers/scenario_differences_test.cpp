#include "simulator/answers/scenario_differences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {
namespace {

std::vector<std::string> keys(const std::vector<ScenarioDifference>& differences) {
  std::vector<std::string> out;
  for (const ScenarioDifference& d : differences) out.push_back(d.key);
  return out;
}

TEST(ScenarioDifferences, are_told_key_by_key_with_both_values) {
  const auto found = scenario_differences("model: {name: resnet18, image: 32}\nbatch: {per_gpu: 16}\ngpus: [1, 2]\n",
                                          "model: {name: resnet50, image: 32}\nbatch: {global: 64}\ngpus: [1, 4]\n");
  EXPECT_THAT(keys(found), ::testing::ElementsAre("model.name", "batch.per_gpu", "batch.global", "gpus"));
  EXPECT_EQ(found[0].value, "resnet18");
  EXPECT_EQ(found[0].other, "resnet50");
  EXPECT_EQ(found[1].other, "");
  EXPECT_EQ(found[2].value, "");
  EXPECT_EQ(found[3].other, "[1, 4]");
  EXPECT_EQ(differences_text(found, 2), "model.name resnet18 (resnet50), batch.per_gpu 16 (not set) and 2 more");
}

TEST(ScenarioDifferences, numbers_are_compared_as_numbers_and_comments_not_at_all) {
  EXPECT_TRUE(
      scenario_differences("a: 1e-3  # default\nb: 0.50\nc: \"2.11\"\n", "a: 0.001\nb: 0.5\nc: '2.11'\n").empty());
  EXPECT_EQ(scenario_differences("a: 1\n", "a: 2\n").size(), 1U);
}

TEST(ScenarioDifferences, a_map_in_place_of_a_word_is_told_as_one_key) {
  const auto found = scenario_differences("noise: none\n", "noise: {runs: 200}\n");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].key, "noise");
  EXPECT_EQ(found[0].other, "{runs: 200}");
}

TEST(ScenarioDifferences, only_what_decides_a_step_makes_results_unlike) {
  Result a, b;
  a.scenario_yaml =
      "question: one\nprecision: fp32\ntopology: {node: x, gpus_per_node: 2}\nddp: {bucket_cap: 1MiB}\n"
      "calibrate: {single_gpu: none}\ngpus: [1]\nmeasure: {steps: 3}\nhost: {factor: 1}\naccumulate: {steps: 1}\n";
  b.scenario_yaml =
      "question: two\nprecision: fp16\ntopology: {node: y, gpus_per_node: 4}\nddp: {bucket_cap: 5MiB}\n"
      "calibrate: {single_gpu: 3img/s}\ngpus: [2]\nmeasure: {steps: 4}\nhost: {factor: 2}\naccumulate: {steps: 2}\n";
  EXPECT_THAT(keys(unlike_keys(a, b, false)),
              ::testing::ElementsAre("precision", "topology.node", "topology.gpus_per_node", "accumulate.steps"));
  EXPECT_THAT(keys(unlike_keys(a, b, true)),
              ::testing::ElementsAre("precision", "topology.node", "topology.gpus_per_node", "ddp.bucket_cap",
                                     "accumulate.steps"));
  a.scenario_yaml = "topology:\n  node: cpu-host\n  gpus_per_node: 2\n";
  b.scenario_yaml = "topology:\n  node: cpu-host\n  gpus_per_node: 64\n";
  EXPECT_TRUE(unlike_keys(a, b, true).empty());
  b.scenario_yaml += "loop: {host_sync: none}\n";  // of a later version
  EXPECT_TRUE(unlike_keys(a, b, true).empty());
  b.scenario_yaml += "batch: {global: 8}\n";
  EXPECT_THAT(keys(unlike_keys(a, b, false)), ::testing::ElementsAre("batch"));
}

}  // namespace
}  // namespace lockstep
