#include <cmath>

#include "simulator/result/json_archive.h"

namespace lockstep {
namespace {

// Parts of a breakdown are differences of times: rounding may leave one a hair below zero. `other` is what the marks of
// a measured step leave over, and marks may end a little after their step.
constexpr double kRoundingSeconds = 1e-9;
constexpr double kMarksBeyondStep = 0.01;  // of the step

class ResultChecks {
 public:
  ResultChecks(const std::string& file, Errors& errors) : file_(file), errors_(errors) {}

  void run(const Run& run, const std::string& path) {
    at_least_one(path + "gpus", run.gpus);
    at_least_one(path + "world_size", run.world_size);
    at_least_one(path + "nodes", run.nodes);
    if (run.not_run) return;
    if (run.step_time_s == 0)
      fail(ErrorKind::Missing, path + "step_time_s", "", "a time above 0 s",
           "a run needs its `step_time_s`, or in `not_run` the reason why it has none");
    else
      positive(path + "step_time_s", run.step_time_s);
    at_least_one(path + "micro_steps", run.micro_steps);
    not_negative(path + "per_gpu_batch", static_cast<double>(run.per_gpu_batch));
    not_negative(path + "throughput", run.throughput);
    not_negative(path + "speedup", run.speedup);
    not_negative(path + "efficiency", run.efficiency);
    not_negative(path + "hidden_communication_s", run.hidden_communication_s);
    for (const Cause cause : kCauses)
      if (!(run.part_s(cause) >= (cause == Cause::Other ? -kMarksBeyondStep * run.step_time_s : -kRoundingSeconds)))
        not_negative(fmt::format("{}breakdown_s.{}", path, name_of(cause)), run.part_s(cause));
    spreads(run, path);
  }

  void positive(const std::string& key, double value) {
    if (std::isfinite(value) && value > 0) return;
    fail(ErrorKind::Range, key, fmt::format("{}", value), "a number above 0", fmt::format("`{}` must be above 0", key));
  }

 private:
  void spreads(const Run& run, const std::string& path) {
    for (std::size_t i = 0; i < run.samples.size(); ++i)
      for (std::size_t k = 0; k < run.samples[i].step_times_s.size(); ++k)
        positive(fmt::format("{}samples[{}].step_times_s[{}]", path, i, k), run.samples[i].step_times_s[k]);
    if (run.spread) {
      positive(path + "spread_s.p5", run.spread->p5);
      positive(path + "spread_s.p50", run.spread->p50);
      positive(path + "spread_s.p95", run.spread->p95);
    }
    if (run.baseline) not_negative(path + "baseline.step_time_s", run.baseline->step_time_s);
    if (!run.uncertainty) return;
    positive(path + "uncertainty_s.low", run.uncertainty->low);
    positive(path + "uncertainty_s.high", run.uncertainty->high);
    if (run.uncertainty->high < run.uncertainty->low)
      fail(ErrorKind::Range, path + "uncertainty_s.high", fmt::format("{}", run.uncertainty->high),
           fmt::format("at least {}", run.uncertainty->low), "a band ends above its lower end");
  }
  void at_least_one(const std::string& key, int value) {
    if (value < 1)
      fail(ErrorKind::Range, key, fmt::format("{}", value), "a whole number from 1",
           fmt::format("`{}` must be at least 1", key));
  }
  void not_negative(const std::string& key, double value) {
    if (std::isfinite(value) && value >= 0) return;
    fail(ErrorKind::Range, key, fmt::format("{}", value), "0 or more", fmt::format("`{}` may not be negative", key));
  }
  void fail(ErrorKind kind, const std::string& key, std::string found, std::string allowed, std::string message) {
    Error error;
    error.kind = kind;
    error.file = file_;
    error.key = key;
    error.found = std::move(found);
    error.allowed = std::move(allowed);
    error.message = std::move(message);
    errors_.push_back(std::move(error));
  }

  const std::string& file_;
  Errors& errors_;
};

}  // namespace

void check_result(const Result& result, const std::string& file, Errors& errors) {
  ResultChecks checks(file, errors);
  if (result.kind != "predicted" && result.kind != "measured") {
    Error error;
    error.kind = ErrorKind::Type;
    error.file = file;
    error.key = "kind";
    error.found = result.kind;
    error.allowed = "predicted, measured";
    error.message = "`kind` says whether a result was predicted or measured";
    errors.push_back(std::move(error));
  }
  for (std::size_t i = 0; i < result.runs.size(); ++i) checks.run(result.runs[i], fmt::format("runs[{}].", i));
  for (std::size_t i = 0; i < result.answer.levers.size(); ++i)
    checks.positive(fmt::format("answer.levers[{}].step_time_s", i), result.answer.levers[i].step_time_s);
}

}  // namespace lockstep
