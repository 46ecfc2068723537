#include "scenarios/sweep_axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "scenarios/fields.h"
#include "simulator/base/format.h"
#include "simulator/base/nearest.h"

namespace lockstep {
namespace {

std::string joined(const std::string& group, const std::string& key) {
  return group.empty() ? key : group + "." + key;
}

bool is_list(const Value& value) {
  return value.kind == Value::Kind::List;
}

// Walks the document beside the field table, as the reader does, and notes every list that stands for several values.
class AxisFinder {
 public:
  explicit AxisFinder(const TableInfo& table) : table_(table) {}

  std::vector<SweepAxis> find(const Value& root) {
    if (root.kind == Value::Kind::Map) walk(root, "");
    return std::move(axes_);
  }

 private:
  void walk(const Value& map, const std::string& group) {
    for (std::size_t i = 0; i < map.entries.size(); ++i) {
      const Entry& entry = map.entries[i];
      path_.push_back(i);
      visit(entry.value, entry.key.empty() ? group : joined(group, entry.key), entry.key.empty());
      path_.pop_back();
    }
  }

  void visit(const Value& value, const std::string& key, bool bare) {
    const FieldInfo* field = table_.find(key);
    const bool group = table_.is_group(key);
    if (field != nullptr && (field->type == FieldType::Later || field->type == FieldType::Rows)) return;
    if (group && value.kind == Value::Kind::Map && !bare) {
      walk(value, key);
    } else if (field != nullptr) {
      if (sweeps(*field, value)) add(key, value, is_number(*field));
    } else if (group && is_list(value)) {
      const bool maps = std::any_of(value.items.begin(), value.items.end(),
                                    [](const Value& item) { return item.kind == Value::Kind::Map; });
      const FieldInfo* first = table_.shorthand_of(key);
      if (maps || first == nullptr)
        add(key, value, false);
      else if (sweeps(*first, value))
        add(first->key, value, is_number(*first));
    }
  }

  static bool sweeps(const FieldInfo& field, const Value& value) {
    if (!is_list(value)) return false;
    if (!field.list) return true;
    if (field.one_or_many) return value.items.size() > 1;  // gpus, strategy
    return std::any_of(value.items.begin(), value.items.end(), is_list);
  }

  static bool is_number(const FieldInfo& field) {
    return field.type == FieldType::Integer || field.type == FieldType::Number || field.type == FieldType::Quantity;
  }

  void add(const std::string& key, const Value& value, bool of_numbers) {
    SweepAxis axis;
    axis.key = key;
    axis.path = path_;
    axis.values = value.items;
    axis.of_numbers = of_numbers;
    for (const Value& item : value.items)
      axis.texts.push_back(item.kind == Value::Kind::Scalar ? item.text : to_flow_yaml(item));
    axes_.push_back(std::move(axis));
  }

  const TableInfo& table_;
  std::vector<std::size_t> path_;
  std::vector<SweepAxis> axes_;
};

const Value& at_path(const Value& root, const std::vector<std::size_t>& path) {
  const Value* at = &root;
  for (const std::size_t i : path) at = &at->entries[i].value;
  return *at;
}

Value& at_path(Value& root, const std::vector<std::size_t>& path) {
  return const_cast<Value&>(at_path(static_cast<const Value&>(root), path));
}

// Says what is wrong with a model of the zoo; the last one is remembered, as most axes are not about the model.
class ZooModelCheck {
 public:
  Errors operator()(const std::string& name, const ModelOptions& options) {
    if (!known_ || name != name_ || !(options == options_)) {
      const Expected<Model> model = build_zoo_model(name, options);
      errors_ = model ? Errors{} : model.error();
      name_ = name;
      options_ = options;
      known_ = true;
    }
    return errors_;
  }

