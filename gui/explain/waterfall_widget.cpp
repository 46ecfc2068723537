#include "gui/explain/waterfall_widget.h"

#include <QApplication>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "gui/app/theme.h"
#include "gui/charts/chart_panel.h"
#include "simulator/base/format.h"

namespace lockstep::gui {
namespace {

constexpr qreal kPad = 14, kMostLine = 44, kGap = 8;

QFont bold_font() {
  QFont font = QApplication::font();
  font.setBold(true);
  return font;
}

QString time_text(double seconds) {
  return QString::fromStdString(format_time(seconds));
}

}  // namespace

WaterfallWidget::WaterfallWidget(QWidget* parent) : QWidget(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
  setMinimumSize(460, 160);
}

void WaterfallWidget::show_waterfall(Waterfall waterfall, bool faded) {
  const bool alike = waterfall.run_name == waterfall_.run_name && waterfall.base_name == waterfall_.base_name;
  waterfall_ = std::move(waterfall);
  faded_ = faded;
  hovered_ = -1;
  if (!alike || selected_ >= static_cast<int>(waterfall_.rows.size())) selected_ = -1;
  const int line = QFontMetrics(QApplication::font()).height(), below = line + 20;
  setMinimumHeight(std::max(160, lines() * (line + 8) + below));
  setMaximumHeight(waterfall_.empty() ? QWIDGETSIZE_MAX : lines() * static_cast<int>(kMostLine) + below);
  update();
  emit selection_changed();
}

void WaterfallWidget::select(int row) {
  if (row == selected_) return;
  selected_ = row;
  update();
  emit selection_changed();
}

QString WaterfallWidget::row_name(int row) const {
  const WaterfallRow& one = waterfall_.rows[static_cast<std::size_t>(row)];
  return one.joined ? tr("smaller differences") : cause_name(one.cause, waterfall_.devices);
}

QString WaterfallWidget::row_text(int row) const {
  const double seconds = waterfall_.rows[static_cast<std::size_t>(row)].seconds();
  return (seconds < 0 ? QStringLiteral("−") : QStringLiteral("+")) + time_text(std::abs(seconds));
}

QString WaterfallWidget::name_of_line(int line) const {
  if (line == 0) return waterfall_.shared() ? tr("%1, its share").arg(waterfall_.base_name) : waterfall_.base_name;
  return line == lines() - 1 ? waterfall_.run_name : row_name(line - 1);
}

QString WaterfallWidget::number_of_line(int line) const {
  if (line == 0) return time_text(waterfall_.base_s);
  return line == lines() - 1 ? time_text(waterfall_.run_s) : row_text(line - 1);
}

WaterfallWidget::Layout WaterfallWidget::lay_out(const QRectF& target) const {
  Layout out;
  const QFontMetricsF metrics(bold_font());
  qreal names = 0;
  for (int line = 0; line < lines(); ++line) {
    names = std::max(names, metrics.horizontalAdvance(name_of_line(line)));
    out.number_width = std::max(out.number_width, metrics.horizontalAdvance(number_of_line(line)) + 2 * kGap);
  }
  out.axis = axis_of(waterfall_);
  out.unit = time_unit(out.axis.high_s);
  const qreal below = metrics.height() + 12;  // ticks
  out.plot = target.adjusted(kPad + names + kGap, 4, -kPad - out.number_width, -below);
  out.line = std::min(kMostLine, out.plot.height() / lines());
  out.plot.setHeight(out.line * lines());
  out.bar = std::min(26.0, 0.66 * out.line);
  return out;
}

qreal WaterfallWidget::x_of(const Layout& layout, double seconds) const {
  const double part = (seconds - layout.axis.low_s) / (layout.axis.high_s - layout.axis.low_s);
  return layout.plot.left() + std::clamp(part, 0.0, 1.0) * layout.plot.width();
}

QRectF WaterfallWidget::bar_of(const Layout& layout, int line) const {
  double from = layout.axis.low_s, to = waterfall_.base_s;
  if (line == lines() - 1) {
    to = waterfall_.run_s;
  } else if (line > 0) {
    const WaterfallRow& row = waterfall_.rows[static_cast<std::size_t>(line - 1)];
    from = row.from_s;
    to = row.from_s + row.seconds();
  }
  const qreal left = x_of(layout, std::min(from, to)), right = x_of(layout, std::max(from, to));
  const qreal top = layout.plot.top() + line * layout.line + (layout.line - layout.bar) / 2;
  return {left, top, std::max(1.5, right - left), layout.bar};
}

QRectF WaterfallWidget::area_of(int row) const {
  return bar_of(lay_out(rect()), row + 1);
}

void WaterfallWidget::draw_axis(QPainter& painter, const Layout& layout) const {
  const Ticks ticks = nice_ticks(layout.axis.low_s / layout.unit.scale, layout.axis.high_s / layout.unit.scale, 5);
  const QFontMetricsF metrics(painter.font());
  const qreal base = layout.plot.bottom() + 4 + metrics.ascent();
  for (double at = ticks.low; at < ticks.high + ticks.step / 2; at += ticks.step) {
    const double seconds = at * layout.unit.scale;
    if (seconds < layout.axis.low_s * (1 - 1e-9) || seconds > layout.axis.high_s * (1 + 1e-9)) continue;
    const qreal x = x_of(layout, seconds);
    painter.setPen(QPen(theme().grid, 1));
    painter.drawLine(QPointF(x, layout.plot.top()), QPointF(x, layout.plot.bottom()));
    const QString label = QString::number(at, 'f', ticks.decimals);
    painter.setPen(theme().muted);
    painter.drawText(QPointF(x - metrics.horizontalAdvance(label) / 2, base), label);
  }
  painter.setPen(theme().muted);
  painter.drawText(QPointF(layout.plot.right() + kGap + 8, base), layout.unit.name);
}

void WaterfallWidget::draw_bar(QPainter& painter, const Layout& layout, int line, const QRectF& bar) const {
  const bool total = line == 0 || line == lines() - 1;
  QColor colour = theme().muted;
  bool saving = false, exposed = false;
  if (!total) {
    const WaterfallRow& row = waterfall_.rows[static_cast<std::size_t>(line - 1)];
    colour = theme().cause(row.joined ? Cause::Other : row.cause);
    saving = row.seconds() < 0;
    exposed = !row.joined && row.cause == Cause::ExposedCommunication;
  }
  painter.setPen(saving ? QPen(colour, 1.6) : Qt::NoPen);
  painter.setBrush(saving ? QBrush(Qt::NoBrush) : QBrush(colour));
  painter.drawRoundedRect(saving ? bar.adjusted(0.8, 0.8, -0.8, -0.8) : bar, 2, 2);
  if (exposed && !saving) hatch(painter, bar, theme().surface);
  if (!total || !layout.axis.cut()) return;
  // The bar does not start at zero: two slanted cuts say so.
  painter.setPen(QPen(theme().surface, 3));
  for (const qreal x : {bar.left() + 8, bar.left() + 15})
    painter.drawLine(QPointF(x - 4, bar.bottom() + 2), QPointF(x + 4, bar.top() - 2));
}

void WaterfallWidget::draw_line(QPainter& painter, const Layout& layout, int line, bool marked, bool hovered) const {
  const QRectF bar = bar_of(layout, line);
  const qreal top = layout.plot.top() + line * layout.line;
  const bool total = line == 0 || line == lines() - 1;
  if (marked || hovered) {
    QColor behind = theme().accent;
    behind.setAlphaF(marked ? 0.16F : 0.08F);
    painter.setPen(Qt::NoPen);
    painter.setBrush(behind);
    painter.drawRoundedRect(
        QRectF(kPad / 2, top + 1, layout.plot.right() + layout.number_width - kPad / 2, layout.line - 2), 4, 4);
  }
  painter.setFont(total ? bold_font() : QApplication::font());
  const QFontMetricsF metrics(painter.font());
  const qreal base = bar.center().y() + metrics.ascent() / 2 - 1;
  const QString name = name_of_line(line);
  painter.setPen(theme().text);
  painter.drawText(QPointF(layout.plot.left() - kGap - metrics.horizontalAdvance(name), base), name);
  draw_bar(painter, layout, line, bar);
  painter.setPen(theme().text);
  painter.drawText(QPointF(bar.right() + 6, base), number_of_line(line));
  if (line == lines() - 1) return;
  // What follows starts here.
  const double at = line == 0 ? waterfall_.base_s
                              : waterfall_.rows[static_cast<std::size_t>(line - 1)].from_s +
                                    waterfall_.rows[static_cast<std::size_t>(line - 1)].seconds();
  const qreal x = x_of(layout, at);
  painter.setPen(QPen(theme().muted, 1));
  painter.drawLine(QPointF(x, bar.bottom()), QPointF(x, bar_of(layout, line + 1).top()));
}

void WaterfallWidget::draw(QPainter& painter, const QRectF& target, int marked, int hovered) const {
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setFont(QApplication::font());
  if (waterfall_.empty()) {
    painter.setPen(theme().muted);
    painter.drawText(target, Qt::AlignCenter | Qt::TextWordWrap, tr("Nothing to explain yet"));
    return;
  }
  const Layout layout = lay_out(target);
  if (faded_) painter.setOpacity(0.45);
  draw_axis(painter, layout);
  for (int line = 0; line < lines(); ++line)
    draw_line(painter, layout, line, line == marked + 1 && marked >= 0, line == hovered + 1 && hovered >= 0);
}

void WaterfallWidget::paint_into(QPainter& painter, const QRectF& target) const {
  painter.save();
  draw(painter, target, -1, -1);
  painter.restore();
}

void WaterfallWidget::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  draw(painter, rect(), selected_, hovered_);
  if (!hasFocus()) return;
  painter.setOpacity(1);
  painter.setPen(QPen(theme().accent, 1.4));
  painter.setBrush(Qt::NoBrush);
  painter.drawRoundedRect(QRectF(rect()).adjusted(1, 1, -1, -1), 5, 5);
}

