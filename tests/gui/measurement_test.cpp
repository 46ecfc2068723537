// Measuring as the window does it: with programs that play `lockstep measure`, and, where the hardware runner is built,
// for real.
#include "gui/runs/measurement.h"

#include <gtest/gtest.h>

#include <QAction>
#include <QApplication>
#include <QFile>
#include <QFileInfo>
#include <QLabel>
#include <QPushButton>
#include <QSpinBox>
#include <QTabWidget>

#include "gui/app/main_window.h"
#include "gui/app/measure_strip.h"
#include "gui/charts/scaling_view.h"
#include "gui/charts/step_dots.h"
#include "gui/document/variant.h"
#include "gui/runs/json_lines.h"
#include "simulator/result/json.h"
#include "tests/gui/support.h"

namespace lockstep::gui {
namespace {

using testing::wait_until;

std::string scenario(int hidden = 64) {
  return "# A comment that stays.\nmodel: {mlp: {inputs: 40, hidden: [" + std::to_string(hidden) +
         "], outputs: 10}}\nbatch: {per_gpu: 8}  # samples\n"
         "topology: {node: dgx-a100-80gb}\ngpus: [1, 2, 8]\nstrategy: [dp, ddp]\n"
         "measure: {steps: 3, warm_up: 2, repeats: 1, timeout: 20s}\n";
}

// The same on cores, as --here makes it.
std::string variant() {
  std::string text = scenario();
  text.replace(text.find("dgx-a100-80gb"), 13, "cpu-host, gpus_per_node: 2");
  return text.replace(text.find("[1, 2, 8]"), 9, "[1, 2]");
}

QString write(const QString& name, const QByteArray& bytes) {
  const QString path = testing::temporary_path(name);
  QFile file(path);
  EXPECT_TRUE(file.open(QIODevice::WriteOnly));
  file.write(bytes);
  return path;
}

QByteArray plan_line() {
  QByteArray yaml = QByteArray::fromStdString(variant());
  yaml.replace('\n', "\\n");
  return R"({"type":"plan","device":"2 cores","on_gpus":false,"warm_up":2,"steps":3,"repeats":1,"expected_s":4.5,)"
         R"("scenario_yaml":")" +
         yaml +
         R"(","rows":[{"strategy":"single","gpus":1,"per_gpu_batch":8,"expected_step_s":0.01},)"
         R"({"strategy":"ddp","gpus":2,"per_gpu_batch":8,"expected_step_s":0.02},)"
         R"({"strategy":"ddp","gpus":8,"not_run":"this machine has 2 cores"}],"notes":["in place of dgx"]})"
         "\n";
}

QByteArray step_line(const char* strategy, int gpus, int step, bool warm_up, double seconds) {
  return QStringLiteral(
             R"({"type":"step","strategy":"%1","gpus":%2,"repeat":0,"step":%3,"warm_up":%4,"step_time_s":%5})"
             "\n")
      .arg(QLatin1String(strategy))
      .arg(gpus)
      .arg(step)
      .arg(warm_up ? "true" : "false")
      .arg(seconds)
      .toUtf8();
}

QByteArray progress_line(int done, const char* text) {
  return QStringLiteral(R"({"type":"progress","done":%1,"total":4,"text":"%2"})"
                        "\n")
      .arg(done)
      .arg(QLatin1String(text))
      .toUtf8();
}

QByteArray two_launches() {
  return progress_line(0, "single on 1 rank, repeat 1") + step_line("single", 1, 0, true, 0.5) +
         step_line("single", 1, 1, false, 0.10) + step_line("single", 1, 2, false, 0.12) +
         step_line("single", 1, 3, false, 0.11) + progress_line(1, "ddp on 2 ranks, repeat 1, about 2.09 min left") +
         step_line("ddp", 2, 0, true, 0.6) + step_line("ddp", 2, 1, false, 0.22);
}

// A program that answers a dry run with --here only, and plays `steps` and then `more` of shell otherwise.
void play(const QByteArray& steps, const QString& more, const QString& first = {}) {
  const QString plan = write("plan.jsonl", plan_line()), lines = write("steps.jsonl", steps);
  const QString body = QStringLiteral(R"(%4
cat > /dev/null
case "$*" in
  *--here*--dry-run*) cat %1; exit 0;;
  *--dry-run*) echo '{"type":"error","message":"the machine is not this one"}'; exit 1;;
esac
cat %2
%3)")
                           .arg(plan, lines, more, first);
  setenv("LOCKSTEP_PROGRAM", testing::script(body).toLocal8Bit().constData(), 1);
}

