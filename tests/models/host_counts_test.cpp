// Modules, tensors and ops as the DataParallel measurements count them (torchvision models, training).
#include <gtest/gtest.h>

#include <ostream>

#include "models/derived.h"
#include "zoo_helpers.h"

namespace lockstep {
namespace {

struct Counted {
  const char* model;
  HostCounts counts;  // modules, parameters, buffers, forward ops, convolutions, backward ops, adds
};

class HostCountsOf : public testing::TestWithParam<Counted> {};

// Values: the worked table of the DataParallel time model (docs/cost-models.md), counted on the real modules.
TEST_P(HostCountsOf, AreThoseOfTheRealModules) {
  const HostCounts got = host_counts(zoo_model(GetParam().model));
  const HostCounts& want = GetParam().counts;
  EXPECT_EQ(got.modules, want.modules);
  EXPECT_EQ(got.parameter_tensors, want.parameter_tensors);
  EXPECT_EQ(got.buffer_tensors, want.buffer_tensors);
  EXPECT_EQ(got.forward_ops, want.forward_ops);
  EXPECT_EQ(got.convolutions, want.convolutions);
  EXPECT_EQ(got.backward_ops, want.backward_ops);
  EXPECT_EQ(got.gradient_adds, want.gradient_adds);
}

INSTANTIATE_TEST_SUITE_P(Measured, HostCountsOf,
                         testing::Values(Counted{"resnet18", {68, 62, 60, 88, 20, 70, 8}},
                                         Counted{"resnet34", {116, 110, 108, 160, 36, 126, 16}},
                                         Counted{"resnet50", {151, 161, 159, 227, 53, 176, 16}},
                                         Counted{"resnext50-32x4d", {151, 161, 159, 227, 53, 176, 16}},
                                         Counted{"wide-resnet50-2", {151, 161, 159, 227, 53, 176, 16}},
                                         Counted{"densenet121", {433, 364, 363, 551, 120, 905, 535}},
                                         Counted{"densenet169", {601, 508, 507, 767, 168, 1669, 1155}},
                                         Counted{"mnasnet1-0", {182, 158, 156, 206, 52, 154, 10}},
                                         Counted{"mobilenet-v2", {213, 158, 156, 206, 52, 154, 10}},
                                         Counted{"shufflenet-v2-x1-0", {205, 170, 168, 224, 56, 170, 3}},
                                         Counted{"squeezenet1-0", {68, 52, 0, 67, 26, 65, 8}},
                                         Counted{"vgg11-bn", {40, 38, 24, 49, 8, 43, 0}},
                                         Counted{"vgg16", {42, 32, 0, 43, 13, 45, 0}}),
                         [](const auto& one) { return test_name(one.param.model); });

TEST(HostCounts, GeluNewIsEightForwardOps) {
  const Model model = zoo_model("gpt2");
  int ops = 0;
  for (const Op& op : model.ops) {
    if (op.name == "transformer.h.0.mlp.act") ops += forward_host_ops(op);
  }
  EXPECT_EQ(ops, 8);
}

// Three kernels draw, scale and apply the noise of a branch; the gradient of a broadcast factor is summed.
TEST(HostCounts, StochasticDepthIsThreeForwardOpsAndABroadcastProductThreeBackwardOps) {
  const Model model = zoo_model("efficientnet-b0");
  int noise = 0, scaled = 0;
  for (std::size_t i = 0; i < model.ops.size(); ++i) {
    const Op& op = model.ops[i];
    if (op.name == "features.2.1.stochastic_depth") noise += forward_host_ops(op);
    if (op.name == "features.2.0.stochastic_depth") noise += forward_host_ops(op);  // no residual: never called
    if (op.kind == OpKind::Multiply) scaled += backward_host_ops(model, OpId{static_cast<int>(i)});
  }
  EXPECT_EQ(noise, 3);
  EXPECT_EQ(scaled, 16 * 3);
}

TEST(HostCounts, TiedWeightsNeedOneAddOfTheirOwn) {
  EXPECT_EQ(tied_gradient_adds(zoo_model("gpt2")), 1);
  EXPECT_EQ(tied_gradient_adds(zoo_model("bert-base")), 1);
  EXPECT_EQ(tied_gradient_adds(zoo_model("resnet50")), 0);
}

}  // namespace
}  // namespace lockstep
