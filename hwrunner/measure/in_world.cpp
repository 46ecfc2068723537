#include "hwrunner/measure/in_world.h"

#include <fmt/format.h>

#include <set>

#include "hwrunner/launch/pinning.h"

namespace lockstep {
namespace {

std::string counted(int count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace

std::optional<std::string> why_not_in(const World& world, const WorldNeed& need) {
  const int processes = need.strategy == Strategy::Ddp ? need.gpus : 1;
  if (processes > world.size()) return fmt::format("{} started {}", world.launcher, counted(world.size(), "rank"));
  const int hosts = world.hosts_of(processes);
  if (need.nodes && need.strategy == Strategy::Ddp && *need.nodes != hosts)
    return fmt::format("the scenario has {} on {}, {} put its first {} on {}", counted(need.gpus, "GPU"),
                       counted(*need.nodes, "node"), world.launcher, counted(processes, "rank"),
                       counted(hosts, "host"));
  if (need.devices_here) {
    int here = need.strategy == Strategy::Ddp ? 0 : need.gpus;
    for (int rank = 0; rank < processes && need.strategy == Strategy::Ddp; ++rank)
      if (world.ranks[static_cast<std::size_t>(rank)].host == 0) ++here;
    if (here > *need.devices_here)
      return fmt::format("{} has {}", world.hosts.front(), counted(*need.devices_here, "GPU"));
  }
  if (need.threads == 0) return std::nullopt;
  return world.too_few_cores(processes, need.threads * (need.gpus / processes));
}

std::map<std::string, std::string> pinning_facts(const LaunchOutcome& launch, const Machine& machine) {
  std::string text;
  std::set<std::pair<std::string, int>> taken;  // host and core
  bool apart = true;
  for (std::size_t i = 0; i < launch.ranks.size(); ++i)
    for (const Record& record : launch.ranks[i].records) {
      const auto* hello = std::get_if<HelloRecord>(&record);
      if (hello == nullptr) continue;
      text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", i, core_list(hello->cores));
      for (const int core : hello->cores) apart = taken.emplace(hello->host, core).second && apart;
      apart = apart && (hello->host != machine.host || machine.cores == 1 ||
                        static_cast<int>(hello->cores.size()) < machine.cores);
    }
  if (text.empty()) return {};
  return {{"rank_cores", text}, {"pinned", apart ? "yes" : "no"}};
}

}  // namespace lockstep