LiveMeasurement::Request request() {
  return {QByteArray::fromStdString(scenario()), QStringLiteral("/"), 0, 0, "img/s"};
}

class Measuring : public ::testing::Test {
 protected:
  void TearDown() override { setenv("LOCKSTEP_PROGRAM", LOCKSTEP_PROGRAM_FILE, 1); }
  bool reaches(MeasureState state) {
    return wait_until([&] { return live.state() == state; });
  }
  void run_to_the_end() {
    live.ask(request());
    ASSERT_TRUE(reaches(MeasureState::Ready)) << live.trouble().toStdString();
    live.start();
    ASSERT_TRUE(wait_until([&] { return !live.active(); }));
  }
  LiveMeasurement live;
};

TEST_F(Measuring, TellsFirstWhatWouldRunAndTakesCoresWhereTheMachineIsAnother) {
  play({}, "exit 0");
  live.ask(request());
  ASSERT_TRUE(reaches(MeasureState::Ready));
  EXPECT_EQ(live.plan().device, "2 cores");
  ASSERT_EQ(live.plan().rows.size(), 3U);
  EXPECT_EQ(live.plan().rows[2].not_run, "this machine has 2 cores");
  EXPECT_EQ(live.left_s(), 4.5);
  EXPECT_FALSE(live.result());
}

TEST_F(Measuring, StepsBecomePointsBeforeAnyRunIsWhole) {
  play(two_launches(), "sleep 30");
  live.ask(request());
  ASSERT_TRUE(reaches(MeasureState::Ready));
  live.start();
  ASSERT_TRUE(wait_until([&] { return live.result() && live.result()->runs.size() == 2; }));
  EXPECT_EQ(live.state(), MeasureState::Running);
  const lockstep::Run& single = live.result()->runs[0];
  const lockstep::Run& ddp = live.result()->runs[1];
  EXPECT_DOUBLE_EQ(single.throughput, 8 / single.step_time_s);
  EXPECT_DOUBLE_EQ(ddp.step_time_s, 0.22);
  EXPECT_EQ(ddp.spread->n, 1);  // the warm-up step is apart
  EXPECT_DOUBLE_EQ(ddp.throughput, 16 / 0.22);
  EXPECT_DOUBLE_EQ(ddp.speedup, ddp.throughput / single.throughput);
  EXPECT_DOUBLE_EQ(ddp.efficiency, ddp.speedup / 2);
  EXPECT_EQ(live.now(), "DDP × 2, repeat 1");
  EXPECT_EQ(live.done(), 1);
  EXPECT_GT(live.left_s(), 0);
  Shown shown;
  shown.measured = {{"measured here", live.result()}};
  EXPECT_EQ(scaling_lines(shown, Metric::Efficiency).size(), 2U);
  live.forget();
}

TEST_F(Measuring, MedianAndSpreadOfARowAreThoseOfItsCountedSteps) {
  std::vector<MeasuredStep> steps;
  for (int i = 0; i <= 20; ++i) steps.push_back({Strategy::Ddp, 2, 0, i == 0, 0.1 * (21 - i)});
  const auto rows = measured_rows(steps);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].n, 20);
  EXPECT_NEAR(rows[0].median_s, 1.0, 1e-12);  // of 0.1, 0.2, ... 2.0: the lower one, as `lockstep measure` takes it
  EXPECT_NEAR(rows[0].p5_s, 0.195, 1e-12);
  EXPECT_NEAR(rows[0].p95_s, 1.905, 1e-12);
}

