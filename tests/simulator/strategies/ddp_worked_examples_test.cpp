// The worked examples of docs/cost-models.md, section "ddp": ResNet-50 and BERT-Base on V100 machines over slow and
// fast networks, to the digits printed there, through the recurrence by both drivers. Milliseconds.
#include <gtest/gtest.h>

#include <functional>

#include "simulator/engine/engine.h"
#include "simulator/estimate/estimate.h"
#include "simulator/steps/replay.h"
#include "tests/simulator/strategies/hand_ddp.h"

namespace lockstep::testing {
namespace {

constexpr double kPrinted = 0.0105;  // two digits are printed of what was computed from inputs of two digits
constexpr double kBertReady = 0.02;  // BERT's ready fractions have four digits, its backward pass takes 188.69 ms

HandDdp resnet50(const Ring& ring, double wait_ms) {
  HandDdp hand;
  hand.broadcast_ms = 0.2;
  hand.forward_ms = 27.41;
  hand.backward_ms = 68.46;
  hand.optimizer_ms = 1.13;
  hand.wait_ms = wait_ms;
  hand.copy_rate = 673.5e9;
  hand.buckets = {
      {.0005, 8196000, 2}, {.0788, 31502336, 15}, {.1483, 26255360, 12}, {.4397, 26550272, 51}, {1, 9724160, 81}};
  hand.ring = ring;
  return hand;
}

HandDdp bert_base(const Ring& ring, double wait_ms) {
  HandDdp hand;
  hand.forward_ms = 96.73;
  hand.backward_ms = 188.69;
  hand.optimizer_ms = 15.33;
  hand.wait_ms = wait_ms;
  hand.copy_rate = 462.0e9;
  hand.buckets = {{.2188, 2496776, 7}};
  for (int i = 0; i < 12; ++i) hand.buckets.push_back({.2781 + .06433 * i, 28351488, 16});
  hand.buckets.push_back({.9974, 97729536, 7});
  hand.ring = ring;
  return hand;
}

struct Row {
  std::size_t bucket;  // counted from 1 as printed
  double transfer, ready, start, end;
};

class WorkedExample : public ::testing::TestWithParam<const char*> {
 protected:
  StepRecord drive(const StepGraph& graph) const {
    return std::string(GetParam()) == "estimate" ? estimate(graph, {}) : simulate(graph, {});
  }
  double step_ms(const HandDdp& hand) const { return drive(build(hand)).step_times_s().back() * 1e3; }

