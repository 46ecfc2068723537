// Types of tensors, and the casts that autocast adds.
//
// Rules without autocast: what the model says. With autocast (PyTorch's lists for CUDA):
//   half: conv2d, linear, matmul, attention. Inputs, weights and biases are cast to the half type, the output is half.
//
//   fp32: layer norm, softmax, loss. The output is fp32; softmax and the loss read a half input directly (they take an
//   output type), layer norm reads a cast copy.
//
//   widest: add, multiply, concat. The widest of the inputs; a half input is read as it is, its gradient is cast back.
//
//   follow: batch norm, pointwise, pools, dropout, copies, views as their input; embedding as its table (fp32).
//
// Weights are cast once per step and parameter (tied weights once); an fp32 activation that feeds half ops is cast once
// per op that reads it. Every cast is a kernel of its own that is dispatched like any other op.
#include <algorithm>

#include "models/derived.h"
#include "simulator/costs/op_view.h"
#include "simulator/costs/pricing.h"

namespace lockstep {
namespace {

bool is_half(DType dtype) {
  return dtype == DType::Fp16 || dtype == DType::Bf16;
}

DType widest_input(const Op& op, const std::vector<DType>& dtypes) {
  DType widest = dtypes[static_cast<std::size_t>(op.inputs.front())];
  for (const OpId input : op.inputs) {
    const DType other = dtypes[static_cast<std::size_t>(input)];
    if (bytes_of(other) > bytes_of(widest)) widest = other;
  }
  return widest;
}

DType autocast_dtype(const Op& op, DType half, const std::vector<DType>& dtypes) {
  if (autocasts_to_half(op.kind)) return half;
  if (autocasts_to_fp32(op.kind) || op.kind == OpKind::Embedding || op.inputs.empty()) return op.output_dtype;
  return widest_input(op, dtypes);
}

}  // namespace

bool autocasts_to_half(OpKind kind) {
  return kind == OpKind::Conv2d || kind == OpKind::Linear || kind == OpKind::Conv1dGpt || kind == OpKind::MatMul ||
         kind == OpKind::Attention;
}

bool autocasts_to_fp32(OpKind kind) {
  return kind == OpKind::LayerNorm || kind == OpKind::Softmax || kind == OpKind::CrossEntropy;
}

std::vector<DType> output_dtypes(const Model& model, const ComputeContext& context) {
  const DType half = context.bf16 ? DType::Bf16 : DType::Fp16;
  std::vector<DType> dtypes;
  dtypes.reserve(model.ops.size());
  for (const Op& op : model.ops)
    dtypes.push_back(context.autocast ? autocast_dtype(op, half, dtypes) : op.output_dtype);
  return dtypes;
}

Regime regime_of(const Op& op, const ComputeContext& context) {
  const GpuType& gpu = *context.gpu;
  const bool half = (context.autocast && autocasts_to_half(op.kind)) || is_half(op.output_dtype);
  if (half) return (context.bf16 ? gpu.peak_bf16 : gpu.peak_fp16) > 0 ? Regime::Half : Regime::Simt;
  const bool tf32 = op.kind == OpKind::Conv2d ? context.tf32_conv : context.tf32_matmul;
  return tf32 && gpu.peak_tf32 > 0 ? Regime::Tf32 : Regime::Simt;
}

namespace {

// Bytes of a cast between the op's type and a tensor's own: read one, write the other.
double cast_bytes(double elements, DType from, DType to) {
  return elements * static_cast<double>(bytes_of(from) + bytes_of(to));
}

// The type in which the op's kernels read their inputs, when it differs from the input's own.
bool reads_a_cast(const OpView& view, const TensorView& input) {
  if (input.dtype == DType::Int64 || input.dtype == view.output.dtype) return false;
  return autocasts_to_half(view.op->kind) || view.op->kind == OpKind::LayerNorm;
}

bool casts_gradient(const OpView& view, const TensorView& input) {
  if (!input.needs_gradient || input.dtype == view.output.dtype) return false;
  return reads_a_cast(view, input) || view.op->kind == OpKind::Add || view.op->kind == OpKind::Multiply ||
         view.op->kind == OpKind::Concat;
}

bool casts_parameters(const OpView& view) {
  return autocasts_to_half(view.op->kind) && is_half(view.output.dtype);
}

}  // namespace

void append_forward_casts(const OpView& view, const Pricing& pricing, OpCost& cost) {
  for (const TensorView& input : view.inputs)
    if (reads_a_cast(view, input)) {
      const double bytes = cast_bytes(input.elements, input.dtype, view.output.dtype);
      cost.forward.push_back(pricing.kernel(pricing.pointwise_seconds(bytes), HostClass::ForwardOp, "cast"));
    }
  if (!casts_parameters(view)) return;
  for (const ParameterView& parameter : view.parameters)
    if (parameter.dtype != view.output.dtype && !parameter.used_later) {
      const double bytes = cast_bytes(parameter.elements, parameter.dtype, view.output.dtype);
      cost.forward.push_back(pricing.kernel(pricing.pointwise_seconds(bytes), HostClass::ForwardOp, "weight_cast"));
    }
}

void append_backward_casts(const OpView& view, const Pricing& pricing, OpCost& cost) {
  for (const TensorView& input : view.inputs)
    if (casts_gradient(view, input)) {
      const double bytes = cast_bytes(input.elements, view.output.dtype, input.dtype);
      cost.backward.push_back(pricing.kernel(pricing.pointwise_seconds(bytes), HostClass::BackwardOther, "cast"));
    }
  if (!casts_parameters(view)) return;
  for (const ParameterView& parameter : view.parameters)
    if (parameter.dtype != view.output.dtype) {
      const double bytes = cast_bytes(parameter.elements, view.output.dtype, parameter.dtype);
      cost.backward.push_back(
          pricing.kernel(pricing.pointwise_seconds(bytes), HostClass::BackwardOther, "gradient_cast"));
    }
}

}  // namespace lockstep
