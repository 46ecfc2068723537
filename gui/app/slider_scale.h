// From a key of the field table to a slider and back: ranges, rounding, YAML. Pure arithmetic.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "simulator/base/field_info.h"

namespace lockstep::gui {

inline constexpr int kSliderSteps = 400;

struct SliderScale {
  double low = 0, high = 1;  // SI
  bool logarithmic = false;
  bool whole = false;
  Unit unit = Unit::None;

  int position(double value) const;               // 0 to kSliderSteps, ends for values beyond
  double value(int position) const;               // rounded as `rounded`
  double rounded(double value) const;             // two significant digits; whole numbers, whole MiB
  double stepped(double value, int steps) const;  // arrow keys in the number box: doublings, or a fiftieth of the range
  std::string yaml(double value) const;           // "64", "25MiB", "5%"
};

// For number-like fields; nothing where a slider makes no sense. Where the table's range is wide, what people set in
// practice, stretched to hold `value`.
std::optional<SliderScale> slider_scale(const FieldInfo& field, std::optional<double> value);

// What a number box says, as SI: "25 MiB" under Unit::Bytes is 26214400.
std::optional<double> number_of(const std::string& yaml, Unit unit);

// The list of GPU counts whose largest is `most`: those of `list` below it, doublings up to it.
std::vector<int> gpus_up_to(const std::vector<int>& list, int most);
std::string list_yaml(const std::vector<int>& list);  // "[1, 2, 4]", "8" for one
std::vector<int> list_of(const std::string& yaml);    // of "[1, 2]", "1, 2" or "8"; empty where it is none

}  // namespace lockstep::gui
