#include "simulator/answers/claims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "simulator/base/document.h"
#include "tests/simulator/answers/fake_machine.h"

namespace lockstep {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kFolder = LOCKSTEP_SOURCE_DIR "/scenarios/claims/";
const std::string kArticle = kFolder + "dp-vs-ddp-resnet50.yaml";

// Estimates are the same numbers as simulations where nothing contends, and quicker.
Expected<ClaimsResult> tried(const ClaimsFile& file) {
  ClaimsOptions options;
  options.method = Method::Estimate;
  return try_claims(file, options);
}

ClaimsFile read(const std::string& text) {
  auto file = read_claims(text, kFolder + "test.yaml");
  if (!file) {
    ADD_FAILURE() << to_text(file.error().front());
    return {};
  }
  return *std::move(file);
}

ClaimResult only_result(const std::string& claim) {
  const auto result =
      tried(read("article: a test\n"
                 "scenarios: [{name: image 32, file: ../dp-vs-ddp-resnet50-8xa100-32px.yaml}]\n"
                 "claims:\n- " +
                 claim + "\n"));
  if (!result || result->results.size() != 1) {
    ADD_FAILURE() << (result ? "not one result" : to_text(result.error().front()));
    return {};
  }
  return result->results.front();
}

std::vector<std::string> messages(const std::string& text) {
  std::vector<std::string> all;
  const auto file = read_claims(text, "bad.yaml");
  if (!file)
    for (const Error& error : file.error())
      all.push_back(std::string(name_of(error.kind)) + " " + std::to_string(error.line) + " " + error.key);
  return all;
}

TEST(Claims, every_statement_of_the_article_is_there_and_gets_a_verdict_with_evidence) {
  const auto file = read_claims_file(kArticle);
  ASSERT_TRUE(file) << to_text(file.error().front());
  std::vector<std::string> ids;
  for (const Claim& claim : file->claims) ids.push_back(claim.id);
  EXPECT_THAT(
      ids, ElementsAre("dp-total-time", "dp-gpu-busy", "dp-cpu-busy", "ddp-total-time", "ddp-gpu-busy", "ddp-cpu-busy",
                       "ddp-over-dp", "dp-communication-share", "dp-slower-than-others", "dp-misuse-efficiency",
                       "overlap-forward-backward", "gathered-on-cpu", "accumulation-1024", "nccl-over-others",
                       "rate-between-nodes", "compiled-10-billion", "sampler-removes-skew", "timeout-avoids-aborts",
                       "code-device-ids", "code-without-no-sync", "code-zero-grad"));
  const auto result = tried(*file);
  ASSERT_TRUE(result) << to_text(result.error().front());
  ASSERT_EQ(result->results.size(), ids.size());
  for (const ClaimResult& one : result->results) {
    EXPECT_FALSE(one.evidence.empty()) << one.claim.id;
    if (one.claim.kind == ClaimKind::Number) {
      EXPECT_FALSE(one.readings.empty()) << one.claim.id;
      EXPECT_NE(one.verdict, Verdict::NotCheckable) << one.claim.id;
    }
    if (one.verdict == Verdict::Supported) {
      EXPECT_FALSE(one.agreeing.empty()) << one.claim.id;
    }
  }
}

TEST(Claims, each_number_is_tried_at_every_setting_that_the_article_leaves_open) {
  const auto file = read_claims_file(kArticle);
  ASSERT_TRUE(file);
  const auto settings = claim_settings(*file);
  EXPECT_EQ(settings.size(), 2u * 5 * 2 * 2);
  EXPECT_EQ(setting_name(*file, settings.front()), "image 224, 128/GPU, fp32, from host");
  EXPECT_EQ(claim_settings(*file, {"batch"}).size(), 2u * 2 * 2);
}

// The verdicts follow from numbers, not from what the article says.
TEST(Claims, the_predicted_number_would_be_supported_and_ten_times_it_contradicted) {
  auto file = read_claims_file(kArticle);
  ASSERT_TRUE(file);
  file->axes.clear();
  file->scenarios.resize(1);
  const auto before = tried(*file);
  ASSERT_TRUE(before);
  std::vector<Claim> numbers;
  for (const ClaimResult& one : before->results)
    if (!one.claim.readings.empty() && one.claim.relation == ClaimRelation::About) numbers.push_back(one.claim);
  ASSERT_EQ(numbers.size(), 8u);
  for (const double factor : {1.0, 10.0, 0.1}) {
    file->claims.clear();
    for (Claim claim : numbers) {
      claim.readings.resize(1);
      for (const ClaimResult& one : before->results) {
        if (one.claim.id != claim.id) continue;
        const double claimed = factor * one.readings[0].predictions.front().value;
        (claim.time_s ? claim.time_s : claim.share ? claim.share : claim.factor) = claimed;
      }
      file->claims.push_back(claim);
    }
    const auto after = tried(*file);
    ASSERT_TRUE(after);
    for (const ClaimResult& one : after->results)
      EXPECT_EQ(one.verdict, factor == 1 ? Verdict::Supported : Verdict::Contradicted)
          << one.claim.id << " x" << factor;
  }
}

TEST(Claims, above_and_below_are_strict) {
  const std::string efficiency = "readings: [{key: efficiency, of: {strategy: single}}]}";
  const auto claim = [&](const char* relation, const char* share) {
    return only_result(std::string("{id: a, kind: number, says: x, share: ") + share + ", relation: " + relation +
                       ", " + efficiency)
        .verdict;
  };
  EXPECT_EQ(claim("above", "99%"), Verdict::Supported);
  EXPECT_EQ(claim("above", "100%"), Verdict::Contradicted);
  EXPECT_EQ(claim("below", "101%"), Verdict::Supported);
  EXPECT_EQ(claim("below", "100%"), Verdict::Contradicted);
}

TEST(Claims, of_alternatives_one_is_enough_of_parts_all_are_needed) {
  const auto claim = [](const char* are) {
    return only_result(
        std::string("{id: a, kind: number, says: x, factor: 1, relation: above, readings_are: ") + are +
        ", readings: [{name: no, key: total_time_s, of: {strategy: ddp, gpus: 8}, over: {strategy: single}}, "
        "{name: yes, key: total_time_s, of: {strategy: dp, gpus: 8}, over: {strategy: ddp, gpus: 8}}]}");
  };
  EXPECT_EQ(claim("alternatives").verdict, Verdict::Supported);
  const auto parts = claim("parts");
  EXPECT_EQ(parts.verdict, Verdict::Contradicted);
  ASSERT_EQ(parts.readings.size(), 2u);
  EXPECT_EQ(parts.readings[0].verdict, Verdict::Contradicted);
  EXPECT_EQ(parts.readings[1].verdict, Verdict::Supported);
}

TEST(Claims, a_ratio_is_the_quotient_of_two_runs) {
  const auto dp = only_result(
      "{id: a, kind: number, says: x, time: 1s, readings: [{key: total_time_s, of: {strategy: dp, gpus: 8}}]}");
  const auto ddp = only_result(
      "{id: a, kind: number, says: x, time: 1s, readings: [{key: total_time_s, of: {strategy: ddp, gpus: 8}}]}");
  const auto ratio = only_result(
      "{id: a, kind: number, says: x, factor: 1, readings: [{key: total_time_s, of: {strategy: dp, gpus: 8}, "
      "over: {strategy: ddp, gpus: 8}}]}");
  EXPECT_DOUBLE_EQ(ratio.readings[0].predictions[0].value,
                   dp.readings[0].predictions[0].value / ddp.readings[0].predictions[0].value);
}

TEST(Claims, ddp_overlaps_with_backward_alone) {
  const auto claim = [](const char* phases) {
    return only_result(std::string("{id: a, kind: mechanism, says: x, rule: overlap, of: {strategy: ddp}, phases: [") +
                       phases + "]}")
        .verdict;
  };
  EXPECT_EQ(claim("backward"), Verdict::Supported);
  EXPECT_EQ(claim("forward"), Verdict::Contradicted);
  EXPECT_EQ(claim("forward, backward"), Verdict::Contradicted);
}

TEST(Claims, dataparallel_overlaps_with_nothing) {
  EXPECT_EQ(
      only_result("{id: a, kind: mechanism, says: x, rule: overlap, of: {strategy: dp}, phases: [backward]}").verdict,
      Verdict::Contradicted);
}

TEST(Claims, gradients_cross_the_host_only_where_gpus_have_no_way_to_each_other) {
  const std::string claim = "{id: a, kind: mechanism, says: x, rule: host_gather, of: {strategy: dp, sets: [";
  const auto nvlink = only_result(claim + "]}}");
  EXPECT_EQ(nvlink.verdict, Verdict::Contradicted);
  EXPECT_THAT(nvlink.evidence.front(), HasSubstr("0 B cross links of the host"));
  const auto pcie = only_result(claim + "topology=a100-pcie-8gpu]}}");
  ASSERT_EQ(pcie.readings.size(), 2u);
  EXPECT_EQ(pcie.readings[0].verdict, Verdict::Supported);  // gradients
}

TEST(Claims, accumulation_saves_communication_under_no_sync_alone) {
  const auto claim = [](const char* no_sync) {
    return only_result(std::string("{id: a, kind: code, says: x, rule: no_sync, of: {strategy: ddp, sets: "
                                   "[\"batch={per_gpu: 16}\", \"accumulate={steps: 4, no_sync: ") +
                       no_sync + "}\"]}}")
        .verdict;
  };
  EXPECT_EQ(claim("false"), Verdict::Contradicted);
  EXPECT_EQ(claim("true"), Verdict::Supported);
}

TEST(Claims, several_devices_are_refused_from_pytorch_1_9_on) {
  const auto claim = [](const char* torch, const char* devices) {
    return only_result(std::string("{id: a, kind: code, says: x, rule: device_ids, devices: ") + devices +
                       ", of: {strategy: ddp, sets: ['software.torch=\"" + torch + "\"']}}")
        .verdict;
  };
  EXPECT_EQ(claim("2.1", "4"), Verdict::Contradicted);
  EXPECT_EQ(claim("1.9", "2"), Verdict::Contradicted);
  EXPECT_EQ(claim("1.8", "4"), Verdict::Supported);
  EXPECT_EQ(claim("2.1", "1"), Verdict::Supported);
}

TEST(Claims, a_timeout_matters_where_it_is_longer_than_the_default) {
  const auto claim = [](const char* torch, const char* time) {
    return only_result(std::string("{id: a, kind: mechanism, says: x, rule: timeout, time: ") + time +
                       ", of: {strategy: ddp, sets: ['software.torch=\"" + torch + "\"']}}")
        .verdict;
  };
  EXPECT_EQ(claim("2.1", "1800s"), Verdict::Contradicted);  // the default
  EXPECT_EQ(claim("2.1", "1h"), Verdict::Supported);
  EXPECT_EQ(claim("2.2", "1800s"), Verdict::Supported);  // NCCL: 10 minutes
}

TEST(Claims, the_rates_of_links_come_from_the_topology) {
  const auto claim = [](const char* rate, const char* between_nodes) {
    return only_result(std::string("{id: a, kind: number, says: x, rule: link_rate, rate: ") + rate +
                       ", between_nodes: " + between_nodes + "}")
        .verdict;
  };
  EXPECT_EQ(claim("600GB/s", "true"), Verdict::Contradicted);
  EXPECT_EQ(claim("600GB/s", "false"), Verdict::Supported);
  EXPECT_EQ(claim("200GB/s", "true"), Verdict::Supported);
  EXPECT_EQ(claim("400GB/s", "true"), Verdict::Supported);  // both ways added
}

TEST(Claims, equal_shares_do_not_help_against_unequal_speed) {
  const auto claim = [](const char* scenario) {
    ClaimsFile file = read(std::string("article: a test\nscenarios: [{name: s, file: ../") + scenario +
                           "}]\nclaims:\n- {id: a, kind: mechanism, says: x, rule: equal_shares, of: {strategy: ddp, "
                           "sets: [\"noise={jitter: {sigma: 5%, per: rank}}\"]}}\n");
    return *tried(file);
  };
  const auto large = claim("dp-vs-ddp-resnet50-8xa100.yaml");
  ASSERT_EQ(large.results[0].readings.size(), 2u);
  EXPECT_EQ(large.results[0].readings[0].verdict, Verdict::Supported);     // as many samples each
  EXPECT_EQ(large.results[0].readings[1].verdict, Verdict::Contradicted);  // waiting
}

TEST(Claims, a_model_that_no_gpu_holds_is_said_so) {
  const auto one = only_result(
      "{id: a, kind: mechanism, says: x, factor: 1.35, rule: large_model, of: {strategy: ddp, sets: [\"model={name: "
      "transformer, transformer: {layers: 48, width: 4096, heads: 32, feed_forward: 16384}}\", \"batch={per_gpu: "
      "1}\"]}}");
  EXPECT_EQ(one.verdict, Verdict::NotCheckable);
  EXPECT_THAT(one.evidence, Contains(HasSubstr("cannot train it")));
}

TEST(Claims, clearing_gradients_in_every_micro_step_is_wrong) {
  const auto claim = [](const char* where) {
    return only_result(std::string("{id: a, kind: code, says: x, rule: zero_grad, zero_grad: ") + where +
                       ", of: {strategy: ddp, sets: [accumulate.steps=8]}}");
  };
  EXPECT_EQ(claim("each_step").verdict, Verdict::Supported);
  EXPECT_EQ(claim("each_micro_step").verdict, Verdict::Contradicted);
  const auto unstated = claim("unstated");
  EXPECT_EQ(unstated.verdict, Verdict::NotCheckable);
  EXPECT_EQ(unstated.readings.size(), 2u);
}

TEST(Claims, settings_that_agree_are_named_as_few_groups) {
  ClaimsFile file = read(
      "article: x\nscenarios: [{name: s, file: a.yaml}, {name: t, file: b.yaml}]\nsettings:\n"
      "- {name: batch, values: [{name: one, set: a=1}, {name: two, set: a=2}, {name: three, set: a=3}]}\nclaims: []\n");
  EXPECT_THAT(setting_groups(file, {{0, 0}, {0, 2}}), ElementsAre("s, one or three"));
  EXPECT_THAT(setting_groups(file, claim_settings(file)), ElementsAre("any scenario, any batch"));
  EXPECT_THAT(setting_groups(file, {{0, 0}, {1, 1}}), ElementsAre("s, one", "t, two"));
}

TEST(Claims, the_setting_that_agrees_with_most_is_found) {
  const auto result = tried(
      read("article: x\nscenarios: [{name: s, file: ../dp-vs-ddp-resnet50-8xa100.yaml}]\nsettings:\n"
           "- {name: batch, values: [{name: small, set: \"batch={per_gpu: 8}\"}, {name: large, set: \"batch={per_gpu: "
           "256}\"}]}\nclaims:\n"
           "- {id: busy, kind: number, says: x, share: 60%, relation: above, readings: [{key: gpu_utilization, of: "
           "{strategy: "
           "single}}]}\n"));
  ASSERT_TRUE(result);
  ASSERT_TRUE(result->best_setting);
  EXPECT_EQ(setting_name(result->file, *result->best_setting), "s, large");
  EXPECT_EQ(result->results[0].agreeing, (std::vector<ClaimSetting>{{0, 1}}));
}

TEST(Claims, more_gpus_than_the_machine_holds_are_an_error_at_the_claim) {
  const auto result = tried(
      read("article: x\nscenarios: [{name: s, file: ../dp-vs-ddp-resnet50-8xa100.yaml}]\nclaims:\n"
           "- {id: a, kind: mechanism, says: x, factor: 3, rule: other_backend, of: {strategy: ddp, gpus: 64}}\n"));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().front().line, 4);
  EXPECT_THAT(result.error().front().message, HasSubstr("in claim `a`"));
}

