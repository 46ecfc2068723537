#include "gui/timeline/timeline_view.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QImage>
#include <QLabel>
#include <QPainter>
#include <QTest>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "gui/app/theme.h"
#include "simulator/base/format.h"
#include "simulator/exchange/chrome_trace_reader.h"
#include "simulator/exchange/trace_runs.h"
#include "tests/gui/shown_support.h"
#include "tests/gui/support.h"

namespace lockstep::gui {
namespace {

using testing::measured_twin;
using testing::shown_of;

const Shown& a100() {
  static const Shown shown = shown_of("dp-vs-ddp-resnet50-8xa100");
  return shown;
}

std::vector<QString> titles(const Timeline& timeline) {
  std::vector<QString> out;
  for (const TimelineGroup& group : timeline.groups) out.push_back(group.title + ' ' + group.ranks);
  return out;
}

TEST(TimelineModel, RanksThatAreAlikeAreOneGroup) {
  const Timeline timeline = timeline_of(a100());
  const std::vector<QString> expected{"DP ×8 rank 0", "DP ×8 ranks 1 to 7", "DDP ×8 ranks 0 to 7"};
  auto found = titles(timeline);
  std::sort(found.begin(), found.end());
  auto wanted = expected;
  std::sort(wanted.begin(), wanted.end());
  EXPECT_EQ(found, wanted);
  for (const TimelineGroup& group : timeline.groups)
    EXPECT_EQ(group.folded, group.strategy == Strategy::Ddp ? 8 : group.ranks == "rank 0" ? 1 : 7);
}

TEST(TimelineModel, ComputeSpansOfTheDdpRankFillWhatTheBreakdownSays) {
  const Timeline timeline = timeline_of(a100());
  const auto ddp = std::find_if(timeline.groups.begin(), timeline.groups.end(),
                                [](const TimelineGroup& g) { return g.strategy == Strategy::Ddp; });
  ASSERT_NE(ddp, timeline.groups.end());
  const lockstep::Run& run = a100().result->runs.back();
  double backward = 0, contention = run.part_s(Cause::Contention);
  for (const TimelineLane& lane : ddp->lanes)
    if (lane.kind == TimelineLane::Kind::Compute) {
      for (const LaneSpan& span : lane.spans)
        if (span.cause == Cause::Backward) backward += span.end_s - span.start_s;
    }
  EXPECT_NEAR(backward, run.part_s(Cause::Backward) + contention, 0.02 * backward);
  EXPECT_EQ(ddp->spans_step_s, 0);  // an estimate shows its own spans
}

TEST(TimelineModel, EveryBucketHasItsCollective) {
  const Timeline timeline = timeline_of(a100());
  for (const TimelineGroup& group : timeline.groups) {
    if (group.strategy != Strategy::Ddp) continue;
    std::vector<int> found;
    for (const TimelineLane& lane : group.lanes)
      for (const LaneSpan& span : lane.spans)
        if (span.bucket >= 0) found.push_back(span.bucket);
    std::sort(found.begin(), found.end());
    ASSERT_EQ(found.size(), group.buckets.size());
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], static_cast<int>(i));
  }
}

TEST(TimelineModel, SpansOfARowNeverOverlapAndAreInOrder) {
  for (const char* name : {"dp-vs-ddp-resnet50-8xa100", "cpu-two-ranks", "noisy-ranks", "gpt2-accumulation"}) {
    const Timeline timeline = timeline_of(shown_of(name));
    ASSERT_FALSE(timeline.empty()) << name;
    for (const TimelineGroup& group : timeline.groups)
      for (const TimelineLane& lane : group.lanes)
        for (std::size_t i = 1; i < lane.spans.size(); ++i)
          ASSERT_LE(lane.spans[i - 1].end_s, lane.spans[i].start_s) << name << ' ' << group.title.toStdString();
  }
}

TEST(TimelineModel, AMeasuredRunStandsBelowItsPredictionWithTheDifferenceInWords) {
  Shown shown = a100();
  shown.measured.push_back({"m.json", measured_twin(*shown.result, 1.1)});
  const Timeline timeline = timeline_of(shown);
  const auto& groups = timeline.groups;
  const auto measured = std::find_if(groups.begin(), groups.end(), [](const TimelineGroup& g) {
    return g.origin == TimelineOrigin::Measured && g.strategy == Strategy::Ddp && g.gpus == 8;
  });
  ASSERT_NE(measured, groups.end());
  ASSERT_GE(measured->beside, 0);
  EXPECT_EQ(groups[static_cast<std::size_t>(measured->beside)].origin, TimelineOrigin::Predicted);
  EXPECT_EQ(groups[static_cast<std::size_t>(measured->beside)].title, measured->title);
  EXPECT_EQ((measured - 1)->title, measured->title);
  const QString words = group_words(timeline, static_cast<int>(measured - groups.begin())).join(' ');
  EXPECT_TRUE(words.contains("longer (+10 %) than predicted")) << words.toStdString();
  EXPECT_EQ(measured->lanes.front().kind, TimelineLane::Kind::Phases);
}

