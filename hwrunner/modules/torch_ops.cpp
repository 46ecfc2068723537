// The ops of a Model as LibTorch's own kernels, in training and in evaluation.
#include <ATen/core/Tensor.h>
#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/relu6.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tanh.h>

#include <algorithm>
#include <utility>

#include "hwrunner/modules/torch_module.h"
#include "simulator/base/ensure.h"

namespace lockstep {
namespace {

constexpr double kNormEps = 1e-5, kBatchNormMomentum = 0.1;
constexpr double kScale = 0.5;  // the constants of a Scale are not part of a Model

at::Tensor unary(const Op& op, at::Tensor x) {
  switch (op.kind) {
    case OpKind::Relu:
      return op.in_place ? at::relu_(x) : at::relu(x);
    case OpKind::Relu6:
      return op.in_place ? at::relu6_(x) : at::relu6(x);
    case OpKind::Gelu:
      return op.in_place ? at::gelu_(x) : at::gelu(x);
    case OpKind::Tanh:
      return op.in_place ? at::tanh_(x) : at::tanh(x);
    case OpKind::Sigmoid:
      return op.in_place ? at::sigmoid_(x) : at::sigmoid(x);
    case OpKind::Silu:
      return op.in_place ? at::silu_(x) : at::silu(x);
    case OpKind::Scale:
      return op.in_place ? x.mul_(kScale) : x.mul(kScale);
    case OpKind::Power:
      return op.in_place ? x.pow_(3.0) : at::pow(x, 3.0);
    case OpKind::Softmax:
      return at::softmax(x, -1);
    default:
      LOCKSTEP_ENSURE(false, "{} is no op with one input and no attributes", name_of(op.kind));
  }
}

// Values that live or die together are `row` neighbours: the whole sample for stochastic depth, whose module draws one
// number per sample and multiplies by it.
at::Tensor dropout(const Op& op, at::Tensor x, bool train) {
  if (op.row == 0 || op.probability == 0 || !train)
    return op.in_place ? at::dropout_(x, op.probability, train) : at::dropout(x, op.probability, train);
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(x.dim()), 1);
  sizes.front() = x.size(0);
  const double kept = 1 - op.probability;
  at::Tensor noise = at::empty(sizes, x.options());
  noise.bernoulli_(kept);
  if (kept > 0) noise.div_(kept);
  return x.mul(noise);
}

at::Tensor average(const Op& op, const at::Tensor& x) {
  const ConvAttributes& w = op.conv;
  if (w.kernel_h != 0) {
    return at::avg_pool2d(x, {w.kernel_h, w.kernel_w}, {w.stride_h, w.stride_w}, {w.padding_h, w.padding_w},
                          w.ceil_mode);
  }
  if (op.output.size() == 3) return at::adaptive_avg_pool2d(x, {op.output[1], op.output[2]});
  return x.mean({2, 3});
}

at::Tensor max_pool(const Op& op, const at::Tensor& x) {
  const ConvAttributes& w = op.conv;
  return at::max_pool2d(x, {w.kernel_h, w.kernel_w}, {w.stride_h, w.stride_w}, {w.padding_h, w.padding_w},
                        {w.dilation, w.dilation}, w.ceil_mode);
}

at::Tensor concat(const std::vector<at::Tensor>& parts) {
  std::int64_t batch = 1;
  for (const at::Tensor& part : parts) batch = std::max(batch, part.size(0));
  std::vector<at::Tensor> expanded;
  for (const at::Tensor& part : parts) {  // a tensor that is there once per batch, like a class token
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(part.dim()), -1);
    sizes.front() = batch;
    expanded.push_back(part.size(0) == batch ? part : part.expand(sizes));
  }
  return at::cat(expanded, 1);
}

at::Tensor add(const Op& op, at::Tensor a, const at::Tensor& b) {
  return op.in_place && a.size(0) >= b.size(0) ? a.add_(b) : a.add(b);
}

at::Tensor conv1d_gpt(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  const at::Tensor rows = x.reshape({-1, weight.size(0)});
  std::vector<std::int64_t> sizes = x.sizes().vec();
  sizes.back() = weight.size(1);
  return (bias.defined() ? at::addmm(bias, rows, weight) : at::mm(rows, weight)).view(sizes);
}

at::Tensor product(const Op& op, const at::Tensor& a, const at::Tensor& b) {
  const GemmShape& g = op.gemm;
  const at::Tensor c = at::matmul(a.reshape({a.size(0), g.batch, g.m, g.k}), b.reshape({b.size(0), g.batch, g.k, g.n}));
  return c.reshape(OpModule::batched(c.size(0), op.output));
}

at::Tensor attention(const Op& op, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  const GemmShape& g = op.gemm;
  return at::scaled_dot_product_attention(q.reshape({q.size(0), g.batch, g.m, g.k}),
                                          k.reshape({k.size(0), g.batch, g.n, g.k}),
                                          v.reshape({v.size(0), g.batch, g.n, g.k}));
}

}  // namespace

at::Tensor OpModule::parameter_of(const Op& op, std::size_t which) const {
  return which < op.parameters.size() ? weights_[static_cast<std::size_t>(op.parameters[which])] : at::Tensor();
}

at::Tensor OpModule::batch_norm(const Op& op, const at::Tensor& x) {
  const std::vector<at::Tensor>& b = norm_buffers_[static_cast<std::size_t>(&op - model_->ops.data())];
  if (is_training()) b[2].add_(1);
  return at::batch_norm(x, parameter_of(op, 0), parameter_of(op, 1), b[0], b[1], is_training(), kBatchNormMomentum,
                        kNormEps, true);
}

