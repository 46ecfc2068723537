// The ring over n GPUs, counted as NCCL counts it (NVIDIA/nccl v2.30.7, src/graph: link rates in topo.h, search in
// search.cc). Its answer is the most `channels x speed` over its list of speeds; for regular machines that is a
// formula:
//   NVSwitch     A ring takes its speed once out of and once into every GPU: floor(total / speed) rings.
//   NVLink mesh  One ring per NVLink and direction, as many edge-disjoint cycles as there are (ring_search.h).
//   PCIe         One ring, as fast as its slowest hop. A hop through an Intel host bridge pays 6/5 on PCIe links.
//                NCCL's list of speeds for one node lacks 24, but the constants of the all-reduce model were fitted
//                with 24 for Gen4 x16, so the list for several nodes is used.
//   Nodes        A ring enters and leaves each node once: NICs, PCIe slots and the node's inside all bound it.
//   Overrides    The search is NCCL's at the rates of the machine's files; what an override changes scales its answer.
//                Otherwise a rate would jump from one speed of the list to the next, and stay at the last one.
//   Mixed        Nodes that differ agree on the fewest channels and the lowest rate that any of them found.
// What agrees with NCCL's own search and what does not: tests/topologies/rings_test.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "simulator/base/ensure.h"
#include "topologies/rates.h"
#include "topologies/ring_search.h"
#include "topologies/routes.h"

