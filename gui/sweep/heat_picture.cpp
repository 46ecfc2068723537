#include "gui/sweep/heat_picture.h"

#include <QApplication>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "gui/app/theme.h"
#include "gui/charts/chart_panel.h"
#include "gui/sweep/heat_scale.h"
#include "gui/sweep/sweep_axis.h"

namespace lockstep::gui {
namespace {

constexpr qreal kPad = 14, kGap = 2, kScaleWidth = 132;
constexpr int kScaleSteps = 33;

QString say(const char* text) {
  return QCoreApplication::translate("lockstep::gui::HeatMap", text);
}

QFont bold(QFont font, qreal scale = 1) {
  font.setPointSizeF(font.pointSizeF() * scale);
  font.setBold(true);
  return font;
}

// At a dash or underscore near the middle, for labels that are wider than a cell.
QString in_two_lines(const QString& label) {
  qsizetype best = -1;
  for (qsizetype i = 1; i + 1 < label.size(); ++i)
    if ((label[i] == QChar('-') || label[i] == QChar('_') || label[i] == QChar(' ')) &&
        (best < 0 || std::abs(2 * i - label.size()) < std::abs(2 * best - label.size())))
      best = i;
  return best < 0 ? label : label.left(best + 1) + QChar('\n') + label.mid(best + 1);
}

qreal widest(const QStringList& labels, const QFontMetricsF& metrics) {
  qreal width = 0;
  for (const QString& label : labels)
    for (const QString& line : label.split('\n')) width = std::max(width, metrics.horizontalAdvance(line));
  return width;
}

QFont fitted(QFont font, const QString& text, qreal width) {
  while (font.pointSizeF() > 6 && widest({text}, QFontMetricsF(font)) > width)
    font.setPointSizeF(font.pointSizeF() - 0.5);
  return font;
}

void draw_star(QPainter& painter, const QPointF& centre, qreal radius, const QColor& colour) {
  QPolygonF star;
  for (int i = 0; i < 10; ++i) {
    const double angle = -M_PI / 2 + i * M_PI / 5, r = i % 2 == 0 ? radius : 0.42 * radius;
    star << centre + QPointF(r * std::cos(angle), r * std::sin(angle));
  }
  painter.setPen(Qt::NoPen);
  painter.setBrush(colour);
  painter.drawPolygon(star);
}

QColor fill_of(const HeatCell& cell) {
  return cell.kind == HeatCell::Kind::Value && cell.fits ? scale_colour(cell.share) : theme().raised;
}

// A corner that is struck off.
void strike_corner(QPainter& painter, const QRectF& area, qreal size) {
  const QPointF corner = area.bottomLeft();
  painter.setPen(Qt::NoPen);
  painter.setBrush(theme().error);
  painter.drawPolygon(QPolygonF({corner, corner + QPointF(size, 0), corner - QPointF(0, size)}));
}

void draw_cell(QPainter& painter, const QRectF& area, const HeatCell& cell, bool is_best) {
  const QColor fill = fill_of(cell);
  painter.setPen(QPen(theme().border, 1));
  painter.setBrush(fill);
  painter.drawRect(area);
  if (cell.kind == HeatCell::Kind::NotRun) hatch(painter, area.adjusted(1, 1, -1, -1), theme().border);
  if (cell.kind == HeatCell::Kind::Pending) {
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme().muted);
    for (int i = -1; i <= 1; ++i) painter.drawEllipse(area.center() + QPointF(7 * i, 0), 1.6, 1.6);
  }
  if (cell.kind != HeatCell::Kind::Value) return;
  const QColor ink = cell.fits ? ink_on(fill) : theme().muted;
  if (!cell.fits) strike_corner(painter, area, std::min(14.0, area.height() / 2));
  const QString text = cell.estimated ? QStringLiteral("≈ ") + cell.text : cell.text;
  painter.setFont(fitted(bold(QApplication::font()), text, area.width() - 6));
  painter.setPen(ink);
  painter.drawText(area, Qt::AlignCenter, text);
  if (is_best && area.height() > 26) draw_star(painter, area.topRight() + QPointF(-10, 10), 6.5, ink);
}

void frame(QPainter& painter, const QRectF& area, const QColor& inner, const QColor& outer, qreal width) {
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(outer, width));
  painter.drawRect(area.adjusted(-0.5, -0.5, 0.5, 0.5));
  painter.setPen(QPen(inner, 1.2));
  painter.drawRect(area.adjusted(width / 2 + 0.5, width / 2 + 0.5, -width / 2 - 0.5, -width / 2 - 0.5));
}

