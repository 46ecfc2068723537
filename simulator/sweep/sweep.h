// Every combination of a scenario's lists, predicted by forked workers and kept in a store.
#pragma once

#include <functional>
#include <string>

#include "scenarios/sweep_axes.h"
#include "simulator/answers/point.h"
#include "simulator/result/result.h"
#include "simulator/sweep/store.h"

namespace lockstep {

// What must agree for a stored sweep to go on: every key's value in its axes and, resolved, outside of them, and the
// contents of model and topology files that it names. Errors: those of the first combination, when nothing can be
// loaded at any value of any axis.
Expected<SweepIdentity> sweep_identity(const SweepAxes& axes, Method method);

// One point: the run that `predict` gives for these values, its 80 % band included, with `point`. A combination that
// cannot be read, loaded or run has the reason in `not_run`; `failed` when the simulation died.
struct SweptPoint {
  Run run;
  bool failed = false;
};
SweptPoint predict_swept_point(const SweepAxes& axes, std::size_t combination, Method method);

struct SweepOptions {
  Method method = Method::Simulate;
  int workers = 1;
  std::function<void(std::size_t done)> progress;      // points in the store; at least every 0.1 s
  std::function<tl::expected<void, Errors>()> stored;  // after each point that was stored; its error ends the sweep
  std::function<bool()> stop;                          // asked all the time: true ends the sweep, what is stored stays
};

// Computes what the store lacks. True: all is there; false: stopped. Errors: Io of the store, RunFailed when no process
// could be started.
Expected<bool> fill_sweep(const SweepAxes& axes, SweepStore& store, const SweepOptions& options);

}  // namespace lockstep
