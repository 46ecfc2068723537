#include "simulator/answers/drive.h"
#include "simulator/base/ensure.h"
#include "simulator/estimate/estimate.h"

namespace lockstep {

StepRecord drive(const StepGraph& graph, const Scenario& scenario, Method method) {
  LOCKSTEP_ENSURE(method == Method::Estimate, "method {} in a program without an engine", static_cast<int>(method));
  return estimate(graph, stop_rule(scenario), jitter_of(scenario));
}

}  // namespace lockstep
