#include "gui/topology/topology_widget.h"

#include <QApplication>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <algorithm>
#include <array>
#include <cmath>

#include "gui/app/theme.h"
#include "simulator/base/format.h"

namespace lockstep::gui {
namespace {

constexpr qreal kMargin = 12;
constexpr qreal kMostScale = 1.35;  // a small machine does not fill a large window

QString text(const std::string& t) {
  return QString::fromStdString(t);
}
qreal legend_height() {
  return QFontMetricsF(QApplication::font()).height() + 14;
}

// Behind the links that limit a ring; opaque, so that crossings are not darker.
QColor glow_colour() {
  return theme().dark ? QColor("#7a5a22") : QColor("#f0cf94");
}

QPainterPath path_of(const MachineLink& link) {
  QPainterPath path(link.points.front());
  if (link.arc)
    path.quadTo(link.points[1], link.points[2]);
  else
    for (std::size_t i = 1; i < link.points.size(); ++i) path.lineTo(link.points[i]);
  return path;
}

}  // namespace

QColor use_colour(double share, bool dark) {
  struct Stop {
    double at;
    QColor colour;
  };
  const std::array<Stop, 4> stops{{{0, dark ? QColor("#5b6a7c") : QColor("#a9b4c0")},
                                   {0.02, dark ? QColor("#4aa3e8") : QColor("#2a82c9")},
                                   {0.5, QColor("#e0a100")},
                                   {1, dark ? QColor("#ff6a4d") : QColor("#c93a12")}}};
  for (std::size_t i = 1; i < stops.size(); ++i) {
    if (share > stops[i].at) continue;
    const double t = (share - stops[i - 1].at) / (stops[i].at - stops[i - 1].at);
    const auto mix = [&](int a, int b) { return static_cast<int>(std::lround(a + t * (b - a))); };
    const QColor &a = stops[i - 1].colour, &b = stops[i].colour;
    return {mix(a.red(), b.red()), mix(a.green(), b.green()), mix(a.blue(), b.blue())};
  }
  return stops.back().colour;
}

TopologyWidget::TopologyWidget(QWidget* parent) : QWidget(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
  setMinimumSize(460, 300);
}

void TopologyWidget::show_drawing(MachineDrawing drawing, double step_s, bool faded) {
  const std::string before = selected_ >= 0 ? drawing_.links[static_cast<std::size_t>(selected_)].id : std::string();
  drawing_ = std::move(drawing);
  step_s_ = step_s;
  faded_ = faded;
  hovered_ = selected_ = -1;
  for (std::size_t i = 0; i < drawing_.links.size() && !before.empty(); ++i)
    if (drawing_.links[i].id == before && selected_ < 0) selected_ = static_cast<int>(i);
  update();
  emit selection_changed();
}

void TopologyWidget::select(int link) {
  if (link == selected_) return;
  selected_ = link;
  update();
  emit selection_changed();
}

// From link to link in the order of the drawing, each id once.
void TopologyWidget::select_next(int by) {
  std::vector<int> all;
  for (std::size_t i = 0; i < drawing_.links.size(); ++i) {
    const MachineLink& link = drawing_.links[i];
    const bool told = std::any_of(all.begin(), all.end(), [&](int other) {
      return drawing_.links[static_cast<std::size_t>(other)].id == link.id;
    });
    if (!link.id.empty() && !told) all.push_back(static_cast<int>(i));
  }
  if (all.empty()) return;
  const auto now = std::find(all.begin(), all.end(), selected_);
  const int count = static_cast<int>(all.size());
  const int at =
      now == all.end() ? (by > 0 ? 0 : count - 1) : (static_cast<int>(now - all.begin()) + by + count) % count;
  select(all[static_cast<std::size_t>(at)]);
}

double TopologyWidget::use_of(const MachineLink& link) const {
  return step_s_ > 0 && link.rate > 0 ? static_cast<double>(link.load.bytes) / (link.rate * step_s_) : 0;
}

QString TopologyWidget::text_of(int index, const QString& separator) const {
  if (index < 0 || index >= static_cast<int>(drawing_.links.size())) return {};
  const MachineLink& link = drawing_.links[static_cast<std::size_t>(index)];
  QStringList parts{link.name, tr("%1 in each direction").arg(text(format_rate(link.rate)))};
  if (step_s_ > 0 && link.load.bytes > 0) {
    parts << tr("%1 in a step, %2 of what it could carry")
                 .arg(text(format_bytes(static_cast<double>(link.load.bytes))), text(format_percent(use_of(link))));
    parts << tr("busy for %1 of the step").arg(text(format_percent(link.load.busy)));
  } else if (step_s_ > 0) {
    parts << tr("nothing crosses it in this step");
  }
  if (link.load.slowest) parts << tr("limits the all-reduce");
  return parts.join(separator);
}

QTransform TopologyWidget::fitted(const QRectF& target) const {
  const QRectF area = target.adjusted(kMargin, kMargin, -kMargin, -kMargin - legend_height());
  QTransform to;
  if (drawing_.empty() || area.isEmpty()) return to;
  const qreal scale =
      std::min({area.width() / drawing_.size.width(), area.height() / drawing_.size.height(), kMostScale});
  to.translate(area.center().x() - scale * drawing_.size.width() / 2,
               area.top() + (area.height() - scale * drawing_.size.height()) / 2);
  to.scale(scale, scale);
  return to;
}

void TopologyWidget::draw_boxes(QPainter& painter) const {
  for (const NodeFrame& frame : drawing_.frames) {
    painter.setPen(QPen(theme().border, 1));
    painter.setBrush(theme().raised);
    painter.drawRoundedRect(frame.area, 8, 8);
    QFont bold = QApplication::font();
    bold.setBold(true);
    painter.setFont(bold);
    painter.setPen(theme().text);
    painter.drawText(frame.area.bottomLeft() + QPointF(14, -14), frame.title);
    painter.setFont(QApplication::font());
  }
}

void TopologyWidget::draw_links(QPainter& painter, int marked, int hovered) const {
  const auto stroke = [&](const QPainterPath& path, const QColor& colour, qreal width) {
    painter.setPen(QPen(colour, width, Qt::SolidLine, Qt::FlatCap, Qt::RoundJoin));
    painter.setBrush(Qt::NoBrush);
    painter.drawPath(path);
  };
  const auto draw_one = [&](std::size_t i) {
    const MachineLink& link = drawing_.links[i];
    const QPainterPath path = path_of(link);
    if (link.id.empty()) return stroke(path, theme().border, 1.4);
    const qreal width = link_width(link.rate);
    const bool chosen = static_cast<int>(i) == marked || static_cast<int>(i) == hovered;
    if (chosen) stroke(path, theme().text, width + 4);
    stroke(path, use_colour(use_of(link), theme().dark), width);
  };
  for (const MachineLink& link : drawing_.links)
    if (link.load.slowest && link.bar.isNull()) stroke(path_of(link), glow_colour(), link_width(link.rate) + 9);
  for (int pass = 0; pass < 2; ++pass)  // those that carry something above the others
    for (std::size_t i = 0; i < drawing_.links.size(); ++i)
      if (drawing_.links[i].bar.isNull() && (drawing_.links[i].load.bytes > 0) == (pass == 1)) draw_one(i);
}

void TopologyWidget::draw_bars(QPainter& painter, int marked, int hovered) const {
  for (std::size_t i = 0; i < drawing_.links.size(); ++i) {
    const MachineLink& link = drawing_.links[i];
    if (link.bar.isNull()) continue;
    if (link.load.slowest) {
      painter.setPen(Qt::NoPen);
      painter.setBrush(glow_colour());
      painter.drawRoundedRect(link.bar.adjusted(-4, -4, 4, 4), 4, 4);
    }
    const bool chosen = static_cast<int>(i) == marked || static_cast<int>(i) == hovered ||
                        (marked >= 0 && drawing_.links[static_cast<std::size_t>(marked)].id == link.id);
    painter.setPen(chosen ? QPen(theme().text, 1.6) : QPen(Qt::NoPen));
    painter.setBrush(use_colour(use_of(link), theme().dark));
    painter.drawRoundedRect(link.bar, 2, 2);
  }
}

void TopologyWidget::draw_labels(QPainter& painter) const {
  const QFontMetricsF metrics(QApplication::font());
  for (const MachineBox& box : drawing_.boxes) {
    const bool chip = box.kind == MachineBox::Kind::Gpu;
    QColor fill = theme().surface, edge = theme().border, ink = theme().text;
    if (chip && box.used) {
      fill = theme().accent;
      edge = theme().accent;
      ink = theme().on_accent;
    }
    if (!box.used) ink = theme().muted;
    painter.setPen(QPen(edge, 1.2, box.used ? Qt::SolidLine : Qt::DashLine));
    painter.setBrush(fill);
    painter.drawRoundedRect(box.area, 5, 5);
    painter.setPen(ink);
    if (box.second.isEmpty()) {
      painter.drawText(box.area, Qt::AlignCenter, box.label);
      continue;
    }
    const QRectF first(box.area.left(), box.area.top() + 5, box.area.width(), metrics.height());
    painter.drawText(first, Qt::AlignCenter, box.label);
    painter.setPen(theme().muted);
    painter.drawText(first.translated(0, metrics.height()), Qt::AlignCenter, box.second);
  }
  for (const LayerLabel& label : drawing_.labels) {
    painter.setPen(theme().text);
    painter.drawText(label.at, label.name);
    painter.setPen(theme().muted);
    painter.drawText(label.at + QPointF(0, metrics.height()), label.rate);
  }
}

void TopologyWidget::draw_legend(QPainter& painter, const QRectF& area) const {
  const QFontMetricsF metrics(QApplication::font());
  const qreal middle = area.center().y(), base = middle + metrics.ascent() / 2 - 1;
  qreal x = area.left();
  const auto say = [&](const QString& words) {
    painter.setPen(theme().muted);
    painter.drawText(QPointF(x, base), words);
    x += metrics.horizontalAdvance(words);
  };
  say(tr("in use"));
  x += 8;
  say(QStringLiteral("0 %"));
  x += 6;
  constexpr qreal kBar = 90;
  QLinearGradient scale(x, 0, x + kBar, 0);
  for (int i = 0; i <= 25; ++i) scale.setColorAt(i / 25.0, use_colour(i / 25.0, theme().dark));
  painter.fillRect(QRectF(x, middle - 5, kBar, 10), scale);
  x += kBar + 6;
  say(tr("100 % of its rate"));
  x += 22;
  for (const double rate : {1e9, 1e10, 1e11}) {
    const QString words = text(format_rate(rate));
    if (x + 34 + metrics.horizontalAdvance(words) > area.right()) return;
    painter.setPen(QPen(use_colour(0, theme().dark), link_width(rate)));
    painter.drawLine(QPointF(x, middle), QPointF(x + 24, middle));
    x += 30;
    say(words);
    x += 14;
  }
  const bool limited = std::any_of(drawing_.links.begin(), drawing_.links.end(),
                                   [](const MachineLink& link) { return link.load.slowest; });
  const QString words = tr("limits the all-reduce");
  if (!limited || x + 38 + metrics.horizontalAdvance(words) > area.right()) return;
  painter.setPen(QPen(glow_colour(), 12));
  painter.drawLine(QPointF(x + 4, middle), QPointF(x + 28, middle));
  painter.setPen(QPen(use_colour(0, theme().dark), 3));
  painter.drawLine(QPointF(x + 4, middle), QPointF(x + 28, middle));
  x += 40;
  say(words);
}

void TopologyWidget::draw(QPainter& painter, const QRectF& target, int marked, int hovered) const {
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setFont(QApplication::font());
  if (faded_) painter.setOpacity(0.45);
  draw_legend(painter, QRectF(target.left() + kMargin, target.bottom() - legend_height() - 2,
                              target.width() - 2 * kMargin, legend_height()));
  painter.setTransform(fitted(target), true);
  draw_boxes(painter);
  draw_links(painter, marked, hovered);
  draw_labels(painter);
  draw_bars(painter, marked, hovered);
  painter.restore();
}

void TopologyWidget::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  if (drawing_.empty()) {
    painter.setPen(theme().muted);
    painter.drawText(QRectF(rect()).adjusted(24, 24, -24, -24), Qt::AlignCenter | Qt::TextWordWrap,
                     tr("No machine yet: it comes with the first prediction."));
    return;
  }
  place_ = fitted(rect());
  draw(painter, rect(), selected_, hovered_);
  draw_callout(painter);
  if (!hasFocus()) return;
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(theme().accent, 1.5));
  painter.setBrush(Qt::NoBrush);
  painter.drawRoundedRect(QRectF(rect()).adjusted(1, 1, -1, -1), 4, 4);
}

