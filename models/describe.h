// A model as a table for people: `lockstep show model NAME`.
#pragma once

#include <string>

#include "models/model.h"

namespace lockstep {

// One line per op (name, kind, output shape, parameters, forward FLOP, output bytes, bytes kept for backward; per
// sample, fp32), then totals. Plain text, aligned; ends with a newline.
std::string describe_model(const Model& model);

}  // namespace lockstep
