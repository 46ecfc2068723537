#include "simulator/answers/inputs.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "models/model_file.h"
#include "scenarios/fields.h"
#include "topologies/reader.h"

namespace lockstep {
namespace {

std::string folder_of(const Scenario& scenario) {
  return std::filesystem::path(scenario.file).parent_path().string();
}

TopologyRequest topology_request(const Scenario& scenario) {
  TopologyRequest request;
  request.node = scenario.topology_node;
  request.fabric = scenario.topology_fabric;
  request.gpus_per_node = scenario.gpus_per_node;
  request.overrides = scenario.topology_override;
  request.max_gpus = *std::max_element(scenario.gpus.begin(), scenario.gpus.end());
  request.folder = folder_of(scenario);
  request.cores_per_rank = scenario.measure.threads_per_rank;
  return request;
}

}  // namespace

ScenarioText ScenarioText::with(const std::string& set) const {
  ScenarioText changed = *this;
  changed.sets.push_back(set);
  return changed;
}

Expected<Model> load_model(const Scenario& scenario) {
  if (!is_model_path(scenario.model_name)) return build_zoo_model(scenario.model_name, scenario.model_options);
  const std::filesystem::path path(scenario.model_name);
  const std::filesystem::path beside = folder_of(scenario) / path;
  std::error_code ignored;
  return read_model_file(path.is_relative() && std::filesystem::exists(beside, ignored) ? beside.string()
                                                                                        : scenario.model_name);
}

namespace {

// What the reader calls last, so that these errors come with the place of the key that names the file.
ReadOptions loading_into(Inputs& inputs) {
  ReadOptions options;
  options.check = [&inputs](const Scenario& scenario) {
    Errors errors;
    Expected<Model> model = load_model(scenario);
    if (model)
      inputs.model = std::move(*model);
    else
      errors = std::move(model.error());
    for (Error& error : errors)
      if (error.file.empty() && error.key.empty()) error.key = "model.name";
    Expected<Topology> topology = load_topology(topology_request(scenario));
    if (topology)
      inputs.topology = std::move(*topology);
    else
      errors.insert(errors.end(), topology.error().begin(), topology.error().end());
    return errors;
  };
  return options;
}

}  // namespace

Expected<Inputs> load_inputs(const ScenarioText& source) {
  Inputs inputs;
  inputs.source = source;
  Expected<ReadScenario> read = read_scenario_with_origins(source.text, source.file, source.sets, loading_into(inputs));
  if (!read) return tl::unexpected(std::move(read.error()));
  inputs.read = std::move(*read);
  return inputs;
}

Expected<Inputs> load_inputs(const Document& document) {
  Inputs inputs;
  Expected<ReadScenario> read = read_scenario_document(document, loading_into(inputs));
  if (!read) return tl::unexpected(std::move(read.error()));
  inputs.read = std::move(*read);
  return inputs;
}

}  // namespace lockstep
