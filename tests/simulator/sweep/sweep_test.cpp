// `lockstep sweep`: the values are those of `predict`, and its forms.
#include "simulator/sweep/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "simulator/result/json.h"
#include "tests/simulator/cli/in_process.h"

namespace lockstep {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::lockstep_in_process;
using ::testing::StartsWith;

const char* const kScenario =
    "model: {name: resnet18, image: [32, 64]}\n"
    "batch: {per_gpu: 16}\n"
    "topology: dgx-a100-80gb\n"
    "gpus: [2, 8]\n"
    "strategy: [single, dp, ddp]\n"
    "data: {samples: 50000, epochs: 2}\n";

std::vector<json> lines_of(const std::string& text, const std::string& type) {
  std::vector<json> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (json one = json::parse(line); one["type"] == type) found.push_back(std::move(one));
  return found;
}

// A run of predict for one point of kScenario, without what only the whole answer or the sweep has.
json bare(json run) {
  for (const char* key : {"type", "notes", "point"}) run.erase(key);
  return run;
}

TEST(Sweep, gives_every_point_the_value_that_predict_gives_it) {
  for (const bool estimate : {false, true}) {
    std::vector<std::string> words = {"sweep", "-", "--jsonl", "--workers", "3"};
    if (estimate) words.push_back("--estimate");
    const auto sweep = lockstep_in_process(words, kScenario);
    ASSERT_EQ(sweep.code, 0) << sweep.err;
    const auto runs = lines_of(sweep.out, "run");
    ASSERT_EQ(runs.size(), 10u);  // 2 x (3 strategies x 2 - single once)
    for (const json& run : runs) {
      const json& point = run["point"];
      std::vector<std::string> predict = {"predict", "-", "--json"};
      if (estimate) predict.push_back("--estimate");
      for (const char* key : {"model.image", "gpus", "strategy"})
        predict.insert(predict.end(), {"--set", key + std::string("=") + point[key].get<std::string>()});
      const json answer = json::parse(lockstep_in_process(predict, kScenario).out);
      json expected = answer["runs"].back();
      expected.erase("point");
      EXPECT_EQ(bare(run), bare(expected)) << point;
    }
  }
}

TEST(Sweep, has_the_columns_of_the_contract_with_the_swept_keys_in_front) {
  const auto sweep = lockstep_in_process({"sweep", "-", "--csv"}, kScenario);
  ASSERT_EQ(sweep.code, 0) << sweep.err;
  EXPECT_THAT(sweep.out,
              StartsWith("model.image,strategy,implementation,gpus,nodes,world_size,per_gpu_batch,global_batch,"
                         "micro_steps,step_time_s,throughput,throughput_unit,speedup,efficiency,breakdown_s.input,"));
  std::istringstream lines(sweep.out);
  std::vector<std::string> starts;
  for (std::string line; std::getline(lines, line);) starts.push_back(line.substr(0, line.find(',', 4)));
  starts.erase(starts.begin());
  EXPECT_THAT(starts, ::testing::ElementsAre("32,single", "32,dp", "32,ddp", "32,dp", "32,ddp", "64,single", "64,dp",
                                             "64,ddp", "64,dp", "64,ddp"));
}

TEST(Sweep, is_the_same_whatever_the_number_of_workers) {
  const auto one = lockstep_in_process({"sweep", "-", "--csv", "--workers", "1"}, kScenario);
  const auto five = lockstep_in_process({"sweep", "-", "--csv", "--workers", "5"}, kScenario);
  EXPECT_EQ(one.out, five.out);
}

TEST(Sweep, has_a_row_with_the_reason_for_a_point_that_cannot_run) {
  const auto sweep = lockstep_in_process({"sweep", "-", "--jsonl", "--set", "gpus=[8,16]", "--set", "model.image=32",
                                          "--set", "topology=[dgx-a100-80gb, {node: dgx-a100-80gb, fabric: own}]"},
                                         kScenario);
  EXPECT_EQ(sweep.code, 0) << sweep.err;
  int refused = 0;
  for (const json& run : lines_of(sweep.out, "run")) {
    const bool one_node = run["point"]["topology"] == "dgx-a100-80gb";
    const bool cannot = run["point"]["gpus"] == "16" && (one_node || run["strategy"] == "dp");
    EXPECT_EQ(run.contains("not_run"), cannot) << run["point"];
    EXPECT_EQ(run.contains("step_time_s"), !cannot);
    refused += cannot ? 1 : 0;
    if (cannot && one_node) {
      EXPECT_THAT(run["not_run"].get<std::string>(), HasSubstr("holds 8 GPUs"));
      EXPECT_EQ(run["gpus"], 16);
    }
  }
  EXPECT_EQ(refused, 3);
  const auto summary = lines_of(sweep.out, "summary").at(0);
  EXPECT_EQ(summary["not_run"], 3);
  EXPECT_EQ(summary["points"].get<int>(), summary["run"].get<int>() + 3);
}

TEST(Sweep, fails_when_nothing_can_run_and_refuses_what_is_wrong_everywhere) {
  EXPECT_EQ(
      lockstep_in_process(
          {"sweep", "-", "--set", "gpus=[16,32]", "--set", "strategy=dp", "--set", "topology.fabric=own"}, kScenario)
          .code,
      2);
  const auto nowhere = lockstep_in_process({"sweep", "-", "--set", "topology=nowhere"}, kScenario);
  EXPECT_EQ(nowhere.code, 1);
  EXPECT_THAT(nowhere.err, HasSubstr("nowhere"));
}

TEST(Sweep, without_any_run_has_no_units_in_its_table) {
  const auto sweep = lockstep_in_process(
      {"sweep", "-", "--set", "gpus=[16,32]", "--set", "strategy=dp", "--set", "topology.fabric=own"}, kScenario);
  EXPECT_THAT(sweep.out, StartsWith("model.image  strategy  GPUs  step\n32 "));
  EXPECT_THAT(sweep.out, HasSubstr("not run"));
}

TEST(Sweep, marks_the_rows_that_do_not_fit_the_memory_in_every_form) {
  const std::string scenario =
      "model: vit-b-16\nbatch: {per_gpu: [64, 600]}\ntopology: dgx1-v100\ngpus: [8]\nstrategy: ddp\n";
  const auto table = lockstep_in_process({"sweep", "-", "--quiet"}, scenario);
  ASSERT_EQ(table.code, 0) << table.err;
  std::istringstream lines(table.out);
  std::vector<std::string> rows;
  for (std::string line; std::getline(lines, line);) rows.push_back(line);
  ASSERT_EQ(rows.size(), 4u) << table.out;
  EXPECT_THAT(rows[2], ::testing::Not(HasSubstr("fit")));
  EXPECT_THAT(rows[3], ::testing::EndsWith("does not fit"));
  const auto csv = lockstep_in_process({"sweep", "-", "--csv"}, scenario);
  EXPECT_THAT(csv.out, AllOf(HasSubstr(",not_run,fits_memory\n"), HasSubstr(",true\n"), HasSubstr(",false\n")));
  const json document = json::parse(lockstep_in_process({"sweep", "-", "--json"}, scenario).out);
  EXPECT_EQ(document["runs"][0]["fits_memory"], true);
  EXPECT_EQ(document["runs"][1]["fits_memory"], false);
}

TEST(Sweep, as_a_document_is_a_result_with_a_run_for_each_point) {
  const json document = json::parse(lockstep_in_process({"sweep", "-", "--json"}, kScenario).out);
  EXPECT_EQ(document["format"], "lockstep-result");
  EXPECT_EQ(document["runs"].size(), 10u);
  EXPECT_EQ(document["scenario"]["gpus"], json({2, 8}));
}

TEST(Sweep, shows_throughput_and_cost_of_a_gpu_side_by_side_where_there_is_a_price) {
  const auto sweep = lockstep_in_process({"sweep", "-", "--set", "price_per_gpu_hour=[2,4]"}, kScenario);
  EXPECT_THAT(sweep.out, AllOf(HasSubstr("per GPU"), HasSubstr("cost"), HasSubstr("price_per_")));
}

TEST(APrice, gives_the_cost_of_an_epoch_and_of_the_run) {
  const auto predict = lockstep_in_process(
      {"predict", "-", "--json", "--set", "model.image=32", "--set", "price_per_gpu_hour=2.5"}, kScenario);
  ASSERT_EQ(predict.code, 0) << predict.err;
  const json answer = json::parse(predict.out);
  for (const json& run : answer["runs"]) {
    const double gpu_hours = run["epoch_time_s"].get<double>() * run["gpus"].get<double>() / 3600;
    EXPECT_NEAR(run["cost_per_epoch"].get<double>(), 2.5 * gpu_hours, 1e-12 * gpu_hours);
    EXPECT_NEAR(run["cost_total"].get<double>(), 5 * gpu_hours, 1e-12 * gpu_hours);  // two epochs, no validation
  }
  const auto table = lockstep_in_process(
      {"predict", "-", "--quiet", "--set", "model.image=32", "--set", "price_per_gpu_hour=2.5"}, kScenario);
  EXPECT_THAT(table.out, AllOf(HasSubstr("per s and GPU"), HasSubstr("cost")));
  EXPECT_EQ(
      lockstep_in_process({"predict", "-", "--set", "price_per_gpu_hour=0", "--set", "model.image=32"}, kScenario).code,
      1);
}

// What is remembered between points changes none of them: one object for all points against a new one for each.
std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, line.size());
  return widest;
}

