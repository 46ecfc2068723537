#include "gui/document/text_edit.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "scenarios/fields.h"
#include "scenarios/reader.h"
#include "tests/gui/support.h"

namespace lockstep::gui {
namespace {

using testing::source_path;
using testing::text_of_file;

std::string edited(const std::string& text, const std::string& key, const std::string& value) {
  const auto out = set_in_text(text, key, value, scenario_fields().info());
  if (!out) return "error: " + to_text(out.error().front());
  EXPECT_TRUE(out->comments_kept) << out->text;
  return out->text;
}

TEST(TextEdit, AValueIsReplacedAndTheCommentBehindItStays) {
  EXPECT_EQ(edited("# top\nmodel: resnet50   # why\ngpus: 8\n", "model.name", "vgg16"),
            "# top\nmodel: vgg16   # why\ngpus: 8\n");
  EXPECT_EQ(edited("gpus: [1, 2, 4] # a list\nseed: 1\n", "gpus", "[8, 16]"), "gpus: [8, 16] # a list\nseed: 1\n");
}

TEST(TextEdit, AValueInFlowStyleIsReplacedInPlace) {
  EXPECT_EQ(edited("ddp: {bucket_cap: 50MiB, gradient_as_bucket_view: true}\n", "ddp.bucket_cap", "5MiB"),
            "ddp: {bucket_cap: 5MiB, gradient_as_bucket_view: true}\n");
  EXPECT_EQ(edited("software: {torch: \"2.11\", nccl: \"2.28.9\"} # pinned\n", "software.torch", "\"2.4\""),
            "software: {torch: \"2.4\", nccl: \"2.28.9\"} # pinned\n");
}

TEST(TextEdit, AKeyJoinsTheGroupThatIsThere) {
  EXPECT_EQ(edited("ddp: {bucket_cap: 50MiB} # x\n", "ddp.static_graph", "true"),
            "ddp: {bucket_cap: 50MiB, static_graph: true} # x\n");
  EXPECT_EQ(edited("ddp: {} # x\n", "ddp.static_graph", "true"), "ddp: {static_graph: true} # x\n");
  EXPECT_EQ(edited("ddp:\n  # the cap\n  bucket_cap: 50MiB\nseed: 1\n", "ddp.static_graph", "true"),
            "ddp:\n  # the cap\n  static_graph: true\n  bucket_cap: 50MiB\nseed: 1\n");
}

TEST(TextEdit, APlainValueWhereAMapIsExpectedIsExpandedUnderItsOwnKey) {
  EXPECT_EQ(edited("topology: dgx1-v100 # old\n", "topology.fabric", "eth-10g"),
            "topology: {node: dgx1-v100, fabric: eth-10g} # old\n");
  EXPECT_EQ(edited("topology: dgx1-v100\n", "topology.override.nic.rate", "5GB/s"),
            "topology: {node: dgx1-v100, override: {nic: {rate: 5GB/s}}}\n");
}

TEST(TextEdit, ANewGroupComesAtTheEnd) {
  EXPECT_EQ(edited("model: resnet50 # no newline", "loader.workers_per_process", "4"),
            "model: resnet50 # no newline\nloader: {workers_per_process: 4}\n");
}

TEST(TextEdit, DottedKeysAreFound) {
  EXPECT_EQ(edited("ddp.bucket_cap: 5MiB\nseed: 1\n", "ddp.bucket_cap", "10MiB"), "ddp.bucket_cap: 10MiB\nseed: 1\n");
}

TEST(TextEdit, TextOutsideOfAsciiMovesNothing) {
  EXPECT_EQ(edited("question: Wie schnell läuft’s?  # ö\nseed: 1\n", "seed", "2"),
            "question: Wie schnell läuft’s?  # ö\nseed: 2\n");
  EXPECT_EQ(edited("{question: ä, seed: 1}\n", "seed", "2"), "{question: ä, seed: 2}\n");
}

TEST(TextEdit, WhatCannotBeReadIsAnError) {
  EXPECT_FALSE(set_in_text("a: [1\n", "seed", "1", scenario_fields().info()));
  EXPECT_FALSE(set_in_text("seed: 1\n", "seed", "[1", scenario_fields().info()));
}

TEST(TextEdit, WhereNoPlaceIsFoundTheValuesAreKeptAndItIsSaid) {
  const auto out = set_in_text("question: |\n  two\n  lines\n# lost\n", "question", "short", scenario_fields().info());
  ASSERT_TRUE(out);
  EXPECT_FALSE(out->comments_kept);
  EXPECT_EQ(out->text, "question: short\n");
}

// Every key of the panel on every scenario that comes along: the same as --set, no comment lost.
TEST(TextEdit, EveryShippedScenarioTakesTheSettingsOfThePanelAndKeepsItsComments) {
  const std::vector<std::pair<std::string, std::string>> settings = {{"batch.per_gpu", "48"},
                                                                     {"gpus", "[1, 2, 4]"},
                                                                     {"strategy", "[dp, ddp]"},
                                                                     {"ddp.bucket_cap", "10MiB"},
                                                                     {"precision", "tf32"},
                                                                     {"topology.override.nvlink.rate", "100GB/s"},
                                                                     {"topology.fabric", "eth-10g"},
                                                                     {"input.memory", "pinned"},
                                                                     {"optimizer.name", "adam"},
                                                                     {"accumulate.steps", "2"},
                                                                     {"noise.jitter.sigma", "3%"},
                                                                     {"seed", "9"},
                                                                     {"calibrate.single_gpu", "12it/s"},
                                                                     {"measure.repeats", "2"},
                                                                     {"price_per_gpu_hour", "1.5"}};
  int tried = 0;
  for (const char* folder : {"scenarios", "scenarios/gallery"})
    for (const auto& entry : std::filesystem::directory_iterator(source_path(folder))) {
      if (entry.path().extension() != ".yaml") continue;
      const std::string text = text_of_file(entry.path());
      for (const auto& [key, value] : settings) {
        const auto out = set_in_text(text, key, value, scenario_fields().info());
        ASSERT_TRUE(out) << entry.path() << ' ' << key;
        EXPECT_TRUE(out->comments_kept) << entry.path() << ' ' << key;
        auto by_set = read_scenario_with_origins(text, "x.yaml", {key + "=" + value});
        auto by_text = read_scenario_with_origins(out->text, "x.yaml");
        ASSERT_EQ(by_set.has_value(), by_text.has_value()) << entry.path() << ' ' << key << '\n' << out->text;
        if (by_set) {
          EXPECT_EQ(scenario_yaml(by_set->scenario), scenario_yaml(by_text->scenario)) << entry.path() << ' ' << key;
        }
        ++tried;
      }
    }
  EXPECT_GT(tried, 200);
}

}  // namespace
}  // namespace lockstep::gui