namespace lockstep {
namespace {

constexpr double kGB = 1e9;
constexpr int kMaxChannels = 32;
constexpr double kLocalRate = 5000 * kGB;  // NCCL's count for copies within a GPU

int whole(double ratio) {
  return static_cast<int>(std::floor(ratio + 1e-9));
}

// The machine with the rates of its files.
Topology without_overrides(const Topology& t) {
  Topology plain = t;
  plain.overrides.clear();
  return plain;
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

// A node as its own search sees it.
struct Place {
  const Topology& t;  // seen from this node
  int node;
  std::vector<int> gpus;  // used here, by index
  int count() const { return static_cast<int>(gpus.size()); }
  std::string id(const std::string& part) const { return fmt::format("node{}.{}", node, part); }
  std::string first_gpu(const char* part) const { return id(fmt::format("gpu{}.{}", gpus.front(), part)); }
};

struct Intra {
  Search found;
  PathClass path = PathClass::SingleGpu;
  LinkClass slowest = LinkClass::Nvlink;
  double chain_rate = 0;  // what a node's part of a longer ring can carry: it lacks the hop from last to first GPU
  Link link;
};

PathClass nvlink_class(const Node& node) {
  if (node.gpu.compute_capability < 8) return PathClass::NvlinkV100;
  return node.gpu.compute_capability < 9 ? PathClass::NvlinkA100 : PathClass::NvlinkH100;
}

Link nvlink_link(const Place& at, double share_of_gpu) {
  return {at.first_gpu("nvlink"), LinkClass::Nvlink, nvlink_rate(at.t) * share_of_gpu,
          latency_of(at.t, LinkClass::Nvlink)};
}

Intra by_nvswitch(const Place& at) {
  const Topology& t = at.t;
  const GpuType& gpu = t.node.gpu;
  const int gpus = at.count();
  const double total = gpu.nvlink_links * nccl_nvlink_per_link(gpu);
  Search found = best_of(nccl_speeds(gpu, false), [&](double speed) { return whole(total / speed); });
  found = doubled(found, gpu);
  found.rate *= nvlink_scale(t);
  return {found, nvlink_class(t.node), LinkClass::Nvlink, total * nvlink_scale(t) * gpus / (gpus - 1),
          nvlink_link(at, found.total() / (total * nvlink_scale(t)))};
}

// The NVLinks among these GPUs, numbered by their place in the list.
std::vector<NvLinkPair> pairs_among(const Node& node, const std::vector<int>& gpus) {
  const auto place = [&](int gpu) { return std::find(gpus.begin(), gpus.end(), gpu) - gpus.begin(); };
  std::vector<NvLinkPair> pairs;
  for (const NvLinkPair& pair : node.nvlink_pairs) {
    const auto a = place(pair.a), b = place(pair.b), end = std::ssize(gpus);
    if (a < end && b < end) pairs.push_back({static_cast<int>(a), static_cast<int>(b), pair.count});
  }
  return pairs;
}

// All NVLinks between two GPUs are one link to NCCL, so that a fast ring may span several of them.
Search between_two(const GpuType& gpu, const std::vector<NvLinkPair>& pairs) {
  double total = 0;
  for (const NvLinkPair& pair : pairs) total += pair.count * nccl_nvlink_per_link(gpu);
  return doubled(best_of(nccl_speeds(gpu, false), [&](double speed) { return whole(total / speed); }), gpu);
}

// Channels 0 when the NVLinks make no ring.
Intra by_mesh(const Place& at) {
  const Topology& t = at.t;
  const GpuType& gpu = t.node.gpu;
  const std::vector<NvLinkPair> pairs = pairs_among(t.node, at.gpus);
  const double per_link = nccl_nvlink_per_link(gpu);
  Intra intra;
  intra.path = nvlink_class(t.node);
  double links = 0;  // NVLinks of one GPU that the rings take
  if (at.count() == 2) {
    intra.found = between_two(gpu, pairs);
    for (const NvLinkPair& pair : pairs) links += pair.count;
  } else {
    const int rings = static_cast<int>(most_rings(pairs, at.count()).rings.size());
    intra.found = {std::min(rings, kMaxChannels), nccl_speed_floor(gpu, per_link)};
    links = rings;
  }
  intra.found.rate *= nvlink_scale(t);
  intra.chain_rate = intra.found.total();
  intra.link = nvlink_link(at, links / gpu.nvlink_links);
  return intra;
}

// The worst place where two neighbours of a ring over these GPUs meet.
GpuDistance widest(const Node& node, const std::vector<int>& gpus) {
  GpuDistance worst = GpuDistance::SameSwitch;
  for (const int gpu : gpus)
    if (gpu != gpus.front()) worst = std::max(worst, distance_of(node, gpus.front(), gpu));
  return worst;
}

Intra by_pcie(const Place& at) {
  const Topology& t = at.t;
  const Node& node = t.node;
  const GpuDistance distance = widest(node, at.gpus);
  const bool amd = node.host.cpu_vendor == "amd";
  const bool bridge_tax = distance == GpuDistance::SameSocket && node.host.cpu_vendor == "intel";
  Intra intra;
  // Counted on the file's rates, then scaled: an override must not fall between two speeds of the list.
  const Topology plain = without_overrides(t);
  const auto scaled = [&](double (*count)(const Topology&), double tax) {
    const double before = count(plain);
    return nccl_speed_floor(node.gpu, before / tax) * (count(t) / before);
  };
  double rate = scaled(nccl_pcie_slot, bridge_tax ? 1.2 : 1);
  intra.slowest = LinkClass::Pcie;
  intra.link = {at.first_gpu("pcie"), LinkClass::Pcie, pcie_slot_rate(t), latency_of(t, LinkClass::Pcie)};
  const auto bound = [&](double other, LinkClass link_class, const std::string& id, double physical) {
    if (other >= rate) return;
    rate = other;
    intra.slowest = link_class;
    intra.link = {id, link_class, physical, latency_of(t, link_class)};
  };
  if (distance != GpuDistance::SameSwitch && has_uplinks(node))
    bound(scaled(nccl_pcie_uplink, bridge_tax ? 1.2 : 1), LinkClass::Uplink,
          at.id(fmt::format("switch{}.uplink", switch_of(node, at.gpus.front()))), pcie_uplink_rate(t));
  if (distance == GpuDistance::OtherSocket)
    bound(scaled(nccl_interconnect, 1), LinkClass::Host, at.id("interconnect"), interconnect_rate(t));
  intra.found = {1, rate};
  intra.chain_rate = rate;
  // Peer access is used inside switches; on AMD also between any two GPUs when the job has no more than two.
  const bool peer = distance == GpuDistance::SameSwitch || (amd && at.count() <= 2);
  intra.path = node.peer_access && peer ? PathClass::PcieP2p : PathClass::PcieShm;
  return intra;
}

// Gloo's ring over loopback TCP. Per flow 1.5 GB/s, measured on a bucket of 100 MB between two pinned ranks that had
// nothing else to do (one EPYC of 2024 at 2.6 GHz); two kernel copies allow 1 to 5 GB/s. All flows together cross host
// memory six times (out of the sender, into and out of the kernel, into the receiver, and the reduction's read and
// write). Uncalibrated.
Intra by_loopback(const Place& at) {
  constexpr double kFlow = 1.5 * kGB, kPasses = 6;
  const Topology& t = at.t;
  const double file_rate = t.node.host.memory_bandwidth;
  const double rate = std::min(kFlow, file_rate / (kPasses * at.count())) * host_rate(t) / file_rate;
  return {{1, rate},
          PathClass::CpuShared,
          LinkClass::Host,
          rate,
          {at.id("host"), LinkClass::Host, host_rate(t), latency_of(t, LinkClass::Host)}};
}

Intra one_node(const Place& at) {
  const Node& node = at.t.node;
  if (at.count() == 1) return {{1, kLocalRate}, PathClass::SingleGpu, LinkClass::Nvlink, kLocalRate, {}};
  if (node.gpu.vendor == "cpu") return by_loopback(at);
  if (node.nvlink == NvLinkKind::NvSwitch) return by_nvswitch(at);
  if (node.nvlink != NvLinkKind::None) {
    Intra mesh = by_mesh(at);
    if (mesh.found.channels > 0) return mesh;
  }
  return by_pcie(at);
}

// --- Several nodes ----------------------------------------------------------------------------------------------

// NICs that sit with the node's used GPUs; all of them where the file does not say.
int near_nics(const Place& at) {
  const std::vector<int> placed = nic_switches(at.t);
  const std::vector<int> used = gpus_per_switch(at.t.node, at.gpus);
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

Link nic_link(const Place& at, int nics) {
  const bool wide_area = at.t.fabric->wide_area();
  const LinkClass link_class = wide_area ? LinkClass::Wan : LinkClass::Nic;
  return {at.id(wide_area ? "wan" : "nic0"), link_class, nics_of(at.t).rate, latency_of(at.t, link_class), 1.0 / nics};
}

// TCP: one socket per node and direction, whatever the NICs could do.
void over_tcp(const Place& at, const Intra& intra, Ring& ring) {
  const double wire = tcp_rate(at.t).rate;
  ring.channels = 1;
  ring.channel_rate = std::min(wire, intra.chain_rate);
  ring.links.push_back(nic_link(at, 1));
  ring.slowest = intra.chain_rate < wire ? intra.slowest : ring.links.back().link_class;
}

// What bounds a node's part of a ring over RDMA, in bytes/s.
struct Bounds {
  double nics = 0, slots = 0, chain = 0;
  double least() const { return std::min({nics, slots, chain}); }
};

// NCCL's answer for the rates of the machine's files, and each bound as NCCL would count it if it stood alone. Rates
// below those of the slowest RDMA networks, where the list of speeds has ever wider gaps and then ends, count as this
// one here.
struct RdmaSearch {
  Search found;
  Bounds rates;                                     // of one NIC, one slot, the node's inside: what the counts hold for
  Bounds counted;                                   // of all NICs, all slots, the node's inside
  static constexpr double kLeastRate = 1.25 * kGB;  // 10 Gb/s

  RdmaSearch(const Place& at, int nics) {
    const GpuType& gpu = at.t.node.gpu;
    const int gpus = at.count();
    rates = {std::max(nics_of(at.t).rate, kLeastRate), std::max(nccl_pcie_slot(at.t), kLeastRate),
             std::max(one_node(at).chain_rate, kLeastRate)};
    const auto by_nics = [&](double speed) { return nics * whole(rates.nics / speed); };
    const auto by_slots = [&](double speed) { return rings_by_slots(gpu, gpus, rates.slots, speed); };
    const auto by_chain = [&](double speed) { return whole(rates.chain / speed); };
    const std::vector<double>& speeds = nccl_speeds(gpu, true);
    counted = {best_of(speeds, by_nics).total(), best_of(speeds, by_slots).total(), best_of(speeds, by_chain).total()};
    found = best_of(speeds, [&](double speed) { return std::min({by_nics(speed), by_slots(speed), by_chain(speed)}); });
  }
};

// NCCL's list decides how many channels there are and how much of the wire they reach, both at the rates of the files;
// from there the bytes flow with the link that bounds them, as far up or down as an override takes it. So a NIC may be
// as slow as one likes: the list's last speed says nothing of it.
void over_rdma(const Place& at, const Intra& intra, Ring& ring) {
  const int nics = near_nics(at);
  const Topology plain = without_overrides(at.t);
  const RdmaSearch search({plain, at.node, at.gpus}, nics);
  LOCKSTEP_ENSURE(search.found.channels > 0, "no speed of the list fits {} B/s", search.rates.least());
  const double nic = nics_of(at.t).rate, slot = nccl_pcie_slot(at.t), chain = intra.chain_rate;
  const Bounds now{search.counted.nics * (nic / search.rates.nics), search.counted.slots * (slot / search.rates.slots),
                   search.counted.chain * (chain / search.rates.chain)};
  const Bounds wires{nics * nic, at.count() * slot, chain};
  const Search found = doubled(search.found, at.t.node.gpu);
  ring.channels = found.channels;
  ring.channel_rate = std::min(found.rate * (now.least() / search.counted.least()), wires.least() / found.channels);
  ring.links.push_back(nic_link(at, std::min(nics, search.found.channels)));
  if (now.chain < std::min(now.nics, now.slots))
    ring.slowest = intra.slowest;
  else
    ring.slowest = now.slots < now.nics ? LinkClass::Pcie : LinkClass::Nic;
}

// What one node finds for its part of a ring over `nodes`.
Ring part_of_ring(const Place& at, int nodes) {
  const Topology& t = at.t;
  Ring ring;
  const Intra intra = one_node(at);
  ring.slowest_node = at.node;
  ring.path = ring.intra_path = intra.path;
  ring.slowest = intra.slowest;
  ring.channels = intra.found.channels;
  ring.channel_rate = intra.found.rate;
  if (at.count() > 1) {
    ring.links.push_back(intra.link);
    ring.step_latency = intra.link.latency;
  }
  if (nodes == 1) return ring;
  LOCKSTEP_ENSURE(t.fabric.has_value(), "{} nodes without a fabric", nodes);
  ring.hop_latency = border_latency(t);
  // cpu ranks speak IP over every fabric
  ring.path = t.node.gpu.vendor == "cpu" ? PathClass::Tcp : fabric_class(t.fabric->kind);
  if (ring.path == PathClass::Tcp)
    over_tcp(at, intra, ring);
  else
    over_rdma(at, intra, ring);
  return ring;
}

// The ring of the slower of two nodes. A node with one GPU has no hop of its own, so the class within nodes comes from
// one that has.
Ring slower(const Ring& a, const Ring& b) {
  Ring ring = b.bus_bandwidth() < a.bus_bandwidth() ? b : a;
  ring.hop_latency = std::max(a.hop_latency, b.hop_latency);
  ring.step_latency = std::max(a.step_latency, b.step_latency);
  if (ring.intra_path == PathClass::SingleGpu) ring.intra_path = std::max(a.intra_path, b.intra_path);
  return ring;
}

// The nodes whose search may differ: every listed one; of like ones the first, and the last where it is partly filled.
std::vector<int> nodes_to_search(const Topology& t, int gpus, int nodes) {
  std::vector<int> all;
  for (int node = 0; node < (t.nodes.empty() ? 1 : nodes); ++node) all.push_back(node);
  if (t.nodes.empty() && nodes > 1 && gpus % t.gpus_per_node != 0) all.push_back(nodes - 1);
  return all;
}

std::vector<Ring> parts_of_ring(const Topology& t, int gpus) {
  const int nodes = t.nodes_for(gpus), last = t.local_rank(gpus - 1) + 1;
  std::vector<Ring> parts;
  for (const int node : nodes_to_search(t, gpus, nodes)) {
    const int ranks = node == nodes - 1 ? last : t.gpus_on(node);
    const Topology seen = seen_from(t, node);
    parts.push_back(part_of_ring({seen, node, t.used_gpus(node, ranks)}, nodes));
    parts.back().ranks_per_node = ranks;
  }
  return parts;
}

// What all nodes agree on: the fewest channels that one found and the lowest rate that one found, which may be less
// than the slowest node alone would do (NVIDIA/nccl src/init.cc).
Search agreed(const std::vector<Ring>& parts) {
  Search all{parts.front().channels, parts.front().channel_rate};
  for (const Ring& part : parts) all = {std::min(all.channels, part.channels), std::min(all.rate, part.channel_rate)};
  return all;
}

// The part of the slowest node's bandwidth that is left after agreeing. `searched`: on the files' rates, as by_pcie
// counts: else a faster link could slow the ring down by making one node choose few fast channels instead of many slow
// ones.
double left_after_agreeing(const std::vector<Ring>& searched) {
  double slowest = searched.front().bus_bandwidth();
  for (const Ring& part : searched) slowest = std::min(slowest, part.bus_bandwidth());
  return agreed(searched).total() / slowest;
}

}  // namespace

Ring ring_of(const Topology& t, int gpus) {
  LOCKSTEP_ENSURE(gpus >= 1 && t.gpus_per_node >= 1, "{} GPUs, {} per node", gpus, t.gpus_per_node);
  const std::vector<Ring> parts = parts_of_ring(t, gpus);
  const std::vector<Ring> searched = t.overrides.empty() ? parts : parts_of_ring(without_overrides(t), gpus);
  Ring ring = parts.front();
  bool hopper = true;
  int most = 0;
  for (const Ring& part : parts) {
    ring = slower(ring, part);
    most = std::max(most, part.ranks_per_node);
    hopper = hopper && t.node_type(part.slowest_node).gpu.compute_capability >= 9;
  }
  if (parts.size() > 1) {
    const double bandwidth = ring.bus_bandwidth() * left_after_agreeing(searched);
    ring.channels = agreed(searched).channels;
    ring.channel_rate = bandwidth / ring.channels;
  }
  ring.ranks = gpus;
  ring.nodes = t.nodes_for(gpus);
  ring.ranks_per_node = most;
  ring.communicator_channels = gpus == 1 ? 1 : 2 * ring.channels;
  if (hopper && ring.nodes > 1 && agreed(searched).rate > 45 * kGB && ring.communicator_channels < 16)
    ring.communicator_channels *= 2;
  return ring;
}

}  // namespace lockstep
