#include "gui/charts/scaling_view.h"

#include <QApplication>
#include <QAreaSeries>
#include <QCategoryAxis>
#include <QLineSeries>
#include <QPainter>
#include <QScatterSeries>
#include <QValueAxis>
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "gui/app/theme.h"
#include "simulator/base/format.h"

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

// ln(end of the band / step) that the run has beyond the single GPU's.
double beyond(double run_end, double run_step, double single_end, double single_step) {
  const double own = std::log(run_end / run_step), shared = std::log(single_end / single_step);
  return std::sqrt(std::max(0.0, own * own - shared * shared));
}

void add_band_to(ScalingPoint& point, const Run& run, const Run* single, Metric metric) {
  if (!run.uncertainty) return;
  double low_s = run.uncertainty->low, high_s = run.uncertainty->high;
  if (metric == Metric::Efficiency) {
    if (single == nullptr || !single->uncertainty) return;
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

void add_lines_of(std::vector<ScalingLine>& lines, const Result& result, Metric metric, ScalingLine::Kind kind,
                  const QString& suffix) {
  const Run* single = single_of(result);
  for (const Strategy strategy : {Strategy::Single, Strategy::Dp, Strategy::DpCpp, Strategy::Ddp}) {
    ScalingLine line;
    line.kind = kind;
    line.strategy = strategy;
    line.name = strategy_name(strategy) + suffix;
    for (const Run* run : runs_of(result)) {
      if (run->strategy != strategy) continue;
      ScalingPoint point{run->gpus, value_of(*run, metric), {}, {}, 0};
      if (point.value <= 0) continue;
      if (kind == ScalingLine::Kind::Measured)
        add_whiskers_to(point, *run, metric);
      else
        add_band_to(point, *run, single, metric);
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
  ideal.name = ScalingView::tr("ideal");
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
    ideal.points.push_back({n, value, {}, {}, 0});
  }
  if (ideal.points.size() > 1) lines.push_back(std::move(ideal));
}

QString unit_text(const Shown& shown, Metric metric, const AxisUnit& unit) {
  switch (metric) {
    case Metric::Efficiency:
      return ScalingView::tr("% of one GPU's speed, per GPU");
    case Metric::Throughput: {
      const auto runs = shown.result ? runs_of(*shown.result) : std::vector<const Run*>();
      return runs.empty() ? QString() : QString::fromStdString(runs.front()->throughput_unit);
    }
    case Metric::StepTime:
      break;
  }
  return ScalingView::tr("%1 per optimizer step").arg(unit.name);
}

std::vector<int> gpus_of(const std::vector<ScalingLine>& lines) {
  std::set<int> all;
  for (const ScalingLine& line : lines)
    for (const ScalingPoint& point : line.points) all.insert(point.gpus);
  return {all.begin(), all.end()};
}

}  // namespace

std::vector<ScalingLine> scaling_lines(const Shown& shown, Metric metric) {
  std::vector<ScalingLine> lines;
  if (shown.result) add_ideal(lines, *shown.result, metric);
  if (shown.baseline)
    add_lines_of(lines, *shown.baseline, metric, ScalingLine::Kind::Baseline, ScalingView::tr(" pinned"));
  if (shown.result) add_lines_of(lines, *shown.result, metric, ScalingLine::Kind::Predicted, {});
  for (const MeasuredResult& one : shown.measured)
    add_lines_of(lines, *one.result, metric, ScalingLine::Kind::Measured, ScalingView::tr(" measured"));
  return lines;
}

QString metric_text(double value, Metric metric, const AxisUnit& unit) {
  if (metric == Metric::Efficiency) return three_digits(value * 100) + QStringLiteral(" %");
  if (metric == Metric::StepTime) return three_digits(value / unit.scale) + ' ' + unit.name;
  return three_digits(value);
}

ScalingView::ScalingView(Metric metric) : metric_(metric), panel_(new ChartPanel) {
  x_ = new QCategoryAxis(panel_->chart());
  x_->setLabelsPosition(QCategoryAxis::AxisLabelsPositionOnValue);
  y_ = new QValueAxis(panel_->chart());
  panel_->chart()->addAxis(x_, Qt::AlignBottom);
  panel_->chart()->addAxis(y_, Qt::AlignLeft);
  panel_->setAccessibleName(title());
  panel_->set_overlay([this](QPainter& painter) { draw_over(painter); });
  panel_->set_filler([this] {
    if (!drawn_) draw();
  });
}

ScalingView::~ScalingView() {
  if (panel_) panel_->set_overlay({});
  if (panel_) panel_->set_filler({});
  if (panel_ && panel_->parent() == nullptr) delete panel_;
}

QString ScalingView::id() const {
  return metric_ == Metric::Efficiency   ? QStringLiteral("efficiency")
         : metric_ == Metric::Throughput ? QStringLiteral("throughput")
                                         : QStringLiteral("step-time");
}

QString ScalingView::title() const {
  return metric_ == Metric::Efficiency   ? ScalingView::tr("Efficiency")
         : metric_ == Metric::Throughput ? ScalingView::tr("Throughput")
                                         : ScalingView::tr("Step time");
}

void ScalingView::show_result(const Shown& shown) {
  shown_ = shown;
  lines_ = scaling_lines(shown_, metric_);
  highest_ = 0;
  for (const ScalingLine& line : lines_)
    for (const ScalingPoint& point : line.points) highest_ = std::max({highest_, point.value, point.high.value_or(0)});
  if (metric_ == Metric::Efficiency) {
    unit_ = {QStringLiteral("%"), 0.01};
    highest_ = std::max(1.1, highest_);
  } else {
    unit_ = metric_ == Metric::StepTime ? time_unit(highest_) : AxisUnit{};
    highest_ *= 1.05;
  }
  drawn_ = false;
  if (panel_ && panel_->isVisible()) draw();
  if (panel_) panel_->setAccessibleDescription(description());
}

void ScalingView::theme_changed() {
  drawn_ = false;
  if (panel_ && panel_->isVisible()) draw();
}

// A Qt chart is quickest made anew: a handful of series of a handful of points.
void ScalingView::draw() {
  if (!panel_) return;
  drawn_ = true;
  panel_->chart()->removeAllSeries();
  panel_->set_heading(title(), unit_text(shown_, metric_, unit_));
  draw_axes(in_unit(highest_));
  for (const ScalingLine& line : lines_) add_band(line);
  for (const ScalingLine& line : lines_) add_line(line);
  // Without any series the axes and the overlay have no coordinates.
  auto* frame = new QLineSeries;
  frame->append(0, 0);
  panel_->chart()->addSeries(frame);
  frame->attachAxis(x_);
  frame->attachAxis(y_);
  frame->setVisible(false);
  panel_->set_legend(legend());
  panel_->set_hot_spots(hot_spots(), frame);
  panel_->set_faded(shown_.stale);
  panel_->set_empty_text(lines_.empty() ? ScalingView::tr("No prediction yet") : QString());
}

void ScalingView::draw_axes(double highest) {
  const Theme& t = theme();
  for (QAbstractAxis* axis : {static_cast<QAbstractAxis*>(x_), static_cast<QAbstractAxis*>(y_)}) {
    axis->setLabelsColor(t.muted);
    axis->setLinePenColor(t.border);
    axis->setGridLineColor(t.grid);
    axis->setVisible(!lines_.empty());
    axis->setTruncateLabels(false);
    axis->setLabelsFont(QApplication::font());
  }
  x_->setGridLineVisible(false);
  for (const QString& label : x_->categoriesLabels()) x_->remove(label);
  const std::vector<int> all = gpus_of(lines_);
  if (!all.empty()) {
    const std::vector<int> shown = labelled(all, 9);
    for (const int g : shown) x_->append(g == 1 ? ScalingView::tr("1 GPU") : QString::number(g), std::log2(g));
    const double span = std::max(1.0, std::log2(static_cast<double>(all.back()) / all.front()));
    x_->setRange(std::log2(all.front()) - 0.06 * span, std::log2(all.back()) + 0.16 * span);
  }
  // Fixed numbers of ticks: with a distance between ticks, a range that is set first may hold millions of them.
  const Ticks ticks = nice_ticks(0, highest, 5);
  const bool percent = metric_ == Metric::Efficiency;
  y_->setTickCount(percent ? static_cast<int>(std::ceil(highest / 20 - 1e-9)) + 1 : ticks.count());
  y_->setRange(percent ? 0 : ticks.low, percent ? 20 * (y_->tickCount() - 1) : ticks.high);
  y_->setLabelFormat(QStringLiteral("%.%1f").arg(percent ? 0 : ticks.decimals));
}

QPointF ScalingView::at(const ScalingPoint& point) const {
  return {std::log2(point.gpus), in_unit(point.value)};
}

void ScalingView::add_band(const ScalingLine& line) {
  if (line.kind != ScalingLine::Kind::Predicted || line.strategy == Strategy::Single || line.points.size() < 2) return;
  auto *low = new QLineSeries(panel_->chart()), *high = new QLineSeries(panel_->chart());
  for (const ScalingPoint& point : line.points) {
    if (!point.low || !point.high) return;
    low->append(std::log2(point.gpus), in_unit(*point.low));
    high->append(std::log2(point.gpus), in_unit(*point.high));
  }
  auto* band = new QAreaSeries(high, low);
  QColor fill = theme().strategy(line.strategy);
  fill.setAlphaF(theme().dark ? 0.22F : 0.15F);
  band->setBrush(fill);
  band->setPen(Qt::NoPen);
  panel_->chart()->addSeries(band);
  band->attachAxis(x_);
  band->attachAxis(y_);
}

void ScalingView::add_line(const ScalingLine& line) {
  if (line.kind == ScalingLine::Kind::Measured) return;  // the overlay's
  auto* series = new QLineSeries;
  for (const ScalingPoint& point : line.points) series->append(at(point));
  QPen pen(theme().strategy(line.strategy), 2.6, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin);
  if (line.kind == ScalingLine::Kind::Ideal) pen = QPen(theme().muted, 1.2, Qt::DashLine);
  if (line.kind == ScalingLine::Kind::Baseline) pen.setWidthF(1.3);
  if (line.kind == ScalingLine::Kind::Baseline) pen.setDashPattern({1, 2.5});
  if (line.kind == ScalingLine::Kind::Predicted && shown_.estimated) pen.setDashPattern({3, 2.2});
  series->setPen(pen);
  panel_->chart()->addSeries(series);
  series->attachAxis(x_);
  series->attachAxis(y_);
}

void ScalingView::draw_over(QPainter& painter) const {
  if (lines_.empty()) return;
  for (const ScalingLine& line : lines_) {
    if (line.kind == ScalingLine::Kind::Measured) draw_whiskers(painter, line);
    if (line.kind != ScalingLine::Kind::Predicted) continue;
    painter.setPen(QPen(theme().surface, 1.5));
    painter.setBrush(theme().strategy(line.strategy));
    for (const ScalingPoint& point : line.points) painter.drawEllipse(panel_->place_of(at(point)), 4.5, 4.5);
  }
  draw_names(painter);
}

void ScalingView::draw_whiskers(QPainter& painter, const ScalingLine& line) const {
  const QColor colour = theme().text;
  for (const ScalingPoint& point : line.points) {
    const QPointF centre = panel_->place_of(at(point));
    painter.setPen(QPen(colour, 1.6));
    if (point.low && point.high) {
      const qreal top = panel_->place_of({0, in_unit(*point.high)}).y();
      const qreal bottom = panel_->place_of({0, in_unit(*point.low)}).y();
      painter.drawLine(QPointF(centre.x(), top), QPointF(centre.x(), bottom));
      for (const qreal y : {top, bottom}) painter.drawLine(QPointF(centre.x() - 5, y), QPointF(centre.x() + 5, y));
    }
    painter.setPen(QPen(colour, 1.4));
    painter.setBrush(theme().strategy(line.strategy));
    painter.drawPolygon(
        QPolygonF({centre - QPointF(0, 6), centre + QPointF(6, 0), centre + QPointF(0, 6), centre - QPointF(6, 0)}));
  }
}

// At the right end of each line; names that would touch move apart.
void ScalingView::draw_names(QPainter& painter) const {
  struct Name {
    qreal y;
    QPointF end;
    QString text;
    QColor colour;
  };
  std::vector<Name> names;
  for (const ScalingLine& line : lines_)
    if (line.kind == ScalingLine::Kind::Predicted && line.strategy != Strategy::Single) {
      const QPointF end = panel_->place_of(at(line.points.back()));
      names.push_back({end.y(), end, line.name, theme().strategy(line.strategy)});
    }
  std::sort(names.begin(), names.end(), [](const Name& a, const Name& b) { return a.y < b.y; });
  QFont font = QApplication::font();
  font.setBold(true);
  painter.setFont(font);
  const QFontMetricsF metrics(font);
  for (std::size_t i = 1; i < names.size(); ++i) names[i].y = std::max(names[i].y, names[i - 1].y + metrics.height());
  for (const Name& name : names) {
    painter.setPen(name.colour);
    painter.drawText(QPointF(name.end.x() + 9, name.y + metrics.ascent() / 2 - 1), name.text);
  }
}

std::vector<LegendItem> ScalingView::legend() const {
  std::vector<LegendItem> items;
  const auto item = [&](LegendItem::Mark mark, const QColor& colour, const char* text) {
    items.push_back({mark, colour, ScalingView::tr(text)});
  };
  if (!shown_.result) return items;
  const QColor first = theme().text;
  if (shown_.estimated)
    item(LegendItem::Mark::Dashed, first, QT_TRANSLATE_NOOP("lockstep::gui::ScalingView", "estimate"));
  else
    item(LegendItem::Mark::Line, first, QT_TRANSLATE_NOOP("lockstep::gui::ScalingView", "predicted"));
  const bool banded = std::any_of(lines_.begin(), lines_.end(), [](const ScalingLine& line) {
    return line.kind == ScalingLine::Kind::Predicted && line.strategy != Strategy::Single && line.points.size() > 1 &&
           line.points.front().low;
  });
  if (banded) item(LegendItem::Mark::Band, first, QT_TRANSLATE_NOOP("lockstep::gui::ScalingView", "80 % band"));
  if (shown_.baseline) {
    item(LegendItem::Mark::Dotted, first, QT_TRANSLATE_NOOP("lockstep::gui::ScalingView", "pinned"));
  }
  if (!shown_.measured.empty())
    item(LegendItem::Mark::Point, first,
         QT_TRANSLATE_NOOP("lockstep::gui::ScalingView", "measured: median, fastest to slowest step"));
  item(LegendItem::Mark::Thin, theme().muted, QT_TRANSLATE_NOOP("lockstep::gui::ScalingView", "ideal"));
  return items;
}

std::vector<HotSpot> ScalingView::hot_spots() const {
  std::vector<HotSpot> spots;
  for (const ScalingLine& line : lines_) {
    if (line.kind == ScalingLine::Kind::Ideal) continue;
    for (const ScalingPoint& point : line.points) {
      QString text = ScalingView::tr("%1, %2 GPUs: %3")
                         .arg(line.name)
                         .arg(point.gpus)
                         .arg(metric_text(point.value, metric_, unit_));
      if (point.low && line.kind != ScalingLine::Kind::Measured)
        text += '\n' + ScalingView::tr("8 of 10 cases: %1 to %2")
                           .arg(metric_text(*point.low, metric_, unit_), metric_text(*point.high, metric_, unit_));
      if (line.kind == ScalingLine::Kind::Measured && point.low)
        text += '\n' + ScalingView::tr("steps from %1 to %2, n = %3")
                           .arg(metric_text(*point.low, metric_, unit_), metric_text(*point.high, metric_, unit_))
                           .arg(point.samples);
      spots.push_back({QRectF(at(point), QSizeF(0, 0)), text});
    }
  }
  return spots;
}

DataTable ScalingView::table() const {
  DataTable table;
  const QString unit = metric_ == Metric::Efficiency ? QStringLiteral("%")
                       : metric_ == Metric::StepTime ? unit_.name
                                                     : unit_text(shown_, metric_, unit_);
  table.header = {ScalingView::tr("line"),
                  ScalingView::tr("GPUs"),
                  QStringLiteral("%1 (%2)").arg(title().toLower(), unit),
                  ScalingView::tr("low (%1)").arg(unit),
                  ScalingView::tr("high (%1)").arg(unit),
                  ScalingView::tr("n")};
  const auto number = [&](std::optional<double> value) {
    return value ? QString::fromStdString(format_column(in_unit(*value), 4)) : QString();
  };
  for (const ScalingLine& line : lines_) {
    if (line.kind == ScalingLine::Kind::Ideal) continue;
    for (const ScalingPoint& point : line.points)
      table.rows.push_back({line.name, QString::number(point.gpus), number(point.value), number(point.low),
                            number(point.high), point.samples > 0 ? QString::number(point.samples) : QString()});
  }
  return table;
}

QString ScalingView::description() const {
  QStringList sentences;
  for (const ScalingLine& line : lines_) {
    if (line.kind != ScalingLine::Kind::Predicted || line.strategy == Strategy::Single || line.points.empty()) continue;
    const ScalingPoint &a = line.points.front(), &b = line.points.back();
    sentences << ScalingView::tr("%1 of %2 goes from %3 on %4 to %5 on %6 GPUs.")
                     .arg(title(), line.name, metric_text(a.value, metric_, unit_))
                     .arg(a.gpus)
                     .arg(metric_text(b.value, metric_, unit_))
                     .arg(b.gpus);
  }
  return sentences.join(' ');
}

void ScalingView::paint(QPainter& painter, const QRectF& target) {
  if (panel_) panel_->paint_into(painter, target);
}

}  // namespace lockstep::gui
