// The window as a person uses it: wiring from controls to document, runs, answer and files.
#include <gtest/gtest.h>

#include <QAction>
#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QDropEvent>
#include <QFile>
#include <QFileInfo>
#include <QLabel>
#include <QLineEdit>
#include <QMimeData>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSlider>
#include <QTabWidget>
#include <QXmlStreamReader>

#include "gui/app/answer_bar.h"
#include "gui/app/gallery_page.h"
#include "gui/app/headline.h"
#include "gui/app/main_window.h"
#include "gui/app/pages.h"
#include "gui/app/theme.h"
#include "gui/app/what_if_panel.h"
#include "gui/charts/chart_panel.h"
#include "gui/export/export_view.h"
#include "simulator/result/json.h"
#include "tests/gui/support.h"

namespace lockstep::gui {
namespace {

using testing::wait_until;

std::string value(MainWindow& window, const char* key) {
  const auto at = window.document().values().find(key);
  return at == window.document().values().end() ? "" : at->second.yaml;
}

bool simulated(MainWindow& window) {
  return wait_until([&] { return window.session().state() == RunState::Done; });
}

void drop(QWidget& on, const QMimeData& data) {
  QDragEnterEvent enter(QPoint(5, 5), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(&on, &enter);
  QDropEvent event(QPointF(5, 5), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(&on, &event);
}

class Window : public ::testing::Test {
 protected:
  void SetUp() override {
    window.show();
    window.open_any("strong-scaling");
    ASSERT_TRUE(simulated(window));
  }
  void TearDown() override { window.document().undo().setClean(); }
  // Pinned, and beside a measurement: every view has something to show.
  void compare_with_itself() {
    auto measured = std::make_shared<Result>(*window.session().shown().result);
    measured->kind = "measured";
    window.session().add_measured("m.json", measured);
    window.action("pin")->trigger();
  }
  MainWindow window;
};

TEST_F(Window, ACardOpensWithItsAnswerAndStartsNothing) {
  EXPECT_FALSE(window.session().shown().estimated);
  EXPECT_FALSE(window.session().shown().stale);
  EXPECT_EQ(window.session().seconds(), 0);
  EXPECT_FALSE(window.document().modified());
  EXPECT_TRUE(window.windowTitle().contains("strong-scaling"));
}

TEST_F(Window, AMovedSliderIsEstimatedThenSimulatedAndIsOneUndoStep) {
  auto* slider = window.panel().control("batch.global")->findChild<QSlider*>();
  ASSERT_NE(slider, nullptr);
  const std::string before = value(window, "batch.global");
  slider->setSliderDown(true);
  for (int step = 0; step < 6; ++step) slider->setValue(slider->value() + 8);
  slider->setSliderDown(false);
  EXPECT_NE(value(window, "batch.global"), before);
  EXPECT_EQ(window.document().undo().count(), 1);
  ASSERT_TRUE(wait_until([&] { return window.session().shown().estimated; }));
  ASSERT_TRUE(simulated(window));
  EXPECT_FALSE(window.session().shown().estimated);
  EXPECT_GT(window.session().seconds(), 0);
  window.action("undo")->trigger();
  EXPECT_EQ(value(window, "batch.global"), before);
  EXPECT_FALSE(window.document().modified());
}

TEST_F(Window, UndoReturnsEveryControlToItsValue) {
  const std::string text = window.document().text();
  int moved = 0;
  for (const char* key : {"model.name", "precision", "gpus", "topology.node", "ddp.bucket_cap", "accumulate.steps",
                          "ddp.static_graph", "optimizer.name", "input.source", "noise.jitter.sigma"}) {
    FieldControl* control = window.panel().control(key);
    ASSERT_NE(control, nullptr) << key;
    static const std::map<std::string, std::string> values = {
        {"model.name", "resnet18"},     {"precision", "tf32"},      {"gpus", "[1, 2]"},
        {"topology.node", "dgx1-v100"}, {"ddp.bucket_cap", "5MiB"}, {"accumulate.steps", "2"},
        {"ddp.static_graph", "true"},   {"optimizer.name", "adam"}, {"input.source", "host"},
        {"noise.jitter.sigma", "2%"}};
    emit control->edited(key, values.at(key), 0);
    EXPECT_EQ(value(window, key), values.at(key)) << key;
    ++moved;
  }
  EXPECT_EQ(window.document().undo().count(), moved);
  while (window.document().undo().canUndo()) window.action("undo")->trigger();
  EXPECT_EQ(window.document().text(), text);
}

TEST_F(Window, ARefusedNumberTurnsRedStaysAndGoesWithEscape) {
  FieldControl* control = window.panel().control("batch.global");
  auto* line = control->findChild<QLineEdit*>();
  line->setText("many");
  emit line->editingFinished();
  EXPECT_TRUE(control->wrong());
  EXPECT_TRUE(line->property("wrong").toBool());
  emit window.panel().control("precision")->edited("precision", "tf32", 0);
  EXPECT_EQ(line->text(), "many");
  EXPECT_TRUE(control->wrong());
  QKeyEvent escape(QEvent::KeyPress, Qt::Key_Escape, Qt::NoModifier);
  QApplication::sendEvent(line, &escape);
  EXPECT_EQ(line->text(), "256");
  EXPECT_FALSE(control->wrong());
}

TEST_F(Window, AKeyThatIsNotSetShowsWhatTheMachineHas) {
  auto* line = window.panel().control("topology.override.nvlink.rate")->findChild<QLineEdit*>();
  ASSERT_TRUE(wait_until([&] { return line->placeholderText() == "300GB/s"; }))
      << line->placeholderText().toStdString();
  auto* slider = window.panel().control("ddp.bucket_cap")->findChild<QSlider*>();
  EXPECT_GT(slider->value(), 100);
}

TEST_F(Window, ArrowKeysStepANumber) {
  auto* line = window.panel().control("batch.global")->findChild<QLineEdit*>();
  QKeyEvent up(QEvent::KeyPress, Qt::Key_Up, Qt::NoModifier);
  QApplication::sendEvent(line, &up);
  EXPECT_EQ(value(window, "batch.global"), "512");
}

TEST_F(Window, ALeverAppliesItselfAndItsPromiseHolds) {
  const auto levers = window.session().shown().result->answer.levers;
  ASSERT_FALSE(levers.empty());
  QPushButton* button = nullptr;
  for (auto* one : window.answer().findChildren<QPushButton*>())
    if (one->text().startsWith(QString::fromStdString(levers.front().set))) button = one;
  ASSERT_NE(button, nullptr);
  button->click();
  EXPECT_TRUE(window.document().modified());
  ASSERT_TRUE(simulated(window));
  EXPECT_NEAR(window.session().shown().result->runs.back().step_time_s, levers.front().step_time_s,
              1e-9 * levers.front().step_time_s);
}

TEST_F(Window, StopKeepsTheEstimateAndSaysSo) {
  ASSERT_TRUE(window.document().set("precision", "tf32").empty());
  ASSERT_TRUE(wait_until([&] { return window.session().state() == RunState::Waiting; }));
  window.action("stop")->trigger();
  EXPECT_EQ(window.session().state(), RunState::Stopped);
  EXPECT_TRUE(window.session().shown().estimated);
  window.action("run")->trigger();
  EXPECT_TRUE(simulated(window));
}

TEST_F(Window, ChildrenKilledAtAnyTimeLeaveTheWindowAlive) {
  for (int round = 0; round < 6; ++round) {
    setenv("LOCKSTEP_PROGRAM",
           testing::script(QStringLiteral("sleep 0.0%1; kill -KILL $$").arg(round)).toLocal8Bit().constData(), 1);
    window.session().run_now();
    ASSERT_TRUE(wait_until([&] { return window.session().state() == RunState::Failed; }));
  }
  setenv("LOCKSTEP_PROGRAM", LOCKSTEP_PROGRAM_FILE, 1);
  window.session().run_now();
  EXPECT_TRUE(simulated(window));
}

TEST_F(Window, AWrongTextIsKeptSavedAndUndone) {
  auto* tabs = window.findChild<QTabWidget*>();
  auto* edit = window.findChild<QPlainTextEdit*>();
  ASSERT_NE(edit, nullptr);
  const QString before = QString::fromStdString(window.document().text());
  tabs->setCurrentIndex(tabs->count() - 1);
  edit->setPlainText(before + "colour: red\n");
  ASSERT_TRUE(wait_until([&] { return window.isWindowModified(); }));
  EXPECT_EQ(window.session().state(), RunState::Wrong);
  bool told = false;
  for (auto* label : window.answer().findChildren<QLabel*>()) told = told || label->text().contains("colour");
  EXPECT_TRUE(told);
  edit->setPlainText(before + "color: red\n");
  tabs->setCurrentIndex(0);  // at once: nothing is lost
  EXPECT_EQ(window.document().text(), (before + "color: red\n").toStdString());
  tabs->setCurrentIndex(tabs->count() - 1);
  EXPECT_TRUE(edit->toPlainText().endsWith("color: red\n"));
  edit->setPlainText("model: [\n");
  const QString path = testing::temporary_path("typed.yaml");
  ASSERT_TRUE(window.save_to(path));
  EXPECT_EQ(testing::text_of_file(path.toStdString()), "model: [\n");
  while (window.document().undo().canUndo()) window.action("undo")->trigger();
  EXPECT_EQ(edit->toPlainText(), before);
  EXPECT_TRUE(simulated(window));
}

TEST_F(Window, AScenarioThatCannotBeReadShowsWhatItsTextSays) {
  const std::string head = "topology: dgx-a100\ngpus: [1, 8]\n";
  const auto editor = [this](const char* key) { return window.panel().control(key)->findChild<QComboBox*>(); };
  const auto line = [this](const char* key) { return window.panel().control(key)->findChild<QLineEdit*>(); };
  window.document().replace_text(head + "model: resnet5\nbatch: {per_gpu: [128, 256]}\nprecision: [fp32, tf32]\n" +
                                 "ddp: {static_graph: [true, false]}\n");
  ASSERT_FALSE(window.document().read().has_value());
  EXPECT_EQ(editor("model.name")->currentText(), "resnet5");
  EXPECT_TRUE(window.panel().control("model.name")->wrong());
  EXPECT_EQ(line("batch.per_gpu")->text(), "[128, 256]");
  EXPECT_TRUE(line("batch.per_gpu")->property("wrong").toBool());
  EXPECT_EQ(editor("precision")->currentIndex(), -1);
  EXPECT_EQ(editor("precision")->placeholderText(), "[fp32, tf32]");
  auto* tick = window.panel().control("ddp.static_graph")->findChild<QCheckBox*>();
  EXPECT_EQ(tick->checkState(), Qt::PartiallyChecked);
  EXPECT_EQ(line("gpus")->text(), "1, 8");
  EXPECT_TRUE(line("gpus")->isEnabled());
  EXPECT_EQ(editor("input.source")->currentIndex(), -1);  // the file does not say
  EXPECT_FALSE(editor("input.source")->isEnabled());
  window.document().replace_text("model: [\n");
  EXPECT_EQ(editor("model.name")->currentText(), "");
  EXPECT_FALSE(editor("model.name")->isEnabled());
  EXPECT_FALSE(line("gpus")->isEnabled());
  EXPECT_EQ(line("gpus")->text(), "");
  while (window.document().undo().canUndo()) window.action("undo")->trigger();
  EXPECT_EQ(editor("model.name")->currentText().toStdString(), value(window, "model.name"));
  EXPECT_TRUE(editor("input.source")->isEnabled());
  EXPECT_EQ(editor("input.source")->currentText().toStdString(), value(window, "input.source"));
  EXPECT_NE(tick->checkState(), Qt::PartiallyChecked);
  EXPECT_FALSE(window.panel().control("batch.global")->wrong());
}

TEST_F(Window, AnEstimateUnderWayIsNotTakenForThatOfAWrongText) {
  ASSERT_TRUE(window.document().set("precision", "tf32").empty());  // asks for one
  ASSERT_FALSE(window.document().replace_text("model: [\n").empty());
  EXPECT_FALSE(wait_until([&] { return window.session().state() != RunState::Wrong; }, 400));
  EXPECT_TRUE(window.session().shown().stale);
}

TEST_F(Window, WhatDoesNotFitInMemoryIsSaidFirst) {
  ASSERT_TRUE(window.document().set("batch.global", "8000000").empty());
  ASSERT_TRUE(wait_until([&] { return !headline(*window.session().shown().result).warning.isEmpty(); }));
  const Headline head = headline(*window.session().shown().result);
  EXPECT_TRUE(head.warning.contains("would not run")) << head.why.toStdString();
  EXPECT_TRUE(head.why.startsWith(head.warning));
  const QLabel* shown = nullptr;
  for (auto* label : window.answer().findChildren<QLabel*>())
    if (label->text() == head.warning) shown = label;
  ASSERT_NE(shown, nullptr);
  EXPECT_TRUE(shown->isVisible());
  EXPECT_EQ(shown->palette().color(QPalette::WindowText), theme().warning);
}

TEST_F(Window, LeversSayForWhomAndWhatGrows) {
  const Result& result = *window.session().shown().result;
  ASSERT_FALSE(result.answer.levers.empty());
  EXPECT_TRUE(lever_effect(result.answer.levers.front()).contains(", throughput +"));
  QStringList words;
  for (auto* label : window.answer().findChildren<QLabel*>()) words << label->text();
  EXPECT_TRUE(words.contains(lever_title(result))) << words.join('\n').toStdString();
  EXPECT_TRUE(lever_title(result) == "What would help DataParallel (step, throughput):" ||
              lever_title(result) == "What would help DDP (step, throughput):");
}

TEST_F(Window, TheCommandIsCopied) {
  ASSERT_TRUE(window.document().set("gpus", "8").empty());
  window.action("copy")->trigger();
  EXPECT_EQ(QApplication::clipboard()->text().toStdString(), "lockstep predict strong-scaling --set 'gpus=[8]'");
}

TEST_F(Window, SavingNamesTheWindowAndFeedsTheRecentFiles) {
  ASSERT_TRUE(window.document().set("gpus", "8").empty());
  EXPECT_TRUE(window.isWindowModified());
  const QString path = testing::temporary_path("saved.yaml");
  ASSERT_TRUE(window.save_to(path));
  EXPECT_FALSE(window.isWindowModified());
  EXPECT_TRUE(window.windowTitle().contains("saved.yaml"));
  window.show_gallery();
  bool listed = false;
  for (auto* button : window.gallery().findChildren<QPushButton*>()) listed = listed || button->text() == "saved.yaml";
  EXPECT_TRUE(listed);
}

TEST_F(Window, DroppedFilesOpenAndDroppedResultsJoin) {
  const QString result = testing::temporary_path("m.json");
  QFile file(result);
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  file.write(QByteArray::fromStdString(result_to_json(*window.session().shown().result)));
  file.close();
  QMimeData data;
  data.setUrls({QUrl::fromLocalFile(result)});
  drop(window, data);
  EXPECT_EQ(window.session().shown().measured.size(), 1U);
  QMimeData scenario;
  scenario.setUrls(
      {QUrl::fromLocalFile(QString::fromStdString(testing::source_path("scenarios/gallery/pcie-box.yaml")))});
  drop(window, scenario);
  EXPECT_EQ(window.document().name(), "pcie-box.yaml");
}

TEST_F(Window, AFileThatCannotBeReadLeavesWhatIsOpen) {
  const auto before = window.session().shown().result;
  window.open_any("/nowhere/x.yaml");
  EXPECT_EQ(window.session().shown().result, before);
  EXPECT_TRUE(window.windowTitle().contains("strong-scaling"));
  for (QWidget* widget : QApplication::topLevelWidgets())
    if (widget != &window) widget->close();
}

TEST_F(Window, AnotherFileForgetsBaselineAndMeasurements) {
  window.action("pin")->trigger();
  window.session().add_measured("m", window.session().shown().result);
  window.open_any("pcie-box");
  ASSERT_TRUE(simulated(window));
  EXPECT_FALSE(window.action("pin")->isChecked());
  EXPECT_EQ(window.session().shown().baseline, nullptr);
  EXPECT_TRUE(window.session().shown().measured.empty());
}

TEST_F(Window, EveryViewExportsPicturesThatParseAndNumbers) {
  compare_with_itself();
  ASSERT_TRUE(wait_until([&] { return window.session().has_details(); }));
  bool swept = false;
  window.sweeps().finish([&] { swept = true; });
  ASSERT_TRUE(wait_until([&] { return swept; }));
  QString why;
  const QString folder = testing::temporary_path("export");
  const QStringList files = export_views(window.views(), all_formats(), folder, "x", &why);
  EXPECT_TRUE(why.isEmpty()) << why.toStdString();
  EXPECT_EQ(files.size(), static_cast<int>(window.views().size() * 4));
  for (const QString& path : files) {
    QFile file(path);
    ASSERT_TRUE(file.open(QIODevice::ReadOnly)) << path.toStdString();
    const QByteArray bytes = file.readAll();
    const QString suffix = QFileInfo(path).suffix();
    if (suffix == "png") {
      EXPECT_EQ(QImage::fromData(bytes).size(), kExportSize * 2);
    } else if (suffix == "pdf") {
      EXPECT_TRUE(bytes.startsWith("%PDF"));
    } else if (suffix == "csv") {
      EXPECT_GT(bytes.count('\n'), 4);
    } else {
      QXmlStreamReader reader(bytes);
      QString text;
      while (!reader.atEnd())
        if (reader.readNext() == QXmlStreamReader::Characters) text += reader.text();
      EXPECT_FALSE(reader.hasError()) << path.toStdString() << reader.errorString().toStdString();
      EXPECT_TRUE(text.contains("DDP")) << path.toStdString();
    }
  }
  EXPECT_TRUE(export_views(window.views(), all_formats(), "/proc/nowhere", "x", &why).isEmpty());
  EXPECT_FALSE(why.isEmpty());
}

TEST_F(Window, EveryActionHasAKeyOrAMnemonicAndEveryControlAName) {
  for (const char* name : {"gallery", "open", "save", "save_as", "export", "quit", "copy", "run", "stop", "measure",
                           "pin", "terms", "keys", "undo", "redo"}) {
    const QAction* action = window.action(name);
    ASSERT_NE(action, nullptr) << name;
    EXPECT_TRUE(!action->shortcut().isEmpty() || action->text().contains('&')) << name;
  }
  ASSERT_TRUE(wait_until([&] { return window.session().has_details() && window.session().shown().sweep; }));
  for (auto* view : window.views()) EXPECT_FALSE(view->description().isEmpty()) << view->id().toStdString();
  compare_with_itself();
  for (auto* view : window.views()) {
    EXPECT_FALSE(view->widget()->accessibleName().isEmpty());
    EXPECT_FALSE(view->description().isEmpty()) << view->id().toStdString();
    EXPECT_FALSE(view->table().rows.empty()) << view->id().toStdString();
  }
  for (auto* line : window.panel().findChildren<QLineEdit*>())
    if (line->parentWidget() == nullptr || !line->parentWidget()->inherits("QComboBox")) {
      EXPECT_FALSE(line->accessibleName().isEmpty());
    }
}

TEST_F(Window, ArrowKeysWalkThePointsOfAChart) {
  auto* chart = qobject_cast<ChartPanel*>(window.views().front()->widget());
  QKeyEvent right(QEvent::KeyPress, Qt::Key_Right, Qt::NoModifier);
  QApplication::sendEvent(chart, &right);
  EXPECT_EQ(chart->callout(), 0);
  EXPECT_FALSE(chart->accessibleDescription().isEmpty());
}

TEST_F(Window, ThePinnedBaselineStaysWhileTheScenarioMoves) {
  const auto before = window.session().shown().result;
  window.action("pin")->trigger();
  ASSERT_TRUE(window.document().set("precision", "fp32").empty());
  ASSERT_TRUE(simulated(window));
  EXPECT_EQ(window.session().shown().baseline, before);
  EXPECT_NE(window.session().shown().result, before);
  window.action("pin")->trigger();
  EXPECT_EQ(window.session().shown().baseline, nullptr);
}

TEST_F(Window, WhatCannotRunIsSaidWithItsReason) {
  ASSERT_TRUE(window.document().apply({"batch.global=100", "gpus=[1, 8]"}, "odd").empty());
  ASSERT_TRUE(simulated(window));
  const QStringList more = headline(*window.session().shown().result).more;
  EXPECT_TRUE(more.join(' ').contains("cannot run")) << more.join('\n').toStdString();
}

// A view of somebody else becomes a tab.
class PlainView : public View {
 public:
  QString id() const override { return "plain"; }
  QString title() const override { return "Plain"; }
  QWidget* widget() override { return widget_; }
  void show_result(const Shown& shown) override { results += shown.result ? 1 : 0; }
  DataTable table() const override { return {{"a"}, {{"1"}}}; }
  QString description() const override { return "plain"; }
  void paint(QPainter&, const QRectF&) override {}
  void theme_changed() override {}
  static inline int results = 0;

 private:
  QWidget* widget_ = new QWidget;
};

TEST(AnyView, BecomesATabAndGetsEveryResult) {
  std::vector<ViewTab> tabs(1);
  tabs[0].title = "Plain";
  tabs[0].cards.emplace_back();
  tabs[0].cards[0].push_back(std::make_unique<PlainView>());
  MainWindow other(std::move(tabs));
  EXPECT_EQ(other.findChild<QTabWidget*>()->tabText(0), "Plain");
  other.open_any("pcie-box");
  EXPECT_GE(PlainView::results, 1);
}

TEST(Gallery, EveryCardHasAQuestionAnAnswerAndWordsAndItsTrialWorks) {
  int with_words = 0;
  for (const GalleryCard& card : gallery_cards()) {
    EXPECT_FALSE(card.question.isEmpty()) << card.name.toStdString();
    EXPECT_NE(stored_answer(card), nullptr) << card.name.toStdString();
    if (card.to_try.isEmpty()) continue;
    ++with_words;
    EXPECT_FALSE(card.to_notice.isEmpty());
    ScenarioDocument document;
    ASSERT_TRUE(document.open_example(card.path, card.name).empty());
    const Errors errors = document.apply({card.try_set.toStdString()}, "try");
    EXPECT_TRUE(errors.empty()) << card.name.toStdString() << ": " << (errors.empty() ? "" : to_text(errors.front()));
    LoadedInputs loaded;
    EXPECT_NE(estimate_now(document.source(), loaded).result, nullptr) << card.name.toStdString();
  }
  EXPECT_GE(with_words, 8);
}

}  // namespace
}  // namespace lockstep::gui