TEST_F(Measuring, FewStepsAreToldByTheirEndsAndManyByTheirPercentiles) {
  std::vector<MeasuredStep> steps;
  for (int i = 1; i <= 4; ++i) steps.push_back({Strategy::Ddp, 2, 0, false, 0.1 * i});
  EXPECT_EQ(measured_sentence(measured_rows(steps)).toStdString(),
            "DDP × 2: median 200 ms, fastest to slowest 100 ms to 400 ms, 4 steps");
  for (int i = 5; i <= 20; ++i) steps.push_back({Strategy::Ddp, 2, 0, false, 0.1 * i});
  EXPECT_TRUE(measured_sentence(measured_rows(steps)).contains("90 % of steps from 195 ms to 1.9"))
      << measured_sentence(measured_rows(steps)).toStdString();
}

TEST_F(Measuring, AStoppedMeasurementKeepsWhatTheProgramSaysAtItsEnd) {
  Result partial = measured_so_far({}, {}, "img/s");
  partial.scenario_yaml = variant();
  partial.partial = "interrupted after 1 of 4 launches";
  lockstep::Run run;
  run.strategy = Strategy::Single;
  run.step_time_s = 0.5;
  run.throughput = 16;
  run.throughput_unit = "img/s";
  run.scaling = "weak";
  partial.runs.push_back(run);
  const QString last =
      write("last.jsonl",
            QByteArray::fromStdString(R"({"type":"result",)" + result_to_json(partial, JsonLayout::OneLine).substr(1)));
  play(two_launches(), "i=0; while [ $i -lt 300 ]; do sleep 0.1; i=$((i+1)); done",
       QStringLiteral("trap 'cat %1; exit 130' TERM").arg(last));
  live.ask(request());
  ASSERT_TRUE(reaches(MeasureState::Ready));
  live.start();
  ASSERT_TRUE(wait_until([&] { return live.steps().size() == 6; }));
  live.stop();
  EXPECT_EQ(live.state(), MeasureState::Stopping);
  ASSERT_TRUE(reaches(MeasureState::Done)) << live.trouble().toStdString();
  EXPECT_EQ(live.result()->runs.front().step_time_s, 0.5);
  EXPECT_EQ(live.trouble(), "interrupted after 1 of 4 launches");
}

TEST_F(Measuring, AKilledProgramLeavesItsStepsAndTellsTheCause) {
  play(two_launches(), "echo 'rank 1 hangs' >&2; kill -KILL $$");
  run_to_the_end();
  EXPECT_EQ(live.state(), MeasureState::Failed);
  EXPECT_TRUE(live.trouble().contains("signal 9")) << live.trouble().toStdString();
  EXPECT_TRUE(live.trouble().contains("rank 1 hangs")) << live.trouble().toStdString();
  EXPECT_EQ(live.steps().size(), 6U);
  EXPECT_EQ(live.result()->runs.size(), 2U);
}

TEST_F(Measuring, WithoutARunnerItIsRefusedWithTheWayToGetOne) {
  setenv("LOCKSTEP_HWRUNNER", "/nowhere/lockstep-hwrunner", 1);
  live.ask(request());
  ASSERT_TRUE(reaches(MeasureState::Refused));
  unsetenv("LOCKSTEP_HWRUNNER");
  EXPECT_TRUE(live.trouble().contains("./lockstep.sh libtorch")) << live.trouble().toStdString();
}

TEST_F(Measuring, WithoutLockstepItIsRefused) {
  setenv("LOCKSTEP_PROGRAM", "/nowhere/lockstep", 1);
  live.ask(request());
  ASSERT_TRUE(reaches(MeasureState::Refused));
  EXPECT_TRUE(live.trouble().contains("/nowhere/lockstep")) << live.trouble().toStdString();
}

