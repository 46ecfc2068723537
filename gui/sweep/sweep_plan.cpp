#include "gui/sweep/sweep_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "gui/runs/estimator.h"
#include "scenarios/fields.h"
#include "scenarios/sweep_axes.h"

namespace lockstep::gui {
namespace {

bool is_axis(const std::vector<PlanAxis>& axes, const std::string& key) {
  return std::any_of(axes.begin(), axes.end(), [&](const PlanAxis& axis) { return axis.key == key; });
}

// At the key of an axis, or at a group around it.
bool is_about(const std::vector<PlanAxis>& axes, const std::string& key) {
  return std::any_of(axes.begin(), axes.end(), [&](const PlanAxis& axis) {
    return axis.key == key || axis.key.rfind(key + ".", 0) == 0 || key.rfind(axis.key + ".", 0) == 0;
  });
}

// A value as it may stand in a flow list.
std::string flow_text(const Value& value) {
  return to_flow_yaml(value);
}

tl::unexpected<Errors> no_values(const std::string& key) {
  Error error;
  error.kind = ErrorKind::Range;
  error.key = key;
  error.message = "no value is listed";
  error.hint = "give at least one";
  return tl::make_unexpected(Errors{error});
}

std::string identity_of(const SweepAxes& axes, const SweepPlan& plan) {
  const auto read = read_scenario_document(axes.document(0));
  if (!read) return plan.source.text;
  std::string identity = fmt::format("{}\n", plan.source.file);
  for (const ResolvedField& field : scenario_fields().resolved(read->scenario, read->reading))
    if (field.key != "question" && !is_about(plan.axes, field.key))
      identity += fmt::format("{}: {}\n", field.key, field.yaml);
  return identity;
}

}  // namespace

std::size_t SweepPlan::size() const {
  if (axes.empty()) return 0;
  return std::accumulate(axes.begin(), axes.end(), std::size_t{1},
                         [](std::size_t n, const PlanAxis& axis) { return n * axis.values.size(); });
}

std::size_t SweepPlan::index(std::size_t point, std::size_t axis) const {
  for (std::size_t i = 0; i < axis; ++i) point /= axes[i].values.size();
  return point % axes[axis].values.size();
}

std::string SweepPlan::key_of(std::size_t point) const {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < axes.size(); ++i) parts.push_back(axes[i].key + '=' + axes[i].names[index(point, i)]);
  std::sort(parts.begin(), parts.end());  // whichever axis is across
  return fmt::format("{}", fmt::join(parts, "\n"));
}

ScenarioText SweepPlan::text_of(std::size_t point) const {
  ScenarioText text = source;
  for (std::size_t i = 0; i < axes.size(); ++i) text = text.with(axes[i].key + '=' + axes[i].values[index(point, i)]);
  return text;
}

std::vector<PlanAxis> listed_axes(const ScenarioText& source) {
  std::vector<PlanAxis> listed;
  const auto axes = read_sweep_axes(source.text, source.file, source.sets);
  if (!axes) return listed;
  for (const SweepAxis& axis : axes->axes()) {
    if (axis.key == "gpus" || axis.key == "strategy") continue;
    PlanAxis one{axis.key, {}, {}};
    for (const Value& value : axis.values) one.values.push_back(flow_text(value));
    listed.push_back(std::move(one));
  }
  return listed;
}

Expected<SweepPlan> make_plan(const ScenarioText& source, Strategy strategy, int gpus, std::vector<PlanAxis> axes) {
  for (const PlanAxis& axis : axes)
    if (axis.values.empty()) return no_values(axis.key);
  SweepPlan plan;
  plan.source = source;
  plan.strategy = strategy;
  plan.axes = std::move(axes);
  for (PlanAxis& axis : plan.axes) {
    axis.names.clear();
    for (const std::string& value : axis.values) axis.names.push_back(shown_value(value));
  }
  for (const PlanAxis& listed : listed_axes(source))
    if (!is_axis(plan.axes, listed.key)) plan.source.sets.push_back(listed.key + '=' + listed.values.front());
  plan.source.sets.push_back(fmt::format("strategy={}", name_of(strategy)));
  if (!is_axis(plan.axes, "gpus")) {
    plan.gpus = gpus;
    plan.source.sets.push_back(fmt::format("gpus={}", gpus));
  }
  ScenarioText swept = plan.source;
  for (const PlanAxis& axis : plan.axes) {
    std::vector<std::size_t> all(axis.values.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    swept.sets.push_back(set_of(axis, all));
  }
  const auto read = read_sweep_axes(swept.text, swept.file, swept.sets);
  if (!read) return tl::make_unexpected(read.error());
  plan.identity = identity_of(*read, plan);
  return plan;
}

Expected<std::vector<std::string>> values_of_text(const std::string& text) {
  const bool bracketed = text.find_first_not_of(' ') != std::string::npos && text[text.find_first_not_of(' ')] == '[';
  const auto document = parse_document("v: " + (bracketed ? text : '[' + text + ']'), "list");
  if (!document) return tl::make_unexpected(document.error());
  const Value* list = document->root.find("v");
  std::vector<std::string> values;
  if (list != nullptr)
    for (const Value& item : list->items) values.push_back(flow_text(item));
  return values;
}

std::string text_of_values(const std::vector<std::string>& values) {
  return fmt::format("{}", fmt::join(values, ", "));
}

std::string set_of(const PlanAxis& axis, const std::vector<std::size_t>& which) {
  std::vector<std::string> values;
  for (const std::size_t i : which) values.push_back(axis.values[i]);
  return fmt::format("{}=[{}]", axis.key, fmt::join(values, ", "));
}

std::string shown_value(const std::string& yaml) {
  const auto document = parse_document("v: " + yaml, "value");
  const Value* value = document ? document->root.find("v") : nullptr;
  if (value == nullptr) return yaml;
  return value->kind == Value::Kind::Scalar ? value->text : to_flow_yaml(*value);
}

SweepCell cell_of(const lockstep::Run& run, bool estimated) {
  SweepCell cell;
  cell.state = run.not_run ? CellState::NotRun : CellState::Known;
  cell.estimated = estimated;
  cell.fits = run.fits_memory.value_or(true);
  cell.gpus = run.gpus;
  cell.reason = run.not_run.value_or("");
  cell.step_s = run.step_time_s;
  cell.throughput = run.throughput;
  cell.throughput_unit = run.throughput_unit;
  cell.efficiency = run.efficiency;
  cell.speedup = run.speedup;
  cell.exposed_s = run.part_s(Cause::ExposedCommunication);
  cell.hidden_s = run.hidden_communication_s;
  std::set<int> buckets;  // without no_sync they come again in every micro-step
  for (const BucketTimes& bucket : run.buckets)
    if (buckets.insert(bucket.index).second) cell.gradient_bytes += static_cast<double>(bucket.bytes);
  cell.buckets = static_cast<int>(buckets.size());
  return cell;
}

SweepCell estimate_cell(const SweepPlan& plan, std::size_t point, LoadedInputs& loaded) {
  const Estimate estimate = estimate_now(plan.text_of(point), loaded);
  if (estimate.result)
    for (const lockstep::Run& run : estimate.result->runs)
      if (run.strategy == plan.strategy) return cell_of(run, true);
  SweepCell cell;
  cell.state = CellState::NotRun;
  if (!estimate.errors.empty()) {
    const Error& error = estimate.errors.front();
    cell.reason = error.key.empty() ? error.message : fmt::format("{}: {}", error.key, error.message);
  }
  return cell;
}

}  // namespace lockstep::gui
