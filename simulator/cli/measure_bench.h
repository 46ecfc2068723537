// `lockstep measure FILE --bench KIND`: the part of the command after the scenario is read and the runner is found.
#pragma once

#include "hwrunner/measure/measure.h"
#include "simulator/cli/commands.h"

namespace lockstep {

// Exit code 0; 1: an option has no size or time; 2: a rank failed or nothing was timed; 130.
int run_bench(const MeasureArguments& arguments, const Inputs& inputs, const MeasureRequest& request, Output& output);

}  // namespace lockstep
