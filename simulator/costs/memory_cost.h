// Estimated device memory of one GPU: what is allocated at the fullest moment of a step. Fidelity "estimated": saved
// activations follow from the model, allocator rounding, cuDNN workspaces and NCCL's own buffers are left out.
#pragma once

#include <cstdint>

#include "models/model.h"
#include "scenarios/scenario.h"
#include "simulator/costs/op_cost.h"

namespace lockstep {

struct MemoryCosts {
#define LOCKSTEP_CONSTANT(name, unit, value, low, high, basis, source, meaning) double name = value;
#include "simulator/costs/memory_constants.inc"
#undef LOCKSTEP_CONSTANT
};

enum class MemoryRole { Single, Ddp, DpFirst, DpOther };  // DpFirst: GPU 0 of DataParallel

struct MemoryQuestion {
  MemoryRole role = MemoryRole::Single;
  OptimizerKind optimizer = OptimizerKind::SgdMomentum;
  bool foreach_optimizer = true;  // multi-tensor ops keep temporaries of the parameters' size
  bool gradient_as_bucket_view = false;
  int replicas = 1;  // DataParallel: GPUs
  DType image_dtype = DType::Fp32;
};

// Bytes. `total` is what the process holds on the device; `allocated` what torch.cuda.max_memory_allocated would say.
struct MemoryEstimate {
  std::int64_t parameters = 0, buffers = 0, gradients = 0, optimizer_state = 0;
  std::int64_t buckets = 0;      // DDP: flat gradients, 0 in view mode (then `gradients` are the buckets)
  std::int64_t input = 0;        // the batch; on GPU 0 of DataParallel that of all GPUs
  std::int64_t activations = 0;  // kept for backward, cast copies of weights included
  std::int64_t output = 0;       // the model's output and its gradient; gathered on GPU 0
  std::int64_t temporaries = 0;  // flat groups of DataParallel; the optimizer's where they exceed what backward held
  std::int64_t context = 0;
  std::int64_t allocated() const {
    return parameters + buffers + gradients + optimizer_state + buckets + input + activations + output + temporaries;
  }
  std::int64_t total() const { return allocated() + context; }
};

MemoryEstimate memory_estimate(const Model& model, const ComputeContext& context, const MemoryQuestion& question,
                               const MemoryCosts& costs);

// Bytes that the ops keep for backward for the whole batch, in the types that the run has them.
std::int64_t kept_activation_bytes(const Model& model, const ComputeContext& context);

}  // namespace lockstep
