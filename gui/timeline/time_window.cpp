#include "gui/timeline/time_window.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace lockstep::gui {

void TimeWindow::set_limits(double from_s, double to_s) {
  limit_from_s_ = from_s;
  limit_to_s_ = std::max(to_s, from_s + kNarrowest_s);
  show(from_s_, to_s_);
}

void TimeWindow::show(double from_s, double to_s) {
  const double whole = limit_to_s_ - limit_from_s_;
  const double width = std::clamp(to_s - from_s, kNarrowest_s, whole);
  from_s_ = std::clamp(from_s, limit_from_s_, limit_to_s_ - width);
  to_s_ = from_s_ + width;
}

void TimeWindow::zoom(double factor, double at) {
  const double fixed = from_s_ + at * width();
  const double width_now = std::clamp(width() * factor, kNarrowest_s, limit_to_s_ - limit_from_s_);
  show(fixed - at * width_now, fixed + (1 - at) * width_now);
}

void TimeWindow::pan(double fraction) {
  const double by = fraction * width();
  show(from_s_ + by, to_s_ + by);
}

namespace {

constexpr double kSameColumn = 1e-6;  // of a pixel: rounding
constexpr double kLeastSeen = 0.02;   // of a pixel: the shortest span still leaves a trace

// Columns of less than one pixel's span each, until something with pixels of its own comes.
class Columns {
 public:
  Columns(std::vector<LaneStrip>& out, double pixels_per_x) : out_(out), scale_(pixels_per_x) {}

  // A piece [x0, x1] of device pixels, which lies within one column or crosses a border.
  void add(double x0, double x1, Cause cause) {
    for (auto column = static_cast<std::int64_t>(std::floor(x0)); x0 < x1; ++column) {
      const double until = std::min(x1, static_cast<double>(column) + 1);
      if (until - x0 > kSameColumn) {
        if (column != column_) close();
        column_ = column;
        share_[static_cast<std::size_t>(cause)] += until - x0;
        sum_ += until - x0;
      }
      x0 = until;
    }
  }
  void close() {
    if (sum_ > 0) emit_column();
    share_.fill(0);
    sum_ = 0;
  }

 private:
  void emit_column() {
    const auto most = std::max_element(share_.begin(), share_.end());
    LaneStrip strip;
    strip.cause = static_cast<Cause>(most - share_.begin());
    strip.level = std::clamp(static_cast<int>(std::ceil(sum_ * 4 - 1e-9)), 1, 4);
    strip.x0 = static_cast<double>(column_) / scale_;
    strip.x1 = static_cast<double>(column_ + 1) / scale_;
    LaneStrip* last = out_.empty() ? nullptr : &out_.back();
    const bool joins = last != nullptr && last->span < 0 && last->cause == strip.cause && last->level == strip.level &&
                       std::abs(last->x1 - strip.x0) < 1e-6;
    if (joins)
      last->x1 = strip.x1;
    else
      out_.push_back(strip);
  }

  std::vector<LaneStrip>& out_;
  double scale_;
  std::int64_t column_ = 0;
  std::array<double, kCauseCount> share_{};
  double sum_ = 0;
};

std::vector<LaneSpan>::const_iterator first_seen(const std::vector<LaneSpan>& spans, double from_s) {
  return std::partition_point(spans.begin(), spans.end(), [&](const LaneSpan& s) { return s.end_s <= from_s; });
}

}  // namespace

std::vector<LaneStrip> reduce_lane(const std::vector<LaneSpan>& spans, const TimeWindow& window, double pixels,
                                   double pixels_per_x) {
  std::vector<LaneStrip> strips;
  const double device = pixels * pixels_per_x;
  Columns columns(strips, pixels_per_x);
  for (auto span = first_seen(spans, window.from()); span != spans.end() && span->start_s < window.to(); ++span) {
    const double x0 = std::max(0.0, window.x_of(span->start_s, device));
    const double x1 = std::min(device, window.x_of(span->end_s, device));
    if (x1 - x0 < 1) {
      const double seen_from = std::min(x0, std::floor(x0) + 1 - kLeastSeen);
      columns.add(seen_from, std::max(x1, seen_from + kLeastSeen), span->cause);
      continue;
    }
    // Whole columns are the span's own; those at its ends are shared with its neighbours.
    const double own_from = std::ceil(x0 - kSameColumn), own_to = std::floor(x1 + kSameColumn);
    if (own_to <= own_from) {
      columns.add(x0, x1, span->cause);
      continue;
    }
    columns.add(x0, own_from, span->cause);
    columns.close();
    strips.push_back(
        {own_from / pixels_per_x, own_to / pixels_per_x, static_cast<int>(span - spans.begin()), 4, span->cause});
    columns.add(own_to, x1, span->cause);
  }
  columns.close();
  return strips;
}

int span_at(const std::vector<LaneSpan>& spans, const TimeWindow& window, double x, double pixels, double reach) {
  const double time = window.time_at(x, pixels);
  const double slack = reach / pixels * window.width();
  int best = -1;
  double nearest = slack;
  for (auto span = first_seen(spans, time - slack); span != spans.end() && span->start_s <= time + slack; ++span) {
    const double away = std::max({0.0, span->start_s - time, time - span->end_s});
    if (best >= 0 && away >= nearest) continue;
    best = static_cast<int>(span - spans.begin());
    nearest = away;
    if (away == 0) break;
  }
  return best;
}

std::vector<std::vector<LaneSpan>> in_rows(std::vector<LaneSpan> spans, int most) {
  std::stable_sort(spans.begin(), spans.end(),
                   [](const LaneSpan& a, const LaneSpan& b) { return a.start_s < b.start_s; });
  std::vector<std::vector<LaneSpan>> rows;
  // Neighbours often touch but for the rounding of a sum.
  constexpr double kRounding_s = 1e-9;
  for (LaneSpan& span : spans) {
    auto row = std::find_if(rows.begin(), rows.end(), [&](const std::vector<LaneSpan>& r) {
      return r.back().end_s <= span.start_s + kRounding_s;
    });
    if (row == rows.end() && static_cast<int>(rows.size()) < most)
      row = rows.insert(rows.end(), std::vector<LaneSpan>{});
    if (row == rows.end()) row = std::prev(rows.end());
    if (!row->empty()) span.start_s = std::max(span.start_s, row->back().end_s);
    span.end_s = std::max(span.start_s, span.end_s);
    row->push_back(span);
  }
  return rows;
}

}  // namespace lockstep::gui