TEST(Claims, a_number_of_gpus_that_the_scenario_does_not_list_is_tried_all_the_same) {
  const auto one = only_result(
      "{id: a, kind: number, says: x, share: 2%, readings: [{key: efficiency, of: {strategy: ddp, gpus: 5}}]}");
  ASSERT_EQ(one.readings.size(), 1u);
  EXPECT_EQ(one.readings[0].predictions.size(), 1u);
}

TEST(Claims, what_cannot_run_is_not_checkable) {
  const auto one = only_result(
      "{id: a, kind: number, says: x, factor: 1, readings: [{key: throughput, of: {strategy: dp, gpus: 8, sets: "
      "[\"batch={global: 100}\"]}, over: {strategy: single}}]}");
  EXPECT_EQ(one.verdict, Verdict::NotCheckable);
  EXPECT_THAT(one.evidence, ElementsAre("no setting can run and give this number"));
}

TEST(Claims, all_faults_of_a_file_are_told_with_line_and_key) {
  EXPECT_THAT(
      messages("article: x\nscenarios:\n- {name: s, file: a.yaml}\nclaims:\n"
               "- {id: a, kind: number, says: x, time: 3min}\n"
               "- {id: b, kind: mechanism, says: x}\n"
               "- {id: c, kind: number, says: x, share: 3, readings: [{key: total_time_s, of: {strategy: dp}}]}\n"
               "- {id: d, kind: opinion, says: x, rule: timeout}\n"
               "- {id: E, kind: code, says: x, rule: device_ids}\n"
               "- {id: f, kind: code, says: x, rule: zero_grad, zerograd: a}\n"
               "- {id: g, kind: number, says: x, share: 5 lightyears, readings: [{key: efficiency, of: {strategy: "
               "fsdp}}]}\n"),
      ElementsAre("missing 5 claims[0].readings", "missing 6 claims[1].rule", "unit 7 claims[2].share",
                  "missing 8 claims[3].time", "range 8 claims[3].kind", "missing 9 claims[4].devices",
                  "range 9 claims[4].id", "missing 10 claims[5].zero_grad", "unknown_key 10 claims[5].zerograd",
                  "unit 11 claims[6].share", "range 11 claims[6].readings[0].of.strategy"));
}