TEST(SweepTable, stays_within_100_columns_with_long_reasons_and_many_keys) {
  const auto sweep = lockstep_in_process(
      {"sweep", "-", "--estimate", "--set", "gpus=[8,16]", "--set", "model.image=32", "--set",
       "topology.fabric=[none,own]", "--set", "optimizer.implementation=[fused]", "--set",
       "ddp.gradient_as_bucket_view=[true,false]", "--set", "topology.override.nvlink.rate=[250GB/s]", "--set",
       "topology.override.nvlink.latency=[2us]", "--set", "price_per_gpu_hour=[2.5]"},
      kScenario);
  ASSERT_EQ(sweep.code, 0) << sweep.err;
  EXPECT_LE(widest_line(sweep.out), 100u) << sweep.out;
  EXPECT_THAT(sweep.out, AllOf(HasSubstr("not run [1]"), HasSubstr("\n[1] ")));
  EXPECT_THAT(sweep.out, AllOf(HasSubstr("DataParallel runs in one process"), HasSubstr("holds 8 GPUs")));
}

TEST(SweepTable, says_once_what_is_the_same_in_all_rows_and_numbers_what_is_too_wide) {
  const auto wide = [&](const std::string& values) {
    return lockstep_in_process(
               {"sweep", "-", "--estimate", "--set", "model.image=32", "--set", "gpus=[8]", "--set",
                "topology.override.nvlink.rate=" + values, "--set",
                "topology.override.nvlink.latency=" + (values == "[250GB/s]" ? std::string("[2us]") : "[2us,3us]"),
                "--set", "ddp.gradient_as_bucket_view=[true,false]", "--set",
                "optimizer.implementation=[fused,foreach]", "--set", "optimizer.zero_grad=[none,zeros]", "--set",
                "price_per_gpu_hour=[2.5,3.5]"},
               kScenario)
        .out;
  };
  const std::string one = wide("[250GB/s]");
  EXPECT_THAT(one, StartsWith("in all rows: topology.override.nvlink.rate=250GB/s, "
                              "topology.override.nvlink.latency=2us\n"));
  EXPECT_LE(widest_line(one), 100u) << one;
  const std::string two = wide("[250GB/s,300GB/s]");
  EXPECT_THAT(two, AllOf(StartsWith("set  strategy"), HasSubstr("\nset 1: topology.override.nvlink.rate=250GB/s, ")));
  EXPECT_THAT(two, HasSubstr("\nset 64: "));
  EXPECT_LE(widest_line(two), 100u);
}

