// Whether a scenario's machine is this one, and what becomes of a scenario that is to run on this one all the same.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hwrunner/launch/plan.h"
#include "hwrunner/measure/machine.h"
#include "hwrunner/measure/runner_program.h"
#include "simulator/answers/inputs.h"

namespace lockstep {

// A row that was asked for and cannot run on this machine.
struct HeldBack {
  Strategy strategy = Strategy::Single;
  int gpus = 1;
  std::string reason;
};

// Ranks of `threads` cores that the machine holds.
int ranks_held(const Machine& machine, int threads);
// Why it cannot hold `ranks`; nothing when it can.
std::optional<std::string> too_many_ranks(const Machine& machine, int ranks, int threads);

// `--here`: the scenario on the cores of this machine.
struct Here {
  ScenarioText text;                // with more --set, after those of the user
  std::vector<HeldBack> held_back;  // what its `gpus` asked for beyond that
  std::vector<std::string> notes;   // what was changed, a sentence each
};
// The topology becomes cpu-host with as many ranks as there are cores for; `gpus` keeps what it holds (else its most);
// a calibration of the other machine goes, tf32 becomes fp32. A batch that was not given by --set is halved until one
// rank's step is expected to take 5 s at most and all ranks' memory is expected to fit 60 % of what is available.
// Errors: those of the scenario; Range when not even one rank fits.
Expected<Here> resolve_here(const ScenarioText& given, const Machine& machine);

// Nothing, or why the scenario's topology is not this machine (key topology.node), with `--here` as the hint.
std::optional<Error> not_this_machine(const Inputs& inputs, const Machine& machine, const RunnerProbe* gpus);

}  // namespace lockstep