TEST(Claims, names_must_fit_together) {
  const std::string head =
      "article: x\nscenarios: [{name: s, file: a.yaml}]\nsettings:\n"
      "- {name: batch, values: [{name: a, set: seed=1}]}\n"
      "- {name: batch, values: [{name: b, set: seed=2}]}\nclaims:\n";
  EXPECT_THAT(messages(head + "- {id: a, kind: mechanism, says: x, rule: host_gather, fixed: [bach]}\n"
                              "- {id: a, kind: mechanism, says: x, rule: host_gather}\n"),
              ElementsAre("conflict 5 settings[1].name", "range 7 claims[0].fixed", "conflict 8 claims[1].id"));
}

TEST(Claims, lists_that_are_needed_hold_something) {
  EXPECT_THAT(messages("article: x\nscenarios: []\nsettings:\n- {name: batch, values: []}\nclaims:\n"
                       "- {id: a, kind: mechanism, says: x, rule: overlap, phases: [optimizer]}\n"
                       "- {id: b, kind: mechanism, says: x, rule: overlap}\n"),
              ElementsAre("range 2 scenarios", "range 4 settings[0].values", "range 6 claims[0].phases",
                          "missing 7 claims[1].phases"));
}

TEST(Claims, readings_must_have_what_their_key_needs) {
  EXPECT_THAT(
      messages(
          "article: x\nscenarios: [{name: s, file: a.yaml}]\nclaims:\n"
          "- {id: a, kind: number, says: x, factor: 2, readings: [{key: throughput, of: {strategy: dp}}]}\n"
          "- {id: b, kind: number, says: x, share: 2%, readings: [{key: breakdown_share, of: {strategy: dp}}]}\n"
          "- {id: c, kind: number, says: x, share: 2%, readings: [{key: efficiency, of: dp}, {key: step_time_s, of: "
          "{strategy: single, gpus: 8}}]}\n"),
      ElementsAre("missing 4 claims[0].readings[0].over", "conflict 5 claims[1].readings[0].parts",
                  "conflict 6 claims[2].readings[1].of.gpus"));
}

