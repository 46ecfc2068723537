#include "gui/charts/breakdown_view.h"

#include <QApplication>
#include <QBarCategoryAxis>
#include <QBarSet>
#include <QHorizontalStackedBarSeries>
#include <QPainter>
#include <QValueAxis>
#include <algorithm>
#include <set>

#include "gui/app/theme.h"
#include "simulator/base/format.h"

namespace lockstep::gui {
namespace {

constexpr double kLeastShare = 0.005;
constexpr double kMostBarWidth = 0.56;

QString bar_name(const Run& run) {
  if (run.strategy == Strategy::Single) return BreakdownView::tr("1 GPU");
  return QStringLiteral("%1 ×%2").arg(strategy_name(run.strategy)).arg(run.gpus);
}

BreakdownBar bar_of(const Run& run, double least_s) {
  BreakdownBar bar;
  bar.name = bar_name(run);
  bar.strategy = run.strategy;
  bar.gpus = run.gpus;
  bar.step_s = run.step_time_s;
  bar.hidden_s = run.hidden_communication_s;
  double other = 0;
  for (const Cause cause : kCauses) {
    const double seconds = run.part_s(cause);
    if (cause == Cause::Other || (seconds < least_s && cause != Cause::ExposedCommunication))
      other += seconds;
    else if (seconds > 0)
      bar.parts.push_back({cause, seconds});
  }
  if (other > 0) bar.parts.push_back({Cause::Other, other});
  return bar;
}

bool has_parts(const Run& run) {
  return std::any_of(run.breakdown_s.begin(), run.breakdown_s.end(), [](double s) { return s > 0; });
}

double longest_step(const Shown& shown) {
  double longest = 0;
  const auto look = [&](const Result& result) {
    for (const Run* run : runs_of(result)) longest = std::max(longest, run->step_time_s);
  };
  if (shown.result) look(*shown.result);
  for (const MeasuredResult& one : shown.measured) look(*one.result);
  return longest;
}

void add_bars(std::vector<BreakdownBar>& bars, const Result& result, double least_s, bool measured, bool pinned) {
  for (const Run* run : runs_of(result)) {
    if (!has_parts(*run)) continue;
    BreakdownBar bar = bar_of(*run, least_s);
    bar.measured = measured;
    bar.pinned = pinned;
    if (measured) bar.name += BreakdownView::tr(" measured");
    if (pinned) bar.name += BreakdownView::tr(" pinned");
    bars.push_back(std::move(bar));
  }
}

}  // namespace

std::vector<BreakdownBar> breakdown_bars(const Shown& shown, int room) {
  std::vector<BreakdownBar> bars;
  const double least_s = kLeastShare * longest_step(shown);
  if (shown.result) add_bars(bars, *shown.result, least_s, false, false);
  if (shown.baseline) {
    // Of the pinned result the bars of the most GPUs are enough to compare with.
    std::vector<BreakdownBar> pinned;
    add_bars(pinned, *shown.baseline, least_s, false, true);
    int most = 0;
    for (const Run* run : runs_of(*shown.baseline)) most = std::max(most, run->gpus);
    const QString end = QStringLiteral("×%1 ").arg(most);
    for (BreakdownBar& bar : pinned)
      if (bar.name.contains(end)) bars.push_back(std::move(bar));
  }
  for (const MeasuredResult& one : shown.measured) add_bars(bars, *one.result, least_s, true, false);
  // The single GPU and the last bars say most.
  if (static_cast<int>(bars.size()) > room)
    bars.erase(bars.begin() + 1, bars.begin() + 1 + (static_cast<std::ptrdiff_t>(bars.size()) - room));
  return bars;
}

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
  bars_ = breakdown_bars(shown_);
  std::reverse(bars_.begin(), bars_.end());  // the chart counts rows from below
  std::set<Cause> found;
  double longest = 0;
  for (const BreakdownBar& bar : bars_) {
    longest = std::max(longest, bar.step_s);
    for (const BreakdownPart& part : bar.parts) found.insert(part.cause);
  }
  causes_.assign(found.begin(), found.end());
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
  for (const Cause cause : causes_) {
    auto* set = new QBarSet(cause_name(cause));
    for (const BreakdownBar& bar : bars_) {
      double seconds = 0;
      for (const BreakdownPart& part : bar.parts)
        if (part.cause == cause) seconds += part.seconds;
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
  panel_->set_heading(title(), BreakdownView::tr("%1, slowest GPU").arg(unit_.name));
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
  const Ticks ticks = nice_ticks(0, longest * 1.13, 5);  // room for the number behind the longest bar
  time_->setTickCount(ticks.count());
  time_->setRange(0, ticks.high);
  time_->setLabelFormat(QStringLiteral("%.%1f").arg(ticks.decimals));
}

QRectF BreakdownView::area(std::size_t bar, double from_s, double to_s) const {
  return QRectF(QPointF(from_s / unit_.scale, static_cast<double>(bar) - bar_width_ / 2),
                QPointF(to_s / unit_.scale, static_cast<double>(bar) + bar_width_ / 2));
}

void BreakdownView::draw_over(QPainter& painter) const {
  const QFontMetricsF metrics(QApplication::font());
  for (std::size_t i = 0; i < bars_.size(); ++i) {
    const BreakdownBar& bar = bars_[i];
    double from = 0, exposed_from = -1;
    for (const BreakdownPart& part : bar.parts) {
      if (part.cause == Cause::ExposedCommunication) {
        const QRectF values = area(i, from, from + part.seconds);
        hatch(painter, QRectF(panel_->place_of(values.topLeft()), panel_->place_of(values.bottomRight())).normalized(),
              theme().surface);
        exposed_from = from;
      }
      from += part.seconds;
    }
    const QPointF end = panel_->place_of({from / unit_.scale, static_cast<double>(i)});
    painter.setFont(QApplication::font());
    painter.setPen(theme().text);
    painter.drawText(QPointF(end.x() + 7, end.y() + metrics.ascent() / 2 - 1), three_digits(bar.step_s / unit_.scale));
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

std::vector<LegendItem> BreakdownView::legend() const {
  std::vector<LegendItem> items;
  for (const Cause cause : causes_)
    items.push_back({cause == Cause::ExposedCommunication ? LegendItem::Mark::Hatched : LegendItem::Mark::Box,
                     theme().cause(cause), cause_name(cause)});
  if (std::any_of(bars_.begin(), bars_.end(), [](const BreakdownBar& b) { return b.hidden_s > 0.002 * b.step_s; }))
    items.push_back({LegendItem::Mark::Hollow, theme().cause(Cause::ExposedCommunication),
                     BreakdownView::tr("communication hidden behind backward")});
  return items;
}

std::vector<HotSpot> BreakdownView::hot_spots() const {
  std::vector<HotSpot> spots;
  for (std::size_t i = bars_.size(); i-- > 0;) {
    double from = 0;
    for (const BreakdownPart& part : bars_[i].parts) {
      spots.push_back(
          {area(i, from, from + part.seconds),
           BreakdownView::tr("%1, %2: %3\n%4 of a step of %5")
               .arg(bars_[i].name, cause_name(part.cause), QString::fromStdString(format_time(part.seconds)),
                    QString::fromStdString(format_percent(part.seconds / bars_[i].step_s)),
                    QString::fromStdString(format_time(bars_[i].step_s)))});
      from += part.seconds;
    }
  }
  return spots;
}

void BreakdownView::ask_for(int spot) const {
  for (auto bar = bars_.rbegin(); bar != bars_.rend() && focus_asked; ++bar) {
    const int parts = static_cast<int>(bar->parts.size());
    if (spot < parts)
      return focus_asked({bar->strategy, bar->gpus, bar->parts[static_cast<std::size_t>(spot)].cause, false, false});
    spot -= parts;
  }
}

DataTable BreakdownView::table() const {
  DataTable table;
  table.header = {BreakdownView::tr("run"), BreakdownView::tr("step (%1)").arg(unit_.name)};
  for (const Cause cause : causes_) table.header << QStringLiteral("%1 (%2)").arg(cause_name(cause), unit_.name);
  table.header << BreakdownView::tr("hidden communication (%1)").arg(unit_.name);
  for (auto bar = bars_.rbegin(); bar != bars_.rend(); ++bar) {
    const auto number = [&](double seconds) { return QString::fromStdString(format_column(seconds / unit_.scale, 4)); };
    QStringList row = {bar->name, number(bar->step_s)};
    for (const Cause cause : causes_) {
      double seconds = 0;
      for (const BreakdownPart& part : bar->parts) seconds += part.cause == cause ? part.seconds : 0;
      row << number(seconds);
    }
    table.rows.push_back(row << number(bar->hidden_s));
  }
  return table;
}

QString BreakdownView::description() const {
  if (bars_.empty()) return {};
  QStringList parts;
  const BreakdownBar& bar = bars_.front();  // the last run of the result
  for (const BreakdownPart& part : bar.parts)
    parts << QStringLiteral("%1 %2").arg(cause_name(part.cause), QString::fromStdString(format_time(part.seconds)));
  return BreakdownView::tr("A step of %1 takes %2: %3.")
      .arg(bar.name, QString::fromStdString(format_time(bar.step_s)), parts.join(QStringLiteral(", ")));
}

void BreakdownView::paint(QPainter& painter, const QRectF& target) {
  if (panel_) panel_->paint_into(painter, target);
}

}  // namespace lockstep::gui
