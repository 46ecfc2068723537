#include "simulator/result/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <clocale>
#include <locale>
#include <nlohmann/json.hpp>

#include "tests/simulator/result/sample_run.h"

namespace lockstep {
namespace {

using nlohmann::json;
using testing::full_result;
using testing::full_run;

bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

TEST(ResultJson, a_message_gives_back_the_same_message_bit_by_bit) {
  const std::string once = run_to_message(full_run());
  const auto run = run_from_message(once);
  ASSERT_TRUE(run) << to_text(run.error().front());
  EXPECT_EQ(run_to_message(*run), once);
}

TEST(ResultJson, a_message_keeps_doubles_the_timeline_and_what_the_contract_leaves_out) {
  const lockstep::Run before = full_run();
  const auto after = run_from_message(run_to_message(before));
  ASSERT_TRUE(after);
  EXPECT_TRUE(same_bits(after->step_time_s, before.step_time_s));
  EXPECT_TRUE(same_bits(after->communication_s, before.communication_s));
  for (std::size_t i = 0; i < before.samples[0].step_times_s.size(); ++i)
    EXPECT_TRUE(same_bits(after->samples[0].step_times_s[i], before.samples[0].step_times_s[i])) << i;
  for (const Cause cause : kCauses)
    EXPECT_TRUE(same_bits(after->part_s(cause), before.part_s(cause))) << name_of(cause);
  EXPECT_EQ(after->links[0].bytes, 9007199254740993);  // beyond 2^53
  ASSERT_EQ(after->timeline.size(), before.timeline.size());
  for (std::size_t i = 0; i < before.timeline.size(); ++i) {
    EXPECT_EQ(after->timeline[i].name, before.timeline[i].name);
    EXPECT_EQ(after->timeline[i].lane, before.timeline[i].lane);
    EXPECT_TRUE(same_bits(after->timeline[i].start_s, before.timeline[i].start_s));
  }
  EXPECT_EQ(after->timeline_ranks, before.timeline_ranks);
  ASSERT_EQ(after->other_timelines.size(), 1U);
  EXPECT_EQ(after->other_timelines[0].ranks, before.other_timelines[0].ranks);
  EXPECT_EQ(after->other_timelines[0].spans.size(), before.other_timelines[0].spans.size());
  EXPECT_EQ(after->notes, before.notes);
  EXPECT_FALSE(after->baseline->feasible);
  EXPECT_FALSE(after->ranks[0].memory_reserved_bytes);
}

TEST(ResultJson, a_document_reads_back_to_the_same_document) {
  const std::string once = result_to_json(full_result());
  const auto result = result_from_json(once, "x.json");
  ASSERT_TRUE(result) << to_text(result.error().front());
  EXPECT_EQ(result_to_json(*result), once);
}

TEST(ResultJson, unknown_values_are_absent_and_never_null) {
  Result result;
  result.runs.emplace_back();
  const json document = json::parse(result_to_json(result));
  EXPECT_EQ(result_to_json(result).find("null"), std::string::npos);
  const json& run = document["runs"][0];
  for (const char* key : {"step_time_s", "uncertainty_s", "speedup", "epoch_time_s", "baseline", "buckets", "not_run",
                          "private", "timeline", "communication_s"})
    EXPECT_FALSE(run.contains(key)) << key;
  EXPECT_TRUE(run["point"].is_object());
}

TEST(ResultJson, has_the_keys_of_the_contract) {
  const json document = json::parse(result_to_json(full_result()));
  EXPECT_EQ(document["format"], "lockstep-result");
  EXPECT_EQ(document["format_version"], 1);
  EXPECT_EQ(document["lockstep_version"], lockstep_version());
  EXPECT_EQ(document["runs"][0]["links"][0]["class"], "nic");
  EXPECT_EQ(document["runs"][0]["uncertainty_s"]["level"], 0.8);
  EXPECT_EQ(document["runs"][0]["breakdown_s"]["copy_to_device"], 0.01);
  EXPECT_FALSE(document["runs"][0]["breakdown_s"].contains("gather"));
  EXPECT_EQ(document["runs"][1]["not_run"], "DataParallel runs in one process: one node has 8 GPUs");
  EXPECT_FALSE(document["runs"][1].contains("breakdown_s"));
  EXPECT_EQ(document["answer"]["levers"][0]["set"], "topology.override.nvlink.rate=600GB/s");
  EXPECT_FALSE(document.contains("private"));
}

TEST(ResultJson, the_scenario_is_an_object_whose_quoted_values_stay_strings) {
  const json scenario = json::parse(result_to_json(full_result()))["scenario"];
  EXPECT_EQ(scenario["software"]["torch"], "2.10");
  EXPECT_EQ(scenario["host"]["factor"], 0.8);
  EXPECT_EQ(scenario["batch"]["per_gpu"], 128);
  EXPECT_EQ(scenario["tf32"]["conv"], true);
  EXPECT_EQ(scenario["question"], "yes");
  EXPECT_EQ(scenario["gpus"], json::array({1, 8}));
}

TEST(ResultJson, readers_ignore_keys_that_they_do_not_know) {
  json document = json::parse(result_to_json(full_result()));
  document["later"] = {{"a", 1}};
  document["runs"][0]["later"] = json::array();
  document["runs"][0]["buckets"][0]["later"] = "x";
  const auto result = result_from_json(document.dump(), "x.json");
  ASSERT_TRUE(result) << to_text(result.error().front());
  EXPECT_EQ(result->runs.size(), 2U);
}

TEST(ResultJson, a_broken_document_names_the_place) {
  const auto result = result_from_json("{\n  \"format\": \"lockstep-result\",\n  oops\n}", "x.json");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error()[0].kind, ErrorKind::Syntax);
  EXPECT_EQ(result.error()[0].file, "x.json");
  EXPECT_EQ(result.error()[0].line, 3);
}

TEST(ResultJson, all_wrong_values_are_named_by_their_path) {
  json document = json::parse(result_to_json(full_result()));
  document["runs"][0]["step_time_s"] = "fast";
  document["runs"][0]["strategy"] = "zero9";
  document["runs"][0]["buckets"][1].erase("bytes");
  document["runs"][1]["world_size"] = 1e30;
  const auto result = result_from_json(document.dump(), "x.json");
  ASSERT_FALSE(result);
  std::vector<std::string> keys;
  for (const Error& error : result.error()) keys.push_back(error.key);
  EXPECT_THAT(keys, ::testing::UnorderedElementsAre("runs[0].step_time_s", "runs[0].strategy",
                                                    "runs[0].buckets[1].bytes", "runs[1].world_size"));
}

// Each nonsense alone is refused with its key, what was found and what may stand there.
TEST(ResultJson, what_no_result_can_say_is_refused_with_its_key) {
  const json good = json::parse(result_to_json(full_result()));
  const auto error_of = [&](const std::string& pointer, const json& value) {
    json document = good;
    document[json::json_pointer(pointer)] = value;
    const auto result = result_from_json(document.dump(), "x.json");
    return result ? Error{} : result.error().front();
  };
  const std::pair<const char*, json> cases[] = {{"/runs/0/gpus", 0},
                                                {"/runs/0/gpus", -8},
                                                {"/runs/0/world_size", 0},
                                                {"/runs/1/world_size", -1},
                                                {"/runs/0/nodes", 0},
                                                {"/runs/0/step_time_s", -0.1},
                                                {"/runs/0/step_time_s", 0},
                                                {"/runs/0/step_time_s", nullptr},
                                                {"/runs/0/step_time_s", "0.1"},
                                                {"/runs/0/micro_steps", 0},
                                                {"/runs/0/per_gpu_batch", -1},
                                                {"/runs/0/throughput", -1.0},
                                                {"/runs/0/speedup", -1.0},
                                                {"/runs/0/efficiency", -0.5},
                                                {"/runs/0/breakdown_s/forward", -0.01},
                                                {"/runs/0/breakdown_s/other", -0.01},
                                                {"/runs/0/samples/0/step_times_s/1", 0},
                                                {"/runs/0/spread_s/p5", -0.1},
                                                {"/runs/0/uncertainty_s/low", 0},
                                                {"/runs/0/uncertainty_s/high", 0.1},
                                                {"/runs/0/baseline/step_time_s", -0.1},
                                                {"/runs/0/breakdown_s", json::array({1})},
                                                {"/answer/levers/0/step_time_s", -1},
                                                {"/kind", "guessed"}};
  for (const auto& [pointer, value] : cases) {
    const Error error = error_of(pointer, value);
    EXPECT_FALSE(error.message.empty()) << pointer << ' ' << value;
    EXPECT_FALSE(error.allowed.empty()) << pointer << ' ' << value;
    EXPECT_EQ(error.file, "x.json");
    std::string key = std::string(pointer).substr(1);
    for (auto& [from, to] : {std::pair{"runs/0/", "runs[0]."}, {"runs/1/", "runs[1]."}, {"levers/0", "levers[0]"}})
      if (const auto at = key.find(from); at != std::string::npos) key.replace(at, std::string(from).size(), to);
    std::replace(key.begin(), key.end(), '/', '.');
    if (key.find("samples") == std::string::npos) {
      EXPECT_EQ(error.key, key);
    }
  }
  EXPECT_TRUE(error_of("/runs/0/breakdown_s/forward", -1e-13).message.empty());
  EXPECT_TRUE(error_of("/runs/0/breakdown_s/other", -0.003).message.empty());  // of a step of 0.33 s
}

TEST(ResultJson, a_run_has_a_step_or_the_reason_for_none) {
  json document = json::parse(result_to_json(full_result()));
  document["runs"][0].erase("step_time_s");
  const auto result = result_from_json(document.dump(), "x.json");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error()[0].key, "runs[0].step_time_s");
  EXPECT_EQ(result.error()[0].kind, ErrorKind::Missing);
  document["runs"][0]["not_run"] = "it was too late";
  EXPECT_TRUE(result_from_json(document.dump(), "x.json"));
}

