#include "gui/topology/topology_view.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QComboBox>
#include <QImage>
#include <QLabel>
#include <QPainter>
#include <QTest>
#include <set>

#include "gui/app/theme.h"
#include "tests/gui/shown_support.h"

namespace lockstep::gui {
namespace {

using testing::shown_of;

class TopologyAtWork : public ::testing::Test {
 protected:
  void SetUp() override {
    view_.widget()->resize(1000, 620);
    view_.show_result(shown_of("dp-vs-ddp-resnet50-8xa100"));
    view_.widget()->show();
    QApplication::processEvents();
  }
  TopologyView view_;
};

TEST_F(TopologyAtWork, TheRunOfTheMostGpusIsShownFirstAndAnyOtherCanBeChosen) {
  EXPECT_EQ(view_.runs().currentText(), "DDP ×8");
  const auto used = [&] {
    int count = 0;
    for (const MachineBox& box : view_.topology().drawing().boxes)
      count += box.kind == MachineBox::Kind::Gpu && box.used ? 1 : 0;
    return count;
  };
  EXPECT_EQ(used(), 8);
  view_.runs().setCurrentText("DDP ×2");
  EXPECT_EQ(used(), 2);
  view_.show_result(shown_of("dp-vs-ddp-resnet50-8xa100", {"batch.per_gpu=64"}));
  EXPECT_EQ(view_.runs().currentText(), "DDP ×2");
}

TEST_F(TopologyAtWork, WhatLimitsTheCollectivesStandsAboveTheDrawing) {
  bool told = false;
  for (const QLabel* label : view_.widget()->findChildren<QLabel*>())
    told |= label->text().contains("limited by NVLink: 235 GB/s");
  EXPECT_TRUE(told);
  EXPECT_TRUE(view_.description().contains("limited by NVLink")) << view_.description().toStdString();
  EXPECT_TRUE(view_.description().contains("dgx-a100-80gb")) << view_.description().toStdString();
}

TEST_F(TopologyAtWork, TheLimitNamesTheRateOfTheLinkAndWhatCollectivesGetOfIt) {
  EXPECT_TRUE(view_.description().contains("limited by NVLink: 235 GB/s of 300 GB/s"))
      << view_.description().toStdString();
  view_.show_result(shown_of("second-node-10gbe"));
  EXPECT_TRUE(view_.description().contains(" 1.15 GB/s of 1.25 GB/s")) << view_.description().toStdString();
  view_.show_result(shown_of("cpu-two-ranks"));
  EXPECT_TRUE(view_.description().contains("get 1.5 GB/s of the memory of the host, which can do 300 GB/s: Gloo's"))
      << view_.description().toStdString();
}

TEST_F(TopologyAtWork, ArrowKeysVisitEveryLinkOnceAndTheDetailsTellIt) {
  std::set<std::string> seen;
  const auto id = [&] {
    return view_.topology().drawing().links[static_cast<std::size_t>(view_.topology().selected())].id;
  };
  QTest::keyClick(&view_.topology(), Qt::Key_Right);
  const std::string first = id();
  do {
    EXPECT_TRUE(seen.insert(id()).second) << id();
    EXPECT_TRUE(view_.details().contains("in each direction")) << view_.details().toStdString();
    QTest::keyClick(&view_.topology(), Qt::Key_Right);
  } while (id() != first && seen.size() < 200);
  EXPECT_EQ(seen.size(), view_.table().rows.size());
  QTest::keyClick(&view_.topology(), Qt::Key_Left);
  EXPECT_NE(id(), first);
  QTest::keyClick(&view_.topology(), Qt::Key_Escape);
  EXPECT_EQ(view_.topology().selected(), -1);
}

TEST_F(TopologyAtWork, AClickOnALinkSelectsIt) {
  view_.widget()->grab();  // places it
  const auto& links = view_.topology().drawing().links;
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (links[i].id != "node0.gpu3.nvlink") continue;
    const QPointF middle = (links[i].points.front() + links[i].points.back()) / 2;
    QTest::mouseClick(&view_.topology(), Qt::LeftButton, {}, view_.topology().to_widget(middle).toPoint());
    EXPECT_EQ(view_.topology().selected(), static_cast<int>(i));
    EXPECT_TRUE(view_.details().contains("NVLinks of GPU 3")) << view_.details().toStdString();
    EXPECT_TRUE(view_.details().contains("limits the all-reduce"));
  }
}

TEST_F(TopologyAtWork, TheTableHasALineForEachLinkWithRateBytesAndShare) {
  const DataTable table = view_.table();
  ASSERT_EQ(table.header.size(), 7);
  bool found = false;
  for (const QStringList& row : table.rows) {
    ASSERT_EQ(row.size(), table.header.size());
    if (row[0] != "node0.gpu3.nvlink") continue;
    found = true;
    EXPECT_EQ(row[2], "300.0");
    EXPECT_GT(row[3].toLongLong(), 100'000'000);
    EXPECT_EQ(row[6], "yes");
  }
  EXPECT_TRUE(found);
}

TEST_F(TopologyAtWork, WhileAnotherMachineIsPredictedTheOldDrawingStays) {
  const std::size_t before = view_.topology().drawing().boxes.size();
  Shown stale = shown_of("second-node-10gbe");
  Shown old = shown_of("dp-vs-ddp-resnet50-8xa100");
  stale.result = old.result;
  stale.stale = true;
  view_.show_result(stale);
  EXPECT_EQ(view_.topology().drawing().boxes.size(), before);
  view_.show_result({});
  EXPECT_TRUE(view_.topology().drawing().empty());
}

TEST_F(TopologyAtWork, APictureIsPaintedInAnySize) {
  for (const QSize size : {QSize(480, 320), QSize(1400, 900)}) {
    QImage image(size, QImage::Format_RGB32);
    QPainter painter(&image);
    view_.paint(painter, QRectF(image.rect()));
    painter.end();
    int accent = 0;
    for (int y = 0; y < image.height(); ++y)
      for (int x = 0; x < image.width(); ++x) accent += image.pixelColor(x, y) == theme().accent;
    EXPECT_GT(accent, size.width() * size.height() / 200) << size.width();
  }
}

TEST(UseColour, GrowsFromGreyToRedAndIsNeverTwiceTheSame) {
  for (const bool dark : {false, true}) {
    std::set<QRgb> seen;
    for (int i = 0; i <= 20; ++i) seen.insert(use_colour(i / 20.0, dark).rgb());
    EXPECT_EQ(seen.size(), 21U);
    EXPECT_GT(use_colour(1, dark).red(), use_colour(0.05, dark).red());
    EXPECT_EQ(use_colour(1.5, dark), use_colour(1, dark));
  }
}

}  // namespace
}  // namespace lockstep::gui
