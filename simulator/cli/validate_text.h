// The verdicts on claims for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "simulator/answers/claims.h"
#include "simulator/cli/output.h"

namespace lockstep {

// Within kColumns columns: a table, then what each verdict rests on (`table_only` leaves that away).
std::string claims_text(const ClaimsResult& result, const Output& output, bool table_only);

// {"rows": [...], "summary": {...}} of docs/interface.md ("validate --json") for several files of claims, indented.
std::string claims_json(const std::vector<ClaimsResult>& results);
// JSON lines: {"type":"claim", ...a row...} each.
std::string claims_json_lines(const ClaimsResult& result);
// name, set, kind, verdict, claimed, predicted, predicted_low, predicted_high, unit, agreeing, settings
std::string claims_csv(const std::vector<ClaimsResult>& results);

}  // namespace lockstep