TEST(Variant, WhatWasMeasuredOpensInTheTextAndUndoGoesBack) {
  ScenarioDocument document;
  document.open_text(scenario(), "x");
  EXPECT_FALSE(differences(document, variant()).empty());
  ASSERT_TRUE(become(document, variant(), {"calibrate.single_gpu=0.11s/it"}, "open").empty());
  EXPECT_TRUE(differences(document, variant()).empty());
  EXPECT_EQ(document.values().at("topology.node").yaml, "cpu-host");
  EXPECT_EQ(document.values().at("gpus").yaml, "[1, 2]");
  EXPECT_NE(document.text().find("0.11s/it"), std::string::npos) << document.text();
  EXPECT_NE(document.text().find("# A comment that stays."), std::string::npos);
  document.undo().undo();
  EXPECT_EQ(document.text(), scenario());
}

TEST(Variant, StepsRepeatsAndACalibrationMakeNoOtherScenario) {
  ScenarioDocument document;
  document.open_text(variant(), "x");
  ASSERT_TRUE(document.apply({"measure.steps=7", "measure.repeats=2", "calibrate.single_gpu=1s/it"}, "x").empty());
  EXPECT_TRUE(differences(document, variant()).empty());
  ASSERT_TRUE(document.set("batch.per_gpu", "9").empty());
  EXPECT_EQ(differences(document, variant()), std::vector<std::string>{"batch.per_gpu=8"});
}

// The window around it.
class MeasureWindow : public ::testing::Test {
 protected:
  void SetUp() override {
    unsetenv("LOCKSTEP_HWRUNNER");
    window.show();
    window.open_any(write("open.yaml", QByteArray::fromStdString(scenario())));
    ASSERT_TRUE(wait_until([&] { return window.session().state() == RunState::Done; }));
  }
  void TearDown() override {
    window.document().undo().setClean();
    setenv("LOCKSTEP_PROGRAM", LOCKSTEP_PROGRAM_FILE, 1);
  }
  QPushButton* button(const QString& text) {
    for (auto* one : window.findChild<MeasureStrip*>()->findChildren<QPushButton*>())
      if (one->isVisible() && one->text().startsWith(text)) return one;
    return nullptr;
  }
  bool says(const QString& words) {
    for (auto* label : window.findChild<MeasureStrip*>()->findChildren<QLabel*>())
      if (label->isVisible() && label->text().contains(words)) return true;
    return false;
  }
  MainWindow window;
};

TEST_F(MeasureWindow, TracesOfItsRanksStandBelowThePredictionWithoutBeingAskedFor) {
  Result whole = measured_so_far(std::get<PlanLine>(read_json_line(plan_line().toStdString())),
                                 {{Strategy::Single, 1, 0, false, 0.1}, {Strategy::Ddp, 2, 1, false, 0.2}}, "img/s");
  const QString result =
      write("whole.jsonl",
            QByteArray::fromStdString(R"({"type":"result",)" + result_to_json(whole, JsonLayout::OneLine).substr(1)));
  const QString trace = QString::fromStdString(testing::source_path("tests/data/traces/gloo-ddp-2.json"));
  // What stands behind --trace names the files.
  play(two_launches(), QStringLiteral("for word in \"$@\"; do\n  if [ \"$before\" = --trace ]; then cp %1 "
                                      "\"${word%.json}-ddp-2.json\"; fi\n  before=$word\ndone\ncat %2")
                           .arg(trace, result));
  window.action("measure")->trigger();
  ASSERT_TRUE(wait_until([&] { return window.measurement().state() == MeasureState::Ready; }));
  auto* tabs = window.findChild<QTabWidget*>();
  const int tab = tabs->currentIndex();
  for (int i = 0; i < 2; ++i) {  // those of the second replace those of the first
    button("Start")->click();
    ASSERT_TRUE(wait_until([&] { return window.measurement().state() == MeasureState::Done; }));
    ASSERT_TRUE(wait_until([&] { return window.session().shown().traces.size() == 1U; }));
    EXPECT_TRUE(window.measurement().wrote(QString::fromStdString(window.session().shown().traces.front()->file)));
    EXPECT_EQ(window.session().shown().measured.size(), 1U);
    window.action("measure")->trigger();
    ASSERT_TRUE(wait_until([&] { return window.measurement().state() == MeasureState::Ready; }));
  }
  EXPECT_EQ(tabs->currentIndex(), tab);
}

