// Every state of the window as a picture (LOCKSTEP_SCREENS=FOLDER keeps them), checked for words that are cut or do not
// fit. Scale: QT_SCALE_FACTOR of the environment, so that the cases run once for each (CMakeLists.txt).
#include <gtest/gtest.h>

#include <QAbstractButton>
#include <QApplication>
#include <QComboBox>
#include <QDir>
#include <QFile>
#include <QGraphicsTextItem>
#include <QLabel>
#include <QLineEdit>
#include <QPixmap>
#include <QPushButton>
#include <QTableWidget>
#include <stdexcept>
#include <tuple>

#include "gui/app/answer_bar.h"
#include "gui/app/gallery_page.h"
#include "gui/app/main_window.h"
#include "gui/app/pages.h"
#include "gui/app/theme.h"
#include "gui/app/what_if_panel.h"
#include "gui/charts/chart_panel.h"
#include "gui/sweep/sweep_view.h"
#include "simulator/result/json.h"
#include "tests/gui/support.h"

namespace lockstep::gui {
namespace {

using testing::wait_until;

const char* theme_word() {
  return theme().dark ? "dark" : "light";
}

// Labels and buttons that need more room than they have, and texts of charts that Qt Charts has cut.
QStringList cut_texts(const QWidget& window) {
  QStringList cut;
  for (const QLabel* label : window.findChildren<QLabel*>()) {
    if (!label->isVisible() || label->text().isEmpty()) continue;
    const int needed = label->wordWrap() ? 0 : label->sizeHint().width();
    if (needed > label->width() + 1 || label->text().contains(QChar(0x2026))) cut << label->text();
    if (label->wordWrap() && label->heightForWidth(label->width()) > label->height() + 1)
      cut << "height: " + label->text();
  }
  for (const QLineEdit* line : window.findChildren<QLineEdit*>())
    if (line->isVisible() && line->height() < line->minimumSizeHint().height()) cut << "box: " + line->accessibleName();
  for (const QAbstractButton* button : window.findChildren<QAbstractButton*>())
    if (button->isVisible() && !button->text().isEmpty() && qobject_cast<const CardButton*>(button) == nullptr &&
        button->minimumSizeHint().width() > button->width() + 1)
      cut << button->text();
  for (const ChartPanel* panel : window.findChildren<ChartPanel*>()) {
    if (!panel->isVisible()) continue;
    for (QGraphicsItem* item : panel->scene()->items())
      if (const auto* text = qgraphicsitem_cast<QGraphicsTextItem*>(item))
        if (text->isVisible() && text->toPlainText().contains(QLatin1String("..."))) cut << text->toPlainText();
  }
  return cut;
}

void look(QWidget& window, const QString& name) {
  wait_until([] { return false; }, 30);  // layouts inside layouts settle one after the other
  const QPixmap picture = window.grab();
  EXPECT_FALSE(picture.isNull());
  const QStringList cut = cut_texts(window);
  EXPECT_TRUE(cut.isEmpty()) << name.toStdString() << ": " << cut.join(" | ").toStdString();
  const QString folder = qEnvironmentVariable("LOCKSTEP_SCREENS");
  if (folder.isEmpty()) return;
  QDir().mkpath(folder);
  const QString file =
      QStringLiteral("%1/%2-%3-%4x.png").arg(folder, name, theme_word(), QString::number(picture.devicePixelRatio()));
  EXPECT_TRUE(picture.save(file));
}

bool simulated(MainWindow& window) {
  return wait_until([&] { return window.session().state() == RunState::Done; });
}

class Screens : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    set_theme(GetParam() ? ThemeChoice::Dark : ThemeChoice::Light);
    set_up_style();
  }
};
INSTANTIATE_TEST_SUITE_P(Themes, Screens, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "dark" : "light"; });

TEST_P(Screens, TheStartPageShowsEveryQuestion) {
  MainWindow window;
  window.show();
  wait_until([] { return false; }, 400);  // the answers of the cards come in one by one
  look(window, "gallery");
  EXPECT_GE(window.gallery().cards().size(), 8U);
}

TEST_P(Screens, EveryScenarioOfTheGallery) {
  MainWindow window;
  window.show();
  for (const GalleryCard& card : window.gallery().cards()) {
    window.open_card(card);
    ASSERT_TRUE(simulated(window)) << card.name.toStdString();
    look(window, card.name);
  }
}

