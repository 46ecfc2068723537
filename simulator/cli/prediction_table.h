// The table of a prediction: a row per run, with the causes that explain how the rows differ.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "simulator/cli/table.h"
#include "simulator/result/result.h"

namespace lockstep {

// Within kColumns columns where the fixed ones leave room. `on_cores`: CPU cores stand in for GPUs.
TextTable prediction_table(const Result& result, bool on_cores);
// What is paid, beside what one GPU gives for it; nothing without a price.
std::optional<TextTable> cost_table(const Result& result, bool on_cores);

// A column `memory` stands only where some run does not fit.
bool any_too_large(const std::vector<Run>& runs);
std::string memory_cell(const Run& run);

std::string samples_of(const Run& run);  // "images" of images/s
// At most nine characters.
std::string money_cell(const std::optional<double>& amount);

// A unit of time for all cells of a column.
struct TimeUnit {
  const char* name;
  double seconds;
};
// For steps, by the longest: ms for long.
TimeUnit step_unit_for(double longest_s);

}  // namespace lockstep
