#include "models/model_fields.h"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep {
namespace {

constexpr double kLargestSize = 1e9;

std::vector<std::pair<std::string, DType>> dtypes() {
  std::vector<std::pair<std::string, DType>> all;
  for (const DType type : {DType::Fp32, DType::Fp64, DType::Fp16, DType::Bf16, DType::Int64}) {
    all.emplace_back(name_of(type), type);
  }
  return all;
}

void op_sizes(FieldTable<OpRow>& t) {
  t.integer("out", &OpRow::out)
      .range(1, kLargestSize)
      .doc("Output channels of a convolution, output features of a linear layer");
  t.integers("kernel", &OpRow::kernel).one_or_many().range(1, kLargestSize).doc("Window, or [height, width]");
  t.integers("stride", &OpRow::stride)
      .one_or_many()
      .range(1, kLargestSize)
      .doc("Step of the window; 1 for convolutions, the kernel for pools when left out");
  t.integers("padding", &OpRow::padding).one_or_many().range(0, kLargestSize).doc("Rim on each side; 0 when left out");
  t.integer("dilation", &OpRow::dilation).range(1, kLargestSize).doc("Spacing of the window's pixels; 1 when left out");
  t.integer("groups", &OpRow::groups).range(1, kLargestSize).doc("Groups of channels; 1 when left out");
  t.integers("size", &OpRow::size).one_or_many().range(1, kLargestSize).doc("Pixels after adaptive pooling");
  t.integer("entries", &OpRow::entries).range(1, kLargestSize).doc("Rows of an embedding table");
  t.integer("width", &OpRow::width).range(1, kLargestSize).doc("Features of an embedding");
  t.integers("shape", &OpRow::shape)
      .range(1, kLargestSize)
      .doc("Output of one sample (view, copy, matmul), or of a learned tensor");
  t.integer("gemm.batch", &OpRow::batch)
      .range(1, kLargestSize)
      .doc("Products per sample, heads of an attention; 1 when left out");
  t.integer("gemm.m", &OpRow::m)
      .range(1, kLargestSize)
      .doc("Rows of the first factor of a matmul; queries of an attention");
  t.integer("gemm.n", &OpRow::n).range(1, kLargestSize).doc("Columns of the second factor; keys of an attention");
  t.integer("gemm.k", &OpRow::k)
      .range(1, kLargestSize)
      .doc("Columns of the first factor, rows of the second; width of an attention head");
}

void op_switches(FieldTable<OpRow>& t) {
  t.flag("bias", &OpRow::bias).doc("Whether the layer adds a bias; true when left out");
  t.text("shares", &OpRow::shares).doc("An earlier op's parameter that is this op's weight too (tied weights)");
  t.text("weight_name", &OpRow::weight_name).doc("Name of the weight where it is not NAME.weight");
  t.text("bias_name", &OpRow::bias_name).doc("Name of the bias where it is not NAME.bias");
  t.flag("in_place", &OpRow::in_place).doc("Overwrites its input, as ReLU(inplace=True); false when left out");
  t.flag("once_per_batch", &OpRow::once_per_batch)
      .doc("The table is read once per batch, not once per sample (position embeddings); false when left out");
  t.flag("ceil_mode", &OpRow::ceil_mode)
      .doc("A window that hangs over the end of the input counts too; false when left out");
  t.flag("per_sample", &OpRow::per_sample)
      .doc("Drops whole samples (stochastic depth) instead of single values; false when left out");
  t.number("probability", &OpRow::probability).range(0, 1).doc("Of a dropout; 0.5 when left out");
}

bool has_parameters(FileOp op) {
  return op == FileOp::Conv2d || op == FileOp::Linear || op == FileOp::Conv1dGpt || op == FileOp::BatchNorm ||
         op == FileOp::LayerNorm || op == FileOp::Embedding;
}

std::vector<std::string> needed_keys(FileOp op) {
  switch (op) {
    case FileOp::Conv2d:
      return {"name", "out", "kernel"};
    case FileOp::Linear:
    case FileOp::Conv1dGpt:
      return {"name", "out"};
    case FileOp::MatMul:
    case FileOp::Attention:
      return {"gemm.m", "gemm.n", "gemm.k"};
    case FileOp::Parameter:
      return {"name", "shape"};
    case FileOp::MaxPool:
    case FileOp::AvgPool:
      return {"kernel"};
    case FileOp::AdaptiveAvgPool:
      return {"size"};
    case FileOp::Embedding:
      return {"name", "entries", "width"};
    case FileOp::View:
      return {"shape"};
    default:
      return has_parameters(op) ? std::vector<std::string>{"name"} : std::vector<std::string>{};
  }
}

std::string file_op_name(FileOp op) {
  for (const auto& [name, known] : file_ops()) {
    if (known == op) return name;
  }
  return "";
}

// Keys that every op takes, keys that this one takes, keys that it needs.
void check_keys(const OpRow& row, TableCheck& check) {
  const std::vector<std::string> taken = keys_of(row.op);
  const std::string op = file_op_name(row.op);
  for (const FieldInfo& field : op_fields().info().fields) {
    const bool common = field.key == "op" || field.key == "name" || field.key == "id" || field.key == "from";
    if (common || !check.given(field.key)) continue;
    if (std::find(taken.begin(), taken.end(), field.key) != taken.end()) continue;
    check.fail(ErrorKind::UnknownKey, field.key, fmt::format("`{}` takes no `{}`", op, field.key),
               fmt::format("op, name, id, from{}{}", taken.empty() ? "" : ", ", fmt::join(taken, ", ")));
  }
  for (const std::string& key : needed_keys(row.op)) {
    if (check.given(key)) continue;
    check.fail(ErrorKind::Missing, key, fmt::format("`{}` needs `{}`", op, key),
               allowed_text(*op_fields().info().find(key)));
  }
}

void check_pairs(const OpRow& row, TableCheck& check) {
  const auto check_pair = [&check](const char* key, const std::vector<std::int64_t>& values) {
    if (!check.given(key) || values.size() == 1 || values.size() == 2) return;
    check.fail(ErrorKind::Type, key, "one number or two are needed here", "a whole number, or [height, width]");
  };
  check_pair("kernel", row.kernel);
  check_pair("stride", row.stride);
  check_pair("padding", row.padding);
  check_pair("size", row.size);
}

}  // namespace

