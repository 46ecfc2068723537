// What a step moves over each link of a machine: the link uses of a run, which name a ring or the copy of one of many
// ranks, spread over the links that carry them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "simulator/result/result.h"
#include "topologies/topology.h"

namespace lockstep::gui {

struct LinkLoad {
  std::int64_t bytes = 0;                    // per step and direction
  double busy = 0;                           // share of the step in which something crosses the link
  bool slowest = false;                      // it limits the ring of the collectives
  bool collectives = false, copies = false;  // what crosses it
};

// Nodes that do the same: one type, the same GPUs in use.
struct NodeKind {
  int first = 0;  // the node that stands for them
  std::vector<int> nodes;
  std::vector<int> used;  // GPUs, by index in the node
};
std::vector<NodeKind> node_kinds(const Topology& topology, int gpus);

// By the ids of topologies/routes.h ("node0.gpu3.pcie"), for the first node of each kind. Links that nothing crosses
// are absent. A mesh's NVLinks have one entry for both directions, "node0.gpu1.nvlink4" with the smaller index first.
std::map<std::string, LinkLoad> link_loads(const Topology& topology, const Run& run);

// The ring's limit as the result names it: "nic" and its bytes per second; class empty where there is no ring.
struct RingLimit {
  std::string link_class;
  double rate = 0, busy = 0;
  std::int64_t bytes = 0;
};
RingLimit ring_limit(const Run& run);

}  // namespace lockstep::gui
