// Timeline, topology and explanation as pictures (LOCKSTEP_SCREENS=FOLDER keeps them) over scenarios of many kinds, in
// both themes. Scale: QT_SCALE_FACTOR of the environment.
#include <gtest/gtest.h>

#include <QApplication>
#include <QComboBox>
#include <QDir>
#include <QImage>
#include <QLabel>
#include <QPixmap>
#include <QTest>
#include <set>

#include "gui/app/theme.h"
#include "gui/charts/breakdown_view.h"
#include "gui/charts/scaling_view.h"
#include "gui/explain/explain_view.h"
#include "gui/sweep/sweep_grid.h"
#include "gui/sweep/sweep_view.h"
#include "gui/timeline/timeline_view.h"
#include "gui/topology/topology_view.h"
#include "tests/gui/shown_support.h"
#include "tests/gui/support.h"

namespace lockstep::gui {
namespace {

using testing::measured_twin;
using testing::shown_of;

void keep(View& view, const QString& name) {
  view.widget()->setAutoFillBackground(true);
  QPalette palette = view.widget()->palette();
  palette.setColor(QPalette::Window, theme().surface);
  view.widget()->setPalette(palette);
  QApplication::processEvents();
  const QPixmap picture = view.widget()->grab();
  for (const QLabel* label : view.widget()->findChildren<QLabel*>()) {
    EXPECT_FALSE(label->text().contains(QChar(0x2026))) << label->text().toStdString();
    if (label->wordWrap() && label->isVisible()) {
      EXPECT_LE(label->heightForWidth(label->width()), label->height() + 1)
          << name.toStdString() << ": " << label->text().toStdString();
    }
  }
  std::set<QRgb> colours;  // an empty picture has few
  const QImage image = picture.toImage();
  for (int y = 0; y < image.height(); y += 3)
    for (int x = 0; x < image.width(); x += 3) colours.insert(image.pixel(x, y));
  EXPECT_GT(colours.size(), 12U) << name.toStdString();
  const QString folder = qEnvironmentVariable("LOCKSTEP_SCREENS");
  if (folder.isEmpty()) return;
  QDir().mkpath(folder);
  const QString file =
      QStringLiteral("%1/%2-%3-%4-%5x.png")
          .arg(folder, view.id(), name, theme().dark ? "dark" : "light", QString::number(picture.devicePixelRatio()));
  EXPECT_TRUE(picture.save(file));
}

class ViewScreens : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    set_theme(GetParam() ? ThemeChoice::Dark : ThemeChoice::Light);
    set_up_style();
  }
};
INSTANTIATE_TEST_SUITE_P(Themes, ViewScreens, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "dark" : "light"; });

TEST_P(ViewScreens, OverScenariosOfEveryKindOfMachine) {
  for (const char* name :
       {"dp-vs-ddp-resnet50-8xa100", "second-node-10gbe", "pcie-box", "cpu-two-ranks", "old-node-beside-new",
        "v100-dgx1", "vgg16-data-parallel", "infiniband-scaling", "noisy-ranks", "tiny-mlp-launch-bound"}) {
    const Shown shown = shown_of(name);
    TimelineView timeline;
    TopologyView topology;
    ExplainView explain;
    for (View* view : {static_cast<View*>(&timeline), static_cast<View*>(&topology), static_cast<View*>(&explain)}) {
      view->widget()->resize(960, 600);
      view->widget()->show();
      view->show_result(shown);
      keep(*view, name);
    }
  }
}

TEST_P(ViewScreens, AWideAreaLinkAndABigNode) {
  TopologyView topology;
  topology.widget()->resize(960, 600);
  topology.widget()->show();
  topology.show_result(
      shown_of("second-node-10gbe", {"topology.fabric=wan-10g-50ms", "topology.gpus_per_node=1", "gpus=[2, 4]"}));
  keep(topology, "wan");
  topology.show_result(
      shown_of("dp-vs-ddp-resnet50-8xa100", {"topology=dgx2-v100", "gpus=[1, 16]", "batch.per_gpu=32"}));
  keep(topology, "16-gpus");
  topology.show_result(
      shown_of("dp-vs-ddp-resnet50-8xa100", {"topology=rtx3090-2gpu-nvlink", "gpus=[1, 2]", "batch.per_gpu=32"}));
  keep(topology, "bridge");
}

TEST_P(ViewScreens, ZoomedSelectedAndHovered) {
  TimelineView timeline;
  timeline.widget()->resize(960, 600);
  timeline.widget()->show();
  timeline.show_result(shown_of("second-node-10gbe"));
  QApplication::processEvents();
  timeline.timeline().go_to_bucket(1);
  timeline.timeline().go_to_bucket(1);
  const TimelinePicture& picture = timeline.timeline().picture();
  QTest::mouseMove(&timeline.timeline(), picture.area_of(timeline.timeline().selected()).center().toPoint());
  keep(timeline, "hovered");
  timeline.timeline().zoom(0.02, 0.4);
  keep(timeline, "zoomed");
  TopologyView topology;
  topology.widget()->resize(960, 600);
  topology.widget()->show();
  topology.show_result(shown_of("dp-vs-ddp-resnet50-8xa100"));
  topology.topology().select_next(1);
  topology.topology().select_next(1);
  keep(topology, "selected");
}

