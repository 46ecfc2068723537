// Timeline and topology in the window: what reaches them, and when.
#include <gtest/gtest.h>

#include <QApplication>
#include <QLabel>
#include <QPixmap>
#include <QTabWidget>
#include <stdexcept>

#include "gui/app/main_window.h"
#include "gui/export/export_view.h"
#include "gui/timeline/timeline_view.h"
#include "gui/topology/topology_view.h"
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
