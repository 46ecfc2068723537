// The StepGraph on a network that can contend: ranks advance by the recurrence between meetings, copies and collectives
// are flows of SimGrid. Ranks that differ (jitter, position) are simulated one by one, identical ones once.
//
// How a rank is driven ("predict and revise"): from its last confirmed position it is walked on as if the collective
// that is open now never ended; the date of its next action is put on the calendar; when the collective ends, the rank
// is walked again from the same position. So no event per op is needed, and the result is the same as with one
// (tests/simulator/engine, property test).
#pragma once

#include "simulator/engine/network.h"
#include "simulator/steps/step_record.h"

namespace lockstep {

class Simulation;

struct EngineOptions {
  StopRule stop;
  JitterSource jitter;
  bool messages = false;  // ring collectives as single messages (reference mode, at most 64 ranks in a ring)
};

class Engine {
 public:
  // Builds links and routes in `network`, which must be new.
  Engine(const StepGraph& graph, Network& network, const EngineOptions& options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // One run from time 0. May be called again (benchmarks); last bits of a later run can differ, since SimGrid's clock
  // goes on: stored results come from the first run of a process.
  StepRecord run();

 private:
  std::unique_ptr<Simulation> simulation_;
};

// Engine on a SimGrid network of its own. Once per process.
StepRecord simulate(const StepGraph& graph, const EngineOptions& options);

}  // namespace lockstep
