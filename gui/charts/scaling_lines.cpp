#include "gui/charts/scaling_lines.h"

#include <QCoreApplication>
#include <algorithm>
#include <cmath>
#include <set>

#include "gui/app/theme.h"
#include "gui/compare/difference.h"

namespace lockstep::gui {
namespace {

double value_of(const Run& run, Metric metric) {
  switch (metric) {
    case Metric::Efficiency:
      return run.efficiency;
    case Metric::Throughput:
      return run.throughput;
    case Metric::StepTime:
      break;
  }
  return run.step_time_s;
}

// The same run as if its step took `step_s`.
double value_at(const Run& run, Metric metric, double step_s) {
  if (metric == Metric::StepTime) return step_s;
  return value_of(run, metric) * run.step_time_s / step_s;
}

// ln(end of the band / step) that the run has beyond the single GPU's, and what no band leaves out.
double beyond(double run_end, double run_step, double single_end, double single_step) {
  const double own = std::log(run_end / run_step), shared = std::log(single_end / single_step);
  return std::sqrt(std::max(0.0, own * own - shared * shared) + kLeastEfficiencyBand * kLeastEfficiencyBand);
}

void add_band_to(ScalingPoint& point, const Run& run, const Run* single, Metric metric) {
  if (!run.uncertainty) return;
  double low_s = run.uncertainty->low, high_s = run.uncertainty->high;
  if (metric == Metric::Efficiency) {
    // One GPU without a wrapper has 100 % by definition.
    if (run.strategy == Strategy::Single || single == nullptr || !single->uncertainty) return;
    const Uncertainty& shared = *single->uncertainty;
    low_s = run.step_time_s * std::exp(-beyond(low_s, run.step_time_s, shared.low, single->step_time_s));
    high_s = run.step_time_s * std::exp(beyond(high_s, run.step_time_s, shared.high, single->step_time_s));
  }
  const double a = value_at(run, metric, low_s), b = value_at(run, metric, high_s);
  point.low = std::min({a, b, point.value});
  point.high = std::max({a, b, point.value});
}

void add_whiskers_to(ScalingPoint& point, const Run& run, Metric metric) {
  double least = 0, most = 0;
  for (const Samples& repeat : run.samples)
    for (const double step_s : repeat.step_times_s) {
      least = point.samples == 0 ? step_s : std::min(least, step_s);
      most = std::max(most, step_s);
      ++point.samples;
    }
  if (point.samples == 0 || least <= 0) return;
  const double a = value_at(run, metric, least), b = value_at(run, metric, most);
  point.low = std::min(a, b);
  point.high = std::max(a, b);
}

const Run* single_of(const Result& result) {
  for (const Run* run : runs_of(result))
    if (run->strategy == Strategy::Single) return run;
  return nullptr;
}

const Run* twin_of(const Run& run, const Result& result) {
  for (const Run* other : runs_of(result))
    if (other->strategy == run.strategy && other->gpus == run.gpus && other->point == run.point) return other;
  return nullptr;
}

void add_difference_to(ScalingPoint& point, const Run& run, const Result* baseline, Metric metric) {
  const Run* pinned = baseline != nullptr ? twin_of(run, *baseline) : nullptr;
  if (pinned == nullptr) return;
  const double before = value_of(*pinned, metric);
  if (before <= 0) return;
  const double ratio = point.value / before;
  point.difference = PointDifference{point.value - before, ratio - 1,
                                     says_nothing(metric == Metric::StepTime ? ratio : 1 / ratio, run, *pinned),
                                     run.global_batch == pinned->global_batch};
}

struct LinesOf {
  ScalingLine::Kind kind = ScalingLine::Kind::Predicted;
  QString suffix;
  int source = 0;
  const Result* baseline = nullptr;  // to tell differences from
};

void add_lines_of(std::vector<ScalingLine>& lines, const Result& result, Metric metric, const LinesOf& what) {
  const Run* single = single_of(result);
  for (const Strategy strategy : {Strategy::Single, Strategy::Dp, Strategy::DpCpp, Strategy::Ddp}) {
    ScalingLine line{what.kind, strategy, strategy_name(strategy) + what.suffix, {}, what.source};
    for (const Run* run : runs_of(result)) {
      if (run->strategy != strategy) continue;
      ScalingPoint point{run->gpus, value_of(*run, metric), {}, {}, 0, {}, run->fits_memory};
      if (point.value <= 0) continue;
      if (what.kind == ScalingLine::Kind::Measured)
        add_whiskers_to(point, *run, metric);
      else
        add_band_to(point, *run, single, metric);
      add_difference_to(point, *run, what.baseline, metric);
      line.points.push_back(point);
    }
    std::stable_sort(line.points.begin(), line.points.end(),
                     [](const ScalingPoint& a, const ScalingPoint& b) { return a.gpus < b.gpus; });
    if (!line.points.empty()) lines.push_back(std::move(line));
  }
}

// Perfect scaling from one GPU: as efficient, n times the throughput, the same step (weak) or 1/n of it (strong).
void add_ideal(std::vector<ScalingLine>& lines, const Result& result, Metric metric) {
  const Run* single = single_of(result);
  if (single == nullptr) return;
  ScalingLine ideal;
  ideal.kind = ScalingLine::Kind::Ideal;
  ideal.name = QCoreApplication::translate("lockstep::gui::ScalingView", "ideal");
  std::set<int> gpus;
  bool strong = false;
  for (const Run* run : runs_of(result)) {
    gpus.insert(run->gpus);
    strong = strong || run->scaling == "strong";
  }
  for (const int n : gpus) {
    double value = metric == Metric::Efficiency ? 1 : value_of(*single, metric);
    if (metric == Metric::Throughput) value *= n;
    if (metric == Metric::StepTime && strong) value /= n;
    ideal.points.push_back({n, value, {}, {}, 0, {}, {}});
  }
  if (ideal.points.size() > 1) lines.push_back(std::move(ideal));
}

}  // namespace

std::vector<ScalingLine> scaling_lines(const Shown& shown, Metric metric) {
  std::vector<ScalingLine> lines;
  if (shown.result) add_ideal(lines, *shown.result, metric);
  if (shown.baseline)
    add_lines_of(lines, *shown.baseline, metric,
                 {ScalingLine::Kind::Baseline, QCoreApplication::translate("lockstep::gui::ScalingView", " pinned"), 0,
                  nullptr});
  for (std::size_t i = 0; i < shown.measured.size(); ++i) {
    const Result& result = *shown.measured[i].result;
    const auto kind = result.kind == "measured" ? ScalingLine::Kind::Measured : ScalingLine::Kind::Loaded;
    if (kind == ScalingLine::Kind::Loaded)  // measured points stand above all lines
      add_lines_of(lines, result, metric, {kind, ' ' + loaded_name(shown, i), static_cast<int>(i), nullptr});
  }
  if (shown.result)
    add_lines_of(lines, *shown.result, metric, {ScalingLine::Kind::Predicted, {}, 0, shown.baseline.get()});
  for (std::size_t i = 0; i < shown.measured.size(); ++i)
    if (const Result& result = *shown.measured[i].result; result.kind == "measured")
      add_lines_of(lines, result, metric,
                   {ScalingLine::Kind::Measured, ' ' + loaded_name(shown, i), static_cast<int>(i), nullptr});
  return lines;
}

QString metric_text(double value, Metric metric, const AxisUnit& unit) {
  if (metric == Metric::Efficiency) return three_digits(value * 100) + QStringLiteral(" %");
  if (metric == Metric::StepTime) return three_digits(value / unit.scale) + ' ' + unit.name;
  return three_digits(value);
}

QString short_difference_text(const PointDifference& difference, Metric metric) {
  return metric == Metric::Efficiency ? points_text(difference.absolute) : signed_percent(difference.relative);
}

QString difference_text(const PointDifference& difference, Metric metric, const AxisUnit& unit) {
  if (metric == Metric::Efficiency) return points_text(difference.absolute);
  QString absolute = signed_digits(difference.absolute / unit.scale);
  if (metric == Metric::StepTime) absolute += ' ' + unit.name;
  return absolute + QStringLiteral(", ") + signed_percent(difference.relative);
}

std::vector<int> gpus_of(const std::vector<ScalingLine>& lines) {
  std::set<int> all;
  for (const ScalingLine& line : lines)
    for (const ScalingPoint& point : line.points) all.insert(point.gpus);
  return {all.begin(), all.end()};
}

}  // namespace lockstep::gui
