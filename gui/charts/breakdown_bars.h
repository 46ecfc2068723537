// Where a step goes, as numbers: one bar a run with its causes in the order of a step. Pure.
#pragma once

#include <optional>
#include <vector>

#include "gui/charts/device_words.h"
#include "gui/charts/view.h"

namespace lockstep::gui {

struct BreakdownPart {
  Cause cause = Cause::Other;
  double seconds = 0;
};

struct BreakdownBar {
  QString name;  // "DDP ×8", "DDP ×8 measured", "DDP ×8, does not fit"; no two bars have the same
  QString file;  // of a loaded result
  Strategy strategy = Strategy::Single;
  int gpus = 1;
  double step_s = 0;
  double hidden_s = 0;  // communication beside computing
  bool present = false, measured = false, pinned = false;
  std::optional<bool> fits;          // in the memory of its GPUs, where that is known
  std::vector<BreakdownPart> parts;  // in the order of a step; they add up to step_s
  // Of the prediction, where the pinned result has the run: its step and its parts, whether the difference says
  // nothing and whether both train the same batch (gui/compare/difference.h).
  std::optional<double> pinned_s;
  std::vector<BreakdownPart> pinned_parts;
  bool unsure = false, same_work = true;

  double part_s(Cause cause) const;
  double pinned_part_s(Cause cause) const;
};

// All runs with parts: each of the prediction, below it its pinned and its measured twins. Unmatched ones at the end.
std::vector<BreakdownBar> breakdown_bars(const Shown& shown);

// At most `room` bars: those of the single GPU and of the most GPUs stay.
std::vector<BreakdownBar> bars_that_fit(std::vector<BreakdownBar> bars, int room);

// Causes that are at least `least` of some bar, in the order of a step. The others are drawn as one part.
std::vector<Cause> visible_causes(const std::vector<BreakdownBar>& bars, double least = 0.005);

}  // namespace lockstep::gui
