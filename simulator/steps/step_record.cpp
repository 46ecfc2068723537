#include "simulator/steps/step_record.h"

#include <algorithm>
#include <cmath>
#include <numbers>

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

namespace {

// SplitMix64's finaliser: a bijection that spreads every input bit over the output (Steele, Lea, Flood 2014).
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// In (0, 1), never an end of it.
double uniform(std::uint64_t bits) {
  return (static_cast<double>(bits >> 11) + 0.5) * 0x1.0p-53;
}

}  // namespace

JitterSource jitter_of(const Scenario& scenario) {
  JitterSource jitter;
  jitter.seed = scenario.seed;
  if (!scenario.noise.jitter) return jitter;
  // sigma of the scenario is the relative standard deviation; the lognormal's own follows from it.
  jitter.sigma = std::sqrt(std::log1p(scenario.noise.jitter->sigma * scenario.noise.jitter->sigma));
  jitter.per_rank = scenario.noise.jitter->per == JitterPer::Rank;
  return jitter;
}

double JitterSource::factor(int rank, int step) const {
  if (sigma == 0) return 1;
  const auto r = static_cast<std::uint64_t>(rank);
  const auto s = per_rank ? 0U : static_cast<std::uint64_t>(step) + 1U;
  const std::uint64_t key = mix(seed ^ mix(r * 0x100000001b3ULL + s));
  const double radius = std::sqrt(-2 * std::log(uniform(mix(key ^ 1U))));
  const double normal = radius * std::cos(2 * std::numbers::pi * uniform(mix(key ^ 2U)));  // Box-Muller
  return std::exp(sigma * normal - sigma * sigma / 2);
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
