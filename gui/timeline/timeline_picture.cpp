// Places and names; the painting is in timeline_paint.cpp.
#include "gui/timeline/timeline_picture.h"

#include <QApplication>
#include <QFontMetricsF>
#include <algorithm>
#include <cmath>

#include "gui/app/theme.h"
#include "simulator/base/format.h"

namespace lockstep::gui {
namespace {

constexpr qreal kPad = 12;
constexpr qreal kMinimap = 34;
constexpr qreal kGroupGap = 6;
constexpr qreal kLeastStretch = 0.72, kMostStretch = 2;  // of lanes, so that all of them are seen and few are not lost

QString tr(const char* text) {
  return QApplication::translate("lockstep::gui::Timeline", text);
}
QString text(const std::string& t) {
  return QString::fromStdString(t);
}

bool is_low(TimelineLane::Kind kind) {
  return kind == TimelineLane::Kind::Cpu || kind == TimelineLane::Kind::Copy;
}

QString origin_name(TimelineOrigin origin) {
  if (origin == TimelineOrigin::Measured) return tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "measured"));
  if (origin == TimelineOrigin::Stored) return tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "predicted before"));
  return origin == TimelineOrigin::Pinned ? tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "pinned"))
                                          : tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "predicted"));
}

}  // namespace

QStringList group_words(const Timeline& timeline, int index) {
  const TimelineGroup& group = timeline.groups[static_cast<std::size_t>(index)];
  QStringList words{origin_name(group.origin)};
  words << (group.folded > 1
                ? tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "%1, alike: × %2")).arg(group.ranks).arg(group.folded)
                : group.ranks);
  words << tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "step %1")).arg(text(format_time(group.step_s)));
  if (group.spans_step_s > 0)
    words << (group.spans_estimated
                  ? tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "spans without contention, step %1"))
                  : tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "shown: one of %1")))
                 .arg(text(format_time(group.spans_step_s)));
  if (!group.note.isEmpty()) words << group.note;
  if (group.beside < 0) return words;
  const double other = timeline.groups[static_cast<std::size_t>(group.beside)].step_s;
  const double by = group.step_s - other;
  const QString form = by >= 0 ? tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "%1 longer (+%2) than predicted"))
                               : tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "%1 shorter (−%2) than predicted"));
  words << form.arg(text(format_time(std::abs(by))), text(format_percent(std::abs(by) / other)));
  return words;
}

void TimelinePicture::show(Timeline timeline) {
  // Where nobody has zoomed or panned since it was fitted, the next one is fitted too.
  const double nearly = 1e-6 * fitted_.width();
  const bool is_fitted = timeline_.empty() || (std::abs(window_.from() - fitted_.from()) < nearly &&
                                               std::abs(window_.to() - fitted_.to()) < nearly);
  timeline_ = std::move(timeline);
  words_.clear();
  for (const Cause cause : kCauses)
    for (const TimelineGroup& group : timeline_.groups)
      for (const TimelineLane& lane : group.lanes) {
        const LegendWord word{cause, cause_name_in(lane.kind, cause, timeline_.devices), lane.kind, false};
        if (std::any_of(words_.begin(), words_.end(), [&](const LegendWord& w) { return w.looks_like(word); }))
          continue;
        if (std::any_of(lane.spans.begin(), lane.spans.end(), [&](const LaneSpan& s) { return s.cause == cause; }))
          words_.push_back(word);
      }
  const LegendWord reduced{
      Cause::ExposedCommunication,
      cause_name_in(TimelineLane::Kind::Communication, Cause::ExposedCommunication, timeline_.devices),
      TimelineLane::Kind::Communication, false};
  if (const auto found =
          std::find_if(words_.begin(), words_.end(), [&](const LegendWord& w) { return w.looks_like(reduced); });
      found != words_.end())
    words_.insert(found + 1,
                  {Cause::ExposedCommunication,
                   tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "all-reduce, nothing computed meanwhile")),
                   TimelineLane::Kind::Communication, true});
  const double step = std::max(timeline_.step_s, TimeWindow::kNarrowest_s);
  window_.set_limits(std::min(timeline_.from_s, -0.03 * step), timeline_.to_s + 0.03 * step);
  if (is_fitted) fit();
  rows_.clear();
}

