#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "simulator/base/document.h"
#include "simulator/cli/help.h"
#include "simulator/cli/table.h"
#include "tests/simulator/cli/in_process.h"
#include "topologies/presets.h"

namespace lockstep {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::lockstep_in_process;
using ::testing::Not;
using testing::small_scenario;

TEST(CommandLine, commands_of_later_versions_are_refused_by_name) {
  for (const std::string& command : commands_of_later_versions()) {
    const auto outcome = lockstep_in_process({command, "whatever", "--fast"});
    EXPECT_EQ(outcome.code, 1) << command;
    EXPECT_EQ(outcome.err, "lockstep: command line: `lockstep " + command + "` comes with a later version\n");
    EXPECT_THAT(outcome.out, IsEmpty());
  }
}

TEST(CommandLine, wrong_ones_say_what_is_wrong_and_what_to_try) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{}, "a command is missing"},
      {{"predit", "x"}, "did you mean `predict`?"},
      {{"predict"}, "FILE is required"},
      {{"predict", "x", "--jsn"}, "did you mean `--json`?"},
      {{"solve", "x", "y", "--for", "gpus", "--given", "efficiency=0.9"}, "one argument too many: `y`"},
      {{"sweep", "x", "y"}, "only predict and explain take several"},
      {{"--set", "gpus=8", "predict", "x"}, "`--set` stands before the command; try: lockstep predict x --set gpus=8"},
      {{"sweep", "x", "-o", "-"}, "-o of `lockstep sweep` is a folder"},
      {{"--quiet"}, "a command is missing before `--quiet`"},
      {{"--versoin"}, "did you mean `--version`?"},
      {{"--jsn", "predict", "x"}, "did you mean `--json`?"},
      {{"predict", "-", "-"}, "standard input can be read once only"},
      {{"predict", "x", "--seed", "1", "--set", "seed=1"}, "--seed and `--set seed` exclude each other"},
      {{"predict", "x", "--trace", "-"}, "a trace on standard output would run into the result"},
      {{"predict", "strong-scaling", "pcie-box", "--trace", "t.json"}, "a trace shows one scenario"},
      {{"predict", "x", "--spans", "-"}, "a trace on standard output would run into the result"},
      {{"list", "models", "--set", "gpus=8"}, "`--set` means nothing to `lockstep list`"},
      {{"compare", "a", "b", "--seed", "3"}, "`--seed` means nothing to `lockstep compare`"},
      {{"show", "model", "resnet50", "--set", "gpus=8"}, "--set: gpus: it changes nothing"},
      {{"show", "topology", "dgx-a100-80gb", "--set", "model.image=32"}, "keys of `topology`"},
      {{"show", "gpu", "h200", "--set", "topology.node=x"}, "--set: topology.node: it changes nothing"},
      {{"show", "gpu", "h20"}, "did you mean `h200`?"},
      {{"show", "fabric", "eth-9g"}, "there is no fabric preset"},
      {{"completions", "tcsh"}, "bash, zsh, fish"},
      {{"completions", "bash", "--json"}, "--json"},
      {{"predict", "x", "--json", "--csv"}, "exclude each other"},
      {{"predict", "x", "--calibration", "c.json"}, "`--calibration` comes with a later version"},
      {{"predict", "x", "--estimate", "--reference"}, "two ways to predict"},
      {{"predict", "no-such-file.yaml"}, "no-such-file.yaml"},
      {{"predict", "strong-scalin"}, "did you mean `strong-scaling`?"},
      {{"predict", "strong-scaling", "--set", "batch.global"}, "--set"},
      {{"list", "modells"}, "did you mean `models`?"},
      {{"show", "thing", "x"}, "scenario, model, topology, fabric, gpu"},
      {{"show", "model", "resnet-51"}, "there is no model `resnet-51`"},
      {{"show", "topology", "dgx-a100"}, "dgx-a100"},
      {{"show", "topology", "dgx-a100-80gb", "--json"}, "shown as text"},
      {{"validate", "claims", "--fail-above", "much"}, "--fail-above"},
  };
  for (const auto& [words, part] : cases) {
    const auto outcome = lockstep_in_process(words);
    const bool document = std::find(words.begin(), words.end(), "--json") != words.end();
    EXPECT_EQ(outcome.code, 1) << part;
    EXPECT_THAT(document ? outcome.out : outcome.err, HasSubstr(part));
    EXPECT_THAT(document ? outcome.err : outcome.out, IsEmpty()) << part;
  }
}

