// Where a function of one number crosses a goal. Of the function nothing is known but its values: the search starts at
// one of them, doubles and halves within a range until the goal is crossed, and narrows each crossing by bisection, to
// 0.1 % or to neighbours. All samples together show whether the function rises or falls all the way.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "simulator/base/error.h"

namespace lockstep {

struct SearchRange {
  double low = 0, high = 1e18;
  bool low_open = false;                    // `low` itself is no value
  bool zero_now = false;                    // 0 may be the present value, although none is sought there
  bool whole = false;                       // whole numbers only
  bool neighbours = false;                  // a crossing is narrowed to two neighbours, not to 0.1 %
  std::optional<double> low_end, high_end;  // worth a look when halving or doubling goes past them
  bool skips = false;                       // halving goes on past a value that cannot be tried
  bool seeks_last = false;                  // the largest value that can be tried is looked for

  // The value to try in place of this one; nothing outside the range.
  std::optional<double> allowed(double value) const;
};

struct SearchSample {
  double reached = 0;
  bool meets = false;  // the goal
};

struct Crossing {
  double low = 0, high = 0;  // the goal is met at one of them
  bool met_at_high = true;
};

struct SearchResult {
  std::map<double, SearchSample> samples;  // by value
  std::optional<Crossing> crossing;        // of several the one nearest to the present value
  bool monotonic = true;                   // `reached` over all samples
  // Neighbouring samples that meet the goal, as ranges.
  std::vector<std::pair<double, double>> meeting() const;
};

// The function at a value; nothing where it cannot be tried.
using SearchFunction = std::function<Expected<std::optional<SearchSample>>(double value)>;

// `present` is tried first where it is allowed; `start` is where doubling begins, above 0. No samples at all when
// nothing could be tried. Errors: those of `function`.
Expected<SearchResult> search_crossing(const SearchRange& range, double present, double start,
                                       const SearchFunction& function);

}  // namespace lockstep
