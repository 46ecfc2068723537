#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "gui/timeline/time_window.h"

namespace lockstep::gui {
namespace {

LaneSpan span(double from, double to, Cause cause = Cause::Forward) {
  LaneSpan s;
  s.start_s = from;
  s.end_s = to;
  s.cause = cause;
  return s;
}

TimeWindow window(double from, double to) {
  TimeWindow w;
  w.set_limits(from, to);
  w.show(from, to);
  return w;
}

TEST(TimeWindow, ZoomKeepsTheTimeUnderThePointer) {
  TimeWindow w = window(0, 1);
  const double before = w.time_at(300, 1000);
  w.zoom(0.5, 0.3);
  EXPECT_DOUBLE_EQ(w.width(), 0.5);
  EXPECT_NEAR(w.time_at(300, 1000), before, 1e-15);
  w.zoom(0.01, 0.3);
  EXPECT_NEAR(w.time_at(300, 1000), before, 1e-15);
}

TEST(TimeWindow, ItNeverLeavesItsLimits) {
  TimeWindow w = window(-1, 2);
  w.zoom(0.25, 0);
  w.pan(-5);
  EXPECT_DOUBLE_EQ(w.from(), -1);
  w.pan(100);
  EXPECT_DOUBLE_EQ(w.to(), 2);
  EXPECT_DOUBLE_EQ(w.width(), 0.75);
  w.zoom(1000, 0.5);
  EXPECT_DOUBLE_EQ(w.from(), -1);
  EXPECT_DOUBLE_EQ(w.to(), 2);
}

TEST(TimeWindow, ItHasANarrowestWidth) {
  TimeWindow w = window(0, 1);
  for (int i = 0; i < 200; ++i) w.zoom(0.5, 0.7);
  EXPECT_NEAR(w.width(), TimeWindow::kNarrowest_s, 1e-14);
  EXPECT_NEAR(w.from(), 0.7, 1e-7);
}

TEST(TimeWindow, NarrowerLimitsPullItIn) {
  TimeWindow w = window(0, 10);
  w.show(6, 9);
  w.set_limits(0, 5);
  EXPECT_DOUBLE_EQ(w.from(), 2);
  EXPECT_DOUBLE_EQ(w.to(), 5);
}

TEST(ReducedLane, SpansWithPixelsOfTheirOwnStayAsTheyAre) {
  const std::vector<LaneSpan> spans{span(0, 0.25), span(0.5, 1, Cause::Backward)};
  const auto strips = reduce_lane(spans, window(0, 1), 100);
  ASSERT_EQ(strips.size(), 2U);
  EXPECT_EQ(strips[0].span, 0);
  EXPECT_DOUBLE_EQ(strips[0].x0, 0);
  EXPECT_DOUBLE_EQ(strips[0].x1, 25);
  EXPECT_EQ(strips[1].span, 1);
  EXPECT_DOUBLE_EQ(strips[1].x0, 50);
  EXPECT_EQ(strips[1].cause, Cause::Backward);
}

TEST(ReducedLane, SpansOutsideTheWindowAreLeftOutAndThoseAtItsEdgesCut) {
  const std::vector<LaneSpan> spans{span(0, 1), span(1, 3), span(3, 5), span(5, 9)};
  TimeWindow w = window(0, 9);
  w.show(2, 4);
  const auto strips = reduce_lane(spans, w, 100);
  ASSERT_EQ(strips.size(), 2U);
  EXPECT_EQ(strips[0].span, 1);
  EXPECT_DOUBLE_EQ(strips[0].x0, 0);
  EXPECT_DOUBLE_EQ(strips[0].x1, 50);
  EXPECT_EQ(strips[1].span, 2);
  EXPECT_DOUBLE_EQ(strips[1].x1, 100);
}

TEST(ReducedLane, NarrowSpansShareTheirColumnAndTheLongestCauseColoursIt) {
  std::vector<LaneSpan> spans;
  for (int i = 0; i < 1000; ++i)  // 10 a pixel: 7 parts forward, 3 parts optimizer
    spans.push_back(span(i * 1e-3, (i + 1) * 1e-3, i % 10 < 7 ? Cause::Forward : Cause::Optimizer));
  const auto strips = reduce_lane(spans, window(0, 1), 100);
  ASSERT_EQ(strips.size(), 1U);  // all columns look alike
  EXPECT_EQ(strips[0].span, -1);
  EXPECT_EQ(strips[0].cause, Cause::Forward);
  EXPECT_EQ(strips[0].level, 4);
  EXPECT_DOUBLE_EQ(strips[0].x0, 0);
  EXPECT_DOUBLE_EQ(strips[0].x1, 100);
}

TEST(ReducedLane, ThinlyCoveredColumnsArePale) {
  std::vector<LaneSpan> spans;
  for (int i = 0; i < 1000; ++i) spans.push_back(span(i * 1e-3, (i + 0.2) * 1e-3));
  const auto strips = reduce_lane(spans, window(0, 1), 100);
  ASSERT_FALSE(strips.empty());
  for (const LaneStrip& strip : strips) EXPECT_EQ(strip.level, 1);
}

TEST(ReducedLane, ASingleSpanFarBelowAPixelStillShows) {
  const auto strips = reduce_lane({span(0.5, 0.5 + 1e-9)}, window(0, 1), 100);
  ASSERT_EQ(strips.size(), 1U);
  EXPECT_LE(strips[0].x0, 50);
  EXPECT_GE(strips[0].x1, 50);
}

TEST(ReducedLane, ThereAreNeverMoreStripsThanPixelsHaveRoomFor) {
  std::mt19937 random(7);
  std::exponential_distribution<double> gap(1e5), length(2e5);
  std::vector<LaneSpan> spans;
  double at = 0;
  for (int i = 0; i < 100'000; ++i) {
    const double end = at + length(random);
    spans.push_back(span(at, end, static_cast<Cause>(i % kCauseCount)));
    at = end + gap(random);
  }
  for (const double pixels : {1.0, 37.0, 1200.0}) {
    for (const double density : {1.0, 2.0}) {
      const auto strips = reduce_lane(spans, window(0, at), pixels, density);
      EXPECT_LE(static_cast<double>(strips.size()), 2 * pixels * density + 2);
      for (std::size_t i = 0; i < strips.size(); ++i) {
        EXPECT_GE(strips[i].x0, 0);
        EXPECT_LE(strips[i].x1, pixels + 1 + 1e-9);
        if (i > 0) {
          EXPECT_GE(strips[i].x0, strips[i - 1].x1 - 1e-9);
        }
      }
    }
  }
}

TEST(ReducedLane, TwiceTheDensityShowsWhatOneHides) {
  const std::vector<LaneSpan> spans{span(0, 0.006), span(0.006, 0.012)};
  EXPECT_EQ(reduce_lane(spans, window(0, 1), 100, 1).front().span, -1);
  EXPECT_EQ(reduce_lane(spans, window(0, 1), 100, 2).front().span, 0);
}

TEST(ReducedLane, SpansThatTouchLeaveNoGapAndNoPaleColumnBetweenThem) {
  std::vector<LaneSpan> spans;
  for (int i = 0; i < 300; ++i)
    spans.push_back(span(i / 300.0, (i + 1) / 300.0, i % 2 ? Cause::Forward : Cause::Backward));
  for (const double pixels : {100.0, 333.0, 451.0, 1000.0}) {
    double reached = 0;
    for (const LaneStrip& strip : reduce_lane(spans, window(0, 1), pixels)) {
      EXPECT_EQ(strip.level, 4) << pixels;
      EXPECT_NEAR(strip.x0, reached, 1e-6) << pixels;
      reached = strip.x1;
    }
    EXPECT_NEAR(reached, pixels, 1e-6);
  }
}

TEST(SpanUnderThePointer, IsTheOneItIsOnElseTheNearestWithinReach) {
  const std::vector<LaneSpan> spans{span(0, 0.2), span(0.21, 0.3), span(0.6, 0.6001)};
  const TimeWindow w = window(0, 1);
  EXPECT_EQ(span_at(spans, w, 10, 100), 0);
  EXPECT_EQ(span_at(spans, w, 25, 100), 1);
  EXPECT_EQ(span_at(spans, w, 45, 100), -1);
  EXPECT_EQ(span_at(spans, w, 61, 100), 2);
  EXPECT_EQ(span_at(spans, w, 20.2, 100), 0);
  EXPECT_EQ(span_at({}, w, 10, 100), -1);
}

TEST(RowsOfALane, OverlappingSpansStandInRowsOfTheirOwn) {
  const auto rows = in_rows({span(0.5, 2), span(0, 1), span(1, 1.5), span(2, 3)});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].size(), 3U);
  EXPECT_EQ(rows[1].size(), 1U);
  for (const auto& row : rows) {
    for (std::size_t i = 1; i < row.size(); ++i) EXPECT_LE(row[i - 1].end_s, row[i].start_s);
  }
}

TEST(RowsOfALane, TheLastRowTakesWhatNoRowHasRoomFor) {
  const auto rows = in_rows({span(0, 4), span(0, 4), span(0, 5)}, 2);
  ASSERT_EQ(rows.size(), 2U);
  ASSERT_EQ(rows[1].size(), 2U);
  EXPECT_DOUBLE_EQ(rows[1][1].start_s, 4);
  EXPECT_DOUBLE_EQ(rows[1][1].end_s, 5);
}

}  // namespace
}  // namespace lockstep::gui