TEST(CommandLine, show_names_no_place_in_a_text_that_nobody_wrote) {
  for (const char* kind : {"topology", "model", "gpu", "fabric"}) {
    const auto outcome = lockstep_in_process({"show", kind, "nope"});
    EXPECT_EQ(outcome.code, 1) << kind;
    EXPECT_THAT(outcome.err, HasSubstr("command line: ")) << kind;
    EXPECT_THAT(outcome.err, ::testing::Not(HasSubstr("command line:1"))) << kind;
  }
}

TEST(CommandLine, shows_machines_in_lines_of_100_columns) {
  const auto expect_fits = [](const std::vector<std::string>& words) {
    const auto outcome = lockstep_in_process(words);
    EXPECT_EQ(outcome.code, 0) << words[2];
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);)
      EXPECT_LE(text_width(line), kColumns) << words[2] << ": " << line;
    return outcome.out;
  };
  const PresetPaths paths = default_preset_paths();
  for (const std::string& name : preset_names(PresetKind::Node, paths)) expect_fits({"show", "topology", name});
  for (const std::string& name : preset_names(PresetKind::Fabric, paths)) {
    expect_fits({"show", "topology", "dgx1-v100", "--set", "topology.fabric=" + name});
    const std::string yaml = expect_fits({"show", "fabric", name});
    EXPECT_TRUE(parse_document(yaml, name)) << yaml;
  }
  for (const std::string& name : preset_names(PresetKind::Gpu, paths)) {
    const std::string yaml = expect_fits({"show", "gpu", name});
    EXPECT_TRUE(parse_document(yaml, name)) << yaml;
    EXPECT_EQ(lockstep_in_process({"show", "gpu", name, "--json"}).code, 0);
  }
}

TEST(CommandLine, with_json_every_error_is_one_document_on_standard_output) {
  const std::vector<std::vector<std::string>> cases = {{"predict", "--json"},
                                                       {"predict", "no-such-file", "--json"},
                                                       {"predict", "x", "--jsn", "--json"},
                                                       {"sweep", "x", "--json"},
                                                       {"nonsense", "--json"},
                                                       {"predict", "strong-scaling", "--json", "--set", "gpus=nine"}};
  for (const auto& words : cases) {
    const auto outcome = lockstep_in_process(words);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.err, IsEmpty());
    const json document = json::parse(outcome.out);
    EXPECT_EQ(document["error"], document["errors"][0]);
    EXPECT_TRUE(document["error"].contains("kind"));
    EXPECT_FALSE(document["error"]["message"].get<std::string>().empty());
  }
}

TEST(CommandLine, all_errors_of_a_scenario_come_in_file_order_with_their_place) {
  const auto outcome = lockstep_in_process({"predict", "-", "--json"},
                                           "modle: resnet50\nmodel: resnet50\nbatch: {per_gpu: many}\n"
                                           "topology: dgx-a100-80gb\ngpus: 99\n");
  const json errors = json::parse(outcome.out)["errors"];
  ASSERT_EQ(errors.size(), 2U) << outcome.out;  // the machine is looked at when the scenario itself is right
  EXPECT_EQ(errors[0]["kind"], "unknown_key");
  EXPECT_EQ(errors[0]["line"], 1);
  EXPECT_EQ(errors[0]["file"], "standard input");
  EXPECT_EQ(errors[1]["line"], 3);
}

