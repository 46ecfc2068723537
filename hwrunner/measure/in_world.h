// What runs in a world of ranks that a launcher started, and which cores ranks had.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "hwrunner/crew/world.h"
#include "hwrunner/launch/launcher.h"
#include "hwrunner/measure/machine.h"

namespace lockstep {

struct WorldNeed {
  Strategy strategy = Strategy::Single;
  int gpus = 1;
  std::optional<int> nodes;         // of the scenario, for so many GPUs; nothing: it does not matter
  int threads = 0;                  // cores of a rank or replica; 0: any number may share them
  std::optional<int> devices_here;  // GPUs of rank 0's host
};
// Why that row cannot run; nothing when it can. A row of fewer ranks than the world has runs on the first of them.
std::optional<std::string> why_not_in(const World& world, const WorldNeed& need);

// The keys `rank_cores` ("0: 0-3, 1: 4-7": rank and the cores it may run on) and `pinned` (yes, no: whether no rank had
// a core of another's and none had all of the machine's) of a result's `machine`, by what the ranks of a launch said.
std::map<std::string, std::string> pinning_facts(const LaunchOutcome& launch, const Machine& machine);

}  // namespace lockstep
