// The runs of a result as a table for other programs: one header row, one row a run, commas, fields quoted where needed
// (RFC 4180), lines end in LF. Columns as in docs/interface.md: swept keys by their dotted names, then the fixed ones.
// A value that is not known is an empty field. Numbers have a point and all digits, whatever the locale.
#pragma once

#include <string>
#include <vector>

#include "simulator/result/result.h"

namespace lockstep {

std::string result_to_csv(const Result& result);

// Row by row, with the swept keys in an order of the caller's. Each ends in LF.
std::string csv_header(const std::vector<std::string>& swept);
std::string csv_line(const Run& run, const std::vector<std::string>& swept);

// A text as one field.
std::string csv_field(const std::string& text);

}  // namespace lockstep