TEST(CommandLine, more_gpus_than_the_machine_holds_are_wrong_input) {
  const auto outcome = lockstep_in_process({"predict", "-", "--set", "gpus=16"}, small_scenario());
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("--set: gpus:"));
}

TEST(CommandLine, a_list_given_to_set_stays_one_value) {
  const auto outcome =
      lockstep_in_process({"predict", "-", "--csv", "--set", "gpus=[1, 2]", "--set", "strategy=ddp"}, small_scenario());
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 4);  // header, single, ddp on 1 and 2
}

TEST(CommandLine, seed_is_short_for_set) {
  const std::string noisy = std::string(small_scenario()) + "noise: {jitter: {sigma: 5%}, runs: 20}\n";
  const auto step = [&](const std::string& seed) {
    return lockstep_in_process({"predict", "-", "--csv", "--set", "gpus=4", "--set", "strategy=ddp", "--seed", seed},
                               noisy)
        .out;
  };
  EXPECT_EQ(step("1"), step("1"));
  EXPECT_NE(step("1"), step("2"));
}

TEST(CommandLine, help_and_version_are_results) {
  EXPECT_EQ(lockstep_in_process({"--version"}).out, "lockstep 0.1.0\n");
  for (const CommandHelp& command : command_help()) {
    if (command.name == "help") continue;  // its help is the list of commands
    const auto option = lockstep_in_process({command.name, "--help"});
    EXPECT_EQ(option.code, 0);
    EXPECT_THAT(option.out, HasSubstr("Examples:\n" + command.examples));
    EXPECT_EQ(lockstep_in_process({"help", command.name}).out, option.out);
  }
  EXPECT_THAT(lockstep_in_process({"--help"}).out, HasSubstr("130"));
}

TEST(List, names_what_comes_with_lockstep) {
  const std::vector<std::pair<std::string, std::string>> cases = {{"models", "resnet50"},
                                                                  {"topologies", "dgx-a100-80gb"},
                                                                  {"fabrics", "ib-hdr-8x200"},
                                                                  {"gpus", "a100-sxm4-80gb"},
                                                                  {"scenarios", "dp-vs-ddp-resnet50-8xa100"}};
  for (const auto& [kind, name] : cases) {
    EXPECT_THAT(lockstep_in_process({"list", kind}).out, HasSubstr(name));
    bool found = false;
    const json document = json::parse(lockstep_in_process({"list", kind, "--json"}).out);
    for (const json& one : document[kind]) found |= one["name"] == name;
    EXPECT_TRUE(found) << kind;
    EXPECT_THAT(lockstep_in_process({"list", kind, "--csv"}).out, HasSubstr("name,summary\n"));
  }
}

TEST(Show, a_scenario_names_the_origin_of_each_value_and_predicts_the_same) {
  const std::vector<std::string> set = {"--set", "gpus=4", "--set", "strategy=ddp"};
  std::vector<std::string> show = {"show", "scenario", "-"}, predict = {"predict", "-", "--csv"};
  show.insert(show.end(), set.begin(), set.end());
  predict.insert(predict.end(), set.begin(), set.end());
  const auto shown = lockstep_in_process(show, small_scenario());
  ASSERT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("# standard input:2"));
  EXPECT_THAT(shown.out, HasSubstr("# --set"));
  EXPECT_THAT(shown.out, HasSubstr("# default"));
  EXPECT_EQ(lockstep_in_process({"predict", "-", "--csv"}, shown.out).out,
            lockstep_in_process(predict, small_scenario()).out);
}

TEST(Show, a_model_and_a_topology_take_the_settings_of_a_scenario) {
  EXPECT_NE(lockstep_in_process({"show", "model", "resnet50", "--set", "model.image=32"}).out,
            lockstep_in_process({"show", "model", "resnet50"}).out);
  EXPECT_EQ(json::parse(lockstep_in_process({"show", "model", "ResNet18", "--json"}).out)["name"], "resnet18");
  EXPECT_THAT(lockstep_in_process({"show", "topology", "dgx-a100-80gb", "--set", "topology.fabric=ib-hdr-8x200"}).out,
              HasSubstr("ib-hdr-8x200"));
}