void WaterfallWidget::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  update();
}

int WaterfallWidget::line_at(const QPointF& point) const {
  if (waterfall_.empty()) return -1;
  const Layout layout = lay_out(rect());
  const int line = static_cast<int>(std::floor((point.y() - layout.plot.top()) / layout.line));
  return line > 0 && line < lines() - 1 ? line - 1 : -1;
}

void WaterfallWidget::mousePressEvent(QMouseEvent* event) {
  select(line_at(event->position()));
}

void WaterfallWidget::mouseMoveEvent(QMouseEvent* event) {
  const int row = line_at(event->position());
  if (row == hovered_) return;
  hovered_ = row;
  update();
}

void WaterfallWidget::leaveEvent(QEvent* event) {
  QWidget::leaveEvent(event);
  hovered_ = -1;
  update();
}

void WaterfallWidget::keyPressEvent(QKeyEvent* event) {
  const int count = static_cast<int>(waterfall_.rows.size());
  const bool next = event->key() == Qt::Key_Down || event->key() == Qt::Key_Right;
  const bool before = event->key() == Qt::Key_Up || event->key() == Qt::Key_Left;
  if (count == 0) return QWidget::keyPressEvent(event);
  if (next || before)
    select(selected_ < 0 ? (next ? 0 : count - 1) : (selected_ + (next ? 1 : -1) + count) % count);
  else if (event->key() == Qt::Key_Home || event->key() == Qt::Key_End)
    select(event->key() == Qt::Key_Home ? 0 : count - 1);
  else if (event->key() == Qt::Key_Escape && selected_ >= 0)
    select(-1);
  else
    QWidget::keyPressEvent(event);
}

}  // namespace lockstep::gui
