// Every key of a scenario file, once: docs/interface.md "A scenario". Reader, `show`, schema and docs follow from it.
#pragma once

#include "scenarios/scenario.h"
#include "simulator/base/field_table.h"

namespace lockstep {

const FieldTable<Scenario>& scenario_fields();

// A model_name that stands for a file, not for a model of the zoo: it holds `/` or ends in .yaml, .yml or .json.
bool is_model_path(const std::string& name);
// The zoo's entry of that name (case and `_` do not matter), or nullptr.
const ZooEntry* find_zoo_entry(const std::string& name);

}  // namespace lockstep
