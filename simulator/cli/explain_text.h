// An explanation in every form of the command line.
#pragma once

#include <string>

#include "simulator/answers/explain.h"
#include "simulator/cli/output.h"

namespace lockstep {

// Within kColumns columns; ends in a newline. `table_only` leaves the words away.
std::string explanation_text(const Explanation& explanation, const Inputs& inputs, const Output& output,
                             bool table_only);
// docs/interface.md, "explain". `one_line`: a JSON line of type result.
std::string explanation_json(const Explanation& explanation, bool one_line);
std::string explanation_csv(const Explanation& explanation);

}  // namespace lockstep
