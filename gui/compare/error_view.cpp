#include "gui/compare/error_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "gui/app/glossary.h"
#include "gui/app/theme.h"
#include "gui/compare/difference.h"
#include "simulator/base/format.h"

namespace lockstep::gui {
namespace {

constexpr double kGuide = 0.1;
constexpr std::size_t kMostParts = 3;
constexpr std::size_t kMostSentences = 4;

QString time_text(double seconds) {
  return QString::fromStdString(format_time(seconds));
}

QString ms(double seconds) {
  return QString::fromStdString(fmt::format("{:.3f}", seconds * 1e3));
}

// Where a time lies against the measured one, in per cent.
double against(double seconds, const ErrorPoint& point) {
  return (seconds / point.row.reference_s - 1) * 100;
}

}  // namespace

ErrorView::ErrorView() : widget_(new DivergingWidget) {
  widget_->setAccessibleName(ErrorView::title());
  widget_->setToolTip(term_text(QStringLiteral("error")));
  widget_->set_filler([this] {
    if (!drawn_) draw();
  });
}

ErrorView::~ErrorView() {
  if (widget_) widget_->set_filler({});
  if (widget_ && widget_->parent() == nullptr) delete widget_;
}

QString ErrorView::title() const {
  return ErrorView::tr("Predicted against measured");
}

void ErrorView::show_result(const Shown& shown) {
  shown_ = shown;
  devices_ = devices_of(shown);
  compared_ = drawn_ = false;
  if (widget_ && widget_->isVisible()) draw();
}

const std::vector<ErrorSet>& ErrorView::sets() const {
  if (!compared_) sets_ = error_sets(shown_);
  compared_ = true;
  return sets_;
}

void ErrorView::theme_changed() {
  drawn_ = false;
  if (widget_ && widget_->isVisible()) draw();
}

void ErrorView::draw() {
  if (!widget_) return;
  drawn_ = true;
  widget_->show_picture(picture());
  widget_->set_faded(shown_.stale);
  widget_->setAccessibleDescription(description());
}

QString ErrorView::empty_text() const {
  const bool measured = std::any_of(shown_.measured.begin(), shown_.measured.end(),
                                    [](const MeasuredResult& one) { return one.result->kind == "measured"; });
  return measured ? ErrorView::tr(
                        "What was measured has no row in common with the prediction: the same strategy on "
                        "the same number of %1.")
                        .arg(devices_word(devices_))
                  : ErrorView::tr("No measurement loaded: Measure here (F6), or open a result of `lockstep measure`.");
}

QString ErrorView::place_word(const ErrorPoint& point) const {
  if (point.within_spread()) return ErrorView::tr("within the measured spread");
  if (!point.band_s) return {};
  return point.within_band() ? ErrorView::tr("within the 80 % band") : ErrorView::tr("outside the 80 % band");
}

// "backward −20.9 ms, reduce gradients +11.7 ms"
QString ErrorView::parts_text(const ErrorPoint& point, std::size_t most) const {
  QStringList parts;
  for (std::size_t i = 0; i < point.row.parts.size() && i < most; ++i) {
    const StepPart& part = point.row.parts[i];
    parts << QStringLiteral("%1 %2 ms").arg(cause_name(part.cause, devices_), signed_digits(part.seconds * 1e3));
  }
  return parts.join(QStringLiteral(", "));
}

QString ErrorView::callout(const ErrorSet& set, const ErrorPoint& point) const {
  QStringList lines;
  lines << ErrorView::tr("%1: %2 predicted, %3 measured, %4")
               .arg(point.name, time_text(point.row.step_time_s), time_text(point.row.reference_s),
                    signed_percent(point.row.error));
  if (point.spread_s)
    lines << ErrorView::tr("%1: steps from %2 to %3, n = %4")
                 .arg(set.measurement, time_text(point.spread_s->first), time_text(point.spread_s->second))
                 .arg(point.samples);
  if (point.band_s)
    lines << ErrorView::tr("%1: 8 of 10 cases from %2 to %3")
                 .arg(set.prediction, time_text(point.band_s->first), time_text(point.band_s->second));
  if (const QString parts = parts_text(point, kMostParts); !parts.isEmpty())
    lines << ErrorView::tr("largest parts: %1").arg(parts);
  return lines.join('\n');
}

void ErrorView::add_rows(DivergingPicture& picture, const ErrorSet& set) const {
  if (sets().size() > 1) {
    DivergingRow heading;
    heading.kind = DivergingRow::Kind::Heading;
    heading.label = ErrorView::tr("%1 against %2").arg(set.prediction, set.measurement);
    picture.rows.push_back(std::move(heading));
  }
  for (const ErrorPoint& point : set.points) {
    DivergingRow row;
    row.kind = DivergingRow::Kind::Dot;
    row.label = point.name;
    row.value = point.row.error * 100;
    if (point.band_s) row.band = {against(point.band_s->first, point), against(point.band_s->second, point)};
    if (point.spread_s) row.whisker = {against(point.spread_s->first, point), against(point.spread_s->second, point)};
    row.colour = point.strategy == Strategy::Single ? theme().accent : theme().strategy(point.strategy);
    row.number = signed_percent(point.row.error);
    row.number_colour = point.within_spread()                ? theme().muted
                        : std::abs(point.row.error) > kGuide ? theme().error
                                                             : theme().text;
    row.note = place_word(point);
    row.detail = parts_text(point, 1);
    row.callout = callout(set, point);
    picture.rows.push_back(std::move(row));
  }
}

DivergingPicture ErrorView::picture() const {
  DivergingPicture picture;
  picture.title = title();
  picture.unit = QStringLiteral("%");
  picture.empty = empty_text();
  picture.warnings = mismatch_warnings(shown_);
  picture.less = ErrorView::tr("predicted shorter than measured (%)");
  picture.more = ErrorView::tr("longer (%)");
  picture.guide = kGuide * 100;
  bool banded = false, spread = false;
  for (const ErrorSet& set : sets()) {
    if (picture.words.size() < static_cast<qsizetype>(kMostSentences)) picture.words << error_sentence(set, devices_);
    if (!set.left_out.isEmpty())
      picture.words
          << ErrorView::tr("Left out of %1: %2.").arg(set.measurement, set.left_out.join(QStringLiteral("; ")));
    add_rows(picture, set);
    for (const ErrorPoint& point : set.points) {
      banded = banded || point.band_s;
      spread = spread || point.spread_s;
    }
  }
  const bool any = std::any_of(sets().begin(), sets().end(), [](const ErrorSet& set) { return !set.points.empty(); });
  if (!any) picture.rows.clear();
  if (!any && !picture.words.isEmpty()) picture.empty.clear();  // the words say why
  const QColor text = theme().text;
  LegendItem dot{LegendItem::Mark::Point, text, ErrorView::tr("predicted, against the measured median")};
  dot.marker = 3;
  picture.legend = {dot};
  if (banded) picture.legend.push_back({LegendItem::Mark::Band, text, ErrorView::tr("80 % band of the prediction")});
  if (spread)
    picture.legend.push_back({LegendItem::Mark::Whisker, text, ErrorView::tr("fastest to slowest measured step")});
  picture.legend.push_back({LegendItem::Mark::Thin, theme().muted, QStringLiteral("±10 %")});
  return picture;
}

DataTable ErrorView::table() const {
  DataTable table;
  table.header = {ErrorView::tr("prediction"),
                  ErrorView::tr("measurement"),
                  ErrorView::tr("run"),
                  ErrorView::tr("predicted (ms)"),
                  ErrorView::tr("measured (ms)"),
                  ErrorView::tr("error (%)"),
                  ErrorView::tr("where"),
                  ErrorView::tr("largest parts of the difference"),
                  ErrorView::tr("low (ms)"),
                  ErrorView::tr("high (ms)"),
                  ErrorView::tr("fastest (ms)"),
                  ErrorView::tr("slowest (ms)"),
                  ErrorView::tr("n")};
  const auto pair = [](QStringList& row, const std::optional<std::pair<double, double>>& range) {
    row << (range ? ms(range->first) : QString()) << (range ? ms(range->second) : QString());
  };
  for (const ErrorSet& set : sets())
    for (const ErrorPoint& point : set.points) {
      QStringList row = {set.prediction,
                         set.measurement,
                         point.name,
                         ms(point.row.step_time_s),
                         ms(point.row.reference_s),
                         QString::fromStdString(fmt::format("{:+.1f}", point.row.error * 100)),
                         place_word(point),
                         parts_text(point, kMostParts)};
      pair(row, point.band_s);
      pair(row, point.spread_s);
      row << (point.samples > 0 ? QString::number(point.samples) : QString());
      table.rows.push_back(row);
    }
  return table;
}

QString ErrorView::description() const {
  QStringList words = mismatch_warnings(shown_);
  for (const ErrorSet& set : sets()) words << error_sentence(set, devices_);
  return words.isEmpty() ? empty_text() : words.join(' ');
}

void ErrorView::paint(QPainter& painter, const QRectF& target) {
  if (widget_) widget_->paint_into(painter, target);
}

}  // namespace lockstep::gui