TEST(Claims, a_setting_that_a_scenario_refuses_is_placed_at_the_claim) {
  const auto result =
      tried(read("article: x\nscenarios: [{name: s, file: ../dp-vs-ddp-resnet50-8xa100.yaml}]\nclaims:\n\n"
                 "- {id: a, kind: number, says: x, share: 2%, readings: [{key: efficiency, of: {strategy: dp, sets: "
                 "[precison=fp32]}}]}\n"));
  ASSERT_FALSE(result);
  const Error& error = result.error().front();
  EXPECT_EQ(error.file, kFolder + "test.yaml");
  EXPECT_EQ(error.line, 5);
  EXPECT_THAT(error.message, HasSubstr("in claim `a`"));
  EXPECT_EQ(error.key, "precison");
}

TEST(Claims, a_scenario_that_is_not_there_is_an_error) {
  const auto result =
      tried(read("article: x\nscenarios: [{name: s, file: nowhere.yaml}]\nclaims:\n"
                 "- {id: a, kind: mechanism, says: x, rule: host_gather}\n"));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().front().kind, ErrorKind::Io);
}

TEST(Claims, a_simulation_that_died_is_an_error) {
  testing::FakeMachine machine;
  machine.dies_in = Strategy::Dp;
  ClaimsOptions options;
  options.source = machine.source();
  const auto result = try_claims(
      read("article: x\nscenarios: [{name: s, file: ../dp-vs-ddp-resnet50-8xa100.yaml}]\nclaims:\n"
           "- {id: a, kind: number, says: x, share: 2%, readings: [{key: efficiency, of: {strategy: dp}}]}\n"),
      options);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().front().kind, ErrorKind::RunFailed);
}

