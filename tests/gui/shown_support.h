// Results for views without a window: estimates with timelines of scenarios that come along.
#pragma once

#include <string>

#include "gui/charts/view.h"

namespace lockstep::gui::testing {

// Of a scenario's file name without folder and suffix; a failed estimate is a failed test and an empty Shown.
Shown shown_of(const std::string& scenario, const std::vector<std::string>& sets = {});

// The same runs as a measurement would have them: `factor` as long, without spans.
std::shared_ptr<const Result> measured_twin(const Result& result, double factor);

}  // namespace lockstep::gui::testing