TEST(Show, a_gpu_and_a_fabric_are_what_their_files_say) {
  const auto gpu = lockstep_in_process({"show", "gpu", "A100_SXM4_80GB"});
  EXPECT_EQ(gpu.code, 0);
  EXPECT_THAT(gpu.out, HasSubstr("source: \"NVIDIA A100"));
  EXPECT_THAT(gpu.out, HasSubstr("topologies/gpus/a100-sxm4-80gb.yaml\nname: a100-sxm4-80gb\n"));
  const json fabric = json::parse(lockstep_in_process({"show", "fabric", "eth-10g", "--json"}).out);
  EXPECT_EQ(fabric["nics"]["rate"], "10Gb/s");
  EXPECT_FALSE(fabric["source"].get<std::string>().empty());
  // Its text is a file of its own.
  const std::string path = ::testing::TempDir() + "lockstep-shown-gpu.yaml";
  EXPECT_EQ(lockstep_in_process({"show", "gpu", "t4", "-o", path}).code, 0);
  EXPECT_THAT(lockstep_in_process({"show", "gpu", path}).out, HasSubstr("name: t4"));
  std::ofstream(path) << "name: broken\n";
  EXPECT_THAT(lockstep_in_process({"show", "gpu", path}).err, HasSubstr("source"));
  std::filesystem::remove(path);
}

TEST(List, quiet_gives_the_names_alone) {
  const auto names = lockstep_in_process({"list", "fabrics", "--quiet"}).out;
  EXPECT_THAT(names, HasSubstr("eth-10g\neth-1g\n"));
  EXPECT_EQ(names.find(' '), std::string::npos);
}

TEST(Predict, a_measured_speed_is_in_the_models_own_samples) {
  const auto with = [](const std::string& model, const std::string& speed) {
    return lockstep_in_process({"predict", "-", "--json", "--estimate"},
                               "model: " + model + "\nbatch: {per_gpu: 8}\ntopology: dgx-a100-80gb\ngpus: 1\n" +
                                   "calibrate: {single_gpu: " + speed + "}\n");
  };
  for (const char* speed : {"100samples/s", "12it/s", "0.1s/it", "100seq/s"})
    EXPECT_EQ(with("bert-base", speed).code, 0) << speed;
  for (const char* speed : {"100samples/s", "12it/s", "100img/s", "100 images/s"})
    EXPECT_EQ(with("resnet18", speed).code, 0) << speed;
  for (const auto& [model, speed] :
       {std::pair{"bert-base", "100img/s"}, std::pair{"resnet18", "100 seq/s"}, std::pair{"mlp", "100images/s"}}) {
    const auto outcome = with(model, speed);
    EXPECT_EQ(outcome.code, 1) << model;
    const json error = json::parse(outcome.out)["error"];
    EXPECT_EQ(error["kind"], "unit");
    EXPECT_EQ(error["key"], "calibrate.single_gpu");
    EXPECT_EQ(error["line"], 5);
    EXPECT_THAT(error["allowed"].get<std::string>(), HasSubstr("samples/s, it/s"));
  }
}

TEST(Predict, bf16_without_hardware_for_it_is_told) {
  const auto note = [](const char* topology) {
    return lockstep_in_process({"predict", "-", "--estimate"},
                               std::string("model: resnet18\nbatch: {per_gpu: 8}\ngpus: 1\n"
                                           "precision: amp-bf16\ntopology: ") +
                                   topology)
        .out;
  };
  EXPECT_THAT(note("dgx1-v100"), HasSubstr("has no bf16 hardware"));
  EXPECT_THAT(note("dgx1-v100"), HasSubstr("its CUDA cores"));
  EXPECT_THAT(note("cpu-host"), HasSubstr("has no bf16 hardware"));
  EXPECT_THAT(note("cpu-host"), Not(HasSubstr("CUDA")));
  EXPECT_THAT(note("dgx-a100-80gb"), Not(HasSubstr("bf16 hardware")));
}

