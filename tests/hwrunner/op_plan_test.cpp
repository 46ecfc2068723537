#include "hwrunner/modules/op_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/builder.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

ModelBuilder text_of(std::int64_t positions, std::int64_t width) {
  return ModelBuilder("made", "sequences", {positions, width}, DType::Fp32, 1);
}

Model finished(ModelBuilder b, OpId last) {
  b.cross_entropy(b.linear(b.flatten(last), "head", 3));
  return std::move(b).finish();
}

TEST(OpPlan, QueryKeyAndValueAreCutFromTheFeaturesOfARow) {
  ModelBuilder b = text_of(5, 12);  // 2 heads of width 2, three times
  const OpId packed = b.split(b.input());
  const OpId query = b.copy(packed, {2, 5, 2});
  b.copy(packed, {2, 2, 5});
  const OpId value = b.copy(packed, {2, 5, 2});
  const Model model = finished(std::move(b), b.copy(value, {5, 4}));
  const auto plans = plan_ops(model);
  ASSERT_TRUE(plans);
  const auto& first = (*plans)[static_cast<std::size_t>(query)];
  ASSERT_TRUE(first.part);
  EXPECT_EQ(first.part->axis, 1U);
  EXPECT_EQ(first.part->length, 4);
  EXPECT_TRUE(first.part->whole);
  EXPECT_THAT(first.rearrangement.axes, ElementsAre(5, 2, 2));
  EXPECT_THAT(first.rearrangement.order, ElementsAre(1, 0, 2));
  const auto& last = (*plans)[static_cast<std::size_t>(value)];
  EXPECT_EQ(last.part->start, 8);
  EXPECT_EQ(last.part->index, 2);
}

TEST(OpPlan, KeysAreTransposedWithinTheirHead) {
  const Rearrangement keys = rearrangement_of({5, 4}, {2, 2, 5});
  EXPECT_THAT(keys.axes, ElementsAre(5, 2, 2));
  EXPECT_THAT(keys.order, ElementsAre(1, 2, 0));
}

TEST(OpPlan, HeadsComeBackTogetherInARow) {
  EXPECT_THAT(rearrangement_of({2, 5, 7}, {5, 14}).order, ElementsAre(1, 0, 2));
}

TEST(OpPlan, PatchesOfAnImageBecomePositions) {
  const Rearrangement patches = rearrangement_of({8, 3, 3}, {9, 8});
  EXPECT_THAT(patches.axes, ElementsAre(8, 9));
  EXPECT_THAT(patches.order, ElementsAre(1, 0));
}

TEST(OpPlan, AFlattenedImageKeepsItsOrder) {
  EXPECT_THAT(rearrangement_of({8, 3, 3}, {72}).order, IsEmpty());
}

TEST(OpPlan, ChannelsAreHalvedAndARowIsTakenAlongTheFirstAxis) {
  ModelBuilder b("made", "images", {8, 4, 4}, DType::Fp32, 1);
  const OpId halves = b.split(b.input());
  b.view(halves, {4, 4, 4});
  const OpId second = b.view(halves, {4, 4, 4});
  const OpId row = b.view(b.split(second), {16});
  const Model model = finished(std::move(b), row);
  const auto plans = plan_ops(model);
  ASSERT_TRUE(plans);
  const auto& half = *(*plans)[static_cast<std::size_t>(second)].part;
  EXPECT_EQ(half.axis, 0U);
  EXPECT_EQ(half.start, 4);
  EXPECT_TRUE(half.whole);
  const auto& first_row = *(*plans)[static_cast<std::size_t>(row)].part;
  EXPECT_EQ(first_row.length, 1);
  EXPECT_FALSE(first_row.whole);
}

TEST(OpPlan, AFactorPerChannelBroadcastsOverItsImage) {
  ModelBuilder b("made", "images", {6, 4, 4}, DType::Fp32, 1);
  const OpId scaled = b.multiply(b.global_mean(b.input(), "mean"), b.input());
  const Model model = finished(std::move(b), scaled);
  const auto plans = plan_ops(model);
  ASSERT_TRUE(plans);
  EXPECT_THAT((*plans)[static_cast<std::size_t>(scaled)].factors[0], ElementsAre(6, 1, 1));
}

TEST(OpPlan, FactorsWhoseValuesMeetNowhereAreRefused) {
  ModelBuilder b("made", "samples", {12}, DType::Fp32, 1);
  const OpId product = b.multiply(b.view(b.input(), {3, 4}), b.linear(b.input(), "two", 2));
  const Model model = finished(std::move(b), product);
  const auto plans = plan_ops(model);
  ASSERT_FALSE(plans);
  EXPECT_EQ(plans.error().front().kind, ErrorKind::NotSupported);
}

TEST(OpPlan, ATensorIsFreeAfterItsLastReader) {
  ModelBuilder b("made", "samples", {4}, DType::Fp32, 1);
  const OpId first = b.linear(b.input(), "a", 4);
  const OpId second = b.relu(first, "r", false);
  const OpId sum = b.add(first, second);
  const Model model = finished(std::move(b), sum);
  const auto plans = plan_ops(model);
  ASSERT_TRUE(plans);
  EXPECT_THAT((*plans)[static_cast<std::size_t>(second)].last_read, IsEmpty());
  EXPECT_THAT((*plans)[static_cast<std::size_t>(sum)].last_read, ElementsAre(first, second));
  EXPECT_THAT((*plans)[static_cast<std::size_t>(first)].last_read, ElementsAre(OpId{0}));
}

}  // namespace
}  // namespace lockstep
