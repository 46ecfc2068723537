// Random step graphs for property tests: kernels, buckets, copies that share links, meetings of hosts and streams, in
// warm-up and steady programs, one or two classes of ranks.
#pragma once

#include "simulator/steps/step_graph.h"

namespace lockstep::testing {

struct RandomGraphOptions {
  int max_ranks = 5;
  bool copies = true;  // own, contended copies
  bool host_meetings = true;
  bool long_programs = false;  // more launches than the queue holds
  bool loader = false;         // processes that take batches, too fast and too slow loaders
};

StepGraph random_graph(std::uint64_t seed, const RandomGraphOptions& options);

// Every class explicit (each rank by itself) instead of folded.
StepGraph unfolded(const StepGraph& graph);

}  // namespace lockstep::testing
