// Wrong scenarios, each with the one error that it must give: kind, line, key, sentence and thing to try.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/reader.h"

namespace lockstep {
namespace {

// Lines 1 to 4 of every case unless it says otherwise; its own text starts in line 5.
constexpr const char* kGoodStart =
    "model: resnet50\n"
    "batch: {per_gpu: 128}\n"
    "topology: dgx-a100-80gb\n"
    "gpus: [1, 2, 4, 8]\n";

struct Bad {
  const char* text;
  ErrorKind kind;
  int line;
  const char* key;
  const char* message;
  const char* hint;
};

void PrintTo(const Bad& bad, std::ostream* out) {
  *out << bad.text;
}

void expect_the_error(const std::string& text, const Bad& bad, const std::vector<std::string>& sets = {}) {
  const Expected<ReadScenario> read = read_scenario_with_origins(text, "x.yaml", sets);
  ASSERT_FALSE(read) << "was accepted:\n" << text;
  ASSERT_EQ(read.error().size(), 1u) << to_text(read.error()[0]) << "\n" << to_text(read.error()[1]);
  const Error& error = read.error().front();
  EXPECT_STREQ(name_of(error.kind), name_of(bad.kind));
  EXPECT_EQ(error.file, sets.empty() ? "x.yaml" : "--set");
  EXPECT_EQ(error.line, bad.line);
  EXPECT_EQ(error.key, bad.key);
  EXPECT_EQ(error.message, bad.message);
  EXPECT_EQ(error.hint, bad.hint);
}

class BadLine : public testing::TestWithParam<Bad> {};
TEST_P(BadLine, IsRefusedWithItsMessage) {
  expect_the_error(kGoodStart + std::string(GetParam().text), GetParam());
}

constexpr const char* kLater = "delete the key";
using K = ErrorKind;

INSTANTIATE_TEST_SUITE_P(UnknownKeys, BadLine,
                         testing::Values(Bad{"ddp: {bukcet_cap: 1MiB}\n", K::UnknownKey, 5, "ddp.bukcet_cap",
                                             "`ddp` has no such key", "did you mean `bucket_cap`?"},
                                         Bad{"bucket_cap: 1MiB\n", K::UnknownKey, 5, "bucket_cap",
                                             "a scenario has no such key", "did you mean `ddp.bucket_cap`?"},
                                         Bad{"stratgy: ddp\n", K::UnknownKey, 5, "stratgy",
                                             "a scenario has no such key", "did you mean `strategy`?"},
                                         Bad{"optimizer:\n  name: sgd\n  lr: 0.1\n", K::UnknownKey, 7, "optimizer.lr",
                                             "`optimizer` has no such key", ""},
                                         Bad{"<<: {seed: 2}\n", K::UnknownKey, 5, "<<", "a scenario has no such key",
                                             ""},
                                         Bad{"null: 3\n", K::UnknownKey, 5, "null", "a scenario has no such key", ""},
                                         Bad{"noise: {jiter: 5%}\n", K::UnknownKey, 5, "noise.jiter",
                                             "`noise` has no such key", "did you mean `jitter`?"}));

INSTANTIATE_TEST_SUITE_P(
    Types, BadLine,
    testing::Values(Bad{"seed: 010\n", K::Type, 5, "seed", "a number with a leading zero could mean octal or decimal",
                        "write `10`"},
                    Bad{"seed: \"1\"\n", K::Type, 5, "seed", "a number is needed here, not a text in quotes",
                        "take the quotes away"},
                    Bad{"seed: 1.5\n", K::Type, 5, "seed", "a whole number is needed here", ""},
                    Bad{"seed: 1e3\n", K::Type, 5, "seed", "a whole number is needed here", "write `1000`"},
                    Bad{"seed:\n", K::Type, 5, "seed", "the key has no value", "delete the key to get the default"},
                    Bad{"seed: ~\n", K::Type, 5, "seed", "the key has no value", "delete the key to get the default"},
                    Bad{"seed: {a: 1}\n", K::Type, 5, "seed", "one value is needed here, not a map", ""},
                    Bad{"accumulate: {no_sync: yes}\n", K::Type, 5, "accumulate.no_sync",
                        "true or false is needed here", "write true, without quotes"},
                    Bad{"ddp: {static_graph: \"true\"}\n", K::Type, 5, "ddp.static_graph",
                        "true or false is needed here", "write true, without quotes"},
                    Bad{"software: {torch: 2.10}\n", K::Type, 5, "software.torch",
                        "a version stands in quotes: 2.10 without them would be the number 2.1", "write \"2.10\""},
                    Bad{"software: {nccl: \"2.x\"}\n", K::Type, 5, "software.nccl",
                        "a version is numbers with dots between them", ""},
                    Bad{"ddp:\n", K::Type, 5, "ddp", "the key has no value", "for example `ddp: {bucket_cap: ...}`"},
                    Bad{"tf32: true\n", K::Type, 5, "tf32", "keys and values are needed here",
                        "for example `tf32: {conv: ...}`"}));

INSTANTIATE_TEST_SUITE_P(Units, BadLine,
                         testing::Values(Bad{"ddp: {bucket_cap: 25}\n", K::Unit, 5, "ddp.bucket_cap",
                                             "a size in bytes needs its unit", "for example `25MiB`"},
                                         Bad{"ddp: {bucket_cap: 25ms}\n", K::Unit, 5, "ddp.bucket_cap",
                                             "`ms` is a time, not a size in bytes", "for example `25MiB`"},
                                         Bad{"ddp: {bucket_cap: 25Mib}\n", K::Unit, 5, "ddp.bucket_cap",
                                             "`Mib` is no unit of a size in bytes", "did you mean `25MiB`?"},
                                         Bad{"ddp: {bucket_cap: defualt}\n", K::Type, 5, "ddp.bucket_cap",
                                             "a size in bytes starts with a number", "did you mean `default`?"},
                                         Bad{"data: {startup: 5}\n", K::Unit, 5, "data.startup",
                                             "a time needs its unit", "for example `5us`"},
                                         Bad{"calibrate: {single_gpu: 2370}\n", K::Unit, 5, "calibrate.single_gpu",
                                             "a training speed needs its unit", "for example `2370img/s`"},
                                         Bad{"host: {factor: 2s}\n", K::Unit, 5, "host.factor",
                                             "a plain number is needed here, without the unit `s`", "write `2`"},
                                         Bad{"noise: {jitter: 5us}\n", K::Unit, 5, "noise.jitter.sigma",
                                             "`us` is a time, not a percentage or a fraction", "for example `5%`"}));

INSTANTIATE_TEST_SUITE_P(
    Ranges, BadLine,
    testing::Values(
        Bad{"ddp: {bucket_cap: 0B}\n", K::Range, 5, "ddp.bucket_cap", "the value is out of range", ""},
        Bad{"ddp: {bucket_cap: -1MiB}\n", K::Range, 5, "ddp.bucket_cap", "a size in bytes cannot be negative", ""},
        Bad{"accumulate: {steps: 0}\n", K::Range, 5, "accumulate.steps", "the value is out of range", ""},
        Bad{"noise: {jitter: 500%}\n", K::Range, 5, "noise.jitter.sigma", "the value is out of range", ""},
        Bad{"price_per_gpu_hour: 0\n", K::Range, 5, "price_per_gpu_hour", "the value is out of range", ""},
        Bad{"noise: {runs: 0}\n", K::Range, 5, "noise.runs", "the value is out of range", ""},
        Bad{"seed: -1\n", K::Range, 5, "seed", "the value is out of range", ""},
        Bad{"seed: 99999999999999999999\n", K::Range, 5, "seed", "the number is too large", ""},
        Bad{"host: {factor: 0}\n", K::Range, 5, "host.factor", "the value is out of range", ""},
        Bad{"strategy: dpp\n", K::Range, 5, "strategy", "`dpp` is not one of the values that may stand here",
            "did you mean `dp`?"},
        Bad{"strategy: [ddp, ddp]\n", K::Range, 5, "strategy", "`ddp` is listed twice", "list each value once"},
        Bad{"strategy: []\n", K::Range, 5, "strategy", "the list is empty", ""},
        Bad{"optimizer: {name: sdg}\n", K::Range, 5, "optimizer.name",
            "`sdg` is not one of the values that may stand here", "did you mean `sgd`?"},
        Bad{"precision: fp8\n", K::Range, 5, "precision", "`fp8` is not one of the values that may stand here", ""},
        Bad{"tf32: {conv: on}\n", K::Range, 5, "tf32.conv", "`on` is not one of the values that may stand here", ""},
        Bad{"software: {torch: \"1.2\"}\n", K::Range, 5, "software.torch", "this version of PyTorch is not known",
            ""}));

INSTANTIATE_TEST_SUITE_P(
    NotYet, BadLine,
    testing::Values(Bad{"loader: {persistent_workers: true}\n", K::NotSupported, 5, "loader.persistent_workers",
                        "`loader.persistent_workers` is not supported in this version; a later one will take it",
                        kLater},
                    Bad{"loader.sample_cost: {sigma: 5%}\n", K::NotSupported, 5, "loader.sample_cost.sigma",
                        "`loader.sample_cost.sigma` is not supported in this version; a later one will take it",
                        kLater},
                    Bad{"mode: forward\n", K::NotSupported, 5, "mode",
                        "`mode` is not supported in this version; a later one will take it", kLater},
                    Bad{"ddp: {sync_batch_norm: true}\n", K::NotSupported, 5, "ddp.sync_batch_norm",
                        "`ddp.sync_batch_norm` is not supported in this version; a later one will take it", kLater},
                    Bad{"ddp: {hook: powersgd}\n", K::NotSupported, 5, "ddp.hook",
                        "`powersgd` is not supported in this version; a later one will take it", ""},
                    Bad{"noise: {slow: [{rank: 3, time_factor: 1.2}]}\n", K::NotSupported, 5, "noise.slow",
                        "`noise.slow` is not supported in this version; a later one will take it", kLater},
                    Bad{"noise: {jitter: {sigma: 5%, per: op}}\n", K::NotSupported, 5, "noise.jitter.per",
                        "`op` is not supported in this version; a later one will take it", ""},
                    Bad{"front_end: compile\n", K::NotSupported, 5, "front_end",
                        "`compile` is not supported in this version; a later one will take it", ""},
                    Bad{"strategy: [dp, fsdp]\n", K::NotSupported, 5, "strategy",
                        "`fsdp` is not supported in this version; a later one will take it", ""},
                    Bad{"input: {source: disk}\n", K::NotSupported, 5, "input.source",
                        "`disk` is not supported in this version; a later one will take it", ""},
                    Bad{"precision: bf16\n", K::NotSupported, 5, "precision",
                        "`bf16` is not supported in this version; a later one will take it", ""},
                    Bad{"ddp: {bucket_cap: [1MiB, 25MiB]}\n", K::NotSupported, 5, "ddp.bucket_cap",
                        "a list of values is a sweep; `lockstep predict` takes lists in `gpus` and `strategy` only",
                        "keep one value, or run every combination with `lockstep sweep`"},
                    Bad{"input: [device, host]\n", K::NotSupported, 5, "input",
                        "a list of values is a sweep; `lockstep predict` takes lists in `gpus` and `strategy` only",
                        "keep one value, or run every combination with `lockstep sweep`"},
                    Bad{"software: {torch: [\"2.1\", \"2.11\"]}\n", K::NotSupported, 5, "software.torch",
                        "a list of values is a sweep; `lockstep predict` takes lists in `gpus` and `strategy` only",
                        "keep one value, or run every combination with `lockstep sweep`"}));

INSTANTIATE_TEST_SUITE_P(
    Conflicts, BadLine,
    testing::Values(Bad{"seed: 1\nseed: 2\n", K::Conflict, 6, "seed", "the key is given twice, first in line 5",
                        "delete one of the two"},
                    Bad{"ddp:\n  static_graph: true\n  static_graph: true\n", K::Conflict, 7, "ddp.static_graph",
                        "the key is given twice, first in line 6", "delete one of the two"},
                    Bad{"ddp: {static_graph: true}\nddp.static_graph: true\n", K::Conflict, 6, "ddp.static_graph",
                        "the key is given twice, first in line 5", "delete one of the two"},
                    Bad{"precision: tf32\ntf32: {matmul: false}\n", K::Conflict, 6, "tf32.matmul",
                        "`precision: tf32` turns both TF32 switches on",
                        "write `precision: fp32` and set the switches one by one"},
                    Bad{"input: {source: device}\nloader: {sample_cost: 8ms}\n", K::Conflict, 5, "input.source",
                        "a loader (`loader.sample_cost`) puts batches into the host's memory",
                        "write `input.source: host`, or leave loader.sample_cost out"},
                    Bad{"loader: {sample_cost: 8ms}\ninput: {memory: pinned}\n", K::Conflict, 6, "input.memory",
                        "a loader's batch is in pageable memory unless `loader.pin_memory` is true",
                        "set `loader.pin_memory` to true"},
                    Bad{"noise: none\nnoise.jitter: 5%\n", K::Conflict, 5, "noise",
                        "`noise: none` and `noise.jitter` exclude each other", "keep one of them"},
                    Bad{"noise: {jitter: {per: rank}}\n", K::Missing, 5, "noise.jitter.sigma",
                        "`noise.jitter.sigma` is missing", ""}));

// Cases that are not one line more than a good scenario.
class BadScenario : public testing::TestWithParam<Bad> {};
TEST_P(BadScenario, IsRefusedWithItsMessage) {
  expect_the_error(GetParam().text, GetParam());
}

#define REST "topology: dgx-a100-80gb\ngpus: [1, 2]\n"

INSTANTIATE_TEST_SUITE_P(
    Whole, BadScenario,
    testing::Values(
        Bad{"", K::Syntax, 1, "", "the file is empty", ""},
        Bad{"just some words\n", K::Type, 1, "", "a scenario is a map of keys and values", ""},
        Bad{"- model: resnet50\n", K::Type, 1, "", "a scenario is a map of keys and values", ""},
        Bad{"batch: {per_gpu: 1}\n" REST, K::Missing, 0, "model", "`model` is missing",
            "for example `model: resnet50`"},
        Bad{"model: {image: 32}\nbatch: {per_gpu: 1}\n" REST, K::Missing, 1, "model.name", "`model.name` is missing",
            "for example `model: resnet50`"},
        Bad{"model: resnet50\n" REST, K::Missing, 0, "batch", "`batch` is missing",
            "for example `batch: {per_gpu: 128}`"},
        Bad{"model: resnet50\nbatch: {per_gpu: 8, global: 64}\n" REST, K::Conflict, 2, "batch.global",
            "`batch` holds both `per_gpu` and `global`",
            "keep one of them; `--set \"batch={global: ...}\"` replaces both"},
        Bad{"model: resnet50\nbatch: 128\n" REST, K::Type, 2, "batch", "keys and values are needed here",
            "for example `batch: {per_gpu: ...}`"},
        Bad{"model: resnet50\nbatch: {per_gpu: 0}\n" REST, K::Range, 2, "batch.per_gpu", "the value is out of range",
            ""},
        Bad{"model: resnet50\nbatch: {per_gpu: [32, 64]}\n" REST, K::NotSupported, 2, "batch.per_gpu",
            "a list of values is a sweep; `lockstep predict` takes lists in `gpus` and `strategy` only",
            "keep one value, or run every combination with `lockstep sweep`"},
        Bad{"model: resnet50\nbatch: {per_gpu: 8}\ntopology: dgx-a100-80gb\n", K::Missing, 0, "gpus",
            "`gpus` is missing", "for example `gpus: [1, 2, 4, 8]`"},
        Bad{"model: resnet50\nbatch: {per_gpu: 8}\ngpus: 8\n", K::Missing, 0, "topology", "`topology` is missing",
            "for example `topology: dgx-a100-80gb`"},
        Bad{"model: resnet50\nbatch: {per_gpu: 8}\ngpus: 8\ntopology: {fabric: eth-10g}\n", K::Missing, 4,
            "topology.node", "`topology.node` is missing", "for example `topology.node: dgx-a100-80gb`"},
        Bad{"model: resnet50\nbatch: {per_gpu: 8}\ntopology: x\ngpus: []\n", K::Range, 4, "gpus", "the list is empty",
            ""},
        Bad{"model: resnet50\nbatch: {per_gpu: 8}\ntopology: x\ngpus: [8, 0]\n", K::Range, 4, "gpus",
            "the value is out of range", ""},
        Bad{"model: resnet50\nbatch: {per_gpu: 8}\ntopology: x\ngpus: [8, 8]\n", K::Range, 4, "gpus",
            "`8` is listed twice", "list each value once"},
        Bad{"model: resnet50\nbatch: {per_gpu: 8}\ntopology: x\ngpus: [[1, 2], [4, 8]]\n", K::NotSupported, 4, "gpus",
            "a list of values is a sweep; `lockstep predict` takes lists in `gpus` and `strategy` only",
            "keep one value, or run every combination with `lockstep sweep`"},
        Bad{"model: resnet5\nbatch: {per_gpu: 8}\n" REST, K::Range, 1, "model.name", "there is no model `resnet5`",
            "did you mean `resnet50`?"},
        Bad{"model: [resnet50, vgg16]\nbatch: {per_gpu: 8}\n" REST, K::NotSupported, 1, "model",
            "a list of values is a sweep; `lockstep predict` takes lists in `gpus` and `strategy` only",
            "keep one value, or run every combination with `lockstep sweep`"},
        Bad{"model: {mlp: {inputs: 8, outputs: 2}, transformer: {layers: 2}}\nbatch: {per_gpu: 8}\n" REST, K::Conflict,
            1, "model", "`model` holds both `mlp` and `transformer`", "keep one of them"},
        Bad{"model: {name: vgg16, mlp: {inputs: 8}}\nbatch: {per_gpu: 8}\n" REST, K::Conflict, 1, "model.mlp",
            "`model.mlp` gives sizes to the model `vgg16`, which does not take them", "delete `name` or `mlp`"},
        Bad{"model: {mlp: {inputs: 8, hidden: []}}\nbatch: {per_gpu: 8}\n" REST, K::Range, 1, "model.mlp.hidden",
            "the list is empty", ""},
        Bad{"model: {mlp: {inputs: 8, hidden: 5}}\nbatch: {per_gpu: 8}\n" REST, K::Type, 1, "model.mlp.hidden",
            "a list is needed here", "write `[5]`"},
        Bad{"model: {transformer: {width: 100, heads: 3}}\nbatch: {per_gpu: 8}\n" REST, K::Conflict, 1,
            "model.transformer.heads", "3 heads do not divide a width of 100", ""},
        Bad{"model: {name: mine.yaml, image: 32}\nbatch: {per_gpu: 8}\n" REST, K::Conflict, 1, "model.image",
            "a model file has its own sizes and takes no options", "delete the key and change the file"},
        Bad{"model: resnet50\nbatch: {global: 64}\ncalibrate: 2it/s\n" REST, K::Conflict, 3, "calibrate.single_gpu",
            "a speed in iterations needs `batch.per_gpu`: under `batch.global` an iteration has no fixed size",
            "give the speed in samples per second"},
        Bad{"model: resnet50\nbatch: {per_gpu: 8}\ntopology: {node: x, override: {nic.rate: 5}}\ngpus: 1\n", K::Unit, 3,
            "topology.override.nic.rate", "a rate in bytes or bits per second needs its unit", "for example `25GB/s`"},
        Bad{"model: resnet50\nbatch: {per_gpu: 8}\ntopology: {node: x, override: {nics.rate: 5GB/s}}\ngpus: 1\n",
            K::UnknownKey, 3, "topology.override.nics", "`topology.override` has no such key", "did you mean `nic`?"},
        Bad{"model: resnet50\nbatch: {per_gpu: 8}\ntopology: {nodes: []}\ngpus: 1\n", K::Range, 3, "topology.nodes",
            "the list is empty", "delete the key"},
        Bad{"model: resnet50\nbatch: {per_gpu: 8}\ntopology: {node: x, gpu_index: []}\ngpus: 1\n", K::Range, 3,
            "topology.gpu_index", "the list is empty", "delete the key"},
        Bad{"model: resnet50\nbatch: {per_gpu: 8}\ntopology: {node: x, gpu_index: [0, -1]}\ngpus: 1\n", K::Range, 3,
            "topology.gpu_index", "the value is out of range", ""},
        Bad{"model: resnet50\nbatch: {per_gpu: 8}\ntopology: {nodes: a}\ngpus: 1\n", K::Type, 3, "topology.nodes",
            "a list is needed here", "write `[a]`"}));

struct BadSet {
  const char* set;
  Bad bad;
};
void PrintTo(const BadSet& bad, std::ostream* out) {
  *out << bad.set;
}
class BadSetting : public testing::TestWithParam<BadSet> {};
TEST_P(BadSetting, IsRefusedWithItsMessage) {
  expect_the_error(kGoodStart, GetParam().bad, {GetParam().set});
}

INSTANTIATE_TEST_SUITE_P(
    Set, BadSetting,
    testing::Values(
        BadSet{"ddp.bucket_cap=25",
               Bad{"", K::Unit, 0, "ddp.bucket_cap", "a size in bytes needs its unit", "for example `25MiB`"}},
        BadSet{"ddp.bukcet_cap=25MiB",
               Bad{"", K::UnknownKey, 0, "ddp.bukcet_cap", "`ddp` has no such key", "did you mean `bucket_cap`?"}},
        BadSet{"batch.global=1024", Bad{"", K::Conflict, 0, "batch.global", "`batch` holds both `per_gpu` and `global`",
                                        "keep one of them; `--set \"batch={global: ...}\"` replaces both"}},
        BadSet{"seed", Bad{"", K::Syntax, 0, "", "--set needs a key, an equals sign and a value",
                           "for example `--set ddp.bucket_cap=10MiB`"}},
        BadSet{"gpus=[1", Bad{"", K::Syntax, 0, "gpus", "a list or a map stands where a key is needed",
                              "a key is plain text; is a bracket left open?"}},
        BadSet{"seed=", Bad{"", K::Type, 0, "seed", "the key has no value", "delete the key to get the default"}}));

TEST(BadInput, AllErrorsOfAFileComeAtOnceAndInOrder) {
  const Expected<Scenario> scenario =
      read_scenario("model: resnet5\nbatch: {per_gpu: -1}\nbaatch: 2\ntopology: x\nddp: {bucket_cap: 25}\n", "x.yaml",
                    {"seed=a", "mode=train"});
  ASSERT_FALSE(scenario);
  std::vector<std::string> keys;
  for (const Error& error : scenario.error()) keys.push_back(error.key);
  EXPECT_THAT(keys,
              testing::ElementsAre("model.name", "batch.per_gpu", "baatch", "ddp.bucket_cap", "seed", "mode", "gpus"));
}

TEST(BadInput, EveryItemOfARefusedListIsChecked) {
  const Expected<Scenario> scenario =
      read_scenario(kGoodStart + std::string("ddp: {bucket_cap: [1MiB, 25, 5us]}\n"), "x.yaml");
  ASSERT_FALSE(scenario);
  ASSERT_EQ(scenario.error().size(), 3u);
  EXPECT_EQ(scenario.error()[0].kind, ErrorKind::NotSupported);
  EXPECT_EQ(scenario.error()[1].found, "25");
  EXPECT_EQ(scenario.error()[2].found, "5us");
}

TEST(BadInput, WhatTheCallerChecksGetsItsPlace) {
  ReadOptions options;
  options.check = [](const Scenario& s) {
    Error error;
    error.kind = ErrorKind::Range;
    error.key = "topology.node";
    error.message = "there is no topology " + s.topology_node;
    Error elsewhere = error;
    elsewhere.file = "node.yaml";
    elsewhere.line = 99;
    return Errors{error, elsewhere};
  };
  const Expected<Scenario> scenario = read_scenario(kGoodStart, "x.yaml", {}, options);
  ASSERT_FALSE(scenario);
  EXPECT_EQ(scenario.error().front().line, 3);
  EXPECT_EQ(scenario.error().front().column, 11);
  EXPECT_EQ(scenario.error().front().file, "x.yaml");
  EXPECT_EQ(scenario.error().back().file, "node.yaml");
  EXPECT_EQ(scenario.error().back().line, 99);
}

TEST(BadScenario, AMissingMachineIsAskedForWithTwoNamesOrAPath) {
  const auto read = read_scenario("model: resnet50\nbatch: {per_gpu: 8}\ngpus: 8\n", "x.yaml", {});
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().front().allowed,
            "a machine such as dgx-a100-80gb or dgx1-v100, or the path of a topology file");
}

TEST(BadSets, AreToldInTheOrderGiven) {
  const Expected<ReadScenario> read = read_scenario_with_origins(
      kGoodStart, "x.yaml", {"zzz=1", "gpus=x", "batch={per_gpu: -3}", "host.factor=y", "nothing", "aaa=2"});
  ASSERT_FALSE(read);
  std::vector<std::string> keys;
  for (const Error& error : read.error()) keys.push_back(error.key.empty() ? error.found : error.key);
  EXPECT_EQ(keys, (std::vector<std::string>{"zzz", "gpus", "batch.per_gpu", "host.factor", "nothing", "aaa"}));
}

}  // namespace
}  // namespace lockstep