bool any(const HeatPicture& picture, HeatCell::Kind kind) {
  return std::any_of(picture.cells.begin(), picture.cells.end(),
                     [&](const HeatCell& cell) { return cell.kind == kind; });
}

bool any_estimate(const HeatPicture& picture) {
  return std::any_of(picture.cells.begin(), picture.cells.end(),
                     [](const HeatCell& cell) { return cell.kind == HeatCell::Kind::Value && cell.estimated; });
}

// What the legend explains: only what there is.
enum class Sign { Present, Best, Estimate, NoFit, NotRun, Pending };
struct LegendEntry {
  Sign sign = Sign::Present;
  QString words;
  QPointF at;  // within the legend
};

std::vector<LegendEntry> legend_of(const HeatPicture& picture, const QFontMetricsF& metrics, qreal width) {
  std::vector<LegendEntry> entries;
  if (picture.present)
    entries.push_back({Sign::Present, say(QT_TRANSLATE_NOOP("lockstep::gui::HeatMap", "present settings")), {}});
  if (picture.best_cell) entries.push_back({Sign::Best, say(QT_TRANSLATE_NOOP("lockstep::gui::HeatMap", "best")), {}});
  if (any_estimate(picture))
    entries.push_back({Sign::Estimate, say(QT_TRANSLATE_NOOP("lockstep::gui::HeatMap", "estimate")), {}});
  if (std::any_of(picture.cells.begin(), picture.cells.end(), [](const HeatCell& cell) { return !cell.fits; }))
    entries.push_back({Sign::NoFit, say(QT_TRANSLATE_NOOP("lockstep::gui::HeatMap", "does not fit in memory")), {}});
  if (any(picture, HeatCell::Kind::NotRun))
    entries.push_back({Sign::NotRun, say(QT_TRANSLATE_NOOP("lockstep::gui::HeatMap", "cannot run")), {}});
  if (any(picture, HeatCell::Kind::Pending))
    entries.push_back({Sign::Pending, say(QT_TRANSLATE_NOOP("lockstep::gui::HeatMap", "not computed yet")), {}});
  qreal x = 0, y = 0;
  for (LegendEntry& entry : entries) {
    const qreal need = 20 + metrics.horizontalAdvance(entry.words);
    if (x > 0 && x + need > width) {
      x = 0;
      y += metrics.height() + 5;
    }
    entry.at = {x, y};
    x += need + 16;
  }
  return entries;
}

void draw_sign(QPainter& painter, Sign sign, const QRectF& box) {
  const Theme& t = theme();
  switch (sign) {
    case Sign::Present:
      return frame(painter, box, t.surface, t.accent, 3);
    case Sign::Best:
      return draw_star(painter, box.center(), 7, t.text);
    case Sign::Estimate:
      painter.setFont(bold(QApplication::font()));
      painter.setPen(t.text);
      return painter.drawText(box.adjusted(-4, -6, 4, 6), Qt::AlignCenter, QStringLiteral("≈"));
    case Sign::NoFit:
    case Sign::NotRun:
    case Sign::Pending:
      painter.setPen(QPen(t.border, 1));
      painter.setBrush(t.raised);
      painter.drawRect(box);
      if (sign == Sign::NoFit) strike_corner(painter, box, 9);
      if (sign == Sign::NotRun) hatch(painter, box, t.muted);
  }
}

void draw_legend(QPainter& painter, const HeatPicture& picture, const QPointF& at, qreal width) {
  const QFontMetricsF metrics(QApplication::font());
  for (const LegendEntry& entry : legend_of(picture, metrics, width)) {
    const QPointF place = at + entry.at;
    draw_sign(painter, entry.sign, QRectF(place.x(), place.y() + metrics.height() / 2 - 6, 14, 12));
    painter.setFont(QApplication::font());
    painter.setPen(theme().muted);
    painter.drawText(QPointF(place.x() + 20, place.y() + metrics.ascent()), entry.words);
  }
}

