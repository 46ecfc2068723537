// From one step to another, cause by cause: what a run on n GPUs takes beyond its fair share of the step it is compared
// with. The differences add up: base_s + sum of rows = run_s. No widgets.
#pragma once

#include <QString>
#include <vector>

#include "gui/charts/device_words.h"
#include "simulator/result/result.h"

namespace lockstep::gui {

struct WaterfallRow {
  Cause cause = Cause::Other;
  bool joined = false;           // of several small differences; cause says nothing then
  double base_s = 0, run_s = 0;  // in the fair share and in the run
  double from_s = 0;             // where the bar starts: base_s of the whole and the rows above
  std::vector<StepPart> parts;   // of the run, longest first; empty where they are not known
  double seconds() const { return run_s - base_s; }
};

struct Waterfall {
  QString base_name, run_name;
  Devices devices = Devices::Gpus;
  double base_s = 0;  // the fair share of the base's step: the same samples, were nothing lost (answers/sentences.h)
  double run_s = 0;
  double base_step_s = 0;  // of the base as it is
  std::vector<WaterfallRow> rows;
  bool empty() const { return run_s <= 0; }
  bool shared() const { return base_s != base_step_s; }  // strong scaling: the base works on all samples
};

// Rows by size, those that go the way of the whole difference first; what is below 0.3 % of the longer step is joined
// at the end.
Waterfall waterfall_of(const Run& base, const Run& run);

// What the axis shows: from 0, or from a round number below both steps where nearly all would be the common part.
struct WaterfallAxis {
  double low_s = 0, high_s = 1;
  bool cut() const { return low_s > 0; }
};
WaterfallAxis axis_of(const Waterfall& waterfall);

}  // namespace lockstep::gui
