// How many rings through all GPUs can use the NVLinks of a mesh at once. A ring is a directed Hamiltonian cycle; every
// NVLink carries one ring in each direction. Exact for the machines that exist (up to 8 GPUs); the search is bounded,
// and a bound that cuts it gives a lower count, never one too high.
#pragma once

#include <vector>

#include "topologies/topology.h"

namespace lockstep {

// One ring: GPUs in order, starting at 0. `links` are the directed NVLink hops, more than gpus.size() where a hop goes
// through another GPU.
struct MeshRing {
  std::vector<int> gpus;
  std::vector<std::pair<int, int>> links;
};

struct MeshRings {
  std::vector<MeshRing> rings;
  bool through_gpus = false;  // some hop passes through a GPU between (no ring of direct links exists)
};

// The most rings over GPUs 0..gpus-1 (2 <= gpus <= 8) that `pairs` carry together. Empty when there is none.
// Hops through another GPU are tried only when direct links give no ring at all: NCCL would allow them earlier, but six
// GPUs of a cube mesh, where they could make a third ring, measure two (VIA-Research/vTrain @f8dda84: 45.7 GB/s).
MeshRings most_rings(const std::vector<NvLinkPair>& pairs, int gpus);

}  // namespace lockstep