void TimelinePicture::fit() {
  const double step = std::max(timeline_.step_s, TimeWindow::kNarrowest_s);
  window_.show(-0.03 * step, 1.03 * step);
  fitted_ = window_;
}

qreal TimelinePicture::row_height(TimelineLane::Kind kind) const {
  const qreal line = QFontMetricsF(QApplication::font()).height();
  return std::max(line - 2, std::floor((is_low(kind) ? line : line + 7) * stretch_));
}

qreal TimelinePicture::title_height() const {
  return QFontMetricsF(QApplication::font()).height() + 8;
}

// What makes the lanes of all groups fill `height`.
qreal TimelinePicture::stretch_for(qreal height) const {
  const qreal line = QFontMetricsF(QApplication::font()).height();
  qreal fixed = 0, lanes = 0;
  for (const TimelineGroup& group : timeline_.groups) {
    fixed += title_height() + kGroupGap;
    for (const TimelineLane& lane : group.lanes) {
      fixed += 2;
      lanes += is_low(lane.kind) ? line : line + 7;
    }
  }
  return lanes > 0 ? std::clamp((height - fixed) / lanes, kLeastStretch, kMostStretch) : 1;
}

qreal TimelinePicture::legend_height(qreal width) const {
  const QFontMetricsF metrics(QApplication::font());
  qreal x = 0, lines = 1;
  for (const LegendWord& word : words_) {
    const qreal need = metrics.horizontalAdvance(word.word) + 36;
    if (x > 0 && x + need > width) {
      x = 0;
      ++lines;
    }
    x += need;
  }
  return words_.empty() ? 0 : lines * (metrics.height() + 4) + 4;
}

void TimelinePicture::lay_out(const QRectF& area, qreal scroll) {
  area_ = area;
  const QFontMetricsF metrics(QApplication::font());
  qreal gutter = 0;
  for (const TimelineGroup& group : timeline_.groups)
    for (const TimelineLane& lane : group.lanes)
      gutter = std::max(gutter, metrics.horizontalAdvance(lane_name(lane.kind, timeline_.devices)));
  const qreal left = area.left() + kPad + gutter + 10;
  const qreal right = area.right() - kPad;
  legend_ = QRectF(area.left() + kPad, area.top() + 4, area.width() - 2 * kPad, legend_height(area.width() - 2 * kPad));
  axis_ = QRectF(left, legend_.bottom() + 2, right - left, metrics.height() + 8);
  minimap_ = QRectF(left, area.bottom() - kMinimap - 8, right - left, kMinimap);
  rows_area_ = QRectF(left, axis_.bottom(), right - left, std::max(0.0, minimap_.top() - 10 - axis_.bottom()));
  stretch_ = stretch_for(rows_area_.height());
  rows_.clear();
  titles_.clear();
  qreal y = rows_area_.top() - scroll;
  for (std::size_t g = 0; g < timeline_.groups.size(); ++g) {
    titles_.push_back(y);
    y += title_height();
    const auto& lanes = timeline_.groups[g].lanes;
    for (std::size_t l = 0; l < lanes.size(); ++l) {
      const qreal height = row_height(lanes[l].kind);
      rows_.push_back({QRectF(left, y, right - left, height), static_cast<int>(g), static_cast<int>(l)});
      y += height + 2;
    }
    y += kGroupGap;
  }
  rows_height_ = y + scroll - rows_area_.top();
}

qreal TimelinePicture::minimum_height() const {
  return 2 * kMinimap + 240;
}

const LaneSpan* TimelinePicture::span(const SpanPlace& place) const {
  if (place.group < 0 || place.group >= static_cast<int>(timeline_.groups.size())) return nullptr;
  const auto& lanes = timeline_.groups[static_cast<std::size_t>(place.group)].lanes;
  if (place.lane < 0 || place.lane >= static_cast<int>(lanes.size())) return nullptr;
  const auto& spans = lanes[static_cast<std::size_t>(place.lane)].spans;
  return place.span >= 0 && place.span < static_cast<int>(spans.size()) ? &spans[static_cast<std::size_t>(place.span)]
                                                                        : nullptr;
}

