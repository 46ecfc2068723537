// A neural network as a list of ops with shapes, in the order in which the forward pass runs them.
// Everything else (FLOP, bytes, kept activations, gradient order, module count) is derived: models/derived.h.
// Shapes are those of ONE sample (no batch dimension); bytes follow from dtype and batch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

enum class DType { Fp64, Fp32, Fp16, Bf16, Int64 };
std::int64_t bytes_of(DType dtype);  // bytes of one element

// Index types: an OpId cannot be passed where a ParameterId is wanted.
enum class OpId : int {};
enum class ParameterId : int {};

using Shape = std::vector<std::int64_t>;
std::int64_t elements_of(const Shape& shape);

// The classes that the cost model tells apart (simulator/costs/op_cost.h).
enum class OpKind {
  Input,      // the sample itself: no kernel
  Parameter,  // a learned tensor that enters the network by itself (class token): no kernel, no inputs, once per batch
  Conv2d,     // attributes in conv
  Linear,     // weight [out, in]; input [rows, in]: rows per sample, 1 for a class head, sequence length for text
  Conv1dGpt,  // GPT-2's Conv1D: a linear with weight [in, out]
  MatMul,     // batched product of two activations; gemm gives the sizes per sample
  Attention,  // scaled-dot-product attention as one fused kernel; inputs query, key, value; gemm: heads products of
              // [queries x width of a head] by its transpose. The scores never reach memory; backward forms them again
  BatchNorm,
  LayerNorm,
  Relu,
  Relu6,  // cut off at 6: unlike Relu it keeps its input, in place a clone of it
  Gelu,
  Tanh,
  Sigmoid,
  Silu,
  Softmax,
  Dropout,
  Add,       // element-wise sum of two activations (residual)
  Multiply,  // element-wise product of two activations (broadcast allowed)
  Scale,     // activation times (or plus) a constant or a mask that is no activation: one input, keeps nothing
  Power,     // x^3 of gelu_new: forward 2 passes; backward 3 kernels (pow, mul, mul: 2 + 2 + 3 passes); keeps x
  MaxPool,
  AvgPool,    // also global and adaptive average pooling (conv.kernel_h = 0: the window follows from the shapes)
  Embedding,  // table look-up
  Concat,
  Copy,          // contiguous(), transposed copies and the like: a kernel that only moves bytes
  View,          // reshape, transpose: no kernel
  Split,         // torch.split, chunk: no forward kernel; its output is the whole tensor, each consumer reads one part,
                 // so no gradient adds; backward is one kernel that joins the parts (2 passes over the output)
  CrossEntropy,  // the loss, summed over its inputs (Inception has two outputs); always the last op
};
const char* name_of(OpKind kind);  // snake_case name as in a model file: conv2d, batch_norm, ...
std::optional<OpKind> op_kind_of(std::string_view name);
const char* name_of(DType dtype);  // fp64, fp32, fp16, bf16, int64

struct ConvAttributes {
  std::int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, padding_h = 0, padding_w = 0, dilation = 1;
  std::int64_t groups = 1;
  bool bias = false;
  bool ceil_mode = false;  // pools: a window that begins inside the input and hangs over its end counts too
  bool operator==(const ConvAttributes&) const = default;
};
// Also the window of pools (kernel, stride, padding, ceil_mode).

// One matrix product per sample: `batch` products of [m x k] by [k x n].
struct GemmShape {
  std::int64_t batch = 1, m = 1, n = 1, k = 1;
  bool operator==(const GemmShape&) const = default;
};

struct Parameter {
  std::string name;  // as in PyTorch's named_parameters()
  Shape shape;
  DType dtype = DType::Fp32;
  bool used = true;  // false: registered but never part of the forward pass
  std::int64_t elements() const { return elements_of(shape); }
  std::int64_t bytes() const { return elements() * bytes_of(dtype); }
  bool operator==(const Parameter&) const = default;
};

struct Buffer {
  std::string name;
  Shape shape;
  DType dtype = DType::Fp32;
  std::int64_t bytes() const { return elements_of(shape) * bytes_of(dtype); }
  bool operator==(const Buffer&) const = default;
};

struct Op {
  OpKind kind = OpKind::View;
  std::string name;          // module path (`layer1.0.relu`), shared by ops of one module; empty for functional ops
  std::vector<OpId> inputs;  // producers, in argument order
  Shape output;              // per sample
  DType output_dtype = DType::Fp32;
  ConvAttributes conv;  // Conv2d, MaxPool, AvgPool
  GemmShape gemm;       // Linear, Conv1dGpt, MatMul, Attention: per-sample sizes (Linear: batch 1, m rows, n out, k in)
  std::vector<ParameterId> parameters;  // in registration order (weight, bias); tied weights repeat the id
  // True: the tensor exists once per batch instead of once per sample (position embeddings): bytes and work do not grow
  // with the batch. An Add that takes it broadcasts it.
  bool once_per_batch = false;
  bool in_place = false;  // ReLU(inplace=True) and the like: keeps no second tensor
  // Softmax, LayerNorm, CrossEntropy: length of the normalised row. Dropout: values that live or die together (the
  // whole sample for stochastic depth), 0 = each on its own.
  std::int64_t row = 0;
  double probability = 0;  // Dropout
  bool operator==(const Op&) const = default;
};

struct Model {
  std::string name;
  std::string sample_unit = "images";  // throughput is `sample_unit`/s: images, sequences, samples
  Shape input;                         // per sample
  DType input_dtype = DType::Fp32;     // Int64 for token ids
  std::int64_t target_elements = 1;    // int64 labels per sample that go to the device with the input
  std::vector<Parameter> parameters;   // registration order
  std::vector<Buffer> buffers;         // registration order
  std::vector<Op> ops;                 // forward order; ops[0] is Input, the last one the loss

  const Op& op(OpId id) const { return ops[static_cast<std::size_t>(id)]; }
  const Parameter& parameter(ParameterId id) const { return parameters[static_cast<std::size_t>(id)]; }
  const Shape& input_shape(const Op& o, std::size_t which = 0) const { return op(o.inputs[which]).output; }
  bool operator==(const Model&) const = default;
};

}  // namespace lockstep
