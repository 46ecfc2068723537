#include "scenarios/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <clocale>
#include <locale>

#include "scenarios/fields.h"

namespace lockstep {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kSmall = "model: resnet50\nbatch: {per_gpu: 128}\ntopology: dgx-a100-80gb\ngpus: [1, 2, 4, 8]\n";

ReadScenario read(const std::string& text, const std::vector<std::string>& sets = {}) {
  const Expected<ReadScenario> scenario = read_scenario_with_origins(text, "x.yaml", sets);
  EXPECT_TRUE(scenario) << (scenario ? "" : to_text(scenario.error().front())) << "\n" << text;
  return scenario ? *scenario : ReadScenario{};
}
Scenario scenario(const std::string& extra, const std::vector<std::string>& sets = {}) {
  return read(kSmall + extra, sets).scenario;
}
// Two scenarios are the same when every key prints the same; origins aside.
std::string values(const Scenario& s) {
  return scenario_yaml(s);
}

TEST(ScenarioReader, FourKeysAreEnough) {
  const Scenario s = scenario("");
  EXPECT_EQ(s.model_name, "resnet50");
  EXPECT_EQ(s.per_gpu_batch, 128);
  EXPECT_FALSE(s.global_batch);
  EXPECT_EQ(s.topology_node, "dgx-a100-80gb");
  EXPECT_THAT(s.gpus, ElementsAre(1, 2, 4, 8));
  EXPECT_THAT(s.strategies, ElementsAre(Strategy::Ddp));
  EXPECT_EQ(s.file, "x.yaml");
}

TEST(ScenarioReader, DefaultsAreThoseOfTheContract) {
  const Scenario s = scenario("");
  EXPECT_EQ(s.precision, Precision::Fp32);
  EXPECT_FALSE(s.ddp.bucket_cap_bytes);
  EXPECT_TRUE(s.ddp.broadcast_buffers);
  EXPECT_EQ(s.optimizer, OptimizerKind::SgdMomentum);
  EXPECT_EQ(s.optimizer_implementation, OptimizerImplementation::Foreach);
  EXPECT_EQ(s.zero_grad, ZeroGrad::Auto);
  EXPECT_EQ(s.input.source, InputSource::Device);
  EXPECT_EQ(s.torch_version, "2.11");
  EXPECT_EQ(s.noise.runs, 200);
  EXPECT_FALSE(s.noise.none);
  EXPECT_EQ(s.seed, 1u);
}

TEST(ScenarioReader, EveryLiveKeyReachesItsMember) {
  const Scenario s = scenario(R"(
question: "Why?"
precision: amp-bf16
tf32: {conv: false, matmul: true}
strategy: [single, dp, ddp]
ddp: {bucket_cap: 10MiB, first_bucket: 2MiB, gradient_as_bucket_view: true, broadcast_buffers: false,
      find_unused_parameters: true, static_graph: true, hook: none}
accumulate: {steps: 4, no_sync: false}
optimizer: {name: adamw, implementation: fused, zero_grad: zeros, weight_decay: false, clip_grad_norm: true}
front_end: python
host: {factor: 0.9}
input: {source: host, memory: pinned, non_blocking: true, dtype: fp16, touched: false, dp_copy: scatter}
data: {samples: 50000, epochs: 100, validation_samples: 10000, startup: 30s}
software: {torch: "2.1", nccl: "2.18", cuda: "12.1"}
calibrate: {single_gpu: 2370img/s}
noise: {jitter: {sigma: 5%, per: rank, distribution: lognormal}, runs: 50}
seed: 42
)");
  EXPECT_EQ(s.question, "Why?");
  EXPECT_EQ(s.precision, Precision::AmpBf16);
  EXPECT_EQ(s.tf32_conv, Switch::Off);
  EXPECT_EQ(s.tf32_matmul, Switch::On);
  EXPECT_THAT(s.strategies, ElementsAre(Strategy::Single, Strategy::Dp, Strategy::Ddp));
  EXPECT_EQ(s.ddp.bucket_cap_bytes, 10485760);
  EXPECT_EQ(s.ddp.first_bucket_bytes, 2097152);
  EXPECT_TRUE(s.ddp.gradient_as_bucket_view);
  EXPECT_FALSE(s.ddp.broadcast_buffers);
  EXPECT_TRUE(s.ddp.find_unused_parameters);
  EXPECT_TRUE(s.ddp.static_graph);
  EXPECT_EQ(s.accumulate_steps, 4);
  EXPECT_FALSE(s.accumulate_no_sync);
  EXPECT_EQ(s.optimizer, OptimizerKind::AdamW);
  EXPECT_EQ(s.optimizer_implementation, OptimizerImplementation::Fused);
  EXPECT_EQ(s.zero_grad, ZeroGrad::Zeros);
  EXPECT_FALSE(s.weight_decay);
  EXPECT_TRUE(s.clip_grad_norm);
  EXPECT_EQ(s.host_factor, 0.9);
  EXPECT_EQ(s.input.source, InputSource::Host);
  EXPECT_EQ(s.input.memory, HostMemory::Pinned);
  EXPECT_TRUE(s.input.non_blocking);
  EXPECT_EQ(s.input.dtype, DType::Fp16);
  EXPECT_FALSE(s.input.touched);
  EXPECT_EQ(s.input.dp_copy, DpCopy::Scatter);
  EXPECT_EQ(s.data_samples, 50000);
  EXPECT_EQ(s.data_epochs, 100);
  EXPECT_EQ(s.data_validation_samples, 10000);
  EXPECT_EQ(s.data_startup_s, 30);
  EXPECT_EQ(s.torch_version, "2.1");
  EXPECT_EQ(s.nccl_version, "2.18");
  EXPECT_EQ(s.cuda_version, "12.1");
  EXPECT_EQ(s.calibrate_single_gpu, 2370);
  ASSERT_TRUE(s.noise.jitter);
  EXPECT_EQ(s.noise.jitter->sigma, 0.05);
  EXPECT_EQ(s.noise.jitter->per, JitterPer::Rank);
  EXPECT_EQ(s.noise.runs, 50);
  EXPECT_EQ(s.seed, 42u);
}

TEST(ScenarioReader, CaseAndUnderscoresDoNotMatterInNames) {
  const std::string rest = "\nbatch: {per_gpu: 8}\ntopology: x\ngpus: 1\n";
  EXPECT_EQ(read("model: BERT_Base" + rest).scenario.model_name, "bert-base");
  EXPECT_EQ(scenario("precision: AMP_FP16\n").precision, Precision::AmpFp16);
  EXPECT_EQ(scenario("optimizer: {implementation: For_Loop}\n").optimizer_implementation,
            OptimizerImplementation::ForLoop);
}

TEST(ScenarioReader, SizesAloneNameTheModel) {
  const std::string rest = "\nbatch: {per_gpu: 8}\ntopology: x\ngpus: 1\n";
  const Scenario mlp = read("model: {mlp: {inputs: 10, hidden: [4, 5], outputs: 2}}" + rest).scenario;
  EXPECT_EQ(mlp.model_name, "mlp");
  EXPECT_EQ(mlp.model_options.inputs, 10);
  EXPECT_THAT(mlp.model_options.hidden, ElementsAre(4, 5));
  const Scenario transformer =
      read("model: {transformer: {layers: 2, width: 64, heads: 4, feed_forward: 128, vocabulary: 100, sequence: 32}}" +
           rest)
          .scenario;
  EXPECT_EQ(transformer.model_name, "transformer");
  EXPECT_EQ(transformer.model_options.sequence, 32);
  EXPECT_EQ(read("model: mlp" + rest).scenario.model_name, "mlp");
}

TEST(ScenarioReader, AModelMayBeAFile) {
  const std::string rest = "\nbatch: {per_gpu: 8}\ntopology: x\ngpus: 1\n";
  EXPECT_EQ(read("model: models/mine.yaml" + rest).scenario.model_name, "models/mine.yaml");
  EXPECT_TRUE(is_model_path("a/b"));
  EXPECT_TRUE(is_model_path("b.json"));
  EXPECT_FALSE(is_model_path("resnet50"));
}

TEST(ScenarioReader, ATopologyIsANameOrAMap) {
  const std::string rest = "\nmodel: resnet50\nbatch: {per_gpu: 8}\ngpus: 16\n";
  const Scenario s =
      read(
          "topology: {node: dgx-a100-40gb, fabric: ib-hdr-8x200, gpus_per_node: 4, override: {nic.rate: 100Gb/s, "
          "nic: {latency: 5us}, nvlink.rate: 300 GB/s}}" +
          rest)
          .scenario;
  EXPECT_EQ(s.topology_node, "dgx-a100-40gb");
  EXPECT_EQ(s.topology_fabric, "ib-hdr-8x200");
  EXPECT_EQ(s.gpus_per_node, 4);
  EXPECT_EQ(s.topology_override.at("nic.rate"), 12.5e9);
  EXPECT_EQ(s.topology_override.at("nic.latency"), 5e-6);
  EXPECT_EQ(s.topology_override.at("nvlink.rate"), 300e9);
  EXPECT_THAT(s.gpus, ElementsAre(16));
}

TEST(ScenarioReader, ShortFormsStandForTheFirstKey) {
  const Scenario s =
      scenario("noise: {jitter: 5%}\noptimizer: adam\ninput: host\naccumulate: 4\ncalibrate: 10 seq/s\n");
  EXPECT_EQ(s.noise.jitter->sigma, 0.05);
  EXPECT_EQ(s.noise.jitter->per, JitterPer::Step);
  EXPECT_EQ(s.optimizer, OptimizerKind::Adam);
  EXPECT_EQ(s.input.source, InputSource::Host);
  EXPECT_EQ(s.accumulate_steps, 4);
  EXPECT_EQ(s.calibrate_single_gpu, 10);
  EXPECT_TRUE(scenario("noise: none\n").noise.none);
}

TEST(ScenarioReader, PrecisionTf32TurnsBothSwitchesOn) {
  const Scenario s = scenario("precision: tf32\n");
  EXPECT_EQ(s.tf32_conv, Switch::On);
  EXPECT_EQ(s.tf32_matmul, Switch::On);
}

TEST(ScenarioReader, ASpeedInIterationsBecomesSamples) {
  EXPECT_EQ(scenario("calibrate: {single_gpu: 0.5s/it}\n").calibrate_single_gpu, 256);
  EXPECT_EQ(scenario("calibrate: {single_gpu: 10it/s}\n").calibrate_single_gpu, 1280);
}

TEST(ScenarioReader, SetExpandsShortFormsAndWins) {
  const Scenario s =
      scenario("seed: 3\n", {"topology.override.nic.rate=200Gb/s", "seed=4", "strategy=[dp]", "model.image=32",
                             "batch={global: 64}", "gpus=8", "noise.jitter=2%", "noise.jitter.per=rank"});
  EXPECT_EQ(s.topology_node, "dgx-a100-80gb");
  EXPECT_EQ(s.topology_override.at("nic.rate"), 25e9);
  EXPECT_EQ(s.seed, 4u);
  EXPECT_THAT(s.strategies, ElementsAre(Strategy::Dp));
  EXPECT_EQ(s.model_options.image, 32);
  EXPECT_EQ(s.model_name, "resnet50");
  EXPECT_EQ(s.global_batch, 64);
  EXPECT_FALSE(s.per_gpu_batch);
  EXPECT_EQ(s.noise.jitter->sigma, 0.02);
  EXPECT_EQ(s.noise.jitter->per, JitterPer::Rank);
}

TEST(ScenarioReader, VersionsCompareByNumber) {
  EXPECT_LT(torch_version(scenario("software: {torch: \"2.9\"}\n")), torch_version(scenario("")));
  EXPECT_EQ(torch_version(scenario("software: {torch: \"2.1.0\"}\n")), (Version{2, 1}));
}

TEST(ScenarioReader, ShowNamesTheOriginOfEveryValue) {
  const std::string yaml = scenario_yaml(read(std::string(kSmall) + "seed: 7\n", {"ddp.bucket_cap=10MiB"}));
  EXPECT_THAT(yaml, HasSubstr("  name: resnet50                                # x.yaml:1\n"));
  EXPECT_THAT(yaml, HasSubstr("  bucket_cap: 10MiB                             # --set\n"));
  EXPECT_THAT(yaml, HasSubstr("seed: 7                                         # x.yaml:5\n"));
  EXPECT_THAT(yaml, HasSubstr("precision: fp32                                 # default\n"));
}

TEST(ScenarioReader, WhatShowPrintsIsTheSameScenario) {
  for (const char* extra :
       {"", "noise: none\n", "noise: {jitter: {sigma: 3.7%, per: rank}}\nseed: 9\n", "precision: tf32\n",
        "calibrate: 0.317s/it\n", "question: \"a: b # c\"\n", "ddp: {bucket_cap: 26214401B}\n",
        "software: {torch: \"2.10\"}\ndata: {samples: 1281167, startup: 1.5h}\ninput: {source: host}\n"}) {
    const Scenario once = scenario(extra);
    const Scenario twice = read(scenario_yaml(once)).scenario;
    EXPECT_EQ(values(once), values(twice)) << extra;
    EXPECT_EQ(once.calibrate_single_gpu, twice.calibrate_single_gpu);
    EXPECT_EQ(once.ddp.bucket_cap_bytes, twice.ddp.bucket_cap_bytes);
    EXPECT_EQ(once.question, twice.question);
    EXPECT_EQ(once.torch_version, twice.torch_version);
  }
}

TEST(ScenarioReader, KeysThatCannotChangeTheAnswerAreNamed) {
  EXPECT_TRUE(read(kSmall).notes.empty());
  const ReadScenario s = read(std::string(kSmall) + "strategy: dp\nddp: {bucket_cap: 1MiB}\ninput: {memory: pinned}\n");
  EXPECT_THAT(s.notes, ElementsAre("`ddp.bucket_cap` has no effect: no strategy is ddp",
                                   "`input.memory` has no effect: the batch is on the device when the step starts"));
  const ReadScenario both = read(std::string(kSmall) + "ddp: {static_graph: true, find_unused_parameters: true}\n");
  EXPECT_THAT(both.notes, Contains(HasSubstr("static_graph finds unused parameters by itself")));
}

TEST(ScenarioReader, ACommaDecimalLocaleChangesNothing) {
  struct German : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };
  const std::string text =
      std::string(kSmall) + "host: {factor: 0.75}\nnoise: {jitter: 2.5%}\ndata: {samples: 1281167}\n";
  const ReadScenario plain = read(text);
  const std::locale before = std::locale::global(std::locale(std::locale::classic(), new German));
  for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"})
    if (std::setlocale(LC_ALL, name) != nullptr) break;
  const ReadScenario german = read(text);
  EXPECT_EQ(german.scenario.host_factor, 0.75);
  EXPECT_EQ(german.scenario.noise.jitter->sigma, 0.025);
  EXPECT_EQ(scenario_yaml(german), scenario_yaml(plain));
  std::locale::global(before);
  std::setlocale(LC_ALL, "C");
}

