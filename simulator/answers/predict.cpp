#include "simulator/answers/predict.h"

#include <fmt/format.h>

#include <algorithm>

#include "simulator/answers/bands.h"
#include "simulator/answers/levers.h"
#include "simulator/answers/notes.h"
#include "simulator/answers/sentences.h"

namespace lockstep {
namespace {

struct PointName {
  Strategy strategy;
  int gpus;
};

std::vector<PointName> points_of(const Scenario& scenario) {
  std::vector<PointName> points = {{Strategy::Single, 1}};
  for (const Strategy strategy : scenario.strategies)
    if (strategy != Strategy::Single)
      for (const int gpus : scenario.gpus) points.push_back({strategy, gpus});
  return points;
}

std::map<std::string, std::string> fidelity_of(const Result& result, const Inputs& inputs, Method method,
                                               const KernelCalibration& calibration) {
  const Scenario& s = inputs.scenario();
  const bool communicates =
      std::any_of(result.runs.begin(), result.runs.end(), [](const Run& run) { return !run.not_run && run.gpus > 1; });
  const bool memory = std::any_of(result.runs.begin(), result.runs.end(), [](const Run& run) {
    return !run.ranks.empty() && run.ranks.front().memory_reserved_bytes.has_value();
  });
  const char* driver = method == Method::Estimate ? "estimated" : "simulated";
  const bool calibrated = s.calibrate_single_gpu && !calibration.host_limits;
  return {{"compute", calibrated ? "calibrated" : "uncalibrated"},
          {"host", "table"},
          {"network", communicates ? driver : "none"},
          {"input", s.input.source == InputSource::Device ? "none" : driver},
          {"memory", memory ? "estimated" : "none"}};
}

class Predictor {
 public:
  Predictor(const Inputs& inputs, const PredictOptions& options)
      : inputs_(inputs), options_(options), points_(inputs, options.method, options.source) {
    if (options_.parts) points_.keep_parts();
  }

  Expected<Result> run() {
    const auto names = points_of(inputs_.scenario());
    for (std::size_t i = 0; i < names.size(); ++i) {
      report(static_cast<int>(i), static_cast<int>(names.size()),
             fmt::format("{} on {} GPU{}", name_of(names[i].strategy), names[i].gpus, names[i].gpus == 1 ? "" : "s"));
      auto run = add_run(names[i], options_.timeline && is_shown(names, i));
      if (!run) return tl::unexpected(std::move(run.error()));
    }
    result_.scenario_yaml = scenario_yaml(inputs_.read);
    const Scenario& s = inputs_.scenario();
    result_.software = {{"torch", s.torch_version}, {"nccl", s.nccl_version}, {"cuda", s.cuda_version}};
    result_.fidelity = fidelity_of(result_, inputs_, options_.method, points_.calibration());
    if (auto done = add_answer(static_cast<int>(names.size())); !done) return tl::unexpected(std::move(done.error()));
    return std::move(result_);
  }

 private:
  using Done = tl::expected<void, Errors>;

  // The timeline is kept of each strategy's largest number of GPUs that can run.
  bool is_shown(const std::vector<PointName>& names, std::size_t index) const {
    int most = 0;
    for (const PointName& name : names)
      if (name.strategy == names[index].strategy && !points_.why_not(name.strategy, name.gpus))
        most = std::max(most, name.gpus);
    return names[index].gpus == most && (names[index].strategy != Strategy::Single || names.size() == 1);
  }

  void report(int done, int total, const std::string& text) const {
    if (options_.progress) options_.progress(done, total, text);
  }

  Done add_run(const PointName& name, bool timeline) {
    auto run = points_.run(name.strategy, name.gpus, timeline);
    if (!run) return tl::unexpected(std::move(run.error()));
    if (options_.uncertainty && options_.uncertainty_of_all)
      if (auto done = add_uncertainty(*run); !done) return done;
    if (options_.each_run) options_.each_run(*run);
    result_.runs.push_back(*std::move(run));
    return {};
  }

  Done add_uncertainty(Run& run) {
    if (run.not_run) return {};
    auto uncertainty = uncertainty_of(run, points_);
    if (!uncertainty) return tl::unexpected(std::move(uncertainty.error()));
    run.uncertainty = *std::move(uncertainty);
    return {};
  }

  Done add_answer(int total) {
    const auto focus = focus_run(result_.runs);
    if (!focus) return {};
    if (options_.uncertainty && !options_.uncertainty_of_all)
      if (auto done = add_uncertainty(result_.runs[*focus]); !done) return done;
    std::optional<BucketCapEffect> bucket_cap;
    if (options_.levers) {
      report(total, total, "levers");
      auto levers = find_levers(result_.runs[*focus], inputs_, options_.method, options_.source);
      if (!levers) return tl::unexpected(std::move(levers.error()));
      result_.answer.levers = std::move(levers->levers);
      bucket_cap = levers->bucket_cap;
    }
    auto single = points_.single();
    if (!single) return tl::unexpected(std::move(single.error()));
    add_notes();
    add_sentences(result_, *single, inputs_, points_.calibration(), bucket_cap, options_.levers);
    return {};
  }

  // Notes hold for the whole answer; they stand with its first run.
  void add_notes() {
    auto& notes = result_.runs.front().notes;
    for (std::string& note : notes_of(inputs_, result_.runs))
      if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(std::move(note));
  }

  const Inputs& inputs_;
  const PredictOptions& options_;
  Points points_;
  Result result_;
};

}  // namespace

Expected<Result> predict(const Inputs& inputs, const PredictOptions& options) {
  return Predictor(inputs, options).run();
}

bool nothing_ran(const Result& result) {
  bool asked = false;
  for (std::size_t i = 1; i < result.runs.size(); ++i) {
    asked = true;
    if (!result.runs[i].not_run) return false;
  }
  return asked;
}

}  // namespace lockstep