TEST_P(ViewScreens, MeasuredBelowPredictedAndPinned) {
  Shown shown = shown_of("cpu-two-ranks");
  shown.measured.push_back({"m.json", measured_twin(*shown.result, 1.12)});
  TimelineView timeline;
  timeline.widget()->resize(960, 640);
  timeline.widget()->show();
  timeline.show_result(shown);
  keep(timeline, "measured");
  Shown pinned = shown_of("second-node-10gbe", {"ddp.bucket_cap=100MiB"});
  pinned.baseline = shown_of("second-node-10gbe").result;
  timeline.show_result(pinned);
  timeline.timeline().fit();
  keep(timeline, "pinned");
}

// Strategies on 4 and 8 GPUs whose memory is too small, against a pinned batch that fits, beside another scenario's
// measurement; and a map over batches.
TEST_P(ViewScreens, WhatDoesNotFitInMemory) {
  const std::string name = "v100-dgx1";
  Shown shown = shown_of(name, {"batch.per_gpu=4096"});
  shown.baseline = shown_of(name).result;
  shown.measured.push_back({"other.json", measured_twin(*shown.baseline, 1.1)});
  ScalingView efficiency(Metric::Efficiency);
  BreakdownView breakdown;
  for (View* view : {static_cast<View*>(&efficiency), static_cast<View*>(&breakdown)}) {
    view->widget()->resize(900, 520);
    view->widget()->show();
    view->show_result(shown);
    keep(*view, "does-not-fit");
  }
  const std::string file = testing::source_path("scenarios/gallery/" + name + ".yaml");
  const auto plan = make_plan({testing::text_of_file(file), file, {}}, Strategy::Ddp, 8,
                              {{"gpus", {"2", "4", "8"}, {}}, {"batch.per_gpu", {"32", "128", "1024", "4096"}, {}}});
  ASSERT_TRUE(plan) << to_text(plan.error().front());
  LoadedInputs loaded;
  auto grid = std::make_shared<SweepGrid>();
  grid->axes = plan->axes;
  for (std::size_t i = 0; i < plan->size(); ++i) grid->cells.push_back(estimate_cell(*plan, i, loaded));
  grid->present = 2;
  shown.sweep = grid;
  SweepView sweep;
  sweep.widget()->resize(900, 520);
  sweep.widget()->show();
  sweep.show_result(shown);
  keep(sweep, "does-not-fit");
}

TEST_P(ViewScreens, AnExplanationWithARowChosenAndOfTheOtherStrategy) {
  ExplainView explain;
  explain.widget()->resize(960, 600);
  explain.widget()->show();
  explain.show_result(shown_of("second-node-10gbe"));
  explain.waterfall().select(0);
  keep(explain, "chosen");
  explain.show_result(shown_of("dp-vs-ddp-resnet50-8xa100"));
  explain.runs().setCurrentText("DDP ×8");
  keep(explain, "ddp");
  explain.bases().setCurrentText("DP ×8");
  keep(explain, "dp-to-ddp");
}

TEST_P(ViewScreens, TracesBelowThePredictionAndACauseThatIsLit) {
  Shown shown = shown_of("dp-vs-ddp-resnet50-8xa100", {"gpus=[1, 2]", "model.image=32", "batch.per_gpu=32"});
  for (const char* name : {"ddp-two-gpus-rank0.json", "ddp-two-gpus-rank1.json"}) {
    auto read = read_chrome_trace(testing::source_path(std::string("tests/data/traces/") + name));
    ASSERT_TRUE(read);
    shown.traces.push_back(std::make_shared<TraceFile>(*std::move(read)));
  }
  TimelineView timeline;
  timeline.widget()->resize(960, 760);
  timeline.widget()->show();
  timeline.show_result(shown);
  keep(timeline, "traced");
  timeline.show_result(shown_of("dp-vs-ddp-resnet50-8xa100"));
  timeline.light(Focus{Strategy::Ddp, 8, Cause::ExposedCommunication, false, false});
  keep(timeline, "lit");
  timeline.light(Focus{Strategy::Dp, 8, Cause::Backward, false, false});
  keep(timeline, "lit-backward");
}

TEST_P(ViewScreens, NothingYet) {
  TimelineView timeline;
  TopologyView topology;
  ExplainView explain;
  for (View* view : {static_cast<View*>(&timeline), static_cast<View*>(&topology), static_cast<View*>(&explain)}) {
    view->widget()->resize(960, 600);
    view->show_result({});
    EXPECT_TRUE(view->table().rows.empty());
    EXPECT_FALSE(view->table().header.isEmpty());
    EXPECT_FALSE(view->widget()->grab().isNull());
  }
}

}  // namespace
}  // namespace lockstep::gui
