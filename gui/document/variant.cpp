#include "gui/document/variant.h"

#include <fmt/format.h>

#include <set>

#include "scenarios/fields.h"

namespace lockstep::gui {
namespace {

bool counts(const std::string& key) {
  static const std::set<std::string> apart = {"question",        "measure.steps",        "measure.repeats",
                                              "measure.warm_up", "calibrate.single_gpu", "measure.timeout"};
  return apart.count(key) == 0;
}

std::vector<std::string> steps_from(const std::map<std::string, ResolvedField>& from,
                                    const std::map<std::string, ResolvedField>& to) {
  std::vector<std::string> sets;
  for (const auto& [key, field] : to) {
    const auto at = from.find(key);
    if (!counts(key) || (at != from.end() && at->second.yaml == field.yaml)) continue;
    if (at == from.end() && field.origin.from == Origin::From::Default) continue;  // shown only with another key
    sets.push_back(fmt::format("{}={}", key, field.yaml));
  }
  for (const auto& [key, field] : from) {
    if (!counts(key) || to.count(key) != 0 || field.origin.from == Origin::From::Default) continue;
    const FieldInfo* info = scenario_fields().info().find(key);
    if (info != nullptr && !info->unset_word.empty() && info->unset_word != field.yaml)
      sets.push_back(fmt::format("{}={}", key, info->unset_word));
  }
  return sets;
}

}  // namespace

std::vector<std::string> differences(const ScenarioDocument& open, const std::string& yaml) {
  ScenarioDocument other;
  if (!open.read() || !other.replace_text(yaml).empty()) return {};
  return steps_from(open.values(), other.values());
}

Errors become(ScenarioDocument& open, const std::string& yaml, const std::vector<std::string>& more,
              const QString& what) {
  std::vector<std::string> sets = differences(open, yaml);
  const auto calibrated = open.values().find("calibrate.single_gpu");
  if (calibrated != open.values().end() && calibrated->second.yaml != "none")
    sets.emplace_back("calibrate.single_gpu=none");
  sets.insert(sets.end(), more.begin(), more.end());
  return open.apply(sets, what);
}

std::string measured_calibration(const Result& result) {
  for (const Run& run : result.runs)
    if (run.strategy == Strategy::Single && run.gpus == 1 && run.step_time_s > 0)
      return fmt::format("{:.4g}s/it", run.step_time_s);
  return {};
}

}  // namespace lockstep::gui
