// Who walks the graph of a point: the one place of the answers that knows the engine. A program links lockstep::answers
// and can simulate, or lockstep::answers_estimated, which holds no SimGrid: there only Method::Estimate may be asked
// for.
#pragma once

#include "scenarios/scenario.h"
#include "simulator/answers/point.h"
#include "simulator/steps/step_record.h"

namespace lockstep {

// Steady steps of a run with noise that are walked and not shown: the host's run-ahead settles in them.
inline constexpr int kSettlingSteps = 2;

// How many steps this scenario's points need.
StopRule stop_rule(const Scenario& scenario);

StepRecord drive(const StepGraph& graph, const Scenario& scenario, Method method);

}  // namespace lockstep