const std::vector<std::pair<std::string, FileOp>>& file_ops() {
  static const std::vector<std::pair<std::string, FileOp>> all = {
      {"parameter", FileOp::Parameter},
      {"conv2d", FileOp::Conv2d},
      {"linear", FileOp::Linear},
      {"conv1d_gpt", FileOp::Conv1dGpt},
      {"matmul", FileOp::MatMul},
      {"attention", FileOp::Attention},
      {"batch_norm", FileOp::BatchNorm},
      {"layer_norm", FileOp::LayerNorm},
      {"relu", FileOp::Relu},
      {"relu6", FileOp::Relu6},
      {"gelu", FileOp::Gelu},
      {"tanh", FileOp::Tanh},
      {"sigmoid", FileOp::Sigmoid},
      {"silu", FileOp::Silu},
      {"softmax", FileOp::Softmax},
      {"dropout", FileOp::Dropout},
      {"add", FileOp::Add},
      {"multiply", FileOp::Multiply},
      {"scale", FileOp::Scale},
      {"power", FileOp::Power},
      {"max_pool", FileOp::MaxPool},
      {"avg_pool", FileOp::AvgPool},
      {"adaptive_avg_pool", FileOp::AdaptiveAvgPool},
      {"global_avg_pool", FileOp::GlobalAvgPool},
      {"embedding", FileOp::Embedding},
      {"concat", FileOp::Concat},
      {"copy", FileOp::Copy},
      {"view", FileOp::View},
      {"flatten", FileOp::Flatten},
      {"split", FileOp::Split},
      {"cross_entropy", FileOp::CrossEntropy},
  };
  return all;
}

