// What the chart of bucket sizes draws over its line: shades, hatching, counts and marks.
#include <QApplication>
#include <QChart>
#include <QPainter>
#include <algorithm>
#include <vector>

#include "gui/app/theme.h"
#include "gui/sweep/bucket_view.h"

namespace lockstep::gui {
namespace {

constexpr int kHatchStep = 7;  // pixels

bool is_known(const BucketPoint& point) {
  return point.cell.state == CellState::Known;
}

// Height of a line above `zero` at x, between its ends.
qreal height_at(const QPolygonF& line, qreal x, qreal zero) {
  for (qsizetype i = 0; i + 1 < line.size(); ++i) {
    if (x < line[i].x() || x > line[i + 1].x()) continue;
    const qreal share = (x - line[i].x()) / std::max(1e-9, line[i + 1].x() - line[i].x());
    return zero - line[i].y() - share * (line[i + 1].y() - line[i].y());
  }
  return 0;
}

// Slanted lines from `zero` up to a line, cut by hand: SVG would keep no clip.
void hatch_below(QPainter& painter, const QPolygonF& line, qreal zero, const QColor& colour) {
  if (line.size() < 2) return;
  const int left = static_cast<int>(line.front().x()), right = static_cast<int>(line.back().x());
  std::vector<qreal> heights;
  for (int x = left; x <= right; ++x) heights.push_back(height_at(line, x, zero));
  const int highest = static_cast<int>(*std::max_element(heights.begin(), heights.end()));
  painter.setPen(QPen(colour, 1.3, Qt::SolidLine, Qt::FlatCap));
  for (int foot = left - highest; foot < right; foot += kHatchStep) {
    int from = -1, to = -1;  // heights of the piece that lies below the line
    for (int up = 0; up <= highest + 1; ++up) {
      const int at = foot + up - left;
      const bool inside =
          at >= 0 && at < static_cast<int>(heights.size()) && up <= heights[static_cast<std::size_t>(at)];
      if (inside && from < 0) from = up;
      if (inside) to = up;
      if (inside || from < 0) continue;
      painter.drawLine(QPointF(foot + from, zero - from), QPointF(foot + to, zero - to));
      from = -1;
    }
    if (from >= 0) painter.drawLine(QPointF(foot + from, zero - from), QPointF(foot + to, zero - to));
  }
}

}  // namespace

// The caps that are as good as the best, the exposed communication hatched, marks.
void BucketView::draw_over(QPainter& painter) const {
  if (empty()) return;
  const Theme& t = theme();
  if (const auto plateau = plateau_of(*curve_)) {
    const qreal left = panel_->place_of(at(curve_->points[plateau->low])).x();
    const qreal right = panel_->place_of(at(curve_->points[plateau->high])).x();
    const qreal top = panel_->chart()->plotArea().top(), bottom = panel_->chart()->plotArea().bottom();
    QColor fill = t.good;
    fill.setAlphaF(t.dark ? 0.16F : 0.11F);
    painter.fillRect(QRectF(QPointF(left - 4, top), QPointF(right + 4, bottom)), fill);
  }
  const QColor exposed = t.cause(Cause::ExposedCommunication);
  const qreal zero = panel_->place_of({0, 0}).y();
  QPolygonF area;
  for (const BucketPoint& point : curve_->points) {
    if (!is_known(point)) continue;
    const QPointF top = panel_->place_of({at(point).x(), point.cell.exposed_s / unit_.scale});
    if (area.isEmpty()) area << QPointF(top.x(), zero);
    area << top;
  }
  area << QPointF(area.back().x(), zero);
  painter.setPen(Qt::NoPen);
  QColor light = exposed;
  light.setAlphaF(0.55F);
  painter.setBrush(light);
  painter.drawPolygon(area);
  hatch_below(painter, area.mid(1, area.size() - 2), zero, t.surface);
  painter.setPen(QPen(t.surface, 1.5));
  painter.setBrush(t.strategy(Strategy::Ddp));
  for (const BucketPoint& point : curve_->points)
    if (is_known(point)) painter.drawEllipse(panel_->place_of(at(point)), 4, 4);
  draw_counts(painter);
  const BucketPoint *best = is_flat(*curve_) ? nullptr : fastest_of(*curve_), *present = present_of(*curve_);
  if (curve_->usual && is_known(*curve_->usual) && &*curve_->usual != present && &*curve_->usual != best)
    draw_mark(painter, *curve_->usual, BucketView::tr("default"), true);
  if (present != nullptr && present != best)
    draw_mark(painter, *present, present->is_default ? BucketView::tr("now: default") : BucketView::tr("now"), true);
  if (best != nullptr)
    draw_mark(painter, *best,
              present == best
                  ? (best->is_default ? BucketView::tr("now and fastest: default") : BucketView::tr("now and fastest"))
                  : BucketView::tr("fastest"),
              false);
}

// How many buckets each cap makes, along the foot of the chart, as far as they fit.
void BucketView::draw_counts(QPainter& painter) const {
  QFont font = QApplication::font();
  font.setPointSizeF(font.pointSizeF() * 0.85);
  painter.setFont(font);
  const QFontMetricsF metrics(font);
  const qreal y = panel_->chart()->plotArea().top() + metrics.ascent() + 1;
  qreal free_from = panel_->chart()->plotArea().left();
  painter.setPen(theme().muted);
  const QString lead = BucketView::tr("buckets:");
  painter.drawText(QPointF(free_from + 3, y), lead);
  free_from += metrics.horizontalAdvance(lead) + 10;
  for (const BucketPoint& point : curve_->points) {
    if (!is_known(point)) continue;
    const QString text = QString::number(point.cell.buckets);
    const qreal width = metrics.horizontalAdvance(text), x = panel_->place_of(at(point)).x() - width / 2;
    if (x < free_from) continue;
    painter.drawText(QPointF(x, y), text);
    free_from = x + width + 7;
  }
}

void BucketView::draw_mark(QPainter& painter, const BucketPoint& point, const QString& word, bool above) const {
  const Theme& t = theme();
  const QPointF centre = panel_->place_of(at(point));
  const QColor colour = above ? t.text : t.good;
  painter.setPen(QPen(colour, 2));
  painter.setBrush(point.is_default ? QBrush(t.surface) : QBrush(Qt::NoBrush));
  if (point.is_default)
    painter.drawPolygon(
        QPolygonF({centre - QPointF(0, 7), centre + QPointF(7, 0), centre + QPointF(0, 7), centre - QPointF(7, 0)}));
  else
    painter.drawEllipse(centre, 8, 8);
  QFont font = QApplication::font();
  font.setBold(true);
  painter.setFont(font);
  const QFontMetricsF metrics(font);
  const QRectF plot = panel_->chart()->plotArea();
  const qreal width = metrics.horizontalAdvance(word);
  const qreal x =
      std::clamp(centre.x() - width / 2, plot.left() + 2, std::max(plot.left() + 2, plot.right() - width - 2));
  painter.drawText(QPointF(x, above ? centre.y() - 13 : centre.y() + 13 + metrics.ascent()), word);
}

}  // namespace lockstep::gui