SpanPlace TimelinePicture::place_at(const QPointF& point) const {
  if (!rows_area_.contains(point)) return {};
  for (const TimelineRow& row : rows_) {
    if (!row.area.contains(point)) continue;
    const auto& lane = timeline_.groups[static_cast<std::size_t>(row.group)].lanes[static_cast<std::size_t>(row.lane)];
    const int found = span_at(lane.spans, window_, point.x() - row.area.left(), row.area.width());
    return found < 0 ? SpanPlace{} : SpanPlace{row.group, row.lane, found};
  }
  return {};
}

QRectF TimelinePicture::area_of(const SpanPlace& place) const {
  const LaneSpan* seen = span(place);
  if (seen == nullptr) return {};
  for (const TimelineRow& row : rows_) {
    if (row.group != place.group || row.lane != place.lane) continue;
    const qreal x0 = window_.x_of(seen->start_s, row.area.width()), x1 = window_.x_of(seen->end_s, row.area.width());
    return {row.area.left() + x0, row.area.top(), std::max(1.0, x1 - x0), row.area.height()};
  }
  return {};
}

int TimelinePicture::first_compute_lane(int group) const {
  const auto& lanes = timeline_.groups[static_cast<std::size_t>(group)].lanes;
  const auto found = std::find_if(lanes.begin(), lanes.end(),
                                  [](const TimelineLane& l) { return l.kind == TimelineLane::Kind::Compute; });
  return found == lanes.end() ? 0 : static_cast<int>(found - lanes.begin());
}

SpanPlace TimelinePicture::neighbour(const SpanPlace& place, int by) const {
  if (timeline_.empty()) return {};
  if (span(place) == nullptr) {
    const SpanPlace first{0, first_compute_lane(0), 0};
    return span(first) != nullptr ? first : SpanPlace{};
  }
  const SpanPlace next{place.group, place.lane, place.span + by};
  return span(next) != nullptr ? next : place;
}

SpanPlace TimelinePicture::other_lane(const SpanPlace& place, int by) const {
  const LaneSpan* from = span(place);
  if (from == nullptr) return neighbour(place, 1);
  std::vector<SpanPlace> lanes;
  int here = 0;
  for (std::size_t g = 0; g < timeline_.groups.size(); ++g)
    for (std::size_t l = 0; l < timeline_.groups[g].lanes.size(); ++l) {
      if (static_cast<int>(g) == place.group && static_cast<int>(l) == place.lane)
        here = static_cast<int>(lanes.size());
      lanes.push_back({static_cast<int>(g), static_cast<int>(l), 0});
    }
  const int at = here + by;
  if (at < 0 || at >= static_cast<int>(lanes.size())) return place;
  SpanPlace next = lanes[static_cast<std::size_t>(at)];
  const auto& spans =
      timeline_.groups[static_cast<std::size_t>(next.group)].lanes[static_cast<std::size_t>(next.lane)].spans;
  const auto found =
      std::partition_point(spans.begin(), spans.end(), [&](const LaneSpan& s) { return s.end_s <= from->start_s; });
  next.span = static_cast<int>(std::min<std::ptrdiff_t>(found - spans.begin(), std::ssize(spans) - 1));
  return next;
}

SpanPlace TimelinePicture::bucket(const SpanPlace& place, int by) const {
  std::vector<SpanPlace> all;
  for (std::size_t g = 0; g < timeline_.groups.size(); ++g)
    for (std::size_t l = 0; l < timeline_.groups[g].lanes.size(); ++l) {
      const auto& spans = timeline_.groups[g].lanes[l].spans;
      for (std::size_t s = 0; s < spans.size(); ++s)
        if (spans[s].bucket >= 0) all.push_back({static_cast<int>(g), static_cast<int>(l), static_cast<int>(s)});
    }
  if (all.empty()) return {};
  const auto key = [&](const SpanPlace& p) { return std::pair{p.group, span(p)->start_s}; };
  std::sort(all.begin(), all.end(), [&](const SpanPlace& a, const SpanPlace& b) { return key(a) < key(b); });
  if (span(place) == nullptr) return by > 0 ? all.front() : all.back();
  const int count = static_cast<int>(all.size());
  const auto self = std::find(all.begin(), all.end(), place);
  if (self != all.end())
    return all[static_cast<std::size_t>((static_cast<int>(self - all.begin()) + by + count) % count)];
  const auto after = static_cast<int>(
      std::partition_point(all.begin(), all.end(), [&](const SpanPlace& p) { return key(p) < key(place); }) -
      all.begin());
  return all[static_cast<std::size_t>((after + (by > 0 ? 0 : -1) + count) % count)];
}