TEST(Predict, a_dash_for_the_output_file_is_standard_output) {
  EXPECT_EQ(lockstep_in_process({"list", "gpus", "-o", "-"}).out, lockstep_in_process({"list", "gpus"}).out);
}

TEST(Predict, forms_exclude_words) {
  const auto document = lockstep_in_process({"predict", "-", "--json"}, small_scenario());
  EXPECT_EQ(document.code, 0);
  EXPECT_THAT(document.err, IsEmpty());
  EXPECT_EQ(json::parse(document.out)["format"], "lockstep-result");
  const auto quiet = lockstep_in_process({"predict", "-", "--quiet"}, small_scenario());
  EXPECT_THAT(quiet.out, HasSubstr("ddp"));
  EXPECT_THAT(quiet.out, Not(HasSubstr("largest")));
}

TEST(Predict, json_lines_end_in_the_result) {
  const auto outcome = lockstep_in_process({"predict", "-", "--jsonl"}, small_scenario());
  std::istringstream lines(outcome.out);
  std::vector<json> all;
  for (std::string line; std::getline(lines, line);) all.push_back(json::parse(line));
  ASSERT_GT(all.size(), 6U);
  EXPECT_EQ(all.front()["type"], "progress");
  EXPECT_EQ(all.back()["type"], "result");
  EXPECT_EQ(std::count_if(all.begin(), all.end(), [](const json& line) { return line["type"] == "run"; }), 5);
  const auto failed = lockstep_in_process({"predict", "nothing-there", "--jsonl"});
  EXPECT_EQ(json::parse(failed.out)["type"], "error");
}

TEST(Predict, a_run_that_cannot_be_is_in_the_table_with_its_reason) {
  const std::vector<std::string> two_nodes = {
      "predict", "-", "--set", "topology.fabric=ib-hdr-8x200", "--set", "gpus=[8, 16]", "--estimate"};
  const auto some = lockstep_in_process(two_nodes, small_scenario());
  EXPECT_EQ(some.code, 0);
  EXPECT_THAT(some.out, HasSubstr("not run: DataParallel runs in one process: one node has 8 GPUs"));
  auto only = two_nodes;
  only.insert(only.end(), {"--set", "gpus=16", "--set", "strategy=dp"});
  EXPECT_EQ(lockstep_in_process(only, small_scenario()).code, 2);
}

TEST(Predict, output_goes_to_a_file_and_nowhere_else) {
  const std::string path = ::testing::TempDir() + "lockstep-output-test.json";
  const auto outcome = lockstep_in_process({"predict", "-", "--json", "-o", path}, small_scenario());
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, IsEmpty());
  std::ifstream file(path);
  EXPECT_EQ(json::parse(file)["format"], "lockstep-result");
  std::filesystem::remove(path);
  EXPECT_EQ(lockstep_in_process({"predict", "-", "-o", "/no/such/folder/x"}, small_scenario()).code, 2);
}

TEST(Predict, the_three_ways_agree_where_nothing_contends) {
  const auto step = [](const char* way) {
    std::vector<std::string> words = {"predict", "-", "--json", "--set", "gpus=4", "--set", "strategy=ddp"};
    if (*way != '\0') words.emplace_back(way);
    const json document = json::parse(lockstep_in_process(words, small_scenario()).out);
    return document["runs"][1]["step_time_s"].get<double>();
  };
  const double simulated = step("");
  EXPECT_NEAR(step("--reference"), simulated, 1e-6 * simulated);
  EXPECT_NEAR(step("--estimate"), simulated, 0.2 * simulated);  // copies of four GPUs share uplinks
}

}  // namespace
}  // namespace lockstep
