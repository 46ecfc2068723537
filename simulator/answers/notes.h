// Settings that cannot change this answer, each with the reason: what the scenario reader cannot see, because it takes
// the machine and the runs to know.
#pragma once

#include <string>
#include <vector>

#include "simulator/answers/inputs.h"
#include "simulator/result/result.h"

namespace lockstep {

// One sentence each, the reader's own notes first.
std::vector<std::string> notes_of(const Inputs& inputs, const std::vector<Run>& runs);

}  // namespace lockstep
