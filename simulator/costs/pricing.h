// What the op classes share: peaks and efficiencies of one GPU, the making of a kernel. Internal to simulator/costs.
#pragma once

#include "simulator/costs/constants.h"
#include "simulator/costs/op_cost.h"

namespace lockstep {

class Pricing {
 public:
  explicit Pricing(const ComputeContext& context);

  const OpConstants& constants() const { return constants_; }
  const GpuType& gpu() const { return gpu_; }
  bool channels_last() const { return channels_last_; }

  // FLOP/s of the data sheet; regime_of never gives a regime that the GPU lacks.
  double peak(Regime regime) const;
  // Peak FLOP/s over DRAM byte/s.
  double rho(Regime regime) const { return peak(regime) / gpu_.memory_bandwidth; }
  // Fraction of the peak that a matrix product with perfect tiles reaches.
  double gemm_efficiency(Regime regime) const;
  double pointwise_efficiency() const;

  double memory_seconds(double bytes, double efficiency) const { return bytes / (efficiency * gpu_.memory_bandwidth); }
  double pointwise_seconds(double bytes) const { return memory_seconds(bytes, pointwise_efficiency()); }

  // A kernel of `seconds` of work: times the kernel factor, plus its own launch time.
  KernelCost kernel(double seconds, HostClass host, const char* label) const;

 private:
  const GpuType& gpu_;
  const OpConstants& constants_;
  bool bf16_, channels_last_;
  double kernel_factor_;
};

// max(compute, memory) of a product; see gemm_seconds in op_cost.h.
double gemm_seconds(const GemmShape& shape, Regime regime, int element_bytes, const Pricing& pricing);
// Seconds of the arithmetic of a product alone, at `efficiency` of the peak times the tile factor q.
double gemm_compute_seconds(const GemmShape& shape, Regime regime, double efficiency, const Pricing& pricing);
// q: useful over issued work of the best tile and split of K, in (0, 1].
double gemm_tile_factor(const GemmShape& shape, Regime regime, const Pricing& pricing);

}  // namespace lockstep
