#include "gui/sweep/sweep_axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "gui/app/field_labels.h"
#include "gui/app/slider_scale.h"
#include "models/zoo/zoo.h"
#include "scenarios/fields.h"
#include "simulator/base/format.h"
#include "topologies/presets.h"

namespace lockstep::gui {
namespace {

constexpr const char* kNic = "topology.override.nic.rate";
constexpr const char* kNvlink = "topology.override.nvlink.rate";
constexpr const char* kWan = "topology.override.wan.rate";
constexpr const char* kPcie = "topology.override.pcie.rate";
constexpr std::size_t kNames = 5;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

const TableInfo& table() {
  return scenario_fields().info();
}

bool is_number_like(const FieldInfo& field) {
  return field.type == FieldType::Integer || field.type == FieldType::Number || field.type == FieldType::Quantity;
}

std::vector<std::string> names_of(const std::string& key) {
  std::vector<std::string> names;
  if (key == "model.name")
    for (const ZooEntry& entry : zoo()) names.push_back(entry.name);
  if (key == "topology.node") names = preset_names(PresetKind::Node);
  if (key == "topology.fabric") {
    names = preset_names(PresetKind::Fabric);
    names.insert(names.begin(), {"none", "own"});
  }
  return names;
}

// Keys that say nothing about how long a predicted step takes.
bool is_idle(const std::string& key) {
  for (const char* prefix : {"question", "strategy", "seed", "measure.", "software.", "data.", "price_per_gpu_hour",
                             "noise.runs", "calibrate."})
    if (key.rfind(prefix, 0) == 0) return true;
  return false;
}

bool is_there(const FieldInfo& field, const AxisContext& context) {
  const auto known = [&](const std::string& key) { return context.effective.count(key) + context.values.count(key); };
  for (const char* key : {kWan, kNic, kNvlink, kPcie})
    if (field.key == key) return known(field.key) != 0;
  if (field.key == "noise.jitter.per") return known("noise.jitter.sigma") != 0;
  if (context.scenario == nullptr) return true;
  if (field.key == "batch.per_gpu") return context.scenario->per_gpu_batch.has_value();
  if (field.key == "batch.global") return context.scenario->global_batch.has_value();
  return !field.shown || field.shown(context.scenario);
}

bool can_be_axis(const FieldInfo& field, const AxisContext& context) {
  if (is_idle(field.key) || (field.list && field.key != "gpus")) return false;
  const bool kind = is_number_like(field) || field.type == FieldType::Boolean ||
                    (field.type == FieldType::Choice && field.choices.size() > 1) || !names_of(field.key).empty();
  return kind && is_there(field, context);
}

std::string link_key(const AxisContext& context) {
  for (const char* key : {kWan, kNic, kNvlink, kPcie})
    if (context.effective.count(key) != 0 || context.values.count(key) != 0) return key;
  return {};
}

std::string batch_key(const AxisContext& context) {
  return context.scenario != nullptr && context.scenario->global_batch ? "batch.global" : "batch.per_gpu";
}

std::vector<std::string> gpu_values(const AxisContext& context) {
  int most = 8;
  if (context.scenario != nullptr && !context.scenario->gpus.empty())
    most = *std::max_element(context.scenario->gpus.begin(), context.scenario->gpus.end());
  const int end = context.most_gpus ? std::max(most, *context.most_gpus) : 2 * most;
  std::vector<int> counts;
  for (int gpus = most; gpus >= 1; gpus /= 2) counts.insert(counts.begin(), gpus);
  for (int gpus = 2 * most; gpus <= end; gpus *= 2) counts.push_back(gpus);
  if (counts.size() > 8) counts.erase(counts.begin(), counts.end() - 8);
  std::vector<std::string> values;
  for (const int gpus : counts) values.push_back(fmt::format("{}", gpus));
  return values;
}

std::vector<std::string> bucket_values(const std::string& present) {
  std::vector<std::string> values = {"default", "1MiB", "5MiB", "10MiB", "25MiB", "50MiB", "100MiB", "200MiB"};
  if (std::find(values.begin(), values.end(), present) != values.end()) return values;
  const auto cap = number_of(present, Unit::Bytes);
  if (!cap) return values;
  const auto at = std::find_if(values.begin() + 1, values.end(), [&](const std::string& value) {
    return number_of(value, Unit::Bytes).value_or(0) > *cap;
  });
  values.insert(at, present);
  return values;
}

// The unit that the largest of the values is written in, and what one of it is in SI.
struct WrittenUnit {
  std::string name;
  double si = 1;
};
WrittenUnit unit_of(const FieldInfo& field, const std::vector<std::string>& values) {
  double most = 0;
  for (const std::string& value : values) most = std::max(most, number_of(value, field.unit).value_or(0));
  const std::string text = quantity_text(most, field.unit);
  const std::size_t at = text.find_first_not_of("0123456789.e+-");
  if (most <= 0 || at == std::string::npos) return {};
  WrittenUnit unit{text.substr(at), 1};
  unit.si = number_of("1" + unit.name, field.unit).value_or(0);
  return unit.si > 0 ? unit : WrittenUnit{};
}

// "1.25GB/s" beside "5GB/s", where it is the same number to the last bit.
std::vector<std::string> in_one_unit(const FieldInfo& field, std::vector<std::string> values) {
  const WrittenUnit unit = unit_of(field, values);
  double least = unit.si;
  for (const std::string& value : values) least = std::min(least, number_of(value, field.unit).value_or(least));
  if (least < 0.05 * unit.si) return values;  // decades apart
  for (std::string& value : values) {
    const auto number = number_of(value, field.unit);
    if (unit.name.empty() || !number) continue;
    const std::string text = fmt::format("{}{}", *number / unit.si, unit.name);
    if (number_of(text, field.unit) == number && text.size() < value.size() + 4) value = text;
  }
  return values;
}

std::vector<std::string> number_values(const FieldInfo& field, const std::string& present) {
  const Unit unit = field.type == FieldType::Quantity ? field.unit : Unit::None;
  const auto now = number_of(present, unit);
  const auto scale = slider_scale(field, now);
  if (!scale) return {present.empty() ? field.unset_word : present};
  std::vector<double> numbers;
  if (now && *now > 0) {
    for (const double factor : {0.25, 0.5, 1.0, 2.0, 4.0}) numbers.push_back(*now * factor);
  } else {
    for (int i = 0; i < 5; ++i) numbers.push_back(scale->value(i * kSliderSteps / 4));
    if (now) numbers.front() = *now;
  }
  std::vector<std::string> values;
  for (double number : numbers) {
    if (scale->whole) number = std::round(number);
    if ((field.low && (number < *field.low || (field.low_open && number <= *field.low))) ||
        (field.high && number > *field.high))
      continue;
    const bool is_now = now && number == *now;
    const std::string value = is_now ? present : scale->yaml(number);
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  }
  if (field.type == FieldType::Quantity) values = in_one_unit(field, std::move(values));
  if (!now && !field.unset_word.empty()) values.insert(values.begin(), field.unset_word);
  return values;
}

std::vector<std::string> name_values(std::vector<std::string> names, const std::string& present) {
  const auto at = std::find(names.begin(), names.end(), present);
  if (at == names.end()) {
    names.resize(std::min(names.size(), kNames - 1));
    if (!present.empty()) names.insert(names.begin(), present);
    return names;
  }
  const auto last = std::min<std::ptrdiff_t>(std::distance(names.begin(), at) + static_cast<std::ptrdiff_t>(kNames) - 2,
                                             static_cast<std::ptrdiff_t>(names.size()));
  const auto first = std::max<std::ptrdiff_t>(0, last - static_cast<std::ptrdiff_t>(kNames));
  return {names.begin() + first, names.begin() + last};
}

}  // namespace

AxisKeys axis_keys(const AxisContext& context) {
  AxisKeys keys;
  const auto add = [&](const std::string& key) {
    const FieldInfo* field = table().find(key);
    if (field == nullptr || !can_be_axis(*field, context)) return;
    if (std::find(keys.fields.begin(), keys.fields.end(), field) == keys.fields.end()) keys.fields.push_back(field);
  };
  for (const std::string& key : {std::string("gpus"), link_key(context), batch_key(context),
                                 std::string("ddp.bucket_cap"), std::string("model.name"), std::string("precision")})
    if (!key.empty()) add(key);
  keys.ready = keys.fields.size();
  for (const FieldInfo& field : table().fields) add(field.key);
  return keys;
}

std::string present_value(const std::string& key, const AxisContext& context) {
  if (key == "gpus") {
    if (context.scenario == nullptr || context.scenario->gpus.empty()) return {};
    return fmt::format("{}", *std::max_element(context.scenario->gpus.begin(), context.scenario->gpus.end()));
  }
  const FieldInfo* field = table().find(key);
  const std::string unset = field == nullptr ? std::string() : field->unset_word;
  const auto set = context.values.find(key);
  if (set != context.values.end() && set->second != unset) return set->second;
  if (key == "ddp.bucket_cap") return unset;  // an explicit cap of 25 MiB has no small first bucket
  const auto otherwise = context.effective.find(key);
  if (otherwise != context.effective.end()) return otherwise->second;
  return set != context.values.end() ? set->second : unset;
}

PlanAxis default_axis(const std::string& key, const AxisContext& context) {
  PlanAxis axis{key, {}, {}};
  const FieldInfo* field = table().find(key);
  if (field == nullptr) return axis;
  const std::string present = present_value(key, context);
  if (key == "gpus") {
    axis.values = gpu_values(context);
  } else if (key == "ddp.bucket_cap") {
    axis.values = bucket_values(present);
  } else if (field->type == FieldType::Boolean) {
    axis.values = {"false", "true"};
  } else if (field->type == FieldType::Choice) {
    for (const FieldChoice& choice : field->choices)
      if (!choice.later) axis.values.push_back(choice.name);
  } else if (is_number_like(*field)) {
    axis.values = number_values(*field, present);
  } else {
    axis.values = name_values(names_of(key), present);
  }
  return axis;
}

std::optional<std::size_t> present_index(const PlanAxis& axis, const AxisContext& context) {
  const FieldInfo* field = table().find(axis.key);
  const std::string present = present_value(axis.key, context);
  if (field == nullptr || present.empty()) return std::nullopt;
  const Unit unit = field->type == FieldType::Quantity ? field->unit : Unit::None;
  const std::string name = shown_value(present);
  const double now = is_number_like(*field) ? number_of(present, unit).value_or(kNone) : kNone;
  for (std::size_t i = 0; i < axis.values.size(); ++i) {
    if (shown_value(axis.values[i]) == name) return i;
    const double value = is_number_like(*field) ? number_of(axis.values[i], unit).value_or(kNone) : kNone;
    if (std::abs(value - now) <= 1e-12 * std::abs(now)) return i;  // never true of kNone
  }
  return std::nullopt;
}

std::vector<PlanAxis> first_axes(const AxisContext& context) {
  std::string up = link_key(context);
  if (up.empty()) up = batch_key(context);
  return {default_axis("gpus", context), default_axis(up, context)};
}

AxisLabels axis_labels(const PlanAxis& axis) {
  AxisLabels labels{label_of(axis.key), {}};
  const FieldInfo* field = table().find(axis.key);
  const bool quantity = field != nullptr && field->type == FieldType::Quantity;
  const WrittenUnit unit = quantity ? unit_of(*field, axis.values) : WrittenUnit{};
  if (!unit.name.empty()) labels.title += QStringLiteral(" (%1)").arg(QString::fromStdString(unit.name));
  for (const std::string& value : axis.values) {
    const auto number = field == nullptr || unit.name.empty() ? std::nullopt : number_of(value, field->unit);
    labels.labels << QString::fromStdString(number ? format_significant(*number / unit.si, 4) : shown_value(value));
  }
  return labels;
}

}  // namespace lockstep::gui
