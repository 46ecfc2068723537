// Comparing in the window: pinning, loading, and that the numbers are those of the command line.
#include <gtest/gtest.h>

#include <QAction>
#include <QApplication>
#include <QFile>
#include <QKeyEvent>
#include <QLabel>
#include <QMessageBox>
#include <QProcess>
#include <QPushButton>
#include <QTabWidget>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "gui/app/answer_bar.h"
#include "gui/app/main_window.h"
#include "gui/app/pages.h"
#include "gui/compare/difference_view.h"
#include "gui/compare/error_view.h"
#include "simulator/result/json.h"
#include "tests/gui/support.h"

namespace lockstep::gui {
namespace {

using nlohmann::json;
using testing::wait_until;

bool simulated(MainWindow& window) {
  return wait_until([&] { return window.session().state() == RunState::Done; });
}

View& view_of(MainWindow& window, const QString& id) {
  for (View* view : window.views())
    if (view->id() == id) return *view;
  throw std::logic_error("no such view");
}

QStringList words_of(const QWidget& widget) {
  QStringList words;
  for (const QLabel* label : widget.findChildren<QLabel*>())
    if (label->isVisibleTo(&widget)) words << label->text();
  return words;
}

QString write_result(const Result& result, const QString& name) {
  QString path = testing::temporary_path(name);
  QFile file(path);
  EXPECT_TRUE(file.open(QIODevice::WriteOnly));
  file.write(QByteArray::fromStdString(result_to_json(result)));
  return path;
}

class Comparing : public ::testing::Test {
 protected:
  void SetUp() override {
    window.show();
    window.open_any("cpu-two-ranks");
    ASSERT_TRUE(simulated(window));
  }
  void TearDown() override { window.document().undo().setClean(); }
  std::shared_ptr<Result> measured_here(double factor) {
    auto measured = std::make_shared<Result>(*window.session().shown().result);
    measured->kind = "measured";
    for (lockstep::Run& run : measured->runs) {
      run.step_time_s *= factor;
      run.uncertainty.reset();
      run.samples = {{0, {run.step_time_s * 0.9, run.step_time_s, run.step_time_s * 1.3}}};
      run.breakdown_s[static_cast<std::size_t>(Cause::Backward)] += run.step_time_s * (1 - 1 / factor);
    }
    return measured;
  }
  MainWindow window;
};

TEST_F(Comparing, APinnedResultGivesEveryTableTheExactDifferenceAndUnpinningTakesItAway) {
  const QStringList before = view_of(window, "step-time").table().header;
  window.action("pin")->trigger();
  const auto pinned = window.session().shown().baseline;
  ASSERT_TRUE(window.document().set("ddp.bucket_cap", "1MiB").empty());
  ASSERT_TRUE(simulated(window));
  const auto now = window.session().shown().result;
  ASSERT_NE(now, pinned);
  const lockstep::Run &last = now->runs.back(), &old = pinned->runs.back();
  ASSERT_NE(last.step_time_s, old.step_time_s);
  for (const char* id : {"step-time", "breakdown"}) {
    const DataTable table = view_of(window, id).table();
    const auto absolute = table.header.indexOf("against pinned (ms)"),
               relative = table.header.indexOf("against pinned (%)");
    ASSERT_GE(absolute, 0) << id;
    ASSERT_GE(relative, 0) << id;
    bool found = false;
    for (const QStringList& row : table.rows) {
      if (row[0] != "DDP" && row[0] != QStringLiteral("DDP ×2")) continue;
      if (row[0] == "DDP" && row[1] != "2") continue;
      found = true;
      EXPECT_NEAR(row[absolute].toDouble(), (last.step_time_s - old.step_time_s) * 1e3, 0.0005 * last.step_time_s * 1e3)
          << id;
      EXPECT_NEAR(row[relative].toDouble(), (last.step_time_s / old.step_time_s - 1) * 100, 0.00501) << id;
    }
    EXPECT_TRUE(found) << id;
  }
  // The difference of the causes adds up to that of the step.
  double sum = 0, step = 0;
  for (const QStringList& row : view_of(window, "difference").table().rows) {
    if (row[0] != QStringLiteral("DDP ×2")) continue;
    (row[1] == "step" ? step : sum) += row[4].toDouble();
  }
  EXPECT_NEAR(step, (last.step_time_s - old.step_time_s) * 1e3, 1e-2 * std::abs(step) + 1e-3);
  EXPECT_NEAR(sum, step, 0.02 * std::abs(step) + 0.05);
  const QString said = words_of(window.answer()).join('\n');
  EXPECT_TRUE(said.contains("pinned, ")) << said.toStdString();
  EXPECT_TRUE(said.contains("changed since: ")) << said.toStdString();
  EXPECT_TRUE(said.contains("ddp.bucket_cap default → 1MiB")) << said.toStdString();
  EXPECT_TRUE(view_of(window, "difference").description().contains("instead of"));
  window.action("pin")->trigger();
  EXPECT_EQ(view_of(window, "step-time").table().header, before);
  EXPECT_TRUE(view_of(window, "difference").table().rows.empty());
  EXPECT_FALSE(words_of(window.answer()).join('\n').contains("Pinned"));
}

TEST_F(Comparing, TheTabOpensAtWhatHasSomethingToShowUnlessAnotherWasChosen) {
  auto* tabs = window.findChild<QTabWidget*>();
  ViewFrame* frame = nullptr;
  for (ViewFrame* one : window.findChildren<ViewFrame*>())
    if (one->views().front()->id() == "error") frame = one;
  ASSERT_NE(frame, nullptr);
  const auto open = [&] {
    tabs->setCurrentIndex(0);
    for (int tab = 0; tab < tabs->count(); ++tab)
      if (tabs->widget(tab)->isAncestorOf(frame)) tabs->setCurrentIndex(tab);
    ASSERT_TRUE(frame->isVisible());
  };
  open();
  EXPECT_EQ(frame->current()->id(), "error") << "nothing is measured or pinned";
  window.action("pin")->trigger();
  open();
  EXPECT_EQ(frame->current()->id(), "difference");
  for (auto* button : frame->findChildren<QPushButton*>())
    if (button->text() == view_of(window, "error").title()) button->click();
  open();
  EXPECT_EQ(frame->current()->id(), "error") << "chosen by hand";
}

TEST_F(Comparing, AnEstimateThatIsPinnedIsReplacedByItsSimulation) {
  ASSERT_TRUE(window.document().set("batch.per_gpu", "4").empty());
  ASSERT_TRUE(wait_until([&] { return window.session().state() == RunState::Waiting; }));
  window.action("pin")->trigger();
  EXPECT_TRUE(window.session().shown().baseline_estimated);
  EXPECT_TRUE(words_of(window.answer()).join('\n').contains("an estimate"));
  ASSERT_TRUE(simulated(window));
  EXPECT_FALSE(window.session().shown().baseline_estimated);
  ASSERT_TRUE(window.session().shown().baseline->runs.back().uncertainty);
  EXPECT_EQ(window.session().shown().baseline->runs.back().step_time_s,
            window.session().shown().result->runs.back().step_time_s);
}

TEST_F(Comparing, ALoadedMeasurementHasTheErrorsThatTheCommandLineTells) {
  const QString measured = write_result(*measured_here(1.12), "measured.json");
  const QString predicted = write_result(*window.session().shown().result, "predicted.json");
  window.open_any(measured);
  QProcess compare;
  compare.start(LOCKSTEP_PROGRAM_FILE, {"compare", predicted, measured, "--json"});
  ASSERT_TRUE(compare.waitForFinished());
  EXPECT_EQ(compare.exitCode(), 0);
  EXPECT_TRUE(compare.readAllStandardError().isEmpty());
  const json told = json::parse(compare.readAllStandardOutput().toStdString());
  auto& view = dynamic_cast<ErrorView&>(view_of(window, "error"));
  ASSERT_EQ(view.sets().size(), 1U);
  const ErrorSet& set = view.sets().front();
  ASSERT_EQ(set.points.size(), told["rows"].size());
  for (std::size_t i = 0; i < set.points.size(); ++i) {
    const json& row = told["rows"][i];
    EXPECT_EQ(set.points[i].row.name, row["name"].get<std::string>());
    EXPECT_EQ(set.points[i].row.step_time_s, row["predicted_s"].get<double>());
    EXPECT_EQ(set.points[i].row.reference_s, row["measured_s"].get<double>());
    EXPECT_EQ(set.points[i].row.error, row["error"].get<double>());
    ASSERT_EQ(set.points[i].row.parts.size(), row["parts"].size());
    for (std::size_t k = 0; k < row["parts"].size(); ++k)
      EXPECT_EQ(set.points[i].row.parts[k].seconds, row["parts"][k]["seconds"].get<double>());
    EXPECT_EQ(set.points[i].samples, 3);
  }
  EXPECT_EQ(set.comparison.mean_error(), told["summary"]["mean_error"].get<double>());
  EXPECT_EQ(set.comparison.constant->constant_mean_error, told["summary"]["null_errors"]["single"].get<double>());
  // And the text's columns are the table's.
  QProcess text;
  text.start(LOCKSTEP_PROGRAM_FILE, {"compare", predicted, measured});
  ASSERT_TRUE(text.waitForFinished());
  const QString lines = QString::fromUtf8(text.readAllStandardOutput());
  const DataTable table = view.table();
  for (const QStringList& row : table.rows) {
    EXPECT_TRUE(lines.contains(row[3])) << row[3].toStdString();
    EXPECT_TRUE(lines.contains(row[4])) << row[4].toStdString();
    EXPECT_TRUE(lines.contains(row[5])) << row[5].toStdString();
  }
  EXPECT_TRUE(view.description().contains("mean error"));
  window.action("unmeasure")->trigger();
  EXPECT_TRUE(view.sets().empty());
  EXPECT_TRUE(view.description().contains("No measurement loaded"));
}

TEST_F(Comparing, AFileOfAnotherScenarioWarnsAndGoesWhenTheScenarioFits) {
  const std::string batch = window.document().values().at("batch.per_gpu").yaml;
  window.open_any(write_result(*measured_here(1.1), "m.json"));
  EXPECT_FALSE(words_of(window.answer()).join('\n').contains("another scenario"));
  ASSERT_TRUE(window.document().set("batch.per_gpu", "4").empty());
  ASSERT_TRUE(simulated(window));
  const QString said = words_of(window.answer()).join('\n');
  EXPECT_TRUE(
      said.contains("m.json is of another scenario: batch.per_gpu is " + QString::fromStdString(batch) + ", not 4"))
      << said.toStdString();
  EXPECT_TRUE(view_of(window, "error").description().contains("another scenario"));
  ASSERT_TRUE(window.document().set("batch.per_gpu", batch).empty());
  ASSERT_TRUE(simulated(window));
  EXPECT_FALSE(words_of(window.answer()).join('\n').contains("another scenario"));
}

TEST_F(Comparing, NonsenseInAFileIsRefusedWithItsKey) {
  const json good = json::parse(result_to_json(*measured_here(1.1)));
  const std::pair<const char*, json> cases[] = {{"gpus", 0}, {"step_time_s", -1}, {"efficiency", -1}, {"nodes", "two"}};
  for (const auto& [key, value] : cases) {
    json bad = good;
    bad["runs"][1][key] = value;
    const QString path = testing::temporary_path("bad.json");
    QFile file(path);
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(QByteArray::fromStdString(bad.dump()));
    file.close();
    window.open_any(path);
    EXPECT_TRUE(window.session().shown().measured.empty()) << key;
    QMessageBox* box = nullptr;
    for (QWidget* widget : QApplication::topLevelWidgets())
      if (auto* found = qobject_cast<QMessageBox*>(widget); found != nullptr && found->isVisible()) box = found;
    ASSERT_NE(box, nullptr) << key;
    EXPECT_TRUE(box->informativeText().contains(QStringLiteral("runs[1].%1").arg(key)))
        << box->informativeText().toStdString();
    box->close();
    QApplication::processEvents();
  }
}

TEST_F(Comparing, ArrowKeysWalkTheRowsOfAComparison) {
  window.session().add_measured("m.json", measured_here(1.1));
  auto* widget = qobject_cast<DivergingWidget*>(view_of(window, "error").widget());
  auto* tabs = window.findChild<QTabWidget*>();
  for (int i = 0; i < tabs->count(); ++i)
    if (tabs->widget(i)->isAncestorOf(widget)) tabs->setCurrentIndex(i);
  ASSERT_FALSE(widget->picture().rows.empty());
  QKeyEvent down(QEvent::KeyPress, Qt::Key_Down, Qt::NoModifier);
  QApplication::sendEvent(widget, &down);
  EXPECT_EQ(widget->current(), 0);
  EXPECT_TRUE(widget->accessibleDescription().contains("predicted"));
  QKeyEvent escape(QEvent::KeyPress, Qt::Key_Escape, Qt::NoModifier);
  QApplication::sendEvent(widget, &escape);
  EXPECT_EQ(widget->current(), -1);
}

}  // namespace
}  // namespace lockstep::gui