// From worst to best, with both numbers; at the right of the title.
void draw_scale(QPainter& painter, const HeatPicture& picture, qreal right, qreal y) {
  if (picture.worst.isEmpty()) return;
  const QFontMetricsF metrics(QApplication::font());
  painter.setFont(QApplication::font());
  painter.setPen(theme().muted);
  const qreal best_width = metrics.horizontalAdvance(picture.best);
  const qreal bar = right - best_width - 6 - kScaleWidth;
  painter.drawText(QPointF(right - best_width, y + metrics.ascent()), picture.best);
  painter.drawText(QPointF(bar - 6 - metrics.horizontalAdvance(picture.worst), y + metrics.ascent()), picture.worst);
  painter.setPen(Qt::NoPen);
  painter.setRenderHint(QPainter::Antialiasing, false);  // no seams
  for (int i = 0; i < kScaleSteps; ++i) {
    painter.setBrush(scale_colour(static_cast<double>(i) / (kScaleSteps - 1)));
    painter.drawRect(
        QRectF(bar + i * kScaleWidth / kScaleSteps, y + metrics.height() / 2 - 6, kScaleWidth / kScaleSteps + 0.6, 12));
  }
  painter.setRenderHint(QPainter::Antialiasing);
}

void draw_labels(QPainter& painter, const HeatPicture& picture, const HeatLayout& layout, const QRectF& target) {
  const QFont font = QApplication::font();
  const QFontMetricsF metrics(font);
  painter.setPen(theme().muted);
  const qreal width = layout.cells.width() / static_cast<qreal>(layout.across);
  for (std::size_t x = 0; x < layout.across; ++x) {
    const QString label = picture.across[static_cast<int>(x)];
    const QString text = layout.label_lines > 1 ? in_two_lines(label) : label;
    painter.setFont(fitted(font, text, width - 4));
    painter.drawText(QRectF(layout.cells.left() + static_cast<qreal>(x) * width, layout.cells.bottom() + 4, width,
                            layout.label_lines * metrics.height() + 2),
                     Qt::AlignHCenter | Qt::AlignTop, text);
  }
  painter.setFont(font);
  for (std::size_t y = 0; y < layout.up; ++y) {
    const QRectF row = layout.cell(y * layout.across);
    painter.drawText(QRectF(layout.up_labels_x, row.top(), layout.cells.left() - 8 - layout.up_labels_x, row.height()),
                     Qt::AlignRight | Qt::AlignVCenter, picture.up[static_cast<int>(y)]);
  }
  painter.setPen(theme().text);
  painter.drawText(
      QRectF(layout.cells.left(), target.bottom() - metrics.height() - 6, layout.cells.width(), metrics.height() + 2),
      Qt::AlignCenter, picture.across_title);
  painter.save();
  painter.translate(target.left() + kPad, layout.cells.center().y());
  painter.rotate(-90);
  painter.drawText(QRectF(-layout.cells.height() / 2 - 20, -2, layout.cells.height() + 40, metrics.height() + 2),
                   Qt::AlignCenter, picture.up_title);
  painter.restore();
}

}  // namespace

HeatPicture heat_picture(const SweepGrid& grid, SweepMetric metric) {
  HeatPicture picture;
  picture.empty = grid.missing;
  if (grid.axes.size() != 2 || grid.cells.size() != grid.across() * grid.up()) return picture;
  const MetricScale scale = metric_scale(grid, metric);
  picture.title = metric_name(metric);
  picture.subtitle =
      scale.unit.isEmpty() ? heading_of(grid) : QStringLiteral("%1, %2").arg(scale.unit, heading_of(grid));
  const AxisLabels across = axis_labels(grid.axes[0]), up = axis_labels(grid.axes[1]);
  picture.across_title = across.title;
  picture.across = across.labels;
  picture.up_title = up.title;
  picture.up = up.labels;
  for (const SweepCell& cell : grid.cells) {
    HeatCell one;
    one.estimated = cell.estimated;
    if (cell.state == CellState::NotRun) one.kind = HeatCell::Kind::NotRun;
    if (cell.state == CellState::Known) {
      one.kind = HeatCell::Kind::Value;
      one.fits = cell.fits;
      one.share = scale.share(value_of_cell(cell, metric));
      one.text = scale.text(value_of_cell(cell, metric));
    }
    picture.cells.push_back(one);
  }
  if (scale.any) {
    picture.worst = scale.text(scale.worst);
    picture.best = scale.text(scale.best);
  }
  picture.best_cell = best_cell(grid, metric);
  picture.present = grid.present;
  picture.faded = grid.stale;
  return picture;
}

QRectF HeatLayout::cell(std::size_t index) const {
  const qreal width = cells.width() / static_cast<qreal>(across), height = cells.height() / static_cast<qreal>(up);
  const std::size_t row = index / across;
  const auto x = static_cast<qreal>(index % across), y = static_cast<qreal>(row);
  return QRectF(cells.left() + x * width, cells.bottom() - (y + 1) * height, width, height)
      .adjusted(kGap / 2, kGap / 2, -kGap / 2, -kGap / 2);
}

