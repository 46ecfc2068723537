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
};

struct Host {
  int sockets = 1;
  int cores = 1;           // physical cores of the node
  std::string cpu_vendor;  // amd | intel | arm | ...
  std::string cpu_model;
  double memory_bandwidth = 0;  // of the node
  double factor = 0.8;          // host factor u of the host-cost constants
};

enum class NvLinkKind { None, NvSwitch, Mesh, Bridges };
const char* name_of(NvLinkKind kind);  // none, nvswitch, mesh, bridges
struct NvLinkPair {
  int a = 0, b = 0, count = 0;
};

struct PcieSwitch {
  int socket = 0;
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

struct Node {
  std::string name, source;
  Host host;
  GpuType gpu;
  int gpu_count = 0;
  NvLinkKind nvlink = NvLinkKind::None;
  std::vector<NvLinkPair> nvlink_pairs;  // Mesh, Bridges
  Pcie pcie;
  bool peer_access = true;  // PCIe peer-to-peer allowed; false: through host memory
  Nics nics;
};

enum class FabricKind { InfiniBand, Efa, Tcp };
const char* name_of(FabricKind kind);  // infiniband, efa, tcp
struct Fabric {
  std::string name, source;
  FabricKind kind = FabricKind::InfiniBand;
  Nics nics;             // per node; replaces the node's own
  double latency = 0;    // extra seconds per node-to-node hop (lambda of the all-reduce model)
  double nccl_rate = 0;  // bytes/s per node and direction that NCCL reaches over TCP; 0 for RDMA
  double nccl_rate_low = 0, nccl_rate_high = 0;  // its 80 % band
};

// The machine of one scenario: overrides applied, number of nodes known.
struct Topology {
  std::string name;  // for people: node name, "+ fabric" if any
  Node node;         // all nodes are alike in this version
  std::optional<Fabric> fabric;
  int gpus_per_node = 0;  // GPUs used on each node, nodes filled in order
  int nodes_for(int gpus) const { return (gpus + gpus_per_node - 1) / gpus_per_node; }
  // "nvlink.rate" -> bytes/s, "nic.latency" -> s. `node` and `fabric` keep the values of their files;
  // topologies/rates.h and routes.h apply the overrides.
  std::map<std::string, double> overrides;
};

}  // namespace lockstep
