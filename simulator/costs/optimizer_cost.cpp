#include "simulator/costs/optimizer_cost.h"

#include <array>

#include "simulator/base/ensure.h"
#include "simulator/costs/pricing.h"

namespace lockstep {
namespace {

// One elementary op of a step: passes over the parameters, tensor lists that it walks.
struct StepOp {
  double passes;
  int lists;
  const char* label;
};

constexpr StepOp kDecayGradient = {3, 3, "opt_weight_decay"};  // new gradient = gradient + decay x parameter
constexpr StepOp kDecayParameter = {2, 1, "opt_weight_decay"};
constexpr StepOp kParameterUpdate = {3, 2, "opt_update"};

// The seven multi-tensor ops of Adam that the H100 trace shows. The squared gradient is read by both factors of
// addcmul: 4 passes here (19 in all); AdamW's 20 count it once.
std::vector<StepOp> adam_ops(double addcmul_passes) {
  return {{3, 2, "opt_lerp"},   {2, 1, "opt_mul"}, {addcmul_passes, 3, "opt_addcmul"},
          {2, 2, "opt_sqrt"},   {2, 1, "opt_div"}, {2, 1, "opt_add"},
          {4, 3, "opt_addcdiv"}};
}

std::vector<StepOp> elementary_ops(const OptimizerSpec& spec) {
  std::vector<StepOp> ops;
  const bool decay = spec.weight_decay;
  switch (spec.kind) {
    case OptimizerKind::None:
      return ops;
    case OptimizerKind::Sgd:
    case OptimizerKind::SgdMomentum:
      if (decay) ops.push_back(kDecayGradient);
      if (spec.kind == OptimizerKind::SgdMomentum) {
        ops.push_back({2, 1, "opt_momentum_mul"});
        ops.push_back({3, 2, "opt_momentum_add"});
      }
      ops.push_back(kParameterUpdate);
      return ops;
    case OptimizerKind::Adam:
      if (decay) ops.push_back(kDecayGradient);
      break;
    case OptimizerKind::AdamW:
      if (decay) ops.push_back(kDecayParameter);
      break;
  }
  for (const StepOp& op : adam_ops(spec.kind == OptimizerKind::Adam ? 4 : 3)) ops.push_back(op);
  return ops;
}

std::vector<StepOp> step_ops(const OptimizerSpec& spec) {
  if (spec.implementation != OptimizerImplementation::Fused) return elementary_ops(spec);
  switch (spec.kind) {
    case OptimizerKind::None:
      return {};
    case OptimizerKind::Sgd:
      return {{3, 2, "opt_fused_sgd"}};  // reads parameter and gradient, writes the parameter
    case OptimizerKind::SgdMomentum:
      return {{5, 3, "opt_fused_sgd"}};
    case OptimizerKind::Adam:
    case OptimizerKind::AdamW:
      return {{7, 4, "opt_fused_adam"}};
  }
  return {};
}

std::vector<std::int64_t> gradient_elements(const Model& model) {
  std::vector<std::int64_t> elements;
  for (const Parameter& parameter : model.parameters)
    if (parameter.used) elements.push_back(parameter.elements());
  return elements;
}

// Makes the kernels of one group of parameters. The optimizer's efficiency was fitted to whole multi-tensor ops, so
// that one op has one own launch time however many pieces it is launched in.
class Stepper {
 public:
  Stepper(const Model& model, const OptimizerSpec& spec, const ComputeContext& context, const HostCosts& host)
      : spec_(spec), host_(host), pricing_(context), elements_(gradient_elements(model)) {
    for (const std::int64_t count : elements_) total_bytes_ += static_cast<double>(count * bytes_of(DType::Fp32));
  }

  void multi_tensor(double passes, int lists, const char* label, bool host_waits = false) {
    const int launches = multi_tensor_launches(elements_, lists, spec_.cuda_major);
    const double tensors = static_cast<double>(elements_.size());
    const double host = host_.c_p + tensors * host_.foreach_tensor + (launches - 1) * host_.launch_call;
    kernels_.push_back({kernel(passes * total_bytes_, label), host, launches, host_waits});
  }
  void per_parameter(double passes, const char* label) {
    for (const std::int64_t count : elements_)
      kernels_.push_back(
          {kernel(passes * static_cast<double>(count * bytes_of(DType::Fp32)), label), host_.c_p, 1, false});
  }
  // Kernels on scalars or one value per parameter.
  void small(const char* label, bool host_waits = false) {
    kernels_.push_back({kernel(0, label), host_.c_p, 1, host_waits});
  }
  void step(const std::vector<StepOp>& ops) {
    const std::size_t first = kernels_.size();
    for (const StepOp& op : ops) {
      if (spec_.implementation == OptimizerImplementation::ForLoop)
        per_parameter(op.passes, op.label);
      else
        multi_tensor(op.passes, op.lists, op.label);
    }
    if (kernels_.size() > first)
      kernels_[first].host_s += host_.opt_step + static_cast<double>(elements_.size()) * host_.opt_tensor;
  }
  bool empty() const { return elements_.empty(); }
  std::vector<OptimizerKernel> take() { return std::move(kernels_); }

