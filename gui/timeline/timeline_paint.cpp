#include <QApplication>
#include <QFontMetricsF>
#include <QPaintDevice>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "gui/app/theme.h"
#include "gui/charts/axis.h"
#include "gui/charts/chart_panel.h"
#include "gui/timeline/timeline_picture.h"
#include "simulator/base/format.h"

namespace lockstep::gui {
namespace {

QColor mixed(const QColor& a, const QColor& b, double share_of_a) {
  const auto part = [&](int x, int y) { return static_cast<int>(std::lround(x * share_of_a + y * (1 - share_of_a))); };
  return {part(a.red(), b.red()), part(a.green(), b.green()), part(a.blue(), b.blue())};
}

QColor ink_on(const QColor& fill) {
  const double light = 0.299 * fill.redF() + 0.587 * fill.greenF() + 0.114 * fill.blueF();
  return light > 0.55 ? QColor("#10161e") : QColor("#ffffff");
}

}  // namespace

void TimelinePicture::paint_legend(QPainter& painter) const {
  const QFontMetricsF metrics(QApplication::font());
  const qreal line = metrics.height() + 4;
  qreal x = legend_.left(), y = legend_.top();
  painter.setFont(QApplication::font());
  for (const LegendWord& word : words_) {
    const qreal need = metrics.horizontalAdvance(word.word) + 36;
    if (x > legend_.left() && x + need > legend_.right()) {
      x = legend_.left();
      y += line;
    }
    const QRectF box(x, y + line / 2 - 6, 14, 12);
    painter.fillRect(box, span_colour(word.lane, word.cause));
    if (word.hatched) hatch(painter, box, theme().surface);
    painter.setPen(theme().muted);
    painter.drawText(QPointF(x + 20, y + metrics.ascent() + 2), word.word);
    x += need;
  }
}

void TimelinePicture::paint_axis(QPainter& painter) const {
  const QFontMetricsF metrics(QApplication::font());
  const AxisUnit unit = time_unit(std::max(std::abs(window_.from()), std::abs(window_.to())));
  const int wanted = std::max(2, static_cast<int>(axis_.width() / 110));
  const Ticks ticks = nice_ticks(window_.from() / unit.scale, window_.to() / unit.scale, wanted);
  painter.setFont(QApplication::font());
  const QString unit_text = unit.name;
  const qreal unit_width = metrics.horizontalAdvance(unit_text);
  qreal free_from = axis_.left() - 30;
  for (int i = 0; i < ticks.count(); ++i) {
    const double value = ticks.low + i * ticks.step;
    const qreal x = axis_.left() + window_.x_of(value * unit.scale, axis_.width());
    if (x < axis_.left() - 0.5 || x > axis_.right() + 0.5) continue;
    painter.setPen(QPen(theme().grid, 1));
    painter.drawLine(QPointF(x, axis_.bottom() - 3), QPointF(x, rows_area_.bottom()));
    const QString label = QString::number(value, 'f', ticks.decimals);
    const qreal half = metrics.horizontalAdvance(label) / 2;
    if (x - half < free_from + 8 || x + half > axis_.right() - unit_width - 8) continue;
    painter.setPen(theme().muted);
    painter.drawText(QPointF(x - half, axis_.top() + metrics.ascent() + 1), label);
    free_from = x + half;
  }
  painter.setPen(theme().muted);
  painter.drawText(QPointF(axis_.right() - unit_width, axis_.top() + metrics.ascent() + 1), unit_text);
}

void TimelinePicture::paint_title(QPainter& painter, int group, qreal y) const {
  QFont bold = QApplication::font();
  bold.setBold(true);
  const QFontMetricsF strong(bold), metrics(QApplication::font());
  const TimelineGroup& one = timeline_.groups[static_cast<std::size_t>(group)];
  const qreal base = y + 4 + metrics.ascent();
  painter.fillRect(QRectF(area_.left(), y, area_.width(), title_height() - 1), theme().surface);  // over the grid
  qreal x = area_.left() + 12;
  painter.setFont(bold);
  painter.setPen(theme().text);
  painter.drawText(QPointF(x, base), one.title);
  x += strong.horizontalAdvance(one.title) + 10;
  painter.setFont(QApplication::font());
  painter.setPen(theme().muted);
  const QString separator = QStringLiteral("  ·  ");
  // Whole words or none: what does not fit is in the details of any of its spans.
  for (const QString& word : group_words(timeline_, group)) {
    const QString shown = word + separator;
    if (x + metrics.horizontalAdvance(word) > area_.right() - 12) break;
    painter.drawText(QPointF(x, base), word);
    x += metrics.horizontalAdvance(shown);
  }
}

void TimelinePicture::paint_span_text(QPainter& painter, const QRectF& box, const QString& text,
                                      const QColor& fill) const {
  const QFontMetricsF metrics(painter.font());
  const QRectF seen = box.intersected(rows_area_);
  if (seen.height() < metrics.height() || metrics.horizontalAdvance(text) + 8 > seen.width()) return;
  QRectF chip = metrics.boundingRect(seen, Qt::AlignCenter, text).adjusted(-3, 0, 3, 0);
  painter.fillRect(chip.intersected(seen), fill);  // over hatching
  painter.setPen(ink_on(fill));
  painter.drawText(seen, Qt::AlignCenter, text);
}

void TimelinePicture::paint_row(QPainter& painter, const TimelineRow& row, double density,
                                const std::optional<Focus>& lit) const {
  const TimelineGroup& group = timeline_.groups[static_cast<std::size_t>(row.group)];
  const TimelineLane& lane = group.lanes[static_cast<std::size_t>(row.lane)];
  const QRectF& area = row.area;
  const auto strips = reduce_lane(lane.spans, window_, area.width(), density);
  const bool meant = lit && means(*lit, group);
  for (const LaneStrip& strip : strips) {
    const bool dim = lit && !(meant && in_focus(*lit, lane.kind, strip.cause));
    const QColor own = span_colour(lane.kind, strip.cause);
    const QColor full = dim ? mixed(own, theme().surface, 0.16) : own;
    const QColor fill = strip.level == 4 ? full : mixed(full, theme().surface, 0.28 + 0.18 * strip.level);
    QRectF box(area.left() + strip.x0, area.top(), strip.x1 - strip.x0, area.height());
    if (strip.span < 0) {
      painter.fillRect(box, fill);
      continue;
    }
    const LaneSpan& span = lane.spans[static_cast<std::size_t>(strip.span)];
    const bool wide = box.width() > 12;
    if (wide) box.setRight(box.right() - 1);  // neighbours of one colour stay apart
    painter.fillRect(box, fill);
    if (dim) continue;
    if (span.bucket >= 0) {
      // From its arrival to the last rank's it waits.
      for (const BucketTimes& bucket : group.buckets) {
        if (bucket.index != span.bucket || bucket.start_s <= span.start_s) continue;
        const qreal until = area.left() + window_.x_of(bucket.start_s, area.width());
        QRectF waiting = box;
        waiting.setRight(std::min(until, box.right()));
        if (waiting.width() > 0.5) painter.fillRect(waiting, mixed(fill, theme().surface, 0.42));
      }
      paint_exposed(painter, group, box, density);
      QString text = bucket_words(span, timeline_.devices);
      const QFontMetricsF metrics(painter.font());
      if (span.bytes > 0 && metrics.horizontalAdvance(text) + 8 > box.width()) text = QString::number(span.bucket);
      paint_span_text(painter, box, text, fill);
    } else if (wide) {
      paint_span_text(painter, box,
                      lane.kind == TimelineLane::Kind::Phases
                          ? cause_name(span.cause)
                          : QString::fromStdString(visible(timeline_.name_of(span))),
                      fill);
    }
  }
}

// The part of a collective during which its rank computes nothing: hatched, as exposed communication is everywhere.
void TimelinePicture::paint_exposed(QPainter& painter, const TimelineGroup& group, const QRectF& box,
                                    double density) const {
  const auto compute = std::find_if(group.lanes.begin(), group.lanes.end(),
                                    [](const TimelineLane& lane) { return lane.kind == TimelineLane::Kind::Compute; });
  if (compute == group.lanes.end() || box.width() < 6) return;
  qreal idle_from = box.left();
  const auto idle_to = [&](qreal to) {
    const qreal until = std::min(to, box.right());
    if (until - idle_from > 4)
      hatch(painter, QRectF(QPointF(idle_from, box.top()), QPointF(until, box.bottom())), theme().surface);
  };
  for (const LaneStrip& strip : reduce_lane(compute->spans, window_, rows_area_.width(), density)) {
    const qreal from = rows_area_.left() + strip.x0, to = rows_area_.left() + strip.x1;
    if (to <= idle_from) continue;
    if (from >= box.right()) break;
    idle_to(from);
    idle_from = std::max(idle_from, to);
  }
  idle_to(box.right());
}

// Where steps begin and end; below a prediction, the part by which the measured step is longer or shorter.
void TimelinePicture::paint_steps(QPainter& painter) const {
  for (std::size_t g = 0; g < timeline_.groups.size(); ++g) {
    const TimelineGroup& group = timeline_.groups[g];
    const qreal top = titles_[g] + title_height();
    const qreal bottom = top + [&] {
      qreal height = 0;
      for (const TimelineLane& lane : group.lanes) height += row_height(lane.kind) + 2;
      return height;
    }();
    const auto x_of = [&](double time) { return rows_area_.left() + window_.x_of(time, rows_area_.width()); };
    if (group.beside >= 0) {
      const double other = timeline_.groups[static_cast<std::size_t>(group.beside)].step_s;
      const QRectF between(QPointF(x_of(std::min(other, group.step_s)), top - 5),
                           QPointF(x_of(std::max(other, group.step_s)), top - 1));
      painter.fillRect(between, group.step_s > other ? theme().error : theme().good);
      painter.setPen(QPen(theme().text, 1.2, Qt::DotLine));
      painter.drawLine(QPointF(x_of(other), top), QPointF(x_of(other), bottom));
    }
    painter.setPen(QPen(theme().text, 1.2, Qt::DashLine));
    for (const double time : {0.0, group.step_s})
      painter.drawLine(QPointF(x_of(time), top), QPointF(x_of(time), bottom));
  }
}

void TimelinePicture::paint_minimap(QPainter& painter, double density) const {
  painter.fillRect(minimap_, theme().raised);
  TimeWindow all;
  all.set_limits(window_.limit_from(), window_.limit_to());
  all.show(window_.limit_from(), window_.limit_to());
  const TimelineGroup& group = timeline_.groups.front();
  qreal y = minimap_.top() + 3;
  const qreal height = (minimap_.height() - 6) / std::max<qreal>(1, static_cast<qreal>(group.lanes.size()));
  for (const TimelineLane& lane : group.lanes) {
    for (const LaneStrip& strip : reduce_lane(lane.spans, all, minimap_.width(), density))
      painter.fillRect(QRectF(minimap_.left() + strip.x0, y, strip.x1 - strip.x0, std::max(1.5, height - 1)),
                       span_colour(lane.kind, strip.cause));
    y += height;
  }
  const QRectF seen(QPointF(minimap_.left() + all.x_of(window_.from(), minimap_.width()), minimap_.top()),
                    QPointF(minimap_.left() + all.x_of(window_.to(), minimap_.width()), minimap_.bottom()));
  QColor shade = theme().window;
  shade.setAlphaF(0.72F);
  painter.fillRect(QRectF(minimap_.topLeft(), seen.bottomLeft()), shade);
  painter.fillRect(QRectF(seen.topRight(), minimap_.bottomRight()), shade);
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(theme().border, 1));
  painter.drawRect(minimap_);
  painter.setPen(QPen(theme().accent, 2));
  painter.drawRect(seen.adjusted(1, 0, -1, 0));
}

