#include "gui/charts/step_dots.h"

#include <QPainter>
#include <algorithm>

#include "gui/app/theme.h"
#include "gui/charts/axis.h"
#include "simulator/base/format.h"

namespace lockstep::gui {
namespace {

constexpr qreal kTop = 20, kBottom = 8, kRight = 10;
constexpr qreal kDot = 2.6;
constexpr qreal kWidestStep = 12;  // pixels from dot to dot

QString time_text(double seconds) {
  return QString::fromStdString(format_time(seconds));
}

double low_of(const MeasuredRow& row) {
  return row.n >= kStepsForPercentiles ? row.p5_s : row.fastest_s;
}
double high_of(const MeasuredRow& row) {
  return row.n >= kStepsForPercentiles ? row.p95_s : row.slowest_s;
}

}  // namespace

QString row_name(Strategy strategy, int gpus) {
  if (strategy == Strategy::Single) return StepDots::tr("one alone");
  return QStringLiteral("%1 × %2").arg(strategy_name(strategy)).arg(gpus);
}

DataTable measured_table(const std::vector<MeasuredRow>& rows) {
  DataTable table{{StepDots::tr("Row"), StepDots::tr("Median, ms"), StepDots::tr("5 % or fastest, ms"),
                   StepDots::tr("95 % or slowest, ms"), StepDots::tr("Steps")},
                  {}};
  for (const MeasuredRow& row : rows)
    table.rows.push_back({row_name(row.strategy, row.gpus), three_digits(row.median_s * 1e3),
                          three_digits(low_of(row) * 1e3), three_digits(high_of(row) * 1e3), QString::number(row.n)});
  return table;
}

QString measured_sentence(const std::vector<MeasuredRow>& rows) {
  QStringList parts;
  for (const MeasuredRow& row : rows)
    parts << (row.n >= kStepsForPercentiles ? StepDots::tr("%1: median %2, 90 % of steps from %3 to %4, %5 steps")
                                            : StepDots::tr("%1: median %2, fastest to slowest %3 to %4, %5 steps"))
                 .arg(row_name(row.strategy, row.gpus), time_text(row.median_s), time_text(low_of(row)),
                      time_text(high_of(row)))
                 .arg(row.n);
  return parts.isEmpty() ? StepDots::tr("No step that counts has been measured yet") : parts.join(QStringLiteral("; "));
}

StepDots::StepDots(QWidget* parent) : QWidget(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Measured steps"));
  setAccessibleDescription(measured_sentence({}));
  setToolTip(
      tr("A dot for each step as it ends; hollow: warming up. Line: median of the row so far; band: 5 to 95 %, of "
         "fewer than "
         "20 steps the fastest to the slowest."));
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void StepDots::show_steps(const std::vector<MeasuredStep>& steps, int expected) {
  steps_ = steps;
  rows_ = measured_rows(steps);
  expected_ = std::max(expected, static_cast<int>(steps.size()));
  longest_s_ = 0;
  for (const MeasuredStep& step : steps_) longest_s_ = std::max(longest_s_, step.seconds);
  setAccessibleDescription(measured_sentence(rows_));
  update();
}

std::vector<StepDots::Stretch> StepDots::stretches() const {
  std::vector<Stretch> all;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (i == 0 || steps_[i].launch != steps_[i - 1].launch) all.push_back({i, i});
    all.back().last = i;
  }
  return all;
}

double StepDots::y_of(double seconds) const {
  return plot_.bottom() - plot_.height() * (longest_s_ > 0 ? seconds / (1.08 * longest_s_) : 0);
}

QPointF StepDots::at(std::size_t index) const {
  const qreal each = std::min(kWidestStep, plot_.width() / std::max(1, expected_));
  return {plot_.left() + (static_cast<qreal>(index) + 0.5) * each, y_of(steps_[index].seconds)};
}

void StepDots::draw_axis(QPainter& painter) const {
  const QFontMetricsF metrics(painter.font());
  const AxisUnit unit = time_unit(longest_s_);
  const Ticks ticks = nice_ticks(0, 1.08 * longest_s_ / unit.scale, 3);
  for (int i = 0; i < ticks.count(); ++i) {
    const double value = ticks.low + i * ticks.step;
    const double y = y_of(value * unit.scale);
    if (y < plot_.top() - 1) break;
    painter.setPen(QPen(theme().grid, 1));
    painter.drawLine(QPointF(plot_.left(), y), QPointF(plot_.right(), y));
    painter.setPen(theme().muted);
    const QString label = QStringLiteral("%1 %2").arg(value, 0, 'f', ticks.decimals).arg(unit.name);
    painter.drawText(QRectF(0, y - metrics.height() / 2, plot_.left() - 8, metrics.height()),
                     Qt::AlignRight | Qt::AlignVCenter, label);
  }
}

void StepDots::draw_stretch(QPainter& painter, const Stretch& one) const {
  const MeasuredStep& first = steps_[one.first];
  const QColor colour = theme().strategy(first.strategy);
  const qreal left = at(one.first).x() - 4, right = at(one.last).x() + 4;
  for (const MeasuredRow& row : rows_) {
    if (row.strategy != first.strategy || row.gpus != first.gpus) continue;
    QColor pale = colour;
    pale.setAlphaF(0.18F);
    painter.fillRect(QRectF(QPointF(left, y_of(high_of(row))), QPointF(right, y_of(low_of(row)))), pale);
    painter.setPen(QPen(colour, 1.6));
    painter.drawLine(QPointF(left, y_of(row.median_s)), QPointF(right, y_of(row.median_s)));
  }
  for (std::size_t i = one.first; i <= one.last; ++i) {
    painter.setPen(QPen(colour, 1.2));
    painter.setBrush(steps_[i].warm_up ? QBrush(theme().surface) : QBrush(colour));
    painter.drawEllipse(at(i), kDot, kDot);
  }
  if (one.first > 0) {
    painter.setPen(QPen(theme().border, 1, Qt::DotLine));
    painter.drawLine(QPointF(left - 2, plot_.top()), QPointF(left - 2, plot_.bottom()));
  }
}

void StepDots::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  if (steps_.empty()) {
    painter.setPen(theme().muted);
    painter.drawText(rect(), Qt::AlignCenter, tr("Waiting for the first step"));
  } else {
    const QFontMetricsF metrics(painter.font());
    plot_ = QRectF(rect()).adjusted(metrics.horizontalAdvance(QStringLiteral("0000 ms")) + 8, kTop, -kRight, -kBottom);
    draw_axis(painter);
    qreal free_from = plot_.left();
    for (const Stretch& one : stretches()) {
      draw_stretch(painter, one);
      const QString name = row_name(steps_[one.first].strategy, steps_[one.first].gpus);
      const qreal x = std::max(plot_.left(), at(one.first).x() - 4);
      const qreal width = metrics.horizontalAdvance(name);
      if (x < free_from || x + width > plot_.right()) continue;  // a name that has no room is in the table
      painter.setPen(theme().text);
      painter.drawText(QPointF(x, kTop - 7), name);
      free_from = x + width + 8;
    }
  }
  if (!hasFocus()) return;
  painter.setPen(QPen(theme().accent, 2));
  painter.setBrush(Qt::NoBrush);
  painter.drawRoundedRect(QRectF(rect()).adjusted(1, 1, -1, -1), 4, 4);
}

void StepDots::focusInEvent(QFocusEvent* event) {
  QWidget::focusInEvent(event);
  update();
}

void StepDots::focusOutEvent(QFocusEvent* event) {
  QWidget::focusOutEvent(event);
  update();
}

}  // namespace lockstep::gui
