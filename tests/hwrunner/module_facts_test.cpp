// Each network of the zoo up to 150 million parameters, built as a LibTorch module and run once forward and backward:
// what LibTorch counts against what models/derived.h derives.
#include "hwrunner/modules/module_facts.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "hwrunner/modules/op_plan.h"
#include "models/derived.h"
#include "tests/models/zoo_helpers.h"

namespace lockstep {
namespace {

constexpr std::int64_t kMostParameters = 150'000'000;

// The smallest input that leaves batch norms more than one value per channel: of two values normalised by their own
// deviation the gradient is zero.
ModelOptions small_input(const ZooEntry& entry) {
  ModelOptions options;
  const auto takes = [&](const char* name) {
    return std::find(entry.options.begin(), entry.options.end(), name) != entry.options.end();
  };
  if (takes("image") && entry.name != "inception-v3") options.image = 64;
  if (takes("sequence")) options.sequence = 16;
  return options;
}

std::vector<std::string> networks() {
  std::vector<std::string> names;
  for (const ZooEntry& entry : zoo())
    if (parameter_count(zoo_model(entry.name)) <= kMostParameters) names.push_back(entry.name);
  return names;
}

Model small_model(const std::string& name) {
  for (const ZooEntry& entry : zoo())
    if (entry.name == name) return zoo_model(name, small_input(entry));
  ADD_FAILURE() << "no model " << name;
  return {};
}

// Stochastic depth drops the whole branch of a block when it drops all samples of a batch: then the branch has no
// gradient, as it should. More samples make that rare, and the seed is fixed.
std::int64_t batch_for(const Model& model) {
  const auto drops_samples = [](const Op& op) { return op.kind == OpKind::Dropout && op.row > 0; };
  return std::any_of(model.ops.begin(), model.ops.end(), drops_samples) ? 6 : 2;
}

// Token types: the input's indices reduced to the rows of a table smaller than the largest one.
bool reads_smaller_table(const Model& model, const Op& op) {
  return op.kind == OpKind::Embedding && !op.once_per_batch &&
         model.parameter(op.parameters.front()).shape.front() < input_vocabulary(model);
}

// What the derived rules say that a forward pass leaves behind, for a whole batch, with what they leave out on purpose:
// tensors that do not grow with the batch, and scalars. Input and labels are there before.
std::int64_t expected_kept_bytes(const Model& model, const ModuleFacts& facts, std::int64_t batch) {
  constexpr std::int64_t kStatisticBytes = 2 * 4;  // mean and reciprocal deviation of a channel
  std::int64_t bytes = 0;
  for (const KeptTensor& kept : kept_tensors(model, DropoutMask::Float))
    if (kept.produced_by != OpId{0}) bytes += batch * kept.bytes;
  const Op& loss = model.ops.back();
  bytes -= batch * model.target_elements * bytes_of(DType::Int64);
  bytes += (std::ssize(loss.inputs) + 1) * 4;  // the loss, and for each output the weight that it is a mean over
  for (std::size_t i = 0; i < facts.outputs.size(); ++i) {
    const Op& op = model.ops[i];
    if (op.kind == OpKind::BatchNorm) bytes += op.output.front() * kStatisticBytes;
    if (reads_smaller_table(model, op)) bytes += batch * elements_of(model.input) * bytes_of(DType::Int64);
    if (op.kind == OpKind::View && !facts.outputs[i].shares_memory) bytes += facts.outputs[i].bytes;
  }
  return bytes;
}

class ZooModule : public ::testing::TestWithParam<std::string> {};

TEST_P(ZooModule, RunsAsTheModelSays) {
  const Model model = small_model(GetParam());
  ModuleFactsOptions options;
  options.batch = batch_for(model);
  const auto samples_of = [&](const Op& op) { return op.once_per_batch ? 1 : options.batch; };
  const Expected<ModuleFacts> facts = module_facts(model, options);
  ASSERT_TRUE(facts) << to_text(facts.error().front());

  std::vector<ModuleTensor> parameters, buffers;
  for (const Parameter& p : model.parameters) parameters.push_back({p.name, p.shape, p.dtype});
  for (const Buffer& b : model.buffers) buffers.push_back({b.name, b.shape, b.dtype});
  EXPECT_EQ(facts->parameters, parameters);
  EXPECT_EQ(facts->buffers, buffers);

  ASSERT_EQ(facts->outputs.size() + 1, model.ops.size());
  for (std::size_t i = 0; i < facts->outputs.size(); ++i) {
    const Op& op = model.ops[i];
    const std::string what = op.name + " (" + name_of(op.kind) + ")";
    EXPECT_EQ(facts->outputs[i].shape, op.output) << what;
    EXPECT_EQ(facts->outputs[i].samples, samples_of(op)) << what;
    EXPECT_EQ(facts->outputs[i].bytes, elements_of(op.output) * samples_of(op) * bytes_of(op.output_dtype)) << what;
    const bool shared = op.in_place || op.kind == OpKind::Split;
    if (op.in_place || op.kind == OpKind::Copy || op.kind == OpKind::Split) {
      EXPECT_EQ(facts->outputs[i].shares_memory, shared) << what;
    }
  }

  std::vector<std::string> order;
  for (const ParameterId id : gradient_order(model)) order.push_back(model.parameter(id).name);
  EXPECT_EQ(facts->gradient_order, order);

  std::vector<std::string> unused;
  for (const Parameter& p : model.parameters)
    if (!p.used) unused.push_back(p.name);
  EXPECT_EQ(facts->without_gradient, unused);
  EXPECT_GT(facts->training_loss, 0);
  EXPECT_LT(facts->training_loss, 1e3);
  EXPECT_GT(facts->evaluation_loss, 0);

  EXPECT_EQ(facts->kept_bytes, expected_kept_bytes(model, *facts, options.batch));
}

INSTANTIATE_TEST_SUITE_P(Zoo, ZooModule, ::testing::ValuesIn(networks()),
                         [](const auto& one) { return test_name(one.param); });

}  // namespace
}  // namespace lockstep
