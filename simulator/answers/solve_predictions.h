// The predictions that a solver asks for: one key at several values, each predicted once. Internal to answers/solve*.
#pragma once

#include <map>
#include <string>

#include "simulator/answers/solve.h"
#include "simulator/answers/solve_key.h"

namespace lockstep {

class SolvePredictions {
 public:
  // `inputs` and `options` must outlive this. `whole`: with what takes the baseline (efficiency).
  SolvePredictions(const Inputs& inputs, const SolveKey& key, const SolveOptions& options, bool whole);

  Strategy strategy() const { return strategy_; }
  int gpus() const { return gpus_; }  // of the scenario
  const Inputs& inputs() const { return inputs_; }

  // Nothing where the scenario with this value is refused or cannot run. Errors: RunFailed.
  Expected<std::optional<Run>> at(double value);
  // The run at a value that can be tried, its baseline, and how sure it is.
  struct Closer {
    Run run, single;
    Uncertainty band;
  };
  Expected<Closer> closer(double value, bool with_band);
  // Why nothing could be tried: of the first value refused.
  const Errors& refused() const { return refused_; }

 private:
  // One GPU whose batches are always ready: one that waits for the same loader would make any loader look good enough.
  Expected<Run> fed_single(Inputs inputs) const;
  std::optional<Run> refuse(std::string reason);  // nothing, and keeps the first reason
  int gpus_at(double value) const { return key_.is_gpus() ? static_cast<int>(value) : gpus_; }

  const Inputs& inputs_;
  const SolveKey& key_;
  const SolveOptions& options_;
  bool whole_;
  Strategy strategy_;
  int gpus_;
  std::map<double, Run> known_;
  Errors refused_;
};

}  // namespace lockstep
