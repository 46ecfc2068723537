// Costs of a DistributedDataParallel step beside kernels, host ops and collectives: copies into and out of buckets, the
// launch of a bucket, the slow-down while a collective runs, the wait for the slowest rank.
// Form and constants: docs/cost-models.md, section "ddp". Seconds, bytes, bytes per second.
#pragma once

#include <cstdint>

namespace lockstep {

struct DdpCosts {
#define LOCKSTEP_CONSTANT(name, unit, value, low, high, basis, source, meaning) double name = value;
#include "simulator/costs/ddp_constants.inc"
#undef LOCKSTEP_CONSTANT
};

// GPU time of copying `tensors` gradients of `bytes` in all into (or out of) their bucket: one kernel per tensor.
double bucket_copy_seconds(std::int64_t bytes, int tensors, double memory_bandwidth, const DdpCosts& costs);

// Expected maximum of n independent standard normal values; 0 for n = 1.
double expected_maximum_of_normals(int n);

// Expected wait of the mean rank for the slowest of n equal ranks: sigma x single-GPU step x expected maximum.
double straggler_wait_seconds(double single_step_seconds, int ranks, const DdpCosts& costs);

}  // namespace lockstep
