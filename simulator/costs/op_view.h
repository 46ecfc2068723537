// One op as the run has it: sizes of the whole batch, types of its tensors, who needs a gradient. Internal to
// simulator/costs.
#pragma once

#include <vector>

#include "simulator/costs/op_cost.h"

namespace lockstep {

struct TensorView {
  double elements = 0;  // of the whole batch
  DType dtype = DType::Fp32;
  bool needs_gradient = false;
  bool once_per_batch = false;
  double bytes() const { return elements * static_cast<double>(bytes_of(dtype)); }
};

struct ParameterView {
  double elements = 0;
  DType dtype = DType::Fp32;
  bool used_later = false;  // a later op of the forward pass has it too (tied): its gradient comes first
  double bytes() const { return elements * static_cast<double>(bytes_of(dtype)); }
};

struct OpView {
  const Op* op = nullptr;
  OpId id{};
  std::int64_t batch = 1;
  Regime regime = Regime::Simt;
  std::vector<TensorView> inputs;
  TensorView output;  // needs_gradient: the op has a backward
  std::vector<ParameterView> parameters;
  bool input_gradient = false;  // some input needs a gradient
  int gradient_adds = 0;
};

// What is known of a model as a whole, one entry per op.
struct ModelFacts {
  std::vector<DType> dtypes;
  std::vector<bool> requires_gradient, runs_backward;
  std::vector<int> gradient_adds;
  std::vector<std::size_t> last_use;  // of each parameter: the last op that has it
};
ModelFacts facts_of(const Model& model, const ComputeContext& context);

OpView describe_op(const Model& model, OpId id, const ComputeContext& context, const ModelFacts& facts);

// Autocast runs this kind in half (convolutions and matrix products) or in fp32 (layer norm, softmax, loss).
bool autocasts_to_half(OpKind kind);
bool autocasts_to_fp32(OpKind kind);

class Pricing;
// The op's kernels without gradient adds and autocast casts.
void append_conv(const OpView& view, const Model& model, const Pricing& pricing, OpCost& cost);
void append_matrix_product(const OpView& view, const Pricing& pricing, OpCost& cost);
void append_attention(const OpView& view, const Pricing& pricing, OpCost& cost);
void append_memory_bound(const OpView& view, const Pricing& pricing, OpCost& cost);
// Autocast's casts around the op's own kernels.
void append_forward_casts(const OpView& view, const Pricing& pricing, OpCost& cost);
void append_backward_casts(const OpView& view, const Pricing& pricing, OpCost& cost);

}  // namespace lockstep
