// The zoo against PyTorch's own numbers (tests/data/model_facts_open.csv and model_facts_measured.csv, their sources
// are in the files' headers).
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <tuple>

#include "models/derived.h"
#include "zoo_helpers.h"

namespace lockstep {
namespace {

using Row = std::map<std::string, std::string>;

std::vector<std::string> split(const std::string& line, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(line);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

using Facts = std::map<std::string, Row>;

Facts read_facts(const std::string& name) {
  Facts all;
  std::ifstream file(LOCKSTEP_SOURCE_DIR "/tests/data/" + name);
  std::vector<std::string> columns;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> cells = split(line, ',');
    if (columns.empty()) {
      columns = cells;
      continue;
    }
    for (std::size_t i = 0; i < cells.size(); ++i) all[cells[0]][columns.at(i)] = cells[i];
  }
  return all;
}

const Facts& open_facts() {
  static const Facts facts = read_facts("model_facts_open.csv");
  return facts;
}
const Facts& measured_facts() {
  static const Facts facts = read_facts("model_facts_measured.csv");
  return facts;
}

std::int64_t number(const Row& row, const std::string& column) {
  return std::stoll(row.at(column));
}

std::vector<std::int64_t> numbers(const Row& row, const std::string& column) {
  std::vector<std::int64_t> all;
  for (const std::string& text : split(row.at(column), ' ')) all.push_back(std::stoll(text));
  return all;
}

// DistributedDataParallel's assignment of gradients to buckets, written out once more, independently of the product: a
// bucket closes once it holds at least the current limit; the last limit repeats.
std::vector<std::int64_t> buckets_of(const Model& model, const std::vector<std::int64_t>& limits) {
  std::vector<std::int64_t> closed;
  std::int64_t open = 0;
  for (const ParameterId id : gradient_order(model)) {
    open += model.parameter(id).bytes();
    if (open >= limits[std::min(closed.size(), limits.size() - 1)]) {
      closed.push_back(open);
      open = 0;
    }
  }
  if (open > 0) closed.push_back(open);
  return closed;
}

// torch.utils.flop_counter leaves out the division by the groups in the gradient of a convolution's weight.
std::int64_t counted_backward_flop(const Model& model) {
  std::int64_t flop = backward_flop(model);
  for (const Op& op : model.ops) {
    if (op.kind == OpKind::Conv2d) flop += forward_flop(model, op) * (op.conv.groups - 1);
  }
  return flop;
}

// Names, each with a newline.
std::uint64_t fnv1a(const std::vector<std::string>& names) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  const auto add = [&hash](char c) { hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u; };
  for (const std::string& name : names) {
    std::for_each(name.begin(), name.end(), add);
    add('\n');
  }
  return hash;
}

struct Pair {
  const char* zoo;
  const char* fact;
};

class ModelFacts : public testing::TestWithParam<std::tuple<const Facts& (*)(), Pair>> {
 protected:
  Model model_ = zoo_model(pair().zoo);
  const Row& fact_ = std::get<0>(GetParam())().at(pair().fact);
  static const Pair& pair() { return std::get<1>(GetParam()); }
};

// The orders in full, which the buckets test only at their borders; in the measured file.
class ModelOrders : public testing::TestWithParam<Pair> {
 protected:
  Model model_ = zoo_model(GetParam().zoo);
  const Row& fact_ = measured_facts().at(GetParam().fact);
};

TEST_P(ModelFacts, ParametersAreExact) {
  EXPECT_EQ(static_cast<std::int64_t>(model_.parameters.size()), number(fact_, "tensors"));
  EXPECT_EQ(parameter_count(model_), number(fact_, "parameters"));
  EXPECT_EQ(parameter_bytes(model_), number(fact_, "bytes"));
}

TEST_P(ModelFacts, BuffersAreExact) {
  EXPECT_EQ(static_cast<std::int64_t>(model_.buffers.size()), number(fact_, "buffer_tensors"));
  EXPECT_EQ(buffer_bytes(model_), number(fact_, "buffer_bytes"));
}

TEST_P(ModelFacts, FlopAreExact) {
  EXPECT_EQ(forward_flop(model_), number(fact_, "forward_flop_per_sample"));
  EXPECT_EQ(counted_backward_flop(model_), number(fact_, "backward_flop_per_sample"));
}

TEST_P(ModelFacts, KeptActivationsAreExact) {
  EXPECT_EQ(saved_activation_bytes_per_sample(model_), number(fact_, "saved_activation_bytes_per_sample"));
}

TEST_P(ModelFacts, GradientOrderGivesTheMeasuredBuckets) {
  constexpr std::int64_t kMiB = 1 << 20;
  EXPECT_EQ(buckets_of(model_, {kMiB, 25 * kMiB}), numbers(fact_, "rebuilt_default_bucket_bytes"));
  EXPECT_EQ(buckets_of(model_, {25 * kMiB}), numbers(fact_, "rebuilt_cap25_bucket_bytes"));
  EXPECT_EQ(buckets_of(model_, {10 * kMiB}), numbers(fact_, "rebuilt_cap10_bucket_bytes"));
  EXPECT_EQ(buckets_of(model_, {1 * kMiB}), numbers(fact_, "rebuilt_cap1_bucket_bytes"));
  EXPECT_EQ(buckets_of(model_, {std::numeric_limits<std::int64_t>::max()}), numbers(fact_, "initial_bucket_bytes"));
}

TEST_P(ModelOrders, RegistrationIsThatOfNamedParameters) {
  std::vector<std::string> names;
  for (const Parameter& p : model_.parameters) names.push_back(p.name);
  EXPECT_EQ(fmt::format("{}", fnv1a(names)), fact_.at("registration_fnv1a"));
}

TEST_P(ModelOrders, GradientsBecomeReadyInTheMeasuredOrder) {
  std::vector<std::string> names;
  for (const ParameterId id : gradient_order(model_)) names.push_back(model_.parameter(id).name);
  EXPECT_EQ(fmt::format("{}", fnv1a(names)), fact_.at("gradient_order_fnv1a"));
}

std::string case_name(const testing::TestParamInfo<ModelFacts::ParamType>& one) {
  return test_name(std::get<1>(one.param).zoo);
}

INSTANTIATE_TEST_SUITE_P(
    Open, ModelFacts,
    testing::Combine(testing::Values(open_facts),
                     testing::Values(Pair{"resnet18", "resnet18"}, Pair{"resnet34", "resnet34"},
                                     Pair{"resnet50", "resnet50"}, Pair{"resnet101", "resnet101"},
                                     Pair{"resnet152", "resnet152"}, Pair{"vgg16", "vgg16"}, Pair{"alexnet", "alexnet"},
                                     Pair{"densenet121", "densenet121"}, Pair{"mobilenet-v2", "mobilenet_v2"},
                                     Pair{"inception-v3", "inception_v3"}, Pair{"bert-base", "bert_base_mlm_seq128"},
                                     Pair{"gpt2", "gpt2_small_seq128"})),
    case_name);

const auto kMeasured = testing::Values(
    Pair{"resnet18", "resnet18"}, Pair{"resnext50-32x4d", "resnext50_32x4d"},
    Pair{"resnext101-32x8d", "resnext101_32x8d"}, Pair{"wide-resnet50-2", "wide_resnet50_2"}, Pair{"vgg11", "vgg11"},
    Pair{"vgg11-bn", "vgg11_bn"}, Pair{"alexnet", "alexnet"}, Pair{"squeezenet1-0", "squeezenet1_0"},
    Pair{"densenet121", "densenet121"}, Pair{"densenet169", "densenet169"}, Pair{"mobilenet-v2", "mobilenet_v2"},
    Pair{"mnasnet1-0", "mnasnet1_0"}, Pair{"shufflenet-v2-x1-0", "shufflenet_v2_x1_0"},
    Pair{"inception-v3", "inception_v3"}, Pair{"efficientnet-b0", "efficientnet_b0"},
    Pair{"efficientnet-b4", "efficientnet_b4"}, Pair{"vit-b-16", "vit_b_16"}, Pair{"bert-base", "bert_base_mlm_seq128"},
    Pair{"bert-large", "bert_large_mlm_seq128"}, Pair{"gpt2", "gpt2_small_seq128"},
    Pair{"gpt2-medium", "gpt2_medium_seq128"});
INSTANTIATE_TEST_SUITE_P(Measured, ModelFacts, testing::Combine(testing::Values(measured_facts), kMeasured), case_name);
INSTANTIATE_TEST_SUITE_P(Measured, ModelOrders, kMeasured, [](const auto& one) { return test_name(one.param.zoo); });

// Modules of torchvision's networks. (Hugging Face's hold some that no op here stands for: activations, containers.)
TEST(ModelFactsMeasured, ModulesAreExact) {
  for (const auto& [fact, row] : measured_facts()) {
    if (fact.find("seq128") != std::string::npos) continue;
    std::string name = fact;
    std::replace(name.begin(), name.end(), '_', '-');
    EXPECT_EQ(module_count(zoo_model(name)), number(row, "modules")) << name;
  }
}

// Parameter counts as published: "num_params" of the pages of torchvision.models, and those of
// Hugging Face's GPT2LMHeadModel.
TEST(ModelFactsPublished, ParameterCountsOfTheVariants) {
  const std::map<std::string, std::int64_t> published = {
      {"resnext50-32x4d", 25028904}, {"resnext101-32x8d", 88791336}, {"wide-resnet50-2", 68883240},
      {"vgg11", 132863336},          {"vgg11-bn", 132868840},        {"vgg13", 133047848},
      {"vgg13-bn", 133053736},       {"vgg16-bn", 138365992},        {"vgg19", 143667240},
      {"vgg19-bn", 143678248},       {"gpt2-medium", 354823168},     {"gpt2-large", 774030080},
      {"gpt2-xl", 1557611200},       {"alexnet", 61100840},          {"squeezenet1-0", 1248424},
      {"densenet121", 7978856},      {"densenet169", 14149480},      {"mobilenet-v2", 3504872},
      {"mnasnet1-0", 4383312},       {"inception-v3", 27161264},     {"shufflenet-v2-x1-0", 2278604},
      {"efficientnet-b0", 5288548},  {"efficientnet-b4", 19341616},  {"vit-b-16", 86567656}};
  for (const auto& [name, count] : published) EXPECT_EQ(parameter_count(zoo_model(name)), count) << name;
}

}  // namespace
}  // namespace lockstep