TEST_P(Screens, EveryFormOfTheCharts) {
  MainWindow window;
  window.show();
  window.open_any("dp-vs-ddp-resnet50-8xa100");
  ASSERT_TRUE(simulated(window));
  window.frames()[0]->choose(1);
  look(window, "throughput");
  window.frames()[0]->choose(2);
  look(window, "step-time");
  for (ViewFrame* frame : window.frames()) frame->show_table(true);
  look(window, "tables");
}

TEST_P(Screens, PinnedBesideMeasured) {
  MainWindow window;
  window.show();
  window.open_any("cpu-two-ranks");
  ASSERT_TRUE(simulated(window));
  auto measured = std::make_shared<Result>(*window.session().shown().result);
  measured->kind = "measured";
  for (lockstep::Run& run : measured->runs) {
    run.step_time_s *= 1.12;
    run.throughput /= 1.12;
    run.efficiency *= 0.97;
    run.samples = {{0, {run.step_time_s * 0.96, run.step_time_s, run.step_time_s * 1.09}}};
  }
  window.session().add_measured("measured.json", measured);
  window.session().pin(true);
  ASSERT_TRUE(window.document().set("batch.per_gpu", "16").empty());
  ASSERT_TRUE(simulated(window));
  look(window, "pinned-measured");
  window.frames()[0]->choose(2);
  look(window, "pinned-step-time");
  window.show_view("error");
  look(window, "difference-mismatched");
  ViewFrame* frame = window.show_view("difference");
  look(window, "difference");
  frame->show_table(true);
  look(window, "difference-table");
}

std::shared_ptr<const Result> result_file(const std::string& relative) {
  auto result = result_from_json(testing::text_of_file(testing::source_path(relative)), relative);
  EXPECT_TRUE(result) << relative;
  return result ? std::make_shared<Result>(*std::move(result)) : std::make_shared<Result>();
}

TEST_P(Screens, PredictedAgainstMeasured) {
  MainWindow window;
  window.show();
  window.open_any(QString::fromStdString(testing::source_path("scenarios/measured/dp-vs-ddp-resnet18-cpu.yaml")));
  ASSERT_TRUE(simulated(window));
  window.show_view("error");
  look(window, "error-none");
  window.show_view("difference");
  look(window, "difference-none");
  ViewFrame* frame = window.show_view("error");
  window.session().add_measured("dp-vs-ddp.measured.json", result_file("scenarios/measured/dp-vs-ddp.measured.json"));
  look(window, "error");
  window.session().add_measured("dp-vs-ddp.predicted.json", result_file("scenarios/measured/dp-vs-ddp.predicted.json"));
  look(window, "error-two");
  frame->show_table(true);
  look(window, "error-table");
  window.show_view("efficiency");
  look(window, "error-overview");
}

// The tab "Sweep", with its map (0) or the bucket sizes (1).
SweepView& open_sweep(MainWindow& window, int segment) {
  window.show_view(segment == 0 ? "sweep" : "bucket-size");
  for (View* view : window.views())
    if (auto* found = dynamic_cast<SweepView*>(view)) return *found;
  throw std::logic_error("no map");
}

bool swept(MainWindow& window) {
  const Shown& shown = window.session().shown();
  return wait_until([&] {
    return simulated(window) && shown.sweep && !shown.sweep->cells.empty() && !window.sweeps().running() &&
           shown.sweep->done == static_cast<int>(shown.sweep->cells.size());
  });
}

bool curve_simulated(MainWindow& window) {
  const Shown& shown = window.session().shown();
  return wait_until([&] {
    return simulated(window) && shown.bucket_curve && !shown.bucket_curve->points.empty() &&
           !window.sweeps().running() && !shown.bucket_curve->estimated();
  });
}

TEST_P(Screens, SweepsOfSeveralKindsOfMachines) {
  MainWindow window;
  window.show();
  for (const char* name : {"second-node-10gbe", "dp-vs-ddp-resnet50-8xa100", "bert-bucket-cap", "infiniband-scaling"}) {
    window.open_any(name);
    open_sweep(window, 0);
    ASSERT_TRUE(swept(window)) << name;
    look(window, QStringLiteral("sweep-%1").arg(name));
    open_sweep(window, 1);
    ASSERT_TRUE(curve_simulated(window)) << name;
    look(window, QStringLiteral("bucket-%1").arg(name));
  }
}

