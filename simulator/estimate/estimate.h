// The StepGraph walked without contention: every copy and collective takes alpha + bytes / slowest rate of its route,
// whatever else is going on. No SimGrid. The instant answer of the window, the pace of paced runs, and the twin that
// the engine is checked against: where nothing contends both give the same times.
#pragma once

#include "simulator/steps/step_record.h"

namespace lockstep {

// Seconds from a meeting's start to its end when it has its links to itself.
double time_alone(const StepGraph& graph, const Meeting& meeting, int simulated_rank);

StepRecord estimate(const StepGraph& graph, const StopRule& rule, const JitterSource& jitter = {});

}  // namespace lockstep