void TimelinePicture::paint_mark(QPainter& painter, const SpanPlace& place, qreal width) const {
  QRectF box = area_of(place);
  if (box.isEmpty()) return;
  if (box.width() < 3) box = QRectF(box.center().x() - 1.5, box.top(), 3, box.height());
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(theme().surface, width + 2));
  painter.drawRect(box);
  painter.setPen(QPen(theme().text, width));
  painter.drawRect(box);
}

void TimelinePicture::paint(QPainter& painter, const Marks& marks) const {
  const double density = painter.device() != nullptr ? painter.device()->devicePixelRatioF() : 1;
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing, false);
  if (marks.faded) painter.setOpacity(0.45);
  paint_legend(painter);
  painter.save();
  painter.setClipRect(QRectF(area_.left(), axis_.top(), area_.width(), rows_area_.bottom() - axis_.top()));
  paint_axis(painter);
  painter.setClipRect(QRectF(area_.left(), rows_area_.top(), area_.width(), rows_area_.height()));
  for (std::size_t g = 0; g < titles_.size(); ++g) paint_title(painter, static_cast<int>(g), titles_[g]);
  const QFontMetricsF metrics(QApplication::font());
  for (const TimelineRow& row : rows_) {
    if (row.area.bottom() < rows_area_.top() || row.area.top() > rows_area_.bottom()) continue;
    const auto& lane = timeline_.groups[static_cast<std::size_t>(row.group)].lanes[static_cast<std::size_t>(row.lane)];
    if (lane.row > 0) continue;
    painter.setPen(theme().muted);
    painter.drawText(
        QRectF(area_.left() + 12, row.area.top(), rows_area_.left() - area_.left() - 20, row.area.height()),
        Qt::AlignLeft | Qt::AlignVCenter, lane_name(lane.kind, timeline_.devices));
  }
  painter.setClipRect(rows_area_);
  for (const TimelineRow& row : rows_) {
    if (row.area.bottom() < rows_area_.top() || row.area.top() > rows_area_.bottom()) continue;
    painter.fillRect(row.area, mixed(theme().grid, theme().surface, 0.45));
    paint_row(painter, row, density, marks.lit);
  }
  paint_steps(painter);
  painter.setRenderHint(QPainter::Antialiasing, true);
  paint_mark(painter, marks.hovered, 1.2);
  paint_mark(painter, marks.selected, 2);
  painter.restore();
  paint_minimap(painter, density);
  painter.restore();
}

}  // namespace lockstep::gui
