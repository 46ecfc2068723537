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

// Sentences of runs that a test made itself; the first is the single GPU.
Result sentences_about(std::vector<lockstep::Run> runs, const std::vector<std::string>& sets = {},
                       const std::optional<BucketCapEffect>& bucket_cap = std::nullopt) {
  Result result;
  Points::Single single;
  single.run = runs.front();
  result.runs = std::move(runs);
  add_sentences(result, single, inputs_of("", sets), KernelCalibration{}, bucket_cap, false);
  return result;
}

lockstep::Run run_with(Strategy strategy, int gpus, const std::map<Cause, double>& parts) {
  lockstep::Run run;
  run.strategy = strategy;
  run.gpus = run.world_size = gpus;
  run.per_gpu_batch = 100;
  run.global_batch = 100 * gpus;
  run.scaling = "weak";
  run.throughput_unit = "images/s";
  for (const auto& [cause, seconds] : parts) {
    run.breakdown_s[static_cast<std::size_t>(cause)] = seconds;
    run.step_time_s += seconds;
  }
  run.throughput = static_cast<double>(run.global_batch) / run.step_time_s;
  return run;
}

// Ids in their order, without the notes.
std::vector<std::string> ids_of(const Result& result) {
  std::vector<std::string> ids;
  for (const Sentence& sentence : result.answer.sentences) ids.push_back(sentence.id);
  return ids;
}

const Sentence* find(const Result& result, const std::string& id, const std::string& strategy = "") {
  for (const Sentence& sentence : result.answer.sentences) {
    const auto about = sentence.values.find("strategy");
    if (sentence.id == id && (strategy.empty() || (about != sentence.values.end() && about->second == strategy)))
      return &sentence;
  }
  return nullptr;
}

