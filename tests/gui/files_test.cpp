// Files around the window: recent ones, several dropped at once, a file that changes on disk, results alone, the mark
// of what is not saved.
#include <gtest/gtest.h>

#include <QAction>
#include <QApplication>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QFile>
#include <QFileInfo>
#include <QFrame>
#include <QLabel>
#include <QMenu>
#include <QMenuBar>
#include <QMimeData>
#include <QPushButton>
#include <QStatusBar>
#include <QUrl>

#include "gui/app/gallery_page.h"
#include "gui/app/main_window.h"
#include "simulator/result/json.h"
#include "tests/gui/support.h"

namespace lockstep::gui {
namespace {

using testing::wait_until;

QString write(const QString& name, const std::string& text) {
  const QString path = testing::temporary_path(name);
  QFile file(path);
  EXPECT_TRUE(file.open(QIODevice::WriteOnly));
  file.write(QByteArray::fromStdString(text));
  return path;
}

std::string scenario(int batch) {
  return "model: resnet18\nbatch: {per_gpu: " + std::to_string(batch) + "}\ntopology: dgx1-v100\ngpus: [1, 2]\n";
}

class Files : public ::testing::Test {
 protected:
  void SetUp() override { window.show(); }
  void TearDown() override { window.document().undo().setClean(); }
  bool simulated() {
    return wait_until([&] { return window.session().state() == RunState::Done; });
  }
  QPushButton* reload() { return window.findChild<QPushButton*>("reload"); }
  void drop(const QStringList& paths) {
    QMimeData data;
    QList<QUrl> urls;
    for (const QString& path : paths) urls << QUrl::fromLocalFile(path);
    data.setUrls(urls);
    QDragEnterEvent enter(QPoint(5, 5), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(&window, &enter);
    EXPECT_TRUE(enter.isAccepted());
    QDropEvent event(QPointF(5, 5), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(&window, &event);
  }
  QString measured(const QString& name) {
    Result result = *window.session().shown().result;
    result.kind = "measured";
    return write(name, result_to_json(result));
  }
  MainWindow window;
};

TEST_F(Files, ResultsDroppedBeforeTheirScenarioJoinItAllTheSame) {
  const QString path = write("dropped.yaml", scenario(32));
  window.open_any(path);
  ASSERT_TRUE(simulated());
  const QStringList results = {measured("a.json"), measured("b.json")};
  window.show_gallery();
  drop({results[0], path, results[1]});
  ASSERT_TRUE(simulated());
  EXPECT_EQ(window.document().name(), "dropped.yaml");
  EXPECT_EQ(window.session().shown().measured.size(), 2U);
}

TEST_F(Files, AMeasuredResultAloneBringsItsScenario) {
  window.open_any(write("source.yaml", scenario(32)));
  ASSERT_TRUE(simulated());
  const QString result = measured("alone.json");
  MainWindow other;
  other.show();
  other.open_any(result);
  ASSERT_TRUE(wait_until([&] { return other.session().state() == RunState::Done; })) << other.document().text();
  EXPECT_EQ(other.document().values().at("batch.per_gpu").yaml, "32");
  EXPECT_EQ(other.session().shown().measured.size(), 1U);
  EXPECT_EQ(other.session().shown().result->kind, "predicted");
  EXPECT_TRUE(other.document().path().isEmpty());
}

TEST_F(Files, RecentFilesOpenFromTheMenuTheLastOneFirst) {
  const QString one = write("one.yaml", scenario(16)), two = write("two.yaml", scenario(64));
  window.open_any(one);
  window.open_any(two);
  QMenu* recent = nullptr;
  for (auto* menu : window.findChildren<QMenu*>())
    if (menu->title().contains("Recent")) recent = menu;
  ASSERT_NE(recent, nullptr);
  emit recent->aboutToShow();
  ASSERT_GE(recent->actions().size(), 2);
  EXPECT_EQ(recent->actions()[0]->text(), two);
  EXPECT_EQ(recent->actions()[1]->text(), one);
  QFile::remove(two);
  emit recent->aboutToShow();
  EXPECT_EQ(recent->actions()[0]->text(), one);  // what is gone is not offered
  recent->actions()[0]->trigger();
  EXPECT_EQ(window.document().name(), "one.yaml");
}

TEST_F(Files, TheMarkOfWhatIsNotSavedComesWithAChangeAndGoesWithUndo) {
  window.open_any(write("mark.yaml", scenario(32)));
  EXPECT_FALSE(window.isWindowModified());
  ASSERT_TRUE(window.document().set("batch.per_gpu", "64").empty());
  EXPECT_TRUE(window.isWindowModified());
  window.action("undo")->trigger();
  EXPECT_FALSE(window.isWindowModified());
  ASSERT_TRUE(window.document().set("batch.per_gpu", "64").empty());
  ASSERT_TRUE(window.save_to(window.document().path()));
  EXPECT_FALSE(window.isWindowModified());
}

TEST_F(Files, AFileThatChangesOnDiskIsToldAndReloadedAsAStep) {
  const QString path = write("watched.yaml", scenario(32));
  window.open_any(path);
  ASSERT_TRUE(simulated());
  EXPECT_FALSE(reload()->isVisible());
  write("watched.yaml", scenario(128));
  ASSERT_TRUE(wait_until([&] { return reload()->isVisible(); }));
  EXPECT_EQ(window.document().values().at("batch.per_gpu").yaml, "32");
  reload()->click();
  EXPECT_EQ(window.document().values().at("batch.per_gpu").yaml, "128");
  EXPECT_FALSE(window.isWindowModified());
  EXPECT_FALSE(reload()->isVisible());
  window.action("undo")->trigger();
  EXPECT_EQ(window.document().values().at("batch.per_gpu").yaml, "32");
  EXPECT_TRUE(window.isWindowModified());
}

TEST_F(Files, AFileThatIsReplacedByRenamingIsStillWatched) {
  const QString path = write("renamed.yaml", scenario(32));
  window.open_any(path);
  for (const int batch : {64, 96}) {
    const QString beside = write("renamed.new", scenario(batch));
    QFile::remove(path);
    ASSERT_TRUE(QFile::rename(beside, path));
    ASSERT_TRUE(wait_until([&] { return reload()->isVisible(); })) << batch;
    reload()->click();
    EXPECT_EQ(window.document().values().at("batch.per_gpu").yaml, std::to_string(batch));
  }
}

TEST_F(Files, AFileThatIsDeletedIsToldAndCanBeSavedAgain) {
  const QString path = write("deleted.yaml", scenario(32));
  window.open_any(path);
  ASSERT_TRUE(simulated());
  auto* text = window.findChild<QLabel*>("changed");
  ASSERT_NE(text, nullptr);
  QFile::remove(path);
  ASSERT_TRUE(wait_until([&] { return text->isVisible(); }));
  EXPECT_TRUE(text->text().contains("cannot be read from disk"));
  EXPECT_FALSE(reload()->isVisible());
  ASSERT_TRUE(window.save_to(path));
  EXPECT_FALSE(text->isVisible());
  write("deleted.yaml", scenario(64));  // and it is watched again
  ASSERT_TRUE(wait_until([&] { return reload()->isVisible(); }));
}

TEST_F(Files, OfSeveralScenariosTheFirstOpensAndTheOthersAreNamed) {
  const QString one = write("first.yaml", scenario(16)), two = write("second.yaml", scenario(64));
  window.open_several({one, two});
  EXPECT_EQ(window.document().name(), "first.yaml");
  EXPECT_TRUE(window.statusBar()->currentMessage().contains(two)) << window.statusBar()->currentMessage().toStdString();
}

TEST_F(Files, SavingByTheWindowItselfIsNoChangeOnDisk) {
  window.open_any(write("own.yaml", scenario(32)));
  ASSERT_TRUE(window.document().set("batch.per_gpu", "64").empty());
  ASSERT_TRUE(window.save_to(window.document().path()));
  wait_until([] { return false; }, 500);
  EXPECT_FALSE(reload()->isVisible());
}

}  // namespace
}  // namespace lockstep::gui
