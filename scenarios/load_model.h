// The model that a scenario names.
#pragma once

#include "models/model.h"
#include "scenarios/scenario.h"
#include "simulator/base/error.h"

namespace lockstep {

// One of the zoo, or a file (relative paths start at the scenario's folder, else at the current one).
Expected<Model> load_model(const Scenario& scenario);

}  // namespace lockstep
