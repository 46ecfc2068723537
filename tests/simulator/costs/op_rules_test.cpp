// Rules of single ops that no golden number covers: what is a kernel, who pays for it on the host, what a gradient
// costs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/derived.h"
#include "models/zoo/zoo.h"
#include "simulator/costs/constants.h"
#include "simulator/costs/op_cost.h"
#include "tests/simulator/costs/reference_gpus.h"
#include "tests/simulator/costs/small_models.h"

namespace lockstep {
namespace {

using namespace reference;
using testing::ElementsAre;
using testing::SizeIs;

std::vector<std::string> labels(const std::vector<KernelCost>& kernels) {
  std::vector<std::string> names;
  for (const KernelCost& kernel : kernels) names.emplace_back(kernel.label);
  return names;
}

int count(const std::vector<KernelCost>& kernels, HostClass host) {
  int sum = 0;
  for (const KernelCost& kernel : kernels) sum += kernel.host == host ? 1 : 0;
  return sum;
}

class OpRules : public testing::Test {
 protected:
  OpRules() {
    context_.gpu = &gpu_;
    context_.batch = 32;
  }
  OpCost cost(const OneOp& one) const { return op_cost(one.model, one.op, context_); }
  double work(const KernelCost& kernel) const { return kernel.seconds - default_constants().op.launch; }

