// A key of the scenario that can be solved for: its present value, the values that may be tried, and how one is given
// to the scenario.
#pragma once

#include <string>

#include "simulator/answers/inputs.h"
#include "simulator/answers/solve_search.h"
#include "simulator/base/field_info.h"

namespace lockstep {

class SolveKey {
 public:
  // `key`: dotted. Errors: an unknown key, one without a number, a batch beside calibrate.single_gpu.
  static Expected<SolveKey> find(const std::string& key, const Inputs& inputs);

  const std::string& name() const { return field_->key; }
  const char* unit() const;  // B/s, B, s, FLOP/s, or empty
  bool is_gpus() const { return field_->key == "gpus"; }
  double present(const Inputs& inputs) const;  // of several GPU numbers the largest
  double start(const Inputs& inputs) const;    // where to begin; above 0
  SearchRange range() const;
  std::string set(double value) const;   // argument of --set
  std::string text(double value) const;  // the value alone, exactly

 private:
  explicit SolveKey(const FieldInfo& field) : field_(&field) {}
  const FieldInfo* field_;
};

}  // namespace lockstep
