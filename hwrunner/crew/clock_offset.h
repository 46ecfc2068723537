// How far the clock of another host is from ours, by asking it what time it is.
//
// An answer that left us at t0, came back at t1 and says `at` was given between the two: at - (t0 + t1) / 2 is off by
// (t1 - t0) / 2 at most, whatever the two ways took. Of several exchanges the one with the shortest round trip says
// most (Mills, "Internet time synchronization: the Network Time Protocol", IEEE Trans. Communications 39 (10), 1991,
// section on the clock filter). Seconds.
#pragma once

#include <functional>
#include <optional>

#include "hwrunner/launch/record.h"

namespace lockstep {

struct ClockReading {
  double at_s = 0;           // our clock, when it was read
  double offset_s = 0;       // the other clock less ours
  double uncertainty_s = 0;  // the offset is no further off than this
};

// `ask` returns the other clock; nothing: no answer. Nothing when there was none at all.
std::optional<ClockReading> read_clock(const std::function<std::optional<double>()>& ask,
                                       const std::function<double()>& ours, int exchanges);

// From before and after something: a line between two readings, and the one reading where there is only one.
class ClockOffset {
 public:
  explicit ClockOffset(const ClockReading& before) : before_(before), after_(before) {}
  ClockOffset(const ClockReading& before, const ClockReading& after) : before_(before), after_(after) {}

  // What a time of the other clock is on ours.
  double to_ours(double other_s) const;
  double offset_s() const { return before_.offset_s; }
  double uncertainty_s() const;
  // How much the other clock gains in a second of ours. 0 within what the readings can tell apart.
  double drift() const;

 private:
  ClockReading before_, after_;
};

// A record of a rank on the other clock, with its dates on ours. Durations stay.
Record on_our_clock(Record record, const ClockOffset& offset);

}  // namespace lockstep
