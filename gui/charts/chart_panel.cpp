#include "gui/charts/chart_panel.h"

#include <QAbstractAxis>
#include <QApplication>
#include <QGraphicsLayout>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <algorithm>
#include <cmath>
#include <utility>

#include "gui/app/theme.h"

namespace lockstep::gui {
namespace {

constexpr qreal kPad = 14;
constexpr qreal kSwatch = kLegendSwatch;
constexpr qreal kReach = 24;  // pixels from the pointer to a point

QFont heading_font() {
  QFont font = QApplication::font();
  font.setPointSizeF(font.pointSizeF() * 1.15);
  font.setBold(true);
  return font;
}

}  // namespace

void draw_marker(QPainter& painter, const QPointF& centre, qreal radius, int source) {
  const qreal r = radius, s = radius * 0.85;
  switch (source % 4) {
    case 0:
      painter.drawPolygon(
          QPolygonF({centre - QPointF(0, r), centre + QPointF(r, 0), centre + QPointF(0, r), centre - QPointF(r, 0)}));
      return;
    case 1:
      painter.drawRect(QRectF(centre - QPointF(s, s), centre + QPointF(s, s)));
      return;
    case 2:
      painter.drawPolygon(QPolygonF({centre - QPointF(0, r), centre + QPointF(r, s), centre + QPointF(-r, s)}));
      return;
    default:
      painter.drawEllipse(centre, s, s);
  }
}

void draw_mark(QPainter& painter, const LegendItem& item, const QRectF& box) {
  const QPointF left(box.left(), box.center().y()), right(box.right() - 4, box.center().y());
  const QRectF square(box.left() + 3, box.center().y() - 6, 14, 12);
  QPen pen(item.colour, 2.4);
  switch (item.mark) {
    case LegendItem::Mark::Dashed:
      pen.setDashPattern({2.5, 1.8});
      [[fallthrough]];
    case LegendItem::Mark::Line:
      painter.setPen(pen);
      painter.drawLine(left, right);
      return;
    case LegendItem::Mark::DashDotted:
      pen.setWidthF(1.5);
      pen.setDashPattern({5, 2, 1, 2});
      painter.setPen(pen);
      painter.drawLine(left, right);
      return;
    case LegendItem::Mark::Dotted:
      painter.setPen(QPen(item.colour, 1.6, Qt::DotLine));
      painter.drawLine(left, right);
      return;
    case LegendItem::Mark::Thin:
      painter.setPen(QPen(item.colour, 1.2, Qt::DashLine));
      painter.drawLine(left, right);
      return;
    case LegendItem::Mark::Point:
      painter.setPen(QPen(item.colour, 1.6));
      painter.setBrush(theme().surface);
      draw_marker(painter, square.center(), 5.5, item.marker);
      return;
    case LegendItem::Mark::Whisker:
      painter.setPen(QPen(item.colour, 1.6));
      painter.drawLine(square.center() - QPointF(0, 6), square.center() + QPointF(0, 6));
      for (const qreal y : {-6.0, 6.0})
        painter.drawLine(square.center() + QPointF(-4, y), square.center() + QPointF(4, y));
      return;
    case LegendItem::Mark::Cross:
      painter.setPen(QPen(item.colour, 2.2));
      for (const qreal y : {-5.0, 5.0})
        painter.drawLine(square.center() - QPointF(5, y), square.center() + QPointF(5, y));
      return;
    case LegendItem::Mark::Hollow:
      painter.setPen(QPen(item.colour, 1.4));
      painter.setBrush(Qt::NoBrush);
      painter.drawRect(QRectF(square.left(), square.center().y() - 2.5, 14, 5));
      return;
    case LegendItem::Mark::Band:
    case LegendItem::Mark::Box:
    case LegendItem::Mark::Hatched: {
      QColor fill = item.colour;
      if (item.mark == LegendItem::Mark::Band) fill.setAlphaF(0.28F);
      painter.setPen(Qt::NoPen);
      painter.setBrush(fill);
      painter.drawRoundedRect(square, 2, 2);
      if (item.mark == LegendItem::Mark::Hatched) hatch(painter, square, theme().surface);
    }
  }
}

void hatch(QPainter& painter, const QRectF& area, const QColor& colour) {
  if (area.width() < 1 || area.height() < 1) return;
  painter.setPen(QPen(colour, 1.3, Qt::SolidLine, Qt::FlatCap));
  for (qreal x = area.left() - area.height() + 2.5; x < area.right(); x += 5) {
    // From the lower edge up to the right, cut at the sides by hand: SVG would not keep a clip.
    const qreal from = std::max(0.0, area.left() - x), to = std::min(area.height(), area.right() - x);
    if (to > from) painter.drawLine(QPointF(x + from, area.bottom() - from), QPointF(x + to, area.bottom() - to));
  }
}

class ChartOverlay : public QGraphicsObject {
 public:
  ChartOverlay(ChartPanel* panel, QGraphicsItem* parent) : QGraphicsObject(parent), panel_(panel) { setZValue(100); }
  QRectF boundingRect() const override { return {QPointF(0, 0), panel_->chart()->size()}; }
  void paint(QPainter* painter, const QStyleOptionGraphicsItem*, QWidget*) override { panel_->draw(*painter); }
  void resized() { prepareGeometryChange(); }

