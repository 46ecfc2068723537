// What SweepRuns shows of its points, and how one of them becomes the scenario.
#include <algorithm>

#include "gui/app/slider_scale.h"
#include "gui/sweep/sweep_runs.h"
#include "simulator/base/quantity.h"

namespace lockstep::gui {
namespace {

constexpr const char* kCap = "ddp.bucket_cap";

}  // namespace

std::shared_ptr<const BucketCurve> SweepRuns::curve() const {
  const Part& one = part(SweepKind::Curve);
  if (planned_text_.empty()) return nullptr;
  auto curve = std::make_shared<BucketCurve>();
  const SweepPlan& plan = curve_.plan();
  curve->gpus = plan.gpus;
  curve->stale = stale_;
  curve->running = curve_.running();
  curve->done = curve_.done();
  curve->missing = one.missing;
  curve->failure = one.failure;
  const std::string present = present_value(kCap, context());
  for (std::size_t i = 0; i < curve_.cells().size(); ++i) {
    BucketPoint point{plan.axes[0].values[i], 0, false, curve_.cells()[i]};
    point.is_default = point.yaml == "default";
    const auto bytes = number_of(point.is_default ? "25MiB" : point.yaml, Unit::Bytes);
    point.cap_bytes = bytes.value_or(0);
    if (!point.is_default && number_of(present, Unit::Bytes) == bytes) curve->present = point.yaml;
    if (point.is_default)
      curve->usual = point;
    else
      curve->points.push_back(point);
  }
  std::sort(curve->points.begin(), curve->points.end(),
            [](const BucketPoint& a, const BucketPoint& b) { return a.cap_bytes < b.cap_bytes; });
  return curve;
}

std::shared_ptr<const SweepGrid> SweepRuns::map() const {
  const Part& one = part(SweepKind::Map);
  if (planned_text_.empty()) return nullptr;
  auto grid = std::make_shared<SweepGrid>();
  const SweepPlan& plan = map_.plan();
  grid->axes = plan.axes.empty() ? axes_ : plan.axes;
  grid->strategy = plan.strategy;
  grid->gpus = plan.gpus;
  grid->cells = map_.cells();
  grid->stale = stale_;
  grid->running = map_.running();
  grid->done = map_.done();
  grid->missing = one.missing;
  grid->failure = one.failure;
  grid->note = lists_values_ && note_.isEmpty()
                   ? tr("The file lists these values; a cell that is used goes on with it.")
                   : note_;
  if (plan.axes.size() == 2 && !lists_values_) {
    const auto x = present_index(plan.axes[0], context()), y = present_index(plan.axes[1], context());
    if (x && y) grid->present = *x + *y * plan.axes[0].values.size();
  }
  return grid;
}

Errors SweepRuns::apply_cap(const BucketPoint& point) {
  return document_.apply({std::string(kCap) + '=' + point.yaml}, tr("bucket cap %1").arg(cap_text(point)));
}

Errors SweepRuns::apply_cell(std::size_t cell) {
  const SweepPlan& plan = map_.plan();
  const AxisContext now = context();
  if (cell >= map_.cells().size() || now.scenario == nullptr) return {};
  std::vector<std::string> sets;
  QStringList words;
  for (const PlanAxis& listed : lists_values_ ? listed_axes(document_.source()) : std::vector<PlanAxis>())
    if (listed.key != plan.axes[0].key && listed.key != plan.axes[1].key)
      sets.push_back(listed.key + '=' + listed.values.front());
  for (std::size_t i = 0; i < plan.axes.size(); ++i) {
    const PlanAxis& axis = plan.axes[i];
    const std::size_t at = plan.index(cell, i);
    words << QString::fromStdString(axis.key + ' ' + axis.names[at]);
    if (!lists_values_ && present_index(axis, now) == at) continue;
    std::string value = axis.values[at];
    if (axis.key == "gpus")
      if (const auto count = parse_integer(axis.names[at]))
        value = list_yaml(gpus_up_to(now.scenario->gpus, static_cast<int>(*count)));
    sets.push_back(axis.key + '=' + value);
  }
  const auto& strategies = now.scenario->strategies;
  if (std::find(strategies.begin(), strategies.end(), plan.strategy) == strategies.end())
    sets.push_back(std::string("strategy=") +
                   (strategies == std::vector<Strategy>{Strategy::Single} || strategies.empty() ? name_of(plan.strategy)
                                                                                                : "[dp, ddp]"));
  return sets.empty() ? Errors{} : document_.apply(sets, tr("use %1").arg(words.join(QStringLiteral(", "))));
}

}  // namespace lockstep::gui
