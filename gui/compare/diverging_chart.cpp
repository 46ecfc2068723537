#include "gui/compare/diverging_chart.h"

#include <QApplication>
#include <QCoreApplication>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "gui/app/theme.h"

namespace lockstep::gui {
namespace {

constexpr qreal kPad = 14;
constexpr qreal kGap = 10;
constexpr qreal kRow = 25, kLeastRow = 15, kMostRow = 38;

QFont bold_font(qreal scale = 1) {
  QFont font = QApplication::font();
  font.setPointSizeF(font.pointSizeF() * scale);
  font.setBold(true);
  return font;
}

qreal line_height() {
  return QFontMetricsF(QApplication::font()).height();
}

qreal paragraph_height(const QString& text, qreal width) {
  return QFontMetricsF(QApplication::font()).boundingRect(QRectF(0, 0, width, 1e4), Qt::TextWordWrap, text).height();
}

// Places of legend items that flow into lines of this width; the last is where the next line would begin.
std::vector<QPointF> legend_places(const std::vector<LegendItem>& items, qreal width) {
  const QFontMetricsF metrics(QApplication::font());
  std::vector<QPointF> places;
  qreal x = 0, y = 0;
  for (const LegendItem& item : items) {
    const qreal need = kLegendSwatch + metrics.horizontalAdvance(item.text) + 16;
    if (x > 0 && x + need > width + 16) {
      x = 0;
      y += metrics.height() + 5;
    }
    places.emplace_back(x, y);
    x += need;
  }
  places.emplace_back(0, items.empty() ? 0 : y + metrics.height() + 9);
  return places;
}

}  // namespace

qreal DivergingChart::head_height(qreal width, bool titled) const {
  const qreal inner = width - 2 * kPad;
  qreal height = titled ? kPad + QFontMetricsF(bold_font(1.15)).height() + 6 : 4;
  for (const QString& text : picture_.words + picture_.warnings) height += paragraph_height(text, inner) + 4;
  if (!picture_.rows.empty()) height += 4 + legend_places(picture_.legend, inner).back().y();
  return height;
}

qreal DivergingChart::height_for(qreal width, bool titled) const {
  const qreal foot = picture_.rows.empty() ? 60 : 2 * line_height() + 16;
  return head_height(width, titled) + kRow * static_cast<qreal>(picture_.rows.size()) + foot;
}

DivergingChart::Columns DivergingChart::columns(const QRectF& area) const {
  Columns out;
  const QFontMetricsF metrics(QApplication::font());
  for (const DivergingRow& row : picture_.rows) {
    if (row.kind == DivergingRow::Kind::Heading) continue;
    out.label = std::max(out.label, metrics.horizontalAdvance(row.label));
    out.number = std::max(out.number, metrics.horizontalAdvance(row.number));
    out.note = std::max(out.note, metrics.horizontalAdvance(row.note));
    out.detail = std::max(out.detail, metrics.horizontalAdvance(row.detail));
  }
  // Words are left to the callout where the picture would be too narrow for the numbers.
  const qreal left = area.width() - 2 * kPad - out.label - out.number - out.note - 3 * kGap;
  if (left - out.detail - kGap < 280) out.detail = 0;
  if (left < 200) out.note = 0;
  return out;
}

Ticks DivergingChart::ticks(qreal width) const {
  double low = -picture_.guide.value_or(0) * 1.1, high = -low;
  for (const DivergingRow& row : picture_.rows) {
    if (row.kind == DivergingRow::Kind::Heading) continue;
    for (const auto& range : {row.band, row.whisker, std::optional(std::pair{row.value, row.value})})
      if (range) {
        low = std::min(low, range->first);
        high = std::max(high, range->second);
      }
  }
  if (low == 0 && high == 0) high = 1;
  const double margin = 0.04 * (high - low);
  return nice_ticks(low < 0 ? low - margin : 0, high > 0 ? high + margin : 0, std::clamp(int(width / 90), 2, 8));
}

qreal DivergingChart::x_of(double value, const QRectF& plot) const {
  return plot.left() + plot.width() * (value - ticks_.low) / (ticks_.high - ticks_.low);
}

qreal DivergingChart::paint_head(QPainter& painter, const QRectF& area, bool titled) const {
  qreal y = area.top() + (titled ? kPad : 4);
  const QRectF inner = area.adjusted(kPad, 0, -kPad, 0);
  if (titled) {
    painter.setFont(bold_font(1.15));
    painter.setPen(theme().text);
    const QFontMetricsF metrics(painter.font());
    painter.drawText(QPointF(inner.left(), y + metrics.ascent()), picture_.title);
    y += metrics.height() + 6;
  }
  painter.setFont(QApplication::font());
  for (const QString& text : picture_.words + picture_.warnings) {
    const bool warns = picture_.warnings.contains(text);
    painter.setPen(warns ? theme().warning : theme().text);
    const qreal height = paragraph_height(text, inner.width());
    painter.drawText(QRectF(inner.left(), y, inner.width(), height + 2), Qt::TextWordWrap, text);
    y += height + 4;
  }
  if (picture_.rows.empty()) return y;
  y += 4;
  const auto places = legend_places(picture_.legend, inner.width());
  const qreal line = line_height();
  for (std::size_t i = 0; i < picture_.legend.size(); ++i) {
    const QPointF at(inner.left() + places[i].x(), y + places[i].y());
    draw_mark(painter, picture_.legend[i], QRectF(at.x(), at.y(), kLegendSwatch, line));
    painter.setPen(theme().muted);
    painter.drawText(QPointF(at.x() + kLegendSwatch, at.y() + QFontMetricsF(painter.font()).ascent()),
                     picture_.legend[i].text);
  }
  return y + places.back().y();
}

void DivergingChart::paint_axis(QPainter& painter, const QRectF& plot, const Ticks& ticks) const {
  const QFontMetricsF metrics(painter.font());
  for (int i = 0; i < ticks.count(); ++i) {
    const double value = ticks.low + i * ticks.step;
    const qreal x = x_of(value, plot);
    const bool zero = std::abs(value) < 0.01 * ticks.step;
    painter.setPen(QPen(zero ? theme().text : theme().grid, zero ? 1.4 : 1));
    painter.drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom()));
    painter.setPen(theme().muted);
    QString text = zero ? QStringLiteral("0") : QString::number(value, 'f', ticks.decimals);
    if (value > 0 && !zero) text.prepend('+');
    text.replace('-', QChar(0x2212));
    painter.drawText(QPointF(x - metrics.horizontalAdvance(text) / 2, plot.bottom() + metrics.ascent() + 3), text);
  }
  if (picture_.guide)
    for (const double at : {-*picture_.guide, *picture_.guide}) {
      painter.setPen(QPen(theme().muted, 1, Qt::DashLine));
      painter.drawLine(QPointF(x_of(at, plot), plot.top()), QPointF(x_of(at, plot), plot.bottom()));
    }
  const qreal y = plot.bottom() + metrics.height() + metrics.ascent() + 7;
  painter.setPen(theme().muted);
  const QString left = QStringLiteral("◂ ") + picture_.less, right = picture_.more + QStringLiteral(" ▸");
  painter.drawText(QPointF(plot.left() - columns_.label - kGap, y), left);
  painter.drawText(QPointF(plot.right() - metrics.horizontalAdvance(right), y), right);
}

