// Timeline and topology in the window: what reaches them, and when.
#include <gtest/gtest.h>

#include <QApplication>
#include <QComboBox>
#include <QKeyEvent>
#include <QLabel>
#include <QMessageBox>
#include <QPixmap>
#include <QTabWidget>
#include <algorithm>
#include <fstream>
#include <stdexcept>

#include "gui/app/main_window.h"
#include "gui/charts/breakdown_view.h"
#include "gui/export/export_view.h"
#include "gui/timeline/timeline_view.h"
#include "gui/topology/topology_view.h"
#include "simulator/result/json.h"
#include "tests/gui/support.h"

namespace lockstep::gui {
namespace {

using testing::wait_until;

template <class V>
V& view_of(MainWindow& window) {
  for (View* view : window.views())
    if (auto* found = dynamic_cast<V*>(view)) return *found;
  throw std::logic_error("no such view");
}

class ViewsInTheWindow : public ::testing::Test {
 protected:
  void SetUp() override {
    window_.show();
    window_.open_any("dp-vs-ddp-resnet50-8xa100");
  }
  const Timeline& timeline() { return view_of<TimelineView>(window_).timeline().picture().timeline(); }
  void bring_timeline_forward() { window_.show_view("timeline"); }
  bool wait_for_simulated_spans() {
    return wait_until([&] { return !timeline().empty() && !window_.session().shown().spans_estimated; });
  }
  int groups_of(TimelineOrigin origin) {
    const auto& groups = timeline().groups;
    return static_cast<int>(
        std::count_if(groups.begin(), groups.end(), [&](const auto& g) { return g.origin == origin; }));
  }
  QString all_words() {
    QStringList words;
    for (std::size_t g = 0; g < timeline().groups.size(); ++g) words << group_words(timeline(), static_cast<int>(g));
    return words.join(' ');
  }
  // What the last message box says, closed.
  static QString message() {
    QString text;
    for (QWidget* widget : QApplication::topLevelWidgets())
      if (auto* box = qobject_cast<QMessageBox*>(widget); box != nullptr && box->isVisible()) {
        text = box->text() + ' ' + box->informativeText();
        box->close();
      }
    return text;
  }
  const MachineDrawing& machine() { return view_of<TopologyView>(window_).topology().drawing(); }
  MainWindow window_;
};

TEST_F(ViewsInTheWindow, AStoredAnswerGetsTimelineAndMachineFromTheEstimate) {
  ASSERT_TRUE(wait_until([&] { return !timeline().empty() && !machine().empty(); }));
  EXPECT_EQ(timeline().groups.size(), 3U);
  EXPECT_FALSE(window_.session().shown().estimated);
  EXPECT_EQ(machine().frames.size(), 1U);
}

TEST_F(ViewsInTheWindow, AChangeReachesThemBeforeAndAfterTheSimulation) {
  ASSERT_TRUE(wait_until([&] { return !timeline().empty() && !machine().empty(); }));
  const double before = timeline().step_s;
  ASSERT_TRUE(window_.document().set("batch.per_gpu", "32").empty());
  ASSERT_TRUE(wait_until([&] { return timeline().step_s < 0.9 * before; }));
  ASSERT_TRUE(wait_until([&] { return window_.session().state() == RunState::Done; }));
  EXPECT_LT(timeline().step_s, 0.9 * before);
  EXPECT_FALSE(timeline().empty());
  ASSERT_TRUE(window_.document().set("topology.node", "a100-pcie-8gpu").empty());
  ASSERT_TRUE(wait_until([&] { return !machine().empty() && machine().frames.front().title.startsWith("a100-pcie"); }));
}

TEST_F(ViewsInTheWindow, TheSimulatedSpansComeOnceTheTimelineIsInFront) {
  window_.open_any("second-node-10gbe");
  ASSERT_TRUE(wait_until([&] { return !timeline().empty() && window_.session().shown().spans_estimated; }));
  bring_timeline_forward();
  ASSERT_TRUE(wait_for_simulated_spans());
  EXPECT_FALSE(all_words().contains("without contention")) << all_words().toStdString();
  // The spans are those of the step that the result tells of.
  for (const TimelineGroup& group : timeline().groups) {
    double end_s = 0;
    for (const TimelineLane& lane : group.lanes)
      if (lane.kind == TimelineLane::Kind::Compute) end_s = std::max(end_s, lane.spans.back().end_s);
    EXPECT_NEAR(end_s, group.step_s, 1e-6 * group.step_s);
  }
}

TEST_F(ViewsInTheWindow, SpansFollowAChangeWhileTheTimelineIsInFront) {
  bring_timeline_forward();
  ASSERT_TRUE(wait_for_simulated_spans());
  const double before = timeline().step_s;
  ASSERT_TRUE(window_.document().set("batch.per_gpu", "32").empty());
  ASSERT_TRUE(
      wait_until([&] { return timeline().step_s < 0.9 * before && window_.session().state() == RunState::Done; }));
  ASSERT_TRUE(wait_for_simulated_spans());
  EXPECT_FALSE(window_.session().request_spans());  // they are there
}

TEST_F(ViewsInTheWindow, RanksThatNoiseMakesDifferentAreShownApart) {
  window_.open_any("noisy-ranks");
  ASSERT_TRUE(wait_until([&] { return !timeline().empty(); }));
  bring_timeline_forward();
  ASSERT_TRUE(wait_for_simulated_spans());
  EXPECT_GT(timeline().groups.size(), 4U);
  std::vector<QString> ranks;
  for (const TimelineGroup& group : timeline().groups) ranks.push_back(group.ranks);
  std::sort(ranks.begin(), ranks.end());
  EXPECT_EQ(std::adjacent_find(ranks.begin(), ranks.end()), ranks.end());
}

TEST_F(ViewsInTheWindow, WithoutAProgramTheEstimatesSpansStay) {
  qputenv("LOCKSTEP_PROGRAM", testing::script("exit 3").toLocal8Bit());
  ASSERT_TRUE(wait_until([&] { return !timeline().empty(); }));
  QString trouble;
  QObject::connect(&window_.session(), &Session::spans_ended, [&](const QString& why) { trouble = why; });
  bring_timeline_forward();
  ASSERT_TRUE(wait_until([&] { return !trouble.isEmpty(); }));
  EXPECT_TRUE(window_.session().shown().spans_estimated);
  EXPECT_FALSE(timeline().empty());
  qputenv("LOCKSTEP_PROGRAM", LOCKSTEP_PROGRAM_FILE);
}

// --- traces ---

QString trace_file(const char* name) {
  return QString::fromStdString(testing::source_path(std::string("tests/data/traces/") + name));
}

TEST_F(ViewsInTheWindow, TracesOfSeveralRanksStandBelowThePredictionOfTheirKind) {
  ASSERT_TRUE(window_.document().set("gpus", "[1, 2]").empty());
  ASSERT_TRUE(wait_until([&] { return window_.session().state() == RunState::Done && !timeline().empty(); }));
  for (const char* name : {"ddp-two-gpus-rank0.json", "ddp-two-gpus-rank1.json"}) window_.open_any(trace_file(name));
  ASSERT_TRUE(wait_until([&] { return groups_of(TimelineOrigin::Measured) == 2; }));
  EXPECT_EQ(testing::tab_in_front(window_), "Timeline");
  const auto& groups = timeline().groups;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (groups[g].origin != TimelineOrigin::Measured) continue;
    EXPECT_EQ(groups[g].title, QStringLiteral("DDP ×2"));
    ASSERT_GE(groups[g].beside, 0);
    EXPECT_EQ(groups[static_cast<std::size_t>(groups[g].beside)].origin, TimelineOrigin::Predicted);
    EXPECT_EQ(groups[g - 1].strategy, Strategy::Ddp);
    EXPECT_EQ(groups[g].note, QStringLiteral("step 9 of its trace"));
  }
  // Another step of the traces.
  TimelineView& view = view_of<TimelineView>(window_);
  ASSERT_EQ(view.traced_step().count(), 4);  // of median length, 7, 8, 9
  EXPECT_TRUE(view.traced_step().isVisible());
  view.traced_step().setCurrentIndex(1);
  EXPECT_EQ(groups.back().note, QStringLiteral("step 7 of its trace"));
  window_.session().remove_measured();
  EXPECT_EQ(groups_of(TimelineOrigin::Measured), 0);
  EXPECT_FALSE(view.traced_step().isVisible());
}

TEST_F(ViewsInTheWindow, ATraceIsShownWithoutAScenario) {
  window_.show_gallery();
  window_.session().start_over();
  window_.open_any(trace_file("gloo-ddp-2.json"));
  ASSERT_TRUE(wait_until([&] { return groups_of(TimelineOrigin::Measured) == 1; }));
  EXPECT_TRUE(all_words().contains("no step is marked")) << all_words().toStdString();
  QApplication::processEvents();
  EXPECT_TRUE(view_of<TimelineView>(window_).widget()->isVisible());
}

TEST_F(ViewsInTheWindow, ATraceThatLockstepPredictedIsCalledThat) {
  const QString path = testing::temporary_path("p.json");
  ASSERT_TRUE(wait_until([&] { return !timeline().empty(); }));
  const QString line =
      QStringLiteral(
          "%1 predict dp-vs-ddp-resnet50-8xa100 --set gpus=8 --set strategy=ddp --quiet --trace %2 > /dev/null")
          .arg(QStringLiteral(LOCKSTEP_PROGRAM_FILE), path);
  ASSERT_EQ(std::system(line.toLocal8Bit().constData()), 0);
  window_.open_any(path);
  ASSERT_TRUE(wait_until([&] { return groups_of(TimelineOrigin::Stored) == 1; }));
  EXPECT_TRUE(all_words().contains("predicted before"));
}

TEST_F(ViewsInTheWindow, OfACutTraceIsShownWhatIsThereAndSaidWhereItEnds) {
  const std::string text = testing::text_of_file(trace_file("ddp-two-gpus-rank0.json").toStdString());
  const QString path = testing::temporary_path("cut.json");
  std::ofstream(path.toStdString()) << text.substr(0, text.size() * 2 / 3);
  window_.open_any(path);
  ASSERT_TRUE(wait_until([&] { return groups_of(TimelineOrigin::Measured) == 1; }));
  const QString said = message();
  EXPECT_TRUE(said.contains("cut.json is not whole")) << said.toStdString();
  EXPECT_TRUE(said.contains("events were read")) << said.toStdString();
}

TEST_F(ViewsInTheWindow, ABrokenTraceChangesNothingAndSaysWhy) {
  const QString path = testing::temporary_path("broken.json");
  std::ofstream(path.toStdString()) << R"({"schemaVersion": 1, "traceEvents": [})";
  ASSERT_TRUE(wait_until([&] { return !timeline().empty(); }));
  const std::size_t before = timeline().groups.size();
  window_.open_any(path);
  QString said;
  ASSERT_TRUE(wait_until([&] {
    said += message();
    return !said.isEmpty();
  }));
  EXPECT_TRUE(said.contains("broken.json is no trace")) << said.toStdString();
  EXPECT_EQ(timeline().groups.size(), before);
}

// --- from one view to another ---

TEST_F(ViewsInTheWindow, ASegmentOfTheBreakdownLightsItsSpansInTheTimeline) {
  ASSERT_TRUE(wait_until([&] { return !timeline().empty(); }));
  auto* chart = qobject_cast<ChartPanel*>(view_of<BreakdownView>(window_).widget());
  ASSERT_NE(chart, nullptr);
  QKeyEvent left(QEvent::KeyPress, Qt::Key_Left, Qt::NoModifier),
      enter(QEvent::KeyPress, Qt::Key_Return, Qt::NoModifier);
  TimelineWidget& widget = view_of<TimelineView>(window_).timeline();
  for (int i = 0; i < 4 && !widget.lit(); ++i) {  // the last parts of the last bar; for `other` no span stands
    QApplication::sendEvent(chart, &left);
    QApplication::sendEvent(chart, &enter);
    EXPECT_EQ(testing::tab_in_front(window_), "Timeline");
  }
  ASSERT_TRUE(widget.lit());
  EXPECT_TRUE(view_of<TimelineView>(window_).widget()->isVisible());
  EXPECT_EQ(widget.lit()->strategy, Strategy::Ddp);
  QKeyEvent escape(QEvent::KeyPress, Qt::Key_Escape, Qt::NoModifier);
  QApplication::sendEvent(&widget, &escape);
  EXPECT_FALSE(widget.lit());
}

TEST_F(ViewsInTheWindow, ALinkOfTheMachineLightsWhatCrossesIt) {
  ASSERT_TRUE(wait_until([&] { return !timeline().empty() && !machine().empty(); }));
  TopologyView& topology = view_of<TopologyView>(window_);
  TopologyWidget& widget = topology.topology();
  const auto& links = machine().links;
  const auto slowest =
      std::find_if(links.begin(), links.end(), [](const MachineLink& link) { return link.load.slowest; });
  ASSERT_NE(slowest, links.end());
  widget.select(static_cast<int>(slowest - links.begin()));
  QKeyEvent enter(QEvent::KeyPress, Qt::Key_Return, Qt::NoModifier);
  QApplication::sendEvent(&widget, &enter);
  TimelineWidget& spans = view_of<TimelineView>(window_).timeline();
  ASSERT_TRUE(spans.lit());
  EXPECT_TRUE(spans.lit()->collectives);
  EXPECT_FALSE(spans.lit()->copies);
  const auto lit = spans.picture().lit_by(*spans.lit());
  const auto& run = window_.session().shown().result->runs.back();
  EXPECT_EQ(lit.spans, std::count_if(run.timeline.begin(), run.timeline.end(),
                                     [](const Span& span) { return span.lane == Lane::Communication; }));
}

// The whole window with each of them in front (LOCKSTEP_SCREENS=FOLDER keeps the pictures).
TEST_F(ViewsInTheWindow, EachHasATabInWhichNothingIsCut) {
  ASSERT_TRUE(wait_until([&] { return window_.session().has_details(); }));
  auto* tabs = window_.findChild<QTabWidget*>();
  QStringList names;
  for (int i = 0; i < tabs->count(); ++i) {
    names << tabs->tabText(i);
    tabs->setCurrentIndex(i);
    QApplication::processEvents();
    const QPixmap picture = window_.grab();
    for (const QLabel* label : tabs->currentWidget()->findChildren<QLabel*>())
      if (label->isVisible() && label->wordWrap()) {
        EXPECT_LE(label->heightForWidth(label->width()), label->height() + 1) << label->text().toStdString();
      }
    const QString folder = qEnvironmentVariable("LOCKSTEP_SCREENS");
    if (!folder.isEmpty()) {
      EXPECT_TRUE(picture.save(QStringLiteral("%1/window-tab%2.png").arg(folder).arg(i)));
    }
  }
  EXPECT_TRUE(names.contains(view_of<TimelineView>(window_).title())) << names.join(' ').toStdString();
  EXPECT_TRUE(names.contains(view_of<TopologyView>(window_).title())) << names.join(' ').toStdString();
}

TEST_F(ViewsInTheWindow, APinnedResultKeepsItsSpans) {
  ASSERT_TRUE(wait_until([&] { return !timeline().empty(); }));
  window_.session().pin(true);
  ASSERT_TRUE(window_.document().set("batch.per_gpu", "64").empty());
  ASSERT_TRUE(wait_until([&] { return timeline().groups.size() == 5U; }));
}

TEST_F(ViewsInTheWindow, AnotherFileStartsOver) {
  ASSERT_TRUE(wait_until([&] { return !timeline().empty(); }));
  window_.open_any("second-node-10gbe");
  ASSERT_TRUE(wait_until([&] { return timeline().groups.size() == 1U; }));
  ASSERT_TRUE(wait_until([&] { return !machine().empty() && machine().frames.front().title.contains("2 nodes"); }));
}

TEST_F(ViewsInTheWindow, BothAreExportedWithPictureAndNumbers) {
  ASSERT_TRUE(wait_until([&] { return !timeline().empty() && !machine().empty(); }));
  QString why;
  const QStringList files = export_views({&view_of<TimelineView>(window_), &view_of<TopologyView>(window_)},
                                         all_formats(), testing::temporary_path("views"), "a", &why);
  EXPECT_TRUE(why.isEmpty()) << why.toStdString();
  ASSERT_EQ(files.size(), 8);
  for (const QString& path : files) {
    const std::string text = testing::text_of_file(path.toStdString());
    EXPECT_GT(text.size(), 500U) << path.toStdString();
    if (path.endsWith("timeline.svg")) {
      EXPECT_NE(text.find("GPU compute"), std::string::npos);
    }
    if (path.endsWith("topology.svg")) {
      EXPECT_NE(text.find("NVSwitch"), std::string::npos);
    }
    if (path.endsWith("topology.csv")) {
      EXPECT_NE(text.find("node0.gpu7.nvlink"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace lockstep::gui
