// Inside answers: one claim that is no number of a run, tried by its rule.
#pragma once

#include <string>
#include <vector>

#include "simulator/answers/claims_bench.h"

namespace lockstep {

inline constexpr double kClaimWorthSaying = 0.01;  // a smaller share of a step or of bytes decides nothing

class ClaimTrial {
 public:
  using Done = tl::expected<void, Errors>;
  ClaimTrial(const Claim& claim, const ClaimsFile& file, ClaimBench& bench);
  Expected<ClaimResult> run();

 private:
  Done decide();
  // claims_rules.cpp
  Done overlap();
  Done host_gather();
  Done link_rate();
  Done other_backend();
  Done no_sync();
  // claims_rules_code.cpp
  Done large_model();
  Done equal_shares();
  Done timeout();
  Done device_ids();
  Done zero_grad();

  // The claim's run at a setting, with more arguments of --set.
  Expected<const Run*> run_of(const ClaimSetting& setting, const std::vector<std::string>& more = {},
                              bool timeline = false);
  Expected<const Inputs*> default_inputs() { return bench_.inputs(claim_, defaults_.front(), claim_.of); }
  std::string point_name() const;  // "DDP on 8 GPUs"
  const std::string& scenario_name(const ClaimSetting& setting) const { return file_.scenarios[setting[0]].name; }
  void say(std::string sentence) { result_.evidence.push_back(std::move(sentence)); }
  void part(const std::string& name, Verdict verdict);
  static Verdict verdict_if(bool holds) { return holds ? Verdict::Supported : Verdict::Contradicted; }
  void conclude();                  // the parts' verdicts: supported only if all hold
  bool cannot_run(const Run& run);  // then the claim is not checkable, and says why

  const Claim& claim_;
  const ClaimsFile& file_;
  ClaimBench& bench_;
  std::vector<ClaimSetting> defaults_;  // of each scenario: the first value of every axis
  std::vector<ClaimSetting> tried_;
  ClaimResult result_;
};

}  // namespace lockstep
