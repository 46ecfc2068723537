#include "simulator/steps/jitter.h"

#include <cmath>
#include <numbers>

namespace lockstep {

namespace {

// SplitMix64's finaliser: a bijection that spreads every input bit over the output (Steele, Lea, Flood 2014).
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// In (0, 1), never an end of it.
double uniform(std::uint64_t bits) {
  return (static_cast<double>(bits >> 11) + 0.5) * 0x1.0p-53;
}

}  // namespace

JitterSource jitter_of(const Scenario& scenario) {
  JitterSource jitter;
  jitter.seed = scenario.seed;
  if (!scenario.noise.jitter) return jitter;
  // sigma of the scenario is the relative standard deviation; the lognormal's own follows from it.
  jitter.sigma = std::sqrt(std::log1p(scenario.noise.jitter->sigma * scenario.noise.jitter->sigma));
  jitter.per_rank = scenario.noise.jitter->per == JitterPer::Rank;
  return jitter;
}

double JitterSource::factor(int rank, int step) const {
  if (sigma == 0) return 1;
  const auto r = static_cast<std::uint64_t>(rank);
  const auto s = per_rank ? 0U : static_cast<std::uint64_t>(step) + 1U;
  const std::uint64_t key = mix(seed ^ mix(r * 0x100000001b3ULL + s));
  const double radius = std::sqrt(-2 * std::log(uniform(mix(key ^ 1U))));
  const double normal = radius * std::cos(2 * std::numbers::pi * uniform(mix(key ^ 2U)));  // Box-Muller
  return std::exp(sigma * normal - sigma * sigma / 2);
}

}  // namespace lockstep
