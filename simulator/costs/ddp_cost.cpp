#include "simulator/costs/ddp_cost.h"

#include <cmath>
#include <numbers>

#include "simulator/base/ensure.h"

namespace lockstep {

double bucket_copy_seconds(std::int64_t bytes, int tensors, double memory_bandwidth, const DdpCosts& costs) {
  const double wire = 2 * static_cast<double>(bytes) / (costs.copy_efficiency * memory_bandwidth);
  return wire + tensors * costs.copy_per_tensor;
}

// E = integral of x n f(x) F(x)^(n-1) with the normal density f and distribution F. The integrand is analytic and falls
// off like a Gaussian, so equal steps converge faster than any power of the step; 1/16 is good to 1e-11 up to a million
// ranks.
double expected_maximum_of_normals(int n) {
  LOCKSTEP_ENSURE(n >= 1, "ranks {}", n);
  if (n == 1) return 0;
  constexpr double kStep = 1.0 / 16, kEnd = 10;
  const double density_at_0 = std::numbers::inv_sqrtpi / std::numbers::sqrt2;
  double sum = 0;
  for (double x = -kEnd; x <= kEnd; x += kStep) {
    const double upper_tail = std::erfc(x / std::numbers::sqrt2) / 2;
    if (upper_tail >= 1) continue;
    sum += x * density_at_0 * std::exp(-x * x / 2 + (n - 1) * std::log1p(-upper_tail));
  }
  return n * sum * kStep;
}

double straggler_wait_seconds(double single_step_seconds, int ranks, const DdpCosts& costs) {
  return costs.sigma * single_step_seconds * expected_maximum_of_normals(ranks);
}

}  // namespace lockstep