void TopologyWidget::draw_callout(QPainter& painter) const {
  const QString words = text_of(hovered_, QStringLiteral("\n"));
  if (words.isEmpty()) return;
  const QFontMetricsF metrics(painter.font());
  const QRectF bounds = metrics.boundingRect(QRectF(0, 0, 420, 400), Qt::AlignLeft | Qt::TextWordWrap, words);
  QRectF box(pointer_ + QPointF(16, 12), bounds.size() + QSizeF(20, 14));
  if (box.bottom() > height() - 4) box.moveBottom(pointer_.y() - 10);
  if (box.right() > width() - 4) box.moveRight(std::max(box.width() + 4, pointer_.x() - 12));
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(theme().border, 1));
  painter.setBrush(theme().raised);
  painter.drawRoundedRect(box, 6, 6);
  painter.setPen(theme().text);
  painter.drawText(box.adjusted(10, 7, -10, -7), Qt::AlignLeft | Qt::TextWordWrap, words);
}

void TopologyWidget::paint_into(QPainter& painter, const QRectF& target) {
  if (!drawing_.empty()) draw(painter, target, selected_, -1);
}

void TopologyWidget::mouseMoveEvent(QMouseEvent* event) {
  pointer_ = event->position();
  bool reversible = false;
  const QTransform back = fitted(rect()).inverted(&reversible);
  const int now = reversible ? link_at(drawing_, back.map(pointer_)) : -1;
  if (now >= 0 || now != hovered_) update();
  hovered_ = now;
}

void TopologyWidget::mousePressEvent(QMouseEvent* event) {
  QWidget::mousePressEvent(event);
  bool reversible = false;
  const QTransform back = fitted(rect()).inverted(&reversible);
  if (reversible && event->button() == Qt::LeftButton) select(link_at(drawing_, back.map(event->position())));
}

void TopologyWidget::mouseDoubleClickEvent(QMouseEvent* event) {
  mousePressEvent(event);
  if (event->button() == Qt::LeftButton && selected_ >= 0) emit activated();
}

void TopologyWidget::leaveEvent(QEvent* event) {
  QWidget::leaveEvent(event);
  hovered_ = -1;
  update();
}

void TopologyWidget::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_Right:
    case Qt::Key_Down:
      return select_next(1);
    case Qt::Key_Left:
    case Qt::Key_Up:
      return select_next(-1);
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (selected_ >= 0) emit activated();
      return;
    case Qt::Key_Escape:
      if (selected_ >= 0) return select(-1);
      [[fallthrough]];
    default:
      QWidget::keyPressEvent(event);
  }
}

}  // namespace lockstep::gui
