#include "simulator/engine/engine.h"

#include "simulator/engine/simulation.h"

namespace lockstep {

Engine::Engine(const StepGraph& graph, Network& network, const EngineOptions& options)
    : simulation_(std::make_unique<Simulation>(graph, network, options)) {}
Engine::~Engine() = default;
StepRecord Engine::run() {
  return simulation_->run();
}

StepRecord simulate(const StepGraph& graph, const EngineOptions& options) {
  const auto network = make_simgrid_network();
  Engine engine(graph, *network, options);
  return engine.run();
}

}  // namespace lockstep
