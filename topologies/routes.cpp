#include "topologies/routes.h"

#include <fmt/format.h>

#include <algorithm>

#include "simulator/base/ensure.h"
#include "topologies/rates.h"

namespace lockstep {

const char* name_of(LinkClass c) {
  switch (c) {
    case LinkClass::Nvlink:
      return "nvlink";
    case LinkClass::Pcie:
      return "pcie";
    case LinkClass::Host:
      return "host";
    case LinkClass::Nic:
      return "nic";
    case LinkClass::Uplink:
      return "uplink";
    case LinkClass::Wan:
      return "wan";
  }
  return "?";
}

const char* name_of(PathClass c) {
  switch (c) {
    case PathClass::SingleGpu:
      return "single-gpu";
    case PathClass::NvlinkA100:
      return "nvlink-a100";
    case PathClass::NvlinkV100:
      return "nvlink-v100";
    case PathClass::NvlinkH100:
      return "nvlink-h100";
    case PathClass::PcieP2p:
      return "pcie-p2p";
    case PathClass::PcieShm:
      return "pcie-shm";
    case PathClass::InfiniBand:
      return "infiniband";
    case PathClass::Efa:
      return "efa";
    case PathClass::Tcp:
      return "tcp";
    case PathClass::CpuShared:
      return "cpu-shared";
  }
  return "?";
}

namespace {

Link make_link(const Topology& topology, std::string id, LinkClass link_class, double rate) {
  return Link{std::move(id), link_class, rate, latency_of(topology, link_class)};
}
Link slot_link(const Topology& t, int node, int gpu) {
  return make_link(t, fmt::format("node{}.gpu{}.pcie", node, gpu), LinkClass::Pcie, pcie_slot_rate(t));
}
Link uplink(const Topology& t, int node, int index) {
  return make_link(t, fmt::format("node{}.switch{}.uplink", node, index), LinkClass::Uplink, pcie_uplink_rate(t));
}
Link host_link(const Topology& t, int node) {
  return make_link(t, fmt::format("node{}.host", node), LinkClass::Host, host_rate(t));
}

// NVLinks between two GPUs; on a switch, all of a GPU's.
int direct_nvlinks(const Node& node, int a, int b) {
  if (node.nvlink == NvLinkKind::NvSwitch) return node.gpu.nvlink_links;
  int count = 0;
  for (const NvLinkPair& pair : node.nvlink_pairs)
    if ((pair.a == a && pair.b == b) || (pair.a == b && pair.b == a)) count += pair.count;
  return count;
}

std::vector<Link> nvlink_path(const Topology& t, int node, int from, int to, int count) {
  const double rate = nvlink_rate(t) * count / t.node.gpu.nvlink_links;
  if (t.node.nvlink == NvLinkKind::NvSwitch)
    return {make_link(t, fmt::format("node{}.gpu{}.nvlink", node, from), LinkClass::Nvlink, rate),
            make_link(t, fmt::format("node{}.gpu{}.nvlink", node, to), LinkClass::Nvlink, rate)};
  return {make_link(t, fmt::format("node{}.gpu{}.nvlink{}", node, from, to), LinkClass::Nvlink, rate)};
}

// The two functions of the header, for a machine whose nodes are alike.
std::vector<Link> host_to_device(const Topology& t, int node, int gpu) {
  LOCKSTEP_ENSURE(gpu >= 0 && gpu < t.node.gpu_count, "gpu {} of {}", gpu, t.node.gpu_count);
  if (t.node.gpu.vendor == "cpu") return {};
  if (t.node.integrated)
    return {make_link(t, fmt::format("node{}.gpu{}.copy", node, gpu), LinkClass::Host, host_rate(t) / 2),
            host_link(t, node)};
  std::vector<Link> links{slot_link(t, node, gpu)};
  const int index = switch_of(t.node, gpu);
  if (has_uplinks(t.node) && index >= 0) {
    const std::vector<int> used = t.used_gpus(0, t.gpus_on(0));
    const int sharing = gpus_per_switch(t.node, used)[static_cast<std::size_t>(index)];
    if (sharing > 1) links.push_back(uplink(t, node, index));
  }
  links.push_back(host_link(t, node));
  return links;
}

std::vector<Link> peer_copy(const Topology& t, int node, int from, int to) {
  LOCKSTEP_ENSURE(from != to && std::min(from, to) >= 0 && std::max(from, to) < t.node.gpu_count,
                  "peer copy {} -> {} of {}", from, to, t.node.gpu_count);
  if (t.node.gpu.vendor == "cpu") return {host_link(t, node)};
  if (const int count = direct_nvlinks(t.node, from, to); count > 0) return nvlink_path(t, node, from, to, count);
  std::vector<Link> links{slot_link(t, node, from)};
  const GpuDistance distance = distance_of(t.node, from, to);
  if (distance != GpuDistance::SameSwitch || !t.node.peer_access) {
    if (has_uplinks(t.node)) links.push_back(uplink(t, node, switch_of(t.node, from)));
    if (!t.node.peer_access) links.push_back(host_link(t, node));
    if (distance == GpuDistance::OtherSocket)
      links.push_back(make_link(t, fmt::format("node{}.interconnect", node), LinkClass::Host, interconnect_rate(t)));
    if (has_uplinks(t.node)) links.push_back(uplink(t, node, switch_of(t.node, to)));
  }
  links.push_back(slot_link(t, node, to));
  return links;
}

}  // namespace

std::vector<Link> host_to_device_path(const Topology& t, int node, int gpu) {
  return t.nodes.empty() ? host_to_device(t, node, gpu) : host_to_device(seen_from(t, node), node, gpu);
}

std::vector<Link> peer_path(const Topology& t, int node, int from, int to) {
  return t.nodes.empty() ? peer_copy(t, node, from, to) : peer_copy(seen_from(t, node), node, from, to);
}

}  // namespace lockstep
