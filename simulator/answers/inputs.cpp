#include "simulator/answers/inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
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
  request.cores_per_rank = scenario.measure.threads_per_rank;
  return request;
}

}  // namespace

ScenarioText ScenarioText::with(const std::string& set) const {
  ScenarioText changed = *this;
  changed.sets.push_back(set);
  return changed;
}

std::optional<Error> wrong_sample_unit(SampleWord word, const Model& model) {
  const bool images = word == SampleWord::Images && model.sample_unit != "images";
  const bool sequences = word == SampleWord::Sequences && model.sample_unit != "sequences";
  if (!images && !sequences) return std::nullopt;
  const char* own = model.sample_unit == "images" ? "img/s, " : model.sample_unit == "sequences" ? "seq/s, " : "";
  Error error;
  error.kind = ErrorKind::Unit;
  error.found = images ? "img/s" : "seq/s";
  error.message = fmt::format("a sample of {} is not {}: its throughput is in {}/s", model.name,
                              images ? "an image" : "a sequence", model.sample_unit);
  error.allowed = fmt::format("{}samples/s", own);
  return error;
}

namespace {

std::optional<Error> not_predicted(const Scenario& scenario) {
  const bool syncs = scenario.host_sync != HostSync::None;
  const auto& strategies = scenario.strategies;
  const bool cpp = std::find(strategies.begin(), strategies.end(), Strategy::DpCpp) != strategies.end();
  if (scenario.ddp.hook == CommHook::None && scenario.front_end != FrontEnd::Cpp && !syncs && !cpp) return std::nullopt;
  Error error;
  error.kind = ErrorKind::NotSupported;
  if (cpp) {
    error.key = "strategy";
    error.found = name_of(Strategy::DpCpp);
    error.message = "predictions know no dp-cpp (LibTorch's data_parallel) yet; `lockstep measure` runs it on GPUs";
    error.allowed = "single, dp, ddp";
    return error;
  }
  if (scenario.front_end == FrontEnd::Cpp) {
    error.key = "front_end";
    error.message = "predictions are of Python's host times; `lockstep measure` runs cpp";
    error.allowed = "auto, python";
    return error;
  }
  if (syncs) {
    error.key = "loop.host_sync";
    error.message = "predictions do not read the loss back yet; `lockstep measure` does";
    error.allowed = "none";
    return error;
  }
  error.key = "ddp.hook";
  error.message = "predictions know no communication hook yet; `lockstep measure` runs them";
  error.allowed = "none";
  return error;
}

// What the reader calls last, so that these errors come with the place of the key that names the file. `loaded`:
// nullptr reads and builds all anew.
ReadOptions loading_into(Inputs& inputs, LoadedInputs* loaded, Accept accept) {
  ReadOptions options;
  if (loaded != nullptr)
    options.check_zoo_model = [loaded](const std::string& name, const ModelOptions& model_options) {
      const Expected<Model>& model = loaded->zoo_model(name, model_options);
      return model ? Errors{} : model.error();
    };
  options.check = [&inputs, loaded, accept](const Scenario& scenario) {
    Errors errors;
    Expected<Model> model = loaded != nullptr ? loaded->model(scenario) : load_model(scenario);
    if (model)
      inputs.model = std::move(*model);
    else
      errors = std::move(model.error());
    for (Error& error : errors)
      if (error.file.empty() && error.key.empty()) error.key = "model.name";
    if (errors.empty())
      if (auto wrong = wrong_sample_unit(scenario.calibrate_word, inputs.model)) {
        wrong->key = "calibrate.single_gpu";
        wrong->allowed += ", it/s, s/it, ms/it";
        errors.push_back(*std::move(wrong));
      }
    if (auto wrong = not_predicted(scenario); wrong && accept == Accept::Predicted) errors.push_back(*std::move(wrong));
    const TopologyRequest request = topology_request(scenario);
    Expected<Topology> topology = loaded != nullptr ? loaded->topology(request) : load_topology(request);
    if (topology)
      inputs.topology = std::move(*topology);
    else
      errors.insert(errors.end(), topology.error().begin(), topology.error().end());
    return errors;
  };
  return options;
}

}  // namespace

Expected<Inputs> load_inputs(const ScenarioText& source, Accept accept) {
  Inputs inputs;
  inputs.source = source;
  Expected<ReadScenario> read =
      read_scenario_with_origins(source.text, source.file, source.sets, loading_into(inputs, nullptr, accept));
  if (!read) return tl::unexpected(std::move(read.error()));
  inputs.read = std::move(*read);
  return inputs;
}

template <class Load>
const Expected<Model>& LoadedInputs::known_model(const std::string& name, const std::string& file,
                                                 const ModelOptions& options, const Load& load) {
  for (const KnownModel& known : models_)
    if (known.name == name && known.file == file && known.options == options) return known.model;
  if (models_.size() == kMost) models_.pop_front();
  models_.push_back({name, file, options, load()});
  return models_.back().model;
}

const Expected<Model>& LoadedInputs::zoo_model(const std::string& name, const ModelOptions& options) {
  return known_model(name, "", options, [&] { return build_zoo_model(name, options); });
}

const Expected<Model>& LoadedInputs::model(const Scenario& scenario) {
  if (model_file(scenario).empty()) return zoo_model(scenario.model_name, scenario.model_options);
  return known_model(scenario.model_name, scenario.file, scenario.model_options, [&] { return load_model(scenario); });
}

Expected<Topology> LoadedInputs::topology(const TopologyRequest& request) {
  TopologyRequest bare = request;
  bare.overrides.clear();
  bare.max_gpus = 1;
  auto known = std::find_if(topologies_.begin(), topologies_.end(),
                            [&](const KnownTopology& one) { return one.request == bare; });
  if (known == topologies_.end()) {
    if (topologies_.size() == kMost) topologies_.pop_front();
    topologies_.push_back({bare, load_topology(bare)});
    known = std::prev(topologies_.end());
  }
  // Where the bare machine is wrong already, this request may be wrong in more ways.
  return known->topology ? with_request(*known->topology, request) : load_topology(request);
}

Expected<Inputs> load_inputs(const Document& document, LoadedInputs& loaded) {
  Inputs inputs;
  Expected<ReadScenario> read = read_scenario_document(document, loading_into(inputs, &loaded, Accept::Predicted));
  if (!read) return tl::unexpected(std::move(read.error()));
  inputs.read = std::move(*read);
  return inputs;
}

}  // namespace lockstep
