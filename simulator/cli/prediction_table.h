// The table of a prediction: a row per run, with the causes that explain how the rows differ.
#pragma once

#include "simulator/cli/table.h"
#include "simulator/result/result.h"

namespace lockstep {

// Within kColumns columns where the fixed ones leave room. `on_cores`: CPU cores stand in for GPUs.
TextTable prediction_table(const Result& result, bool on_cores);

// A unit of time for all cells of a column.
struct TimeUnit {
  const char* name;
  double seconds;
};
// For steps, by the longest: ms for long.
TimeUnit step_unit_for(double longest_s);

}  // namespace lockstep
