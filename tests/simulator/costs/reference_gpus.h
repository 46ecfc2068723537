// GPUs by their data sheets (dense, boost clock), as docs/cost-models.md lists them. The presets in topologies/gpus
// have the same figures; these tests do not depend on reading files.
#pragma once

#include "topologies/topology.h"

namespace lockstep::reference {

inline GpuType make_gpu(const char* name, double capability, int sm_count, double fp32, double tf32, double half,
                        double memory_gb_s) {
  GpuType gpu;
  gpu.name = name;
  gpu.source = "vendor data sheet";
  gpu.compute_capability = capability;
  gpu.sm_count = sm_count;
  gpu.peak_fp32 = fp32 * 1e12;
  gpu.peak_tf32 = tf32 * 1e12;
  gpu.peak_fp16 = half * 1e12;
  gpu.peak_bf16 = capability >= 8 ? half * 1e12 : 0;
  gpu.memory_bandwidth = memory_gb_s * 1e9;
  return gpu;
}

inline GpuType v100_pcie() {
  return make_gpu("v100-pcie", 7.0, 80, 14.1, 0, 113, 898);
}
inline GpuType v100_sxm2() {
  return make_gpu("v100-sxm2-16gb", 7.0, 80, 15.7, 0, 125, 898);
}
inline GpuType a100_40gb() {
  return make_gpu("a100-sxm4-40gb", 8.0, 108, 19.5, 156, 312, 1555);
}
inline GpuType a100_80gb_pcie() {
  return make_gpu("a100-pcie-80gb", 8.0, 108, 19.5, 156, 312, 1935);
}
inline GpuType a100_80gb_sxm4() {
  return make_gpu("a100-sxm4-80gb", 8.0, 108, 19.5, 156, 312, 2039);
}
inline GpuType h100_sxm() {
  return make_gpu("h100-sxm5", 9.0, 132, 66.9, 494.7, 989.4, 3352);
}

}  // namespace lockstep::reference
