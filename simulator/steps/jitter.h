// Noise of kernels, drawn the same way by every driver of a step graph.
#pragma once

#include <cstdint>

#include "scenarios/scenario.h"

namespace lockstep {

// Jitter of one rank's kernels: 1 without noise. Lognormal with mean 1, counter-based: the same bits for (seed, rank,
// step) in whatever order they are asked for.
struct JitterSource {
  double sigma = 0;       // of ln(factor)
  bool per_rank = false;  // one factor for all steps
  std::uint64_t seed = 1;
  double factor(int rank, int step) const;
};

// Of a scenario; without noise.jitter none.
JitterSource jitter_of(const Scenario& scenario);

}  // namespace lockstep