TEST(SweepTable, stays_within_100_columns_whatever_the_price_the_noise_and_the_memory) {
  const auto sweep = lockstep_in_process({"sweep",
                                          "-",
                                          "--estimate",
                                          "--set",
                                          "model.image=[32,2048]",
                                          "--set",
                                          "batch.per_gpu=[16,512]",
                                          "--set",
                                          "gpus=[8]",
                                          "--set",
                                          "strategy=[ddp]",
                                          "--set",
                                          "topology.override.nvlink.rate=[250GB/s,300GB/s]",
                                          "--set",
                                          "topology.override.nvlink.latency=[2us,3us]",
                                          "--set",
                                          "optimizer.implementation=[fused,foreach]",
                                          "--set",
                                          "ddp.gradient_as_bucket_view=[true,false]",
                                          "--set",
                                          "price_per_gpu_hour=[1.5e200,2.5]",
                                          "--set",
                                          "noise.jitter=5%",
                                          "--set",
                                          "noise.runs=5"},
                                         kScenario);
  ASSERT_EQ(sweep.code, 0) << sweep.err;
  EXPECT_LE(widest_line(sweep.out), 100u) << sweep.out;
  EXPECT_THAT(sweep.out, AllOf(HasSubstr("does not fit"), HasSubstr("e+20")));
}

