// Everything a prediction reads, loaded and checked once: the scenario with the origin of its keys, the model, the
// machine. Made from text, so that an answer may ask again with one more `--set`.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "models/model.h"
#include "scenarios/load_model.h"
#include "scenarios/reader.h"
#include "simulator/base/error.h"
#include "topologies/reader.h"
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

// What a scenario may ask for: only what predictions know, or also what only `lockstep measure` can do (`ddp.hook`).
enum class Accept { Predicted, Measured };

// All that is wrong in the scenario, the model file and the topology, in file order; more GPUs than the topology holds
// is one of them.
Expected<Inputs> load_inputs(const ScenarioText& source, Accept accept = Accept::Predicted);

// The models and machines that one process loaded last, for whoever loads many scenarios with few of them. Files must
// stay as they are while it lives.
class LoadedInputs {
 public:
  const Expected<Model>& model(const Scenario& scenario);
  const Expected<Model>& zoo_model(const std::string& name, const ModelOptions& options);
  Expected<Topology> topology(const TopologyRequest& request);

 private:
  static constexpr std::size_t kMost = 16;  // of each kind; the oldest goes first
  struct KnownModel {
    std::string name, file;  // file: of the scenario, whose folder a path starts at; empty for the zoo
    ModelOptions options;
    Expected<Model> model;
  };
  struct KnownTopology {
    TopologyRequest request;
    Expected<Topology> topology;
  };
  template <class Load>
  const Expected<Model>& known_model(const std::string& name, const std::string& file, const ModelOptions& options,
                                     const Load& load);
  std::deque<KnownModel> models_;
  std::deque<KnownTopology> topologies_;
};

// The same of one point of a sweep. `source` stays empty: levers, which ask again from text, cannot be found from it.
Expected<Inputs> load_inputs(const Document& document, LoadedInputs& loaded);

}  // namespace lockstep