 private:
  KernelCost kernel(double bytes, const char* label) const {
    return pricing_.kernel(pricing_.memory_seconds(bytes, pricing_.constants().em_optimizer), HostClass::None, label);
  }

  const OptimizerSpec& spec_;
  const HostCosts& host_;
  Pricing pricing_;
  std::vector<std::int64_t> elements_;
  double total_bytes_ = 0;
  std::vector<OptimizerKernel> kernels_;
};

}  // namespace

int multi_tensor_launches(const std::vector<std::int64_t>& elements, int lists, int cuda_major) {
  constexpr std::int64_t kChunk = 65536;
  constexpr std::array<int, 5> kTensors = {110, 64, 48, 36, 30};
  constexpr int kChunks = 320;
  LOCKSTEP_ENSURE(lists >= 1 && lists <= 5, "tensor lists {}", lists);
  const int larger = cuda_major >= 13 ? 7 : 1;
  const int tensor_slots = kTensors[static_cast<std::size_t>(lists - 1)] * larger;
  const std::int64_t chunk_slots = kChunks * larger;
  int launches = 0, tensors = 0;
  std::int64_t used = 0;  // chunk slots of the open launch
  for (const std::int64_t count : elements) {
    const std::int64_t chunks = (count + kChunk - 1) / kChunk;
    ++tensors;
    used += chunks;
    const std::int64_t full = used / chunk_slots;
    if (full > 0) {
      launches += static_cast<int>(full);
      used -= full * chunk_slots;
      tensors = used > 0 ? 1 : 0;  // the cut tensor takes a slot of the next launch
    }
    if (tensors == tensor_slots) {
      ++launches;
      tensors = 0;
      used = 0;
    }
  }
  return launches + (tensors > 0 ? 1 : 0);
}

double optimizer_passes(const OptimizerSpec& spec) {
  double passes = 0;
  for (const StepOp& op : step_ops(spec)) passes += op.passes;
  return passes;
}

std::int64_t optimizer_state_bytes(const Model& model, OptimizerKind kind) {
  std::int64_t copies = 0;
  if (kind == OptimizerKind::SgdMomentum) copies = 1;
  if (kind == OptimizerKind::Adam || kind == OptimizerKind::AdamW) copies = 2;
  std::int64_t bytes = 0;
  for (const Parameter& parameter : model.parameters)
    if (parameter.used) bytes += copies * parameter.bytes();
  return bytes;
}

std::vector<OptimizerKernel> optimizer_kernels(const Model& model, const OptimizerSpec& spec,
                                               const ComputeContext& context, const HostCosts& host) {
  Stepper stepper(model, spec, context, host);
  if (stepper.empty()) return {};
  if (spec.gradient_scaler) {
    stepper.multi_tensor(2, 1, "unscale");
    stepper.small("found_inf", true);
  }
  if (spec.clip_grad_norm) {
    stepper.multi_tensor(1, 1, "grad_norm");
    stepper.small("total_norm");
    stepper.small("clip_factor");
    stepper.multi_tensor(2, 1, "clip_grad");
  }
  stepper.step(step_ops(spec));
  return stepper.take();
}

std::vector<OptimizerKernel> zero_grad_kernels(const Model& model, const ComputeContext& context,
                                               const HostCosts& host) {
  const OptimizerSpec spec;
  Stepper stepper(model, spec, context, host);
  stepper.per_parameter(1, "zero_grad");
  return stepper.take();
}

OptimizerKernel accumulate_kernel(const Parameter& parameter, const ComputeContext& context, const HostCosts& host) {
  const Pricing pricing(context);
  const double seconds =
      pricing.memory_seconds(3 * static_cast<double>(parameter.bytes()), pricing.constants().em_optimizer);
  return {pricing.kernel(seconds, HostClass::None, "accumulate_grad"), host.c_p, 1, false};
}

}  // namespace lockstep
