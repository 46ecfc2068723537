#include "topologies/topology.h"

#include <algorithm>

#include "simulator/base/ensure.h"

namespace lockstep {

const char* name_of(NvLinkKind kind) {
  switch (kind) {
    case NvLinkKind::None:
      return "none";
    case NvLinkKind::NvSwitch:
      return "nvswitch";
    case NvLinkKind::Mesh:
      return "mesh";
    case NvLinkKind::Bridges:
      return "bridges";
  }
  return "?";
}

const char* name_of(FabricKind kind) {
  switch (kind) {
    case FabricKind::InfiniBand:
      return "infiniband";
    case FabricKind::Efa:
      return "efa";
    case FabricKind::Tcp:
      return "tcp";
  }
  return "?";
}

const Node& Topology::node_type(int index) const {
  if (nodes.empty()) return node;
  LOCKSTEP_ENSURE(index >= 0 && index < static_cast<int>(nodes.size()), "node {} of {}", index, nodes.size());
  return nodes[static_cast<std::size_t>(index)];
}

int Topology::gpus_on(int index) const {
  return all_gpus ? node_type(index).gpu_count : gpus_per_node;
}

int Topology::node_of(int rank) const {
  LOCKSTEP_ENSURE(rank >= 0 && gpus_per_node >= 1, "rank {}, {} GPUs per node", rank, gpus_per_node);
  if (nodes.empty() || !all_gpus) return rank / gpus_per_node;
  int index = 0;
  for (int before = gpus_on(0); before <= rank; before += gpus_on(index)) ++index;
  return index;
}

int Topology::local_rank(int rank) const {
  if (nodes.empty() || !all_gpus) return rank % gpus_per_node;
  for (int index = 0; rank >= gpus_on(index); ++index) rank -= gpus_on(index);
  return rank;
}

int Topology::gpu_in_node(int rank) const {
  const int local = local_rank(rank);
  return gpu_index.empty() ? local : gpu_index[static_cast<std::size_t>(local)];
}

int Topology::nodes_for(int gpus) const {
  return gpus < 1 ? 0 : node_of(gpus - 1) + 1;
}

std::optional<int> Topology::most_gpus() const {
  if (nodes.empty()) return fabric ? std::nullopt : std::optional(gpus_per_node);
  int all = 0;
  for (int index = 0; index < static_cast<int>(nodes.size()); ++index) all += gpus_on(index);
  return all;
}

std::vector<int> Topology::used_gpus(int index, int ranks) const {
  LOCKSTEP_ENSURE(ranks >= 0 && ranks <= gpus_on(index), "{} ranks on node {} of {}", ranks, index, gpus_on(index));
  std::vector<int> used;
  for (int local = 0; local < ranks; ++local)
    used.push_back(gpu_index.empty() ? local : gpu_index[static_cast<std::size_t>(local)]);
  return used;
}

}  // namespace lockstep
