// Scenario files of a command line: a path, `-` for standard input, or the name of one that came with lockstep.
#pragma once

#include <string>
#include <vector>

#include "simulator/answers/inputs.h"
#include "simulator/cli/output.h"

namespace lockstep {

struct ScenarioFile {
  std::string name, path, question;
};

// Those that came with lockstep: the folders `scenarios` and `scenarios/gallery` of the installation beside the running
// program, or of the source tree it was built from. By name, earlier folders win.
std::vector<ScenarioFile> shipped_scenarios();

// The text of FILE. Errors: Io, with the nearest shipped name as a hint.
Expected<ScenarioText> read_scenario_text(const std::string& file, const std::vector<std::string>& sets,
                                          Output& output);

}  // namespace lockstep
