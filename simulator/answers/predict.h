// The answer to a scenario: every strategy on every number of GPUs, compared with one GPU, with bands, words and
// levers.
#pragma once

#include <functional>
#include <string>

#include "simulator/answers/inputs.h"
#include "simulator/answers/points.h"
#include "simulator/result/result.h"

namespace lockstep {

struct PredictOptions {
  Method method = Method::Simulate;
  bool timeline = false;  // of each strategy's run on the most GPUs; of the single GPU when nothing else was asked
  bool parts = false;     // Run::parts of every run
  bool levers = true;
  bool uncertainty = true;
  bool uncertainty_of_all = true;  // else only of the run that the answer speaks of (focus_run): a few ms less
  std::function<void(int done, int total, const std::string& text)> progress;  // before each point
  std::function<void(const Run&)> each_run;  // as soon as it is known (uncertainty included)
  PointSource source;
};

// runs: the single GPU first, then strategy by strategy, GPU counts in the order given. A point that cannot run is
// there with the reason. Errors: kind RunFailed when a simulation died.
Expected<Result> predict(const Inputs& inputs, const PredictOptions& options = {});

// True when something was asked for beyond the baseline and none of it could run.
bool nothing_ran(const Result& result);

}  // namespace lockstep