TEST_P(Screens, ASweepInEveryState) {
  MainWindow window;
  window.show();
  setenv("LOCKSTEP_PROGRAM", testing::script("exec sleep 60").toLocal8Bit(), 1);
  window.open_any("v100-dgx1");
  SweepView& view = open_sweep(window, 0);
  ASSERT_TRUE(wait_until([&] { return window.sweeps().running() && view.map().picture().best_cell; }));
  look(window, "sweep-running");
  window.sweeps().stop();
  look(window, "sweep-stopped");
  setenv("LOCKSTEP_PROGRAM", LOCKSTEP_PROGRAM_FILE, 1);
  view.run_button().click();
  ASSERT_TRUE(swept(window));
  view.map().setFocus();
  view.map().select(std::size_t{1});
  look(window, "sweep-selected");
  window.sweeps().choose_key(0, "model.name");
  window.sweeps().choose_key(1, "precision");
  view.metrics().setCurrentIndex(1);
  ASSERT_TRUE(swept(window));
  look(window, "sweep-names");
  window.sweeps().choose_key(0, "gpus");
  ASSERT_TRUE(window.sweeps().set_axis(0, "gpus", "1, 2, 3, 4, 5, 6, 7, 8, 12, 16").empty());
  view.axis(1).values().setText("fp32, fp7");
  emit view.axis(1).values().editingFinished();
  EXPECT_TRUE(view.axis(1).wrong());
  ASSERT_TRUE(swept(window));
  view.map().select(std::size_t{9});
  look(window, "sweep-not-run");
  setenv("LOCKSTEP_PROGRAM",
         testing::script("echo 'lockstep: broken invariant at engine.cpp:31' >&2; kill -ABRT $$").toLocal8Bit(), 1);
  window.sweeps().choose_key(1, "ddp.bucket_cap");
  ASSERT_TRUE(wait_until([&] { return !window.session().shown().sweep->failure.isEmpty(); }));
  look(window, "sweep-failed");
  setenv("LOCKSTEP_PROGRAM", LOCKSTEP_PROGRAM_FILE, 1);
  window.resize(900, 860);
  look(window, "sweep-small");
  open_sweep(window, 1);
  look(window, "bucket-small");
}

TEST_P(Screens, AFileThatListsValues) {
  MainWindow window;
  window.show();
  const QString path = testing::temporary_path("lists.yaml");
  QFile file(path);
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  file.write(
      "question: Which batch, and in which precision?\nmodel: resnet50\nbatch: {per_gpu: [32, 64, 128]}\n"
      "topology: dgx-a100-80gb\ngpus: 8\nstrategy: ddp\nprecision: [fp32, tf32, amp-bf16]\n");
  file.close();
  window.open_any(path);
  const Shown& shown = window.session().shown();
  ASSERT_TRUE(wait_until([&] { return shown.sweep && shown.sweep->done == 9 && !window.sweeps().running(); }));
  look(window, "sweep-listed");
}

TEST_P(Screens, AnEstimateBeforeItsSimulation) {
  MainWindow window;
  window.show();
  window.open_any("second-node-10gbe");
  ASSERT_TRUE(simulated(window));
  ASSERT_TRUE(window.document().set("gpus", "[4, 8, 16, 32, 64]").empty());
  ASSERT_TRUE(wait_until([&] { return window.session().shown().estimated; }));
  look(window, "estimate");
}

TEST_P(Screens, AWrongValueAndAScenarioThatCannotRun) {
  MainWindow window;
  window.show();
  window.open_any("pcie-box");
  ASSERT_TRUE(simulated(window));
  auto* control = window.panel().control("batch.per_gpu");
  auto* line = control->findChild<QLineEdit*>();
  line->setText("0");
  emit line->editingFinished();
  EXPECT_TRUE(control->wrong());
  ASSERT_TRUE(window.document().set("gpus", "[8, 16]").empty());
  ASSERT_TRUE(wait_until([&] { return window.session().state() == RunState::Wrong; }));
  look(window, "wrong");
}

TEST_P(Screens, AScenarioThatCannotBeRead) {
  MainWindow window;
  window.show();
  window.open_any("dp-vs-ddp-resnet50-8xa100");
  ASSERT_TRUE(simulated(window));
  window.document().replace_text(
      "model: resnet5\nbatch: {per_gpu: [128, 256]}\nprecision: [fp32, tf32]\ntopology: dgx-a100\ngpus: [1, 8]\n");
  look(window, "cannot-be-read");
  window.document().undo().undo();
  ASSERT_TRUE(window.document().set("batch.per_gpu", "1000000").empty());
  ASSERT_TRUE(simulated(window));
  look(window, "does-not-fit");
  window.document().undo().setClean();
}

