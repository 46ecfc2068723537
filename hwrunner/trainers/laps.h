// Cuts a step into laps of the monotonic clock that add up to it.
#pragma once

#include <chrono>
#include <utility>

namespace lockstep {

// Seconds of the monotonic clock.
inline double monotonic_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Adds the seconds since its last lap to a sum.
class Laps {
 public:
  Laps() : last_(monotonic_s()) {}
  double last() const { return last_; }
  void add_to(double& sum) { add_to(sum, monotonic_s()); }
  void add_to(double& sum, double now) { sum += now - std::exchange(last_, now); }

 private:
  double last_;
};

}  // namespace lockstep