  GpuType gpu_ = a100_80gb_sxm4();
  ComputeContext context_;
};

TEST_F(OpRules, AConvolutionBehindTheImageHasNoGradientOfItsInput) {
  const OpCost first = cost(one_conv(4, 64, 56, square(3, 1, 1), true));
  EXPECT_THAT(labels(first.backward), ElementsAre("conv_wgrad"));
  EXPECT_EQ(first.backward[0].host, HostClass::BackwardConv);
  const OpCost later = cost(one_conv(4, 64, 56, square(3, 1, 1)));
  EXPECT_THAT(labels(later.backward), ElementsAre("conv_dgrad", "conv_wgrad"));
  EXPECT_EQ(later.backward[0].host, HostClass::BackwardConv);
  EXPECT_EQ(later.backward[1].host, HostClass::None);
}

TEST_F(OpRules, TensorCoresPadThreeChannelsToFourInTf32AndToEightInHalf) {
  gpu_.memory_bandwidth = 1e18;  // leave the arithmetic alone
  const auto time = [&](std::int64_t channels) {
    return work(cost(one_conv(channels, 64, 64, square(7, 2, 3))).forward[0]);
  };
  EXPECT_NEAR(time(3) / time(4), 1, 1e-6);
  context_.autocast = true;
  const auto half = [&](std::int64_t channels) {
    const OpCost c = cost(one_conv(channels, 64, 64, square(7, 2, 3)));
    return work(c.forward.back());
  };
  EXPECT_NEAR(half(3) / half(8), 1, 1e-6);
  EXPECT_GT(half(9) / half(8), 1.9);
}

TEST_F(OpRules, AConvolutionsBiasIsAKernelForwardAndAColumnSumBackward) {
  ConvAttributes conv = square(3, 1, 1);
  conv.bias = true;
  const OneOp one = one_conv(64, 64, 56, conv);
  const OpCost c = cost(one);
  EXPECT_THAT(labels(c.forward), ElementsAre("conv", "conv_bias"));
  EXPECT_EQ(c.forward[1].host, HostClass::None);
  EXPECT_THAT(labels(c.backward), ElementsAre("conv_dgrad", "conv_wgrad", "bias_grad"));
  const double y = 32.0 * 64 * 56 * 56 * 4;
  EXPECT_NEAR(work(c.forward[1]), 2 * y / (0.85 * gpu_.memory_bandwidth), 1e-12);
  EXPECT_NEAR(work(c.backward[2]), y / (0.60 * gpu_.memory_bandwidth), 1e-12);
}

TEST_F(OpRules, FewChannelsPerGroupSlowAGroupedConvolution) {
  gpu_.memory_bandwidth = 1e18;  // rho is then 0: no other factor but the groups
  const double dense = work(cost(one_conv(128, 128, 28, square(3, 1, 1))).forward[0]);
  const double grouped = work(cost(one_conv(128, 128, 28, square(3, 1, 1, 8))).forward[0]);
  EXPECT_NEAR(grouped / dense, (1.0 / 8) * (16.0 + 48) / 16, 1e-6);
}

TEST_F(OpRules, ADepthwiseConvolutionOnlyMovesBytes) {
  const OpCost c = cost(one_conv(96, 96, 56, square(3, 1, 1, 96)));
  const double bytes = 2 * 32.0 * 96 * 56 * 56 * 4;
  EXPECT_NEAR(work(c.forward[0]), bytes / (0.25 * gpu_.memory_bandwidth), 1e-12);
  EXPECT_NEAR(work(c.backward[0]), 1.5 * work(c.forward[0]), 1e-12);
  EXPECT_NEAR(work(c.backward[1]), 1.5 * work(c.forward[0]), 1e-12);
}

TEST_F(OpRules, ChannelsLastNeedsNoLayoutPasses) {
  context_.autocast = true;
  const OneOp one = one_conv(64, 64, 56, square(3, 1, 1));
  const double nchw = work(cost(one).forward.back());
  context_.channels_last = true;
  const double nhwc = work(cost(one).forward.back());
  EXPECT_GT(nchw, 2 * nhwc);
}

TEST_F(OpRules, Fp32WinogradBeatsTheImplicitProductOnWideMapsAndNeverTheBytes) {
  context_.tf32_conv = false;
  const OneOp one = one_conv(256, 256, 28, square(3, 1, 1));
  const double flop = 2 * 32.0 * 28 * 28 * 256 * 256 * 9;
  const double time = work(cost(one).forward[0]);
  EXPECT_LT(time, flop / gpu_.peak_fp32);  // below what any direct method can do
  const OneOp thin = one_conv(1, 1, 224, square(3, 1, 1));
  EXPECT_GE(work(cost(thin).forward[0]), 2 * 32.0 * 224 * 224 * 4 / (0.80 * gpu_.memory_bandwidth));
}

TEST_F(OpRules, ABatchNormIsTwoHostOpsAndOneBackwardOp) {
  const OpCost c = cost(one_op({64, 56, 56}, [](ModelBuilder& b, OpId x) { return b.batch_norm(x, "bn"); }));
  EXPECT_THAT(labels(c.forward), ElementsAre("bn_counter", "batch_norm"));
  EXPECT_EQ(count(c.forward, HostClass::ForwardOp), 2);
  EXPECT_DOUBLE_EQ(c.forward[0].seconds, 4e-6);
  EXPECT_THAT(c.backward, SizeIs(1));
}

TEST_F(OpRules, ALinearHasOneGradientPerInputWeightAndBias) {
  const auto linear = [](ModelBuilder& b, OpId x) { return b.linear(x, "fc", 1000); };
  EXPECT_THAT(labels(cost(one_op({512}, linear)).backward), ElementsAre("gemm_dgrad", "gemm_wgrad", "bias_grad"));
}

TEST_F(OpRules, AResidualAddHasNoBackwardKernelButItsInputIsSummed) {
  ModelBuilder b("residual", "images", {64, 56, 56}, DType::Fp32, 1);
  const OpId x = b.batch_norm(b.input(), "bn1");
  const OpId y = b.batch_norm(x, "bn2");
  const OpId sum = b.add(y, x);
  const Model model = with_loss(std::move(b), sum);
  EXPECT_THAT(op_cost(model, sum, context_).backward, SizeIs(0));
  const OpCost shared = op_cost(model, x, context_);
  EXPECT_THAT(labels(shared.backward), ElementsAre("gradient_add", "batch_norm_backward"));
  EXPECT_NEAR(work(shared.backward[0]), 3 * 32.0 * 64 * 56 * 56 * 4 / (0.85 * gpu_.memory_bandwidth), 1e-12);
}

TEST_F(OpRules, DropoutIsThreeHostOpsUnlessItsProbabilityIsZero) {
  const auto dropout = [](double p) { return [p](ModelBuilder& b, OpId x) { return b.dropout(x, "drop", p); }; };
  const OpCost c = cost(one_op({512}, dropout(0.1)));
  EXPECT_EQ(count(c.forward, HostClass::ForwardOp), 3);
  EXPECT_THAT(c.backward, SizeIs(1));
  const double elements = 32.0 * 512;
  const double bytes = elements * (2 * 4 + 1);
  double sum = 0;
  for (const KernelCost& kernel : c.forward) sum += work(kernel);
  EXPECT_NEAR(sum, bytes / (0.85 * gpu_.memory_bandwidth), 1e-13);
  EXPECT_NEAR(work(c.backward[0]), bytes / (0.85 * gpu_.memory_bandwidth), 1e-13);
  EXPECT_THAT(cost(one_op({512}, dropout(0))).forward, SizeIs(0));
}

TEST_F(OpRules, LongSoftmaxRowsAreReadOnceMore) {
  const auto softmax = [](ModelBuilder& b, OpId x) { return b.softmax(x); };
  const OpCost in_registers = cost(one_op({64, 1024}, softmax)), streamed = cost(one_op({32, 2048}, softmax));
  EXPECT_NEAR(work(streamed.forward[0]) / work(in_registers.forward[0]), 3.0 / 2, 1e-9);
  EXPECT_NEAR(work(streamed.backward[0]) / work(in_registers.backward[0]), 5.0 / 3, 1e-9);
}

TEST_F(OpRules, TheKernelFactorScalesWorkButNotTheLaunch) {
  const OneOp one = one_conv(64, 64, 56, square(3, 1, 1));
  const double before = cost(one).forward[0].seconds;
  context_.kernel_factor = 1.5;
  EXPECT_NEAR(cost(one).forward[0].seconds, 4e-6 + 1.5 * (before - 4e-6), 1e-15);
}

TEST_F(OpRules, RegimesFollowSwitchesAndWhatTheGpuHas) {
  Op conv, linear;
  conv.kind = OpKind::Conv2d;
  linear.kind = OpKind::Linear;
  EXPECT_EQ(regime_of(conv, context_), Regime::Tf32);
  EXPECT_EQ(regime_of(linear, context_), Regime::Simt);
  context_.tf32_matmul = true;
  EXPECT_EQ(regime_of(linear, context_), Regime::Tf32);
  context_.autocast = true;
  EXPECT_EQ(regime_of(linear, context_), Regime::Half);
  const GpuType volta = v100_sxm2();
  context_.gpu = &volta;
  EXPECT_EQ(regime_of(linear, context_), Regime::Half);
  context_.bf16 = true;  // Volta has no BF16 path
  EXPECT_EQ(regime_of(linear, context_), Regime::Simt);
  context_.autocast = false;
  EXPECT_EQ(regime_of(conv, context_), Regime::Simt);
}

TEST_F(OpRules, GeluNewIsEightForwardKernelsOf18PassesAndTenBackwardOf24BesideItsTwoAdds) {
  ModelOptions options;
  options.sequence = 64;
  const Model gpt = *build_zoo_model("gpt2", options);
  const std::vector<OpCost> costs = op_costs(gpt, context_);
  const double pass = 32.0 * 64 * 3072 * 4 / (0.85 * gpu_.memory_bandwidth);
  int forward = 0, backward = 0;
  double forward_passes = 0, backward_passes = 0;
  std::size_t i = 0;
  while (gpt.ops[i].name != "transformer.h.0.mlp.c_fc") ++i;
  for (++i; gpt.ops[i].name != "transformer.h.0.mlp.c_proj"; ++i) {
    for (const KernelCost& k : costs[i].forward) ++forward, forward_passes += work(k) / pass;
    for (const KernelCost& k : costs[i].backward) ++backward, backward_passes += work(k) / pass;
  }
  EXPECT_EQ(forward, 8);
  EXPECT_NEAR(forward_passes, 18, 1e-6);
  EXPECT_EQ(backward, 10);
  EXPECT_NEAR(backward_passes, 24, 1e-6);  // with the two adds at the op's input 12 kernels, 30 passes; page 12, 28
}

TEST_F(OpRules, FusedAttentionIsTwoProductsForwardAndFiveBackwardWithoutTheScoresBytes) {
  const OneOp one = one_op({8, 64, 32}, [](ModelBuilder& b, OpId x) { return b.attention(x, x, x, {8, 64, 64, 32}); });
  gpu_.memory_bandwidth = 1e18;  // products alone
  const double scores = gemm_seconds({8 * 32, 64, 64, 32}, Regime::Simt, 4, context_);
  const double result = gemm_seconds({8 * 32, 64, 32, 64}, Regime::Simt, 4, context_);
  EXPECT_NEAR(work(cost(one).forward.at(0)) / (scores + result), 1, 1e-6);
  EXPECT_NEAR(work(cost(one).backward.back()) / (2 * scores + 3 * result), 1, 1e-6);
  gpu_.memory_bandwidth = 1e3;  // bytes alone
  const double tensor = 32 * 8 * 64 * 32 * 4;
  const double rate = 1e3 * default_constants().op.em_conv;
  EXPECT_NEAR(work(cost(one).forward.at(0)) * rate / tensor, 4, 1e-6);
  EXPECT_NEAR(work(cost(one).backward.back()) * rate / tensor, 8, 1e-6);
}

TEST_F(OpRules, AnOpInPlaceThatNeedsItsInputClonesItFirst) {
  const auto labels_of = [&](OpKind kind) {
    return labels(cost(one_op({4, 8, 8}, [&](ModelBuilder& b, OpId x) { return b.unary(kind, x, "", true); })).forward);
  };
  EXPECT_THAT(labels_of(OpKind::Silu), ElementsAre("clone", "silu"));
  EXPECT_THAT(labels_of(OpKind::Relu6), ElementsAre("clone", "relu6"));
  EXPECT_THAT(labels_of(OpKind::Relu), ElementsAre("relu"));
}

TEST_F(OpRules, HostOpsOfTheKernelsAreThoseOfTheCountingRule) {
  for (const char* name : {"resnet18", "resnext50-32x4d", "vgg16", "densenet121", "inception-v3", "mobilenet-v2",
                           "shufflenet-v2-x1-0", "efficientnet-b0", "vit-b-16", "bert-base", "gpt2"}) {
    const Model model = *build_zoo_model(name, {});
    int forward = 0, backward = 0, convolutions = 0;
    for (const OpCost& cost : op_costs(model, context_)) {
      forward += count(cost.forward, HostClass::ForwardOp);
      convolutions += count(cost.backward, HostClass::BackwardConv);
      backward += count(cost.backward, HostClass::BackwardOther);
    }
    const HostCounts counts = host_counts(model);
    EXPECT_EQ(forward, counts.forward_ops) << name;
    EXPECT_EQ(convolutions, counts.convolutions) << name;
    EXPECT_EQ(backward + convolutions, counts.backward_ops) << name;
  }
}

TEST_F(OpRules, CostsOfAllOpsEqualThoseOfEach) {
  const Model model = *build_zoo_model("gpt2", {});
  context_.autocast = true;
  const std::vector<OpCost> all = op_costs(model, context_);
  for (std::size_t i = 0; i < model.ops.size(); i += 7) {
    const OpCost one = op_cost(model, OpId{static_cast<int>(i)}, context_);
    ASSERT_EQ(one.forward.size(), all[i].forward.size());
    ASSERT_EQ(one.backward.size(), all[i].backward.size());
    for (std::size_t k = 0; k < one.backward.size(); ++k)
      EXPECT_EQ(one.backward[k].seconds, all[i].backward[k].seconds);
  }
}

}  // namespace
}  // namespace lockstep
