// Rates of one machine's links with its overrides applied: the physical payload rates, and beside them what NCCL counts
// for the same links when it searches rings. Bytes per second and direction. An override scales NCCL's count by the
// ratio of the overridden to the physical rate. `pcie.rate` carries the switch uplinks along unless `uplink.rate` is
// given.
#pragma once

#include <string>
#include <vector>

#include "topologies/routes.h"
#include "topologies/topology.h"

namespace lockstep {

// Where two GPUs of a node meet, by PCIe.
enum class GpuDistance { SameSwitch, SameSocket, OtherSocket };
GpuDistance distance_of(const Node& node, int a, int b);
// Index into pcie.switches, -1 when the file lists none.
int switch_of(const Node& node, int gpu);
int socket_of(const Node& node, int gpu);
// True where the GPUs of one switch share an uplink to the host.
bool has_uplinks(const Node& node);

// Of these GPUs, those on each of pcie.switches.
std::vector<int> gpus_per_switch(const Node& node, const std::vector<int>& gpus);

// The machine as one of its nodes knows it: `node` is that node, and so are all others. What follows is about
// Topology::node; for another node of a mixed machine, ask for it as seen from there.
Topology seen_from(const Topology& topology, int node);

// An override's value, or `otherwise`.
double override_or(const Topology& topology, const std::string& key, double otherwise);
double latency_of(const Topology& topology, LinkClass link_class);  // the `.latency` override, 0 without one

// Physical.
double nvlink_rate(const Topology& topology);   // all NVLinks of one GPU
double nvlink_scale(const Topology& topology);  // override / file
double pcie_slot_rate(const Topology& topology);
double pcie_uplink_rate(const Topology& topology);
double host_rate(const Topology& topology);          // memory of one node
double interconnect_rate(const Topology& topology);  // peer copies between sockets
Nics nics_of(const Topology& topology);  // per node: the fabric's (a wide-area link: its line), else the node's
std::vector<int> nic_switches(const Topology& topology);  // pcie switch of each NIC, -1 unknown

// What NCCL (for cpu ranks: Gloo) reaches per node over TCP, and its 80 % band; 0 for RDMA fabrics between GPUs.
// Of mixed nodes with NICs of their own: the slowest.
struct TcpRate {
  double rate = 0, low = 0, high = 0;
};
TcpRate tcp_rate(const Topology& topology);
// The same over a line of this many bytes/s, when nothing but the line is known.
TcpRate tcp_rate_of_line(double line);
// What the windows of a wide-area link's sockets carry per node; 0 where nothing bounds them.
double wide_area_rate(const Topology& topology);
// Extra time per node border (lambda of the all-reduce model): of the fabric, or the override's.
double border_latency(const Topology& topology);  // 0 without a fabric
// Of a fabric of this kind about which nothing more is known.
double usual_border_latency(FabricKind kind);

// NCCL's counts.
double nccl_nvlink_per_link(const GpuType& gpu);  // not scaled by overrides
double nccl_pcie_slot(const Topology& topology);
double nccl_pcie_uplink(const Topology& topology);
double nccl_interconnect(const Topology& topology);
// The largest speed of NCCL's candidate list for several nodes that is not above `rate`; `rate` itself below the list.
double nccl_speed_floor(const GpuType& gpu, double rate);
const std::vector<double>& nccl_speeds(const GpuType& gpu, bool several_nodes);  // descending

}  // namespace lockstep
