#include "gui/topology/machine_loads.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

#include "topologies/rates.h"
#include "topologies/routes.h"

namespace lockstep::gui {
namespace {

constexpr std::string_view kRing = "ring.", kCopy = "host_to_device";

class Spreader {
 public:
  Spreader(const Topology& topology, const Run& run)
      : topology_(topology), run_(run), kinds_(node_kinds(topology, run.gpus)) {}

  std::map<std::string, LinkLoad> spread() {
    int copies = 0;
    for (const LinkUse& use : run_.links) {
      ring_now_ = use.id.starts_with(kRing);
      copy_now_ = use.id.starts_with(kCopy);
      if (use.id.compare(0, kRing.size(), kRing) == 0)
        add_ring(use);
      else if (use.id.compare(0, kCopy.size(), kCopy) == 0)
        add_copy(use, copies++);
      else
        add_named(use);
    }
    return std::move(loads_);
  }

 private:
  // Both directions of a mesh's NVLink are one line of the picture.
  static std::string undirected(const std::string& id) {
    const auto gpu = id.find(".gpu"), nvlink = id.find(".nvlink");
    if (gpu == std::string::npos || nvlink == std::string::npos || nvlink + 7 == id.size()) return id;
    const std::string from = id.substr(gpu + 4, nvlink - gpu - 4), to = id.substr(nvlink + 7);
    return std::stoi(from) < std::stoi(to) ? id : fmt::format("{}.gpu{}.nvlink{}", id.substr(0, gpu), to, from);
  }

  void add(const std::string& id, double bytes, double busy, bool slowest = false) {
    LinkLoad& load = loads_[undirected(id)];
    load.bytes += std::llround(bytes);
    load.busy = std::min(1.0, load.busy + busy);
    load.slowest |= slowest;
    load.collectives |= !copy_now_;  // DataParallel's transfers between GPUs are either
    load.copies |= !ring_now_;
  }

  void add_ring(const LinkUse& use) {
    const Ring ring = ring_of(topology_, run_.gpus);
    const auto bytes = static_cast<double>(use.bytes);
    for (const NodeKind& kind : kinds_) {
      const bool here = topology_.nodes.empty() || ring.nodes == 1 ||
                        std::count(kind.nodes.begin(), kind.nodes.end(), ring.slowest_node) > 0;
      std::map<std::string, std::pair<LinkClass, double>> crossed;  // id -> class, bytes
      if (kind.used.size() > 1) add_within(kind, bytes, crossed);
      if (ring.nodes > 1) add_border(kind, ring, bytes, crossed);
      const bool by_interconnect = std::any_of(crossed.begin(), crossed.end(), [](const auto& one) {
        return one.first.find(".interconnect") != std::string::npos;
      });
      for (const auto& [id, what] : crossed) {
        const bool interconnect = id.find(".interconnect") != std::string::npos;
        const bool of_class = name_of(what.first) == use.link_class;
        const bool slowest = here && of_class && (what.first != LinkClass::Host || interconnect == by_interconnect);
        add(id, what.second, use.utilization, slowest);
      }
    }
  }

  // Ring neighbours in the order of their indices; in a mesh, whose rings take all NVLinks, every pair.
  void add_within(const NodeKind& kind, double bytes, std::map<std::string, std::pair<LinkClass, double>>& crossed) {
    const Node& node = topology_.node_type(kind.first);
    double links = 0;  // NVLinks of one GPU to others in use, at most
    std::vector<NvLinkPair> pairs;
    if (node.nvlink == NvLinkKind::Mesh || node.nvlink == NvLinkKind::Bridges) {
      std::map<int, int> of_gpu;
      for (const NvLinkPair& pair : node.nvlink_pairs) {
        const auto in_use = [&](int gpu) { return std::count(kind.used.begin(), kind.used.end(), gpu) > 0; };
        if (!in_use(pair.a) || !in_use(pair.b)) continue;
        pairs.push_back(pair);
        of_gpu[pair.a] += pair.count;
        of_gpu[pair.b] += pair.count;
      }
      for (const auto& [gpu, count] : of_gpu) links = std::max(links, static_cast<double>(count));
      if (of_gpu.size() < kind.used.size()) pairs.clear();  // someone is reached by PCIe alone, and so is the ring
    }
    for (const NvLinkPair& pair : pairs)
      crossed[fmt::format("node{}.gpu{}.nvlink{}", kind.first, std::min(pair.a, pair.b), std::max(pair.a, pair.b))] = {
          LinkClass::Nvlink, bytes * pair.count / links};
    if (!pairs.empty()) return;
    // How often each link is crossed, upwards and downwards. Memory is written and read: both count for it.
    struct Crossings {
      LinkClass link_class;
      int up = 0, down = 0;
    };
    std::map<std::string, Crossings> count;
    for (std::size_t i = 0; i < kind.used.size(); ++i) {
      const int from = kind.used[i], to = kind.used[(i + 1) % kind.used.size()];
      const std::vector<Link> path = peer_path(topology_, kind.first, from, to);
      for (std::size_t l = 0; l < path.size(); ++l) {
        Crossings& one = count.try_emplace(path[l].id, Crossings{path[l].link_class}).first->second;
        const bool between = path[l].id.find(".interconnect") != std::string::npos;
        const bool down = between ? from > to : l >= path.size() / 2;
        ++(down ? one.down : one.up);
      }
    }
    for (const auto& [id, one] : count) {
      const bool memory = one.link_class == LinkClass::Host && id.find(".interconnect") == std::string::npos;
      crossed[id] = {one.link_class, bytes * (memory ? one.up + one.down : std::max(one.up, one.down))};
    }
  }

