// The axes of a sweep map as a person chooses them: which keys, which values at first, how they are written along the
// map. No widgets.
#pragma once

#include <QString>
#include <QStringList>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gui/sweep/sweep_plan.h"
#include "scenarios/scenario.h"
#include "simulator/base/field_info.h"

namespace lockstep::gui {

// What is known of the open scenario when axes are chosen.
struct AxisContext {
  const Scenario* scenario = nullptr;            // nullptr: not readable
  std::map<std::string, std::string> values;     // YAML of keys that are set or have a default
  std::map<std::string, std::string> effective;  // what holds where a key is not set, from the machine
  std::optional<int> most_gpus;                  // that the machine holds; nothing: no bound known
};

// Keys that can be swept, those that people ask for first (`ready` of them).
struct AxisKeys {
  std::vector<const FieldInfo*> fields;
  std::size_t ready = 0;
};
AxisKeys axis_keys(const AxisContext& context);

// The value that holds now, as YAML; empty where none is known.
std::string present_value(const std::string& key, const AxisContext& context);
// Around the present value: doublings of a number, all choices of a choice, neighbours among names.
PlanAxis default_axis(const std::string& key, const AxisContext& context);
// Which value of the axis holds now.
std::optional<std::size_t> present_index(const PlanAxis& axis, const AxisContext& context);
// GPUs across; up the rate of the links that join them, the batch where no link is known.
std::vector<PlanAxis> first_axes(const AxisContext& context);

// One unit for an axis: "Network adapter rate (GB/s)" with "12.5", "25".
struct AxisLabels {
  QString title;
  QStringList labels;
};
AxisLabels axis_labels(const PlanAxis& axis);

}  // namespace lockstep::gui
