// What would make one run faster, found by asking again with one setting changed: text for --set, and the step it
// gives.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "simulator/answers/points.h"
#include "simulator/result/result.h"

namespace lockstep {

struct LeverCandidate {
  std::string set;                        // argument of --set with an absolute value
  Strategy strategy = Strategy::Single;   // of the run to compare with
  std::function<void(Scenario&)> change;  // what `set` does; empty for topology.override
  std::int64_t bucket_cap_bytes = 0;      // ddp.bucket_cap
  double links_busy_s = 0;                // topology.override: a faster class cannot save more than this
  bool same_single = false;               // does not change the step of a single GPU
};

// The changes worth trying on this run:
//   topology.override.<class>.rate  twice the rate, for each class of links that carries bytes of the run, and for the
//                                   class that limits its ring
//   ddp.bucket_cap                  1, 5, 10, 25, 50, 100 MiB (ddp)
//   input.memory=pinned             when the batch is copied from pageable memory
//   batch.per_gpu, batch.global     twice (not with calibrate.single_gpu, which holds for one batch)
//   strategy=ddp                    (dp)
std::vector<LeverCandidate> lever_candidates(const Run& run, const Inputs& inputs);

// What the bucket sizes tried do to the throughput of a run under DDP: ratio - 1, simulated where worth it, else
// estimated.
struct BucketCapEffect {
  std::int64_t smallest_bytes = 0, largest_bytes = 0;
  double lowest_gain = 0, highest_gain = 0;
};

struct FoundLevers {
  std::vector<Lever> levers;  // best first
  std::optional<BucketCapEffect> bucket_cap;
};

// Candidates that bring at least 1 % throughput and fit the GPU's memory where the run did, best first. A candidate
// whose estimate (without contention) stays below half of that is not simulated; neither is a class of links that is
// busy for less than 1 % of the step. What is returned was read through --set and predicted by `method`.
Expected<FoundLevers> find_levers(const Run& run, const Inputs& inputs, Method method, const PointSource& source);

// What a --set of find_levers changes, where its key does not say: "the memory and the link between sockets"; else
// empty.
std::string lever_note(const std::string& set);

}  // namespace lockstep
