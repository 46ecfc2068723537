#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "simulator/answers/claims.h"

namespace lockstep {
namespace {

// For each axis, the values that a group of settings takes: every combination of them is in the group.
using Box = std::vector<std::set<std::size_t>>;

std::size_t differing(const Box& a, const Box& b, std::size_t& where) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i] != b[i]) {
      ++count;
      where = i;
    }
  return count;
}

// Two boxes that differ in one axis are one box.
bool merge_two(std::vector<Box>& boxes) {
  for (std::size_t i = 0; i < boxes.size(); ++i)
    for (std::size_t j = i + 1; j < boxes.size(); ++j) {
      std::size_t axis = 0;
      if (differing(boxes[i], boxes[j], axis) != 1) continue;
      boxes[i][axis].insert(boxes[j][axis].begin(), boxes[j][axis].end());
      boxes.erase(boxes.begin() + static_cast<std::ptrdiff_t>(j));
      return true;
    }
  return false;
}

std::size_t values_of(const ClaimsFile& file, std::size_t axis) {
  return axis == 0 ? file.scenarios.size() : file.axes[axis - 1].values.size();
}

const std::string& value_name(const ClaimsFile& file, std::size_t axis, std::size_t value) {
  return axis == 0 ? file.scenarios[value].name : file.axes[axis - 1].values[value].name;
}

bool is_fixed(const ClaimsFile& file, const std::vector<std::string>& fixed, std::size_t axis) {
  return axis > 0 && std::find(fixed.begin(), fixed.end(), file.axes[axis - 1].name) != fixed.end();
}

}  // namespace

std::vector<ClaimSetting> claim_settings(const ClaimsFile& file, const std::vector<std::string>& fixed) {
  std::vector<ClaimSetting> all = {{}};
  for (std::size_t axis = 0; axis <= file.axes.size(); ++axis) {
    const std::size_t count = is_fixed(file, fixed, axis) ? 1 : values_of(file, axis);
    std::vector<ClaimSetting> longer;
    for (const ClaimSetting& setting : all)
      for (std::size_t value = 0; value < count; ++value) {
        longer.push_back(setting);
        longer.back().push_back(value);
      }
    all = std::move(longer);
  }
  return all;
}

std::string setting_name(const ClaimsFile& file, const ClaimSetting& setting) {
  std::vector<std::string> names;
  for (std::size_t axis = 0; axis < setting.size(); ++axis) names.push_back(value_name(file, axis, setting[axis]));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<std::string> setting_groups(const ClaimsFile& file, const std::vector<ClaimSetting>& settings,
                                        const std::vector<std::string>& fixed) {
  std::vector<Box> boxes;
  for (const ClaimSetting& setting : settings) {
    Box box;
    for (const std::size_t value : setting) box.push_back({value});
    boxes.push_back(std::move(box));
  }
  while (merge_two(boxes)) {
  }
  std::vector<std::string> groups;
  for (const Box& box : boxes) {
    std::vector<std::string> axes;
    for (std::size_t axis = 0; axis < box.size(); ++axis) {
      if (is_fixed(file, fixed, axis)) continue;
      if (box[axis].size() == values_of(file, axis) && box[axis].size() > 1) {
        axes.push_back(fmt::format("any {}", axis == 0 ? "scenario" : file.axes[axis - 1].name));
        continue;
      }
      std::vector<std::string> names;
      for (const std::size_t value : box[axis]) names.push_back(value_name(file, axis, value));
      axes.push_back(fmt::format("{}", fmt::join(names, " or ")));
    }
    groups.push_back(fmt::format("{}", fmt::join(axes, ", ")));
  }
  return groups;
}

}  // namespace lockstep
