// Results held against each other, row by row: the same strategy, GPUs and swept keys. Seconds; an error is
// step / reference - 1, and its parts are the differences of the breakdowns, which add up to step - reference.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "simulator/base/error.h"
#include "simulator/result/result.h"

namespace lockstep {

struct NamedResult {
  std::string name;  // the file
  Result result;
};

struct ComparedRow {
  std::string name;  // "ddp on 8"
  std::string set;   // the file compared
  double step_time_s = 0, reference_s = 0;
  double error = 0;
  std::vector<StepPart> parts;  // largest first, details empty; none where one side has no breakdown
};

struct Comparison {
  std::string reference;          // the file that the others are held against
  bool against_measured = false;  // the reference was measured
  std::vector<ComparedRow> rows;
  std::vector<std::string> unmatched;  // rows that only one side has
  double worst_error() const;          // largest |error|
  double mean_error() const;           // mean |error|
};

// What an implementation stands for: ddp, dp, dp-cpp, stand-in, single; itself where it is not known.
std::string family_of(const std::string& implementation);

// The reference is the one measured result, else the first. Errors: fewer than two results, nothing in common, families
// mixed in a row without `force`.
Expected<Comparison> compare_results(const std::vector<NamedResult>& results, bool force);

}  // namespace lockstep
