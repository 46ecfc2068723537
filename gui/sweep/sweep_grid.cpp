#include "gui/sweep/sweep_grid.h"

#include <QCoreApplication>
#include <algorithm>
#include <cmath>

#include "gui/app/field_labels.h"
#include "gui/app/theme.h"
#include "gui/charts/axis.h"
#include "gui/charts/view.h"
#include "gui/compare/difference.h"
#include "simulator/base/format.h"

namespace lockstep::gui {
namespace {

constexpr double kAsGood = 0.005;  // of the best: not told apart
constexpr double kSame = 1e-9;
constexpr double kLeastSpan = 0.2;  // of the best: small differences must not look like large ones

QString say(const char* text) {
  return QCoreApplication::translate("lockstep::gui::SweepGrid", text);
}

QString place_of(const SweepGrid& grid, std::size_t cell) {
  QStringList parts;
  if (grid.across() == 0) return {};
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::size_t at = axis == 0 ? cell % grid.across() : cell / grid.across();
    parts << QStringLiteral("%1 %2").arg(label_of(grid.axes[axis].key),
                                         QString::fromStdString(grid.axes[axis].names[at]));
  }
  return parts.join(QStringLiteral(", "));
}

bool is_lower_better(SweepMetric metric) {
  return metric == SweepMetric::StepTime;
}

QString does_not_fit() {
  return say(QT_TRANSLATE_NOOP("lockstep::gui::SweepGrid", "does not fit in the GPU's memory"));
}

QString far_from_best(const MetricScale& scale, double value) {
  const double factor = is_lower_better(scale.metric) ? scale.best / value : value / scale.best;
  if (factor > 1 - kAsGood) return say(QT_TRANSLATE_NOOP("lockstep::gui::SweepGrid", "as good as the best"));
  return say(QT_TRANSLATE_NOOP("lockstep::gui::SweepGrid", "%1 % of the best"))
      .arg(QString::fromStdString(format_significant(100 * factor)));
}

}  // namespace

QString metric_name(SweepMetric metric) {
  switch (metric) {
    case SweepMetric::Efficiency:
      return say(QT_TRANSLATE_NOOP("lockstep::gui::SweepGrid", "Efficiency"));
    case SweepMetric::Throughput:
      return say(QT_TRANSLATE_NOOP("lockstep::gui::SweepGrid", "Throughput"));
    case SweepMetric::StepTime:
      return say(QT_TRANSLATE_NOOP("lockstep::gui::SweepGrid", "Step time"));
    case SweepMetric::SpeedUp:
      break;
  }
  return say(QT_TRANSLATE_NOOP("lockstep::gui::SweepGrid", "Speed-up"));
}

double value_of_cell(const SweepCell& cell, SweepMetric metric) {
  switch (metric) {
    case SweepMetric::Efficiency:
      return cell.efficiency;
    case SweepMetric::Throughput:
      return cell.throughput;
    case SweepMetric::StepTime:
      return cell.step_s;
    case SweepMetric::SpeedUp:
      break;
  }
  return cell.speedup;
}

double MetricScale::share(double value) const {
  if (best == worst || value <= 0) return value == best ? 1 : 0;
  const double share =
      logarithmic ? std::log(value / worst) / std::log(best / worst) : (value - worst) / (best - worst);
  return std::clamp(share, 0.0, 1.0);
}

QString MetricScale::text(double value) const {
  return QString::fromStdString(format_column(value / unit_si));
}

QString MetricScale::in_words(double value) const {
  if (metric == SweepMetric::SpeedUp) return QString::fromStdString(format_factor_column(value));
  return text(value) + QChar(' ') + unit;
}

MetricScale metric_scale(const SweepGrid& grid, SweepMetric metric) {
  MetricScale scale;
  scale.metric = metric;
  double low = 0, high = 0;
  const bool some_fit =
      std::any_of(grid.cells.begin(), grid.cells.end(), [](const SweepCell& c) { return c.usable(); });
  for (const SweepCell& cell : grid.cells) {
    if (some_fit ? !cell.usable() : cell.state != CellState::Known) continue;
    const double value = value_of_cell(cell, metric);
    low = scale.any ? std::min(low, value) : value;
    high = scale.any ? std::max(high, value) : value;
    scale.any = true;
    if (metric == SweepMetric::Throughput) scale.unit = QString::fromStdString(cell.throughput_unit);
  }
  scale.worst =
      is_lower_better(metric) ? std::max(high, low / (1 - kLeastSpan)) : std::min(low, high * (1 - kLeastSpan));
  scale.best = is_lower_better(metric) ? low : high;
  scale.logarithmic = low > 0 && high > 10 * low;
  if (metric == SweepMetric::Efficiency) {
    scale.unit = QStringLiteral("%");
    scale.unit_si = 0.01;
  } else if (metric == SweepMetric::StepTime) {
    const AxisUnit unit = time_unit(high);
    scale.unit = unit.name;
    scale.unit_si = unit.scale;
  }
  return scale;
}

