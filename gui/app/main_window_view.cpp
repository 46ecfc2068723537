// What stands where in the window, how large, and how the keyboard gets there; what is measured; the open file on disk.
#include <QAction>
#include <QApplication>
#include <QFile>
#include <QHBoxLayout>
#include <QLabel>
#include <QMenu>
#include <QPushButton>
#include <QSettings>
#include <QSplitter>
#include <QStackedWidget>
#include <QStatusBar>
#include <QTabBar>
#include <QTabWidget>
#include <QTimer>
#include <array>
#include <utility>

#include "gui/app/answer_bar.h"
#include "gui/app/command_palette.h"
#include "gui/app/font_size.h"
#include "gui/app/main_window.h"
#include "gui/app/measure_strip.h"
#include "gui/app/what_if_panel.h"
#include "simulator/base/document.h"

namespace lockstep::gui {
namespace {

constexpr std::array<int, 2> kSplit = {350, 970};
constexpr QSize kSize(1320, 860);
constexpr int kSettleMs = 200;  // programs write a file in several goes

}  // namespace

void MainWindow::make_view_actions() {
  const auto on = [this](QAction* action, auto slot) { connect(action, &QAction::triggered, this, slot); };
  for (int i = 0; i < tabs_->count() && i < 9; ++i) {
    QAction* tab = add_action(QStringLiteral("tab%1").arg(i + 1), tr("Show %1").arg(tabs_->tabText(i)),
                              QKeySequence(Qt::CTRL | static_cast<Qt::Key>(Qt::Key_1 + i)));
    on(tab, [this, i] {
      tabs_->setCurrentIndex(i);
      tabs_->tabBar()->setFocus(Qt::ShortcutFocusReason);
    });
  }
  on(add_action("levers", tr("To the &levers"), QKeySequence(Qt::CTRL | Qt::Key_L),
                tr("The keyboard to what would help")),
     &MainWindow::go_to_levers);
  on(add_action("find", tr("&Find a setting"), QKeySequence::Find), [this] {
    action(QStringLiteral("panel"))->setChecked(true);
    panel_->find_setting();
  });
  QAction* panel = add_action("panel", tr("&Settings"), QKeySequence(Qt::Key_F9), tr("The settings beside the answer"));
  panel->setCheckable(true);
  panel->setChecked(true);
  connect(panel, &QAction::toggled, side_, &QWidget::setVisible);
  QAction* details = add_action("details", tr("&More about the answer"), QKeySequence(Qt::CTRL | Qt::Key_D),
                                tr("Doubts, notes and comparisons below the answer"));
  details->setCheckable(true);
  connect(details, &QAction::toggled, answer_, &AnswerBar::show_details);
  connect(answer_, &AnswerBar::details_shown, details, &QAction::setChecked);
  QAction* larger = add_action("larger", tr("Larger &text"), QKeySequence(Qt::CTRL | Qt::Key_Plus));
  larger->setShortcuts({QKeySequence(Qt::CTRL | Qt::Key_Plus), QKeySequence(Qt::CTRL | Qt::Key_Equal)});
  on(larger, [this] { change_font(1); });
  on(add_action("smaller", tr("S&maller text"), QKeySequence(Qt::CTRL | Qt::Key_Minus)), [this] { change_font(-1); });
  on(add_action("normal", tr("&Normal text"), QKeySequence(Qt::CTRL | Qt::Key_0)), [this] { change_font(0); });
  on(add_action("restore", tr("&Restore the default layout"), {}, tr("Sizes, settings and text as they were at first")),
     &MainWindow::restore_layout);
  on(add_action("palette", tr("Find an &action"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_P),
                tr("Any action by a part of its name")),
     [this] {
       CommandPalette palette(findChildren<QAction*>(), this);
       if (palette.exec() == QDialog::Accepted && palette.chosen() != nullptr) palette.chosen()->trigger();
     });
}

void MainWindow::fill_view_menu(QMenu& view) {
  view.addSeparator();
  for (const char* name : {"panel", "details", "-", "larger", "smaller", "normal", "-", "levers", "find", "-"})
    *name == '-' ? static_cast<void>(view.addSeparator()) : view.addAction(action(QString::fromLatin1(name)));
  QMenu* tabs = view.addMenu(tr("&Tabs"));
  for (int i = 1; QAction* tab = action(QStringLiteral("tab%1").arg(i)); ++i) tabs->addAction(tab);
  view.addAction(action(QStringLiteral("restore")));
}

void MainWindow::go_to_levers() {
  if (pages_->currentIndex() != 1) return;
  if (!answer_->focus_levers()) statusBar()->showMessage(tr("This answer has no levers"), 4000);
}

void MainWindow::change_font(int by) {
  set_font_step(by == 0 ? 0 : font_step() + by);
  for (View* view : views()) view->theme_changed();
  answer_->show_answer(session_.shown());
}

void MainWindow::restore_layout() {
  for (const char* name : {"geometry", "split"}) QSettings().remove(QString::fromLatin1(name));
  if (isMaximized() || isFullScreen()) showNormal();
  resize(kSize);
  action(QStringLiteral("panel"))->setChecked(true);
  action(QStringLiteral("details"))->setChecked(false);
  split_->setSizes({kSplit[0], kSplit[1]});
  change_font(0);
}

// --- Measuring ---

void MainWindow::connect_measurement() {
  connect(&measurement_, &LiveMeasurement::state_changed, this, [this] {
    if (pages_->currentIndex() == 1) refresh_state();
    action(QStringLiteral("measure"))
        ->setText(measurement_.state() == MeasureState::Running ? tr("Stop &measuring") : tr("&Measure here"));
    if (measurement_.state() == MeasureState::Running) session_.remove_traces(std::exchange(measured_traces_, {}));
    if (measurement_.state() != MeasureState::Done) return;
    measured_traces_ = measurement_.traces();
    for (const QString& trace : measured_traces_) session_.add_trace(trace);
  });
  connect(&measurement_, &LiveMeasurement::result_changed, this,
          [this] { session_.put_measured(tr("measured here"), measurement_.result()); });
  connect(strip_, &MeasureStrip::trouble, answer_, &AnswerBar::show_errors);
  connect(&session_, &Session::shown_changed, strip_, [this] {
    const auto& result = session_.shown().result;
    if (result && !result->runs.empty()) strip_->set_throughput_unit(result->runs.front().throughput_unit);
  });
}

// --- The file on disk ---

QWidget* MainWindow::make_changed_bar() {
  changed_bar_ = new QFrame;
  changed_bar_->setObjectName(QStringLiteral("card"));
  auto* row = new QHBoxLayout(changed_bar_);
  row->setContentsMargins(14, 6, 10, 6);
  auto* text = new QLabel;
  text->setObjectName(QStringLiteral("changed"));
  row->addWidget(text, 1);
  auto* reload = new QPushButton(tr("Reload"));
  reload->setObjectName(QStringLiteral("reload"));
  reload->setToolTip(tr("What the file says now, as a step that Undo takes back"));
  auto* keep = new QPushButton(tr("Keep what is here"));
  row->addWidget(reload);
  row->addWidget(keep);
  connect(reload, &QPushButton::clicked, this, [this] {
    answer_->show_errors(document_.reload());
    changed_bar_->hide();
  });
  connect(keep, &QPushButton::clicked, changed_bar_, &QWidget::hide);
  changed_bar_->hide();
  connect(&watcher_, &QFileSystemWatcher::fileChanged, this,
          [this] { QTimer::singleShot(kSettleMs, this, &MainWindow::file_changed); });
  connect(&document_, &ScenarioDocument::place_changed, this, &MainWindow::watch_file);
  return changed_bar_;
}

// Programs that write beside a file and rename end the watching of it.
void MainWindow::watch_file() {
  const QStringList watched = watcher_.files();
  const QString path = document_.path();
  if (watched == QStringList{path}) return;
  if (!watched.isEmpty()) watcher_.removePaths(watched);
  if (!path.isEmpty() && QFile::exists(path)) watcher_.addPath(path);
  if (watched != QStringList{path} && !watched.isEmpty()) changed_bar_->hide();
}

void MainWindow::file_changed() {
  const auto now = read_text_file(document_.path().toStdString());
  watch_file();
  auto* text = changed_bar_->findChild<QLabel*>(QStringLiteral("changed"));
  text->setText(now ? tr("The file has changed on disk.")
                    : tr("The file cannot be read from disk any more. What is open stays; Save writes it again."));
  changed_bar_->findChild<QPushButton*>(QStringLiteral("reload"))->setVisible(now.has_value());
  changed_bar_->setVisible(!now || (*now != document_.text() && *now != document_.saved_text()));
}

}  // namespace lockstep::gui
