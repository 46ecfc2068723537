// The keys of a model file (docs/interface.md, "a model"): what the reader, the schema and the docs are made from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/model.h"
#include "simulator/base/field_table.h"

namespace lockstep {

// What stands after `op:`. Those of OpKind (but `input`), and short forms.
enum class FileOp {
  Parameter,
  Conv2d,
  Linear,
  Conv1dGpt,
  MatMul,
  Attention,
  BatchNorm,
  LayerNorm,
  Relu,
  Relu6,
  Gelu,
  Tanh,
  Sigmoid,
  Silu,
  Softmax,
  Dropout,
  Add,
  Multiply,
  Scale,
  Power,
  MaxPool,
  AvgPool,
  AdaptiveAvgPool,  // to `size` pixels
  GlobalAvgPool,    // [channels, height, width] to [channels]
  Embedding,
  Concat,
  Copy,
  View,
  Flatten,  // view as one axis
  Split,
  CrossEntropy,
};
const std::vector<std::pair<std::string, FileOp>>& file_ops();

// One entry of `ops`. Unset = not given; what an op does not take must not be given.
struct OpRow {
  FileOp op = FileOp::View;
  std::optional<std::string> name, id, shares, weight_name, bias_name;
  std::vector<std::string> from;
  std::optional<std::int64_t> out, dilation, groups, entries, width;
  std::vector<std::int64_t> kernel, stride, padding, size;  // one number, or [height, width]
  std::vector<std::int64_t> shape;
  std::optional<std::int64_t> batch, m, n, k;  // of `gemm`
  std::optional<bool> bias, in_place, once_per_batch, ceil_mode, per_sample;
  std::optional<double> probability;
};

struct TensorRow {
  std::string name;
  std::vector<std::int64_t> shape;
  DType dtype = DType::Fp32;
};

struct ModelFile {
  std::string name, sample_unit = "images";
  std::vector<std::int64_t> input_shape;
  DType input_dtype = DType::Fp32;
  std::optional<std::int64_t> targets;
  std::vector<OpRow> ops;
  std::vector<TensorRow> buffers, unused_parameters;
  std::vector<std::string> registration;
};

const FieldTable<OpRow>& op_fields();
const FieldTable<ModelFile>& model_fields();

// Keys that an op takes besides op, name, id and from.
std::vector<std::string> keys_of(FileOp op);

}  // namespace lockstep