std::optional<std::size_t> best_cell(const SweepGrid& grid, SweepMetric metric) {
  std::optional<std::size_t> best;
  if (grid.across() == 0) return best;
  const double sign = is_lower_better(metric) ? -1 : 1;
  const auto shared = [&](std::size_t cell) {
    if (!grid.present) return 0;
    return (cell % grid.across() == *grid.present % grid.across() ? 1 : 0) +
           (cell / grid.across() == *grid.present / grid.across() ? 1 : 0);
  };
  for (std::size_t i = 0; i < grid.cells.size(); ++i) {
    if (!grid.cells[i].usable()) continue;
    const double value = value_of_cell(grid.cells[i], metric);
    const double best_value = best ? value_of_cell(grid.cells[*best], metric) : value;
    const bool same = std::abs(value - best_value) <= kSame * std::abs(best_value);
    if (!best || (same ? shared(i) > shared(*best) : sign * value > sign * best_value)) best = i;
  }
  return best;
}

QString heading_of(const SweepGrid& grid) {
  const QString name = strategy_name(grid.strategy);
  if (grid.gpus == 0) return name;
  return say(QT_TRANSLATE_NOOP("lockstep::gui::SweepGrid", "%1 on %2 GPUs")).arg(name).arg(grid.gpus);
}

QString cell_sentence(const SweepGrid& grid, std::size_t cell, SweepMetric metric) {
  if (cell >= grid.cells.size() || grid.across() == 0) return {};
  const SweepCell& one = grid.cells[cell];
  const QString place = place_of(grid, cell);
  if (one.state == CellState::Pending)
    return say(QT_TRANSLATE_NOOP("lockstep::gui::SweepGrid", "%1: not computed yet")).arg(place);
  if (one.state == CellState::NotRun)
    return say(QT_TRANSLATE_NOOP("lockstep::gui::SweepGrid", "%1: cannot run. %2"))
        .arg(place, QString::fromStdString(one.reason));
  QStringList words;
  for (const SweepMetric other : kSweepMetrics)
    words << QStringLiteral("%1 %2").arg(metric_name(other).toLower(),
                                         metric_scale(grid, other).in_words(value_of_cell(one, other)));
  const MetricScale scale = metric_scale(grid, metric);
  QString sentence = place + QStringLiteral(": ") + words.join(QStringLiteral(", "));
  sentence += QStringLiteral(" (%1; %2)")
                  .arg(one.estimated ? say(QT_TRANSLATE_NOOP("lockstep::gui::SweepGrid", "estimate"))
                                     : say(QT_TRANSLATE_NOOP("lockstep::gui::SweepGrid", "simulated")),
                       one.fits ? far_from_best(scale, value_of_cell(one, metric)) : does_not_fit());
  return sentence;
}

QString cell_against(const SweepGrid& grid, std::size_t cell, SweepMetric metric, const Result& pinned) {
  if (cell >= grid.cells.size() || grid.cells[cell].state != CellState::Known) return {};
  const lockstep::Run* other = nullptr;
  for (const lockstep::Run* run : runs_of(pinned)) {
    if (run->strategy != grid.strategy) continue;
    if (other != nullptr && other->gpus == grid.cells[cell].gpus) break;
    if (other == nullptr || run->gpus > other->gpus || run->gpus == grid.cells[cell].gpus) other = run;
  }
  const double before = other == nullptr ? 0 : value_of_cell(cell_of(*other, false), metric);
  if (before <= 0) return {};
  const double now = value_of_cell(grid.cells[cell], metric), change = 100 * (now / before - 1);
  if (metric == SweepMetric::Efficiency)
    return say(QT_TRANSLATE_NOOP("lockstep::gui::SweepGrid", "Pinned (%1 GPUs): %2; this is %3."))
        .arg(other->gpus)
        .arg(metric_scale(grid, metric).in_words(before), points_text(now - before));
  return say(QT_TRANSLATE_NOOP("lockstep::gui::SweepGrid", "Pinned (%1 GPUs): %2; this is %3 %."))
      .arg(other->gpus)
      .arg(metric_scale(grid, metric).in_words(before),
           (change < 0 ? QString() : QStringLiteral("+")) + QString::fromStdString(format_significant(change, 3)));
}

QString grid_sentence(const SweepGrid& grid, SweepMetric metric) {
  const auto best = best_cell(grid, metric);
  if (!best && metric_scale(grid, metric).any)
    return say(QT_TRANSLATE_NOOP("lockstep::gui::SweepGrid", "%1: no cell that is known fits in the GPU's memory."))
        .arg(heading_of(grid));
  if (!best) return grid.missing;
  const MetricScale scale = metric_scale(grid, metric);
  QString sentence =
      say(QT_TRANSLATE_NOOP("lockstep::gui::SweepGrid", "%1: the best %2 is %3 at %4."))
          .arg(heading_of(grid), metric_name(metric).toLower(), scale.in_words(scale.best), place_of(grid, *best));
  if (!grid.present && !grid.note.isEmpty()) return sentence;
  if (!grid.present)
    return sentence + QChar(' ') +
           say(QT_TRANSLATE_NOOP("lockstep::gui::SweepGrid", "The present settings are not on this map."));
  const SweepCell& now = grid.cells[*grid.present];
  if (now.state != CellState::Known) return sentence;
  if (!now.fits)
    return sentence + QChar(' ') +
           say(QT_TRANSLATE_NOOP("lockstep::gui::SweepGrid", "The present settings do not fit in the GPU's memory."));
  return sentence + QChar(' ') +
         say(QT_TRANSLATE_NOOP("lockstep::gui::SweepGrid", "The present settings reach %1, %2."))
             .arg(scale.in_words(value_of_cell(now, metric)), far_from_best(scale, value_of_cell(now, metric)));
}

}  // namespace lockstep::gui