  void add_border(const NodeKind& kind, const Ring& ring, double bytes,
                  std::map<std::string, std::pair<LinkClass, double>>& crossed) {
    const Topology seen = seen_from(topology_, kind.first);
    if (topology_.fabric && topology_.fabric->wide_area()) {
      crossed[fmt::format("node{}.wan", kind.first)] = {LinkClass::Wan, bytes};
      return;
    }
    double share = 1;
    for (const Link& link : ring.links)
      if (link.link_class == LinkClass::Nic) share = link.share;
    const int nics = std::min(nics_of(seen).count, static_cast<int>(std::lround(1 / std::max(share, 1e-3))));
    for (int nic = 0; nic < nics; ++nic)
      crossed[fmt::format("node{}.nic{}", kind.first, nic)] = {LinkClass::Nic, bytes * share};
  }

  // One of the copies that the ranks of a kind make at the same time.
  void add_copy(const LinkUse& use, int index) {
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      if (!topology_.nodes.empty() && kinds_.size() > 1 && !same_copy(use.id, index, static_cast<int>(k))) continue;
      std::set<std::string> crossed;
      for (const int gpu : kinds_[k].used)
        for (const Link& link : host_to_device_path(topology_, kinds_[k].first, gpu)) {
          const bool again = !crossed.insert(link.id).second;
          add(link.id, static_cast<double>(use.bytes), again ? 0 : use.utilization);
        }
    }
  }
  static bool same_copy(const std::string& id, int index, int kind) {
    const std::string numbered = fmt::format("{} {}", kCopy, kind);
    return id == (kind == 0 ? std::string(kCopy) : numbered) || index == kind;
  }

  void add_named(const LinkUse& use) {
    const bool first_of_node = use.id.compare(0, 4, "node") == 0;
    if (!first_of_node) return;
    // DataParallel's other GPUs are folded: what the copies to all of them do is written down for the first.
    const bool folded = run_.strategy == Strategy::Dp && run_.gpus > 2 && use.link_class == name_of(LinkClass::Nvlink);
    if (!folded) return add(use.id, static_cast<double>(use.bytes), use.utilization);
    const std::vector<int>& used = kinds_.front().used;
    const int root = used.front(), other = used[1];
    const std::string of_root = fmt::format("node0.gpu{}.nvlink", root);
    if (use.id == of_root) return add(use.id, static_cast<double>(use.bytes), use.utilization);
    const bool is_other = use.id == fmt::format("node0.gpu{}.nvlink", other) ||
                          use.id == fmt::format("node0.gpu{}.nvlink{}", root, other) ||
                          use.id == fmt::format("node0.gpu{}.nvlink{}", other, root);
    if (!is_other) return add(use.id, static_cast<double>(use.bytes), use.utilization);
    const double others = static_cast<double>(used.size() - 1);
    std::set<std::string> roots{undirected(of_root)};
    for (std::size_t i = 1; i < used.size(); ++i)
      for (const Link& link : peer_path(topology_, kinds_.front().first, root, used[i]))
        if (roots.count(link.id) == 0) add(link.id, static_cast<double>(use.bytes) / others, use.utilization / others);
  }

  const Topology& topology_;
  const Run& run_;
  std::vector<NodeKind> kinds_;
  std::map<std::string, LinkLoad> loads_;
  bool ring_now_ = false, copy_now_ = false;  // what is being spread
};

}  // namespace

std::vector<NodeKind> node_kinds(const Topology& topology, int gpus) {
  std::vector<NodeKind> kinds;
  const int nodes = topology.nodes_for(gpus);
  int left = gpus;
  for (int node = 0; node < nodes; ++node) {
    const int here = std::min(left, topology.gpus_on(node));
    left -= here;
    std::vector<int> used = topology.used_gpus(node, here);
    const auto same = std::find_if(kinds.begin(), kinds.end(), [&](const NodeKind& kind) {
      return kind.used == used && topology.node_type(kind.first).name == topology.node_type(node).name;
    });
    if (same != kinds.end())
      same->nodes.push_back(node);
    else
      kinds.push_back({node, {node}, std::move(used)});
  }
  return kinds;
}

std::map<std::string, LinkLoad> link_loads(const Topology& topology, const Run& run) {
  return Spreader(topology, run).spread();
}

RingLimit ring_limit(const Run& run) {
  for (const LinkUse& use : run.links)
    if (use.id.compare(0, kRing.size(), kRing) == 0) return {use.link_class, use.peak_rate, use.utilization, use.bytes};
  return {};
}

}  // namespace lockstep::gui
