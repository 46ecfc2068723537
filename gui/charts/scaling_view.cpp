#include "gui/charts/scaling_view.h"

#include <fmt/format.h>

#include <QApplication>
#include <QAreaSeries>
#include <QCategoryAxis>
#include <QLineSeries>
#include <QPainter>
#include <QScatterSeries>
#include <QValueAxis>
#include <algorithm>
#include <cmath>

#include "gui/app/theme.h"
#include "gui/compare/difference.h"
#include "gui/compare/error_rows.h"
#include "simulator/base/format.h"

namespace lockstep::gui {
namespace {

QRectF centred(const QPointF& at, qreal size) {
  return QRectF(at - QPointF(size / 2, size / 2), QSizeF(size, size));
}

bool lacks_memory(const ScalingPoint& point) {
  return !point.fits.value_or(true);
}

// Whether some point has one: a column of a table is left out where none has.
template <typename Has>
bool some_point(const std::vector<ScalingLine>& lines, Has has) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const ScalingLine& line) { return std::any_of(line.points.begin(), line.points.end(), has); });
}

}  // namespace

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
  devices_ = devices_of(shown);
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

QString ScalingView::unit_text() const {
  switch (metric_) {
    case Metric::Efficiency:
      return devices_ == Devices::Cores ? ScalingView::tr("% of one core's speed, per core")
                                        : ScalingView::tr("% of one GPU's speed, per GPU");
    case Metric::Throughput: {
      const auto runs = shown_.result ? runs_of(*shown_.result) : std::vector<const Run*>();
      return runs.empty() ? QString() : QString::fromStdString(runs.front()->throughput_unit);
    }
    case Metric::StepTime:
      break;
  }
  return ScalingView::tr("%1 per optimizer step").arg(unit_.name);
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
  panel_->set_heading(title(), unit_text());
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
    for (const int g : shown) x_->append(g == 1 ? device_count(1, devices_) : QString::number(g), std::log2(g));
    const double span = std::max(1.0, std::log2(static_cast<double>(all.back()) / all.front()));
    x_->setRange(std::log2(all.front()) - 0.06 * span,
                 std::log2(all.back()) + (!shown_.baseline                ? 0.16
                                          : metric_ == Metric::Efficiency ? 0.42
                                                                          : 0.34) *
                                             span);
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
  if (line.kind == ScalingLine::Kind::Loaded) pen.setWidthF(1.5);
  if (line.kind == ScalingLine::Kind::Loaded) pen.setDashPattern({6, 2, 1, 2});
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
    for (const ScalingPoint& point : line.points)
      if (lacks_memory(point))
        draw_mark(painter, {LegendItem::Mark::Cross, theme().error, {}},
                  centred(panel_->place_of(at(point)), kLegendSwatch));
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
    draw_marker(painter, centre, 6, line.source);
  }
}

// At the right end of each line, with the difference from the pinned one; names that would touch move apart.
void ScalingView::draw_names(QPainter& painter) const {
  struct Name {
    qreal y;
    QPointF end;
    const ScalingLine* line;
  };
  std::vector<Name> names;
  for (const ScalingLine& line : lines_)
    if (line.kind == ScalingLine::Kind::Predicted && line.strategy != Strategy::Single) {
      const QPointF end = panel_->place_of(at(line.points.back()));
      names.push_back({end.y(), end, &line});
    }
  std::sort(names.begin(), names.end(), [](const Name& a, const Name& b) { return a.y < b.y; });
  QFont font = QApplication::font();
  font.setBold(true);
  painter.setFont(font);
  const QFontMetricsF metrics(font);
  for (std::size_t i = 1; i < names.size(); ++i) names[i].y = std::max(names[i].y, names[i - 1].y + metrics.height());
  for (const Name& name : names) {
    const QPointF at(name.end.x() + 9, name.y + metrics.ascent() / 2 - 1);
    painter.setFont(font);
    painter.setPen(theme().strategy(name.line->strategy));
    painter.drawText(at, name.line->name);
    const auto& difference = name.line->points.back().difference;
    if (!difference) continue;
    const Better better = metric_ != Metric::StepTime ? Better::More
                          : difference->same_work     ? Better::Less
                                                      : Better::Neither;
    painter.setFont(QApplication::font());
    painter.setPen(change_colour(difference->relative, better, difference->unsure));
    painter.drawText(at + QPointF(metrics.horizontalAdvance(name.line->name) + 6, 0),
                     short_difference_text(*difference, metric_));
  }
}

