#include "simulator/costs/host_cost.h"

#include <algorithm>

#include "simulator/base/ensure.h"
#include "simulator/costs/constants.h"

namespace lockstep {

HostCosts host_costs(const HostCosts& at_factor_one, double host_factor) {
  LOCKSTEP_ENSURE(host_factor > 0, "host factor {}", host_factor);
  HostCosts costs = at_factor_one;
#define LOCKSTEP_CONSTANT(name, ...)
#define LOCKSTEP_HOST_TIME(name, ...) costs.name *= host_factor;
#include "simulator/costs/host_constants.inc"
#undef LOCKSTEP_HOST_TIME
#undef LOCKSTEP_CONSTANT
  costs.factor *= host_factor;
  return costs;
}

HostCosts host_costs(double host_factor) {
  return host_costs(default_constants().host, host_factor);
}

double host_seconds(HostClass host, const HostCosts& costs, bool with_gradients) {
  switch (host) {
    case HostClass::ForwardOp:
      return with_gradients ? costs.c_f + costs.c_ag : costs.c_f;
    case HostClass::BackwardConv:
      return costs.c_bh;
    case HostClass::BackwardOther:
      return costs.c_b;
    case HostClass::None:
      return 0;
  }
  return 0;
}

double forward_lock_factor(int replicas, const HostCosts& costs) {
  return replicas <= 1 ? 1.0 : std::max(1 + costs.kappa, replicas * costs.phi);
}

double backward_thread_factor(int replicas, const HostCosts& costs) {
  return 1 + costs.beta * (replicas - 1);
}

}  // namespace lockstep