TEST_F(MeasureWindow, TellsThatAnotherMachineCannotBeComparedAndOpensTheOneThatCan) {
  play(two_launches(), "kill -KILL $$");
  window.action("measure")->trigger();
  ASSERT_TRUE(wait_until([&] { return window.measurement().state() == MeasureState::Ready; }));
  EXPECT_TRUE(says("2 cores"));
  EXPECT_TRUE(says("in place of dgx"));
  EXPECT_TRUE(says("cannot be compared"));
  ASSERT_NE(button("Start"), nullptr);
  button("Start")->click();
  ASSERT_TRUE(wait_until([&] { return window.measurement().state() == MeasureState::Failed; }));
  EXPECT_TRUE(says("signal 9"));
  EXPECT_EQ(window.session().shown().measured.size(), 1U);
  setenv("LOCKSTEP_PROGRAM", LOCKSTEP_PROGRAM_FILE, 1);
  QPushButton* calibrate = button("Open and calibrate with 0.11s/it (median of 3 steps)");
  ASSERT_NE(calibrate, nullptr);
  calibrate->click();
  EXPECT_EQ(window.document().values().at("topology.node").yaml, "cpu-host");
  EXPECT_TRUE(says("of the same scenario"));
  EXPECT_EQ(button("Open what"), nullptr);
  EXPECT_EQ(window.session().shown().measured.size(), 1U);
  window.action("undo")->trigger();
  EXPECT_EQ(window.document().text(), scenario());
  EXPECT_TRUE(says("cannot be compared"));
}

TEST_F(MeasureWindow, TwoStepsAreTooFewToCalibrateWithAndAnEndSaysWhatHappened) {
  play(progress_line(0, "single on 1 rank, repeat 1") + step_line("single", 1, 0, false, 0.10) +
           step_line("single", 1, 1, false, 0.11),
       "kill -KILL $$");
  window.action("measure")->trigger();
  ASSERT_TRUE(wait_until([&] { return window.measurement().state() == MeasureState::Ready; }));
  for (const auto* box : window.findChildren<QSpinBox*>())
    if (box->accessibleName() == "Steps") {
      EXPECT_TRUE(box->toolTip().contains("1 to 10000")) << box->toolTip().toStdString();
    }
  button("Start")->click();
  ASSERT_TRUE(wait_until([&] { return window.measurement().state() == MeasureState::Failed; }));
  EXPECT_TRUE(says("Measuring ended early: lockstep died (signal 9)"));
  EXPECT_EQ(button("Open and calibrate"), nullptr);
}

TEST_F(MeasureWindow, StepsAndRepeatsCanBeFewerThanTheScenarioSays) {
  setenv("LOCKSTEP_PROGRAM",
         testing::script("cat > /dev/null; echo \"$*\" >> " + testing::temporary_path("asked") + "; cat " +
                         write("p.jsonl", plan_line()))
             .toLocal8Bit()
             .constData(),
         1);
  window.action("measure")->trigger();
  ASSERT_TRUE(wait_until([&] { return window.measurement().state() == MeasureState::Ready; }));
  auto* steps = window.findChild<MeasureStrip*>()->findChildren<QSpinBox*>().front();
  EXPECT_EQ(steps->value(), 3);
  QApplication::processEvents();
  const QPoint place = steps->mapTo(&window, QPoint(0, 0));
  steps->setValue(2);
  ASSERT_EQ(window.measurement().state(), MeasureState::Asking);
  for (int i = 0; i < 3; ++i) QApplication::sendPostedEvents();  // layouts, without the answer
  EXPECT_EQ(steps->mapTo(&window, QPoint(0, 0)), place) << "the boxes move under the pointer";
  ASSERT_TRUE(wait_until([&] { return window.measurement().state() == MeasureState::Ready; }));
  const std::string asked = testing::text_of_file(testing::temporary_path("asked").toStdString());
  EXPECT_NE(asked.find("measure.steps=2"), std::string::npos) << asked;
}