TEST(ResultJson, other_documents_and_later_formats_are_refused) {
  EXPECT_FALSE(result_from_json("[]", "x.json"));
  EXPECT_FALSE(result_from_json("{}", "x.json"));
  EXPECT_FALSE(result_from_json(R"({"format":"other","format_version":1})", "x.json"));
  const auto later =
      result_from_json(R"({"format":"lockstep-result","format_version":2,"kind":"predicted","runs":[]})", "x.json");
  ASSERT_FALSE(later);
  EXPECT_EQ(later.error()[0].kind, ErrorKind::NotSupported);
}

struct CommaPunctuation : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST(ResultJson, a_comma_locale_changes_nothing) {
  const std::string plain = result_to_json(full_result());
  const std::locale before = std::locale::global(std::locale(std::locale::classic(), new CommaPunctuation));
  std::setlocale(LC_ALL, "de_DE.UTF-8");  // where the machine has it
  const std::string under_commas = result_to_json(full_result());
  const auto back = result_from_json(plain, "x.json");
  std::locale::global(before);
  std::setlocale(LC_ALL, "C");
  EXPECT_EQ(under_commas, plain);
  ASSERT_TRUE(back);
  EXPECT_EQ(result_to_json(*back), plain);
}

TEST(ErrorJson, holds_the_first_error_and_all_in_order) {
  Error first;
  first.kind = ErrorKind::UnknownKey;
  first.file = "a.yaml";
  first.line = 3;
  first.column = 1;
  first.key = "bach";
  first.hint = "did you mean `batch`?";
  first.message = "a scenario has no key `bach`";
  Error second;
  second.kind = ErrorKind::RunFailed;
  second.message = "no";
  const json document = json::parse(errors_to_json({first, second}));
  EXPECT_EQ(document["error"], document["errors"][0]);
  EXPECT_EQ(document["error"]["kind"], "unknown_key");
  EXPECT_EQ(document["error"]["line"], 3);
  EXPECT_EQ(document["errors"][1], json::parse(R"({"kind":"run_failed","message":"no"})"));
}

}  // namespace
}  // namespace lockstep