ReadScenario with_loader(const std::string& more) {
  const auto read = read_scenario_with_origins(
      "model: resnet18\nbatch: {per_gpu: 8}\ntopology: dgx-a100-80gb\ngpus: 2\n" + more, "x.yaml", {});
  EXPECT_TRUE(read) << more;
  return read.value_or(ReadScenario{});
}

TEST(ALoader, SaysWhereItsBatchIs) {
  const Scenario plain = with_loader("loader: {workers_per_process: 8, sample_cost: 8ms}\n").scenario;
  EXPECT_DOUBLE_EQ(*plain.loader.sample_cost_s, 8e-3);
  EXPECT_EQ(plain.input.source, InputSource::Host);
  EXPECT_EQ(plain.input.memory, HostMemory::Pageable);
  EXPECT_FALSE(plain.input.touched);  // written by a worker
  const Scenario pinned =
      with_loader("loader: {sample_cost: 8ms, pin_memory: true}\ninput: {source: host, memory: pageable}\n").scenario;
  EXPECT_EQ(pinned.input.memory, HostMemory::Pinned);
  EXPECT_TRUE(pinned.input.touched);  // no workers
  EXPECT_TRUE(
      with_loader("loader: {workers_per_process: 1, sample_cost: 8ms}\ninput.touched: true\n").scenario.input.touched);
  EXPECT_EQ(with_loader("loader: {workers_per_process: 8}\n").scenario.input.source, InputSource::Device);
}

TEST(ALoader, IsWrittenOutSoThatItReadsTheSame) {
  const ReadScenario first = with_loader("loader: {workers_per_process: 8, sample_cost: 8ms, pin_memory: true}\n");
  const auto again = read_scenario_with_origins(scenario_yaml(first), "again.yaml", {});
  ASSERT_TRUE(again) << to_text(again.error().front());
  EXPECT_EQ(scenario_yaml(again->scenario), scenario_yaml(first.scenario));
}

TEST(ALoader, NotesWhatHasNoEffect) {
  EXPECT_THAT(
      with_loader("loader: {workers_per_process: 8}\n").notes,
      ElementsAre("`loader.workers_per_process` has no effect: `loader.sample_cost` is not given, so batches are "
                  "always ready"));
  EXPECT_THAT(
      with_loader("loader: {sample_cost: 8ms, prefetch_factor: 4, in_order: false, drop_last: true}\n").notes,
      ElementsAre("`loader.prefetch_factor` has no effect: without workers nothing is loaded ahead",
                  "`loader.in_order` has no effect: samples cost the same, so batches are ready in order anyway",
                  "`loader.drop_last` has no effect: `data.samples` is not given, so there are no epochs"));
}

}  // namespace
}  // namespace lockstep