void DivergingChart::paint_row(QPainter& painter, const DivergingRow& row, const QRectF& line,
                               const QRectF& plot) const {
  const QFontMetricsF metrics(painter.font());
  const qreal base = line.center().y() + metrics.ascent() / 2 - 1;
  if (row.kind == DivergingRow::Kind::Heading) {
    painter.setFont(bold_font());
    painter.setPen(theme().text);
    painter.drawText(QPointF(line.left(), base), row.label);
    painter.setFont(QApplication::font());
    return;
  }
  painter.setPen(theme().text);
  painter.drawText(QPointF(plot.left() - kGap - metrics.horizontalAdvance(row.label), base), row.label);
  const qreal half = std::min<qreal>(7, line.height() * 0.3);
  const auto box = [&](double from, double to, qreal h) {
    return QRectF(QPointF(x_of(from, plot), line.center().y() - h), QPointF(x_of(to, plot), line.center().y() + h))
        .normalized();
  };
  if (row.band) {
    QColor fill = row.colour;
    fill.setAlphaF(theme().dark ? 0.30F : 0.20F);
    painter.setPen(Qt::NoPen);
    painter.setBrush(fill);
    painter.drawRect(box(row.band->first, row.band->second, half));
  }
  if (row.whisker) {
    painter.setPen(QPen(theme().text, 1.6));
    const QRectF reach = box(row.whisker->first, row.whisker->second, half * 0.8);
    painter.drawLine(QPointF(reach.left(), line.center().y()), QPointF(reach.right(), line.center().y()));
    for (const qreal x : {reach.left(), reach.right()})
      painter.drawLine(QPointF(x, reach.top()), QPointF(x, reach.bottom()));
  }
  if (row.kind == DivergingRow::Kind::Bar) {
    const QRectF bar = box(0, row.value, half);
    painter.setPen(Qt::NoPen);
    painter.setBrush(row.colour);
    painter.drawRect(bar);
    if (row.hatched) hatch(painter, bar, theme().surface);
  } else {
    painter.setPen(QPen(theme().surface, 1.5));
    painter.setBrush(row.colour);
    painter.drawEllipse(QPointF(x_of(row.value, plot), line.center().y()), 5.5, 5.5);
  }
  painter.setPen(row.number_colour);
  const qreal number_right = plot.right() + kGap + columns_.number;
  painter.drawText(QPointF(number_right - metrics.horizontalAdvance(row.number), base), row.number);
  if (columns_.note <= 0) return;
  painter.setPen(theme().muted);
  painter.drawText(QPointF(number_right + kGap, base), row.note);
  if (columns_.detail > 0) painter.drawText(QPointF(number_right + 2 * kGap + columns_.note, base), row.detail);
}