at::Tensor OpModule::embedding(const Op& op, const OpPlan& plan, const at::Tensor& x) {
  const at::Tensor table = parameter_of(op, 0);
  const std::int64_t rows = table.size(0);
  if (plan.reads_positions) {
    at::Tensor& indices = positions_[static_cast<std::size_t>(&op - model_->ops.data())];
    if (!indices.defined() || indices.device() != x.device()) {
      const Shape& shape = model_->input_shape(op);
      indices = at::arange(elements_of(shape), x.options()).remainder(rows).view(batched(1, shape));
    }
    return at::embedding(table, indices);
  }
  // The input holds indices of the largest table; smaller ones (token types) see the remainder.
  return at::embedding(table, rows < input_vocabulary(*model_) ? x.remainder(rows) : x);
}

at::Tensor OpModule::part_of(const SplitPart& part, OpId split, const at::Tensor& whole) {
  const auto axis = static_cast<std::int64_t>(part.axis) + 1;
  if (!part.whole) return whole.narrow(axis, part.start, part.length);
  if (part.index == 0) cut_.emplace_back(split, whole.split(part.length, axis));
  const auto found = std::find_if(cut_.begin(), cut_.end(), [&](const auto& cut) { return cut.first == split; });
  LOCKSTEP_ENSURE(found != cut_.end(), "split {} is read before it is cut", static_cast<int>(split));
  at::Tensor mine = std::exchange(found->second[static_cast<std::size_t>(part.index)], at::Tensor());
  if (static_cast<std::size_t>(part.index) + 1 == found->second.size()) cut_.erase(found);
  return mine;
}

at::Tensor OpModule::rearranged(const Op& op, const OpPlan& plan, const at::Tensor& x) {
  at::Tensor y = plan.part ? part_of(*plan.part, op.inputs.front(), x) : x;
  const std::int64_t batch = y.size(0);
  if (!plan.rearrangement.order.empty()) {
    std::vector<std::int64_t> order{0};
    for (const std::int64_t axis : plan.rearrangement.order) order.push_back(axis + 1);
    y = y.reshape(batched(batch, plan.rearrangement.axes)).permute(order);
  }
  if (op.kind == OpKind::Copy) y = y.is_contiguous() ? y.clone() : y.contiguous();
  return y.reshape(batched(batch, op.output));
}

at::Tensor OpModule::run(std::size_t i, const std::vector<at::Tensor>& values) {
  const Op& op = model_->ops[i];
  const OpPlan& plan = (*plans_)[i];
  const auto in = [&](std::size_t which) { return values[static_cast<std::size_t>(op.inputs[which])]; };
  const ConvAttributes& c = op.conv;
  switch (op.kind) {
    case OpKind::Parameter:
      return parameter_of(op, 0).view(batched(1, op.output));
    case OpKind::Conv2d:
      return at::conv2d(in(0), parameter_of(op, 0), parameter_of(op, 1), {c.stride_h, c.stride_w},
                        {c.padding_h, c.padding_w}, {c.dilation, c.dilation}, c.groups);
    case OpKind::Linear:
      return at::linear(in(0), parameter_of(op, 0), parameter_of(op, 1));
    case OpKind::Conv1dGpt:
      return conv1d_gpt(in(0), parameter_of(op, 0), parameter_of(op, 1));
    case OpKind::MatMul:
      return product(op, in(0), in(1));
    case OpKind::Attention:
      return attention(op, in(0), in(1), in(2));
    case OpKind::BatchNorm:
      return batch_norm(op, in(0));
    case OpKind::LayerNorm:
      return at::layer_norm(in(0), {op.row}, parameter_of(op, 0), parameter_of(op, 1), kNormEps);
    case OpKind::Dropout:
      return dropout(op, in(0), is_training());
    case OpKind::Add:
      return add(op, in(0), in(1));
    case OpKind::Multiply:
      return in(0)
          .view(batched(in(0).size(0), plan.factors[0]))
          .mul(in(1).view(batched(in(1).size(0), plan.factors[1])));
    case OpKind::MaxPool:
      return max_pool(op, in(0));
    case OpKind::AvgPool:
      return average(op, in(0));
    case OpKind::Embedding:
      return embedding(op, plan, in(0));
    case OpKind::Concat: {
      std::vector<at::Tensor> parts;
      for (std::size_t which = 0; which < op.inputs.size(); ++which) parts.push_back(in(which));
      return concat(parts);
    }
    case OpKind::Copy:
    case OpKind::View:
      return rearranged(op, plan, in(0));
    case OpKind::Split:
      return in(0);
    case OpKind::Input:
    case OpKind::CrossEntropy:
      break;
    default:
      return unary(op, in(0));
  }
  LOCKSTEP_ENSURE(false, "{} in the middle of a network", name_of(op.kind));
}

at::Tensor OpModule::loss(const std::vector<at::Tensor>& outputs, const at::Tensor& labels) {
  at::Tensor sum;
  for (const at::Tensor& one : outputs) {
    const at::Tensor loss = at::cross_entropy_loss(one.reshape({-1, model_->ops.back().row}), labels);
    sum = sum.defined() ? sum + loss : loss;
  }
  return sum;
}

}  // namespace lockstep
