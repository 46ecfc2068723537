// `lockstep measure --dry-run`: what would be measured on this machine, and about how long that takes.
#pragma once

#include "hwrunner/measure/measure.h"
#include "simulator/cli/commands.h"
#include "simulator/cli/output.h"

namespace lockstep {

// Written in the form that is asked for: text, or one object of JSON (docs/interface.md, measure). The exit code.
int write_measure_plan(const MeasureArguments& arguments, const Inputs& inputs, const MeasureRequest& request,
                       Output& output);

}  // namespace lockstep
