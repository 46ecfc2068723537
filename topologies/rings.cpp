// The ring over n GPUs, counted as NCCL counts it (NVIDIA/nccl v2.30.7, src/graph: link rates in topo.h, search in
// search.cc). Its answer is the most `channels x speed` over its list of speeds; for regular machines that is a
// formula:
//   NVSwitch     A ring takes its speed once out of and once into every GPU: floor(total / speed) rings.
//   NVLink mesh  One ring per NVLink and direction, as many edge-disjoint cycles as there are (ring_search.h).
//   PCIe         One ring, as fast as its slowest hop. A hop through an Intel host bridge pays 6/5 on PCIe links.
//                NCCL's list of speeds for one node lacks 24, but the constants of the all-reduce model were fitted
//                with 24 for Gen4 x16, so the list for several nodes is used.
//   Nodes        A ring enters and leaves each node once: NICs, PCIe slots and the node's inside all bound it.
// What agrees with NCCL's own search and what does not: tests/topologies/rings_test.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "simulator/base/ensure.h"
#include "topologies/rates.h"
#include "topologies/ring_search.h"
#include "topologies/routes.h"

namespace lockstep {
namespace {

constexpr double kGB = 1e9;
constexpr int kMaxChannels = 32;
constexpr double kLocalRate = 5000 * kGB;  // NCCL's count for copies within a GPU
constexpr double kNothingFound = 0.1 * kGB;

int whole(double ratio) {
  return static_cast<int>(std::floor(ratio + 1e-9));
}

struct Search {
  int channels = 0;
  double rate = 0;
  double total() const { return channels * rate; }
};

// A found ring of 25 GB/s or more becomes two of half the speed, except many fast ones on Hopper and later.
Search doubled(Search found, const GpuType& gpu) {
  const bool keep = gpu.compute_capability > 8 && found.rate < 50 * kGB && found.channels > 4;
  if (found.rate < 25 * kGB || keep) return found;
  return {found.channels * 2, found.rate / 2};
}

template <class Channels>
Search best_of(const std::vector<double>& speeds, Channels channels_at) {
  Search best;
  for (const double speed : speeds) {
    // NCCL looks no further down. Not below 2.4, where the list is so thin that more bandwidth could give less.
    if (best.channels > 0 && speed >= 2.4 && speed * kGB <= 0.49 * best.rate) break;
    const Search found{std::min(channels_at(speed * kGB), kMaxChannels), speed * kGB};
    if (found.total() > best.total() * (1 + 1e-9)) best = found;
  }
  return best;
}

// --- One node ---------------------------------------------------------------------------------------------------

struct Intra {
  Search found;
  PathClass path = PathClass::SingleGpu;
  LinkClass slowest = LinkClass::Nvlink;
  double chain_rate = 0;  // what a node's part of a longer ring can carry: it lacks the hop from last to first GPU
  Link link;
};

PathClass nvlink_class(const Node& node) {
  if (node.nvlink == NvLinkKind::Bridges || node.gpu.compute_capability < 8) return PathClass::NvlinkV100;
  return node.gpu.compute_capability < 9 ? PathClass::NvlinkA100 : PathClass::NvlinkH100;
}

Link nvlink_link(const Topology& t, double share_of_gpu) {
  return {"node0.gpu0.nvlink", LinkClass::Nvlink, nvlink_rate(t) * share_of_gpu, latency_of(t, LinkClass::Nvlink)};
}

Intra by_nvswitch(const Topology& t, int gpus) {
  const GpuType& gpu = t.node.gpu;
  const double total = gpu.nvlink_links * nccl_nvlink_per_link(gpu);
  Search found = best_of(nccl_speeds(gpu, false), [&](double speed) { return whole(total / speed); });
  found = doubled(found, gpu);
  found.rate *= nvlink_scale(t);
  return {found, nvlink_class(t.node), LinkClass::Nvlink, total * nvlink_scale(t) * gpus / (gpus - 1),
          nvlink_link(t, found.total() / (total * nvlink_scale(t)))};
}

// Channels 0 when the NVLinks make no ring.
Intra by_mesh(const Topology& t, int gpus) {
  const GpuType& gpu = t.node.gpu;
  const int rings = static_cast<int>(most_rings(t.node.nvlink_pairs, gpus).rings.size());
  Intra intra;
  intra.found = {std::min(rings, kMaxChannels), nccl_speed_floor(gpu, nccl_nvlink_per_link(gpu)) * nvlink_scale(t)};
  intra.path = nvlink_class(t.node);
  intra.chain_rate = intra.found.total();
  intra.link = nvlink_link(t, static_cast<double>(rings) / gpu.nvlink_links);
  return intra;
}

// The worst place where two neighbours of a ring over the first `gpus` GPUs meet.
GpuDistance widest(const Node& node, int gpus) {
  GpuDistance worst = GpuDistance::SameSwitch;
  for (int gpu = 1; gpu < gpus; ++gpu) worst = std::max(worst, distance_of(node, 0, gpu));
  return worst;
}

Intra by_pcie(const Topology& t, int gpus) {
  const Node& node = t.node;
  const GpuDistance distance = widest(node, gpus);
  const bool amd = node.host.cpu_vendor == "amd";
  const bool bridge_tax = distance == GpuDistance::SameSocket && node.host.cpu_vendor == "intel";
  Intra intra;
  // Counted on the file's rates, then scaled: an override must not fall between two speeds of the list.
  Topology plain = t;
  plain.overrides.clear();
  const auto scaled = [&](double (*count)(const Topology&), double tax) {
    const double before = count(plain);
    return nccl_speed_floor(node.gpu, before / tax) * (count(t) / before);
  };
  double rate = scaled(nccl_pcie_slot, bridge_tax ? 1.2 : 1);
  intra.slowest = LinkClass::Pcie;
  intra.link = {"node0.gpu0.pcie", LinkClass::Pcie, pcie_slot_rate(t), latency_of(t, LinkClass::Pcie)};
  const auto bound = [&](double other, LinkClass link_class, const char* id, double physical) {
    if (other >= rate) return;
    rate = other;
    intra.slowest = link_class;
    intra.link = {id, link_class, physical, latency_of(t, link_class)};
  };
  if (distance != GpuDistance::SameSwitch && has_uplinks(node))
    bound(scaled(nccl_pcie_uplink, bridge_tax ? 1.2 : 1), LinkClass::Uplink, "node0.switch0.uplink",
          pcie_uplink_rate(t));
  if (distance == GpuDistance::OtherSocket)
    bound(scaled(nccl_interconnect, 1), LinkClass::Host, "node0.interconnect", interconnect_rate(t));
  intra.found = {1, rate};
  intra.chain_rate = rate;
  // Peer access is used inside switches; on AMD also between any two GPUs when the job has no more than two.
  const bool peer = distance == GpuDistance::SameSwitch || (amd && gpus <= 2);
  intra.path = node.peer_access && peer ? PathClass::PcieP2p : PathClass::PcieShm;
  return intra;
}

// Gloo's ring over loopback TCP. Per flow 2.2 GB/s, the geometric middle of the 1 to 5 GB/s that two kernel copies
// allow; all flows together cross host memory six times (out of the sender, into and out of the kernel, into the
// receiver, and the reduction's read and write). Uncalibrated.
Intra by_loopback(const Topology& t, int gpus) {
  constexpr double kFlow = 2.2 * kGB, kPasses = 6;
  const double file_rate = t.node.host.memory_bandwidth;
  const double rate = std::min(kFlow, file_rate / (kPasses * gpus)) * host_rate(t) / file_rate;
  return {{1, rate},
          PathClass::CpuShared,
          LinkClass::Host,
          rate,
          {"node0.host", LinkClass::Host, host_rate(t), latency_of(t, LinkClass::Host)}};
}

Intra one_node(const Topology& t, int gpus) {
  if (gpus == 1) return {{1, kLocalRate}, PathClass::SingleGpu, LinkClass::Nvlink, kLocalRate, {}};
  if (t.node.gpu.vendor == "cpu") return by_loopback(t, gpus);
  if (t.node.nvlink == NvLinkKind::NvSwitch) return by_nvswitch(t, gpus);
  if (t.node.nvlink != NvLinkKind::None) {
    Intra mesh = by_mesh(t, gpus);
    if (mesh.found.channels > 0) return mesh;
  }
  return by_pcie(t, gpus);
}

// --- Several nodes ----------------------------------------------------------------------------------------------

// NICs that sit with the node's used GPUs; all of them where the file does not say.
int near_nics(const Topology& t, int gpus) {
  const std::vector<int> placed = nic_switches(t);
  const std::vector<int> used = gpus_per_switch(t.node, gpus);
  const auto near = std::count_if(placed.begin(), placed.end(),
                                  [&](int index) { return index < 0 || used[static_cast<std::size_t>(index)] > 0; });
  return near > 0 ? static_cast<int>(near) : static_cast<int>(placed.size());
}

// Rings of one speed that enter one GPU by PCIe and leave by another (or the same). Below capability 8, traffic into a
// GPU takes an eighth of its rate from the way out of it, so a GPU that does both carries less.
int rings_by_slots(const GpuType& gpu, int gpus, double slot, double speed) {
  if (gpu.compute_capability >= 8) return gpus * whole(slot / speed);
  return std::max(gpus / 2 * whole(slot / speed), gpus * whole(slot / (speed * 1.125)));
}

PathClass fabric_class(FabricKind kind) {
  switch (kind) {
    case FabricKind::InfiniBand:
      return PathClass::InfiniBand;
    case FabricKind::Efa:
      return PathClass::Efa;
    case FabricKind::Tcp:
      return PathClass::Tcp;
  }
  return PathClass::Tcp;
}

Link nic_link(const Topology& t, int nics) {
  return {"node0.nic0", LinkClass::Nic, nics_of(t).rate, latency_of(t, LinkClass::Nic), 1.0 / nics};
}

// TCP: one socket per node and direction, whatever the NICs could do.
void over_tcp(const Topology& t, const Intra& intra, Ring& ring) {
  const double wire = tcp_rate(t).rate;
  ring.channels = 1;
  ring.channel_rate = std::min(wire, intra.chain_rate);
  ring.slowest = intra.chain_rate < wire ? intra.slowest : LinkClass::Nic;
  ring.links.push_back(nic_link(t, 1));
}

void over_rdma(const Topology& t, const Intra& intra, Ring& ring) {
  const GpuType& gpu = t.node.gpu;
  const int per_node = ring.ranks_per_node, nics = near_nics(t, per_node);
  const double nic = nics_of(t).rate, slot = nccl_pcie_slot(t);
  Search found = best_of(nccl_speeds(gpu, true), [&](double speed) {
    return std::min(
        {nics * whole(nic / speed), rings_by_slots(gpu, per_node, slot, speed), whole(intra.chain_rate / speed)});
  });
  if (found.channels == 0) found = {1, kNothingFound};
  const int used = std::min(nics, found.channels);
  found = doubled(found, gpu);
  ring.channels = found.channels;
  ring.channel_rate = found.rate;
  ring.links.push_back(nic_link(t, used));
  const double by_nics = nics * nccl_speed_floor(gpu, nic), by_slots = per_node * nccl_speed_floor(gpu, slot);
  if (intra.chain_rate < std::min(by_nics, by_slots))
    ring.slowest = intra.slowest;
  else
    ring.slowest = by_slots < by_nics ? LinkClass::Pcie : LinkClass::Nic;
}

}  // namespace

Ring ring_of(const Topology& t, int gpus) {
  LOCKSTEP_ENSURE(gpus >= 1 && t.gpus_per_node >= 1, "{} GPUs, {} per node", gpus, t.gpus_per_node);
  Ring ring;
  ring.ranks = gpus;
  ring.nodes = t.nodes_for(gpus);
  ring.ranks_per_node = std::min(gpus, t.gpus_per_node);
  const Intra intra = one_node(t, ring.ranks_per_node);
  ring.path = ring.intra_path = intra.path;
  ring.slowest = intra.slowest;
  ring.channels = intra.found.channels;
  ring.channel_rate = intra.found.rate;
  if (ring.ranks_per_node > 1) {
    ring.links.push_back(intra.link);
    ring.step_latency = intra.link.latency;
  }
  if (ring.nodes > 1) {
    LOCKSTEP_ENSURE(t.fabric.has_value(), "{} nodes without a fabric", ring.nodes);
    ring.path = fabric_class(t.fabric->kind);
    ring.hop_latency = override_or(t, "nic.latency", t.fabric->latency);
    if (t.fabric->kind == FabricKind::Tcp || t.node.gpu.vendor == "cpu")
      over_tcp(t, intra, ring);
    else
      over_rdma(t, intra, ring);
  }
  ring.communicator_channels = ring.ranks == 1 ? 1 : 2 * ring.channels;
  const bool hopper = t.node.gpu.compute_capability >= 9;
  if (hopper && ring.nodes > 1 && ring.channel_rate > 45 * kGB && ring.communicator_channels < 16)
    ring.communicator_channels *= 2;
  return ring;
}

}  // namespace lockstep
