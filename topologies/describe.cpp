#include "topologies/describe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>
#include <vector>

#include "simulator/base/format.h"
#include "simulator/base/quantity.h"
#include "topologies/rates.h"
#include "topologies/reader.h"
#include "topologies/routes.h"

namespace lockstep {
namespace {

std::string decimal_bytes(double bytes) {
  return quantity_text(bytes, Unit::Bytes);
}

const char* noun(const GpuType& gpu) {
  return gpu.vendor == "cpu" ? "rank" : "GPU";
}

std::string peaks(const GpuType& gpu) {
  std::vector<std::string> parts;
  const auto add = [&](const char* name, double peak) {
    if (peak > 0) parts.push_back(fmt::format("{} {}", name, format_flops(peak)));
  };
  add("fp64", gpu.peak_fp64);
  add("fp32", gpu.peak_fp32);
  add("tf32", gpu.peak_tf32);
  add("fp16", gpu.peak_fp16);
  add("bf16", gpu.peak_bf16);
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string mark(const Topology& t, const char* key) {
  return t.overrides.count(key) ? " (override)" : "";
}

std::string gpu_lines(const Topology& t) {
  const GpuType& gpu = t.node.gpu;
  std::string text = fmt::format("├─ {} x {}: {}, {} memory bandwidth\n", t.node.gpu_count, gpu.name,
                                 decimal_bytes(gpu.memory_bytes), format_rate(gpu.memory_bandwidth));
  text += fmt::format("│     {}\n", peaks(gpu));
  if (!t.gpu_index.empty())
    text += fmt::format("│     {} {} used on each node\n", noun(gpu), fmt::join(t.gpu_index, ", "));
  else if (t.gpus_per_node != t.node.gpu_count)
    text += fmt::format("│     {} used on each node\n", t.gpus_per_node);
  return text;
}

std::string nvlink_line(const Topology& t) {
  if (t.node.nvlink == NvLinkKind::None) return "";
  std::string text = fmt::format("├─ NVLink: {}, {} per GPU and direction{}\n", name_of(t.node.nvlink),
                                 format_rate(nvlink_rate(t)), mark(t, "nvlink.rate"));
  for (int gpu = 0; gpu < t.node.gpu_count && !t.node.nvlink_pairs.empty(); ++gpu) {
    std::vector<std::string> others;
    for (const NvLinkPair& pair : t.node.nvlink_pairs)
      if (pair.a == gpu) others.push_back(fmt::format("{} x{}", pair.b, pair.count));
    if (!others.empty()) text += fmt::format("│     {} - {}\n", gpu, fmt::join(others, ", "));
  }
  return text;
}

std::string pcie_lines(const Topology& t) {
  const Node& node = t.node;
  if (node.gpu.vendor == "cpu") return "";
  if (node.integrated)
    return fmt::format("├─ the GPU shares the host's memory: a copy reads and writes it, {}{}\n",
                       format_rate(host_rate(t) / 2), mark(t, "host.rate"));
  std::string text = fmt::format("├─ PCIe Gen{} x{}: {} per slot and direction{}, peer access {}\n",
                                 node.pcie.generation, node.pcie.lanes, format_rate(pcie_slot_rate(t)),
                                 mark(t, "pcie.rate"), node.peer_access ? "on" : "off");
  const std::vector<int> placed = nic_switches(t);
  for (std::size_t i = 0; i < node.pcie.switches.size(); ++i) {
    const PcieSwitch& one = node.pcie.switches[i];
    std::vector<int> nics;
    for (std::size_t nic = 0; nic < placed.size(); ++nic)
      if (placed[nic] == static_cast<int>(i)) nics.push_back(static_cast<int>(nic));
    text += fmt::format("│     {} {} on {} {}: GPU {}", node.pcie.switched ? "switch" : "host bridge", i,
                        node.host.numa_nodes > 0 ? "NUMA node" : "socket", one.socket, fmt::join(one.gpus, ", "));
    if (!nics.empty()) text += fmt::format("; NIC {}", fmt::join(nics, ", "));
    if (node.pcie.switched)
      text += fmt::format("; uplink {}{}", format_rate(pcie_uplink_rate(t)), mark(t, "uplink.rate"));
    text += '\n';
  }
  return text;
}

std::string nic_line(const Topology& t) {
  const Nics nics = nics_of(t);
  if (nics.count == 0) return "└─ no NICs\n";
  if (t.fabric && t.fabric->wide_area())
    return fmt::format("└─ line to the other sites: {} per direction{}\n", format_rate(nics.rate), mark(t, "wan.rate"));
  return fmt::format("└─ NICs: {} x {} per direction{}\n", nics.count, format_rate(nics.rate), mark(t, "nic.rate"));
}

std::string host_line(const Topology& t) {
  const Host& host = t.node.host;
  const std::string numa = host.numa_nodes > 0 ? fmt::format(", {} NUMA nodes", host.numa_nodes) : "";
  return fmt::format("├─ host: {} x {} {}, {} cores{}, memory {}{}, host factor {}\n", host.sockets, host.cpu_vendor,
                     host.cpu_model, host.cores, numa, format_rate(host_rate(t)), mark(t, "host.rate"),
                     format_significant(host.factor));
}

std::string node_tree(const Topology& seen) {
  return host_line(seen) + gpu_lines(seen) + nvlink_line(seen) + pcie_lines(seen) + nic_line(seen);
}

std::string indented(const std::string& text, const std::string& by) {
  std::string result;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = text.find('\n', start) + 1;
    result += by + text.substr(start, end - start);
    start = end;
  }
  return result;
}

// Nodes that differ, each kind once: "node 0, 2: dgx-a100-80gb" and its tree below.
std::string node_trees(const Topology& t) {
  if (t.nodes.empty()) return node_tree(t);
  std::map<std::string, std::vector<int>> kinds;
  std::vector<std::string> order;
  for (int node = 0; node < static_cast<int>(t.nodes.size()); ++node) {
    std::vector<int>& of_kind = kinds[t.node_type(node).name];
    if (of_kind.empty()) order.push_back(t.node_type(node).name);
    of_kind.push_back(node);
  }
  std::string text;
  for (const std::string& name : order) {
    const std::vector<int>& of_kind = kinds[name];
    text += fmt::format("{} node {}: {}\n", name == order.back() ? "└─" : "├─", fmt::join(of_kind, ", "), name);
    text += indented(node_tree(seen_from(t, of_kind.front())), name == order.back() ? "   " : "│  ");
  }
  return text;
}

std::string fabric_line(const Topology& t) {
  if (!t.fabric) return "";
  const bool wide_area = t.fabric->wide_area();
  std::string text = fmt::format("fabric {}: {}, {} more per node border{}", t.fabric->name, name_of(t.fabric->kind),
                                 format_time(border_latency(t)), mark(t, wide_area ? "wan.latency" : "nic.latency"));
  if (wide_area)
    text += fmt::format(" (half the round trip); a socket carries one window of {} per round trip, {} sockets per node",
                        quantity_text(t.fabric->window, Unit::Bytes), t.fabric->sockets);
  if (const TcpRate tcp = tcp_rate(t); t.fabric->kind == FabricKind::Tcp)
    text += fmt::format("; NCCL reaches {} per node ({} to {})", format_rate(tcp.rate), format_rate(tcp.low),
                        format_rate(tcp.high));
  return text + '\n';
}

std::string ring_line(const Topology& t, int gpus) {
  const Ring ring = ring_of(t, gpus);
  const std::string where = ring.nodes > 1 ? fmt::format(" on {} nodes", ring.nodes) : "";
  const std::string whose = t.nodes.empty() || ring.nodes == 1 ? ""
                                                               : fmt::format(" of node {} ({})", ring.slowest_node,
                                                                             t.node_type(ring.slowest_node).name);
  return fmt::format("  {:>4}{}: {} x {} = {} by {}, limited by {}{}\n", gpus, where, ring.channels,
                     format_rate(ring.channel_rate), format_rate(ring.bus_bandwidth()), name_of(ring.path),
                     name_of(ring.slowest), whose);
}

std::set<int> ring_counts(const Topology& t) {
  std::set<int> counts;
  const int first = t.gpus_on(0);
  for (int gpus = 2; gpus < first; gpus *= 2) counts.insert(gpus);
  if (first > 1) counts.insert(first);
  if (t.fabric && t.nodes.empty())
    for (const int nodes : {2, 4}) counts.insert(nodes * first);
  int all = 0;
  for (int node = 0; node < static_cast<int>(t.nodes.size()); ++node) {
    all += t.gpus_on(node);
    if (all > 1 && t.fabric) counts.insert(all);
  }
  return counts;
}

std::string ring_lines(const Topology& t) {
  const std::set<int> counts = ring_counts(t);
  if (counts.empty()) return "";
  std::string text = fmt::format("all-reduce rings by number of {}s (channels x rate = bus bandwidth, as {} counts)\n",
                                 noun(t.node.gpu), t.node.gpu.vendor == "cpu" ? "the model of Gloo" : "NCCL");
  for (const int gpus : counts) text += ring_line(t, gpus);
  if (t.node.nvlink == NvLinkKind::NvSwitch && t.node.gpu.compute_capability >= 9)
    text += "  NCCL itself takes NVLS within such a node, which is faster; this version models rings alone\n";
  return text;
}

std::string source_lines(const Topology& t) {
  std::string text;
  std::set<std::string> told;
  const auto tell = [&](const std::string& name, const std::string& source) {
    if (told.insert(name).second) text += fmt::format("  {}: {}\n", name, source);
  };
  if (t.nodes.empty()) {
    text = fmt::format("source: {}\n", t.node.source);
    tell(t.node.gpu.name, t.node.gpu.source);
  } else {
    text = "sources\n";
    for (const Node& node : t.nodes) {
      tell(node.name, node.source);
      tell(node.gpu.name, node.gpu.source);
    }
  }
  if (t.fabric && t.fabric->source != t.node.source) tell(t.fabric->name, t.fabric->source);
  return text;
}

}  // namespace

std::string describe_topology(const Topology& t) {
  return fmt::format("{}\n", t.name) + node_trees(t) + fabric_line(t) + ring_lines(t) + source_lines(t);
}

std::string summary_of(const GpuType& gpu) {
  const std::string half = gpu.peak_fp16 > 0 ? fmt::format(", fp16 {}", format_flops(gpu.peak_fp16)) : "";
  return fmt::format("{}, {}, fp32 {}{}", decimal_bytes(gpu.memory_bytes), format_rate(gpu.memory_bandwidth),
                     format_flops(gpu.peak_fp32), half);
}

std::string summary_of(const Node& node) {
  std::string text = fmt::format("{} x {}", node.gpu_count, node.gpu.name);
  if (node.nvlink != NvLinkKind::None) text += fmt::format(", NVLink {}", name_of(node.nvlink));
  if (node.integrated)
    text += ", shares the host's memory";
  else if (node.gpu.vendor != "cpu")
    text += fmt::format(", PCIe Gen{} x{}", node.pcie.generation, node.pcie.lanes);
  if (node.nics.count > 0)
    text +=
        fmt::format(", {} NIC{} of {}", node.nics.count, node.nics.count > 1 ? "s" : "", format_rate(node.nics.rate));
  return text;
}

std::string summary_of(const Fabric& fabric) {
  std::string text =
      fmt::format("{}, {} x {} per node", name_of(fabric.kind), fabric.nics.count, format_rate(fabric.nics.rate));
  if (fabric.wide_area())
    text += ", wide-area link, rate bound by the window of its sockets";
  else if (fabric.nccl_rate > 0)
    text += fmt::format(", NCCL reaches {}", format_rate(fabric.nccl_rate));
  if (fabric.latency > 0) text += fmt::format(", {} per node border", format_time(fabric.latency));
  return text;
}

}  // namespace lockstep
