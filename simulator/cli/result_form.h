// A result as the command's form asks: as JSON document, JSON line or CSV table; text is each command's own.
#pragma once

#include <functional>
#include <string>

#include "simulator/cli/output.h"
#include "simulator/result/result.h"

namespace lockstep {

std::string result_in_form(const Result& result, Form form, const std::function<std::string()>& as_text);

}  // namespace lockstep
