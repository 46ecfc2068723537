// The oracle of the engine: the same StepGraph with one event per kernel, launch and wait, as three queues per rank
// (host, compute stream, communication stream). Slow and simple; shares only the Network and the graph with the engine.
#pragma once

#include "simulator/engine/engine.h"

namespace lockstep::testing {

StepRecord simulate_event_per_op(const StepGraph& graph, Network& network, const JitterSource& jitter, int steps);

}  // namespace lockstep::testing