// --- For real ---

class ForReal : public MeasureWindow {
 protected:
  void SetUp() override {
    MeasureWindow::SetUp();
#ifdef LOCKSTEP_HWRUNNER_FILE
    setenv("LOCKSTEP_HWRUNNER", LOCKSTEP_HWRUNNER_FILE, 1);
#else
    GTEST_SKIP() << "the hardware runner is not built: LibTorch is not there";
#endif
  }
  void TearDown() override {
    unsetenv("LOCKSTEP_HWRUNNER");
    MeasureWindow::TearDown();
  }
};

TEST_F(ForReal, AScenarioOfEightGpusIsMeasuredOnTheseCoresAndStandsBesideItsPrediction) {
  window.action("measure")->trigger();
  ASSERT_TRUE(wait_until([&] { return !window.measurement().active(); }));
  ASSERT_EQ(window.measurement().state(), MeasureState::Ready) << window.measurement().trouble().toStdString();
  button("Start")->click();
  ASSERT_TRUE(wait_until([&] { return !window.measurement().active(); }, 240'000));
  ASSERT_EQ(window.measurement().state(), MeasureState::Done) << window.measurement().trouble().toStdString();
  std::size_t rows = 0, counted = 0;
  for (const auto& row : window.measurement().plan().rows) rows += row.not_run ? 0 : 1;
  for (const MeasuredStep& step : window.measurement().steps()) counted += step.warm_up ? 0 : 1;
  EXPECT_GE(rows, 2U);
  EXPECT_EQ(counted, rows * 3);
  const auto result = window.session().shown().measured.front().result;
  EXPECT_EQ(runs_of(*result).size(), rows);
  EXPECT_EQ(result->kind, "measured");
  EXPECT_FALSE(result->machine.empty());
  ASSERT_NE(button("Open what was measured"), nullptr);
  button("Open what was measured")->click();
  ASSERT_TRUE(wait_until([&] { return window.session().state() == RunState::Done; }));
  EXPECT_TRUE(says("of the same scenario"));
  std::size_t beside = 0;
  const auto lines = scaling_lines(window.session().shown(), Metric::StepTime);
  for (const ScalingLine& measured : lines)
    for (const ScalingLine& predicted : lines)
      if (measured.kind == ScalingLine::Kind::Measured && predicted.kind == ScalingLine::Kind::Predicted &&
          measured.strategy == predicted.strategy)
        beside += std::min(measured.points.size(), predicted.points.size());
  EXPECT_EQ(beside, rows);
}

TEST_F(ForReal, StopEndsItAndKeepsWhatWasMeasured) {
  ASSERT_TRUE(window.document().apply({"measure.steps=100000"}, "long").empty());
  window.action("measure")->trigger();
  ASSERT_TRUE(wait_until([&] { return !window.measurement().active(); }));
  ASSERT_EQ(window.measurement().state(), MeasureState::Ready) << window.measurement().trouble().toStdString();
  button("Start")->click();
  ASSERT_TRUE(wait_until([&] { return window.measurement().steps().size() > 5; }));
  EXPECT_TRUE(window.action("stop")->isEnabled());
  window.action("stop")->trigger();
  ASSERT_TRUE(wait_until([&] { return !window.measurement().active(); }));
  EXPECT_TRUE(window.measurement().trouble().contains("interrupted")) << window.measurement().trouble().toStdString();
  EXPECT_GE(runs_of(*window.session().shown().measured.front().result).size(), 1U);
}

}  // namespace
}  // namespace lockstep::gui
