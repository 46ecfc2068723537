// Time of the kernels of one op on one GPU, forward and backward, without calibration (docs/cost-models.md, section
// "ops"). Constants come from costs/op_constants.inc, made from tests/data/op_efficiency_fit.csv with its source lines.
#pragma once

#include <vector>

#include "models/model.h"
#include "topologies/topology.h"

namespace lockstep {

struct OpConstants;  // simulator/costs/constants.h

// Which arithmetic a tensor op runs on; decides the peak.
enum class Regime { Simt, Tf32, Half };

// Everything about the run that an op's time depends on.
struct ComputeContext {
  const GpuType* gpu = nullptr;
  std::int64_t batch = 1;  // micro-batch of one GPU
  bool autocast = false;   // amp-fp16, amp-bf16
  bool bf16 = false;       // the half type is bf16
  bool tf32_conv = true, tf32_matmul = false;
  double kernel_factor = 1;                // g of calibrate.single_gpu; scales kernel time, never a kernel's own 4 us
  bool channels_last = false;              // memory format of images; the constants of this layout are priors
  const OpConstants* constants = nullptr;  // nullptr: default_constants().op
};

// How the host pays for issuing a kernel (simulator/costs/host_cost.h turns it into seconds).
enum class HostClass { ForwardOp, BackwardConv, BackwardOther, None };

struct KernelCost {
  double seconds = 0;                // on the GPU, the kernel's own 4 us included
  HostClass host = HostClass::None;  // None: a further kernel of the same op, launched by the same host work
  const char* label = "";            // static string: conv, conv_dgrad, conv_wgrad, gemm, batch_norm, bn_counter, ...
};

struct OpCost {
  std::vector<KernelCost> forward;
  std::vector<KernelCost> backward;  // gradient-accumulation adds of the op's own output come first
};

// Cost of ops[id]. The loss (CrossEntropy) has kernels whose host class is None: its host time is t_loss of the host
// model, never counted as ops.
OpCost op_cost(const Model& model, OpId id, const ComputeContext& context);

// Costs of all ops, index = OpId: the same values as op_cost for each, computed together.
std::vector<OpCost> op_costs(const Model& model, const ComputeContext& context);

// The regime of an op's matrix work. Half needs a half type (autocast or a half output) and a GPU with that path,
// Tf32 a GPU with TF32 and its switch; everything else, also a half type without a path, runs on the CUDA cores.
Regime regime_of(const Op& op, const ComputeContext& context);

// Type of each op's output as the run has it, index = OpId (rules: simulator/costs/autocast.cpp).
std::vector<DType> output_dtypes(const Model& model, const ComputeContext& context);

// GPU time of all kernels of a forward or backward pass one after the other, with their own 4 us.
double forward_seconds(const std::vector<OpCost>& costs);
double backward_seconds(const std::vector<OpCost>& costs);

// One matrix product priced as in docs/cost-models.md, section "gemm", without the 4 us: max(compute, memory).
double gemm_seconds(const GemmShape& shape, Regime regime, int element_bytes, const ComputeContext& context);

}  // namespace lockstep
