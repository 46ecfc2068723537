// The sweeps in the window: what starts them, what ends them, what a person changes and applies.
#include <gtest/gtest.h>

#include <QAction>
#include <QApplication>
#include <QComboBox>
#include <QFile>
#include <QLineEdit>
#include <QPushButton>
#include <QTabWidget>
#include <QTest>
#include <algorithm>
#include <stdexcept>

#include "gui/app/main_window.h"
#include "gui/app/pages.h"
#include "gui/export/export_view.h"
#include "gui/sweep/bucket_view.h"
#include "gui/sweep/sweep_view.h"
#include "tests/gui/support.h"

namespace lockstep::gui {
namespace {

using testing::wait_until;

class SweepsInTheWindow : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("LOCKSTEP_PROGRAM", LOCKSTEP_PROGRAM_FILE, 1);
    window_.show();
    window_.open_any("second-node-10gbe");
    ASSERT_TRUE(wait_until([&] { return done() && shown().sweep && shown().bucket_curve; }));
  }
  void TearDown() override {
    setenv("LOCKSTEP_PROGRAM", LOCKSTEP_PROGRAM_FILE, 1);
    window_.document().undo().setClean();
  }
  template <class V>
  V& view() {
    for (View* view : window_.views())
      if (auto* found = dynamic_cast<V*>(view)) return *found;
    throw std::logic_error("no such view");
  }
  const Shown& shown() { return window_.session().shown(); }
  bool done() { return window_.session().state() == RunState::Done; }
  void look_at(int segment) {
    window_.show_view(segment == 0 ? "sweep" : "bucket-size");
  }
  bool map_simulated() {
    return wait_until([&] {
      return done() && !window_.sweeps().running() && shown().sweep && !shown().sweep->cells.empty() &&
             !shown().sweep->stale && shown().sweep->done == static_cast<int>(shown().sweep->cells.size());
    });
  }
  bool curve_simulated() {
    return wait_until([&] {
      return done() && !window_.sweeps().running() && shown().bucket_curve && !shown().bucket_curve->points.empty() &&
             !shown().bucket_curve->stale && !shown().bucket_curve->estimated();
    });
  }
  bool map_estimated() {
    return wait_until([&] {
      const auto& cells = shown().sweep->cells;
      return !cells.empty() && !shown().sweep->stale &&
             std::none_of(cells.begin(), cells.end(),
                          [](const SweepCell& cell) { return cell.state == CellState::Pending; });
    });
  }
  const lockstep::Run& largest_ddp() {
    const lockstep::Run* largest = nullptr;
    for (const lockstep::Run* run : runs_of(*shown().result))
      if (run->strategy == Strategy::Ddp && (largest == nullptr || run->gpus > largest->gpus)) largest = run;
    if (largest == nullptr) throw std::logic_error("no DDP");
    return *largest;
  }
  std::string value(const char* key) {
    const auto at = window_.document().values().find(key);
    return at == window_.document().values().end() ? "" : at->second.yaml;
  }
  MainWindow window_;
};

TEST_F(SweepsInTheWindow, AreEstimatedUnseenAndSimulatedWhenSomebodyLooks) {
  ASSERT_TRUE(map_estimated());
  ASSERT_TRUE(wait_until([&] { return fastest_of(*shown().bucket_curve) != nullptr; }));
  EXPECT_FALSE(window_.sweeps().running());
  EXPECT_EQ(shown().sweep->done, 0);
  look_at(0);
  ASSERT_TRUE(map_simulated());
  EXPECT_TRUE(shown().bucket_curve->estimated());  // nobody has looked at it
  look_at(1);
  ASSERT_TRUE(curve_simulated());
}

TEST_F(SweepsInTheWindow, AtThePresentSettingsAreWhatTheMainPredictionSays) {
  look_at(0);
  ASSERT_TRUE(map_simulated());
  ASSERT_TRUE(shown().sweep->present);
  const SweepCell& cell = shown().sweep->cells[*shown().sweep->present];
  EXPECT_NEAR(cell.step_s, largest_ddp().step_time_s, 1e-9 * cell.step_s);
  EXPECT_NEAR(cell.efficiency, largest_ddp().efficiency, 1e-9);
  look_at(1);
  ASSERT_TRUE(curve_simulated());
  const BucketPoint* present = present_of(*shown().bucket_curve);
  ASSERT_NE(present, nullptr);
  EXPECT_TRUE(present->is_default);
  EXPECT_NEAR(present->cell.step_s, largest_ddp().step_time_s, 1e-9 * cell.step_s);
  EXPECT_EQ(present->cell.buckets, static_cast<int>(largest_ddp().buckets.size()));
}

