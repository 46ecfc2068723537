#include "topologies/rates.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "simulator/base/nearest.h"

namespace lockstep {
namespace {

constexpr double kGB = 1e9;

// Payload share of a PCIe link's bits after line coding, so that a large pinned copy comes out as measured. Gen3 and
// Gen4: 0.83 (headers of 128 to 256 byte packets), Gen5: 0.88.
//   pc2/GPUInspector.jl docs @b0bea3a: A100-SXM4 on Gen4 x16 24.33 GiB/s = 26.1 GB/s, V100-SXM2 on Gen3 x16 12.14 GiB/s
//   = 13.0; a 100 MB to 1 GB copy on a university cluster's A100 24.1 to 25.8 GB/s; H200 on Gen5 x16, nvbandwidth,
//   stas00/ml-engineering @744d01e: 55.4 GB/s.
double protocol_efficiency(int generation) {
  return generation >= 5 ? 0.88 : 0.83;
}

double transfers_per_second(int generation) {
  switch (generation) {
    case 1:
      return 2.5e9;
    case 2:
      return 5e9;
    case 3:
      return 8e9;
    case 4:
      return 16e9;
    case 5:
      return 32e9;
    default:
      return 64e9;
  }
}

// Processor families by what stands in `cpu.model`, with NCCL's count for the link between sockets (NVIDIA/nccl
// src/graph/topo.h, v2.30.7) and, where a table was at hand, the peer-copy rate across it.
struct Interconnect {
  std::string_view vendor, model;  // model: substring, empty = any
  double nccl = 0, measured = 0;
};
constexpr std::array<Interconnect, 12> kInterconnects{{
    // 4x A100 80GB PCIe, each on its own NUMA node of an AMD host: 21.6 GB/s (p2pBandwidthLatencyTest)
    {"amd", "", 16e9, 21.6e9},
    // 8x V100-SXM2, pairs without NVLink: 8.1 GiB/s (GPUInspector.jl docs @b0bea3a)
    {"intel", "e5-", 6e9, 8.7e9},
    {"intel", "broadwell", 6e9, 8.7e9},
    {"intel", "sapphire", 22e9, 22e9},
    {"intel", "platinum-84", 22e9, 22e9},
    {"intel", "gold-64", 22e9, 22e9},
    {"intel", "emerald", 40e9, 40e9},
    {"intel", "platinum-85", 40e9, 40e9},
    {"intel", "gold-65", 40e9, 40e9},
    {"intel", "", 10e9, 10e9},  // Skylake to Ice Lake
    {"ibm", "", 32e9, 32e9},
    {"", "", 6e9, 6e9},
}};

const Interconnect& interconnect_of(const Host& host) {
  const std::string vendor = canonical_name(host.cpu_vendor), model = canonical_name(host.cpu_model);
  return *std::find_if(kInterconnects.begin(), kInterconnects.end(), [&](const Interconnect& one) {
    return (one.vendor.empty() || one.vendor == vendor) && model.find(one.model) != std::string::npos;
  });
}

double host_scale(const Topology& topology) {
  return host_rate(topology) / topology.node.host.memory_bandwidth;
}
double pcie_scale(const Topology& topology) {
  return pcie_slot_rate(topology) / pcie_rate(topology.node.pcie);
}

// NCCL over TCP by line rate: bound by the wire up to 10 Gb/s (92 % of it), by one flow on one CPU core above. Points:
// 10, 25 and 40 Gb/s of the training tables named in topologies/fabrics/eth-*.yaml; straight lines between.
double middle_tcp_rate(double line) {
  constexpr double k10 = 1.25e9, k25 = 3.125e9, k40 = 5e9;
  if (line <= k10) return 0.92 * line;
  if (line <= k25) return 1.15e9 + (line - k10) / (k25 - k10) * (2.0e9 - 1.15e9);
  if (line <= k40) return 2.0e9 + (line - k25) / (k40 - k25) * (2.3e9 - 2.0e9);
  return 2.3e9;
}

// The 80 % bands of the same tables at 1, 10, 25 and 40 Gb/s; straight lines between, from zero below.
double tcp_bound(double line, const std::array<double, 4>& rates) {
  constexpr std::array<double, 4> kLines{0.125e9, 1.25e9, 3.125e9, 5e9};
  double line_below = 0, rate_below = 0;
  for (std::size_t i = 0; i < kLines.size(); ++i) {
    if (line <= kLines[i]) return rate_below + (rates[i] - rate_below) * (line - line_below) / (kLines[i] - line_below);
    line_below = kLines[i];
    rate_below = rates[i];
  }
  return rates.back();
}

// A socket has no more than one window on the way, so it carries one window per round trip. x/÷ 2 is assumed: kernels
// from 6.6 on offer nearly all of the receive buffer instead of half of it, and a lost packet halves the window.
TcpRate bound_by_window(TcpRate open, const Topology& topology) {
  const double window_rate = wide_area_rate(topology);
  if (window_rate <= 0) return open;
  return {std::min(open.rate, window_rate), std::min(open.low, window_rate / 2), std::min(open.high, window_rate * 2)};
}

}  // namespace

double pcie_rate(const Pcie& pcie) {
  const double coding = pcie.generation >= 3 ? 128.0 / 130.0 : 0.8;
  return transfers_per_second(pcie.generation) * pcie.lanes / 8 * coding * protocol_efficiency(pcie.generation);
}

int switch_of(const Node& node, int gpu) {
  for (std::size_t i = 0; i < node.pcie.switches.size(); ++i) {
    const std::vector<int>& gpus = node.pcie.switches[i].gpus;
    if (std::find(gpus.begin(), gpus.end(), gpu) != gpus.end()) return static_cast<int>(i);
  }
  return -1;
}

int socket_of(const Node& node, int gpu) {
  const int found = switch_of(node, gpu);
  if (found >= 0) return node.pcie.switches[static_cast<std::size_t>(found)].socket;
  return gpu * std::max(1, node.host.memory_domains()) / std::max(1, node.gpu_count);
}

bool has_uplinks(const Node& node) {
  return node.pcie.switched && !node.pcie.switches.empty();
}

GpuDistance distance_of(const Node& node, int a, int b) {
  if (has_uplinks(node) && switch_of(node, a) == switch_of(node, b)) return GpuDistance::SameSwitch;
  return socket_of(node, a) == socket_of(node, b) ? GpuDistance::SameSocket : GpuDistance::OtherSocket;
}

std::vector<int> gpus_per_switch(const Node& node, const std::vector<int>& gpus) {
  std::vector<int> counts(node.pcie.switches.size(), 0);
  for (const int gpu : gpus) {
    const int found = switch_of(node, gpu);
    if (found >= 0) ++counts[static_cast<std::size_t>(found)];
  }
  return counts;
}

Topology seen_from(const Topology& topology, int node) {
  Topology seen = topology;
  if (topology.nodes.empty()) return seen;
  seen.node = topology.node_type(node);
  seen.nodes.clear();
  seen.gpus_per_node = topology.gpus_on(node);
  seen.all_gpus = false;
  if (seen.fabric && seen.fabric->own_nics) seen.fabric->nics = seen.node.nics;
  return seen;
}

double override_or(const Topology& topology, const std::string& key, double otherwise) {
  const auto found = topology.overrides.find(key);
  return found == topology.overrides.end() ? otherwise : found->second;
}
double latency_of(const Topology& topology, LinkClass link_class) {
  return override_or(topology, std::string(name_of(link_class)) + ".latency", 0);
}

double nvlink_rate(const Topology& topology) {
  const GpuType& gpu = topology.node.gpu;
  return override_or(topology, "nvlink.rate", gpu.nvlink_links * gpu.nvlink_per_link);
}
double nvlink_scale(const Topology& topology) {
  const GpuType& gpu = topology.node.gpu;
  return gpu.nvlink_links > 0 ? nvlink_rate(topology) / (gpu.nvlink_links * gpu.nvlink_per_link) : 1;
}
double pcie_slot_rate(const Topology& topology) {
  return override_or(topology, "pcie.rate", pcie_rate(topology.node.pcie));
}
double pcie_uplink_rate(const Topology& topology) {
  return override_or(topology, "uplink.rate", pcie_slot_rate(topology));
}
double host_rate(const Topology& topology) {
  return override_or(topology, "host.rate", topology.node.host.memory_bandwidth);
}
double interconnect_rate(const Topology& topology) {
  return interconnect_of(topology.node.host).measured * host_scale(topology);
}

Nics nics_of(const Topology& topology) {
  Nics nics = topology.fabric ? topology.fabric->nics : topology.node.nics;
  const bool wide_area = topology.fabric && topology.fabric->wide_area();
  nics.rate = override_or(topology, wide_area ? "wan.rate" : "nic.rate", nics.rate);
  return nics;
}

std::vector<int> nic_switches(const Topology& topology) {
  const std::vector<PcieSwitch>& switches = topology.node.pcie.switches;
  const Nics nics = nics_of(topology);
  std::vector<int> placed(static_cast<std::size_t>(nics.count), -1);
  if (switches.empty()) return placed;
  std::size_t listed = 0;
  for (const PcieSwitch& one : switches) listed += one.nics.size();
  const bool as_listed = listed == placed.size();
  for (std::size_t i = 0; i < placed.size(); ++i)
    if (!as_listed) placed[i] = static_cast<int>(i * switches.size() / placed.size());
  if (as_listed)
    for (std::size_t s = 0; s < switches.size(); ++s)
      for (const int nic : switches[s].nics) placed[static_cast<std::size_t>(nic)] = static_cast<int>(s);
  return placed;
}

TcpRate tcp_rate_of_line(double line) {
  return {middle_tcp_rate(line), tcp_bound(line, {0.07e9, 0.9e9, 1.6e9, 1.5e9}),
          tcp_bound(line, {0.118e9, 1.2e9, 2.3e9, 5e9})};
}

TcpRate tcp_rate(const Topology& topology) {
  if (!topology.fabric) return {};
  const Fabric& fabric = *topology.fabric;
  if (fabric.own_nics && !topology.nodes.empty()) {
    TcpRate slowest = tcp_rate(seen_from(topology, 0));
    for (int node = 1; node < static_cast<int>(topology.nodes.size()); ++node)
      if (const TcpRate one = tcp_rate(seen_from(topology, node)); one.rate < slowest.rate) slowest = one;
    return slowest;
  }
  if (fabric.kind != FabricKind::Tcp)  // cpu ranks speak IP over such a fabric
    return topology.node.gpu.vendor == "cpu" ? tcp_rate_of_line(nics_of(topology).rate) : TcpRate{};
  const double scale = middle_tcp_rate(nics_of(topology).rate) / middle_tcp_rate(fabric.nics.rate);
  TcpRate file{fabric.nccl_rate, fabric.nccl_rate_low, fabric.nccl_rate_high};
  if (fabric.own_nics) file = tcp_rate_of_line(fabric.nics.rate);
  const TcpRate open{file.rate * scale, file.low * scale, file.high * scale};
  return fabric.wide_area() ? bound_by_window(open, topology) : open;
}

double wide_area_rate(const Topology& topology) {
  if (!topology.fabric) return 0;
  const double round_trip = 2 * border_latency(topology);
  return round_trip > 0 ? topology.fabric->sockets * topology.fabric->window / round_trip : 0;
}

double border_latency(const Topology& topology) {
  if (!topology.fabric) return 0;
  return override_or(topology, topology.fabric->wide_area() ? "wan.latency" : "nic.latency", topology.fabric->latency);
}

// Fitted: TCP on one all-reduce per tensor (HKBU-HPML/ddl-benchmarks @30de09b, 20 to 80 us), EFA on three tables of its
// first generation (22 to 30 us), InfiniBand -1 to 0 us on three machines.
double usual_border_latency(FabricKind kind) {
  switch (kind) {
    case FabricKind::InfiniBand:
      return 0;
    case FabricKind::Efa:
      return 25e-6;
    case FabricKind::Tcp:
      return 40e-6;
  }
  return 0;
}

// NVIDIA/nccl src/graph/topo.h, v2.30.7: one NVLink by compute capability.
double nccl_nvlink_per_link(const GpuType& gpu) {
  if (gpu.compute_capability < 7) return 18 * kGB;
  if (gpu.compute_capability < 8) return 20 * kGB;
  if (gpu.compute_capability < 8.6) return 20 * kGB;
  if (gpu.compute_capability < 9) return 12 * kGB;
  return (gpu.compute_capability < 10 ? 20.6 : 40.1) * kGB;
}

// Same file: lanes x speed code / 80 GB/s, code 60 at 8 GT/s: 12 for Gen3 x16, 24 for Gen4, 48 for Gen5.
double nccl_pcie_slot(const Topology& topology) {
  const Pcie& pcie = topology.node.pcie;
  return pcie.lanes * transfers_per_second(pcie.generation) / 8e9 * 60 / 80 * kGB * pcie_scale(topology);
}
double nccl_pcie_uplink(const Topology& topology) {
  return nccl_pcie_slot(topology) * pcie_uplink_rate(topology) / pcie_slot_rate(topology);
}
double nccl_interconnect(const Topology& topology) {
  return interconnect_of(topology.node.host).nccl * host_scale(topology);
}

// NVIDIA/nccl src/graph/search.cc, v2.30.7, GB/s.
const std::vector<double>& nccl_speeds(const GpuType& gpu, bool several_nodes) {
  static const std::vector<double> ampere_one{40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3};
  static const std::vector<double> hopper_one{60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3};
  static const std::vector<double> blackwell_one{90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18};
  static const std::vector<double> ampere{48, 30, 28, 24, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 2.4, 1.2, .24, .12};
  static const std::vector<double> hopper{48, 45, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, .24, .12};
  static const std::vector<double> blackwell{96, 86,   80, 48, 45.1, 42, 40,  30,  24,  22,
                                             20, 17.5, 15, 12, 6,    3,  2.4, 1.2, .24, .12};
  if (gpu.compute_capability < 9) return several_nodes ? ampere : ampere_one;
  if (gpu.compute_capability < 10) return several_nodes ? hopper : hopper_one;
  return several_nodes ? blackwell : blackwell_one;
}

double nccl_speed_floor(const GpuType& gpu, double rate) {
  for (const double speed : nccl_speeds(gpu, true))
    if (speed * kGB <= rate * (1 + 1e-12)) return speed * kGB;
  return rate;
}

}  // namespace lockstep
