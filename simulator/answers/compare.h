// Results held against each other, row by row: the same strategy, GPUs and swept keys. Seconds; an error is
// step / reference - 1, and its parts are the differences of the breakdowns, which add up to step - reference.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "simulator/answers/scenario_differences.h"
#include "simulator/base/error.h"
#include "simulator/result/result.h"

namespace lockstep {

struct NamedResult {
  std::string name;  // the file
  Result result;
};

struct NamedResultView {
  const std::string& name;
  const Result& result;
};

struct ComparedRow {
  std::string name;  // "ddp on 8"
  std::string set;   // the file compared
  double step_time_s = 0, reference_s = 0;
  double error = 0;
  std::vector<StepPart> parts;             // largest first, details empty; none where one side has no breakdown
  std::size_t run = 0, reference_run = 0;  // the places of the two among the runs of their results
  std::int64_t per_gpu_batch = 0, reference_batch = 0;  // 0: not known
  bool mixed = false;                                   // implementations of two families
  bool same_batch() const { return per_gpu_batch == reference_batch || per_gpu_batch == 0 || reference_batch == 0; }
};

// A result that is of another scenario than the reference, in keys that decide how long a step takes.
struct UnlikeResult {
  std::string set;
  std::vector<ScenarioDifference> keys;  // the result's values and the reference's
};

// One number for all rows in place of a prediction: the reference's step of one GPU without a wrapper, divided among
// the GPUs under strong scaling. Means and worst of |error| over the rows other than that one.
struct ConstantErrors {
  std::size_t rows = 0;
  double mean_error = 0;  // of what was compared, over the same rows
  double constant_mean_error = 0, constant_worst_error = 0;
};

struct Comparison {
  std::string reference;          // the file that the others are held against
  bool against_measured = false;  // the reference was measured
  std::vector<ComparedRow> rows;
  std::vector<std::string> unmatched;  // rows that only one side has
  std::vector<UnlikeResult> unlike;
  std::optional<ConstantErrors> constant;  // over all rows
  std::vector<std::string> warnings;       // of results that are unlike, or do not say what they are of: sentences
  double worst_error() const;              // largest |error|
  double mean_error() const;               // mean |error|
};

// What an implementation stands for: ddp, dp, dp-cpp, stand-in, single; itself where it is not known.
std::string family_of(const std::string& implementation);

// Every row that two results have in common, of mixed families too; `against_measured`, names and warnings set.
Comparison compare_pair(const NamedResultView& result, const NamedResultView& reference);

// Nothing where the reference has no such run or no row is left.
std::optional<ConstantErrors> constant_errors(const std::vector<ComparedRow>& rows, const Result& reference);

// The reference is the one measured result, else the first. Errors: fewer than two results, nothing in common, families
// mixed in a row without `force`.
Expected<Comparison> compare_results(const std::vector<NamedResult>& results, bool force);

}  // namespace lockstep