TEST(TimelineModel, APinnedResultStandsBelowTheNewOne) {
  Shown shown = shown_of("dp-vs-ddp-resnet50-8xa100", {"batch.per_gpu=64"});
  shown.baseline = a100().result;
  const Timeline timeline = timeline_of(shown);
  int pinned = 0;
  for (const TimelineGroup& group : timeline.groups) {
    if (group.origin != TimelineOrigin::Pinned) continue;
    ++pinned;
    ASSERT_GE(group.beside, 0);
    const TimelineGroup& other = timeline.groups[static_cast<std::size_t>(group.beside)];
    EXPECT_EQ(other.strategy, group.strategy);
    EXPECT_EQ(other.origin, TimelineOrigin::Predicted);
  }
  EXPECT_EQ(pinned, 2);  // DP and DDP
}

TEST(TimelineModel, ASimulatedStepThatDiffersFromItsSpansSaysSo) {
  Shown shown = a100();
  auto other = std::make_shared<Result>(*shown.result);
  for (lockstep::Run& run : other->runs) run.step_time_s *= 1.2;
  shown.result = other;
  shown.spans_estimated = true;
  EXPECT_TRUE(group_words(timeline_of(shown), 0).join(' ').contains("spans without contention"));
  shown.spans_estimated = false;  // one step of many that noise makes differ
  EXPECT_TRUE(group_words(timeline_of(shown), 0).join(' ').contains("shown: one of"));
}

TEST(TimelineModel, AFocusMeansTheSpansOfItsCauseInTheGroupsOfItsKind) {
  const Timeline timeline = timeline_of(a100());
  TimelinePicture picture;
  picture.show(timeline);
  const Focus backward{Strategy::Ddp, 8, Cause::Backward, false, false};
  const auto lit = picture.lit_by(backward);
  ASSERT_TRUE(lit.first.valid());
  EXPECT_EQ(timeline.groups[static_cast<std::size_t>(lit.first.group)].strategy, Strategy::Ddp);
  const lockstep::Run& run = a100().result->runs.back();
  EXPECT_NEAR(lit.seconds, run.part_s(Cause::Backward) + run.part_s(Cause::Contention), 0.02 * lit.seconds);
  // Exposed communication, and what else a GPU waits for, is where the collectives are.
  const auto waits = picture.lit_by({Strategy::Ddp, 8, Cause::ExposedCommunication, false, false});
  EXPECT_EQ(waits.spans, static_cast<int>(run.buckets.size()));
  // Of four GPUs there is no timeline: that of eight stands for it.
  EXPECT_EQ(picture.lit_by({Strategy::Ddp, 4, Cause::Backward, false, false}).spans, lit.spans);
  EXPECT_EQ(picture.lit_by({Strategy::Single, 1, Cause::Backward, false, false}).spans, 0);
  EXPECT_GT(picture.lit_by({Strategy::Dp, 8, std::nullopt, false, true}).spans, 0);
}

class TimelineAtWork : public ::testing::Test {
 protected:
  void SetUp() override {
    view_.widget()->resize(1000, 640);
    view_.show_result(a100());
    view_.widget()->show();
    QApplication::processEvents();
  }
  TimelineWidget& widget() { return view_.timeline(); }
  const TimelinePicture& picture() { return view_.timeline().picture(); }
  void wheel(const QPointF& at, int notches, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    QWheelEvent event(at, widget().mapToGlobal(at), {}, {0, 120 * notches}, Qt::NoButton, modifiers, Qt::NoScrollPhase,
                      false);
    QApplication::sendEvent(&widget(), &event);
  }
  // The middle of the widest span of a lane.
  QPointF on_lane(TimelineLane::Kind kind) {
    for (const TimelineRow& row : picture().rows()) {
      const auto& lane =
          picture().timeline().groups[static_cast<std::size_t>(row.group)].lanes[static_cast<std::size_t>(row.lane)];
      if (lane.kind != kind) continue;
      SpanPlace best;
      for (int i = 0; i < static_cast<int>(lane.spans.size()); ++i) {
        const SpanPlace place{row.group, row.lane, i};
        if (!best.valid() || picture().area_of(place).width() > picture().area_of(best).width()) best = place;
      }
      return picture().area_of(best).center();
    }
    return {};
  }
  TimelineView view_;
};