TEST(Claims, each_run_is_made_once) {
  testing::FakeMachine machine;
  ClaimsOptions options;
  options.source = machine.source();
  const std::string claim = ", kind: number, says: x, share: 2%, readings: [{key: efficiency, of: {strategy: dp}}]}\n";
  const std::string head = "article: x\nscenarios: [{name: s, file: ../dp-vs-ddp-resnet50-8xa100.yaml}]\nclaims:\n";
  ASSERT_TRUE(try_claims(read(head + "- {id: a" + claim), options));
  const int once = machine.runs;
  ASSERT_TRUE(try_claims(read(head + "- {id: a" + claim + "- {id: b" + claim), options));
  EXPECT_EQ(machine.runs, 2 * once);
}

TEST(Claims, a_wrong_set_of_the_command_line_is_nobodys_claim) {
  ClaimsOptions options;
  options.sets = {"precison=fp32"};
  const auto result =
      try_claims(read("article: x\nscenarios: [{name: s, file: ../dp-vs-ddp-resnet50-8xa100.yaml}]\nclaims:\n"
                      "- {id: a, kind: mechanism, says: x, rule: host_gather}\n"),
                 options);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().front().file, "--set");
}

TEST(Claims, a_set_that_claims_or_settings_say_otherwise_is_told) {
  const ClaimsFile file = *read_claims_file(kArticle);
  EXPECT_THAT(claims_notes(file, {"gpus=4"}), ElementsAre(HasSubstr("`--set gpus=4` has no effect: every claim says")));
  EXPECT_THAT(claims_notes(file, {"strategy=dp"}), ElementsAre(HasSubstr("which strategy")));
  EXPECT_THAT(claims_notes(file, {"precision=fp32"}),
              ElementsAre("`--set precision=fp32` holds at every setting, whatever `precision` says (fp32, amp-fp16)"));
  EXPECT_THAT(claims_notes(file, {"input.memory=pinned"}), ElementsAre(HasSubstr("(from host, on device)")));
  const auto overruled = claims_notes(file, {"accumulate.no_sync=false"});
  ASSERT_EQ(overruled.size(), 1U);
  EXPECT_THAT(overruled.front(), HasSubstr("overrules what these claims set themselves: "));
  EXPECT_TRUE(claims_notes(file, {"host.factor=1", "topology.override.nvlink.rate=100GB/s"}).empty());
  // And they come with the result.
  ClaimsOptions options;
  options.method = Method::Estimate;
  options.sets = {"gpus=4"};
  const auto result = try_claims(read("article: a test\n"
                                      "scenarios: [{name: image 32, file: ../dp-vs-ddp-resnet50-8xa100-32px.yaml}]\n"
                                      "claims:\n- {id: a, kind: number, says: x, factor: 2, readings: [{key: speedup, "
                                      "of: {strategy: ddp, gpus: 2}}]}\n"),
                                 options);
  ASSERT_TRUE(result) << to_text(result.error().front());
  EXPECT_EQ(result->notes.size(), 1U);
}

TEST(Claims, sets_of_the_command_line_come_last) {
  ClaimsOptions options;
  options.method = Method::Estimate;
  options.sets = {"host.factor=0.1"};
  const auto file = read(
      "article: x\nscenarios: [{name: s, file: ../dp-vs-ddp-resnet50-8xa100-32px.yaml}]\nclaims:\n"
      "- {id: a, kind: number, says: x, time: 2s, readings: [{key: step_time_s, of: {strategy: dp}}]}\n");
  const auto fast = try_claims(file, options), slow = tried(file);
  ASSERT_TRUE(fast && slow);
  EXPECT_LT(fast->results[0].readings[0].predictions[0].value, slow->results[0].readings[0].predictions[0].value / 2);
}

}  // namespace
}  // namespace lockstep
