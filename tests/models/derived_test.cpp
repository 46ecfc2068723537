// What follows from a model, on networks small enough to work out by hand.
#include "models/derived.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/builder.h"
#include "models/describe.h"
#include "zoo_helpers.h"

namespace lockstep {
namespace {

using testing::ElementsAre;

std::vector<std::string> gradient_names(const Model& model, bool autocast = false) {
  std::vector<std::string> names;
  for (const ParameterId id : gradient_order(model, autocast)) names.push_back(model.parameter(id).name);
  return names;
}

ModelBuilder image_model() {
  return ModelBuilder("small", "images", {3, 8, 8}, DType::Fp32, 1);
}

TEST(GradientOrder, AConvolutionsWeightComesBeforeItsBiasAndALinearsAfterIt) {
  ModelBuilder b = image_model();
  const OpId x = b.conv2d(b.input(), "conv", {.out = 4, .kernel = 3, .padding = 1, .bias = true});
  b.cross_entropy(b.linear(b.flatten(x), "fc", 10));
  EXPECT_THAT(gradient_names(std::move(b).finish()), ElementsAre("fc.bias", "fc.weight", "conv.weight", "conv.bias"));
}

TEST(GradientOrder, UnderAutocastALinearsWeightComesBeforeItsBiasAndThatOfConv1dAfterIt) {
  ModelBuilder b("half", "sequences", {5}, DType::Int64, 5);
  const OpId x = b.conv1d_gpt(b.embedding(b.input(), "embed", 20, 6), "c_fc", 8);
  b.cross_entropy(b.linear(x, "head", 20));
  const Model model = std::move(b).finish();
  EXPECT_THAT(gradient_names(model),
              ElementsAre("head.bias", "head.weight", "c_fc.bias", "c_fc.weight", "embed.weight"));
  EXPECT_THAT(gradient_names(model, true),
              ElementsAre("head.weight", "head.bias", "c_fc.bias", "c_fc.weight", "embed.weight"));
}

TEST(GradientOrder, ATiedWeightComesAfterItsLastContribution) {
  ModelBuilder b("tied", "sequences", {5}, DType::Int64, 5);
  const OpId x = b.layer_norm(b.embedding(b.input(), "embed", 20, 6), "norm");
  b.cross_entropy(b.linear_with(OpKind::Linear, x, "head", 20, "embed.weight", ""));
  const Model model = std::move(b).finish();
  EXPECT_THAT(gradient_names(model), ElementsAre("norm.weight", "norm.bias", "embed.weight"));
  EXPECT_EQ(tied_gradient_adds(model), 1);
  EXPECT_EQ(parameter_count(model), 20 * 6 + 12);
}

TEST(GradientOrder, LeavesOutWhatTheLossNeverReaches) {
  ModelBuilder b = image_model();
  const OpId x = b.conv2d(b.input(), "used", {.out = 4});
  b.conv2d(x, "dead_end", {.out = 9});
  b.unused_parameter("never", {7});
  b.cross_entropy(b.linear(b.flatten(x), "fc", 2, false));
  const Model model = std::move(b).finish();
  EXPECT_THAT(gradient_names(model), ElementsAre("fc.weight", "used.weight"));
  EXPECT_EQ(model.parameters.size(), 4u);
  EXPECT_EQ(gradient_adds(model, x), 0) << "the dead end sends no gradient";
  EXPECT_EQ(host_counts(model).backward_ops, 1 + 2);
}

TEST(GradientAdds, AreOneLessThanTheConsumersButNoneForASplit) {
  ModelBuilder b("fan", "samples", {8}, DType::Fp32, 1);
  const OpId x = b.linear(b.input(), "first", 8);
  const OpId three = b.add(b.add(b.relu(x, "a", false), b.relu(x, "b", false)), x);
  const OpId parts = b.split(three);
  const OpId joined = b.multiply(b.copy(parts, {4}), b.copy(parts, {4}));
  b.cross_entropy(joined);
  const Model model = std::move(b).finish();
  EXPECT_EQ(gradient_adds(model, x), 2);
  EXPECT_EQ(gradient_adds(model, parts), 0);
  EXPECT_EQ(gradient_adds(model, b.input()), 0);
}

TEST(Flop, TheFirstLayerHasNoGradientOfItsInput) {
  ModelBuilder b("two", "samples", {10}, DType::Fp32, 1);
  const OpId first = b.linear(b.input(), "0", 20);
  const OpId second = b.linear(b.relu(first, "1", false), "2", 5);
  b.cross_entropy(second);
  const Model model = std::move(b).finish();
  EXPECT_FALSE(needs_input_gradient(model, model.op(first)));
  EXPECT_TRUE(needs_input_gradient(model, model.op(second)));
  EXPECT_EQ(forward_flop(model), 2 * 10 * 20 + 2 * 20 * 5);
  EXPECT_EQ(backward_flop(model), 2 * 10 * 20 + 2 * (2 * 20 * 5));
}

TEST(Flop, GroupsDivideTheWorkOfAConvolution) {
  ModelBuilder b("grouped", "images", {8, 6, 6}, DType::Fp32, 1);
  const OpId x = b.conv2d(b.input(), "conv", {.out = 16, .kernel = 3, .stride = 2, .padding = 1, .groups = 4});
  EXPECT_THAT(b.shape(x), ElementsAre(16, 3, 3));
  b.cross_entropy(b.flatten(x));
  EXPECT_EQ(forward_flop(std::move(b).finish()), 2 * 16 * 3 * 3 * (8 / 4) * 9);
}

TEST(KeptActivations, AnInPlaceReluSharesTheStorageThatTheNextLayerKeeps) {
  ModelBuilder b("relu", "samples", {10}, DType::Fp32, 1);
  const OpId hidden = b.relu(b.linear(b.input(), "0", 20), "1", true);
  b.cross_entropy(b.linear(hidden, "2", 5));
  // The sample, the hidden layer once; the loss keeps 5 log-probabilities and one label.
  EXPECT_THAT(saved_activation_bytes(std::move(b).finish()), ElementsAre(0, 40, 80, 0, 5 * 4 + 8));
}

TEST(KeptActivations, ARelu6InPlaceKeepsAClone) {
  ModelBuilder b("relu6", "samples", {10}, DType::Fp32, 1);
  const OpId hidden = b.unary(OpKind::Relu6, b.linear(b.input(), "0", 20), "1", true);
  b.cross_entropy(b.linear(hidden, "2", 5));
  const Model model = std::move(b).finish();
  EXPECT_TRUE(clones_input(model.op(hidden)));
  EXPECT_THAT(saved_activation_bytes(model), ElementsAre(0, 40, 80, 80, 5 * 4 + 8)) << "the clone, then what it became";
}

TEST(KeptActivations, StochasticDepthKeepsOneNumberPerSample) {
  ModelBuilder b("noise", "samples", {10}, DType::Fp32, 1);
  const OpId hidden = b.stochastic_depth(b.linear(b.input(), "0", 20), "1", 0.1);
  b.cross_entropy(b.linear(hidden, "2", 5));
  const Model model = std::move(b).finish();
  for (const DropoutMask mask : {DropoutMask::Float, DropoutMask::Byte})
    EXPECT_THAT(saved_activation_bytes(model, mask), ElementsAre(0, 40, 4, 80, 5 * 4 + 8));
}

TEST(KeptActivations, ADropoutThatNeverDropsIsNotThere) {
  ModelBuilder b("none", "samples", {10}, DType::Fp32, 1);
  const OpId hidden = b.dropout(b.relu(b.linear(b.input(), "0", 20), "1"), "2", 0);
  b.cross_entropy(b.linear(hidden, "3", 5));
  EXPECT_THAT(saved_activation_bytes(std::move(b).finish()), ElementsAre(0, 40, 80, 0, 0, 5 * 4 + 8));
}

TEST(FusedAttention, KeepsNoScoresAndFormsThemAgain) {
  constexpr std::int64_t kHeads = 2, kPositions = 5, kHead = 4;
  ModelBuilder b("attention", "samples", {kPositions, 8}, DType::Fp32, 1);
  const OpId parts = b.split(b.copy(b.linear(b.input(), "in", 24), {3, kHeads, kPositions, kHead}));
  const Shape part{kHeads, kPositions, kHead};
  const OpId q = b.view(parts, part), k = b.view(parts, part), v = b.view(parts, part);
  const OpId out = b.attention(q, k, v, {kHeads, kPositions, kPositions, kHead});
  b.cross_entropy(b.linear(b.flatten(out), "out", 3));
  const Model model = std::move(b).finish();
  const std::int64_t product = 2 * kHeads * kPositions * kPositions * kHead;
  EXPECT_EQ(forward_flop(model, model.op(out)), 2 * product);
  EXPECT_EQ(backward_flop(model, model.op(out)), 5 * product);
  // Query, key and value in one tensor, the result, one number per query and head.
  const std::int64_t joined = 3 * 8 * kPositions * 4, result = 8 * kPositions * 4, sums = kHeads * kPositions * 4;
  EXPECT_EQ(saved_activation_bytes(model)[static_cast<std::size_t>(out)], joined + result + sums);
}

TEST(LearnedTensors, EnterOncePerBatchWithAGradientOfTheirOwn) {
  ModelBuilder b("token", "samples", {6, 8}, DType::Fp32, 1);
  const OpId x = b.linear(b.input(), "in", 8);
  const OpId token = b.learned("token", {1, 1, 8});
  EXPECT_THAT(b.shape(token), ElementsAre(1, 8)) << "the first axis is the batch";
  const OpId joined = b.concat({token, x});
  b.cross_entropy(b.linear(b.flatten(b.add(joined, b.learned("places", {1, 7, 8}))), "out", 3, false));
  const Model model = std::move(b).finish();
  EXPECT_EQ(parameter_count(model), 8 * 8 + 8 + 8 + 7 * 8 + 7 * 8 * 3);
  EXPECT_THAT(gradient_names(model), ElementsAre("out.weight", "places", "token", "in.bias", "in.weight"));
  EXPECT_EQ(module_count(model), 3) << "root and two linears";
}

TEST(Losses, OfTwoOutputsShareTheirLabels) {
  ModelBuilder b("two", "samples", {8}, DType::Fp32, 1);
  const OpId x = b.linear(b.input(), "trunk", 8);
  const OpId side = b.linear(x, "side", 3);
  b.cross_entropy({b.linear(x, "main", 3), side});
  const Model model = std::move(b).finish();
  EXPECT_EQ(saved_activation_bytes(model).back(), 2 * 3 * 4 + 8);
  EXPECT_EQ(gradient_adds(model, x), 1);
  EXPECT_THAT(gradient_names(model),
              ElementsAre("main.bias", "main.weight", "side.bias", "side.weight", "trunk.bias", "trunk.weight"));
}

// torch.nn.MaxPool2d: the last window may hang over the end but must begin inside the input or its left rim.
TEST(Windows, RoundUpInCeilMode) {
  const auto pixels = [](std::int64_t size, std::int64_t kernel, std::int64_t stride, std::int64_t padding, bool ceil) {
    return ModelBuilder::window_output(size, kernel, stride, padding, 1, ceil);
  };
  EXPECT_EQ(pixels(54, 3, 2, 0, false), 26);
  EXPECT_EQ(pixels(54, 3, 2, 0, true), 27);
  EXPECT_EQ(pixels(55, 3, 2, 0, true), 27) << "fits without a rest";
  EXPECT_EQ(pixels(2, 1, 3, 1, true), 2) << "the third window would begin in the right rim";
  EXPECT_EQ(pixels(2, 3, 2, 0, true), 0) << "larger than the input";
}

TEST(KeptActivations, AGpuKeepsOneByteOfDropoutMaskWhereACpuKeepsFour) {
  const Model bert = zoo_model("bert-base");
  std::int64_t masked = 0;
  for (const Op& op : bert.ops) masked += op.kind == OpKind::Dropout ? elements_of(op.output) : 0;
  EXPECT_EQ(masked, 128 * 768 + 12 * (2 * 128 * 768 + 12 * 128 * 128));
  EXPECT_EQ(saved_activation_bytes_per_sample(bert, DropoutMask::Float) -
                saved_activation_bytes_per_sample(bert, DropoutMask::Byte),
            3 * masked);
}

TEST(KeptActivations, TheLossKeepsItsLogProbabilitiesOutsideTheModelsSum) {
  const Model gpt2 = zoo_model("gpt2");
  const std::vector<std::int64_t> kept = saved_activation_bytes(gpt2);
  EXPECT_EQ(kept.back(), 128 * (50257 * 4 + 8));
  EXPECT_EQ(saved_activation_bytes_per_sample(gpt2), 171075584);
}

TEST(KeptActivations, PositionEmbeddingsDoNotGrowWithTheBatch) {
  const Model gpt2 = zoo_model("gpt2");
  for (const KeptTensor& tensor : kept_tensors(gpt2)) EXPECT_FALSE(gpt2.op(tensor.produced_by).once_per_batch);
}

TEST(BackwardOrder, IsTheReverseOfForwardForEveryModelOfTheZoo) {
  for (const std::string& name : zoo_names()) {
    const Model model = zoo_model(name);
    const std::vector<OpId> order = backward_order(model);
    EXPECT_TRUE(std::is_sorted(order.rbegin(), order.rend())) << name;
    EXPECT_EQ(order.size(), model.ops.size() - 1) << name << ": all but the input";
    EXPECT_EQ(gradient_order(model).size(), model.parameters.size()) << name;
  }
}

TEST(ZooModels, AreCountedPerSample) {
  EXPECT_EQ(zoo_model("resnet18").sample_unit, "images");
  EXPECT_EQ(zoo_model("bert-base").sample_unit, "sequences");
  EXPECT_EQ(zoo_model("mlp").sample_unit, "samples");
  EXPECT_EQ(zoo_model("bert-base").target_elements, 128);
}

TEST(DescribeModel, ShowsEveryOpAndTheTotals) {
  const Model model = zoo_model("resnet18");
  const std::string text = describe_model(model);
  EXPECT_THAT(text, testing::HasSubstr("layer1.0.conv1"));
  EXPECT_THAT(text, testing::HasSubstr("11 689 512 in 62 tensors"));
  EXPECT_THAT(text, testing::HasSubstr("3 628 146 688 forward, 7 020 265 472 backward"));
  EXPECT_EQ(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')), model.ops.size() + 2 + 1 + 1 + 7)
      << "title, head, ops, gap, totals";
}

}  // namespace
}  // namespace lockstep