TEST_F(SweepsInTheWindow, ABucketCapOfTheScenarioIsAPointOfTheCurve) {
  ASSERT_TRUE(window_.document().set("ddp.bucket_cap", "13MiB").empty());
  look_at(1);
  ASSERT_TRUE(wait_until([&] { return shown().bucket_curve->present == "13MiB"; }));
  ASSERT_TRUE(curve_simulated());
  const BucketPoint* present = present_of(*shown().bucket_curve);
  ASSERT_NE(present, nullptr);
  EXPECT_EQ(present->cap_bytes, 13.0 * (1 << 20));
  EXPECT_NEAR(present->cell.step_s, largest_ddp().step_time_s, 1e-9 * present->cell.step_s);
}

TEST_F(SweepsInTheWindow, OneClickTakesTheBestCapAndOneUndoTakesItBack) {
  ASSERT_TRUE(window_.document().set("ddp.bucket_cap", "100MiB").empty());
  look_at(1);
  ASSERT_TRUE(wait_until([&] { return shown().bucket_curve->present == "100MiB"; }));
  ASSERT_TRUE(curve_simulated());
  BucketView& curve = view<BucketView>();
  const BucketPoint best = *fastest_of(*shown().bucket_curve);
  EXPECT_GT(gain_of(*shown().bucket_curve, best), 0.05);
  EXPECT_TRUE(curve.sentence().contains("less than the present 100 MiB")) << curve.sentence().toStdString();
  const int steps = window_.document().undo().count();
  ASSERT_TRUE(curve.apply_button().isEnabled());
  curve.apply_button().click();
  EXPECT_EQ(value("ddp.bucket_cap"), best.yaml);
  EXPECT_EQ(window_.document().undo().count(), steps + 1);
  ASSERT_TRUE(wait_until([&] { return done() && shown().bucket_curve->present == best.yaml; }));
  EXPECT_FALSE(shown().bucket_curve->estimated());  // nothing had to be computed again
  EXPECT_FALSE(curve.apply_button().isEnabled());
  EXPECT_NEAR(largest_ddp().step_time_s, best.cell.step_s, 1e-9 * best.cell.step_s);
  window_.action("undo")->trigger();
  EXPECT_EQ(value("ddp.bucket_cap"), "100MiB");
}

TEST_F(SweepsInTheWindow, EnterTakesThePointOfTheCurveThatTheArrowsReached) {
  look_at(1);
  ASSERT_TRUE(curve_simulated());
  ChartPanel& chart = view<BucketView>().chart();
  QTest::keyClick(&chart, Qt::Key_Right);
  QTest::keyClick(&chart, Qt::Key_Right);
  QTest::keyClick(&chart, Qt::Key_Return);
  EXPECT_EQ(value("ddp.bucket_cap"), shown().bucket_curve->points[1].yaml);
}

TEST_F(SweepsInTheWindow, ACellIsTakenByEnterAsOneStepAndTheMapStays) {
  look_at(0);
  ASSERT_TRUE(map_simulated());
  const auto before = shown().sweep;
  HeatMap& map = view<SweepView>().map();
  map.select(*before->present);
  QTest::keyClick(&map, Qt::Key_Left);
  QTest::keyClick(&map, Qt::Key_Up);
  const std::size_t cell = *map.selected();
  ASSERT_EQ(cell, *before->present - 1 + before->across());
  EXPECT_TRUE(view<SweepView>().details().contains("Network adapter rate"));
  QTest::keyClick(&map, Qt::Key_Return);
  EXPECT_EQ(window_.document().undo().count(), 1);
  EXPECT_EQ(value("gpus"), "[2, 4]");
  EXPECT_EQ(value("topology.override.nic.rate"), before->axes[1].values[cell / before->across()]);
  ASSERT_TRUE(wait_until([&] { return done() && !shown().sweep->stale && shown().sweep->present == cell; }));
  EXPECT_EQ(shown().sweep->axes, before->axes);
  EXPECT_EQ(shown().sweep->done, static_cast<int>(before->cells.size()));  // kept
  EXPECT_NEAR(largest_ddp().step_time_s, before->cells[cell].step_s, 1e-9 * before->cells[cell].step_s);
  window_.action("undo")->trigger();
  EXPECT_EQ(value("gpus"), "[4, 8]");
}

