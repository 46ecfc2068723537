#include "models/derived.h"

#include <algorithm>
#include <string>
#include <unordered_set>

#include "simulator/base/ensure.h"

namespace lockstep {
namespace {

std::size_t index_of(OpId id) {
  return static_cast<std::size_t>(id);
}
std::size_t index_of(ParameterId id) {
  return static_cast<std::size_t>(id);
}

bool has_used_parameter(const Model& model, const Op& op) {
  return std::any_of(op.parameters.begin(), op.parameters.end(),
                     [&](ParameterId id) { return model.parameter(id).used; });
}

bool any_input(const Op& op, const std::vector<bool>& flags) {
  return std::any_of(op.inputs.begin(), op.inputs.end(), [&](OpId id) { return flags[index_of(id)]; });
}

// requires_gradient for the first `count` ops.
std::vector<bool> requires_gradient(const Model& model, std::size_t count) {
  std::vector<bool> flags(count, false);
  for (std::size_t i = 0; i < count; ++i) {
    flags[i] = has_used_parameter(model, model.ops[i]) || any_input(model.ops[i], flags);
  }
  return flags;
}

bool is_linear(OpKind kind) {
  return kind == OpKind::Linear || kind == OpKind::Conv1dGpt;
}

std::int64_t gemm_flop(const GemmShape& g) {
  return 2 * g.batch * g.m * g.n * g.k;
}

}  // namespace

std::int64_t parameter_count(const Model& model) {
  std::int64_t sum = 0;
  for (const Parameter& p : model.parameters) sum += p.elements();
  return sum;
}

std::int64_t parameter_bytes(const Model& model) {
  std::int64_t sum = 0;
  for (const Parameter& p : model.parameters) sum += p.bytes();
  return sum;
}

std::int64_t buffer_bytes(const Model& model) {
  std::int64_t sum = 0;
  for (const Buffer& b : model.buffers) sum += b.bytes();
  return sum;
}

int module_count(const Model& model) {
  std::unordered_set<std::string> modules;
  for (const Op& op : model.ops) {
    for (std::size_t dot = op.name.find('.'); dot != std::string::npos; dot = op.name.find('.', dot + 1)) {
      modules.insert(op.name.substr(0, dot));
    }
    if (!op.name.empty() && op.kind != OpKind::Parameter) modules.insert(op.name);
  }
  return static_cast<int>(modules.size()) + 1;
}

std::int64_t forward_flop(const Model& model, const Op& op) {
  switch (op.kind) {
    case OpKind::Conv2d: {
      const std::int64_t channels = model.input_shape(op)[0] / op.conv.groups;
      return 2 * elements_of(op.output) * channels * op.conv.kernel_h * op.conv.kernel_w;
    }
    case OpKind::Linear:
    case OpKind::Conv1dGpt:
    case OpKind::MatMul:
      return gemm_flop(op.gemm);
    case OpKind::Attention:
      return 2 * gemm_flop(op.gemm);
    default:
      return 0;
  }
}

std::int64_t backward_flop(const Model& model, const Op& op) {
  const std::int64_t one_gradient = forward_flop(model, op);
  if (one_gradient == 0) return 0;
  const std::vector<bool> gradient = requires_gradient(model, model.ops.size());
  if (op.kind == OpKind::Attention) return any_input(op, gradient) ? 5 * gemm_flop(op.gemm) : 0;
  std::int64_t gradients = has_used_parameter(model, op) ? 1 : 0;
  for (const OpId input : op.inputs) gradients += gradient[index_of(input)] ? 1 : 0;
  return gradients * one_gradient;
}

std::int64_t forward_flop(const Model& model) {
  std::int64_t sum = 0;
  for (const Op& op : model.ops) sum += forward_flop(model, op);
  return sum;
}

std::int64_t backward_flop(const Model& model) {
  const std::vector<bool> runs = runs_backward(model);
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < model.ops.size(); ++i) {
    if (runs[i]) sum += backward_flop(model, model.ops[i]);
  }
  return sum;
}

std::vector<bool> requires_gradient(const Model& model) {
  return requires_gradient(model, model.ops.size());
}

bool needs_input_gradient(const Model& model, const Op& op) {
  if (op.inputs.empty()) return false;
  const OpId last = *std::max_element(op.inputs.begin(), op.inputs.end());
  return any_input(op, requires_gradient(model, index_of(last) + 1));
}

std::vector<bool> runs_backward(const Model& model) {
  const std::vector<bool> gradient = requires_gradient(model, model.ops.size());
  std::vector<bool> runs(model.ops.size(), false);
  if (runs.empty()) return runs;
  runs.back() = gradient.back();
  for (std::size_t i = model.ops.size(); i-- > 0;) {
    if (!runs[i]) continue;
    for (const OpId input : model.ops[i].inputs) {
      if (gradient[index_of(input)]) runs[index_of(input)] = true;
    }
  }
  return runs;
}

