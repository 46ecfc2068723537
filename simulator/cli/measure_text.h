// A measurement for people: the table of predict with what was measured in it, and what to doubt.
#pragma once

#include <string>

#include "simulator/answers/inputs.h"
#include "simulator/cli/output.h"
#include "simulator/result/result.h"

namespace lockstep {

std::string measurement_text(const Result& result, const Inputs& inputs, const Output& output, bool table_only);

}  // namespace lockstep