std::optional<std::size_t> HeatLayout::at(const QPointF& point) const {
  if (across == 0 || up == 0 || !cells.contains(point)) return std::nullopt;
  const auto x = static_cast<std::size_t>((point.x() - cells.left()) / cells.width() * static_cast<qreal>(across));
  const auto y = static_cast<std::size_t>((cells.bottom() - point.y()) / cells.height() * static_cast<qreal>(up));
  return std::min(x, across - 1) + std::min(y, up - 1) * across;
}

std::size_t moved(const HeatLayout& layout, std::size_t from, int right, int up) {
  if (layout.across == 0 || layout.up == 0) return 0;
  const int x = static_cast<int>(from % layout.across) + right, y = static_cast<int>(from / layout.across) + up;
  return static_cast<std::size_t>(std::clamp(x, 0, static_cast<int>(layout.across) - 1)) +
         static_cast<std::size_t>(std::clamp(y, 0, static_cast<int>(layout.up) - 1)) * layout.across;
}

HeatLayout heat_layout(const HeatPicture& picture, const QRectF& target, const QFont& font, bool titled) {
  HeatLayout layout;
  if (picture.is_empty()) return layout;
  const QFontMetricsF metrics(font), head(bold(font, 1.15));
  layout.across = static_cast<std::size_t>(picture.across.size());
  layout.up = static_cast<std::size_t>(picture.up.size());
  layout.legend_y = target.top() + (titled ? kPad : 4) + head.height() + 5;
  layout.up_labels_x = target.left() + kPad + metrics.height() + 4;
  const qreal left = layout.up_labels_x + widest(picture.up, metrics) + 8;
  const qreal right = target.right() - kPad;
  const auto legend = legend_of(picture, metrics, target.width() - 2 * kPad);
  const qreal top = layout.legend_y + (legend.empty() ? 0 : legend.back().at.y()) + metrics.height() + 10;
  layout.label_lines = widest(picture.across, metrics) + 6 > (right - left) / static_cast<qreal>(layout.across) ? 2 : 1;
  const qreal bottom = target.bottom() - metrics.height() * (1 + layout.label_lines) - 16;
  layout.cells = QRectF(QPointF(left, top), QPointF(std::max(left + 1, right), std::max(top + 1, bottom)));
  return layout;
}

void paint_heat(QPainter& painter, const QRectF& target, const HeatPicture& picture, bool titled) {
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  if (picture.is_empty()) {
    painter.setPen(theme().muted);
    painter.setFont(QApplication::font());
    painter.drawText(target.adjusted(40, 40, -40, -40), Qt::AlignCenter | Qt::TextWordWrap, picture.empty);
    painter.restore();
    return;
  }
  if (picture.faded) painter.setOpacity(0.45);
  const QFont heading = bold(QApplication::font(), 1.15);
  const QFontMetricsF metrics(heading);
  const qreal head_y = target.top() + (titled ? kPad : 4);
  painter.setFont(heading);
  painter.setPen(theme().text);
  painter.drawText(QPointF(target.left() + kPad, head_y + metrics.ascent()), picture.title);
  painter.setFont(QApplication::font());
  painter.setPen(theme().muted);
  painter.drawText(
      QPointF(target.left() + kPad + metrics.horizontalAdvance(picture.title) + 8, head_y + metrics.ascent()),
      picture.subtitle);
  const HeatLayout layout = heat_layout(picture, target, QApplication::font(), titled);
  draw_scale(painter, picture, target.right() - kPad, head_y + 2);
  draw_legend(painter, picture, {target.left() + kPad, layout.legend_y}, target.width() - 2 * kPad);
  for (std::size_t i = 0; i < picture.cells.size(); ++i)
    draw_cell(painter, layout.cell(i), picture.cells[i], picture.best_cell == i);
  if (picture.present && *picture.present < picture.cells.size())
    frame(painter, layout.cell(*picture.present), theme().surface, theme().accent, 3);
  if (picture.selected && *picture.selected < picture.cells.size())
    frame(painter, layout.cell(*picture.selected).adjusted(-2, -2, 2, 2), theme().surface, theme().text,
          picture.focused ? 3 : 1.6);
  draw_labels(painter, picture, layout, target);
  painter.restore();
}

}  // namespace lockstep::gui
