// Everything a prediction reads, loaded and checked once: the scenario with the origin of its keys, the model, the
// machine. Made from text, so that an answer may ask again with one more `--set`.
#pragma once

#include <string>
#include <vector>

#include "models/model.h"
#include "scenarios/load_model.h"
#include "scenarios/reader.h"
#include "simulator/base/error.h"
#include "topologies/topology.h"

namespace lockstep {

struct ScenarioText {
  std::string text;
  std::string file;               // for messages; its folder is where relative paths of models and topologies start
  std::vector<std::string> sets;  // arguments of --set, in their order
  ScenarioText with(const std::string& set) const;
};

struct Inputs {
  ScenarioText source;
  ReadScenario read;
  Model model;
  Topology topology;
  const Scenario& scenario() const { return read.scenario; }
};

// All that is wrong in the scenario, the model file and the topology, in file order; more GPUs than the topology holds
// is one of them.
Expected<Inputs> load_inputs(const ScenarioText& source);
// The same of one point of a sweep. `source` stays empty: levers, which ask again from text, cannot be found from it.
Expected<Inputs> load_inputs(const Document& document);

}  // namespace lockstep
