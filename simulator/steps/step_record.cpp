#include "simulator/steps/step_record.h"

#include <algorithm>
#include <cmath>

namespace lockstep {

MeetingTable::MeetingTable(const StepProgram& program, int simulated_ranks) {
  for (const auto& meeting : program.meetings) {
    first_.push_back(size_);
    own_.push_back(meeting.own);
    size_ += meeting.own ? static_cast<std::size_t>(simulated_ranks) : 1U;
  }
}

std::vector<double> StepRecord::step_times_s() const {
  std::vector<double> times;
  double before = 0;
  for (const auto& step : steps) {
    times.push_back(step.end - before);
    before = step.end;
  }
  return times;
}

bool finished(const StepRecord& record, const StopRule& rule) {
  const int steps = static_cast<int>(record.steps.size());
  const int steady = steps - record.warm_up_steps;
  if (rule.fixed_steady > 0) return steady >= rule.fixed_steady;
  if (steps >= rule.most) return true;
  // The first steady step still follows the warm-up: two later ones must agree.
  if (steps < rule.least || steady < 2) return false;
  const auto times = record.step_times_s();
  const double last = times[times.size() - 1];
  const double before = times[times.size() - 2];
  const auto agree = [&times](std::size_t a, std::size_t b) {
    return std::abs(times[times.size() - a] - times[times.size() - b]) <= 1e-9 * times[times.size() - a];
  };
  if (std::abs(last - before) <= 1e-9 * last) return true;
  // A launch queue that is full can make steps of two kinds follow each other for ever.
  return steady >= 5 && agree(1, 3) && agree(2, 4);
}

}  // namespace lockstep