TEST_F(TimelineAtWork, TheWheelZoomsAtThePointer) {
  const QPointF at(600, picture().rows_area().center().y());
  const auto time_there = [&] {
    return picture().window().time_at(at.x() - picture().rows_area().left(), picture().rows_area().width());
  };
  const double before = time_there(), width = picture().window().width();
  wheel(at, 5);
  EXPECT_LT(picture().window().width(), width / 2.9);
  EXPECT_NEAR(time_there(), before, 1e-9);
  wheel(at, -5);
  EXPECT_NEAR(picture().window().width(), width, 1e-9);
}

TEST_F(TimelineAtWork, DraggingPansAndDoesNotSelect) {
  wheel(picture().rows_area().center(), 6);
  const double from = picture().window().from();
  const QPoint start = picture().rows_area().center().toPoint();
  QTest::mousePress(&widget(), Qt::LeftButton, {}, start);
  QTest::mouseMove(&widget(), start - QPoint(60, 0));
  QTest::mouseRelease(&widget(), Qt::LeftButton, {}, start - QPoint(60, 0));
  const double moved = (picture().window().from() - from) / picture().window().width() * picture().rows_area().width();
  EXPECT_NEAR(moved, 60, 1);
  EXPECT_FALSE(widget().selected().valid());
}

TEST_F(TimelineAtWork, AClickSelectsAndTheDetailsNameCauseAndTimes) {
  QTest::mouseClick(&widget(), Qt::LeftButton, {}, on_lane(TimelineLane::Kind::Compute).toPoint());
  ASSERT_TRUE(widget().selected().valid());
  const QString details = view_.details();
  EXPECT_TRUE(details.contains("GPU compute")) << details.toStdString();
  EXPECT_TRUE(details.contains("starts at")) << details.toStdString();
  bool told = false;
  for (const QLabel* label : view_.widget()->findChildren<QLabel*>()) told |= label->text() == details;
  EXPECT_TRUE(told);
}

TEST_F(TimelineAtWork, HoveringFindsTheSpanUnderThePointerAndLeavingForgetsIt) {
  QTest::mouseMove(&widget(), on_lane(TimelineLane::Kind::Copy).toPoint());
  // An X server tells of the pointer a little later.
  ASSERT_TRUE(testing::wait_until([&] { return widget().hovered().valid(); }));
  EXPECT_GT(picture().span(widget().hovered())->bytes, 0);
  QTest::mouseMove(&widget(), {3, 3});
  EXPECT_TRUE(testing::wait_until([&] { return !widget().hovered().valid(); }));
}

TEST_F(TimelineAtWork, KeysGoFromSpanToSpanLaneToLaneAndBucketToBucket) {
  QTest::keyClick(&widget(), Qt::Key_Right);
  const SpanPlace first = widget().selected();
  ASSERT_TRUE(first.valid());
  QTest::keyClick(&widget(), Qt::Key_Right);
  EXPECT_EQ(widget().selected().span, first.span + 1);
  QTest::keyClick(&widget(), Qt::Key_Left);
  EXPECT_EQ(widget().selected(), first);
  QTest::keyClick(&widget(), Qt::Key_Down);
  EXPECT_NE(widget().selected().lane, first.lane);
  QTest::keyClick(&widget(), Qt::Key_Escape);
  EXPECT_FALSE(widget().selected().valid());
  QTest::keyClick(&widget(), Qt::Key_Period);
  ASSERT_TRUE(widget().selected().valid());
  EXPECT_EQ(picture().span(widget().selected())->bucket, 0);
  QTest::keyClick(&widget(), Qt::Key_Period);
  EXPECT_EQ(picture().span(widget().selected())->bucket, 1);
  QTest::keyClick(&widget(), Qt::Key_Comma);
  EXPECT_EQ(picture().span(widget().selected())->bucket, 0);
  EXPECT_TRUE(view_.details().contains("gradients ready at"));
}

TEST_F(TimelineAtWork, BucketsGoRound) {
  const auto& groups = picture().timeline().groups;
  std::size_t buckets = 0;
  for (const TimelineGroup& group : groups) buckets += group.strategy == Strategy::Ddp ? group.buckets.size() : 0;
  QTest::keyClick(&widget(), Qt::Key_Period);
  const SpanPlace first = widget().selected();
  for (std::size_t i = 0; i < buckets; ++i) QTest::keyClick(&widget(), Qt::Key_Period);
  EXPECT_EQ(widget().selected(), first);
}

