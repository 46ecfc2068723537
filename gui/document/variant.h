// The scenario that was measured, seen from the open one: what is another in it, and how the open one becomes it.
#pragma once

#include <string>
#include <vector>

#include "gui/document/scenario_document.h"
#include "simulator/result/result.h"

namespace lockstep::gui {

// key=value for each setting that makes another prediction: how long is measured, and a calibration, do not count.
// Empty where a prediction of the open scenario is one of what `yaml` says, or where one of the two cannot be read.
std::vector<std::string> differences(const ScenarioDocument& open, const std::string& yaml);

// One undo step after which `open` says what `yaml` says; comments of the text stay where they can. With `more`, as
// --set, after it.
Errors become(ScenarioDocument& open, const std::string& yaml, const std::vector<std::string>& more,
              const QString& what);

// The measured step of one GPU or core as calibrate.single_gpu takes it: "0.171s/it"; empty where none was measured.
std::string measured_calibration(const Result& result);

}  // namespace lockstep::gui