TEST(SweepTable, of_few_keys_has_their_whole_names_and_values) {
  const auto sweep =
      lockstep_in_process({"sweep", "-", "--estimate", "--set",
                           "topology=[dgx-a100-80gb, {node: dgx-a100-80gb, fabric: own}]", "--set", "model.image=32"},
                          kScenario);
  EXPECT_THAT(sweep.out, AllOf(StartsWith("topology"), HasSubstr("{node: dgx-a100-80gb, fabric: own}")));
}

TEST(SweptPoints, are_the_same_to_the_bit_whatever_was_predicted_before) {
  const auto axes = read_sweep_axes(
      "model: {name: resnet18, image: 32}\nbatch: {per_gpu: [16, 64]}\n"
      "topology: {node: [dgx-a100-80gb, dgx1-v100], fabric: ib-edr-1x100, override: {nic.rate: [1GB/s, 12GB/s]}}\n"
      "gpus: [2, 16]\nstrategy: [single, dp, ddp]\nddp: {bucket_cap: [1MiB, 25MiB]}\n"
      "calibrate: none\nhost: {factor: [auto, 1.1]}\ninput: {source: host}\n",
      "x.yaml");
  ASSERT_TRUE(axes) << to_text(axes.error().front());
  SweptPoints all(*axes, Method::Simulate);
  int compared = 0;
  // Every seventh, so that neighbours differ in several keys.
  for (std::size_t combination = 0; combination < axes->combinations(); combination += 7) {
    SweptPoints one(*axes, Method::Simulate);
    EXPECT_EQ(run_to_message(all.predict(combination).run), run_to_message(one.predict(combination).run))
        << combination;
    ++compared;
  }
  EXPECT_GE(compared, 25);
}

TEST(SweptPoints, are_the_same_to_the_bit_with_a_calibration_too) {
  const auto axes = read_sweep_axes(
      "model: {name: resnet18, image: 64}\nbatch: {per_gpu: 64}\ntopology: {node: dgx-a100-80gb, fabric: eth-25g}\n"
      "gpus: [8, 16, 32]\nddp: {bucket_cap: [1MiB, 25MiB]}\ncalibrate: {single_gpu: [9000img/s, 12000img/s]}\n",
      "x.yaml");
  ASSERT_TRUE(axes) << to_text(axes.error().front());
  SweptPoints all(*axes, Method::Estimate);
  for (std::size_t combination = 0; combination < axes->combinations(); ++combination) {
    SweptPoints one(*axes, Method::Estimate);
    EXPECT_EQ(run_to_message(all.predict(combination).run), run_to_message(one.predict(combination).run))
        << combination;
  }
}

class Kept : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string folder_ = ::testing::TempDir() + "lockstep-kept-" + std::to_string(getpid());
};

TEST_F(Kept, a_folder_alone_gives_what_the_sweep_gave_in_every_form) {
  for (const char* form : {"--csv", "--json", "--jsonl", "--quiet"}) {
    const auto swept = lockstep_in_process({"sweep", "-", "-o", folder_, form}, kScenario);
    ASSERT_EQ(swept.code, 0) << swept.err;
    const auto kept = lockstep_in_process({"sweep", "-o", folder_, form});
    EXPECT_EQ(kept.code, 0) << kept.err;
    EXPECT_EQ(kept.err, "");
    if (std::string(form) == "--json") {
      EXPECT_EQ(json::parse(kept.out)["runs"], json::parse(swept.out)["runs"]);
      EXPECT_EQ(json::parse(kept.out)["scenario"]["batch"]["per_gpu"], 16);  // as resolved
    } else if (std::string(form) == "--jsonl") {
      EXPECT_EQ(lines_of(kept.out, "run"), lines_of(swept.out, "run"));
      EXPECT_EQ(lines_of(kept.out, "summary"), lines_of(swept.out, "summary"));
    } else {
      EXPECT_EQ(kept.out, swept.out);
    }
  }
}

