// The machine: GPUs, the links between them, hosts, and the fabric between nodes. Plain data, read from YAML presets or
// a user's file (topologies/reader.h); paths and link rates that follow from it are in topologies/routes.h.
// Rates are bytes per second per direction, times seconds, memory bytes, work FLOP/s.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lockstep {

struct GpuType {
  std::string name, source;
  std::string vendor = "nvidia";  // "nvidia" | "cpu"
  double compute_capability = 0;  // 8.0; 0 for a cpu core
  int sm_count = 0;
  double memory_bytes = 0;
  double memory_bandwidth = 0;
  int nvlink_links = 0;
  double nvlink_per_link = 0;
  // peaks, FLOP/s, dense; 0 = the GPU has no such path
  double peak_fp64 = 0, peak_fp32 = 0, peak_tf32 = 0, peak_fp16 = 0, peak_bf16 = 0;
  bool operator==(const GpuType&) const = default;
};

struct Host {
  int sockets = 1;
  int cores = 1;           // physical cores of the node
  std::string cpu_vendor;  // amd | intel | arm | ...
  std::string cpu_model;
  double memory_bandwidth = 0;  // of the node
  double factor = 0.8;          // host factor u of the host-cost constants
  int numa_nodes = 0;           // of the whole node; 0: one per socket
  int memory_domains() const { return numa_nodes > 0 ? numa_nodes : sockets; }
};

enum class NvLinkKind { None, NvSwitch, Mesh, Bridges };
const char* name_of(NvLinkKind kind);  // none, nvswitch, mesh, bridges
struct NvLinkPair {
  int a = 0, b = 0, count = 0;
};

struct PcieSwitch {
  int socket = 0;               // where there are several NUMA nodes in a socket: the NUMA node
  std::vector<int> gpus, nics;  // indices within the node
};
struct Pcie {
  int generation = 3;
  int lanes = 16;                    // of a GPU's slot and of a switch's uplink
  std::vector<PcieSwitch> switches;  // empty switches list: every GPU hangs on its socket's host bridge
  bool switched = true;              // false: `switches` lists host bridges, no switch uplink is shared
};

struct Nics {
  int count = 0;
  double rate = 0;
};  // rate: bytes/s of one NIC, per direction

enum class FabricKind { InfiniBand, Efa, Tcp };
const char* name_of(FabricKind kind);  // infiniband, efa, tcp

struct Node {
  std::string name, source;
  Host host;
  GpuType gpu;
  int gpu_count = 0;
  NvLinkKind nvlink = NvLinkKind::None;
  std::vector<NvLinkPair> nvlink_pairs;  // Mesh, Bridges
  Pcie pcie;
  bool peer_access = true;  // PCIe peer-to-peer allowed; false: through host memory
  bool integrated = false;  // the GPU shares the host's memory: no PCIe between them
  Nics nics;
  FabricKind nic_kind = FabricKind::InfiniBand;  // what `fabric: own` joins them by; InfiniBand stands for RoCE too
};

struct Fabric {
  std::string name, source;
  FabricKind kind = FabricKind::InfiniBand;
  Nics nics;              // per node; replaces the node's own. Of a wide-area link: the line of each node
  bool own_nics = false;  // `fabric: own`: every node has its own NICs, `nics` are those of the first
  double latency = 0;     // extra seconds per node-to-node hop (lambda of the all-reduce model)
  double nccl_rate = 0;   // bytes/s per node and direction that NCCL reaches over TCP; 0 for RDMA
  double nccl_rate_low = 0, nccl_rate_high = 0;  // its 80 % band
  // A wide-area link: every node is a site of its own, `latency` is half the round trip, and each socket carries no
  // more than one window per round trip.
  double window = 0;  // bytes in flight of one socket; 0: not a wide-area link
  int sockets = 1;    // sockets per node and direction
  bool wide_area() const { return window > 0; }
};

// The machine of one scenario: overrides applied, number of nodes known. Ranks fill its nodes in order.
struct Topology {
  std::string name;         // for people: node name, "+ fabric" if any
  Node node;                // the first node, and every other unless `nodes` lists them
  std::vector<Node> nodes;  // nodes that differ, in order, as many as the machine has; empty: all are like `node`
  std::optional<Fabric> fabric;
  int gpus_per_node = 0;       // GPUs used on the first node, and on every other unless `nodes` are of different sizes
  bool all_gpus = false;       // every GPU of every node is used (neither gpus_per_node nor gpu_index was given)
  std::vector<int> gpu_index;  // which GPUs are used on each node, by their index there; empty: the first ones
  // "nvlink.rate" -> bytes/s, "nic.latency" -> s. `node` and `fabric` keep the values of their files;
  // topologies/rates.h and routes.h apply the overrides.
  std::map<std::string, double> overrides;
  std::vector<std::string> files;  // that it was read from: nodes, their GPUs, the fabric; each once

  // node >= 0, rank >= 0; with `nodes`, a node or rank beyond the last is a broken invariant.
  const Node& node_type(int node) const;
  int gpus_on(int node) const;           // GPUs used on a node when it is full
  int node_of(int rank) const;           // the node that holds a rank
  int local_rank(int rank) const;        // its place among the ranks of that node, from 0
  int gpu_in_node(int rank) const;       // the index of its GPU there, as routes.h takes it
  int nodes_for(int gpus) const;         // nodes that hold so many ranks
  std::optional<int> most_gpus() const;  // with `nodes`, or without a fabric: what the machine holds; else no bound
  // The first `ranks` GPUs used on a node, by index.
  std::vector<int> used_gpus(int node, int ranks) const;
};

}  // namespace lockstep
