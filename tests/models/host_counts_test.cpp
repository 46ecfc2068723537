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

TEST(HostCounts, TiedWeightsNeedOneAddOfTheirOwn) {
  EXPECT_EQ(tied_gradient_adds(zoo_model("gpt2")), 1);
  EXPECT_EQ(tied_gradient_adds(zoo_model("bert-base")), 1);
  EXPECT_EQ(tied_gradient_adds(zoo_model("resnet50")), 0);
}

}  // namespace
}  // namespace lockstep
