// What PyTorch's autograd keeps of a forward pass (tools/autograd/derivatives.yaml: which of input, output and own
// tensors each backward formula names), with storages counted once.
#include <numeric>
#include <set>

#include "models/derived.h"

namespace lockstep {
namespace {

constexpr std::int64_t kIndexBytes = 8;       // int64: pool indices, labels
constexpr std::int64_t kLogSumBytes = 4;      // fused attention: log of the sum of a query's exponentials, fp32
constexpr std::int64_t kStatisticsBytes = 8;  // layer norm: mean and reciprocal deviation of a row, fp32 each

// Whether the op writes into the tensor that it reads, or only looks at it in another shape.
bool shares_storage(const Op& op) {
  if (op.kind == OpKind::View || op.kind == OpKind::Split) return true;
  if (op.kind == OpKind::Dropout && op.probability == 0) return true;
  return op.in_place && !clones_input(op);
}

class KeptTensors {
 public:
  KeptTensors(const Model& model, DropoutMask mask)
      : model_(model), mask_(mask), gradient_(requires_gradient(model)), owner_(model.ops.size()) {
    for (std::size_t i = 0; i < model.ops.size(); ++i) {
      const Op& op = model.ops[i];
      const bool shared = shares_storage(op) && !op.inputs.empty();
      owner_[i] = shared ? owner_[static_cast<std::size_t>(op.inputs.front())] : OpId{static_cast<int>(i)};
    }
  }

  std::vector<KeptTensor> collect() {
    const std::vector<bool> runs = runs_backward(model_);
    for (std::size_t i = 0; i < model_.ops.size(); ++i) {
      if (runs[i]) visit(OpId{static_cast<int>(i)}, model_.ops[i]);
    }
    return std::move(kept_);
  }

 private:
  void visit(OpId id, const Op& op) {
    switch (op.kind) {
      case OpKind::Conv2d:
      case OpKind::Linear:
      case OpKind::Conv1dGpt:
      case OpKind::BatchNorm:
      case OpKind::Gelu:
      case OpKind::Silu:
      case OpKind::Relu6:
      case OpKind::Power:
        return keep_output(id, op.inputs[0]);
      case OpKind::Relu:
      case OpKind::Tanh:
      case OpKind::Sigmoid:
      case OpKind::Softmax:
        return keep_output(id, id);
      case OpKind::LayerNorm:
        keep_output(id, op.inputs[0]);
        return keep_own(id, elements_of(op.output) / op.row * kStatisticsBytes);
      case OpKind::MatMul:
      case OpKind::Multiply:
        return keep_factors(id, op);
      case OpKind::Attention:
        for (const OpId input : op.inputs) keep_output(id, input);
        keep_output(id, id);
        return keep_own(id, op.gemm.batch * op.gemm.m * kLogSumBytes);
      case OpKind::Dropout:
        if (op.probability > 0) keep_own(id, mask_bytes(op));
        return;
      case OpKind::MaxPool:
        keep_output(id, op.inputs[0]);
        return keep_own(id, elements_of(op.output) * kIndexBytes);
      case OpKind::AvgPool:
        return keep_average(id, op);
      case OpKind::Embedding:
        if (!op.once_per_batch) keep_output(id, op.inputs[0]);
        return;
      case OpKind::CrossEntropy: {
        const std::int64_t logits = elements_of(model_.input_shape(op)), outputs = std::ssize(op.inputs);
        return keep_own(id, outputs * logits * bytes_of(DType::Fp32) + logits / op.row * kIndexBytes);
      }
      default:  // sums, copies, views and products with constants need only shapes
        return;
    }
  }

  // A mask of whole samples is a product with a tensor of the input's type on a GPU too.
  std::int64_t mask_bytes(const Op& op) const {
    if (op.row > 0) return elements_of(op.output) / op.row * bytes_of(op.output_dtype);
    return elements_of(op.output) * (mask_ == DropoutMask::Byte ? 1 : bytes_of(op.output_dtype));
  }

  // A factor is needed for the gradient of the other one.
  void keep_factors(OpId id, const Op& op) {
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      if (gradient_[static_cast<std::size_t>(op.inputs[1 - i])]) keep_output(id, op.inputs[i]);
    }
  }

  // Averaging to one pixel is a mean, which keeps nothing; other averages keep their input.
  void keep_average(OpId id, const Op& op) {
    const std::int64_t pixels = op.output.size() < 3 ? 1 : elements_of(op.output) / op.output[0];
    if (op.conv.kernel_h != 0 || pixels != 1) keep_output(id, op.inputs[0]);
  }

  void keep_output(OpId keeper, OpId tensor) {
    const OpId owner = owner_[static_cast<std::size_t>(tensor)];
    const Op& producer = model_.op(owner);
    if (producer.once_per_batch || !stored_.insert(owner).second) return;
    kept_.push_back({keeper, owner, true, elements_of(producer.output) * bytes_of(producer.output_dtype)});
  }

  void keep_own(OpId keeper, std::int64_t bytes) { kept_.push_back({keeper, keeper, false, bytes}); }

  const Model& model_;
  DropoutMask mask_;
  std::vector<bool> gradient_;
  std::vector<OpId> owner_;  // op whose output tensor holds the op's output
  std::set<OpId> stored_;
  std::vector<KeptTensor> kept_;
};

}  // namespace

bool clones_input(const Op& op) {
  const bool keeps_input =
      op.kind == OpKind::Gelu || op.kind == OpKind::Silu || op.kind == OpKind::Relu6 || op.kind == OpKind::Power;
  return op.in_place && keeps_input;
}

std::vector<KeptTensor> kept_tensors(const Model& model, DropoutMask mask) {
  return KeptTensors(model, mask).collect();
}

std::vector<std::int64_t> saved_activation_bytes(const Model& model, DropoutMask mask) {
  std::vector<std::int64_t> bytes(model.ops.size(), 0);
  for (const KeptTensor& tensor : kept_tensors(model, mask))
    bytes[static_cast<std::size_t>(tensor.kept_by)] += tensor.bytes;
  return bytes;
}

std::int64_t saved_activation_bytes_per_sample(const Model& model, DropoutMask mask) {
  const std::vector<std::int64_t> bytes = saved_activation_bytes(model, mask);
  const bool has_loss = !model.ops.empty() && model.ops.back().kind == OpKind::CrossEntropy;
  return std::accumulate(bytes.begin(), has_loss ? bytes.end() - 1 : bytes.end(), std::int64_t{0});
}

}  // namespace lockstep
