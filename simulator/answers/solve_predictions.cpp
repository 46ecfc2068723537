#include "simulator/answers/solve_predictions.h"

#include <algorithm>

#include "simulator/answers/bands.h"

namespace lockstep {
namespace {

Strategy strategy_of(const Scenario& scenario) {
  const auto& all = scenario.strategies;
  if (std::find(all.begin(), all.end(), Strategy::Ddp) != all.end()) return Strategy::Ddp;
  return all.empty() ? Strategy::Single : all.front();
}

// Of a run that many are kept of.
Run times_of(Run run) {
  run.buckets.clear();
  run.ranks.clear();
  run.links.clear();
  run.samples.clear();
  return run;
}

bool has_loader(const Inputs& inputs) {
  return inputs.scenario().loader.active();
}

void count_against(const Run& single, Run& run) {
  run.speedup = run.throughput / single.throughput;
  run.efficiency = run.speedup / run.gpus;
}

}  // namespace

Expected<Run> SolvePredictions::fed_single(Inputs inputs) const {
  inputs.read.scenario.loader.sample_cost_s.reset();
  const auto single = Points(inputs, options_.method, options_.source).single();
  if (!single) return tl::unexpected(single.error());
  return single->run;
}

SolvePredictions::SolvePredictions(const Inputs& inputs, const SolveKey& key, const SolveOptions& options, bool whole)
    : inputs_(inputs), key_(key), options_(options), whole_(whole), strategy_(strategy_of(inputs.scenario())) {
  const auto& gpus = inputs.scenario().gpus;
  gpus_ = strategy_ == Strategy::Single ? 1 : *std::max_element(gpus.begin(), gpus.end());
}

Expected<std::optional<Run>> SolvePredictions::at(double value) {
  if (const auto known = known_.find(value); known != known_.end()) return known->second;
  if (options_.progress) options_.progress(static_cast<int>(known_.size()) + 1);
  const auto changed = load_inputs(inputs_.source.with(key_.set(value)));
  if (!changed) {
    if (refused_.empty()) refused_ = changed.error();
    return std::nullopt;
  }
  Points points(*changed, options_.method, options_.source);
  if (auto reason = points.why_not(strategy_, gpus_at(value))) return refuse(*std::move(reason));
  auto run =
      whole_ && !has_loader(*changed) ? points.run(strategy_, gpus_at(value)) : points.alone(strategy_, gpus_at(value));
  if (!run) return tl::unexpected(std::move(run.error()));
  if (whole_ && has_loader(*changed) && !run->not_run) {
    const auto single = fed_single(*changed);
    if (!single) return tl::unexpected(single.error());
    count_against(*single, *run);
  }
  if (run->not_run) return refuse(*run->not_run);
  return known_[value] = times_of(*std::move(run));
}

std::optional<Run> SolvePredictions::refuse(std::string reason) {
  Error error;
  error.kind = ErrorKind::RunFailed;
  error.file = "command line";
  error.message = std::move(reason);
  if (refused_.empty()) refused_ = {error};
  return std::nullopt;
}

Expected<SolvePredictions::Closer> SolvePredictions::closer(double value, bool with_band) {
  const auto changed = load_inputs(inputs_.source.with(key_.set(value)));
  if (!changed) return tl::unexpected(changed.error());
  Points points(*changed, options_.method, options_.source);
  const auto single = fed_single(*changed);
  if (!single) return tl::unexpected(single.error());
  auto run = points.run(strategy_, gpus_at(value));
  if (!run) return tl::unexpected(std::move(run.error()));
  if (has_loader(*changed)) count_against(*single, *run);
  Closer closer{*std::move(run), *single, {}};
  if (!with_band) return closer;
  auto band = uncertainty_of(closer.run, points);
  if (!band) return tl::unexpected(std::move(band.error()));
  closer.band = *std::move(band);
  return closer;
}

}  // namespace lockstep
