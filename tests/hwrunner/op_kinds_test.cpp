// Op kinds and attributes that no network of the zoo has, in small networks made for them.
#include <gtest/gtest.h>

#include "hwrunner/modules/module_facts.h"
#include "models/builder.h"
#include "models/derived.h"

namespace lockstep {
namespace {

Model finished(ModelBuilder b, OpId last) {
  b.cross_entropy(b.linear(b.flatten(last), "head", 3));
  return std::move(b).finish();
}

void expect_to_run(const Model& model) {
  const Expected<ModuleFacts> facts = module_facts(model);
  ASSERT_TRUE(facts) << to_text(facts.error().front());
  for (std::size_t i = 0; i < facts->outputs.size(); ++i) EXPECT_EQ(facts->outputs[i].shape, model.ops[i].output);
  std::vector<std::string> order;
  for (const ParameterId id : gradient_order(model)) order.push_back(model.parameter(id).name);
  EXPECT_EQ(facts->gradient_order, order);
  EXPECT_GT(facts->training_loss, 0);
}

TEST(OpKinds, EveryOneInputKindRunsInPlaceAndNot) {
  for (const OpKind kind : {OpKind::Relu, OpKind::Relu6, OpKind::Gelu, OpKind::Tanh, OpKind::Sigmoid, OpKind::Silu,
                            OpKind::Scale, OpKind::Power}) {
    for (const bool in_place : {false, true}) {
      SCOPED_TRACE(std::string(name_of(kind)) + (in_place ? " in place" : ""));
      ModelBuilder b("made", "samples", {6}, DType::Fp32, 1);
      const OpId x = b.linear(b.input(), "first", 8);
      const Model model = finished(std::move(b), b.unary(kind, x, "op", in_place));
      expect_to_run(model);
    }
  }
}

TEST(OpKinds, PoolsWithCeilingPaddingAndOddWindows) {
  ModelBuilder b("made", "images", {2, 11, 9}, DType::Fp32, 1);
  OpId x = b.conv2d(b.input(), "conv", 4, {.kernel_h = 3, .kernel_w = 2, .padding_h = 1, .dilation = 1, .bias = true});
  x = b.max_pool(x, "max", 3, 2, 1, true);
  ConvAttributes window;
  window.kernel_h = window.kernel_w = 2;
  window.stride_h = window.stride_w = 2;
  window.ceil_mode = true;
  x = b.adaptive_avg_pool(b.pool(OpKind::AvgPool, x, "average", window), "adaptive", 2, 3);
  expect_to_run(finished(std::move(b), x));
}

TEST(OpKinds, DilatedAndGroupedConvolutions) {
  ModelBuilder b("made", "images", {4, 9, 9}, DType::Fp32, 1);
  const OpId x = b.conv2d(b.input(), "conv", 6, {.kernel_h = 3, .kernel_w = 3, .dilation = 2, .groups = 2});
  expect_to_run(finished(std::move(b), x));
}

TEST(OpKinds, AWeightThatTwoLayersShareIsOneTensorWithOneGradient) {
  ModelBuilder b("made", "samples", {6}, DType::Fp32, 1);
  OpId x = b.linear_with(OpKind::Linear, b.input(), "a", 6, "a.weight", "a.bias");
  x = b.linear_with(OpKind::Linear, x, "b", 6, "a.weight", "");
  const Model model = finished(std::move(b), x);
  const Expected<ModuleFacts> facts = module_facts(model);
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->parameters.size(), 4U);
  expect_to_run(model);
}

TEST(OpKinds, AParameterThatNothingReadsHasNoGradient) {
  ModelBuilder b("made", "samples", {6}, DType::Fp32, 1);
  b.unused_parameter("spare.weight", {5});
  const Model model = finished(std::move(b), b.linear(b.input(), "a", 4));
  const Expected<ModuleFacts> facts = module_facts(model);
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->without_gradient, std::vector<std::string>{"spare.weight"});
  expect_to_run(model);
}

TEST(OpKinds, WhatCannotRunIsAnErrorWithLibTorchsWords) {
  Model model = finished(ModelBuilder("made", "samples", {6}, DType::Fp32, 1), OpId{0});
  model.parameters.front().shape = {3, 5};  // 6 inputs do not fit
  const Expected<ModuleFacts> facts = module_facts(model);
  ASSERT_FALSE(facts);
  EXPECT_EQ(facts.error().front().kind, ErrorKind::RunFailed);
  EXPECT_NE(facts.error().front().message.find("made: mat1 and mat2 shapes cannot be multiplied"), std::string::npos)
      << facts.error().front().message;
}

}  // namespace
}  // namespace lockstep