void DivergingChart::paint(QPainter& painter, const QRectF& area, bool titled, int current) {
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  lines_.clear();
  const qreal top = paint_head(painter, area, titled);
  if (picture_.rows.empty()) {
    painter.setPen(theme().muted);
    painter.drawText(QRectF(area.left() + kPad, top, area.width() - 2 * kPad, area.bottom() - top),
                     Qt::AlignCenter | Qt::TextWordWrap, picture_.empty);
    painter.restore();
    return;
  }
  columns_ = columns(area);
  const qreal foot = 2 * line_height() + 16, room = std::max(kLeastRow, area.bottom() - top - foot);
  const qreal height = std::clamp(room / static_cast<qreal>(picture_.rows.size()), kLeastRow, kMostRow);
  const auto shown = std::min(picture_.rows.size(), static_cast<std::size_t>(room / height + 1e-6));
  const qreal left = area.left() + kPad + columns_.label + kGap;
  qreal right = area.right() - kPad - columns_.number - kGap;
  for (const qreal words : {columns_.note, columns_.detail}) right -= words > 0 ? words + kGap : 0;
  const QRectF plot(left, top, std::max(40.0, right - left), height * static_cast<qreal>(shown));
  ticks_ = ticks(plot.width());
  paint_axis(painter, plot, ticks_);
  for (std::size_t i = 0; i < shown; ++i) {
    lines_.emplace_back(area.left() + kPad, top + height * static_cast<qreal>(i), area.width() - 2 * kPad, height);
    if (picture_.rows[i].kind == DivergingRow::Kind::Heading)
      painter.fillRect(lines_.back().adjusted(-2, -2, 2, 0), theme().surface);
    paint_row(painter, picture_.rows[i], lines_.back(), plot);
  }
  if (shown < picture_.rows.size()) {
    painter.setPen(theme().muted);
    painter.drawText(
        QRectF(area.left() + kPad, area.bottom() - line_height() - 2, area.width() - 2 * kPad, line_height()),
        Qt::AlignRight,
        QCoreApplication::translate("lockstep::gui::DivergingChart", "%1 rows more in the table")
            .arg(picture_.rows.size() - shown));
  }
  if (current >= 0 && current < static_cast<int>(lines_.size())) paint_callout(painter, area, current);
  painter.restore();
}

void DivergingChart::paint_callout(QPainter& painter, const QRectF& area, int row) const {
  const QString& text = picture_.rows[static_cast<std::size_t>(row)].callout;
  const QRectF& line = lines_[static_cast<std::size_t>(row)];
  painter.setPen(QPen(theme().text, 1.2));
  painter.setBrush(Qt::NoBrush);
  painter.drawRoundedRect(line.adjusted(-4, 1, 4, -1), 4, 4);
  if (text.isEmpty()) return;
  const QSizeF size = QFontMetricsF(painter.font()).boundingRect(QRectF(0, 0, 460, 400), Qt::AlignLeft, text).size();
  QRectF box(QPointF(0, 0), size + QSizeF(20, 14));
  box.moveCenter(QPointF(line.center().x(), line.bottom() + box.height() / 2 + 6));
  if (box.bottom() > area.bottom() - 2) box.moveBottom(line.top() - 6);
  box.moveLeft(std::clamp(box.left(), area.left() + 4, std::max(area.left() + 4, area.right() - box.width() - 4)));
  painter.setPen(QPen(theme().border, 1));
  painter.setBrush(theme().raised);
  painter.drawRoundedRect(box, 6, 6);
  painter.setPen(theme().text);
  painter.drawText(box.adjusted(10, 7, -10, -7), Qt::AlignLeft, text);
}

int DivergingChart::row_at(const QPointF& at) const {
  for (std::size_t i = 0; i < lines_.size(); ++i)
    if (lines_[i].contains(at) && !picture_.rows[i].callout.isEmpty()) return static_cast<int>(i);
  return -1;
}

int DivergingChart::next(int row, int step) const {
  const int count = static_cast<int>(picture_.rows.size());
  for (int tried = 0; tried < count; ++tried) {
    row = row < 0 && step < 0 ? count - 1 : (row + step + count) % count;
    if (!picture_.rows[static_cast<std::size_t>(row)].callout.isEmpty()) return row;
  }
  return -1;
}

}  // namespace lockstep::gui
