// Why a step takes so long: the arithmetic of the waterfall, and the view at work.
#include <gtest/gtest.h>

#include <QApplication>
#include <QComboBox>
#include <QImage>
#include <QPainter>
#include <QTest>

#include "gui/app/theme.h"
#include "gui/explain/explain_view.h"
#include "simulator/answers/sentences.h"
#include "tests/gui/shown_support.h"

namespace lockstep::gui {
namespace {

using testing::shown_of;

const Run& run_of(const Shown& shown, Strategy strategy, int gpus) {
  for (const lockstep::Run* run : runs_of(*shown.result))
    if (run->strategy == strategy && run->gpus == gpus) return *run;
  throw std::out_of_range("no such run");
}

void expect_adds_up(const Waterfall& waterfall) {
  double at = waterfall.base_s;
  for (const WaterfallRow& row : waterfall.rows) {
    EXPECT_NEAR(row.from_s, at, 1e-12);
    at += row.seconds();
  }
  EXPECT_NEAR(at, waterfall.run_s, 1e-9 * waterfall.run_s);
}

TEST(WaterfallRows, AddUpFromTheOtherStepToTheStepOverManyScenarios) {
  for (const char* name : {"dp-vs-ddp-resnet50-8xa100", "strong-scaling", "cpu-two-ranks", "data-loader-limit",
                           "noisy-ranks", "gpt2-accumulation", "old-node-beside-new"}) {
    const Shown shown = shown_of(name);
    const lockstep::Run& single = run_of(shown, Strategy::Single, 1);
    for (const lockstep::Run* run : runs_of(*shown.result)) {
      SCOPED_TRACE(name);
      expect_adds_up(waterfall_of(single, *run));
    }
  }
}

TEST(WaterfallRows, AreTheLossesThatTheAnswerSpeaksOf) {
  for (const char* name : {"dp-vs-ddp-resnet50-8xa100", "strong-scaling"}) {
    const Shown shown = shown_of(name);
    const lockstep::Run& single = run_of(shown, Strategy::Single, 1);
    for (const lockstep::Run* run : runs_of(*shown.result))
      for (const WaterfallRow& row : waterfall_of(single, *run).rows) {
        if (row.joined) continue;
        EXPECT_NEAR(row.seconds(), loss_s(*run, single, row.cause), 1e-12) << name << ' ' << name_of(row.cause);
      }
  }
}

TEST(WaterfallRows, OfOneBatchSharedByManyStartAtTheGpusShareOfTheStep) {
  const Shown shown = shown_of("strong-scaling");
  const lockstep::Run& single = run_of(shown, Strategy::Single, 1);
  const lockstep::Run& eight = run_of(shown, Strategy::Ddp, 8);
  const Waterfall waterfall = waterfall_of(single, eight);
  EXPECT_TRUE(waterfall.shared());
  EXPECT_NEAR(waterfall.base_s, single.step_time_s / 8, 1e-12);
  EXPECT_NEAR(waterfall.base_s / waterfall.run_s, eight.efficiency, 1e-9);
}

TEST(WaterfallRows, ComeByTheirSizeAndSmallOnesAreJoinedAtTheEnd) {
  lockstep::Run base, run;
  base.global_batch = run.global_batch = 8;
  base.step_time_s = 1;
  base.breakdown_s[static_cast<std::size_t>(Cause::Forward)] = 0.7;
  base.breakdown_s[static_cast<std::size_t>(Cause::HostBound)] = 0.3;
  run.step_time_s = 1.503;
  run.breakdown_s[static_cast<std::size_t>(Cause::Forward)] = 0.801;
  run.breakdown_s[static_cast<std::size_t>(Cause::HostBound)] = 0.1;
  run.breakdown_s[static_cast<std::size_t>(Cause::ExposedCommunication)] = 0.6;
  run.breakdown_s[static_cast<std::size_t>(Cause::Optimizer)] = 0.001;
  run.breakdown_s[static_cast<std::size_t>(Cause::Other)] = 0.001;
  run.parts = {{Cause::ExposedCommunication, "bucket 0", 0.2}, {Cause::ExposedCommunication, "bucket 1", 0.4}};
  const Waterfall waterfall = waterfall_of(base, run);
  ASSERT_EQ(waterfall.rows.size(), 4U);
  EXPECT_EQ(waterfall.rows[0].cause, Cause::ExposedCommunication);
  EXPECT_EQ(waterfall.rows[0].parts.front().detail, "bucket 1");
  EXPECT_EQ(waterfall.rows[1].cause, Cause::Forward);
  EXPECT_EQ(waterfall.rows[2].cause, Cause::HostBound);
  EXPECT_NEAR(waterfall.rows[2].seconds(), -0.2, 1e-12);
  EXPECT_TRUE(waterfall.rows[3].joined);
  EXPECT_NEAR(waterfall.rows[3].seconds(), 0.002, 1e-12);
  expect_adds_up(waterfall);
}

TEST(WaterfallAxes, StartAtZeroUnlessTheStepsAreNearlyAlike) {
  Waterfall far{"1 GPU", "DP ×8", Devices::Gpus, 0.1, 0.3, 0.1, {{Cause::Replicate, false, 0, 0.2, 0.1, {}}}};
  EXPECT_FALSE(axis_of(far).cut());
  EXPECT_DOUBLE_EQ(axis_of(far).high_s, 0.3);
  Waterfall near{"1 GPU", "DDP ×8", Devices::Gpus, 0.1, 0.104, 0.1, {{Cause::BucketCopies, false, 0, 0.004, 0.1, {}}}};
  EXPECT_TRUE(axis_of(near).cut());
  EXPECT_LT(axis_of(near).low_s, 0.1);
  EXPECT_GT(axis_of(near).low_s, 0.08);
}

class Explaining : public ::testing::Test {
 protected:
  void SetUp() override {
    view_.widget()->resize(900, 600);
    view_.show_result(shown_of("dp-vs-ddp-resnet50-8xa100"));
    view_.widget()->show();
    QApplication::processEvents();
  }
  ExplainView view_;
};

TEST_F(Explaining, BeginsWithTheSlowestRunOnTheMostGpusAgainstOneGpu) {
  EXPECT_EQ(view_.runs().currentText(), "DP ×8");
  EXPECT_EQ(view_.bases().currentText(), "1 GPU");
  EXPECT_TRUE(view_.description().contains("A step of DP ×8 takes")) << view_.description().toStdString();
  EXPECT_TRUE(view_.description().contains("Most is lost to copy to GPU")) << view_.description().toStdString();
}

TEST_F(Explaining, ComparesTheStrategiesOnAsManyGpus) {
  view_.runs().setCurrentText("DDP ×8");
  EXPECT_GE(view_.bases().findText("DP ×8"), 0);
  EXPECT_LT(view_.bases().findText("DP ×4"), 0);
  view_.bases().setCurrentText("DP ×8");
  const Waterfall& waterfall = view_.waterfall().waterfall();
  EXPECT_EQ(waterfall.base_name, "DP ×8");
  EXPECT_GT(waterfall.base_s, waterfall.run_s);
  EXPECT_EQ(waterfall.rows.front().cause, Cause::CopyToDevice);  // what is saved comes first
  EXPECT_TRUE(view_.description().contains("Most is saved on copy to GPU: 49.0 ms"))
      << view_.description().toStdString();
  // A choice stays with the next result.
  view_.show_result(shown_of("dp-vs-ddp-resnet50-8xa100", {"batch.per_gpu=64"}));
  EXPECT_EQ(view_.runs().currentText(), "DDP ×8");
  EXPECT_EQ(view_.bases().currentText(), "DP ×8");
}

TEST_F(Explaining, ArrowKeysPointerAndEscChooseARowAndItsWordsFollow) {
  EXPECT_TRUE(view_.details().isEmpty());
  QTest::keyClick(&view_.waterfall(), Qt::Key_Down);
  EXPECT_EQ(view_.waterfall().selected(), 0);
  EXPECT_TRUE(view_.details().startsWith(
      "copy to GPU: 56.1 ms in the step of DP ×8, 7.01 ms in 1 GPU. The slowest GPU was waiting for"))
      << view_.details().toStdString();
  QTest::keyClick(&view_.waterfall(), Qt::Key_End);
  EXPECT_EQ(view_.waterfall().selected(), static_cast<int>(view_.waterfall().waterfall().rows.size()) - 1);
  QTest::mouseClick(&view_.waterfall(), Qt::LeftButton, {}, view_.waterfall().area_of(1).center().toPoint());
  EXPECT_EQ(view_.waterfall().selected(), 1);
  QTest::keyClick(&view_.waterfall(), Qt::Key_Escape);
  EXPECT_TRUE(view_.details().isEmpty());
}

TEST_F(Explaining, WhatIsExposedIsExplainedByItsBuckets) {
  view_.show_result(shown_of("second-node-10gbe"));
  QTest::keyClick(&view_.waterfall(), Qt::Key_Home);
  EXPECT_EQ(view_.waterfall().row_name(0), "exposed communication");
  EXPECT_TRUE(view_.details().contains("All-reduces of 97.5 MiB in")) << view_.details().toStdString();
  EXPECT_TRUE(view_.details().contains("Most of it:")) << view_.details().toStdString();
}

TEST_F(Explaining, TheTableAddsUpToTheStep) {
  const DataTable table = view_.table();
  ASSERT_GE(table.rows.size(), 3U);
  double sum = 0;
  for (std::size_t i = 0; i + 1 < table.rows.size(); ++i) sum += table.rows[i][3].toDouble();
  EXPECT_NEAR(sum, table.rows.back()[3].toDouble(), 0.06);  // four digits a row
  EXPECT_NEAR(table.rows.back()[2].toDouble(), 250.0, 0.05);
  // The joined row holds whole parts of both steps, so they are no "differences".
  ASSERT_TRUE(view_.waterfall().waterfall().rows.back().joined);
  EXPECT_EQ(table.rows[table.rows.size() - 2][0].toStdString(), "everything else");
}

TEST_F(Explaining, APictureHasTheBarsInTheColoursOfTheirCauses) {
  QImage image(960, 600, QImage::Format_ARGB32);
  QPainter painter(&image);
  view_.paint(painter, QRectF(0, 0, 960, 600));
  painter.end();
  int copies = 0, replicating = 0;
  for (int y = 0; y < image.height(); ++y)
    for (int x = 0; x < image.width(); ++x) {
      copies += image.pixelColor(x, y) == theme().cause(Cause::CopyToDevice) ? 1 : 0;
      replicating += image.pixelColor(x, y) == theme().cause(Cause::Replicate) ? 1 : 0;
    }
  EXPECT_GT(copies, 500);
  EXPECT_GT(replicating, 500);
}

}  // namespace
}  // namespace lockstep::gui
