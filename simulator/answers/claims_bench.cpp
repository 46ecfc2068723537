#include "simulator/answers/claims_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "simulator/answers/bands.h"
#include "simulator/base/document.h"

namespace lockstep {
namespace {

// Errors of a scenario that a claim's or setting's --set made: placed at the entry, with the argument in the words.
Errors placed_at(Errors errors, const Claim& claim, const ClaimsFile& file) {
  for (Error& error : errors) {
    if (error.file != "--set") continue;
    error.file = file.path;
    error.line = claim.line;
    error.message = fmt::format("in claim `{}`: {}", claim.id, error.message);
  }
  return errors;
}

}  // namespace

Expected<std::string> ClaimBench::scenario_text(std::size_t scenario) {
  const auto known = texts_.find(scenario);
  if (known != texts_.end()) return known->second;
  // An absolute file replaces the folder.
  const auto path = std::filesystem::path(file_.path).parent_path() / file_.scenarios[scenario].file;
  auto text = read_text_file(path.lexically_normal().string());
  if (text) texts_[scenario] = *text;
  return text;
}

Expected<Inputs> ClaimBench::load(std::size_t scenario, const std::vector<std::string>& sets) {
  const auto text = scenario_text(scenario);
  if (!text) return tl::unexpected(text.error());
  const auto path = std::filesystem::path(file_.path).parent_path() / file_.scenarios[scenario].file;
  return load_inputs({*text, path.lexically_normal().string(), sets});
}

Expected<bool> ClaimBench::check_scenarios() {
  for (std::size_t scenario = 0; scenario < file_.scenarios.size(); ++scenario)
    if (auto inputs = load(scenario, options_.sets); !inputs) return tl::unexpected(std::move(inputs.error()));
  return true;
}

Expected<ClaimBench::Prepared*> ClaimBench::prepared(const Claim& claim, const ClaimSetting& setting,
                                                     const ClaimPoint& point) {
  std::vector<std::string> sets;
  for (std::size_t axis = 0; axis < file_.axes.size(); ++axis)
    sets.push_back(file_.axes[axis].values[setting[axis + 1]].set);
  sets.insert(sets.end(), point.sets.begin(), point.sets.end());
  sets.insert(sets.end(), options_.sets.begin(), options_.sets.end());
  auto found = prepared(claim, setting[0], sets);
  if (!found || point.gpus == 1) return found;
  // A number of GPUs that the scenario does not list is laid over it, so that the machine is checked for it.
  const std::vector<int>& gpus = (*found)->inputs.scenario().gpus;
  if (std::find(gpus.begin(), gpus.end(), point.gpus) != gpus.end()) return found;
  sets.push_back(fmt::format("gpus={}", point.gpus));
  return prepared(claim, setting[0], sets);
}

Expected<ClaimBench::Prepared*> ClaimBench::prepared(const Claim& claim, std::size_t scenario,
                                                     const std::vector<std::string>& sets) {
  auto& entry = prepared_[fmt::format("{}\n{}", scenario, fmt::join(sets, "\n"))];
  if (entry) return entry.get();
  auto inputs = load(scenario, sets);
  if (!inputs) return tl::unexpected(placed_at(std::move(inputs.error()), claim, file_));
  entry = std::make_unique<Prepared>();
  entry->inputs = *std::move(inputs);
  entry->points = std::make_unique<Points>(entry->inputs, options_.method, options_.source);
  return entry.get();
}

Expected<const Inputs*> ClaimBench::inputs(const Claim& claim, const ClaimSetting& setting, const ClaimPoint& point) {
  const auto found = prepared(claim, setting, point);
  if (!found) return tl::unexpected(found.error());
  return &(*found)->inputs;
}

Expected<const Run*> ClaimBench::run(const Claim& claim, const ClaimSetting& setting, const ClaimPoint& point,
                                     bool timeline) {
  const auto found = prepared(claim, setting, point);
  if (!found) return tl::unexpected(found.error());
  Prepared& at = **found;
  const std::tuple key{point.strategy, point.gpus, timeline};
  const auto known = at.runs.find(key);
  if (known != at.runs.end()) return &known->second;
  auto run = at.points->run(point.strategy, point.gpus, timeline);
  if (!run) return tl::unexpected(run.error());
  if (!run->not_run && !fits_memory(*run, at.inputs.topology).value_or(true))
    run->not_run = fmt::format("it does not fit the memory of one {}", at.inputs.topology.node.gpu.name);
  return &(at.runs[key] = *std::move(run));
}

Expected<Uncertainty> ClaimBench::band(const Claim& claim, const ClaimSetting& setting, const ClaimPoint& point) {
  const auto one = run(claim, setting, point);
  if (!one) return tl::unexpected(one.error());
  const auto found = prepared(claim, setting, point);
  if (!found) return tl::unexpected(found.error());
  return uncertainty_of(**one, *(*found)->points);
}

}  // namespace lockstep