TEST_F(TimelineAtWork, KeysZoomAndFit) {
  const double whole = picture().window().width();
  QTest::keyClick(&widget(), Qt::Key_Plus);
  QTest::keyClick(&widget(), Qt::Key_Plus);
  EXPECT_NEAR(picture().window().width(), whole / 1.5625, 1e-12);
  QTest::keyClick(&widget(), Qt::Key_Minus);
  EXPECT_NEAR(picture().window().width(), whole / 1.25, 1e-12);
  QTest::keyClick(&widget(), Qt::Key_End);
  EXPECT_GT(picture().window().to(), picture().timeline().step_s);
  QTest::keyClick(&widget(), Qt::Key_Home);
  EXPECT_LT(picture().window().from(), 0);
  QTest::keyClick(&widget(), Qt::Key_0);
  EXPECT_NEAR(picture().window().width(), whole, 1e-12);
}

TEST_F(TimelineAtWork, AClickIntoTheMinimapMovesTheWindowThere) {
  wheel(picture().rows_area().center(), 10);
  const QRectF map = picture().minimap();
  QTest::mouseClick(&widget(), Qt::LeftButton, {},
                    QPointF(map.left() + 0.75 * map.width(), map.center().y()).toPoint());
  const TimeWindow& w = picture().window();
  const double there = w.limit_from() + 0.75 * (w.limit_to() - w.limit_from());
  EXPECT_NEAR((w.from() + w.to()) / 2, there, 0.01 * (w.limit_to() - w.limit_from()));
}

TEST_F(TimelineAtWork, TheNextResultKeepsZoomAndSelectionWhereItCan) {
  QTest::keyClick(&widget(), Qt::Key_Period);
  wheel(picture().rows_area().center(), 4);
  const double width = picture().window().width();
  const SpanPlace selected = widget().selected();
  view_.show_result(a100());
  EXPECT_DOUBLE_EQ(picture().window().width(), width);
  EXPECT_EQ(widget().selected(), selected);
}

TEST_F(TimelineAtWork, TheWholeStepStaysFittedUntilSomebodyZooms) {
  const auto larger = shown_of("dp-vs-ddp-resnet50-8xa100", {"batch.per_gpu=512"});
  const auto is_whole = [&] {
    return std::abs(picture().window().to() - 1.03 * picture().timeline().step_s) < 1e-9 &&
           std::abs(picture().window().width() - 1.06 * picture().timeline().step_s) < 1e-9;
  };
  ASSERT_TRUE(is_whole());
  const double before = picture().timeline().step_s;
  view_.show_result(larger);
  ASSERT_GT(picture().timeline().step_s, 2 * before);
  EXPECT_TRUE(is_whole());
  QTest::keyClick(&widget(), Qt::Key_Plus);
  const double from = picture().window().from(), to = picture().window().to();
  view_.show_result(a100());
  view_.show_result(larger);
  EXPECT_FALSE(is_whole());
  EXPECT_LE(picture().window().width(), to - from + 1e-12);
  QTest::keyClick(&widget(), Qt::Key_0);
  view_.show_result(a100());
  EXPECT_TRUE(is_whole());
}

TEST_F(TimelineAtWork, AnotherScenarioIsFittedWhateverWasVisible) {
  QTest::keyClick(&widget(), Qt::Key_Plus);
  view_.widget()->hide();
  view_.show_result({});
  view_.show_result(shown_of("vgg16-data-parallel"));
  view_.widget()->show();
  QApplication::processEvents();
  EXPECT_NEAR(picture().window().to(), 1.03 * picture().timeline().step_s, 1e-9);
}

TEST_F(TimelineAtWork, WhatIsLitSaysTheTimeThatTheBarShowsAndThatOfTheSpans) {
  const lockstep::Run* dp = nullptr;
  for (const lockstep::Run* run : runs_of(*a100().result))
    if (run->strategy == Strategy::Dp && run->gpus == 8) dp = run;
  ASSERT_NE(dp, nullptr);
  view_.light(Focus{Strategy::Dp, 8, Cause::Replicate});
  const std::string of_step = format_time(dp->part_s(Cause::Replicate)) + " of the step";
  bool told = false;
  for (const QLabel* label : view_.widget()->findChildren<QLabel*>())
    told |= label->text().contains(QString::fromStdString(of_step)) && label->text().contains("at the same time");
  EXPECT_TRUE(told) << of_step;
}

