// What the Python front end needs of a scenario beyond RunPlan's own numbers.
#pragma once

#include <string>

#include "models/model.h"
#include "scenarios/scenario.h"

namespace lockstep {

// RunPlan::python: {"model": a model file, "training": names as in lockstep_train.py, class Settings; bytes, and the
// scenario's own words for choices}.
std::string python_plan(const Scenario& scenario, const Model& model);

}  // namespace lockstep
