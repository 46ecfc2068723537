// Options of zoo models: what they change, and what is refused.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "models/derived.h"
#include "zoo_helpers.h"

namespace lockstep {
namespace {

using testing::HasSubstr;

Error refused(const std::string& name, const ModelOptions& options = {}) {
  const Expected<Model> model = build_zoo_model(name, options);
  EXPECT_FALSE(model.has_value()) << name;
  return model ? Error{} : model.error().front();
}

TEST(ZooOptions, ClassesChangeTheLastLayerOnly) {
  ModelOptions ten;
  ten.classes = 10;
  EXPECT_EQ(parameter_count(zoo_model("resnet50")) - parameter_count(zoo_model("resnet50", ten)), 990 * (2048 + 1));
  EXPECT_EQ(zoo_model("resnet50", ten).parameters.size(), 161u);
}

TEST(ZooOptions, TheImageChangesWorkAndActivationsButNoParameter) {
  ModelOptions small;
  small.image = 32;
  EXPECT_EQ(parameter_count(zoo_model("resnet18", small)), parameter_count(zoo_model("resnet18")));
  EXPECT_LT(forward_flop(zoo_model("resnet18", small)), forward_flop(zoo_model("resnet18")) / 40);
}

TEST(ZooOptions, TheCifarStemIsA3x3ConvolutionWithoutPooling) {
  ModelOptions cifar;
  cifar.stem = "cifar";
  const Model model = zoo_model("resnet18", cifar);
  EXPECT_THAT(model.input, testing::ElementsAre(3, 32, 32));
  EXPECT_EQ(model.parameters.front().elements(), 3 * 64 * 9);
  EXPECT_EQ(model.ops.back().row, 10);
  // The count that CIFAR ResNet-18 is known by.
  EXPECT_EQ(parameter_count(model), 11173962);
  for (const Op& op : model.ops) EXPECT_NE(op.kind, OpKind::MaxPool);
}

TEST(ZooOptions, TheSequenceScalesLinearsLinearlyAndAttentionQuadratically) {
  ModelOptions longer;
  longer.sequence = 256;
  const std::int64_t attention_128 = std::int64_t{12} * 2 * 2 * 12 * 128 * 128 * 64;
  const std::int64_t at_128 = forward_flop(zoo_model("gpt2")), at_256 = forward_flop(zoo_model("gpt2", longer));
  EXPECT_EQ(at_256, 2 * (at_128 - attention_128) + 4 * attention_128);
}

TEST(ZooOptions, AnMlpHasTheLayersThatItIsGiven) {
  ModelOptions options;
  options.inputs = 100;
  options.hidden = {30, 20};
  options.outputs = 5;
  const Model model = zoo_model("mlp", options);
  EXPECT_EQ(parameter_count(model), 101 * 30 + 31 * 20 + 21 * 5);
  EXPECT_EQ(module_count(model), 1 + 5);
}

TEST(ZooOptions, ATransformerHasTheSizesThatItIsGiven) {
  ModelOptions o;
  o.layers = 2;
  o.width = 64;
  o.heads = 4;
  o.feed_forward = 100;
  o.vocabulary = 1000;
  o.sequence = 16;
  const Model model = zoo_model("transformer", o);
  const std::int64_t block = 4 * 64 * 64 + 4 * 64 + 2 * 64 * 100 + 100 + 64 + 4 * 64;
  EXPECT_EQ(parameter_count(model), 1000 * 64 + 16 * 64 + 2 * block + 2 * 64);
  // Per token 2 FLOP per weight of every linear, the tied output layer included, and 4 x sequence x width per layer.
  EXPECT_EQ(forward_flop(model), 16 * (2 * 2 * (4 * 64 * 64 + 2 * 64 * 100) + 2 * 1000 * 64 + 2 * 4 * 16 * 64));
}

TEST(ZooOptions, NamesDoNotCareAboutCaseAndUnderscores) {
  EXPECT_EQ(zoo_model("ResNet50").name, "resnet50");
  EXPECT_EQ(zoo_model("vgg11_BN").name, "vgg11-bn");
}

TEST(ZooOptions, AnUnknownNameNamesTheNearest) {
  const Error error = refused("resnet51");
  EXPECT_EQ(error.key, "model.name");
  EXPECT_EQ(error.found, "resnet51");
  EXPECT_THAT(error.hint, HasSubstr("resnet50"));
  EXPECT_THAT(error.allowed, HasSubstr("bert-base"));
}

TEST(ZooOptions, AnOptionOfAnotherModelIsRefused) {
  ModelOptions options;
  options.sequence = 64;
  const Error error = refused("resnet50", options);
  EXPECT_EQ(error.kind, ErrorKind::UnknownKey);
  EXPECT_EQ(error.key, "model.sequence");
  EXPECT_EQ(error.allowed, "image, classes, stem");
}

TEST(ZooOptions, SizesOutOfRangeAreRefused) {
  ModelOptions zero;
  zero.classes = 0;
  EXPECT_EQ(refused("resnet50", zero).key, "model.classes");
  ModelOptions tiny;
  tiny.image = 16;
  EXPECT_EQ(refused("vgg16", tiny).allowed, "at least 32");
  ModelOptions longer;
  longer.sequence = 513;
  EXPECT_EQ(refused("bert-base", longer).allowed, "1 to 512");
  ModelOptions heads;
  heads.heads = 7;
  EXPECT_EQ(refused("transformer", heads).kind, ErrorKind::Conflict);
  ModelOptions stem;
  stem.stem = "cifr";
  EXPECT_THAT(refused("resnet50", stem).hint, HasSubstr("cifar"));
}

// One pixel less leaves a window without pixels, which is refused.
TEST(ZooOptions, TheSmallestImageOfANetworkIsStatedAndWorks) {
  const std::map<std::string, std::int64_t> smallest = {
      {"vgg16", 32},         {"alexnet", 63},          {"squeezenet1-0", 29},  {"densenet121", 29},
      {"mnasnet1-0", 1},     {"mobilenet-v2", 1},      {"efficientnet-b0", 1}, {"resnet50", 1},
      {"inception-v3", 299}, {"shufflenet-v2-x1-0", 1}};
  for (const auto& [name, image] : smallest) {
    ModelOptions options;
    options.image = image;
    EXPECT_THAT(zoo_model(name, options).input, testing::ElementsAre(3, image, image)) << name;
    options.image = image - 1;
    EXPECT_THAT(refused(name, options).allowed, testing::AnyOf(fmt::format("at least {}", image), "1 to 4096")) << name;
  }
}

TEST(ZooOptions, AVisionTransformerTakesWholePatches) {
  ModelOptions options;
  options.image = 240;
  EXPECT_EQ(parameter_count(zoo_model("vit-b-16", options)) - parameter_count(zoo_model("vit-b-16")),
            (15 * 15 - 14 * 14) * 768);
  options.image = 230;
  EXPECT_EQ(refused("vit-b-16", options).allowed, "a multiple of 16");
}

TEST(ZooOptions, EveryWrongOptionIsReported) {
  ModelOptions options;
  options.image = 0;
  options.vocabulary = 5;
  const Expected<Model> model = build_zoo_model("resnet50", options);
  ASSERT_FALSE(model.has_value());
  EXPECT_EQ(model.error().size(), 2u);
}

TEST(ZooOptions, TheListIsSortedAsPeopleCount) {
  const std::vector<std::string> names = zoo_names();
  const auto place = [&](const char* name) { return std::find(names.begin(), names.end(), name) - names.begin(); };
  EXPECT_LT(place("resnet18"), place("resnet101"));
  EXPECT_LT(place("bert-base"), place("gpt2"));
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
}

}  // namespace
}  // namespace lockstep
