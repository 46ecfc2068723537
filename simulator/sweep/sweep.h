// Every combination of a scenario's lists, predicted by forked workers and kept in a store.
#pragma once

#include <functional>
#include <string>

#include "scenarios/sweep_axes.h"
#include "simulator/answers/inputs.h"
#include "simulator/answers/points.h"
#include "simulator/answers/single_memo.h"
#include "simulator/result/result.h"
#include "simulator/sweep/store.h"

namespace lockstep {

// What must agree for a stored sweep to go on: every key's value in its axes and, resolved, outside of them, and the
// contents of every file that is read for it: models, nodes, their GPUs, fabrics; presets too. Errors: those of the
// first combination, when nothing can be loaded at any value of any axis.
Expected<SweepIdentity> sweep_identity(const SweepAxes& axes, Method method);

// One point: the run that `predict` gives for these values, its 80 % band included, with `point`. A combination that
// cannot be read, loaded or run has the reason in `not_run`; `failed` when the simulation died.
struct SweptPoint {
  Run run;
  bool failed = false;
};

// Predicts points of one sweep one after the other. What does not change between them is loaded and predicted once:
// models, machines, the baseline. The values are those of a point alone.
class SweptPoints {
 public:
  // `axes` must outlive this.
  SweptPoints(const SweepAxes& axes, Method method) : axes_(axes), method_(method), source_(singles_.around({})) {}
  SweptPoints(const SweptPoints&) = delete;
  SweptPoints& operator=(const SweptPoints&) = delete;
  SweptPoint predict(std::size_t combination);

 private:
  Expected<Run> predict_loaded(const Inputs& inputs);

  const SweepAxes& axes_;
  Method method_;
  LoadedInputs loaded_;
  SingleMemo singles_;
  PointSource source_;
};

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
