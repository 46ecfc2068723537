#include "simulator/costs/pricing.h"

#include "simulator/base/ensure.h"

namespace lockstep {
namespace {

const GpuType& checked_gpu(const ComputeContext& context) {
  LOCKSTEP_ENSURE(context.gpu != nullptr, "batch {}", context.batch);
  const GpuType& gpu = *context.gpu;
  LOCKSTEP_ENSURE(gpu.memory_bandwidth > 0 && gpu.peak_fp32 > 0 && gpu.sm_count > 0, "GPU {}: {} byte/s, {} FLOP/s",
                  gpu.name, gpu.memory_bandwidth, gpu.peak_fp32);
  LOCKSTEP_ENSURE(context.batch >= 1, "batch {}", context.batch);
  return gpu;
}

bool is_hopper_or_later(const GpuType& gpu) {
  return gpu.compute_capability >= 9;
}
bool is_before_ampere(const GpuType& gpu) {
  return gpu.vendor == "nvidia" && gpu.compute_capability < 8;
}

}  // namespace

Pricing::Pricing(const ComputeContext& context)
    : gpu_(checked_gpu(context)),
      constants_(context.constants != nullptr ? *context.constants : default_constants().op),
      bf16_(context.bf16),
      channels_last_(context.channels_last),
      kernel_factor_(context.kernel_factor) {}

double Pricing::peak(Regime regime) const {
  switch (regime) {
    case Regime::Simt:
      return gpu_.peak_fp32;
    case Regime::Tf32:
      return gpu_.peak_tf32;
    case Regime::Half:
      return bf16_ ? gpu_.peak_bf16 : gpu_.peak_fp16;
  }
  return 0;
}

double Pricing::gemm_efficiency(Regime regime) const {
  const OpConstants& c = constants_;
  if (regime == Regime::Simt) return is_before_ampere(gpu_) ? c.e_gemm_simt_v100 : c.e_gemm_simt_a100_and_later;
  if (is_hopper_or_later(gpu_)) return c.e_gemm_tf32_and_half_h100_h200;
  return regime == Regime::Tf32 ? c.e_gemm_tf32_a100 : c.e_gemm_half_a100_and_v100;
}

double Pricing::pointwise_efficiency() const {
  return is_hopper_or_later(gpu_) ? constants_.em_pointwise_h100 : constants_.em_pointwise_v100_a100;
}

KernelCost Pricing::kernel(double seconds, HostClass host, const char* label) const {
  return {seconds * kernel_factor_ + constants_.launch, host, label};
}

}  // namespace lockstep
