#include "hwrunner/crew/world.h"

#include <fmt/format.h>

#include <algorithm>

#include "hwrunner/launch/pinning.h"

namespace lockstep {
namespace {

std::string cores_in_words(std::size_t count) {
  return fmt::format("{} core{}", count, count == 1 ? "" : "s");
}

}  // namespace

int World::hosts_of(int first_ranks) const {
  int most = -1;
  for (int rank = 0; rank < std::min(first_ranks, size()); ++rank)
    most = std::max(most, ranks[static_cast<std::size_t>(rank)].host);
  return most + 1;
}

bool World::bound(int host) const {
  const WorldRank* first = nullptr;
  for (const WorldRank& rank : ranks) {
    if (rank.host != host) continue;
    if (first == nullptr) first = &rank;
    if (rank.cores != first->cores) return true;
  }
  return false;
}

std::optional<std::string> World::too_few_cores(int processes, int cores_each) const {
  const auto each = static_cast<std::size_t>(cores_each);
  std::vector<std::size_t> taken(hosts.size());
  for (std::size_t i = 0; i < static_cast<std::size_t>(processes); ++i) {
    const WorldRank& rank = ranks[i];
    const auto host = static_cast<std::size_t>(rank.host);
    taken[host] += each;
    if (bound(rank.host) && each > rank.cores.size())
      return fmt::format("{} has bound rank {} to {}, and it needs {}", launcher, i, cores_in_words(rank.cores.size()),
                         each);
    if (!bound(rank.host) && taken[host] > rank.cores.size())
      return fmt::format(
          "{} has {} for its ranks, and {} are needed", hosts[host], cores_in_words(rank.cores.size()),
          each * static_cast<std::size_t>(std::count_if(ranks.begin(), ranks.begin() + processes,
                                                        [&](const WorldRank& one) { return one.host == rank.host; })));
  }
  return std::nullopt;
}

std::vector<std::vector<int>> World::cores_for(int processes, int cores_each) const {
  std::vector<std::vector<int>> cores(static_cast<std::size_t>(processes));
  for (int host = 0; host < static_cast<int>(hosts.size()); ++host) {
    if (bound(host)) continue;
    std::vector<std::size_t> here;
    for (std::size_t i = 0; i < cores.size(); ++i)
      if (ranks[i].host == host) here.push_back(i);
    if (here.empty()) continue;
    const auto given = lockstep::cores_for(static_cast<int>(here.size()), cores_each, ranks[here.front()].cores);
    for (std::size_t i = 0; i < given.size(); ++i) cores[here[i]] = given[i];
  }
  return cores;
}

std::string World::in_words() const {
  std::vector<std::string> parts;
  for (std::size_t host = 0; host < hosts.size(); ++host) {
    std::vector<int> mine;
    for (std::size_t i = 0; i < ranks.size(); ++i)
      if (ranks[i].host == static_cast<int>(host)) mine.push_back(static_cast<int>(i));
    parts.push_back(fmt::format("{} (rank{} {})", hosts[host], mine.size() == 1 ? "" : "s", core_list(mine)));
  }
  return fmt::format("{} host{}: {}", hosts.size(), hosts.size() == 1 ? "" : "s", fmt::join(parts, ", "));
}

}  // namespace lockstep