TEST_F(Kept, a_folder_with_a_part_of_the_points_says_so) {
  ASSERT_EQ(lockstep_in_process({"sweep", "-", "-o", folder_}, kScenario).code, 0);
  {
    // Another process may still be adding.
    const auto axes = read_sweep_axes(kScenario, "standard input");
    ASSERT_TRUE(axes);
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open((folder_ + "/sweep.sqlite").c_str(), &database), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(database, "DELETE FROM points WHERE combination > 4", nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(database);
  }
  const auto kept = lockstep_in_process({"sweep", "-o", folder_, "--csv"});
  EXPECT_EQ(kept.code, 0);
  EXPECT_THAT(kept.err, HasSubstr("4 of 10 points are kept in " + folder_));
  EXPECT_EQ(std::count(kept.out.begin(), kept.out.end(), '\n'), 5);
}

TEST_F(Kept, nothing_kept_and_nothing_given_are_wrong_input) {
  const auto nothing = lockstep_in_process({"sweep", "-o", folder_});
  EXPECT_EQ(nothing.code, 1);
  EXPECT_THAT(nothing.err, HasSubstr("no sweep is kept here"));
  EXPECT_FALSE(std::filesystem::exists(folder_));
  const auto no_file = lockstep_in_process({"sweep"});
  EXPECT_EQ(no_file.code, 1);
  EXPECT_THAT(no_file.err, HasSubstr("FILE is required"));
  const auto changed = lockstep_in_process({"sweep", "-o", folder_, "--set", "gpus=8"});
  EXPECT_EQ(changed.code, 1);
  EXPECT_THAT(changed.err, HasSubstr("need FILE"));
}

// A file that changed since makes another sweep of it.
TEST(SweepIdentity, knows_the_contents_of_the_files_that_a_scenario_names) {
  const std::string file = ::testing::TempDir() + "lockstep-identity-" + std::to_string(getpid()) + ".yaml";
  const auto write = [&](int width) {
    std::ofstream(file) << "name: tiny\ninput: {shape: [8], dtype: fp32}\nops:\n- {op: linear, name: fc, out: " << width
                        << "}\n";
  };
  const auto identity = [&] {
    const auto axes =
        read_sweep_axes("model: " + file + "\nbatch: {per_gpu: 4}\ntopology: dgx-a100-80gb\ngpus: [1, 2]\n", "x.yaml");
    const auto made = axes ? sweep_identity(*axes, Method::Simulate) : tl::unexpected(axes.error());
    return made ? made->identity : "wrong: " + to_text(made.error().front());
  };
  write(10);
  const std::string first = identity();
  EXPECT_THAT(first, HasSubstr("file " + file));
  EXPECT_EQ(identity(), first);
  write(11);
  EXPECT_NE(identity(), first);
  std::filesystem::remove(file);
}

TEST(SweepIdentity, knows_the_contents_of_every_file_that_is_read_for_the_machine) {
  const std::string folder = ::testing::TempDir() + "lockstep-machine-" + std::to_string(getpid()) + "/";
  std::filesystem::create_directories(folder);
  const auto copy = [&](const std::string& preset, const std::string& name) {
    std::filesystem::copy_file(LOCKSTEP_SOURCE_DIR "/topologies/" + preset, folder + name);
  };
  copy("gpus/a100-sxm4-80gb.yaml", "gpu.yaml");
  copy("fabrics/ib-hdr-8x200.yaml", "fabric.yaml");
  {
    std::ifstream preset(LOCKSTEP_SOURCE_DIR "/topologies/nodes/dgx-a100-80gb.yaml");
    std::string node{std::istreambuf_iterator<char>(preset), {}};
    const std::size_t at = node.find("type: a100-sxm4-80gb");
    ASSERT_NE(at, std::string::npos);
    std::ofstream(folder + "node.yaml") << node.replace(at, 20, "type: gpu.yaml");
  }
  const auto identity = [&] {
    const auto axes = read_sweep_axes(
        "model: resnet18\nbatch: {per_gpu: 4}\ngpus: [8, 16]\n"
        "topology: {node: node.yaml, fabric: [fabric.yaml, eth-10g]}\n",
        folder + "x.yaml");
    const auto made = axes ? sweep_identity(*axes, Method::Simulate) : tl::unexpected(axes.error());
    return made ? made->identity : "wrong: " + to_text(made.error().front());
  };
  std::string before = identity();
  EXPECT_THAT(before, AllOf(HasSubstr("file " + folder + "gpu.yaml: "), HasSubstr("file fabrics/eth-10g.yaml: ")));
  for (const char* name : {"gpu.yaml", "fabric.yaml", "node.yaml"}) {
    std::ofstream(folder + name, std::ios::app) << "# changed\n";
    const std::string after = identity();
    EXPECT_NE(after, before) << name;
    before = after;
  }
  EXPECT_EQ(identity(), before);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace lockstep
