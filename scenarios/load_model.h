// The model that a scenario names.
#pragma once

#include <string>

#include "models/model.h"
#include "scenarios/scenario.h"
#include "simulator/base/error.h"

namespace lockstep {

// The file that the model is read from (relative paths start at the scenario's folder, else at the current one); empty
// for one of the zoo.
std::string model_file(const Scenario& scenario);
// One of the zoo, or that of the file.
Expected<Model> load_model(const Scenario& scenario);

}  // namespace lockstep
