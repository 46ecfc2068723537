// A prediction for people: what it is of, a table, the sentences, what would help, notes.
#pragma once

#include <string>

#include "simulator/answers/inputs.h"
#include "simulator/cli/output.h"
#include "simulator/result/result.h"

namespace lockstep {

// Within kColumns columns; ends in a newline. `table_only` leaves the words away.
std::string prediction_text(const Result& result, const Inputs& inputs, const Output& output, bool table_only);

// "resnet50 (image 32) on dgx-a100-80gb, fp32, 128 images per GPU and step"
std::string prediction_title(const Inputs& inputs);

}  // namespace lockstep