 private:
  bool known_ = false;
  std::string name_;
  ModelOptions options_;
  Errors errors_;
};

Error error_at(const Origin& origin, const std::string& key, ErrorKind kind, std::string message, std::string hint) {
  Error error;
  error.kind = kind;
  error.file = origin.file;
  error.line = origin.line;
  error.column = origin.column;
  error.key = key;
  error.message = std::move(message);
  error.hint = std::move(hint);
  return error;
}

Errors wrong_lists(const std::vector<SweepAxis>& axes, const Document& document) {
  Errors errors;
  double combinations = 1;
  for (const SweepAxis& axis : axes) {
    const Origin& list = at_path(document.root, axis.path).origin;
    combinations *= static_cast<double>(axis.values.size());
    if (axis.values.empty())
      errors.push_back(error_at(list, axis.key, ErrorKind::Range, "the list is empty", "give at least one value"));
    std::set<std::string> seen;
    for (std::size_t i = 0; i < axis.texts.size(); ++i)
      if (!seen.insert(axis.texts[i]).second)
        errors.push_back(error_at(axis.values[i].origin, axis.key, ErrorKind::Range,
                                  fmt::format("`{}` is listed twice", shortened(axis.texts[i])),
                                  "list each value once"));
  }
  if (combinations > static_cast<double>(kMostCombinations))
    errors.push_back(error_at(
        at_path(document.root, axes.back().path).origin, axes.back().key, ErrorKind::Range,
        fmt::format("the lists make {:.0f} combinations; at most {} are swept", combinations, kMostCombinations),
        "shorten a list, or split the sweep"));
  return errors;
}

// At the key, or in the map that stands there.
bool concerns(const Error& error, const std::string& key) {
  return error.key == key || error.key.rfind(key + ".", 0) == 0;
}

bool is_about_one_value(const Error& error) {
  return error.kind != ErrorKind::Conflict && error.kind != ErrorKind::Missing;
}

// What is wrong whatever is combined: with a value of an axis by itself, and with what every probe complains of.
Errors wrong_values(const SweepAxes& axes, std::optional<Scenario>& first_good) {
  Errors wrong;
  std::set<std::string> told;
  std::map<std::string, std::pair<std::size_t, Error>> elsewhere;
  const std::vector<std::size_t> probes = axes.probes();
  ReadOptions options;
  options.check_zoo_model = ZooModelCheck();
  for (const std::size_t probe : probes) {
    Expected<ReadScenario> read = read_scenario_document(axes.document(probe), options);
    if (read) {
      if (!first_good) first_good = std::move(read->scenario);
      continue;
    }
    for (const Error& error : read.error()) {
      const bool swept = std::any_of(axes.axes().begin(), axes.axes().end(),
                                     [&](const SweepAxis& axis) { return concerns(error, axis.key); });
      if (swept && is_about_one_value(error)) {
        if (told.insert(to_text(error)).second) wrong.push_back(error);
      } else {
        auto& [count, kept] = elsewhere[to_text(error)];
        ++count;
        kept = error;
      }
    }
  }
  for (const auto& [text, counted] : elsewhere)
    if (counted.first == probes.size()) wrong.push_back(counted.second);
  return in_file_order(std::move(wrong));
}

// One measured speed holds for one model, batch and precision.
Errors beside_a_calibration(const SweepAxes& axes, const Scenario& scenario, const Document& document) {
  Errors errors;
  if (!scenario.calibrate_single_gpu) return errors;
  for (const SweepAxis& axis : axes.axes())
    for (const char* group : {"model", "batch", "precision", "tf32"})
      if (axis.key == group || axis.key.rfind(std::string(group) + ".", 0) == 0)
        errors.push_back(error_at(at_path(document.root, axis.path).origin, axis.key, ErrorKind::Conflict,
                                  "`calibrate.single_gpu` was measured with one model, batch and precision",
                                  "delete calibrate.single_gpu, or keep one value here"));
  return errors;
}

}  // namespace

SweepAxes::SweepAxes(Document document, std::vector<SweepAxis> axes)
    : bare_(std::move(document)), axes_(std::move(axes)), strides_(axes_.size(), 1) {
  for (const SweepAxis& axis : axes_) at_path(bare_.root, axis.path).items.clear();
  for (std::size_t i = axes_.size(); i-- > 0;) {
    strides_[i] = combinations_;
    combinations_ *= axes_[i].values.size();
  }
  const auto axis_of = [&](const char* key) {
    const auto found = std::find_if(axes_.begin(), axes_.end(), [&](const SweepAxis& axis) { return axis.key == key; });
    return static_cast<std::size_t>(found - axes_.begin());
  };
  gpus_axis_ = axis_of("gpus");
  strategy_axis_ = axis_of("strategy");
  for (std::size_t i = 0; i < combinations_; ++i) points_ += left_out(i) ? 0 : 1;
}

bool SweepAxes::left_out(std::size_t combination) const {
  if (gpus_axis_ == axes_.size() || strategy_axis_ == axes_.size() || index(combination, gpus_axis_) == 0) return false;
  return canonical_name(axes_[strategy_axis_].texts[index(combination, strategy_axis_)]) == "single";
}

std::vector<std::pair<std::string, std::string>> SweepAxes::point(std::size_t combination) const {
  std::vector<std::pair<std::string, std::string>> point;
  for (std::size_t i = 0; i < axes_.size(); ++i)
    point.emplace_back(axes_[i].key, axes_[i].texts[index(combination, i)]);
  return point;
}

Document SweepAxes::document(std::size_t combination) const {
  Document one = bare_;
  for (std::size_t i = 0; i < axes_.size(); ++i)
    at_path(one.root, axes_[i].path) = axes_[i].values[index(combination, i)];
  return one;
}

std::string SweepAxes::yaml() const {
  Value root = bare_.root;
  for (const SweepAxis& axis : axes_) at_path(root, axis.path).items = axis.values;
  return to_yaml(root);
}

std::vector<std::size_t> SweepAxes::probes() const {
  std::vector<std::size_t> probes = {0};
  for (std::size_t axis = 0; axis < axes_.size(); ++axis)
    for (std::size_t i = 1; i < axes_[axis].values.size(); ++i) probes.push_back(i * strides_[axis]);
  return probes;
}

std::vector<std::size_t> SweepAxes::probes_of_words() const {
  std::vector<std::size_t> probes = {0};
  for (std::size_t axis = 0; axis < axes_.size(); ++axis)
    for (std::size_t i = 1; !axes_[axis].of_numbers && i < axes_[axis].values.size(); ++i)
      probes.push_back(i * strides_[axis]);
  return probes;
}

Expected<SweepAxes> read_sweep_axes(std::string_view text, const std::string& file_name,
                                    const std::vector<std::string>& sets) {
  Expected<Document> document = parse_document(text, file_name);
  if (!document) return tl::make_unexpected(std::move(document.error()));
  Errors errors;
  for (const std::string& set : sets)
    if (const auto applied = apply_set(*document, set); !applied)
      errors.insert(errors.end(), applied.error().begin(), applied.error().end());
  std::vector<SweepAxis> found = AxisFinder(scenario_fields().info()).find(document->root);
  const Errors lists = wrong_lists(found, *document);
  errors.insert(errors.end(), lists.begin(), lists.end());
  if (!errors.empty()) return tl::make_unexpected(in_file_order(std::move(errors), sets));
  SweepAxes axes(*document, std::move(found));
  std::optional<Scenario> first_good;
  errors = wrong_values(axes, first_good);
  if (errors.empty() && first_good) errors = beside_a_calibration(axes, *first_good, *document);
  if (!errors.empty()) return tl::make_unexpected(std::move(errors));
  return axes;
}

}  // namespace lockstep