std::vector<LegendItem> ScalingView::legend() const {
  std::vector<LegendItem> items;
  if (!shown_.result) return items;
  const QColor first = theme().text;
  const auto item = [&](LegendItem::Mark mark, const QString& text) { items.push_back({mark, first, text}); };
  if (shown_.estimated)
    item(LegendItem::Mark::Dashed, ScalingView::tr("estimate"));
  else
    item(LegendItem::Mark::Line, ScalingView::tr("predicted"));
  const bool banded = std::any_of(lines_.begin(), lines_.end(), [](const ScalingLine& line) {
    return line.kind == ScalingLine::Kind::Predicted && line.strategy != Strategy::Single && line.points.size() > 1 &&
           line.points.front().low;
  });
  if (banded)
    item(LegendItem::Mark::Band,
         metric_ == Metric::Efficiency ? ScalingView::tr("80 % band, at least ±3 %") : ScalingView::tr("80 % band"));
  if (shown_.baseline) item(LegendItem::Mark::Dotted, ScalingView::tr("pinned"));
  bool measured = false;
  for (std::size_t i = 0; i < shown_.measured.size(); ++i) {
    const bool is_measured = shown_.measured[i].result->kind == "measured";
    LegendItem one{is_measured ? LegendItem::Mark::Point : LegendItem::Mark::DashDotted, first,
                   loaded_title(shown_, i)};
    if (is_of_another_scenario(shown_, i)) one.text += ScalingView::tr(", of another scenario");
    one.marker = static_cast<int>(i);
    items.push_back(one);
    measured = measured || is_measured;
  }
  if (measured) items.push_back({LegendItem::Mark::Whisker, first, ScalingView::tr("fastest to slowest step")});
  const bool lacks = std::any_of(lines_.begin(), lines_.end(), [](const ScalingLine& line) {
    return line.kind == ScalingLine::Kind::Predicted && some_point({line}, lacks_memory);
  });
  if (lacks) items.push_back({LegendItem::Mark::Cross, theme().error, ScalingView::tr("does not fit in memory")});
  items.push_back({LegendItem::Mark::Thin, theme().muted, ScalingView::tr("ideal")});
  return items;
}

QString ScalingView::point_text(const ScalingLine& line, const ScalingPoint& point) const {
  QString text = ScalingView::tr("%1, %2: %3")
                     .arg(line.name, device_count(point.gpus, devices_), metric_text(point.value, metric_, unit_));
  if (lacks_memory(point)) text += '\n' + ScalingView::tr("does not fit in the GPU's memory");
  if (point.low && line.kind != ScalingLine::Kind::Measured)
    text += '\n' + ScalingView::tr("8 of 10 cases: %1 to %2")
                       .arg(metric_text(*point.low, metric_, unit_), metric_text(*point.high, metric_, unit_));
  if (line.kind == ScalingLine::Kind::Measured && point.low)
    text += '\n' + ScalingView::tr("steps from %1 to %2, n = %3")
                       .arg(metric_text(*point.low, metric_, unit_), metric_text(*point.high, metric_, unit_))
                       .arg(point.samples);
  if (line.kind == ScalingLine::Kind::Measured || line.kind == ScalingLine::Kind::Loaded)
    text += '\n' + loaded_title(shown_, static_cast<std::size_t>(line.source));
  if (point.difference)
    text += '\n' + ScalingView::tr("%1 against pinned").arg(difference_text(*point.difference, metric_, unit_)) +
            (point.difference->unsure ? ScalingView::tr(" (within what both do not know)") : QString());
  return text;
}