TEST_P(Screens, AFailedSimulation) {
  MainWindow window;
  window.show();
  setenv("LOCKSTEP_PROGRAM",
         testing::script("echo 'lockstep: broken invariant at engine.cpp:31' >&2; kill -ABRT $$").toLocal8Bit(), 1);
  window.open_any(QString::fromStdString(testing::source_path("scenarios/gallery/strong-scaling.yaml")));
  ASSERT_TRUE(wait_until([&] { return window.session().state() == RunState::Failed; }));
  look(window, "failed");
}

// A program that plays `lockstep measure` on two cores: the plan, then a launch for each row, the last one half way.
QString measuring_program() {
  QFile lines(testing::temporary_path("screen-steps.jsonl")), plan(testing::temporary_path("screen-plan.jsonl"));
  EXPECT_TRUE(lines.open(QIODevice::WriteOnly) && plan.open(QIODevice::WriteOnly));
  plan.write(
      R"({"type":"plan","device":"AMD EPYC, 2 cores","on_gpus":false,"warm_up":3,"steps":20,"repeats":1,)"
      R"("expected_s":61.2,"scenario_yaml":"model: resnet18\nbatch: {per_gpu: 8}\ntopology: {node: cpu-host}\ngpus: 1\n",)"
      R"("rows":[{"strategy":"single","gpus":1,"per_gpu_batch":8},{"strategy":"dp","gpus":2,"per_gpu_batch":8},)"
      R"({"strategy":"ddp","gpus":2,"per_gpu_batch":8},{"strategy":"ddp","gpus":8,"not_run":"2 cores"}],"notes":[)"
      R"("measured on this machine's 2 cores in place of dgx-a100-80gb",)"
      R"("batch.per_gpu is 8 in place of 128: a step of 128 would take too long here"]})"
      "\n");
  int done = 0;
  for (const auto& [name, gpus, seconds] : {std::tuple{"single", 1, 0.171}, {"dp", 2, 0.19}, {"ddp", 2, 0.244}}) {
    lines.write(QStringLiteral(R"({"type":"progress","done":%1,"total":6,"text":"%2 on %3 ranks, repeat 1"})"
                               "\n")
                    .arg(done++)
                    .arg(QLatin1String(name))
                    .arg(gpus)
                    .toUtf8());
    for (int step = 0; step < (done == 3 ? 14 : 23); ++step)
      lines.write(QStringLiteral(
                      R"({"type":"step","strategy":"%1","gpus":%2,"repeat":0,"step":%3,"warm_up":%4,"step_time_s":%5})"
                      "\n")
                      .arg(QLatin1String(name))
                      .arg(gpus)
                      .arg(step)
                      .arg(step < 3 ? "true" : "false")
                      .arg(seconds * (step == 0 ? 1.7 : 1 + 0.05 * ((step * 7) % 5 - 2)))
                      .toUtf8());
  }
  return testing::script(QStringLiteral("cat > /dev/null; case \"$*\" in *--dry-run*) cat %1; exit 0;; esac; cat %2; "
                                        "i=0; while [ $i -lt 300 ]; do sleep 0.1; i=$((i+1)); done")
                             .arg(plan.fileName(), lines.fileName()));
}

TEST_P(Screens, MeasuringHere) {
  MainWindow window;
  window.show();
  window.open_any("dp-vs-ddp-resnet50-8xa100");
  ASSERT_TRUE(simulated(window));
  setenv("LOCKSTEP_PROGRAM", measuring_program().toLocal8Bit(), 1);
  window.action("measure")->trigger();
  ASSERT_TRUE(wait_until([&] { return window.measurement().state() == MeasureState::Ready; }));
  look(window, "measure-plan");
  window.measurement().start();
  ASSERT_TRUE(wait_until([&] { return window.measurement().steps().size() == 60; }));
  look(window, "measure-running");
  window.measurement().forget();
  setenv("LOCKSTEP_HWRUNNER", "/nowhere/lockstep-hwrunner", 1);
  setenv("LOCKSTEP_PROGRAM", LOCKSTEP_PROGRAM_FILE, 1);
  window.action("measure")->trigger();
  ASSERT_TRUE(wait_until([&] { return window.measurement().state() == MeasureState::Refused; }));
  look(window, "measure-refused");
  unsetenv("LOCKSTEP_HWRUNNER");
}

TEST_P(Screens, AllSettingsOpen) {
  MainWindow window;
  window.show();
  window.open_any("data-loader-limit");
  ASSERT_TRUE(simulated(window));
  for (const FieldGroup& group : field_groups()) window.panel().control(group.fields.front()->key);
  look(window, "settings");
  look(*window.panel().findChild<QWidget*>("page"), "settings-all");
}

}  // namespace
}  // namespace lockstep::gui
