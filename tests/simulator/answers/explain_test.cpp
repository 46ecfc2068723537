#include "simulator/answers/explain.h"

#include <gtest/gtest.h>

#include "tests/simulator/answers/fake_machine.h"

namespace lockstep {
namespace {

using testing::FakeMachine;
using testing::inputs_of;

void expect_adds_up(const ExplainedRun& one) {
  double total = 0;
  for (const ExplainedCause& row : one.rows) {
    EXPECT_NEAR(row.seconds, one.run.part_s(row.cause), 1e-12) << name_of(row.cause);
    EXPECT_FALSE(row.note.empty());
    double parts = 0;
    for (const StepPart& part : row.parts) parts += part.seconds;
    EXPECT_NEAR(parts, row.seconds, 1e-12) << name_of(row.cause);
    total += row.seconds;
  }
  EXPECT_NEAR(total, one.run.step_time_s, 1e-12);
}

const StepPart* part_of(const ExplainedRun& one, Cause cause, const std::string& detail) {
  for (const ExplainedCause& row : one.rows)
    for (const StepPart& part : row.parts)
      if (row.cause == cause && part.detail == detail) return &part;
  return nullptr;
}

TEST(Explain, simulated_steps_fall_into_pieces_that_add_up) {
  const auto explanation =
      explain(inputs_of("batch: {per_gpu: 16}\ngpus: [2, 8]\ninput: {source: host}\nddp: {bucket_cap: 10MiB}\n"
                        "topology: {node: dgx-a100-80gb, override: {nvlink.rate: 2GB/s}}\n"),
              Method::Simulate);
  ASSERT_TRUE(explanation) << to_text(explanation.error().front());
  ASSERT_EQ(explanation->runs.size(), 2U);
  for (const ExplainedRun& one : explanation->runs) {
    EXPECT_EQ(one.run.gpus, 8);
    expect_adds_up(one);
    EXPECT_NE(part_of(one, Cause::Backward, "conv_dgrad"), nullptr);
    EXPECT_NE(part_of(one, Cause::Forward, "batch_norm"), nullptr);
  }
  // Links this slow hide nothing of the last bucket.
  const ExplainedRun& ddp = explanation->runs[1];
  ASSERT_EQ(ddp.run.strategy, Strategy::Ddp);
  const std::string last = "all-reduce bucket " + std::to_string(ddp.run.buckets.size() - 1);
  ASSERT_NE(part_of(ddp, Cause::ExposedCommunication, last), nullptr);
  EXPECT_NEAR(part_of(ddp, Cause::ExposedCommunication, last)->seconds, ddp.run.buckets.back().transfer_s,
              0.5 * ddp.run.buckets.back().transfer_s);
}

TEST(Explain, the_differences_of_dp_and_ddp_add_up_to_that_of_their_steps) {
  FakeMachine machine;
  const auto explanation = explain(inputs_of("input: {source: host}\n"), Method::Simulate, machine.source());
  ASSERT_TRUE(explanation);
  double sum = 0;
  std::map<std::string, double> by_cause;
  for (const DifferenceRow& row : explanation->difference) sum += by_cause[row.cause] = row.seconds();
  EXPECT_NEAR(sum, explanation->runs[0].run.step_time_s - explanation->runs[1].run.step_time_s, 1e-12);
  EXPECT_NEAR(sum, 30e-3, 1e-12);  // 60 ms of reduce against 30 ms of exposed all-reduce
  EXPECT_NEAR(by_cause["gradients"], 30e-3, 1e-12);
  EXPECT_NEAR(by_cause["batch"], 0, 1e-12);
}

TEST(Explain, every_cause_belongs_to_one_difference) {
  lockstep::Run dp, ddp;
  double expected = 0;
  for (const Cause cause : kCauses) {
    dp.breakdown_s[static_cast<std::size_t>(cause)] = 1 << static_cast<int>(cause);
    expected += dp.part_s(cause);
  }
  double sum = 0;
  for (const DifferenceRow& row : difference_of(dp, ddp, false)) sum += row.seconds();
  EXPECT_EQ(sum, expected);
}

TEST(Explain, dp_and_ddp_on_different_numbers_of_gpus_are_not_compared) {
  FakeMachine machine;
  const auto explanation = explain(inputs_of("topology: {node: dgx-a100-80gb, fabric: own}\ngpus: [8, 16]\n"),
                                   Method::Simulate, machine.source());
  ASSERT_TRUE(explanation);
  EXPECT_EQ(explanation->runs[0].run.gpus, 8);
  EXPECT_EQ(explanation->runs[1].run.gpus, 16);
  EXPECT_TRUE(explanation->difference.empty());
}

TEST(Explain, nothing_that_can_run_is_a_failed_run) {
  const auto explanation = explain(inputs_of("batch: {global: 10}\ngpus: 3\n"), Method::Simulate);
  ASSERT_FALSE(explanation);
  EXPECT_EQ(explanation.error().front().kind, ErrorKind::RunFailed);
}

}  // namespace
}  // namespace lockstep
