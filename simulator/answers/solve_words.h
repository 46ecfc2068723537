// The answers of a solver as sentences (ids in catalogue.cpp). Internal to answers/solve*.
#pragma once

#include <string>

#include "simulator/answers/solve.h"
#include "simulator/answers/solve_predictions.h"

namespace lockstep {

class SolveWords {
 public:
  SolveWords(const Solution& solution, const Inputs& inputs) : solution_(solution), inputs_(inputs) {}

  // `present`: the key's present value; `now`: what it reaches, nothing where it cannot run.
  Sentence crossing(double present, std::optional<double> now) const;
  Sentence always() const;
  // `best`: the value that comes nearest, predicted as `closer`.
  Sentence none(const SolveSample& best, const SolvePredictions::Closer& closer) const;
  Sentence doubt() const;
  Sentence fed() const;  // what efficiency is counted against with a data loader

  // "DDP on 16 GPUs"; "DDP" where GPUs are solved for.
  std::string subject() const;
  // "11.3 GB/s per NIC", "a batch of 48 per GPU", "22 GPUs"
  std::string with(double value) const;
  // "an efficiency of 90 %", "a step of 12.1 ms", "2000 images/s"
  std::string goal(double value) const;

 private:
  std::map<std::string, std::string> about(std::map<std::string, std::string> values) const;
  std::string text(double value) const { return solve_value_text(solution_.unit, value); }
  std::string device() const;  // GPU, core
  bool by_neighbours() const;

  std::string ceiling(double best) const;

  const Solution& solution_;
  const Inputs& inputs_;
};

// Over several measurements: what each implies, and whether one value explains all. Fills `verdict`.
void add_common_verdict(CommonValue& common, const Inputs& inputs);

}  // namespace lockstep