TEST_F(SweepsInTheWindow, ADoubleClickTakesACellAndWhatCannotRunIsNotTaken) {
  look_at(0);
  SweepView& sweep = view<SweepView>();
  sweep.strategies().setCurrentIndex(0);
  emit sweep.strategies().activated(0);
  ASSERT_TRUE(wait_until([&] { return shown().sweep->strategy == Strategy::Dp; }));
  ASSERT_TRUE(map_simulated());
  const auto& cells = shown().sweep->cells;
  ASSERT_EQ(cells[3].state, CellState::NotRun);  // DataParallel on two machines
  sweep.map().select(std::size_t{3});
  EXPECT_TRUE(sweep.details().contains("cannot run")) << sweep.details().toStdString();
  EXPECT_FALSE(sweep.use_button().isEnabled());
  QTest::keyClick(&sweep.map(), Qt::Key_Return);
  EXPECT_EQ(window_.document().undo().count(), 0);
  QTest::mouseDClick(&sweep.map(), Qt::LeftButton, {}, sweep.map().area_of(2).center().toPoint());
  EXPECT_EQ(value("gpus"), "[2, 4]");
  EXPECT_EQ(value("strategy"), "[dp, ddp]");  // it was not among them
}

TEST_F(SweepsInTheWindow, OtherAxesAreSweptAndAWrongListTurnsRed) {
  look_at(0);
  SweepView& sweep = view<SweepView>();
  QComboBox& keys = sweep.axis(1).keys();
  keys.lineEdit()->setText("ddp.bucket_cap");  // typed
  emit keys.lineEdit()->editingFinished();
  ASSERT_TRUE(wait_until([&] { return shown().sweep->axes[1].key == "ddp.bucket_cap"; }));
  QLineEdit& values = sweep.axis(1).values();
  values.setText("1MiB, -5MiB");
  emit values.editingFinished();
  EXPECT_TRUE(sweep.axis(1).wrong());
  EXPECT_TRUE(values.property("wrong").toBool());
  ASSERT_TRUE(map_simulated());
  EXPECT_EQ(values.text().toStdString(), "1MiB, -5MiB");  // stays until it is mended or taken back
  QTest::keyClick(&values, Qt::Key_Escape);
  EXPECT_FALSE(sweep.axis(1).wrong());
  values.setText("default, 25MiB");
  emit values.editingFinished();
  ASSERT_TRUE(map_simulated());
  EXPECT_EQ(shown().sweep->cells.size(), 10U);
  for (const char* text : {"", "25MiB, 25MiB", "[1MiB", "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17"}) {
    values.setText(text);
    emit values.editingFinished();
    EXPECT_TRUE(sweep.axis(1).wrong()) << text;
  }
  EXPECT_EQ(shown().sweep->cells.size(), 10U);
}

TEST_F(SweepsInTheWindow, ChoosingTheKeyOfTheOtherAxisSwapsThem) {
  ASSERT_TRUE(map_estimated());
  const std::string up = shown().sweep->axes[1].key;
  window_.sweeps().choose_key(0, up);
  EXPECT_EQ(shown().sweep->axes[0].key, up);
  EXPECT_EQ(shown().sweep->axes[1].key, "gpus");
  EXPECT_TRUE(map_estimated());
}

