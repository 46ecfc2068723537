#include "models/model.h"

#include <array>
#include <utility>

#include "simulator/base/ensure.h"

namespace lockstep {
namespace {

constexpr std::array<std::pair<OpKind, const char*>, 29> kOpNames = {{
    {OpKind::Input, "input"},
    {OpKind::Parameter, "parameter"},
    {OpKind::Conv2d, "conv2d"},
    {OpKind::Linear, "linear"},
    {OpKind::Conv1dGpt, "conv1d_gpt"},
    {OpKind::MatMul, "matmul"},
    {OpKind::Attention, "attention"},
    {OpKind::BatchNorm, "batch_norm"},
    {OpKind::LayerNorm, "layer_norm"},
    {OpKind::Relu, "relu"},
    {OpKind::Relu6, "relu6"},
    {OpKind::Gelu, "gelu"},
    {OpKind::Tanh, "tanh"},
    {OpKind::Sigmoid, "sigmoid"},
    {OpKind::Silu, "silu"},
    {OpKind::Softmax, "softmax"},
    {OpKind::Dropout, "dropout"},
    {OpKind::Add, "add"},
    {OpKind::Multiply, "multiply"},
    {OpKind::Scale, "scale"},
    {OpKind::Power, "power"},
    {OpKind::MaxPool, "max_pool"},
    {OpKind::AvgPool, "avg_pool"},
    {OpKind::Embedding, "embedding"},
    {OpKind::Concat, "concat"},
    {OpKind::Copy, "copy"},
    {OpKind::View, "view"},
    {OpKind::Split, "split"},
    {OpKind::CrossEntropy, "cross_entropy"},
}};

}  // namespace

std::int64_t bytes_of(DType dtype) {
  switch (dtype) {
    case DType::Fp64:
    case DType::Int64:
      return 8;
    case DType::Fp32:
      return 4;
    case DType::Fp16:
    case DType::Bf16:
      return 2;
  }
  return 0;
}

const char* name_of(DType dtype) {
  switch (dtype) {
    case DType::Fp64:
      return "fp64";
    case DType::Fp32:
      return "fp32";
    case DType::Fp16:
      return "fp16";
    case DType::Bf16:
      return "bf16";
    case DType::Int64:
      return "int64";
  }
  return "";
}

std::int64_t elements_of(const Shape& shape) {
  std::int64_t product = 1;
  for (const std::int64_t size : shape) product *= size;
  return product;
}

const char* name_of(OpKind kind) {
  for (const auto& [known, name] : kOpNames) {
    if (known == kind) return name;
  }
  LOCKSTEP_ENSURE(false, "op kind {}", static_cast<int>(kind));
}

std::optional<OpKind> op_kind_of(std::string_view name) {
  for (const auto& [kind, known] : kOpNames) {
    if (name == known) return kind;
  }
  return std::nullopt;
}

}  // namespace lockstep