 private:
  ChartPanel* panel_;
};

ChartPanel::ChartPanel(QWidget* parent) : QChartView(new QChart, parent) {
  chart()->legend()->hide();
  chart()->setBackgroundVisible(false);
  chart()->setAnimationOptions(QChart::NoAnimation);
  chart()->layout()->setContentsMargins(0, 0, 0, 0);
  setRenderHint(QPainter::Antialiasing);
  setFrameShape(QFrame::NoFrame);
  setBackgroundBrush(Qt::NoBrush);
  setStyleSheet(QStringLiteral("background: transparent"));
  viewport()->setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setMinimumSize(340, 260);
  overlay_ = new ChartOverlay(this, chart());
}

void ChartPanel::set_heading(const QString& title, const QString& unit) {
  title_ = title;
  unit_ = unit;
  overlay_->update();
}

void ChartPanel::show_title(bool on) {
  show_title_ = on;
  lay_out(width());
  overlay_->update();
}

void ChartPanel::set_legend(std::vector<LegendItem> items) {
  legend_ = std::move(items);
  lay_out(width());
  overlay_->update();
}

void ChartPanel::set_overlay(std::function<void(QPainter&)> draw) {
  overlay_draw_ = std::move(draw);
  overlay_->update();
}

void ChartPanel::set_hot_spots(std::vector<HotSpot> spots, QAbstractSeries* series) {
  spots_ = std::move(spots);
  series_ = series;
  if (current_ >= static_cast<int>(spots_.size())) current_ = -1;
  overlay_->update();
}

void ChartPanel::set_faded(bool faded) {
  chart()->setOpacity(faded ? 0.45 : 1);
}

void ChartPanel::set_empty_text(const QString& text) {
  empty_text_ = text;
  overlay_->update();
}

QPointF ChartPanel::place_of(const QPointF& value) const {
  return chart()->mapToPosition(value, series_);
}

// Legend items under the heading, each in the first line that has room; the plot gets what is left.
void ChartPanel::lay_out(qreal width) {
  const QFontMetricsF metrics(QApplication::font());
  const qreal line = metrics.height() + 5;
  const qreal y = (show_title_ ? kPad : 4) + QFontMetricsF(heading_font()).height() + 6;
  std::vector<qreal> ends;  // of the lines
  legend_places_.clear();
  for (const LegendItem& item : legend_) {
    const qreal need = kSwatch + metrics.horizontalAdvance(item.text);
    auto at = std::find_if(ends.begin(), ends.end(), [&](qreal end) { return end + need <= width - kPad; });
    if (at == ends.end()) at = ends.insert(ends.end(), kPad);
    legend_places_.emplace_back(*at, y + line * static_cast<qreal>(at - ends.begin()));
    *at += need + 14;
  }
  const qreal top = y + line * static_cast<qreal>(ends.size());
  chart()->setMargins(QMargins(4, static_cast<int>(std::ceil(top + 4)), 8, 4));
}

void ChartPanel::resizeEvent(QResizeEvent* event) {
  lay_out(event->size().width());
  QChartView::resizeEvent(event);
  overlay_->resized();
}

void ChartPanel::showEvent(QShowEvent* event) {
  if (fill_) fill_();
  QChartView::showEvent(event);
}

void ChartPanel::draw(QPainter& painter) {
  painter.setRenderHint(QPainter::Antialiasing);
  const QFontMetricsF metrics(heading_font());
  qreal x = kPad;
  if (show_title_) {
    painter.setFont(heading_font());
    painter.setPen(theme().text);
    painter.drawText(QPointF(x, kPad + metrics.ascent()), title_);
    x += metrics.horizontalAdvance(title_) + 8;
  }
  painter.setPen(theme().muted);
  painter.setFont(QApplication::font());
  painter.drawText(QPointF(x, (show_title_ ? kPad : 4) + metrics.ascent()), unit_);
  if (!empty_text_.isEmpty()) {
    painter.drawText(QRectF(QPointF(kPad, 60), chart()->size() - QSizeF(2 * kPad, 80)),
                     Qt::AlignCenter | Qt::TextWordWrap, empty_text_);
    return;
  }
  draw_legend(painter);
  if (overlay_draw_) {
    painter.save();
    overlay_draw_(painter);
    painter.restore();
  }
  draw_callout(painter);
}

void ChartPanel::draw_legend(QPainter& painter) const {
  painter.setFont(QApplication::font());
  const QFontMetricsF metrics(painter.font());
  for (std::size_t i = 0; i < legend_.size() && i < legend_places_.size(); ++i) {
    const QPointF at = legend_places_[i];
    draw_mark(painter, legend_[i], QRectF(at.x(), at.y(), kSwatch, metrics.height()));
    painter.setPen(theme().muted);
    painter.drawText(QPointF(at.x() + kSwatch, at.y() + metrics.ascent()), legend_[i].text);
  }
}

QRectF ChartPanel::area_of(const HotSpot& spot) const {
  const QRectF area = QRectF(place_of(spot.area.topLeft()), place_of(spot.area.bottomRight())).normalized();
  return spot.area.isEmpty() ? area.adjusted(-6, -6, 6, 6) : area;
}

void ChartPanel::draw_callout(QPainter& painter) const {
  if (current_ < 0 || current_ >= static_cast<int>(spots_.size())) return;
  const HotSpot& spot = spots_[static_cast<std::size_t>(current_)];
  const QRectF area = area_of(spot);
  painter.setPen(QPen(theme().text, 1.6));
  painter.setBrush(Qt::NoBrush);
  if (spot.area.isEmpty())
    painter.drawEllipse(area.center(), 7, 7);
  else
    painter.drawRect(area);
  const QFontMetricsF metrics(painter.font());
  const QSizeF text = metrics.boundingRect(QRectF(0, 0, 420, 400), Qt::AlignLeft, spot.text).size();
  QRectF box(QPointF(0, 0), text + QSizeF(20, 14));
  box.moveCenter(QPointF(area.center().x(), area.top() - box.height() / 2 - 8));
  if (box.top() < 2) box.moveTop(area.bottom() + 8);
  box.moveLeft(std::min(std::max(4.0, box.left()), chart()->size().width() - box.width() - 4));
  painter.setPen(QPen(theme().border, 1));
  painter.setBrush(theme().raised);
  painter.drawRoundedRect(box, 6, 6);
  painter.setPen(theme().text);
  painter.drawText(box.adjusted(10, 7, -10, -7), Qt::AlignLeft, spot.text);
}

void ChartPanel::select(int spot) {
  if (spot == current_) return;
  current_ = spot;
  overlay_->update();
}

void ChartPanel::mouseMoveEvent(QMouseEvent* event) {
  QChartView::mouseMoveEvent(event);
  if (series_ == nullptr) return;
  const QPointF at = chart()->mapFromScene(mapToScene(event->pos()));
  int best = -1;
  qreal nearest = kReach;
  for (std::size_t i = 0; i < spots_.size(); ++i) {
    const QRectF area = area_of(spots_[i]);
    const qreal distance = !spots_[i].area.isEmpty() && area.contains(at) ? 0
                           : spots_[i].area.isEmpty()
                               ? std::hypot(at.x() - area.center().x(), at.y() - area.center().y())
                               : kReach;
    if (distance >= nearest) continue;
    nearest = distance;
    best = static_cast<int>(i);
  }
  select(best);
}

void ChartPanel::mouseReleaseEvent(QMouseEvent* event) {
  QChartView::mouseReleaseEvent(event);
  if (event->button() == Qt::LeftButton && activated_ && current_ >= 0) activated_(current_);
}

void ChartPanel::leaveEvent(QEvent* event) {
  QChartView::leaveEvent(event);
  if (!hasFocus()) select(-1);
}

void ChartPanel::focusOutEvent(QFocusEvent* event) {
  QChartView::focusOutEvent(event);
  select(-1);
}

void ChartPanel::keyPressEvent(QKeyEvent* event) {
  const int count = static_cast<int>(spots_.size());
  if (count > 0 && (event->key() == Qt::Key_Right || event->key() == Qt::Key_Left)) {
    const int step = event->key() == Qt::Key_Right ? 1 : -1;
    select(current_ < 0 ? (step > 0 ? 0 : count - 1) : (current_ + step + count) % count);
    setAccessibleDescription(spots_[static_cast<std::size_t>(current_)].text);
  } else if ((event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) && activated_ && current_ >= 0) {
    activated_(current_);
  } else if (event->key() == Qt::Key_Escape && current_ >= 0) {
    select(-1);
  } else {
    QChartView::keyPressEvent(event);
  }
}

void ChartPanel::paint_into(QPainter& painter, const QRectF& target) {
  if (fill_) fill_();
  const int callout = std::exchange(current_, -1);
  const bool titled = std::exchange(show_title_, true);
  // The chart itself is painted: a view that was never shown has no size of its own yet.
  const QSizeF before = chart()->size();
  const QSizeF size = target.size();
  lay_out(size.width());
  chart()->resize(size);
  chart()->layout()->activate();
  overlay_->resized();
  painter.save();
  painter.fillRect(target, theme().surface);
  scene()->render(&painter, target, QRectF(chart()->pos(), size));
  painter.restore();
  current_ = callout;
  show_title_ = titled;
  lay_out(before.width());
  chart()->resize(before);
  overlay_->resized();
}

}  // namespace lockstep::gui
