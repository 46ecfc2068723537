// The visible part of a time axis, and spans reduced to the pixels of it: pure arithmetic, so that a repaint costs the
// same for a hundred spans and for a hundred thousand.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/result/result.h"

namespace lockstep::gui {

// [from, to] within limits; seconds. Never narrower than kNarrowest, never outside the limits.
class TimeWindow {
 public:
  static constexpr double kNarrowest_s = 2e-8;

  // Keeps the visible part where it still lies inside.
  void set_limits(double from_s, double to_s);
  void show(double from_s, double to_s);
  // factor < 1 zooms in; `at` is the fraction of the width that stays where it is.
  void zoom(double factor, double at);
  void pan(double fraction);  // of the visible width, to the right

  double from() const { return from_s_; }
  double to() const { return to_s_; }
  double width() const { return to_s_ - from_s_; }
  double limit_from() const { return limit_from_s_; }
  double limit_to() const { return limit_to_s_; }
  // Pixels from the left edge of an axis that is `pixels` wide, and back.
  double x_of(double time_s, double pixels) const { return (time_s - from_s_) / width() * pixels; }
  double time_at(double x, double pixels) const { return from_s_ + x / pixels * width(); }

 private:
  double from_s_ = 0, to_s_ = 1, limit_from_s_ = 0, limit_to_s_ = 1;
};

struct LaneSpan {
  double start_s = 0, end_s = 0;
  std::int64_t bytes = 0;
  std::int32_t name = 0;     // index into Timeline::names
  std::int32_t bucket = -1;  // index of the bucket that a collective reduces
  Cause cause = Cause::Other;
};

// What is drawn of a lane: a span that has pixels of its own, or a run of pixel columns in which many share.
struct LaneStrip {
  double x0 = 0, x1 = 0;
  int span = -1;  // -1: many; then `cause` is the one with the most time and `cover` says how full the columns are
  int level = 4;  // 1 to 4: quarters of the columns that are covered
  Cause cause = Cause::Other;
};

// `spans` in order of time and without overlap. `pixels_per_x`: device pixels (2 on a display of double density). The
// number of strips is bounded by the pixels, whatever the number of spans.
std::vector<LaneStrip> reduce_lane(const std::vector<LaneSpan>& spans, const TimeWindow& window, double pixels,
                                   double pixels_per_x = 1);

// The span under a pixel, or within `reach` pixels of it; -1: none.
int span_at(const std::vector<LaneSpan>& spans, const TimeWindow& window, double x, double pixels, double reach = 2);

// Spans that overlap go to rows of their own; in each row no two overlap. At most `most` rows: what fits none of them
// begins where the last row is free.
std::vector<std::vector<LaneSpan>> in_rows(std::vector<LaneSpan> spans, int most = 3);

}  // namespace lockstep::gui
