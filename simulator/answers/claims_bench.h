// Inside answers: the runs that claims ask for, each simulated once.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "simulator/answers/claims.h"

namespace lockstep {

class ClaimBench {
 public:
  // Both must outlive this.
  ClaimBench(const ClaimsFile& file, const ClaimsOptions& options) : file_(file), options_(options) {}

  // The run of a point at a setting; `claim` is where errors are placed. Not run, or beyond the GPU's memory: the
  // reason stands in not_run.
  Expected<const Run*> run(const Claim& claim, const ClaimSetting& setting, const ClaimPoint& point,
                           bool timeline = false);
  // 80 % band of that run's step.
  Expected<Uncertainty> band(const Claim& claim, const ClaimSetting& setting, const ClaimPoint& point);
  Expected<const Inputs*> inputs(const Claim& claim, const ClaimSetting& setting, const ClaimPoint& point);
  // Every scenario with the sets of the options alone: what is wrong then is not a claim's.
  Expected<bool> check_scenarios();

 private:
  struct Prepared {
    Inputs inputs;
    std::unique_ptr<Points> points;
    std::map<std::tuple<Strategy, int, bool>, Run> runs;
  };
  Expected<Inputs> load(std::size_t scenario, const std::vector<std::string>& sets);
  Expected<Prepared*> prepared(const Claim& claim, std::size_t scenario, const std::vector<std::string>& sets);
  Expected<Prepared*> prepared(const Claim& claim, const ClaimSetting& setting, const ClaimPoint& point);
  Expected<std::string> scenario_text(std::size_t scenario);

  const ClaimsFile& file_;
  const ClaimsOptions& options_;
  std::map<std::size_t, std::string> texts_;
  std::map<std::string, std::unique_ptr<Prepared>> prepared_;
};

// simulator/answers/claims_numbers.cpp, claims_trial.cpp
Expected<ClaimResult> try_number(const Claim& claim, const ClaimsFile& file, ClaimBench& bench);
Expected<ClaimResult> try_rule(const Claim& claim, const ClaimsFile& file, ClaimBench& bench);
// Is the claimed value in agreement with a predicted one, given what is not known of it?
bool agrees(ClaimRelation relation, double claimed, const ClaimPrediction& prediction);

}  // namespace lockstep
