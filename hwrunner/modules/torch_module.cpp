#include "hwrunner/modules/torch_module.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <utility>

namespace lockstep {
namespace {

TensorTree& node_of(TensorTree& root, std::string_view& name) {
  TensorTree* node = &root;
  for (std::size_t dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.')) {
    const std::string_view part = name.substr(0, dot);
    std::shared_ptr<TensorTree> child;
    for (const auto& [known, tree] : node->children)
      if (known == part) child = tree;
    if (!child) {
      child = std::make_shared<TensorTree>();
      node->children.emplace_back(part, child);
    }
    node = child.get();
    name.remove_prefix(dot + 1);
  }
  return *node;
}

std::shared_ptr<const TensorTree> tree_of(const Model& model) {
  auto root = std::make_shared<TensorTree>();
  for (const Parameter& p : model.parameters) {
    std::string_view name = p.name;
    TensorTree& node = node_of(*root, name);
    node.parameters.push_back({std::string(name), p.shape, p.dtype});
  }
  for (const Buffer& b : model.buffers) {
    std::string_view name = b.name;
    TensorTree& node = node_of(*root, name);
    node.buffers.push_back({std::string(name), b.shape, b.dtype});
  }
  return root;
}

template <class Module>
void register_tree(Module& module, const TensorTree& tree) {
  for (const TensorTree::Leaf& leaf : tree.parameters) {
    const at::ScalarType type = torch_type(leaf.dtype);
    module.register_parameter(leaf.name, at::zeros(leaf.shape, type), at::isFloatingType(type));
  }
  for (const TensorTree::Leaf& leaf : tree.buffers)
    module.register_buffer(leaf.name, at::zeros(leaf.shape, torch_type(leaf.dtype)));
  for (const auto& [name, child] : tree.children) module.register_module(name, std::make_shared<TensorModule>(child));
}

at::Generator generator(std::uint64_t seed) {
  return at::detail::createCPUGenerator(seed);
}

// Mixes a seed and a counter (the finaliser of SplitMix64), so that neighbours have unlike streams.
std::uint64_t mixed(std::uint64_t seed, std::uint64_t counter) {
  std::uint64_t x = seed * 0x9e3779b97f4a7c15ULL + counter + 1;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace

at::ScalarType torch_type(DType dtype) {
  switch (dtype) {
    case DType::Fp64:
      return at::kDouble;
    case DType::Fp32:
      return at::kFloat;
    case DType::Fp16:
      return at::kHalf;
    case DType::Bf16:
      return at::kBFloat16;
    case DType::Int64:
      return at::kLong;
  }
  return at::kFloat;
}

TensorModule::TensorModule(std::shared_ptr<const TensorTree> tree) : tree_(std::move(tree)) {
  reset();
}

void TensorModule::reset() {
  register_tree(*this, *tree_);
}

OpModule::OpModule(std::shared_ptr<const Model> model, std::shared_ptr<const std::vector<OpPlan>> plans)
    : model_(std::move(model)), plans_(std::move(plans)) {
  reset();
}

void OpModule::reset() {
  bound_ = false;
  register_tree(*this, *tree_of(*model_));
}

// Looks the tensors up by name: after a clone they are others than those that reset() registered.
void OpModule::bind() {
  if (bound_) return;
  bound_ = true;
  const auto named = named_parameters();
  const auto named_buffer = named_buffers();
  weights_.clear();
  states_.clear();
  cut_.clear();
  for (const Parameter& p : model_->parameters) weights_.push_back(named[p.name]);
  for (const Buffer& b : model_->buffers) states_.push_back(named_buffer[b.name]);
  norm_buffers_.assign(model_->ops.size(), {});
  positions_.assign(model_->ops.size(), {});
  for (std::size_t i = 0; i < model_->ops.size(); ++i) {
    const Op& op = model_->ops[i];
    if (op.kind != OpKind::BatchNorm) continue;
    for (const char* name : {".running_mean", ".running_var", ".num_batches_tracked"})
      norm_buffers_[i].push_back(named_buffer[op.name + name]);
  }
}

const std::vector<at::Tensor>& OpModule::parameters_in_order() {
  bind();
  return weights_;
}

const std::vector<at::Tensor>& OpModule::buffers_in_order() {
  bind();
  return states_;
}

void OpModule::initialise(std::uint64_t seed) {
  bind();
  const at::NoGradGuard no_grad;
  at::Generator gen = generator(seed);
  std::vector<bool> done(weights_.size(), false);
  for (const Op& op : model_->ops) {
    const bool norm = op.kind == OpKind::BatchNorm || op.kind == OpKind::LayerNorm;
    const bool linear = op.kind == OpKind::Linear || op.kind == OpKind::Conv1dGpt;
    double inputs = 1;
    if (op.kind == OpKind::Conv2d)
      inputs = static_cast<double>(elements_of(model_->parameter(op.parameters[0]).shape) / op.output[0]);
    if (linear) inputs = static_cast<double>(op.gemm.k);
    for (std::size_t which = 0; which < op.parameters.size(); ++which) {
      const auto id = static_cast<std::size_t>(op.parameters[which]);
      if (done[id]) continue;
      done[id] = true;
      const at::Tensor& tensor = weights_[id];
      const double bound = 1 / std::sqrt(inputs);
      if (norm) {
        tensor.fill_(which == 0 ? 1 : 0);
      } else if (which == 1) {
        tensor.uniform_(0, bound, gen);
      } else if (op.kind == OpKind::Conv2d) {
        tensor.normal_(0, std::sqrt(2.0) * bound, gen);
      } else if (linear) {
        tensor.uniform_(-bound, bound, gen);
      } else {
        tensor.normal_(0, 0.02, gen);
      }
    }
  }
  for (std::size_t i = 0; i < states_.size(); ++i)
    if (model_->buffers[i].name.ends_with(".running_var")) states_[i].fill_(1);
}

std::vector<std::int64_t> OpModule::batched(std::int64_t batch, const Shape& shape) {
  std::vector<std::int64_t> sizes{batch};
  sizes.insert(sizes.end(), shape.begin(), shape.end());
  return sizes;
}

std::vector<at::Tensor> OpModule::outputs(const at::Tensor& input, const Observer& observer) {
  bind();
  const std::vector<Op>& ops = model_->ops;
  std::vector<at::Tensor> values(ops.size());
  std::vector<at::Tensor> result;
  values[0] = input;
  if (observer) observer(0, input);
  for (std::size_t i = 1; i + 1 < ops.size(); ++i) {
    values[i] = run(i, values);
    if (observer) observer(i, values[i]);
    for (const OpId id : (*plans_)[i].last_read) values[static_cast<std::size_t>(id)].reset();
  }
  for (const OpId id : ops.back().inputs) result.push_back(values[static_cast<std::size_t>(id)]);
  return result;
}

TensorBatch synthetic_batch(const Model& model, std::uint64_t seed, std::int64_t first, std::int64_t samples) {
  const at::NoGradGuard no_grad;
  TensorBatch batch;
  batch.input = at::empty(OpModule::batched(samples, model.input), torch_type(model.input_dtype));
  batch.labels = at::empty({samples, model.target_elements}, at::kLong);
  const std::int64_t classes = model.ops.back().row;
  for (std::int64_t i = 0; i < samples; ++i) {
    at::Generator gen = generator(mixed(seed, static_cast<std::uint64_t>(first + i)));
    if (model.input_dtype == DType::Int64) {
      batch.input[i].random_(0, input_vocabulary(model), gen);
    } else {
      batch.input[i].normal_(0, 1, gen);
    }
    batch.labels[i].random_(0, classes, gen);
  }
  batch.labels = batch.labels.view({-1});
  return batch;
}

}  // namespace lockstep