std::vector<OpId> backward_order(const Model& model) {
  const std::vector<bool> runs = runs_backward(model);
  std::vector<OpId> order;
  for (std::size_t i = model.ops.size(); i-- > 0;) {
    if (runs[i]) order.push_back(OpId{static_cast<int>(i)});
  }
  return order;
}

std::vector<ParameterId> gradient_order(const Model& model, bool autocast) {
  const std::vector<OpId> backward = backward_order(model);
  std::vector<int> open(model.parameters.size(), 0);  // contributions still to come
  for (const OpId id : backward) {
    for (const ParameterId p : model.op(id).parameters) ++open[index_of(p)];
  }
  std::vector<ParameterId> order;
  for (const OpId id : backward) {
    std::vector<ParameterId> ready = model.op(id).parameters;
    const OpKind kind = model.op(id).kind;
    const bool weight_first = autocast && kind == OpKind::Linear;
    if (is_linear(kind) && !weight_first) std::reverse(ready.begin(), ready.end());
    for (const ParameterId p : ready) {
      if (--open[index_of(p)] == 0 && model.parameter(p).used) order.push_back(p);
    }
  }
  return order;
}

std::vector<int> gradient_adds(const Model& model) {
  const std::vector<bool> runs = runs_backward(model);
  std::vector<int> gradients(model.ops.size(), 0);
  for (std::size_t i = 0; i < model.ops.size(); ++i) {
    if (!runs[i]) continue;
    for (const OpId input : model.ops[i].inputs) ++gradients[index_of(input)];
  }
  for (std::size_t i = 0; i < model.ops.size(); ++i) {
    const bool summed = runs[i] && model.ops[i].kind != OpKind::Split;
    gradients[i] = summed ? std::max(gradients[i] - 1, 0) : 0;
  }
  return gradients;
}

int gradient_adds(const Model& model, OpId op) {
  return gradient_adds(model)[index_of(op)];
}

int tied_gradient_adds(const Model& model) {
  std::vector<int> uses(model.parameters.size(), 0);
  for (const OpId id : backward_order(model)) {
    for (const ParameterId p : model.op(id).parameters) ++uses[index_of(p)];
  }
  int adds = 0;
  for (const int n : uses) adds += std::max(n - 1, 0);
  return adds;
}

int forward_host_ops(const Op& op) {
  switch (op.kind) {
    case OpKind::Input:
    case OpKind::Parameter:
    case OpKind::View:
    case OpKind::Split:
    case OpKind::Copy:
    case OpKind::CrossEntropy:
      return 0;
    case OpKind::BatchNorm:
      return 2;
    case OpKind::Dropout:
      return op.probability > 0 ? 3 : 0;
    default:
      return 1;
  }
}

int backward_host_ops(const Model& model, OpId id) {
  const Op& op = model.op(id);
  const auto gradients_of_inputs = [&] {
    const std::vector<bool> gradient = requires_gradient(model, index_of(id));
    return static_cast<int>(
        std::count_if(op.inputs.begin(), op.inputs.end(), [&](OpId input) { return gradient[index_of(input)]; }));
  };
  const auto broadcast_sums = [&] {
    const std::vector<bool> gradient = requires_gradient(model, index_of(id));
    return static_cast<int>(std::count_if(op.inputs.begin(), op.inputs.end(), [&](OpId input) {
      return gradient[index_of(input)] && elements_of(model.op(input).output) < elements_of(op.output);
    }));
  };
  switch (op.kind) {
    case OpKind::Input:
    case OpKind::Parameter:
    case OpKind::View:
    case OpKind::Copy:
    case OpKind::Add:
    case OpKind::Concat:
    case OpKind::CrossEntropy:
      return 0;
    case OpKind::Linear:
    case OpKind::Conv1dGpt:
      return gradients_of_inputs() + static_cast<int>(op.parameters.size());
    case OpKind::MatMul:
      return gradients_of_inputs();
    case OpKind::Multiply:
      return gradients_of_inputs() + broadcast_sums();
    case OpKind::Power:
      return 3;
    case OpKind::Dropout:
      return op.probability > 0 ? 1 : 0;
    default:
      return 1;
  }
}

HostCounts host_counts(const Model& model) {
  HostCounts counts;
  counts.modules = module_count(model);
  counts.parameter_tensors = static_cast<int>(model.parameters.size());
  counts.buffer_tensors = static_cast<int>(model.buffers.size());
  for (const Op& op : model.ops) {
    counts.forward_ops += forward_host_ops(op);
    counts.convolutions += op.kind == OpKind::Conv2d ? 1 : 0;
  }
  for (const int adds : gradient_adds(model)) counts.gradient_adds += adds;
  counts.gradient_adds += tied_gradient_adds(model);
  for (const OpId id : backward_order(model)) counts.backward_ops += backward_host_ops(model, id);
  counts.backward_ops += counts.gradient_adds;
  return counts;
}

}  // namespace lockstep
