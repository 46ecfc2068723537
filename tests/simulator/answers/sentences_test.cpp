#include "simulator/answers/sentences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulator/answers/catalogue.h"
#include "simulator/answers/predict.h"
#include "simulator/base/format.h"
#include "tests/simulator/answers/fake_machine.h"

namespace lockstep {
namespace {

using testing::FakeMachine;
using testing::inputs_of;

Result answer_to(const std::string& more, const std::vector<std::string>& sets = {}) {
  const Inputs inputs = inputs_of(more, sets);
  FakeMachine machine;
  PredictOptions options;
  options.source = machine.source();
  const auto result = predict(inputs, options);
  EXPECT_TRUE(result);
  return result.value_or(Result{});
}

const Sentence* find(const Result& result, const std::string& id, const std::string& strategy = "") {
  for (const Sentence& sentence : result.answer.sentences) {
    const auto about = sentence.values.find("strategy");
    if (sentence.id == id && (strategy.empty() || (about != sentence.values.end() && about->second == strategy)))
      return &sentence;
  }
  return nullptr;
}

TEST(Sentences, their_numbers_are_those_of_the_runs) {
  const Result result = answer_to("");
  for (const lockstep::Run& run : result.runs) {
    if (run.gpus != 8) continue;
    const Sentence* speed = find(result, "speedup", name_of(run.strategy));
    ASSERT_NE(speed, nullptr) << name_of(run.strategy);
    EXPECT_EQ(speed->values.at("speedup"), digits(run.speedup));
    EXPECT_THAT(speed->text, ::testing::HasSubstr(format_factor(run.speedup)));
    EXPECT_THAT(speed->text, ::testing::HasSubstr(format_percent(run.efficiency)));
  }
  const Sentence* compared = find(result, "comparison");
  ASSERT_NE(compared, nullptr);
  EXPECT_EQ(compared->values.at("fast"), "ddp");
  EXPECT_EQ(compared->values.at("factor"), digits(result.runs[6].throughput / result.runs[3].throughput));
}

TEST(Sentences, the_largest_loss_leaves_out_what_the_baseline_pays_too) {
  // The copy of 20 ms is paid by one GPU as well: the loss of ddp is its all-reduce.
  const Result result = answer_to("input: {source: host}\n");
  const Sentence* loss = find(result, "largest_loss", "ddp");
  ASSERT_NE(loss, nullptr);
  EXPECT_EQ(loss->values.at("cause"), "exposed_communication");
  EXPECT_EQ(loss->values.at("loss_s"), digits(0.03));
  EXPECT_THAT(loss->text, ::testing::HasSubstr("all-reduce that the backward pass does not hide"));
  EXPECT_THAT(loss->text, ::testing::HasSubstr("30 ms"));
  EXPECT_EQ(result.answer.largest_loss, "gradient_reduce");  // of the slowest strategy
}

TEST(Sentences, strong_scaling_counts_a_share_of_the_baselines_part_only) {
  lockstep::Run one, eight;
  one.global_batch = eight.global_batch = 80;
  one.gpus = 1;
  eight.gpus = 8;
  one.breakdown_s[static_cast<std::size_t>(Cause::HostBound)] = 0.008;
  eight.breakdown_s[static_cast<std::size_t>(Cause::HostBound)] = 0.008;
  EXPECT_DOUBLE_EQ(loss_s(eight, one, Cause::HostBound), 0.007);
}

TEST(Sentences, the_focus_is_the_slowest_strategy_at_the_most_gpus) {
  const Result result = answer_to("");
  const auto focus = focus_run(result.runs);
  ASSERT_TRUE(focus);
  EXPECT_EQ(result.runs[*focus].strategy, Strategy::Dp);
  EXPECT_EQ(result.runs[*focus].gpus, 8);
}

TEST(Sentences, a_point_that_did_not_run_is_no_focus) {
  const Result result = answer_to("topology: {node: dgx-a100-80gb, fabric: ib-hdr-8x200}\ngpus: [8, 16]\n");
  const auto focus = focus_run(result.runs);
  ASSERT_TRUE(focus);
  EXPECT_EQ(result.runs[*focus].strategy, Strategy::Ddp);
  EXPECT_EQ(result.runs[*focus].gpus, 16);
}

TEST(Sentences, a_batch_that_does_not_fit_is_said_with_both_sizes) {
  const Result result = answer_to("batch: {per_gpu: 1000}\n");
  const Sentence* sentence = find(result, "does_not_fit", "ddp");
  ASSERT_NE(sentence, nullptr);
  EXPECT_THAT(sentence->text, ::testing::HasSubstr("500 GiB"));
}

TEST(Sentences, an_accumulating_baseline_is_said) {
  const Sentence* sentence = nullptr;
  const Result result = answer_to("batch: {global: 480}\n");
  sentence = find(result, "baseline_accumulates");
  ASSERT_NE(sentence, nullptr);
  EXPECT_EQ(sentence->values.at("micro_steps"), "4");
}

TEST(Sentences, a_host_bound_step_is_said) {
  EXPECT_NE(find(answer_to("batch: {per_gpu: 10}\ngpus: 1\n"), "host_bound"), nullptr);
  EXPECT_EQ(find(answer_to(""), "host_bound"), nullptr);
}

TEST(Sentences, doubt_is_said_unless_calibrated) {
  EXPECT_NE(find(answer_to(""), "uncertainty"), nullptr);
  EXPECT_EQ(find(answer_to("calibrate: {single_gpu: 961img/s}\n"), "uncertainty"), nullptr);
}

TEST(Sentences, settings_without_effect_are_said_with_the_reason) {
  const Result result = answer_to("software: {nccl: \"2.30.7\"}\n", {"topology.override.nic.rate=1GB/s"});
  std::string all;
  for (const Sentence& sentence : result.answer.sentences)
    if (sentence.id == "note") all += sentence.text + '\n';
  EXPECT_THAT(all, ::testing::HasSubstr("`software.nccl` has no effect"));
  EXPECT_THAT(all, ::testing::HasSubstr("`topology.override.nic.rate` has no effect"));
  EXPECT_THAT(all, ::testing::Not(::testing::HasSubstr("nvlink")));
}

TEST(Catalogue, every_placeholder_is_a_value_of_a_known_kind) {
  const std::set<std::string> kinds = {"", "time", "factor", "percent", "signed_percent", "count", "bytes", "words"};
  for (const std::string& id : sentence_ids())
    for (const auto& [name, kind] : placeholders_of(id)) {
      EXPECT_FALSE(name.empty()) << id;
      EXPECT_EQ(kinds.count(kind), 1U) << id << ": " << kind;
    }
}

TEST(Catalogue, every_cause_has_words) {
  for (const Cause cause : kCauses)
    EXPECT_FALSE(make_sentence("largest_loss", {{"strategy", "ddp"},
                                                {"cause", name_of(cause)},
                                                {"loss_s", "0.01"},
                                                {"step_time_s", "0.1"},
                                                {"share", "0.1"}})
                     .text.empty());
}

}  // namespace
}  // namespace lockstep
