// Ops that only move bytes, and the matrix products' glue: passes over tensors at a fraction of the DRAM rate
// (docs/cost-models.md, section "everything else").
#include <algorithm>
#include <cmath>

#include "models/derived.h"
#include "simulator/base/ensure.h"
#include "simulator/costs/op_view.h"
#include "simulator/costs/pricing.h"

namespace lockstep {
namespace {

constexpr HostClass kForward = HostClass::ForwardOp, kBackward = HostClass::BackwardOther;

// Appends kernels of one op to its cost.
class Kernels {
 public:
  Kernels(const OpView& view, const Pricing& pricing, OpCost& cost) : view_(view), pricing_(pricing), cost_(cost) {}

  void forward(double bytes, double efficiency, const char* label, HostClass host = kForward) {
    cost_.forward.push_back(pricing_.kernel(pricing_.memory_seconds(bytes, efficiency), host, label));
  }
  void backward(double bytes, double efficiency, const char* label, HostClass host = kBackward) {
    if (view_.output.needs_gradient)
      cost_.backward.push_back(pricing_.kernel(pricing_.memory_seconds(bytes, efficiency), host, label));
  }

 private:
  const OpView& view_;
  const Pricing& pricing_;
  OpCost& cost_;
};

// A block works on one channel, so that few channels leave processors idle in NCHW.
double batch_norm_efficiency(const OpView& view, const Pricing& pricing) {
  const OpConstants& c = pricing.constants();
  if (pricing.channels_last()) return c.em_bn;
  const double channels = static_cast<double>(view.op->output.at(0));
  return std::min(c.em_bn, c.bn_c * std::pow(channels / pricing.gpu().sm_count, c.bn_p));
}

void append_batch_norm(const OpView& view, const Pricing& pricing, OpCost& cost) {
  const double x = view.inputs[0].bytes(), y = view.output.bytes();
  const double efficiency = batch_norm_efficiency(view, pricing);
  Kernels kernels(view, pricing, cost);
  kernels.forward(0, 1, "bn_counter");
  kernels.forward(2 * x + y, efficiency, "batch_norm");
  kernels.backward(2 * x + 2 * y + x, efficiency, "batch_norm_backward");
}

// A kernel that only moves bytes; of a Split it reads one part. Clones are not counted as host ops.
void append_copy(const OpView& view, const Pricing& pricing, OpCost& cost) {
  const double y = view.output.bytes(), e = pricing.pointwise_efficiency();
  Kernels kernels(view, pricing, cost);
  kernels.forward(2 * y, e, "copy", HostClass::None);
  kernels.backward(2 * y, e, "copy_backward", HostClass::None);
}

// x^3: the backward forms x^2, scales it, and multiplies by the output's gradient.
void append_power(const OpView& view, const Pricing& pricing, OpCost& cost) {
  const double y = view.output.bytes(), e = pricing.pointwise_efficiency();
  Kernels kernels(view, pricing, cost);
  kernels.forward(2 * y, e, "power");
  kernels.backward(2 * y, e, "power_backward");
  kernels.backward(2 * y, e, "power_backward");
  kernels.backward(3 * y, e, "power_backward");
}

// Unary: the backward reads the output's gradient and a saved tensor; scaling saves nothing. In place some clone their
// input first.
void append_unary(const OpView& view, const char* label, const char* backward_label, bool saves, const Pricing& pricing,
                  OpCost& cost) {
  const double x = view.inputs[0].bytes(), y = view.output.bytes(), e = pricing.pointwise_efficiency();
  Kernels kernels(view, pricing, cost);
  if (clones_input(*view.op)) kernels.forward(2 * x, e, "clone", HostClass::None);
  kernels.forward(x + y, e, label);
  kernels.backward(y + (saves ? y : 0) + x, e, backward_label);
}

double input_bytes(const OpView& view) {
  double sum = 0;
  for (const TensorView& input : view.inputs) sum += input.bytes();
  return sum;
}

double input_elements(const OpView& view) {
  double sum = 0;
  for (const TensorView& input : view.inputs) sum += input.elements;
  return sum;
}

// An operand that was broadcast gets its gradient by a sum over a tensor of the output's size.
void append_broadcast_sum(const OpView& view, const TensorView& operand, HostClass host, const Pricing& pricing,
                          OpCost& cost) {
  if (!operand.needs_gradient || operand.elements >= view.output.elements) return;
  Kernels(view, pricing, cost)
      .backward(view.output.bytes() + operand.bytes(), pricing.constants().em_reduce, "broadcast_grad", host);
}

void append_add(const OpView& view, const Pricing& pricing, OpCost& cost) {
  Kernels(view, pricing, cost).forward(input_bytes(view) + view.output.bytes(), pricing.pointwise_efficiency(), "add");
  for (const TensorView& operand : view.inputs) append_broadcast_sum(view, operand, HostClass::None, pricing, cost);
}

void append_multiply(const OpView& view, const Pricing& pricing, OpCost& cost) {
  const double y = view.output.bytes(), e = pricing.pointwise_efficiency();
  Kernels kernels(view, pricing, cost);
  kernels.forward(input_bytes(view) + y, e, "multiply");
  for (const TensorView& operand : view.inputs) {
    if (!operand.needs_gradient) continue;
    kernels.backward(3 * y, e, "multiply_backward");
    append_broadcast_sum(view, operand, kBackward, pricing, cost);
  }
}

// The parts' gradients are views of the output's, but for a part that exists once per batch: its is a sum.
void append_concat(const OpView& view, const Pricing& pricing, OpCost& cost) {
  Kernels kernels(view, pricing, cost);
  kernels.forward(input_bytes(view) + view.output.bytes(), pricing.pointwise_efficiency(), "concat");
  for (const TensorView& part : view.inputs)
    if (part.once_per_batch && part.needs_gradient)
      kernels.backward(static_cast<double>(view.batch) * part.bytes(), pricing.constants().em_reduce, "broadcast_grad",
                       HostClass::None);
}

void append_layer_norm(const OpView& view, const Pricing& pricing, OpCost& cost) {
  const double y = view.output.bytes(), e = pricing.constants().em_layernorm;
  Kernels kernels(view, pricing, cost);
  kernels.forward(2 * y, e, "layer_norm");
  kernels.backward(5 * y, e, "layer_norm_backward");
}

constexpr std::int64_t kSoftmaxRowInRegisters = 1024;

// Rows above 1024 elements are read once more in each direction.
double softmax_forward_bytes(const OpView& view, double x, double y) {
  return (view.op->row > kSoftmaxRowInRegisters ? 2 : 1) * x + y;
}
double softmax_backward_bytes(const OpView& view, double x, double y) {
  return (view.op->row > kSoftmaxRowInRegisters ? 4 : 2) * y + x;
}

void append_softmax(const OpView& view, const Pricing& pricing, OpCost& cost) {
  const double x = view.inputs[0].bytes(), y = view.output.bytes(), e = pricing.constants().em_softmax;
  Kernels kernels(view, pricing, cost);
  kernels.forward(softmax_forward_bytes(view, x, y), e, "softmax");
  kernels.backward(softmax_backward_bytes(view, x, y), e, "softmax_backward");
}

// Log softmax in fp32, then one value per row; backward writes a full gradient that is zero but for one value per row.
// Once per output that the loss is summed over.
void append_cross_entropy(const OpView& view, const Pricing& pricing, OpCost& cost) {
  LOCKSTEP_ENSURE(view.op->row > 0, "{}: row {}", view.op->name, view.op->row);
  const double e = pricing.constants().em_softmax;
  Kernels kernels(view, pricing, cost);
  for (const TensorView& scores : view.inputs) {
    const double x = scores.bytes();
    const double y = scores.elements * static_cast<double>(bytes_of(view.output.dtype));
    const double rows = scores.elements / static_cast<double>(view.op->row);
    const double picks = rows * static_cast<double>(bytes_of(DType::Int64) + bytes_of(view.output.dtype));
    kernels.forward(softmax_forward_bytes(view, x, y), e, "log_softmax", HostClass::None);
    kernels.forward(picks, e, "nll_loss", HostClass::None);
    kernels.backward(y + picks, e, "nll_loss_backward", HostClass::None);
    kernels.backward(softmax_backward_bytes(view, x, y), e, "log_softmax_backward", HostClass::None);
  }
}

// Three dispatched ops (draw the mask, scale it, apply it); the mask is one byte per element, or one value of the
// tensor's type per sample for stochastic depth.
void append_dropout(const OpView& view, const Pricing& pricing, OpCost& cost) {
  if (view.op->probability <= 0) return;
  const double x = view.inputs[0].bytes(), y = view.output.bytes();
  const double mask = view.op->row > 0 ? y / static_cast<double>(view.op->row) : view.output.elements;
  const double e = pricing.pointwise_efficiency();
  Kernels kernels(view, pricing, cost);
  kernels.forward(mask, e, "dropout_mask");
  kernels.forward(0, e, "dropout_scale");
  kernels.forward(x + y, e, "dropout");
  kernels.backward(x + y + mask, e, "dropout_backward");
}

void append_pool(const OpView& view, const Pricing& pricing, OpCost& cost) {
  const OpConstants& c = pricing.constants();
  const bool max = view.op->kind == OpKind::MaxPool;
  const double indices = max ? view.output.elements * static_cast<double>(bytes_of(DType::Int64)) : 0;
  const double bytes = view.inputs[0].bytes() + view.output.bytes() + indices;
  Kernels kernels(view, pricing, cost);
  kernels.forward(bytes, max ? c.em_maxpool : c.em_reduce, max ? "max_pool" : "avg_pool");
  kernels.backward(bytes, max ? c.em_maxpool_b : c.em_reduce, max ? "max_pool_backward" : "avg_pool_backward");
}

void append_embedding(const OpView& view, const Pricing& pricing, OpCost& cost) {
  LOCKSTEP_ENSURE(!view.parameters.empty(), "{}: no table", view.op->name);
  const double y = view.output.bytes();
  Kernels kernels(view, pricing, cost);
  kernels.forward(2 * y, pricing.pointwise_efficiency(), "embedding");
  kernels.backward(view.parameters[0].bytes() + 3 * y, pricing.constants().em_embedding_b, "embedding_backward");
}

GemmShape times_batch(const OpView& view) {
  GemmShape shape = view.op->gemm;
  (view.op->kind == OpKind::MatMul ? shape.batch : shape.m) *= view.batch;
  return shape;
}

}  // namespace

// Backward: one product per gradient. The bias rides in the forward product; its gradient is a column sum.
void append_matrix_product(const OpView& view, const Pricing& pricing, OpCost& cost) {
  const GemmShape s = times_batch(view);
  const int element = static_cast<int>(bytes_of(view.output.dtype));
  const bool activations = view.op->kind == OpKind::MatMul;
  const auto kernel = [&](const GemmShape& shape, HostClass host, const char* label) {
    return pricing.kernel(gemm_seconds(shape, view.regime, element, pricing), host, label);
  };
  cost.forward.push_back(kernel(s, kForward, "gemm"));
  if (!view.output.needs_gradient) return;
  if (view.inputs[0].needs_gradient) cost.backward.push_back(kernel({s.batch, s.m, s.k, s.n}, kBackward, "gemm_dgrad"));
  if (activations) {
    if (view.inputs.at(1).needs_gradient)
      cost.backward.push_back(kernel({s.batch, s.k, s.n, s.m}, kBackward, "gemm_dgrad"));
    return;
  }
  cost.backward.push_back(kernel({s.batch, s.n, s.k, s.m}, kBackward, "gemm_wgrad"));
  if (view.parameters.size() > 1)
    Kernels(view, pricing, cost).backward(view.output.bytes(), pricing.constants().em_reduce, "bias_grad");
}

// One kernel each way: the rates of its products, or of query, key, value and result (backward: their gradients too).
// Backward forms the scores again: five products.
void append_attention(const OpView& view, const Pricing& pricing, OpCost& cost) {
  GemmShape scores = view.op->gemm;
  scores.batch *= view.batch;
  const GemmShape context{scores.batch, scores.m, scores.k, scores.n};
  const double efficiency = pricing.gemm_efficiency(view.regime);
  const double inner = gemm_compute_seconds(scores, view.regime, efficiency, pricing);
  const double outer = gemm_compute_seconds(context, view.regime, efficiency, pricing);
  const double bytes = input_elements(view) * static_cast<double>(bytes_of(view.output.dtype)) + view.output.bytes();
  const auto kernel = [&](double compute, double moved, HostClass host, const char* label) {
    const double seconds = std::max(compute, pricing.memory_seconds(moved, pricing.constants().em_conv));
    return pricing.kernel(seconds, host, label);
  };
  cost.forward.push_back(kernel(inner + outer, bytes, kForward, "attention"));
  if (view.output.needs_gradient)
    cost.backward.push_back(kernel(2 * inner + 3 * outer, 2 * bytes, kBackward, "attention_backward"));
}

void append_memory_bound(const OpView& view, const Pricing& pricing, OpCost& cost) {
  switch (view.op->kind) {
    case OpKind::BatchNorm:
      return append_batch_norm(view, pricing, cost);
    case OpKind::LayerNorm:
      return append_layer_norm(view, pricing, cost);
    case OpKind::Relu:
      return append_unary(view, "relu", "relu_backward", true, pricing, cost);
    case OpKind::Relu6:
      return append_unary(view, "relu6", "relu6_backward", true, pricing, cost);
    case OpKind::Gelu:
      return append_unary(view, "gelu", "gelu_backward", true, pricing, cost);
    case OpKind::Tanh:
      return append_unary(view, "tanh", "tanh_backward", true, pricing, cost);
    case OpKind::Sigmoid:
      return append_unary(view, "sigmoid", "sigmoid_backward", true, pricing, cost);
    case OpKind::Silu:
      return append_unary(view, "silu", "silu_backward", true, pricing, cost);
    case OpKind::Scale:
      return append_unary(view, "scale", "scale_backward", false, pricing, cost);
    case OpKind::Copy:
      return append_copy(view, pricing, cost);
    case OpKind::Power:
      return append_power(view, pricing, cost);
    case OpKind::Split:  // the parts' gradients are joined
      return Kernels(view, pricing, cost)
          .backward(2 * view.output.bytes(), pricing.pointwise_efficiency(), "split_backward");
    case OpKind::Softmax:
      return append_softmax(view, pricing, cost);
    case OpKind::Dropout:
      return append_dropout(view, pricing, cost);
    case OpKind::Add:
      return append_add(view, pricing, cost);
    case OpKind::Multiply:
      return append_multiply(view, pricing, cost);
    case OpKind::MaxPool:
    case OpKind::AvgPool:
      return append_pool(view, pricing, cost);
    case OpKind::Embedding:
      return append_embedding(view, pricing, cost);
    case OpKind::Concat:
      return append_concat(view, pricing, cost);
    case OpKind::CrossEntropy:
      return append_cross_entropy(view, pricing, cost);
    case OpKind::Input:
    case OpKind::Parameter:
    case OpKind::View:
    case OpKind::Conv2d:
    case OpKind::Linear:
    case OpKind::Conv1dGpt:
    case OpKind::MatMul:
    case OpKind::Attention:
      return;
  }
}

}  // namespace lockstep
