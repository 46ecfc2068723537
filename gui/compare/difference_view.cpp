#include "gui/compare/difference_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "gui/app/glossary.h"
#include "gui/app/theme.h"
#include "simulator/base/format.h"

namespace lockstep::gui {
namespace {

constexpr double kNothing = 5e-4;  // of the pinned step
constexpr double kRounding = 1e-9;

QString time_text(double seconds) {
  return QString::fromStdString(format_time(seconds));
}

}  // namespace

std::vector<CauseDifference> cause_differences(const PinnedPair& pair) {
  std::vector<CauseDifference> out;
  for (const Cause cause : kCauses)
    if (pair.present->part_s(cause) > 0 || pair.pinned->part_s(cause) > 0)
      out.push_back({cause, pair.present->part_s(cause), pair.pinned->part_s(cause)});
  return out;
}

std::vector<CauseDifference> largest_differences(const PinnedPair& pair, double least) {
  std::vector<CauseDifference> large;
  CauseDifference rest;
  for (const CauseDifference& one : cause_differences(pair)) {
    if (one.cause != Cause::Other && std::abs(one.difference_s()) >= least * pair.pinned->step_time_s) {
      large.push_back(one);
      continue;
    }
    rest.present_s += one.present_s;
    rest.pinned_s += one.pinned_s;
  }
  std::stable_sort(large.begin(), large.end(), [](const CauseDifference& a, const CauseDifference& b) {
    return std::abs(a.difference_s()) > std::abs(b.difference_s());
  });
  if (std::abs(rest.difference_s()) > kNothing * pair.pinned->step_time_s) large.push_back(rest);
  return large;
}

DifferenceView::DifferenceView() : widget_(new DivergingWidget) {
  widget_->setAccessibleName(DifferenceView::title());
  widget_->setToolTip(term_text(QStringLiteral("baseline")));
  widget_->set_filler([this] {
    if (!drawn_) draw();
  });
}

DifferenceView::~DifferenceView() {
  if (widget_) widget_->set_filler({});
  if (widget_ && widget_->parent() == nullptr) delete widget_;
}

QString DifferenceView::title() const {
  return DifferenceView::tr("Against pinned");
}

void DifferenceView::show_result(const Shown& shown) {
  shown_ = shown;
  devices_ = devices_of(shown);
  drawn_ = false;
  if (widget_ && widget_->isVisible()) draw();
}

void DifferenceView::theme_changed() {
  drawn_ = false;
  if (widget_ && widget_->isVisible()) draw();
}

void DifferenceView::draw() {
  if (!widget_) return;
  drawn_ = true;
  widget_->show_picture(picture());
  widget_->set_faded(shown_.stale);
  widget_->setAccessibleDescription(description());
}

QString DifferenceView::empty_text() const {
  if (!shown_.baseline)
    return DifferenceView::tr("Nothing is pinned: Pin as baseline (Ctrl+B), then change a setting.");
  return DifferenceView::tr(
             "The pinned result has no run in common with this one: the same strategy on the same "
             "number of %1.")
      .arg(devices_word(devices_));
}

void DifferenceView::add_rows(DivergingPicture& picture, const PinnedPair& pair, const PinnedSentence& sentence,
                              const AxisUnit& unit) const {
  DivergingRow heading;
  heading.kind = DivergingRow::Kind::Heading;
  heading.label = sentence.plain();
  picture.rows.push_back(std::move(heading));
  const double step_s = pair.pinned->step_time_s;
  for (const CauseDifference& one : largest_differences(pair)) {
    DivergingRow row;
    row.label = one.cause == Cause::Other ? DifferenceView::tr("other parts") : cause_name(one.cause, devices_);
    row.value = one.difference_s() / unit.scale;
    row.colour = theme().cause(one.cause);
    row.hatched = one.cause == Cause::ExposedCommunication;
    const double share = one.difference_s() / step_s;
    row.number = signed_digits(row.value) + ' ' + unit.name;
    row.number_colour =
        change_colour(share, pair.same_work() ? Better::Less : Better::Neither, std::abs(share) < kSameStep);
    row.note = DifferenceView::tr("%1 of the pinned step").arg(signed_percent(share));
    row.callout = DifferenceView::tr("%1: %2 instead of %3 pinned, %4")
                      .arg(row.label, time_text(one.present_s), time_text(one.pinned_s), row.number);
    picture.rows.push_back(std::move(row));
  }
}

DivergingPicture DifferenceView::picture() const {
  DivergingPicture picture;
  picture.title = title();
  picture.empty = empty_text();
  if (!shown_.baseline) return picture;
  picture.words << pinned_line(shown_);
  const std::vector<PinnedPair> pairs = largest_pairs(shown_);
  const std::vector<PinnedSentence> sentences = pinned_sentences(shown_);
  double largest_s = 0;
  for (const PinnedPair& pair : pairs)
    for (const CauseDifference& one : largest_differences(pair))
      largest_s = std::max(largest_s, std::abs(one.difference_s()));
  const AxisUnit unit = time_unit(largest_s);
  picture.unit = unit.name;
  picture.less = DifferenceView::tr("shorter (%1)").arg(unit.name);
  picture.more = DifferenceView::tr("longer (%1)").arg(unit.name);
  for (std::size_t i = 0; i < pairs.size(); ++i) add_rows(picture, pairs[i], sentences[i], unit);
  return picture;
}

// Every run that both have, every cause, and the whole step.
DataTable DifferenceView::table() const {
  DataTable table;
  table.header = {DifferenceView::tr("run"),
                  DifferenceView::tr("part"),
                  DifferenceView::tr("pinned (ms)"),
                  DifferenceView::tr("now (ms)"),
                  DifferenceView::tr("difference (ms)"),
                  DifferenceView::tr("of the pinned step (%)")};
  const auto number = [](double seconds) { return QString::fromStdString(format_column(seconds * 1e3, 4)); };
  for (const PinnedPair& pair : pinned_pairs(shown_)) {
    const QString run = run_name(*pair.present, devices_);
    const auto add = [&](const QString& part, double pinned_s, double present_s) {
      table.rows.push_back(
          {run, part, number(pinned_s), number(present_s), number(present_s - pinned_s),
           QString::fromStdString(fmt::format("{:+.2f}", (present_s - pinned_s) / pair.pinned->step_time_s * 100))});
    };
    for (const CauseDifference& one : cause_differences(pair))
      add(cause_name(one.cause, devices_), one.pinned_s, one.present_s);
    add(DifferenceView::tr("step"), pair.pinned->step_time_s, pair.present->step_time_s);
  }
  return table;
}

QString DifferenceView::description() const {
  QStringList words;
  for (const PinnedSentence& sentence : pinned_sentences(shown_)) words << sentence.plain() + '.';
  if (words.isEmpty()) return empty_text();
  return (words << pinned_line(shown_)).join(' ');
}

void DifferenceView::paint(QPainter& painter, const QRectF& target) {
  if (widget_) widget_->paint_into(painter, target);
}

}  // namespace lockstep::gui