TEST_F(SweepsInTheWindow, StopKeepsEstimatesAndSimulateGoesOn) {
  setenv("LOCKSTEP_PROGRAM", testing::script("exec sleep 60").toLocal8Bit(), 1);
  look_at(0);
  ASSERT_TRUE(wait_until([&] { return window_.sweeps().running(); }));
  ASSERT_TRUE(map_estimated());
  EXPECT_TRUE(window_.action("stop")->isEnabled());
  window_.action("stop")->trigger();
  EXPECT_FALSE(window_.sweeps().running());
  EXPECT_FALSE(window_.action("stop")->isEnabled());
  EXPECT_EQ(window_.session().state(), RunState::Done);  // the answer stays what it was
  QPushButton& run = view<SweepView>().run_button();
  EXPECT_TRUE(run.isVisible());
  EXPECT_EQ(run.text().toStdString(), "Simulate");
  setenv("LOCKSTEP_PROGRAM", LOCKSTEP_PROGRAM_FILE, 1);
  run.click();
  EXPECT_TRUE(map_simulated());
  EXPECT_FALSE(run.isVisible());
}

TEST_F(SweepsInTheWindow, ACrashIsShownWithItsLastWordsAndTriedOnlyWhenAsked) {
  const QString counted = testing::temporary_path("starts");
  setenv("LOCKSTEP_PROGRAM",
         testing::script("echo x >> " + counted + "; echo 'last words' >&2; kill -ABRT $$").toLocal8Bit(), 1);
  look_at(0);
  ASSERT_TRUE(wait_until([&] { return !shown().sweep->failure.isEmpty(); }));
  EXPECT_TRUE(shown().sweep->failure.contains("last words")) << shown().sweep->failure.toStdString();
  wait_until([] { return false; }, 100);
  EXPECT_EQ(testing::text_of_file(counted.toStdString()), "x\n");
  EXPECT_TRUE(map_estimated());
  setenv("LOCKSTEP_PROGRAM", LOCKSTEP_PROGRAM_FILE, 1);
  view<SweepView>().run_button().click();
  ASSERT_TRUE(map_simulated());
  EXPECT_TRUE(shown().sweep->failure.isEmpty());
}

TEST_F(SweepsInTheWindow, PointsOfAPartialSweepAreKeptWhenTheChildDies) {
  setenv(
      "LOCKSTEP_PROGRAM",
      testing::script(QStringLiteral("%1 \"$@\" | head -n 9; kill -KILL $$").arg(LOCKSTEP_PROGRAM_FILE)).toLocal8Bit(),
      1);
  look_at(0);
  ASSERT_TRUE(wait_until([&] { return !shown().sweep->failure.isEmpty(); }));
  const int kept = shown().sweep->done;
  EXPECT_GT(kept, 0);
  EXPECT_LT(kept, static_cast<int>(shown().sweep->cells.size()));
  setenv("LOCKSTEP_PROGRAM", LOCKSTEP_PROGRAM_FILE, 1);
  view<SweepView>().run_button().click();
  EXPECT_TRUE(map_simulated());
}

TEST_F(SweepsInTheWindow, AChangedScenarioMakesThemStaleThenNew) {
  look_at(0);
  ASSERT_TRUE(map_simulated());
  const double before = shown().sweep->cells.back().step_s;
  ASSERT_TRUE(window_.document().set("batch.per_gpu", "32").empty());
  ASSERT_TRUE(wait_until([&] { return done() && shown().result->runs.back().per_gpu_batch == 32; }));
  ASSERT_TRUE(map_simulated());
  EXPECT_LT(shown().sweep->cells.back().step_s, before);
}

TEST_F(SweepsInTheWindow, AWrongScenarioLeavesThemGrey) {
  ASSERT_TRUE(map_estimated());
  ASSERT_TRUE(window_.document().set("gpus", "[8]").empty());
  ASSERT_TRUE(window_.document().set("topology.fabric", "none").empty());  // eight GPUs on a machine of four
  ASSERT_TRUE(wait_until([&] { return window_.session().state() == RunState::Wrong; }));
  EXPECT_TRUE(wait_until([&] { return shown().sweep->stale && shown().bucket_curve->stale; }));
}