std::vector<std::string> keys_of(FileOp op) {
  switch (op) {
    case FileOp::Conv2d:
      return {"out", "kernel", "stride", "padding", "dilation", "groups", "bias"};
    case FileOp::Linear:
    case FileOp::Conv1dGpt:
      return {"out", "bias", "shares", "weight_name", "bias_name"};
    case FileOp::MatMul:
      return {"gemm.batch", "gemm.m", "gemm.n", "gemm.k", "shape"};
    case FileOp::Attention:
      return {"gemm.batch", "gemm.m", "gemm.n", "gemm.k"};
    case FileOp::LayerNorm:
      return {"bias"};
    case FileOp::Relu:
    case FileOp::Relu6:
    case FileOp::Gelu:
    case FileOp::Tanh:
    case FileOp::Sigmoid:
    case FileOp::Silu:
    case FileOp::Scale:
    case FileOp::Power:
    case FileOp::Add:
      return {"in_place"};
    case FileOp::Dropout:
      return {"probability", "in_place", "per_sample"};
    case FileOp::MaxPool:
    case FileOp::AvgPool:
      return {"kernel", "stride", "padding", "dilation", "ceil_mode"};
    case FileOp::AdaptiveAvgPool:
      return {"size"};
    case FileOp::Embedding:
      return {"entries", "width", "shares", "once_per_batch"};
    case FileOp::Parameter:
    case FileOp::Copy:
    case FileOp::View:
      return {"shape"};
    default:
      return {};
  }
}

const FieldTable<OpRow>& op_fields() {
  static const FieldTable<OpRow> table = [] {
    FieldTable<OpRow> t("op");
    t.choice("op", &OpRow::op, file_ops()).required().doc("Kind of op");
    t.text("name", &OpRow::name).doc("Module path; needed by ops with parameters, left out by functional ops");
    t.text("id", &OpRow::id).doc("Label for `from`, where the name is missing or used twice");
    t.texts("from", &OpRow::from)
        .one_or_many()
        .doc("Names or ids of the inputs; the op above when left out; `input` is the sample");
    op_sizes(t);
    op_switches(t);
    t.check({"op"}, check_keys);
    t.check({"kernel", "stride", "padding", "size"}, check_pairs);
    return t;
  }();
  return table;
}

const FieldTable<ModelFile>& model_fields() {
  static const FieldTable<TensorRow> tensors = [] {
    FieldTable<TensorRow> t("tensor");
    t.text("name", &TensorRow::name).required().doc("As in state_dict()");
    t.integers("shape", &TensorRow::shape).range(1, kLargestSize).doc("[] for a single number");
    t.choice("dtype", &TensorRow::dtype, dtypes()).doc("Type of an element");
    return t;
  }();
  static const FieldTable<ModelFile> table = [] {
    FieldTable<ModelFile> t("model");
    t.text("name", &ModelFile::name).required().doc("Name of the model");
    t.text("sample_unit", &ModelFile::sample_unit).doc("What one sample is called: images, sequences, samples");
    t.integers("input.shape", &ModelFile::input_shape)
        .required()
        .range(1, kLargestSize)
        .doc("Of one sample: [channels, height, width], [features] or [positions]");
    t.choice("input.dtype", &ModelFile::input_dtype, dtypes()).doc("Type of an element; int64 for token ids");
    t.integer("targets", &ModelFile::targets)
        .unset("auto")
        .range(1, kLargestSize)
        .doc("Labels of one sample; auto = one per row of the loss");
    t.rows("ops", &ModelFile::ops, op_fields()).required().doc("In the order of the forward pass");
    t.rows("buffers", &ModelFile::buffers, tensors).doc("Besides those of batch norms");
    t.rows("unused_parameters", &ModelFile::unused_parameters, tensors)
        .doc("Registered but not part of the forward pass");
    t.texts("registration", &ModelFile::registration)
        .doc("Parameters in the order of named_parameters(), where that is not the order of the ops");
    t.ignored("derived", "What `show model` adds for people");
    return t;
  }();
  return table;
}

}  // namespace lockstep
