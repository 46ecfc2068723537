#include "gui/charts/breakdown_view.h"

#include <fmt/format.h>

#include <QApplication>
#include <QBarCategoryAxis>
#include <QBarSet>
#include <QHorizontalStackedBarSeries>
#include <QPainter>
#include <QValueAxis>
#include <algorithm>

#include "gui/app/theme.h"
#include "gui/compare/difference.h"
#include "gui/compare/error_rows.h"
#include "simulator/base/format.h"

namespace lockstep::gui {
namespace {

constexpr double kMostBarWidth = 0.56;
constexpr int kRoom = 14;  // bars in a picture

QString time_text(double seconds) {
  return QString::fromStdString(format_time(seconds));
}

}  // namespace

BreakdownView::BreakdownView() : panel_(new ChartPanel) {
  rows_ = new QBarCategoryAxis(panel_->chart());
  time_ = new QValueAxis(panel_->chart());
  panel_->chart()->addAxis(rows_, Qt::AlignLeft);
  panel_->chart()->addAxis(time_, Qt::AlignBottom);
  panel_->setAccessibleName(title());
  panel_->set_overlay([this](QPainter& painter) { draw_over(painter); });
  panel_->set_filler([this] {
    if (!drawn_) draw();
  });
  panel_->set_activated([this](int spot) { ask_for(spot); });
}

BreakdownView::~BreakdownView() {
  if (panel_) panel_->set_overlay({});
  if (panel_) panel_->set_filler({});
  if (panel_) panel_->set_activated({});
  if (panel_ && panel_->parent() == nullptr) delete panel_;
}

QString BreakdownView::title() const {
  return BreakdownView::tr("Where a step goes");
}

void BreakdownView::show_result(const Shown& shown) {
  shown_ = shown;
  devices_ = devices_of(shown);
  all_ = breakdown_bars(shown_);
  bars_ = bars_that_fit(all_, kRoom);
  causes_ = visible_causes(bars_);
  std::reverse(bars_.begin(), bars_.end());
  double longest = 0;
  for (const BreakdownBar& bar : bars_) longest = std::max(longest, bar.step_s);
  unit_ = time_unit(longest);
  drawn_ = false;
  if (!panel_) return;
  panel_->setMinimumHeight(std::max(260, 130 + 24 * static_cast<int>(bars_.size())));
  panel_->setAccessibleDescription(description());
  if (panel_->isVisible()) draw();
}

void BreakdownView::theme_changed() {
  drawn_ = false;
  if (panel_ && panel_->isVisible()) draw();
}

void BreakdownView::draw() {
  if (!panel_) return;
  drawn_ = true;
  panel_->chart()->removeAllSeries();
  auto* series = new QHorizontalStackedBarSeries;
  bar_width_ = std::min(kMostBarWidth, 0.095 * static_cast<double>(bars_.size()));  // a few bars are not planks
  series->setBarWidth(bar_width_);
  std::vector<Cause> drawn = causes_;
  drawn.push_back(Cause::Other);
  for (const Cause cause : drawn) {
    auto* set = new QBarSet(part_name(cause));
    for (const BreakdownBar& bar : bars_) {
      double seconds = 0;
      for (const BreakdownPart& part : drawn_parts(bar)) seconds += part.cause == cause ? part.seconds : 0;
      *set << seconds / unit_.scale;
    }
    set->setColor(theme().cause(cause));
    set->setBorderColor(theme().surface);
    series->append(set);
  }
  panel_->chart()->addSeries(series);
  draw_axes();
  series->attachAxis(rows_);
  series->attachAxis(time_);
  QString unit =
      (devices_ == Devices::Cores ? BreakdownView::tr("%1, slowest core") : BreakdownView::tr("%1, slowest GPU"))
          .arg(unit_.name);
  if (const std::size_t more = all_.size() - bars_.size(); more > 0)
    unit += QStringLiteral("; ") + (more == 1 ? BreakdownView::tr("1 row more in the table")
                                              : BreakdownView::tr("%1 rows more in the table").arg(more));
  if (const QString line = mismatch_line(shown_); !line.isEmpty()) unit += QStringLiteral("; ") + line;
  panel_->set_heading(title(), unit);
  panel_->set_legend(legend());
  panel_->set_hot_spots(hot_spots(), series);
  panel_->set_faded(shown_.stale);
  panel_->set_empty_text(bars_.empty() ? BreakdownView::tr("No prediction yet") : QString());
}

void BreakdownView::draw_axes() {
  const Theme& t = theme();
  for (QAbstractAxis* axis : {static_cast<QAbstractAxis*>(rows_), static_cast<QAbstractAxis*>(time_)}) {
    axis->setLabelsColor(t.text);
    axis->setLinePenColor(t.border);
    axis->setGridLineColor(t.grid);
    axis->setVisible(!bars_.empty());
    axis->setTruncateLabels(false);
    axis->setLabelsFont(QApplication::font());
  }
  time_->setLabelsColor(t.muted);
  rows_->setGridLineVisible(false);
  QStringList names;
  double longest = 0;
  for (const BreakdownBar& bar : bars_) {
    names << bar.name;
    longest = std::max(longest, bar.step_s / unit_.scale);
  }
  rows_->setCategories(names);
  const double end = std::max(longest, axis_end());
  Ticks ticks = nice_ticks(0, end, 4);
  for (int wanted = 5; wanted <= 8; ++wanted)  // those that waste least
    if (const Ticks finer = nice_ticks(0, end, wanted); finer.high < 0.97 * ticks.high) ticks = finer;
  time_->setTickCount(ticks.count());
  time_->setRange(0, ticks.high);
  time_->setLabelFormat(QStringLiteral("%.%1f").arg(ticks.decimals));
}

QRectF BreakdownView::area(std::size_t bar, double from_s, double to_s) const {
  return QRectF(QPointF(from_s / unit_.scale, static_cast<double>(bar) - bar_width_ / 2),
                QPointF(to_s / unit_.scale, static_cast<double>(bar) + bar_width_ / 2));
}

void BreakdownView::draw_over(QPainter& painter) const {
  for (std::size_t i = 0; i < bars_.size(); ++i) {
    const BreakdownBar& bar = bars_[i];
    double from = 0, exposed_from = -1;
    for (const BreakdownPart& part : drawn_parts(bar)) {
      if (part.cause == Cause::ExposedCommunication) {
        const QRectF values = area(i, from, from + part.seconds);
        hatch(painter, QRectF(panel_->place_of(values.topLeft()), panel_->place_of(values.bottomRight())).normalized(),
              theme().surface);
        exposed_from = from;
      }
      from += part.seconds;
    }
    draw_number(painter, bar, panel_->place_of({from / unit_.scale, static_cast<double>(i)}));
    if (bar.hidden_s <= 0.002 * bar.step_s) continue;
    // Hidden communication ends where the exposed begins, or with the step.
    const double to = exposed_from >= 0 ? exposed_from : from;
    const QRectF whole = QRectF(panel_->place_of(area(i, std::max(0.0, to - bar.hidden_s), to).topLeft()),
                                panel_->place_of(area(i, std::max(0.0, to - bar.hidden_s), to).bottomRight()))
                             .normalized();
    const QRectF strip(whole.left(), whole.bottom() + 2, whole.width(), 4);
    painter.setPen(QPen(theme().cause(Cause::ExposedCommunication), 1.2));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(strip);
  }
}

QString BreakdownView::change_text(const BreakdownBar& bar) const {
  if (!bar.pinned_s) return {};
  return QStringLiteral("%1 (%2)").arg(signed_digits((bar.step_s - *bar.pinned_s) / unit_.scale),
                                       signed_percent(bar.step_s / *bar.pinned_s - 1));
}

// Where the axis must reach for every number behind its bar to fit.
double BreakdownView::axis_end() const {
  const QFontMetricsF metrics(QApplication::font());
  double names = 0, end = 0;
  for (const BreakdownBar& bar : bars_) names = std::max(names, metrics.horizontalAdvance(bar.name));
  const double plot = std::max(200.0, std::max(panel_->width(), 400) - names - 50);
  for (const BreakdownBar& bar : bars_) {
    const double number = 16 + metrics.horizontalAdvance(three_digits(bar.step_s / unit_.scale)) +
                          (bar.pinned_s ? 9 + metrics.horizontalAdvance(change_text(bar)) : 0);
    end = std::max(end, bar.step_s / unit_.scale / std::max(0.3, 1 - number / plot));
  }
  return end;
}

// "137", behind it "−14.0 (−9.3 %)".
void BreakdownView::draw_number(QPainter& painter, const BreakdownBar& bar, const QPointF& end) const {
  const QFontMetricsF metrics(QApplication::font());
  const QPointF at(end.x() + 7, end.y() + metrics.ascent() / 2 - 1);
  const QString step = three_digits(bar.step_s / unit_.scale);
  painter.setFont(QApplication::font());
  painter.setPen(bar.present ? theme().text : theme().muted);
  painter.drawText(at, step);
  if (!bar.pinned_s) return;
  const double relative = bar.step_s / *bar.pinned_s - 1;
  painter.setPen(change_colour(relative, bar.same_work ? Better::Less : Better::Neither, bar.unsure));
  painter.drawText(at + QPointF(metrics.horizontalAdvance(step) + 9, 0), change_text(bar));
}

std::vector<BreakdownPart> BreakdownView::drawn_parts(const BreakdownBar& bar) const {
  std::vector<BreakdownPart> parts;
  double other = 0;
  for (const BreakdownPart& part : bar.parts)
    if (std::find(causes_.begin(), causes_.end(), part.cause) != causes_.end())
      parts.push_back(part);
    else
      other += part.seconds;
  if (other > 0) parts.push_back({Cause::Other, other});
  return parts;
}

QString BreakdownView::part_name(Cause cause) const {
  return cause == Cause::Other ? BreakdownView::tr("other parts") : cause_name(cause, devices_);
}

std::vector<LegendItem> BreakdownView::legend() const {
  std::vector<LegendItem> items;
  for (const Cause cause : causes_)
    items.push_back({cause == Cause::ExposedCommunication ? LegendItem::Mark::Hatched : LegendItem::Mark::Box,
                     theme().cause(cause), part_name(cause)});
  const auto some = [&](auto&& is) { return std::any_of(bars_.begin(), bars_.end(), is); };
  // As much as one pixel of a bar.
  if (some([&](const BreakdownBar& b) {
        const auto parts = drawn_parts(b);
        return !parts.empty() && parts.back().cause == Cause::Other && parts.back().seconds > 0.003 * b.step_s;
      }))
    items.push_back({LegendItem::Mark::Box, theme().cause(Cause::Other), part_name(Cause::Other)});
  if (some([](const BreakdownBar& b) { return b.hidden_s > 0.002 * b.step_s; }))
    items.push_back({LegendItem::Mark::Hollow, theme().cause(Cause::ExposedCommunication),
                     BreakdownView::tr("hidden communication")});
  return items;
}

QString BreakdownView::callout(const BreakdownBar& bar, const BreakdownPart& part) const {
  QString text = BreakdownView::tr("%1, %2: %3\n%4 of a step of %5")
                     .arg(bar.name, part_name(part.cause), time_text(part.seconds),
                          QString::fromStdString(format_percent(part.seconds / bar.step_s)), time_text(bar.step_s));
  if (!bar.fits.value_or(true)) text += '\n' + BreakdownView::tr("does not fit in the GPU's memory");
  if (!bar.file.isEmpty()) text += '\n' + bar.file;
  if (!bar.pinned_s) return text;
  double before = bar.pinned_part_s(part.cause);
  if (part.cause == Cause::Other) {
    before = 0;
    for (const BreakdownPart& one : bar.pinned_parts)
      if (std::find(causes_.begin(), causes_.end(), one.cause) == causes_.end()) before += one.seconds;
  }
  const QString change = signed_digits((part.seconds - before) / unit_.scale) + ' ' + unit_.name;
  return text + '\n' +
         (before > 0 ? BreakdownView::tr("%1, %2 against pinned").arg(change, signed_percent(part.seconds / before - 1))
                     : BreakdownView::tr("%1 against pinned").arg(change));
}

std::vector<HotSpot> BreakdownView::hot_spots() const {
  std::vector<HotSpot> spots;
  for (std::size_t i = bars_.size(); i-- > 0;) {
    double from = 0;
    for (const BreakdownPart& part : drawn_parts(bars_[i])) {
      spots.push_back({area(i, from, from + part.seconds), callout(bars_[i], part)});
      from += part.seconds;
    }
  }
  return spots;
}

void BreakdownView::ask_for(int spot) const {
  for (auto bar = bars_.rbegin(); bar != bars_.rend() && focus_asked; ++bar) {
    const auto parts = drawn_parts(*bar);
    if (spot < static_cast<int>(parts.size()))
      return focus_asked({bar->strategy, bar->gpus, parts[static_cast<std::size_t>(spot)].cause, false, false});
    spot -= static_cast<int>(parts.size());
  }
}

// Every cause that any bar has, also those too small for the picture, of every run.
DataTable BreakdownView::table() const {
  DataTable table;
  const std::vector<Cause> causes = [&] {
    std::vector<Cause> found = visible_causes(all_, 0);
    if (std::any_of(all_.begin(), all_.end(), [](const BreakdownBar& b) { return b.part_s(Cause::Other) > 0; }))
      found.push_back(Cause::Other);
    return found;
  }();
  table.header = {BreakdownView::tr("run"), BreakdownView::tr("step (%1)").arg(unit_.name)};
  if (shown_.baseline)
    table.header << BreakdownView::tr("against pinned (%1)").arg(unit_.name) << BreakdownView::tr("against pinned (%)");
  for (const Cause cause : causes)
    table.header << QStringLiteral("%1 (%2)").arg(cause_name(cause, devices_), unit_.name);
  table.header << BreakdownView::tr("hidden communication (%1)").arg(unit_.name);
  const bool weighed = std::any_of(all_.begin(), all_.end(), [](const BreakdownBar& b) { return b.fits.has_value(); });
  if (weighed) table.header << BreakdownView::tr("fits in memory");
  if (!shown_.measured.empty()) table.header << BreakdownView::tr("file");
  const auto number = [&](double seconds) { return QString::fromStdString(format_column(seconds / unit_.scale, 4)); };
  for (const BreakdownBar& bar : all_) {
    QStringList row = {bar.name, number(bar.step_s)};
    if (shown_.baseline && bar.pinned_s)
      row << signed_column((bar.step_s - *bar.pinned_s) / unit_.scale)
          << QString::fromStdString(fmt::format("{:+.2f}", (bar.step_s / *bar.pinned_s - 1) * 100));
    else if (shown_.baseline)
      row << QString() << QString();
    for (const Cause cause : causes) row << number(bar.part_s(cause));
    row << number(bar.hidden_s);
    if (weighed) row << (!bar.fits ? QString() : *bar.fits ? BreakdownView::tr("yes") : BreakdownView::tr("no"));
    if (!shown_.measured.empty()) row << bar.file;
    table.rows.push_back(row);
  }
  return table;
}

QString BreakdownView::description() const {
  const auto last = std::find_if(bars_.begin(), bars_.end(), [](const BreakdownBar& bar) { return bar.present; });
  if (last == bars_.end()) return {};
  QStringList parts;
  for (const BreakdownPart& part : drawn_parts(*last))
    parts << QStringLiteral("%1 %2").arg(part_name(part.cause), time_text(part.seconds));
  QString text = BreakdownView::tr("A step of %1 takes %2: %3.")
                     .arg(last->name, time_text(last->step_s), parts.join(QStringLiteral(", ")));
  if (last->pinned_s)
    text +=
        ' ' + BreakdownView::tr("That is %1 against pinned.").arg(signed_percent(last->step_s / *last->pinned_s - 1));
  return text;
}

void BreakdownView::paint(QPainter& painter, const QRectF& target) {
  if (panel_) panel_->paint_into(painter, target);
}

}  // namespace lockstep::gui
