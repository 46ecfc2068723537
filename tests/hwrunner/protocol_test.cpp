// Plans and records as text: what is written is read back, what is wrong is refused by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hwrunner/launch/plan.h"
#include "hwrunner/launch/record.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

RunPlan odd_plan() {
  RunPlan plan;
  plan.strategy = Strategy::Dp;
  plan.world_size = 3;
  plan.per_gpu_batch = 5'000'000'000;
  plan.micro_steps = 4;
  plan.warm_up = 2;
  plan.steps = 7;
  plan.repeat = 1;
  plan.instrumented = true;
  plan.threads_per_rank = 6;
  plan.backend = Backend::Nccl;
  plan.on_gpus = true;
  plan.timeouts = {1.25, 0.1, 3};
  plan.rendezvous = "/tmp/a \"b\"";
  plan.scenario_file = "x.yaml";
  plan.scenario = "question: \"ä\"\nmodel: {name: resnet18}\n";
  return plan;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  return text;
}

TEST(Plan, is_read_back_as_it_was_written) {
  const auto read = plan_from_json(plan_to_json(odd_plan()));
  ASSERT_TRUE(read) << to_text(read.error().front());
  EXPECT_EQ(*read, odd_plan());
}

TEST(Plan, of_a_paced_run_keeps_its_dilation) {
  RunPlan plan = odd_plan();
  plan.dilate = 12.5;
  plan.kernel_factor = 0.9;
  const auto read = plan_from_json(plan_to_json(plan));
  ASSERT_TRUE(read) << to_text(read.error().front());
  EXPECT_EQ(*read, plan);
  EXPECT_TRUE(read->paced());
  EXPECT_FALSE(odd_plan().paced());
}

TEST(Plan, that_is_wrong_is_refused_with_the_key) {
  const std::string text = plan_to_json(odd_plan());
  const std::vector<std::tuple<std::string, ErrorKind, std::string>> cases = {
      {"", ErrorKind::Syntax, ""},
      {"[1]", ErrorKind::Syntax, ""},
      {text.substr(0, 40), ErrorKind::Syntax, ""},
      {replaced(text, "\"protocol\":1", "\"protocol\":2"), ErrorKind::NotSupported, "protocol"},
      {replaced(text, "\"strategy\":\"dp\"", "\"strategy\":\"dq\""), ErrorKind::Range, "strategy"},
      {replaced(text, "\"world_size\":3", "\"world_size\":0"), ErrorKind::Range, "world_size"},
      {replaced(text, "\"world_size\":3", "\"world_size\":3000000000"), ErrorKind::Type, "world_size"},
      {replaced(text, "\"steps\":7", "\"stops\":7"), ErrorKind::Missing, "steps"},
      {replaced(text, "\"instrumented\":true", "\"instrumented\":1"), ErrorKind::Type, "instrumented"}};
  for (const auto& [wrong, kind, key] : cases) {
    const auto read = plan_from_json(wrong);
    ASSERT_FALSE(read) << wrong;
    EXPECT_EQ(read.error().front().kind, kind) << wrong;
    EXPECT_EQ(read.error().front().key, key) << wrong;
  }
}

TEST(Plan, timeouts_follow_the_step_and_never_reach_half_an_hour_by_themselves) {
  EXPECT_EQ(timeouts_for(60, 0.1, 1e8), (Timeouts{61, 60, 1.25 * 61 + 1}));
  EXPECT_EQ(timeouts_for(60, 10, 0), (Timeouts{60, 200, 251}));
  EXPECT_LT(timeouts_for(60, 30, 6e9).silence_s, 1800);
  const Timeouts any = timeouts_for(0.1, 0.01, 0);
  EXPECT_GT(any.silence_s, any.group_s);
}

TEST(Record, each_kind_is_read_back_as_it_was_written) {
  RankStepRecord step{3, 12.5, 0.25, {{"forward", 0.1}}, 12.25, 12.5};
  const std::vector<Record> all = {
      HelloRecord{1, 77, "node \"a\"", "c10d Reducer", {{"torch", "2.11.0"}}, 2, {0, 3}, "lo"},
      JoiningRecord{},
      ReadyRecord{},
      StartRecord{1.0 / 3},
      BucketRecord{3, 1, 26494976, 0.1, 0.2, 0.3},
      step,
      FactsRecord{1 << 20, {{"bucket_sizes", "1, 2"}}, {{"conv2d", {{"backward", 0.5}, {"forward", 0.25}}}}},
      BenchRecord{"conv2d", "backward", "8x8", 4096, 1024, "float", 2, 20, 1e-3, 5, 1e9, 2e6, ""},
      BenchRecord{"all_reduce", "", "", 8, 2, "float", 1, 0, 0, 0, 0, 0, "no time for it"},
      NoteRecord{"a note"},
      ErrorRecord{"timeout", "Timed out\twaiting", {1, 2}},
      DoneRecord{}};
  for (const Record& record : all) {
    const std::string line = record_to_line(record);
    EXPECT_EQ(line.find('\n'), line.size() - 1) << line;
    const auto read = record_from_line(line.substr(0, line.size() - 1));
    ASSERT_TRUE(read) << line;
    EXPECT_EQ(read->index(), record.index());
    EXPECT_EQ(record_to_line(*read), line);
  }
}

TEST(Record, keys_that_are_not_known_are_ignored_and_types_that_are_not_are_refused) {
  EXPECT_TRUE(record_from_line(R"({"type":"start","at_s":1,"new":[]})"));
  for (const char* wrong : {"", "{}", "step 3", R"({"type":"stop"})", R"({"type":3})", R"({"type":"step","step":1})",
                            R"({"type":"step","step":1.5,"end_s":2})", R"({"type":"step","step":1,"end_s":"2"})",
                            R"({"type":"note","text":"a"} x)"})
    EXPECT_FALSE(record_from_line(wrong)) << wrong;
}

}  // namespace
}  // namespace lockstep
