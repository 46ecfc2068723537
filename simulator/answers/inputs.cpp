#include "simulator/answers/inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "topologies/reader.h"

namespace lockstep {
namespace {

std::string folder_of(const Scenario& scenario) {
  return std::filesystem::path(scenario.file).parent_path().string();
}

TopologyRequest topology_request(const Scenario& scenario) {
  TopologyRequest request;
  request.node = scenario.topology_node;
  request.nodes = scenario.topology_nodes;
  request.fabric = scenario.topology_fabric;
  request.gpus_per_node = scenario.gpus_per_node;
  if (!scenario.gpu_index.empty()) request.gpu_index = scenario.gpu_index;
  request.overrides = scenario.topology_override;
  request.max_gpus = *std::max_element(scenario.gpus.begin(), scenario.gpus.end());
  request.folder = folder_of(scenario);
  return request;
}

}  // namespace

ScenarioText ScenarioText::with(const std::string& set) const {
  ScenarioText changed = *this;
  changed.sets.push_back(set);
  return changed;
}

namespace {

// A speed in img/s is of a model that sees images. (The model may be a file, so that the reader cannot know.)
std::optional<Error> wrong_sample_unit(const Scenario& scenario, const Model& model) {
  const bool images = scenario.calibrate_word == SampleWord::Images && model.sample_unit != "images";
  const bool sequences = scenario.calibrate_word == SampleWord::Sequences && model.sample_unit != "sequences";
  if (!images && !sequences) return std::nullopt;
  const char* own = model.sample_unit == "images" ? "img/s, " : model.sample_unit == "sequences" ? "seq/s, " : "";
  Error error;
  error.kind = ErrorKind::Unit;
  error.key = "calibrate.single_gpu";
  error.found = images ? "img/s" : "seq/s";
  error.message = fmt::format("a sample of {} is not {}: its throughput is in {}/s", model.name,
                              images ? "an image" : "a sequence", model.sample_unit);
  error.allowed = fmt::format("{}samples/s, it/s, s/it, ms/it", own);
  return error;
}

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
    if (errors.empty())
      if (auto wrong = wrong_sample_unit(scenario, inputs.model)) errors.push_back(*std::move(wrong));
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