void TimelinePicture::reveal(const SpanPlace& place) {
  const LaneSpan* seen = span(place);
  if (seen == nullptr) return;
  const double duration = std::max(seen->end_s - seen->start_s, TimeWindow::kNarrowest_s);
  const double pixels = std::max(100.0, rows_area_.width());
  const double middle = (seen->start_s + seen->end_s) / 2;
  if (duration / window_.width() * pixels < 4) {  // too narrow to be seen
    const double width = duration * pixels / 24;
    window_.show(middle - width / 2, middle + width / 2);
  } else if (duration > window_.width()) {
    window_.show(seen->start_s - 0.1 * duration, seen->end_s + 0.1 * duration);
  } else if (seen->start_s < window_.from() || seen->end_s > window_.to()) {
    const double half = window_.width() / 2;
    window_.show(middle - half, middle + half);
  }
}

// The timeline shows each strategy on its most GPUs alone: where that number is not there, any other stands for it.
bool TimelinePicture::means(const Focus& focus, const TimelineGroup& group) const {
  const bool there = std::any_of(timeline_.groups.begin(), timeline_.groups.end(),
                                 [&](const TimelineGroup& one) { return in_focus(focus, one, false); });
  return in_focus(focus, group, !there);
}

TimelinePicture::Lit TimelinePicture::lit_by(const Focus& focus) const {
  Lit lit;
  for (std::size_t g = 0; g < timeline_.groups.size(); ++g) {
    const TimelineGroup& group = timeline_.groups[g];
    if (!means(focus, group)) continue;
    for (std::size_t l = 0; l < group.lanes.size(); ++l)
      for (std::size_t s = 0; s < group.lanes[l].spans.size(); ++s) {
        const LaneSpan& one = group.lanes[l].spans[s];
        if (!in_focus(focus, group.lanes[l].kind, one.cause)) continue;
        if (!lit.first.valid()) lit.first = {static_cast<int>(g), static_cast<int>(l), static_cast<int>(s)};
        if (lit.first.group != static_cast<int>(g)) continue;  // counted in the first group
        ++lit.spans;
        lit.seconds += one.end_s - one.start_s;
      }
  }
  return lit;
}

QString TimelinePicture::text_of(const SpanPlace& place, const QString& separator) const {
  const LaneSpan* seen = span(place);
  if (seen == nullptr) return {};
  const TimelineGroup& group = timeline_.groups[static_cast<std::size_t>(place.group)];
  const TimelineLane& lane = group.lanes[static_cast<std::size_t>(place.lane)];
  QStringList parts{text(visible(timeline_.name_of(*seen)))};
  if (const QString cause = cause_name_in(lane.kind, seen->cause, timeline_.devices); !parts.front().startsWith(cause))
    parts << cause;
  parts << tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "%1 of %2 %3, %4"))
               .arg(lane_name(lane.kind, timeline_.devices), group.title, origin_name(group.origin), group.ranks);
  if (lane.kind == TimelineLane::Kind::Phases)
    parts << tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "takes %1 of the step (its place is not measured)"))
                 .arg(text(format_time(seen->end_s - seen->start_s)));
  else
    parts << tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "starts at %1, takes %2"))
                 .arg(text(format_time(seen->start_s)), text(format_time(seen->end_s - seen->start_s)));
  if (seen->bytes > 0) parts << text(format_bytes(static_cast<double>(seen->bytes)));
  for (const BucketTimes& bucket : group.buckets)
    if (bucket.index == seen->bucket && bucket.transfer_s > 0)  // a trace does not know when gradients are ready
      parts << tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "gradients ready at %1, waits %2, transfers %3"))
                   .arg(text(format_time(bucket.ready_s)),
                        text(format_time(std::max(0.0, bucket.start_s - std::max(seen->start_s, bucket.ready_s)))),
                        text(format_time(bucket.transfer_s)));
  return parts.join(separator);
}

}  // namespace lockstep::gui
