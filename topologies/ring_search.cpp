#include "topologies/ring_search.h"

#include <algorithm>
#include <array>

#include "simulator/base/ensure.h"

namespace lockstep {
namespace {

constexpr int kMaxGpus = 8;
constexpr long kVisits = 400'000;  // of the packing; the cube mesh of eight needs a few thousand

// Free NVLinks by direction.
using Links = std::array<std::array<int, kMaxGpus>, kMaxGpus>;

Links free_links(const std::vector<NvLinkPair>& pairs, int gpus) {
  Links links{};
  for (const NvLinkPair& pair : pairs) {
    if (std::max(pair.a, pair.b) >= gpus) continue;
    links[pair.a][pair.b] += pair.count;
    links[pair.b][pair.a] += pair.count;
  }
  return links;
}

class Cycles {
 public:
  Cycles(const Links& links, int gpus, bool through) : links_(links), gpus_(gpus), through_(through) {
    ring_.gpus = {0};
    extend();
  }
  // A cycle stands beside its reverse.
  std::vector<MeshRing> take() { return std::move(found_); }

 private:
  void extend() {
    const int last = ring_.gpus.back();
    if (static_cast<int>(ring_.gpus.size()) == gpus_) return close(last);
    for (int next = 1; next < gpus_; ++next) {
      if (std::find(ring_.gpus.begin(), ring_.gpus.end(), next) != ring_.gpus.end()) continue;
      ring_.gpus.push_back(next);
      hop(last, next, [this] { extend(); });
      ring_.gpus.pop_back();
    }
  }
  void close(int last) {
    if (gpus_ > 2 && ring_.gpus[1] > last) return;  // its reverse is added below
    hop(last, 0, [this] {
      found_.push_back(ring_);
      if (gpus_ > 2) found_.push_back(reversed());
    });
  }
  // Every way from a to b: the direct link, or (when allowed) through one GPU between.
  template <class Then>
  void hop(int a, int b, Then then) {
    if (links_[a][b] > 0) {
      ring_.links.emplace_back(a, b);
      then();
      ring_.links.pop_back();
    } else if (through_) {
      for (int via = 0; via < gpus_; ++via) {
        if (links_[a][via] == 0 || links_[via][b] == 0) continue;
        ring_.links.emplace_back(a, via);
        ring_.links.emplace_back(via, b);
        then();
        ring_.links.resize(ring_.links.size() - 2);
      }
    }
  }
  MeshRing reversed() const {
    MeshRing back = ring_;
    std::reverse(back.gpus.begin() + 1, back.gpus.end());
    std::reverse(back.links.begin(), back.links.end());
    for (auto& [a, b] : back.links) std::swap(a, b);
    return back;
  }

  const Links& links_;
  int gpus_;
  bool through_;
  MeshRing ring_;
  std::vector<MeshRing> found_;
};

// Every ring enters and leaves every GPU.
int most_through_a_gpu(const Links& links, int gpus) {
  int most = 1 << 20;
  for (int a = 0; a < gpus; ++a) {
    int in = 0, out = 0;
    for (int b = 0; b < gpus; ++b) in += links[b][a], out += links[a][b];
    most = std::min({most, in, out});
  }
  return most;
}

// Takes cycles, each as often as it fits, until no link is left; keeps the largest set.
class Packing {
 public:
  // `rings_each`: how many rings one cycle of the list stands for.
  Packing(const std::vector<MeshRing>& cycles, const Links& links, int gpus, int rings_each)
      : cycles_(cycles), free_(links), gpus_(gpus), rings_each_(rings_each) {
    pack(0);
  }
  std::vector<MeshRing> best() const {
    std::vector<MeshRing> rings;
    for (const std::size_t index : best_) rings.push_back(cycles_[index]);
    return rings;
  }

 private:
  bool take(const MeshRing& ring, int count) {
    bool fits = true;
    for (const auto& [a, b] : ring.links) fits = (free_[a][b] -= count) >= 0 && fits;
    return fits;
  }
  void pack(std::size_t start) {
    if (taken_.size() > best_.size()) best_ = taken_;
    if (++visits_ > kVisits) return;
    for (std::size_t i = start; i < cycles_.size(); ++i) {
      if (static_cast<int>(taken_.size()) + most_through_a_gpu(free_, gpus_) / rings_each_ <=
          static_cast<int>(best_.size()))
        return;
      if (take(cycles_[i], 1)) {
        taken_.push_back(i);
        pack(i);
        taken_.pop_back();
      }
      take(cycles_[i], -1);
    }
  }

  const std::vector<MeshRing>& cycles_;
  Links free_;
  int gpus_, rings_each_;
  long visits_ = 0;
  std::vector<std::size_t> taken_, best_;
};

}  // namespace

namespace {

// Every cycle with its reverse as one: half as deep a search, and on regular meshes as good as any.
std::vector<MeshRing> pack_both_ways(const std::vector<MeshRing>& cycles, const Links& links, int gpus) {
  std::vector<MeshRing> both;
  for (std::size_t i = 0; i + 1 < cycles.size(); i += 2) {
    both.push_back(cycles[i]);
    both.back().links.insert(both.back().links.end(), cycles[i + 1].links.begin(), cycles[i + 1].links.end());
  }
  std::vector<MeshRing> rings;
  for (const MeshRing& pair : Packing(both, links, gpus, 2).best()) {
    const auto one = std::find_if(cycles.begin(), cycles.end(), [&](const MeshRing& c) {
      return c.gpus == pair.gpus && std::equal(c.links.begin(), c.links.end(), pair.links.begin());
    });
    rings.push_back(*one);
    rings.push_back(*(one + 1));
  }
  return rings;
}

std::vector<MeshRing> pack(const std::vector<MeshRing>& cycles, const Links& links, int gpus) {
  if (gpus > 2) {
    std::vector<MeshRing> rings = pack_both_ways(cycles, links, gpus);
    if (static_cast<int>(rings.size()) == most_through_a_gpu(links, gpus)) return rings;
  }
  return Packing(cycles, links, gpus, 1).best();
}

}  // namespace

MeshRings most_rings(const std::vector<NvLinkPair>& pairs, int gpus) {
  LOCKSTEP_ENSURE(gpus >= 2 && gpus <= kMaxGpus, "mesh of {} GPUs", gpus);
  const Links links = free_links(pairs, gpus);
  for (const bool through : {false, true}) {
    const std::vector<MeshRing> cycles = Cycles(links, gpus, through).take();
    MeshRings result{pack(cycles, links, gpus), through};
    if (!result.rings.empty()) return result;
  }
  return {};
}

}  // namespace lockstep
