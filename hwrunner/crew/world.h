// The ranks that a launcher started: where each of them lives and which cores it may use.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace lockstep {

struct WorldRank {
  int host = 0;            // index into World::hosts
  std::vector<int> cores;  // that its `lockstep measure` may use
};

struct World {
  std::string launcher;            // "torchrun", "Slurm", ...
  std::vector<std::string> hosts;  // names, in the order of their first rank
  std::vector<WorldRank> ranks;

  int size() const { return static_cast<int>(ranks.size()); }
  int hosts_of(int first_ranks) const;  // that the first so many ranks live on
  // The launcher has bound the ranks of a host: their cores differ. Where they are the same, nobody has, and cores are
  // given out here.
  bool bound(int host) const;

  // Why the first `processes` ranks cannot have `cores_each` cores of their own; nothing when they can.
  std::optional<std::string> too_few_cores(int processes, int cores_each) const;
  // The cores of each; empty for a rank: where its launcher has put it.
  std::vector<std::vector<int>> cores_for(int processes, int cores_each) const;
  // "2 hosts: node01 (ranks 0-3), node02 (ranks 4-7)"
  std::string in_words() const;
};

}  // namespace lockstep