TEST(Sentences, a_loader_that_limits_is_named_with_what_it_makes_and_what_limits_it) {
  const std::map<Cause, double> parts = {{Cause::Forward, 0.04}, {Cause::Backward, 0.05}, {Cause::Input, 0.11}};
  const auto about = [&](const std::vector<std::string>& sets) {
    auto single = run_with(Strategy::Single, 1, parts);
    auto ddp = run_with(Strategy::Ddp, 8, parts);
    return sentences_about({single, ddp}, sets);
  };
  const Result by_workers = about({"loader.sample_cost=2ms", "loader.workers_per_process=1"});
  const Sentence* bound = find(by_workers, "loader_bound", "ddp");
  ASSERT_NE(bound, nullptr);
  EXPECT_EQ(bound->text,
            "The data loader limits DDP: the GPU waits for it during 55 % of the step. The one worker of each process "
            "can make 500 images/s, of 1110 that the process could use.");
  EXPECT_EQ(find(by_workers, "loader_cores"), nullptr);
  EXPECT_EQ(find(by_workers, "small_loss"), nullptr);  // not less than 1 %, although one GPU waits as long
  EXPECT_EQ(by_workers.answer.largest_loss, "input");
  const Result by_cores = about({"loader.sample_cost=20ms", "loader.workers_per_process=40"});
  ASSERT_NE(find(by_cores, "loader_cores"), nullptr);
  EXPECT_NE(find(by_cores, "loader_cores")->text.find("8 processes of a node share its 128 cores"), std::string::npos);
  const Result by_pinning = about({"loader.sample_cost=1us", "loader.workers_per_process=4", "loader.pin_memory=true"});
  EXPECT_NE(find(by_pinning, "loader_pin"), nullptr);
  const Result in_process = about({"loader.sample_cost=1ms"});
  ASSERT_NE(find(in_process, "loader_in_process", "ddp"), nullptr);
  EXPECT_EQ(find(in_process, "loader_in_process", "ddp")->values.at("host_s"), "0.1");
  EXPECT_EQ(find(about({}), "loader_bound"), nullptr);  // without a loader
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

TEST(Sentences, a_host_bound_step_is_said_before_what_it_loses) {
  EXPECT_NE(find(answer_to("batch: {per_gpu: 10}\ngpus: 1\n"), "host_bound"), nullptr);
  EXPECT_EQ(find(answer_to(""), "host_bound"), nullptr);
  const Result result = sentences_about(
      {run_with(Strategy::Single, 1, {{Cause::Forward, 0.004}, {Cause::HostBound, 0.006}}),
       run_with(Strategy::Ddp, 8, {{Cause::Forward, 0.004}, {Cause::HostBound, 0.006}, {Cause::BucketCopies, 0.002}})});
  EXPECT_EQ(ids_of(result), (std::vector<std::string>{"speedup", "host_bound", "largest_loss", "host_bound_help"}));
  EXPECT_EQ(result.answer.sentences[2].text,
            "Compared with one GPU, DDP loses most to copying gradients into and out of buckets: 2 ms more in a step "
            "of 12 ms (16.7 %).");
}

TEST(Sentences, slower_kernels_come_first_where_they_lose_most) {
  const auto one = run_with(Strategy::Single, 1, {{Cause::Forward, 0.03}, {Cause::Backward, 0.06}});
  const auto slow =
      run_with(Strategy::Ddp, 8, {{Cause::Forward, 0.032}, {Cause::Backward, 0.065}, {Cause::BucketCopies, 0.003}});
  const Result result = sentences_about({one, slow});
  EXPECT_EQ(ids_of(result), (std::vector<std::string>{"speedup", "slower_kernels", "next_loss"}));
  EXPECT_THAT(result.answer.sentences[1].text, ::testing::HasSubstr("7 ms more in a step of 100 ms (7 %)"));
  EXPECT_EQ(result.answer.sentences[2].text, "Next comes copying gradients into and out of buckets: 3 ms (3 %).");
  EXPECT_EQ(result.answer.largest_loss, "backward");
}

TEST(Sentences, more_gpus_that_are_slower_are_said) {
  const auto ddp = [](int gpus, double step_s) { return run_with(Strategy::Ddp, gpus, {{Cause::Forward, step_s}}); };
  const auto one = run_with(Strategy::Single, 1, {{Cause::Forward, 0.1}});
  const Result result = sentences_about({one, ddp(2, 0.1), ddp(4, 0.1), ddp(8, 0.4)});
  const Sentence* sentence = find(result, "more_is_slower");
  ASSERT_NE(sentence, nullptr);
  EXPECT_EQ(sentence->text, "More GPUs are slower: DDP on 8 trains 2000 images/s, less than the 4000 on 4.");
  EXPECT_EQ(find(sentences_about({one, ddp(2, 0.1), ddp(4, 0.199)}), "more_is_slower"), nullptr);
  // One GPU without a wrapper counts as well.
  EXPECT_EQ(find(sentences_about({one, ddp(2, 0.25)}), "more_is_slower")->values.at("fewer"), "1");
}

TEST(Sentences, bucket_sizes_that_do_not_matter_are_said_where_there_is_a_choice) {
  const auto one = run_with(Strategy::Single, 1, {{Cause::Forward, 0.1}});
  auto ddp = run_with(Strategy::Ddp, 8, {{Cause::Forward, 0.1}, {Cause::ExposedCommunication, 0.01}});
  const BucketCapEffect none{1 << 20, 100 << 20, -0.05, 0.002}, some{1 << 20, 100 << 20, -0.05, 0.02};
  EXPECT_EQ(find(sentences_about({one, ddp}, {}, none), "bucket_cap"), nullptr);  // one bucket, no cap given
  EXPECT_NE(find(sentences_about({one, ddp}, {"ddp.bucket_cap=50MiB"}, none), "bucket_cap"), nullptr);
  ddp.buckets.resize(3);
  const Result result = sentences_about({one, ddp}, {}, none);
  ASSERT_NE(find(result, "bucket_cap"), nullptr);
  EXPECT_THAT(find(result, "bucket_cap")->text,
              ::testing::HasSubstr("from 1 MiB to 100 MiB changes the throughput by -5 % to +0.2 %"));
  EXPECT_EQ(find(sentences_about({one, ddp}, {}, some), "bucket_cap"), nullptr);
}

TEST(Sentences, one_gpu_is_spoken_of_in_the_singular) {
  const Result result = answer_to("gpus: 1\nstrategy: single\n");
  for (const Sentence& sentence : result.answer.sentences) {
    EXPECT_THAT(sentence.text, ::testing::Not(::testing::HasSubstr("1 GPUs")));
    EXPECT_THAT(sentence.text, ::testing::Not(::testing::HasSubstr("a single GPU on")));
  }
  EXPECT_NE(find(result, "uncertainty_single"), nullptr);
}

TEST(Sentences, on_cpu_cores_nothing_is_said_of_gpus) {
  const std::map<Cause, double> parts = {{Cause::Forward, 0.004}, {Cause::HostBound, 0.006}};
  std::vector<lockstep::Run> runs = {run_with(Strategy::Single, 1, parts)};
  for (const Cause cause : kCauses) {
    auto more = parts;
    more[cause] += 0.01;
    runs.resize(1);
    runs.push_back(run_with(Strategy::Dp, 4, more));
    runs.push_back(run_with(Strategy::Ddp, 4, more));
    const Result result = sentences_about(runs, {"topology=cpu-host"});
    EXPECT_NE(find(result, "host_bound_help"), nullptr);
    for (const Sentence& sentence : result.answer.sentences)
      EXPECT_THAT(sentence.text, ::testing::Not(::testing::HasSubstr("GPU"))) << sentence.id;
  }
  const Result predicted = answer_to("topology: cpu-host\ninput: {source: host}\nbatch: {per_gpu: 10}\ngpus: [1, 8]\n");
  for (const Sentence& sentence : predicted.answer.sentences)
    EXPECT_THAT(sentence.text, ::testing::Not(::testing::HasSubstr("GPU"))) << sentence.id;
}

TEST(Sentences, cuda_is_said_to_have_no_effect_only_where_it_has_none) {
  const auto notes = [](const std::string& more) {
    std::string all;
    for (const Sentence& sentence : answer_to("software: {cuda: \"12.1\"}\n" + more).answer.sentences)
      if (sentence.id == "note") all += sentence.text + '\n';
    return all;
  };
  const auto no_effect = ::testing::HasSubstr("`software.cuda` has no effect");
  EXPECT_THAT(notes(""), ::testing::Not(no_effect));
  EXPECT_THAT(notes("optimizer: {implementation: for-loop}\n"), no_effect);
  EXPECT_THAT(notes("optimizer: {name: none}\n"), no_effect);
  EXPECT_THAT(notes("optimizer: {name: none}\nprecision: amp-fp16\n"), ::testing::Not(no_effect));
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

TEST(Sentences, latencies_that_no_collective_meets_are_said_to_have_no_effect) {
  const auto notes = [](const std::string& more, const std::vector<std::string>& sets) {
    std::string all;
    for (const Sentence& sentence : answer_to(more, sets).answer.sentences)
      if (sentence.id == "note") all += sentence.text + '\n';
    return all;
  };
  const auto idle = [](const std::string& key) { return ::testing::HasSubstr("`" + key + "` has no effect"); };
  const std::string prefix = "topology.override.";
  for (const char* key : {"host.latency", "pcie.latency"})
    for (const char* input : {"", "input: {source: host}\n"})
      EXPECT_THAT(notes(input, {prefix + key + "=1s"}), idle(prefix + key)) << input;
  EXPECT_THAT(notes("", {prefix + "nvlink.latency=1s"}), ::testing::Not(idle(prefix + "nvlink.latency")));
  EXPECT_THAT(notes("", {prefix + "nvlink.latency=1s", "gpus=1"}), idle(prefix + "nvlink.latency"));
  EXPECT_THAT(notes("", {prefix + "nic.latency=1s", "topology.fabric=eth-25g"}), idle(prefix + "nic.latency"));
  EXPECT_THAT(notes("", {prefix + "nic.latency=1s", "topology.fabric=eth-25g", "gpus=16"}),
              ::testing::Not(idle(prefix + "nic.latency")));
}

TEST(Sentences, settings_that_change_less_than_the_step_say_what_they_change) {
  const auto notes = [](const std::string& more) {
    std::string all;
    for (const Sentence& sentence : answer_to(more).answer.sentences)
      if (sentence.id == "note") all += sentence.text + '\n';
    return all;
  };
  const auto cores = ::testing::HasSubstr("`host.cores` changes no time"),
             graph = ::testing::HasSubstr("`ddp.static_graph` changes the first step only");
  EXPECT_THAT(notes("host: {cores: 3}\n"), cores);
  EXPECT_THAT(notes("host: {cores: 3}\nloader: {workers_per_process: 2, sample_cost: 8ms}\n"), ::testing::Not(cores));
  EXPECT_THAT(notes("ddp: {static_graph: true}\n"), graph);
  EXPECT_THAT(notes("ddp: {static_graph: true, find_unused_parameters: true}\n"), ::testing::Not(graph));
}

TEST(Catalogue, every_placeholder_is_a_value_of_a_known_kind) {
  const std::set<std::string> kinds = {"",       "time",  "factor", "percent", "signed_percent",
                                       "effect", "count", "bytes",  "words"};
  for (const std::string& id : sentence_ids())
    for (const auto& [name, kind] : placeholders_of(id)) {
      EXPECT_FALSE(name.empty()) << id;
      EXPECT_EQ(kinds.count(kind), 1U) << id << ": " << kind;
    }
}

TEST(Catalogue, every_cause_has_words) {
  for (const Cause cause : kCauses)
    EXPECT_FALSE(make_sentence("largest_loss", {{"strategy", "ddp"},
                                                {"device", "gpu"},
                                                {"cause", name_of(cause)},
                                                {"loss_s", "0.01"},
                                                {"step_time_s", "0.1"},
                                                {"share", "0.1"}})
                     .text.empty());
}

}  // namespace
}  // namespace lockstep
