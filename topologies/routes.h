// Which path a transfer takes and how fast its links are. Every rate says where it comes from in routes.cpp.
#pragma once

#include <string>
#include <vector>

#include "topologies/topology.h"

namespace lockstep {

// Classes of links as they appear in results and in `override` keys.
enum class LinkClass { Nvlink, Pcie, Host, Nic, Uplink, Wan };
const char* name_of(LinkClass c);  // nvlink, pcie, host, nic, uplink, wan

// The path classes of the all-reduce constants (allreduce constants per class).
enum class PathClass {
  SingleGpu,
  NvlinkA100,
  NvlinkV100,
  NvlinkH100,
  PcieP2p,
  PcieShm,
  InfiniBand,
  Efa,
  Tcp,
  CpuShared
};
const char* name_of(PathClass c);

// One directed physical link.
struct Link {
  std::string id;  // node0.gpu3.pcie, node0.switch1.uplink, node0.gpu3.nvlink, node0.nic2, node0.host, node0.wan
  LinkClass link_class = LinkClass::Pcie;
  double rate = 0;     // bytes/s in one direction, payload
  double latency = 0;  // s per crossing, from `override`; 0: the constants of copies and collectives hold it
  double share = 1;    // in Ring::links: the part of the ring's bytes that crosses this link (one of 8 NICs: 1/8)
};

// Payload rate of a PCIe slot: GT/s per lane x lanes x encoding x protocol efficiency (source in routes.cpp).
double pcie_rate(const Pcie& pcie);

// GPUs are named by their index in the node, as Topology::gpu_in_node(rank) gives it.
//
// Links that a host-to-device copy to this GPU crosses: the GPU's slot, the uplink of its switch when several of the
// GPUs used on the node share it, the host's memory. A GPU that shares the host's memory has no slot: its copy engine
// reads and writes that memory (`node0.gpu0.copy`, half the memory's rate). Overrides pcie, uplink and host apply. A
// pageable copy moves its bytes through host memory more than once; that factor is the caller's. Empty for a cpu rank.
// Two links are one when their `id` is equal.
std::vector<Link> host_to_device_path(const Topology& topology, int node, int gpu_in_node);

// Peer copy between two GPUs of one node: NVLink where they share one, else PCIe; `node0.host` is among the links when
// the node has no peer access (two copies through host memory), `node0.interconnect` when it
// changes the socket. For cpu ranks: host memory alone.
std::vector<Link> peer_path(const Topology& topology, int node, int from, int to);

// The ring over `gpus` ranks (nodes filled in order) as NCCL would build it: class, number of searched channels,
// bandwidth per channel as NCCL counts it, and the physical links that carry it. Where nodes differ, or the last one is
// partly filled, every node searches its own part, and all
// take the fewest channels and the lowest rate found.
struct Ring {
  PathClass path = PathClass::SingleGpu;         // the slowest class on the ring: decides constants
  PathClass intra_path = PathClass::SingleGpu;   // within a node
  int ranks = 1, nodes = 1, ranks_per_node = 1;  // per node: on the node with the most
  int slowest_node = 0;                          // the node whose part of the ring is the slowest
  int channels = 1;                              // searched channels
  double channel_rate = 0;  // bytes/s per channel, NCCL's count (20e9 for an A100 NVLink ring channel)
  double bus_bandwidth() const { return channels * channel_rate; }
  int communicator_channels = 1;  // after NCCL's doubling; = thread blocks, SMs taken
  double hop_latency = 0;         // fabric's extra latency per node border
  double step_latency = 0;        // extra s per ring step within a node, from `override` (nvlink.latency ...); else 0
  LinkClass slowest = LinkClass::Nvlink;  // the class that limits bus_bandwidth
  // One representative per class used, on the slowest node: its physical rate and `share` of the ring's bytes.
  std::vector<Link> links;
};
// 1 <= gpus. How it is found: comments in rings.cpp. For one GPU, `channel_rate` is NCCL's count for copies within a
// GPU.
Ring ring_of(const Topology& topology, int gpus);

}  // namespace lockstep
