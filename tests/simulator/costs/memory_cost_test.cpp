#include "simulator/costs/memory_cost.h"

#include <gtest/gtest.h>

#include "models/derived.h"
#include "models/zoo/zoo.h"
#include "simulator/costs/optimizer_cost.h"
#include "tests/simulator/costs/reference_gpus.h"

namespace lockstep {
namespace {

using namespace reference;

class MemoryCost : public testing::Test {
 protected:
  MemoryCost() {
    context_.gpu = &gpu_;
    context_.batch = 128;
  }
  MemoryEstimate estimate(const MemoryQuestion& question) const {
    return memory_estimate(model_, context_, question, MemoryCosts{});
  }
  MemoryEstimate estimate(MemoryRole role) const {
    MemoryQuestion question;
    question.role = role;
    question.replicas = 4;
    return estimate(question);
  }

  GpuType gpu_ = a100_80gb_sxm4();
  ComputeContext context_;
  Model model_ = *build_zoo_model("resnet50", {});
};

// A batch of 128 is known to fit a 16 GB V100 in fp32, and 256 is known not to.
TEST_F(MemoryCost, ResNet50AtBatch128NeedsElevenToFourteenGigabytes) {
  const MemoryEstimate m = estimate(MemoryRole::Single);
  EXPECT_GT(m.total(), 11e9);
  EXPECT_LT(m.total(), 14e9);
  EXPECT_EQ(m.parameters, 102228128);
  EXPECT_EQ(m.gradients, m.parameters);
  EXPECT_EQ(m.optimizer_state, m.parameters);
  EXPECT_NEAR(static_cast<double>(m.activations), 128.0 * 85909504, 0.02 * 128 * 85909504);
  context_.batch = 256;
  EXPECT_GT(estimate(MemoryRole::Single).total(), 17e9);
}

TEST_F(MemoryCost, AutocastHalvesTheActivationsOfAConvolutionalNetworkAndAddsHalfWeights) {
  const std::int64_t fp32 = kept_activation_bytes(model_, context_);
  context_.autocast = true;
  const std::int64_t half = kept_activation_bytes(model_, context_);
  EXPECT_GT(half, 0.49 * static_cast<double>(fp32));
  EXPECT_LT(half, 0.56 * static_cast<double>(fp32));  // pool indices and half weights come on top of one half
}

TEST_F(MemoryCost, AutocastSavesLessInATransformer) {
  model_ = *build_zoo_model("bert-base", {});
  const double fp32 = static_cast<double>(kept_activation_bytes(model_, context_));
  context_.autocast = true;
  const double share = static_cast<double>(kept_activation_bytes(model_, context_)) / fp32;
  EXPECT_GT(share, 0.55);
  EXPECT_LT(share, 0.9);
}

TEST_F(MemoryCost, DdpAddsFlatBucketsUnlessGradientsAreViewsOfThem) {
  MemoryQuestion question;
  question.role = MemoryRole::Ddp;
  EXPECT_EQ(estimate(question).total() - estimate(MemoryRole::Single).total(), 102228128);
  question.gradient_as_bucket_view = true;
  EXPECT_EQ(estimate(question).total(), estimate(MemoryRole::Single).total());
}

TEST_F(MemoryCost, DataParallelFillsGpu0More) {
  const MemoryEstimate first = estimate(MemoryRole::DpFirst), other = estimate(MemoryRole::DpOther);
  EXPECT_GT(first.total(), other.total());
  EXPECT_EQ(other.optimizer_state, 0);
  EXPECT_EQ(first.input, 4 * other.input);
  EXPECT_EQ(first.activations, other.activations);
  EXPECT_GE(first.temporaries, 3 * 10485760);
}

TEST_F(MemoryCost, OptimizerStateIsZeroOneOrTwoCopies) {
  EXPECT_EQ(optimizer_state_bytes(model_, OptimizerKind::Sgd), 0);
  EXPECT_EQ(optimizer_state_bytes(model_, OptimizerKind::SgdMomentum), parameter_bytes(model_));
  EXPECT_EQ(optimizer_state_bytes(model_, OptimizerKind::AdamW), 2 * parameter_bytes(model_));
}

TEST_F(MemoryCost, TheOptimizersTemporariesCountWhereActivationsAreSmaller) {
  model_ = *build_zoo_model("vgg16", {});
  context_.batch = 1;
  const MemoryEstimate m = estimate(MemoryRole::Single);
  EXPECT_EQ(m.temporaries + m.activations + m.output, m.gradients);
  context_.batch = 64;
  EXPECT_EQ(estimate(MemoryRole::Single).temporaries, 0);
}

}  // namespace
}  // namespace lockstep