  void expect_rows(const HandDdp& hand, const std::vector<Row>& rows, double step_ms) const {
    const StepGraph graph = build(hand);
    const StepRecord record = drive(graph);
    const Replay replayed = replay(graph, record, 0, 2, {}, {false, false});
    for (const Row& row : rows) {
      const BucketTimes& bucket = replayed.buckets.at(row.bucket - 1);
      EXPECT_NEAR(bucket.transfer_s * 1e3, row.transfer, kPrinted) << "bucket " << row.bucket;
      EXPECT_NEAR(bucket.ready_s * 1e3, row.ready, kPrinted) << "bucket " << row.bucket;
      EXPECT_NEAR(bucket.start_s * 1e3, row.start, kPrinted) << "bucket " << row.bucket;
      EXPECT_NEAR(bucket.end_s * 1e3, row.end, kPrinted) << "bucket " << row.bucket;
    }
    EXPECT_NEAR((replayed.end_s - replayed.start_s) * 1e3, step_ms, kPrinted);
  }
};

TEST_P(WorkedExample, ResNet50OnTwoNodesAndTenGigabitEthernet) {
  expect_rows(resnet50(hand_ring(2, 4, 1.15, 40), 2.07),
              {{1, 12.72, 27.73, 27.73, 40.46},
               {2, 48.19, 34.20, 40.46, 88.64},
               {3, 40.20, 39.93, 88.64, 128.85},
               {4, 40.65, 63.49, 128.85, 169.50},
               {5, 15.05, 108.44, 169.50, 184.55}},
              188.43);
}

TEST_P(WorkedExample, ResNet50WithOneBufferAfterBackward) {
  HandDdp hand = resnet50(hand_ring(2, 4, 1.15, 40), 2.07);
  hand.buckets = {{1, 102228128, 161}};
  hand.order = HandOrder::AfterBackward;
  EXPECT_NEAR(step_ms(hand), 258.31, kPrinted);
}

TEST_P(WorkedExample, ResNet50WithFiveBucketsAfterBackward) {
  HandDdp hand = resnet50(hand_ring(2, 4, 1.15, 40), 2.07);
  hand.launch_us = 0;
  hand.order = HandOrder::AfterBackward;
  EXPECT_NEAR(step_ms(hand), 259.26, kPrinted);
}

TEST_P(WorkedExample, ResNet50OnTwoNodesAndOneGigabitEthernet) {
  expect_rows(resnet50(hand_ring(2, 4, 0.115, 50), 2.07),
              {{1, 125.01, 27.73, 27.73, 152.74}, {5, 148.26, 108.44, 1436.54, 1584.80}}, 1588.68);
}

TEST_P(WorkedExample, ResNet50OnFourNodesAndInfiniBand) {
  HandDdp hand = resnet50(hand_ring(4, 8, 10.5, 5), 3.01);
  expect_rows(hand, {{1, 1.87, 27.73, 27.73, 29.60}, {4, 5.26, 60.55, 60.55, 65.81}, {5, 2.15, 100.33, 100.33, 102.47}},
              107.29);
  hand.phi = 1;
  EXPECT_NEAR(step_ms(hand), 104.88, kPrinted);
}

TEST_P(WorkedExample, BertOnFourGpusByPcie) {
  const HandDdp hand = bert_base(hand_ring(1, 4, 4.7, 0), 4.64);
  const StepGraph graph = build(hand);
  const Replay replayed = replay(graph, drive(graph), 0, 2, {}, {false, false});
  EXPECT_NEAR(replayed.buckets[0].transfer_s * 1e3, .873, 0.001);
  EXPECT_NEAR(replayed.buckets[1].transfer_s * 1e3, 9.124, 0.001);
  EXPECT_NEAR(replayed.buckets[13].transfer_s * 1e3, 31.266, 0.001);
  EXPECT_NEAR(replayed.buckets[13].start_s * 1e3, 308.80, kBertReady);
  EXPECT_NEAR(replayed.buckets[13].end_s * 1e3, 340.06, kBertReady);
  EXPECT_NEAR((replayed.end_s - replayed.start_s) * 1e3, 360.5, 0.06);
}

TEST_P(WorkedExample, BertOnTwoNodesAndTenGigabitEthernet) {
  const HandDdp hand = bert_base(hand_ring(2, 4, 1.15, 40), 6.42);
  const StepGraph graph = build(hand);
  const Replay replayed = replay(graph, drive(graph), 0, 2, {}, {false, false});
  EXPECT_NEAR(replayed.buckets[0].transfer_s * 1e3, 4.050, 0.001);
  EXPECT_NEAR(replayed.buckets[1].transfer_s * 1e3, 43.394, 0.001);
  EXPECT_NEAR(replayed.buckets[13].transfer_s * 1e3, 148.97, kPrinted);
  EXPECT_NEAR(replayed.buckets[13].end_s * 1e3, 819.85, kBertReady);
  EXPECT_NEAR((replayed.end_s - replayed.start_s) * 1e3, 842.1, 0.06);
}

// T = ready of the first bucket + all transfers + last copy out + optimizer + wait, when the network never idles.
TEST_P(WorkedExample, HasAShortFormWhenTheNetworkIsTheLimit) {
  const HandDdp hand = resnet50(hand_ring(2, 4, 1.15, 40), 2.07);
  const StepGraph graph = build(hand);
  const Replay replayed = replay(graph, drive(graph), 0, 2, {}, {false, false});
  double short_form = replayed.buckets[0].ready_s + (hand.optimizer_ms + hand.wait_ms) * 1e-3;
  for (const auto& bucket : replayed.buckets) short_form += bucket.transfer_s;
  short_form += 2 * 9724160 / hand.copy_rate + 81 * 8e-6;
  EXPECT_NEAR(replayed.end_s - replayed.start_s, short_form, 1e-9);
}

TEST_P(WorkedExample, ObeysTheLawsOfThePage) {
  double before = 1e9;
  for (const double rate : {0.1, 0.5, 1.0, 2.0, 5.0, 20.0, 100.0, 1e6}) {
    const HandDdp hand = resnet50(hand_ring(2, 4, rate, 40), 2.07);
    const double bucketed = step_ms(hand);
    EXPECT_LE(bucketed, before) << rate;
    EXPECT_GE(bucketed, 97 + 0.2) << rate;
    HandDdp after = hand;
    after.order = HandOrder::AfterBackward;
    const double no_overlap = step_ms(after);
    const double alpha = plan_collective(hand.ring, CollectiveOperation::AllReduce, 0).seconds() * 1e3;
    EXPECT_LE(bucketed, no_overlap + 5 * (alpha + 0.05) + 0.15 * 68.46) << rate;
    before = bucketed;
  }
}

INSTANTIATE_TEST_SUITE_P(ByDriver, WorkedExample, ::testing::Values("estimate", "engine"),
                         [](const auto& driver) { return std::string(driver.param); });

}  // namespace
}  // namespace lockstep::testing
