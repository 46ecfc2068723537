// The zoo against PyTorch's own numbers (tests/data/model_facts_open.csv, its source is in the file's header).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

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

const std::map<std::string, Row>& facts() {
  static const std::map<std::string, Row> rows = [] {
    std::map<std::string, Row> all;
    std::ifstream file(LOCKSTEP_SOURCE_DIR "/tests/data/model_facts_open.csv");
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
  }();
  return rows;
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

struct Pair {
  const char* zoo;
  const char* fact;
};

class ModelFacts : public testing::TestWithParam<Pair> {
 protected:
  Model model_ = zoo_model(GetParam().zoo);
  const Row& fact_ = facts().at(GetParam().fact);
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
  EXPECT_EQ(backward_flop(model_), number(fact_, "backward_flop_per_sample"));
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

INSTANTIATE_TEST_SUITE_P(Open, ModelFacts,
                         testing::Values(Pair{"resnet18", "resnet18"}, Pair{"resnet34", "resnet34"},
                                         Pair{"resnet50", "resnet50"}, Pair{"resnet101", "resnet101"},
                                         Pair{"resnet152", "resnet152"}, Pair{"vgg16", "vgg16"},
                                         Pair{"bert-base", "bert_base_mlm_seq128"}, Pair{"gpt2", "gpt2_small_seq128"}),
                         [](const auto& one) { return test_name(one.param.zoo); });

// Parameter counts as published: "num_params" of the pages of torchvision.models, and those of
// Hugging Face's GPT2LMHeadModel.
TEST(ModelFactsPublished, ParameterCountsOfTheVariants) {
  const std::map<std::string, std::int64_t> published = {
      {"resnext50-32x4d", 25028904}, {"resnext101-32x8d", 88791336}, {"wide-resnet50-2", 68883240},
      {"vgg11", 132863336},          {"vgg11-bn", 132868840},        {"vgg13", 133047848},
      {"vgg13-bn", 133053736},       {"vgg16-bn", 138365992},        {"vgg19", 143667240},
      {"vgg19-bn", 143678248},       {"gpt2-medium", 354823168},     {"gpt2-large", 774030080},
      {"gpt2-xl", 1557611200}};
  for (const auto& [name, count] : published) EXPECT_EQ(parameter_count(zoo_model(name)), count) << name;
}

}  // namespace
}  // namespace lockstep