std::vector<HotSpot> ScalingView::hot_spots() const {
  std::vector<HotSpot> spots;
  for (const ScalingLine& line : lines_) {
    if (line.kind == ScalingLine::Kind::Ideal) continue;
    for (const ScalingPoint& point : line.points)
      spots.push_back({QRectF(at(point), QSizeF(0, 0)), point_text(line, point)});
  }
  return spots;
}

DataTable ScalingView::table() const {
  DataTable table;
  const QString unit = metric_ == Metric::Efficiency ? QStringLiteral("%")
                       : metric_ == Metric::StepTime ? unit_.name
                                                     : unit_text();
  table.header = {ScalingView::tr("line"), devices_word(devices_),
                  QStringLiteral("%1 (%2)").arg(title().toLower(), unit), ScalingView::tr("low (%1)").arg(unit),
                  ScalingView::tr("high (%1)").arg(unit)};
  const bool counted = some_point(lines_, [](const ScalingPoint& point) { return point.samples > 0; });
  const bool weighed = some_point(lines_, [](const ScalingPoint& point) { return point.fits.has_value(); });
  if (counted) table.header << ScalingView::tr("n");
  if (weighed) table.header << ScalingView::tr("fits in memory");
  if (!shown_.measured.empty()) table.header << ScalingView::tr("file");
  if (shown_.baseline)
    table.header
        << ScalingView::tr("against pinned (%1)").arg(metric_ == Metric::Efficiency ? ScalingView::tr("points") : unit);
  if (shown_.baseline && metric_ != Metric::Efficiency) table.header << ScalingView::tr("against pinned (%)");
  const auto number = [&](std::optional<double> value) {
    return value ? QString::fromStdString(format_column(in_unit(*value), 4)) : QString();
  };
  for (const ScalingLine& line : lines_) {
    if (line.kind == ScalingLine::Kind::Ideal) continue;
    const bool loaded = line.kind == ScalingLine::Kind::Measured || line.kind == ScalingLine::Kind::Loaded;
    for (const ScalingPoint& point : line.points) {
      QStringList row = {line.name, QString::number(point.gpus), number(point.value), number(point.low),
                         number(point.high)};
      if (counted) row << (point.samples > 0 ? QString::number(point.samples) : QString());
      if (weighed) row << (!point.fits ? QString() : *point.fits ? ScalingView::tr("yes") : ScalingView::tr("no"));
      if (!shown_.measured.empty())
        row << (loaded ? shown_.measured[static_cast<std::size_t>(line.source)].name : QString());
      if (shown_.baseline) row << (point.difference ? signed_column(in_unit(point.difference->absolute)) : QString());
      if (shown_.baseline && metric_ != Metric::Efficiency)
        row << (point.difference ? QString::fromStdString(fmt::format("{:+.2f}", point.difference->relative * 100))
                                 : QString());
      table.rows.push_back(row);
    }
  }
  return table;
}

QString ScalingView::description() const {
  QStringList sentences;
  for (const ScalingLine& line : lines_) {
    if (line.kind != ScalingLine::Kind::Predicted || line.strategy == Strategy::Single || line.points.empty()) continue;
    const ScalingPoint &a = line.points.front(), &b = line.points.back();
    sentences << ScalingView::tr("%1 of %2 goes from %3 on %4 to %5 on %6.")
                     .arg(title(), line.name, metric_text(a.value, metric_, unit_))
                     .arg(a.gpus)
                     .arg(metric_text(b.value, metric_, unit_), device_count(b.gpus, devices_));
    if (b.difference)
      sentences << ScalingView::tr("That is %1 against pinned.").arg(difference_text(*b.difference, metric_, unit_));
  }
  return sentences.join(' ');
}

void ScalingView::paint(QPainter& painter, const QRectF& target) {
  if (panel_) panel_->paint_into(painter, target);
}

}  // namespace lockstep::gui
