#include "simulator/answers/drive.h"

#include "simulator/engine/engine.h"
#include "simulator/estimate/estimate.h"

namespace lockstep {

StepRecord drive(const StepGraph& graph, const Scenario& scenario, Method method) {
  if (method == Method::Estimate) return estimate(graph, stop_rule(scenario), jitter_of(scenario));
  EngineOptions options;
  options.stop = stop_rule(scenario);
  options.jitter = jitter_of(scenario);
  options.messages = method == Method::Messages;
  return simulate(graph, options);
}

}  // namespace lockstep
