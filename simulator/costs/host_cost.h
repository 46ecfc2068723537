// Host time of the training process: what the CPU thread that drives a GPU pays per op, per parameter, per iteration.
// Form and constants: docs/cost-models.md, section "host"; the fit is that of torch.nn.DataParallel on a DGX A100.
// All values in seconds unless host_constants.inc gives another unit.
#pragma once

#include "simulator/costs/op_cost.h"

namespace lockstep {

// Defaults are those of host factor 1.
struct HostCosts {
#define LOCKSTEP_CONSTANT(name, unit, value, low, high, basis, source, meaning) double name = value;
#define LOCKSTEP_HOST_TIME(name, unit, value, low, high, basis, source, meaning) double name = value;
#include "simulator/costs/host_constants.inc"
#undef LOCKSTEP_HOST_TIME
#undef LOCKSTEP_CONSTANT
  double factor = 1;  // host factor that the times already contain
};

// The constants times the host factor u of a machine; shares (phi, kappa, beta) and the GPU's launch latency stay.
HostCosts host_costs(const HostCosts& at_factor_one, double host_factor);
HostCosts host_costs(double host_factor);

// Host time of issuing one kernel by one thread alone: c_f + c_ag, c_f (without gradients), c_bh, c_b, or 0.
double host_seconds(HostClass host, const HostCosts& costs, bool with_gradients = true);

// Factor on the forward host time of an op that N replicas issue under one interpreter lock: max(1 + kappa, N phi), all
// N together; 1 for one replica.
double forward_lock_factor(int replicas, const HostCosts& costs);
// Factor on the backward host time with one thread per GPU: 1 + beta (N - 1).
double backward_thread_factor(int replicas, const HostCosts& costs);

}  // namespace lockstep