TEST(TimelineOfTraces, SayNothingOfSizesAndBucketsThatAreNotKnown) {
  LaneSpan span;
  span.bucket = 0;
  span.cause = Cause::ExposedCommunication;
  EXPECT_EQ(bucket_words(span, Devices::Gpus), "all-reduce");
  span.bytes = 8'196'000;
  EXPECT_TRUE(bucket_words(span, Devices::Gpus).startsWith("bucket 0, "))
      << bucket_words(span, Devices::Gpus).toStdString();
}

TEST(TimelineOfTraces, OfCoresAloneHaveNoWordsOfGpus) {
  const auto opened = [](const char* name) {
    const auto file = read_chrome_trace(testing::source_path(std::string("tests/data/traces/") + name));
    Shown shown;
    if (file) shown.traces = {std::make_shared<const TraceFile>(*file)};
    return timeline_of(shown, runs_of_traces(shown.traces));
  };
  const Timeline cores = opened("gloo-ddp-2.json"), gpus = opened("ddp-two-gpus-rank0.json");
  ASSERT_FALSE(cores.empty() || gpus.empty());
  EXPECT_EQ(cores.devices, Devices::Cores);
  EXPECT_EQ(gpus.devices, Devices::Gpus);
  EXPECT_EQ(lane_name(TimelineLane::Kind::Compute, cores.devices), "compute");
}

TEST_F(TimelineAtWork, UntilTheSpansOfAResultAreThereTheOldOnesStay) {
  Shown bare = a100();
  auto without = std::make_shared<Result>(*bare.result);
  for (lockstep::Run& run : without->runs) {
    run.timeline.clear();
    run.other_timelines.clear();
  }
  bare.result = without;
  view_.show_result(bare);
  EXPECT_FALSE(picture().timeline().empty());
  view_.show_result({});
  EXPECT_TRUE(picture().timeline().empty());
}

TEST_F(TimelineAtWork, TheTableTellsStretchesThatAddUpToTheLane) {
  const DataTable table = view_.table();
  ASSERT_EQ(table.header.size(), 10);
  double busy = 0;
  int spans = 0;
  for (const QStringList& row : table.rows) {
    ASSERT_EQ(row.size(), table.header.size());
    if (!row[0].startsWith("DDP") || row[2] != "GPU compute") continue;
    busy += row[8].toDouble() * 1e-3;
    spans += row[5].toInt();
  }
  double expected = 0;
  int count = 0;
  for (const TimelineGroup& group : picture().timeline().groups) {
    if (group.strategy != Strategy::Ddp) continue;
    for (const TimelineLane& lane : group.lanes) {
      if (lane.kind != TimelineLane::Kind::Compute) continue;
      for (const LaneSpan& span : lane.spans) expected += span.end_s - span.start_s;
      count += static_cast<int>(lane.spans.size());
    }
  }
  EXPECT_NEAR(busy, expected, 1e-3 * expected);
  EXPECT_EQ(spans, count);
}

TEST_F(TimelineAtWork, ItHasANameAndASentenceForScreenReaders) {
  EXPECT_FALSE(widget().accessibleName().isEmpty());
  EXPECT_TRUE(view_.description().contains("DDP ×8")) << view_.description().toStdString();
  EXPECT_EQ(widget().accessibleDescription(), view_.description());
}

TEST_F(TimelineAtWork, APictureHasAllGroupsWhateverSizeTheWidgetHas) {
  QImage small(600, 300, QImage::Format_RGB32), large(1200, 800, QImage::Format_RGB32);
  for (QImage* image : {&small, &large}) {
    QPainter painter(image);
    view_.paint(painter, QRectF(image->rect()));
    painter.end();
    int coloured = 0;
    for (int y = 0; y < image->height(); ++y)
      for (int x = 0; x < image->width(); ++x) coloured += image->pixelColor(x, y) == theme().cause(Cause::Backward);
    EXPECT_GT(coloured, image->width() * image->height() / 200);
  }
}

TEST(TimelineOfManyRanks, ScrollsAndFollowsTheSelection) {
  TimelineView view;
  view.widget()->resize(900, 420);
  view.show_result(shown_of("noisy-ranks"));
  view.widget()->show();
  QApplication::processEvents();
  const TimelinePicture& picture = view.timeline().picture();
  ASSERT_GT(picture.rows_height(), picture.rows_area().height());
  const int last = static_cast<int>(picture.timeline().groups.size()) - 1;
  view.timeline().select({last, 0, 0}, true);
  EXPECT_LE(picture.area_of({last, 0, 0}).bottom(), picture.rows_area().bottom() + 1);
  EXPECT_GE(picture.area_of({last, 0, 0}).top(), picture.rows_area().top() - 1);
}

}  // namespace
}  // namespace lockstep::gui
