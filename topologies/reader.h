// From names and files to a Topology: a node type, a fabric between nodes, the GPUs used on each, overrides.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "simulator/base/error.h"
#include "simulator/base/quantity.h"
#include "topologies/presets.h"
#include "topologies/topology.h"

namespace lockstep {

struct TopologyRequest {
  std::string node;                           // preset or path; empty where `nodes` is given
  std::vector<std::string> nodes;             // nodes that differ, in order: all there are; empty: any number of `node`
  std::string fabric;                         // preset, path, "own", or empty
  std::optional<int> gpus_per_node;           // unset: all of each node
  std::optional<std::vector<int>> gpu_index;  // the GPUs used on each node, in rank order; unset: the first ones
  std::map<std::string, double> overrides;    // SI, e.g. "nic.rate" -> bytes/s
  int max_gpus = 1;                           // the most GPUs that any point of the scenario wants
  int cores_per_rank = 1;                     // of a machine without GPUs: its ranks are so many cores each
  std::string folder;                         // where relative paths start (the scenario's folder); may be empty

  bool operator==(const TopologyRequest&) const = default;
};

// All that is wrong, at once. Errors in a node, GPU or fabric file carry that file's line and column; errors in the
// request have no place and these keys: topology.node, topology.nodes, topology.fabric, topology.gpus_per_node,
// topology.gpu_index, topology.override.<key>, gpus.
Expected<Topology> load_topology(const TopologyRequest& request, const PresetPaths& paths = default_preset_paths());

// A loaded topology for a request that differs from its own in `overrides` and `max_gpus` only: reads no file.
Expected<Topology> with_request(Topology topology, const TopologyRequest& request);

// One file each, by preset name or path.
Expected<GpuType> load_gpu(const std::string& name, const PresetPaths& paths = default_preset_paths());
Expected<Node> load_node(const std::string& name, const PresetPaths& paths = default_preset_paths());
Expected<Fabric> load_fabric(const std::string& name, const PresetPaths& paths = default_preset_paths());

// Keys below `override`: nvlink.rate, nvlink.latency, pcie.rate, ... wan.latency.
//   nvlink.rate  all NVLinks of one GPU        pcie.rate    one GPU's slot; uplinks follow unless given themselves
//   nic.rate     one NIC                       uplink.rate  one PCIe switch's link to the host
//   host.rate    memory of the node; the link between sockets follows
//   wan.rate     the line of each site of a wide-area fabric, in place of nic.rate
// Rates are physical, per direction. nic.latency replaces the fabric's latency per node border; wan.latency that of a
// wide-area fabric (half the round trip), and the rate that its windows allow follows; the other latencies are added to
// every crossing of such a link.
const std::vector<std::string>& override_keys();
// BytesPerSecond for `.rate`, Seconds for `.latency`.
Unit override_unit(const std::string& key);

}  // namespace lockstep
