// `lockstep measure` as one of several processes: what the command line adds to hwrunner/crew.
#pragma once

#include <csignal>
#include <optional>

#include "hwrunner/crew/crew.h"
#include "hwrunner/measure/measure.h"
#include "simulator/cli/commands.h"

namespace lockstep {

// The place of this process among those that a launcher or --rendezvous started; nothing where it is alone. A process
// that a launcher started is asked to stop when the launcher dies.
Expected<std::optional<CrewPlace>> crew_place(const MeasureArguments& arguments);

// What this process brings along; what is wrong with its inputs is its problem.
CrewFacts crew_facts(const MeasureArguments& arguments, const CrewPlace& place, const Expected<Inputs>& inputs);
CrewOptions crew_options(const Expected<Inputs>& inputs, volatile std::sig_atomic_t* stop);

// For all but rank 0: the program that its ranks run, or the problem that there is none.
void find_runner(const MeasureArguments& arguments, const Inputs& inputs, CrewOptions& options, CrewFacts& mine);

// The cores of a machine are those of all ranks on it.
void join_world(const World& world, MeasureRequest& request);

// The keys launcher, hosts, bound_by and clocks of `machine`; notes where clocks are not known well enough.
void describe_crew(const Crew& crew, Result& result);

}  // namespace lockstep