TEST_F(SweepsInTheWindow, AFileThatListsValuesOpensAsAMapOfThem) {
  const QString path = testing::temporary_path("lists.yaml");
  QFile file(path);
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  file.write(
      "model: resnet50\nbatch: {per_gpu: [32, 64, 128]}\ntopology: dgx-a100-80gb\ngpus: 8\nstrategy: ddp\n"
      "precision: [fp32, tf32]\n");
  file.close();
  window_.open_any(path);
  ASSERT_TRUE(wait_until([&] {
    return shown().sweep && !window_.sweeps().running() && shown().sweep->cells.size() == 6U &&
           shown().sweep->done == 6;
  }));
  EXPECT_EQ(shown().sweep->axes[0].key, "batch.per_gpu");
  EXPECT_EQ(shown().sweep->axes[1].key, "precision");
  EXPECT_EQ(testing::tab_in_front(window_), "Sweep");
  HeatMap& map = view<SweepView>().map();
  map.select(std::size_t{4});
  QTest::keyClick(&map, Qt::Key_Return);
  ASSERT_TRUE(wait_until([&] { return done() && shown().result; }));
  EXPECT_EQ(value("batch.per_gpu"), "64");
  EXPECT_EQ(value("precision"), "tf32");
  ASSERT_TRUE(wait_until([&] { return shown().sweep->present == 4U; }));
  EXPECT_EQ(largest_ddp().step_time_s, shown().sweep->cells[4].step_s);
  window_.action("undo")->trigger();
  EXPECT_TRUE(wait_until([&] { return window_.session().state() == RunState::Wrong; }));
}

TEST_F(SweepsInTheWindow, WithoutDdpThereIsAReasonInPlaceOfTheCurve) {
  ASSERT_TRUE(window_.document().apply({"strategy=dp", "gpus=[1, 4]"}, "dp").empty());
  ASSERT_TRUE(wait_until([&] { return done() && !shown().bucket_curve->missing.isEmpty(); }));
  EXPECT_TRUE(view<BucketView>().description().contains("DDP"));
  EXPECT_EQ(shown().sweep->strategy, Strategy::Dp);
  EXPECT_TRUE(map_estimated());
}

TEST_F(SweepsInTheWindow, AreExportedSimulatedWithPictureAndNumbers) {
  bool ended = false;
  window_.sweeps().finish([&] { ended = true; });
  ASSERT_TRUE(wait_until([&] { return ended; }));
  EXPECT_FALSE(shown().bucket_curve->estimated());
  EXPECT_EQ(shown().sweep->done, static_cast<int>(shown().sweep->cells.size()));
  QString why;
  const QStringList files = export_views({&view<SweepView>(), &view<BucketView>()}, all_formats(),
                                         testing::temporary_path("sweeps"), "a", &why);
  ASSERT_EQ(files.size(), 8) << why.toStdString();
  for (const QString& path : files) {
    const std::string text = testing::text_of_file(path.toStdString());
    EXPECT_GT(text.size(), 500U) << path.toStdString();
    if (path.endsWith("a-sweep.svg")) {
      EXPECT_NE(text.find(">31.9<"), std::string::npos);
      EXPECT_NE(text.find("Network adapter rate (GB/s)"), std::string::npos);
    }
    if (path.endsWith("bucket-size.svg")) {
      EXPECT_NE(text.find("exposed communication"), std::string::npos);
    }
    if (path.endsWith("a-sweep.csv")) {
      EXPECT_NE(text.find("gpus,topology.override.nic.rate,strategy,GPUs,step (ms)"), std::string::npos);
    }
    if (path.endsWith("bucket-size.csv")) {
      EXPECT_NE(text.find("default: the first bucket 1 MiB"), std::string::npos);
    }
  }
}

TEST_F(SweepsInTheWindow, APinnedCurveStaysBehindTheNewOne) {
  look_at(1);
  ASSERT_TRUE(curve_simulated());
  const auto before = shown().bucket_curve;
  window_.action("pin")->trigger();
  ASSERT_TRUE(window_.document().set("batch.per_gpu", "32").empty());
  ASSERT_TRUE(wait_until([&] { return done() && shown().result->runs.back().per_gpu_batch == 32; }));
  ASSERT_TRUE(curve_simulated());
  EXPECT_EQ(shown().baseline_curve, before);
  EXPECT_NE(shown().bucket_curve, before);
  window_.action("pin")->trigger();
  EXPECT_EQ(shown().baseline_curve, nullptr);
}

}  // namespace
}  // namespace lockstep::gui
