// Time of NCCL's ring collectives (protocol Simple) on a ring that topologies/routes.h describes: a fixed part (alpha),
// then bytes over the ring's slowest links. docs/cost-models.md, section "collectives".
//
//   all-reduce of S bytes on n ranks, ppn of them per node:
//     t = t_p + H (L net + lambda) + (2(n-1) + r) (h_p + S / (n busBw e_p))
//     H = 2(n-1)/ppn border crossings on several nodes, else 0; r only on one node (the last receive-and-copy)
//   broadcast, reduce: t = t_p + (N-1) (L net + lambda) + (n-1) h_p + S / (busBw e_p)
//
// Seconds, bytes, bytes per second. The choice among algorithms and protocols comes with a later version: nothing above
// this folder knows which one a plan is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/steps/step_graph.h"
#include "topologies/routes.h"

namespace lockstep {

enum class CollectiveOperation { AllReduce, Broadcast, Reduce };

// Constants of one path class; origin and range in ring.cpp.
struct RingConstants {
  PathClass path;
  double fixed_s;        // t_p
  double step_s;         // h_p
  double efficiency;     // e_p: share of NCCL's bandwidth that is reached
  double tail_steps;     // r, one node only
  double border_factor;  // L
  double border_s;       // net: NCCL's network hop
  std::string source;
};
const RingConstants& ring_constants(PathClass path);

// What one collective costs and takes.
struct CollectivePlan {
  std::string algorithm = "ring", protocol = "simple";
  int channels = 0;             // thread blocks = SMs taken
  double alpha_s = 0;           // all of the fixed part
  std::int64_t flow_bytes = 0;  // over the ring's links, rounded to whole bytes
  double rate = 0;              // bytes/s of those links
  int ring_steps = 0;
  double ring_fixed_s = 0, ring_step_s = 0, ring_tail = 0;  // alpha_s = fixed + (steps + tail) step
  double seconds() const { return alpha_s + (rate > 0 ? static_cast<double>(flow_bytes) / rate : 0); }
};

// 0 bytes still cost alpha; one rank costs nothing. `launching_gpus` > 0: one host thread launches the call on so many
// GPUs (DataParallel), which has a floor of its own.
CollectivePlan plan_collective(const Ring& ring, CollectiveOperation operation, std::int64_t bytes,
                               int launching_gpus = 0);

// Bytes per second that a long collective moves over each link of the ring: e_p busBw.
double ring_rate(const Ring& ring);

// Writes a plan into a meeting; the ring's link is added to the graph.
void put_plan(const CollectivePlan& plan, const Ring& ring, Meeting& meeting, StepGraph& graph);

}  // namespace lockstep
