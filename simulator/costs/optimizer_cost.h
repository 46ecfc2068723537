// Kernels and host time of what follows the backward pass: gradient scaling, clipping, the optimizer's step; and of
// zeroing gradients before it. Passes over the parameters: docs/cost-models.md, section "optimizer".
// Only parameters with a gradient (Parameter::used) take part.
#pragma once

#include <vector>

#include "models/model.h"
#include "scenarios/scenario.h"
#include "simulator/costs/host_cost.h"
#include "simulator/costs/op_cost.h"

namespace lockstep {

struct OptimizerSpec {
  OptimizerKind kind = OptimizerKind::SgdMomentum;
  OptimizerImplementation implementation = OptimizerImplementation::Foreach;
  bool weight_decay = true;  // SGD, Adam: added to the gradient (3 passes); AdamW: scales the parameter
  bool clip_grad_norm = false;
  bool gradient_scaler = false;  // fp16 autocast: unscale, and the host reads whether a gradient overflowed
  int cuda_major = 13;           // 13 and later: 32 KiB of launch arguments, 7 times the tensors per launch
};

struct OptimizerKernel {
  KernelCost cost;          // host class None: host_s says it
  double host_s = 0;        // host time to issue it, host factor contained
  int launches = 1;         // of a multi-tensor op: it is launched in pieces
  bool host_waits = false;  // the host reads a result: it waits for the stream here
};

// In host order: unscale, clip, step. Empty for OptimizerKind::None without scaler and clipping.
std::vector<OptimizerKernel> optimizer_kernels(const Model& model, const OptimizerSpec& spec,
                                               const ComputeContext& context, const HostCosts& host);

// zero_grad with set_to_none = false: one small kernel per parameter (c_p of host time each).
std::vector<OptimizerKernel> zero_grad_kernels(const Model& model, const ComputeContext& context,
                                               const HostCosts& host);
// Adding one parameter's gradient to a kept .grad: 3 passes. Absent when gradients were set to none.
OptimizerKernel accumulate_kernel(const Parameter& parameter, const ComputeContext& context, const HostCosts& host);

// Passes over the fp32 parameters of one step, clipping and scaling left out: 11 for foreach SGD with momentum and
// weight decay, 19 Adam, 20 AdamW, 5 and 7 fused.
double optimizer_passes(const OptimizerSpec& spec);

// Bytes of optimizer state: 0, 1 or 2 copies of the parameters with a gradient.
std::int64_t optimizer_state_bytes(const Model& model, OptimizerKind kind);

// Launches of one multi-tensor op on tensors of these element counts that walks `lists` tensor lists (1 to 5).
// Chunks of 65536 elements; a launch ends when its tensor or its chunk slots are full: 110/64/48/36/30 tensors and 320
// chunks in 4 KiB of arguments, 770/448/336/252/210 and 2240 from CUDA 13
// (aten/src/ATen/native/cuda/MultiTensorApply.cuh).
int multi_tensor_launches(const std::vector<std::int64_t>& elements, int lists, int cuda_major);

}  // namespace lockstep
