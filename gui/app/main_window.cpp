#include "gui/app/main_window.h"

#include <QAction>
#include <QApplication>
#include <QDragEnterEvent>
#include <QFileInfo>
#include <QLabel>
#include <QMimeData>
#include <QProgressBar>
#include <QScrollArea>
#include <QSettings>
#include <QSplitter>
#include <QStackedWidget>
#include <QStatusBar>
#include <QTabBar>
#include <QTabWidget>
#include <QVBoxLayout>

#include "gui/app/answer_bar.h"
#include "gui/app/gallery_page.h"
#include "gui/app/measure_strip.h"
#include "gui/app/pages.h"
#include "gui/app/theme.h"
#include "gui/app/what_if_panel.h"
#include "gui/sweep/sweep_user.h"
#include "gui/timeline/timeline_view.h"

namespace lockstep::gui {

MainWindow::MainWindow(std::vector<ViewTab> views)
    : session_(document_), sweeps_(document_, session_), views_(std::move(views)) {
  setWindowIcon(QIcon(QStringLiteral(":/lockstep/lockstep.svg")));
  resize(1320, 860);
  setMinimumSize(900, 600);
  setAcceptDrops(true);
  pages_ = new QStackedWidget;
  gallery_ = new GalleryPage;
  pages_->addWidget(gallery_);
  pages_->addWidget(make_work_page());
  setCentralWidget(pages_);
  make_actions();
  make_menus();
  make_toolbar();
  make_status();
  connect_session();
  connect_measurement();
  connect(gallery_, &GalleryPage::chosen, this, &MainWindow::open_card);
  connect(gallery_, &GalleryPage::file_chosen, this, &MainWindow::open_any);
  connect(&document_, &ScenarioDocument::place_changed, this, &MainWindow::refresh_title);
  const QByteArray geometry = QSettings().value(QStringLiteral("geometry")).toByteArray();
  if (!geometry.isEmpty()) restoreGeometry(geometry);
  const QByteArray layout = QSettings().value(QStringLiteral("split")).toByteArray();
  if (!layout.isEmpty()) split_->restoreState(layout);
  show_gallery();
}

MainWindow::~MainWindow() = default;

QWidget* MainWindow::make_work_page() {
  auto* split = split_ = new QSplitter;
  split->setChildrenCollapsible(false);
  auto* left = new QFrame;
  side_ = left;
  left->setObjectName(QStringLiteral("panel"));
  auto* left_column = new QVBoxLayout(left);
  left_column->setContentsMargins(0, 0, 0, 0);
  panel_ = new WhatIfPanel(document_);
  left_column->addWidget(panel_);
  left->setMinimumWidth(330);
  split->addWidget(left);

  auto* right = new QWidget;
  auto* column = new QVBoxLayout(right);
  column->setContentsMargins(12, 12, 12, 8);
  column->setSpacing(8);
  answer_ = new AnswerBar;
  column->addWidget(make_changed_bar());
  column->addWidget(answer_);
  tabs_ = new QTabWidget;
  tabs_->setDocumentMode(true);
  tabs_->tabBar()->setDrawBase(false);
  column->addWidget(tabs_, 1);
  strip_ = new MeasureStrip(measurement_, document_);
  column->addWidget(strip_);
  split->addWidget(right);
  split->setStretchFactor(1, 1);
  split->setSizes({350, 970});

  for (const ViewTab& tab : views_) add_tab(tab);
  text_page_ = new TextPage(document_);
  tabs_->addTab(text_page_, tr("Scenario file"));
  return split;
}

void MainWindow::add_tab(const ViewTab& tab) {
  auto* row = new QSplitter;
  row->setChildrenCollapsible(false);
  row->setHandleWidth(10);
  for (const auto& card : tab.cards) {
    std::vector<View*> views;
    for (const auto& view : card) views.push_back(view.get());
    frames_.push_back(new ViewFrame(views));
    row->addWidget(frames_.back());
  }
  row->setSizes(QList<int>(static_cast<int>(tab.cards.size()), 480));
  auto* scroll = new QScrollArea;  // the answer above is never cut for what a view would like to have
  scroll->setWidgetResizable(true);
  scroll->setWidget(row);
  tabs_->addTab(scroll, tab.title);
}

ViewFrame* MainWindow::show_view(const QString& id) {
  for (ViewFrame* frame : frames_)
    for (std::size_t i = 0; i < frame->views().size(); ++i) {
      if (frame->views()[i]->id() != id) continue;
      for (int tab = 0; tab < tabs_->count(); ++tab)
        if (tabs_->widget(tab)->isAncestorOf(frame)) tabs_->setCurrentIndex(tab);
      frame->choose(static_cast<int>(i));
      return frame;
    }
  return nullptr;
}

void MainWindow::make_status() {
  status_ = new QLabel;
  progress_ = new QProgressBar;
  progress_->setFixedWidth(180);
  progress_->setTextVisible(false);
  progress_->setAccessibleName(tr("Progress of the simulation"));
  progress_->hide();
  statusBar()->addWidget(status_, 1);
  statusBar()->addPermanentWidget(progress_);
}

void MainWindow::connect_session() {
  connect(&sweeps_, &SweepRuns::changed, this, &MainWindow::refresh_sweeps);
  connect(&sweeps_, &SweepRuns::running_changed, this, &MainWindow::refresh_state);
  for (View* view : views())
    if (auto* one = dynamic_cast<SweepUser*>(view)) one->use(sweeps_);
  connect(&session_, &Session::shown_changed, this, &MainWindow::refresh_views);
  connect(&session_, &Session::details_changed, this, [this] {
    for (View* view : views())
      if (view->shows_details()) view->show_result(session_.shown());
    for (ViewFrame* frame : frames_)
      if (frame->current()->shows_details()) frame->refresh();
  });
  connect(&session_, &Session::state_changed, this, &MainWindow::refresh_state);
  connect(&session_, &Session::effective_changed, this, [this] { panel_->show_effective(session_.effective()); });
  connect(&session_, &Session::progressed, this, [this](int done, int total, const QString& text) {
    progress_->setRange(0, std::max(1, total));
    progress_->setValue(done);
    status_->setText(tr("Simulating %1 of %2: %3").arg(std::min(done + 1, total)).arg(total).arg(text));
  });
  connect(&session_, &Session::wrong, this, [this](const Errors& errors) {
    if (sweeps_.lists_values()) return show_listed_values();
    answer_->show_errors(errors);
    panel_->show_errors(errors);
  });
  connect(&session_, &Session::failed, answer_, &AnswerBar::show_failure);
  connect(&session_, &Session::trace_progressed, this, [this](const QString& name, double share) {
    progress_->setRange(0, 100);
    progress_->setValue(static_cast<int>(100 * share));
    progress_->show();
    action(QStringLiteral("stop"))->setEnabled(true);
    status_->setText(tr("Reading %1: %2 %").arg(name).arg(static_cast<int>(100 * share)));
  });
  connect(&session_, &Session::trace_ended, this, &MainWindow::end_trace);
  for (View* view : views()) view->focus_asked = [this](const Focus& focus) { show_in_timeline(focus); };
  connect(tabs_, &QTabWidget::currentChanged, this, &MainWindow::follow_timeline);
  connect(answer_, &AnswerBar::lever_chosen, this, [this](const QString& set) {
    answer_->show_errors(document_.apply({set.toStdString()}, tr("try %1").arg(set)));
  });
}

TimelineView* MainWindow::timeline() const {
  for (View* view : views())
    if (auto* found = dynamic_cast<TimelineView*>(view)) return found;
  return nullptr;
}

// Spans of the simulation are asked for while the timeline shows them.
void MainWindow::follow_timeline() {
  if (TimelineView* view = timeline()) session_.want_spans(tabs_->currentWidget()->isAncestorOf(view->widget()));
}

void MainWindow::show_in_timeline(const Focus& focus) {
  TimelineView* view = timeline();
  if (view == nullptr) return;
  show_view(view->id());
  view->light(focus);
  view->timeline().setFocus();
}

void MainWindow::end_trace(const QString& path, bool good, const QString& trouble) {
  const QString name = QFileInfo(path).fileName();
  const bool asked = !measurement_.wrote(path);
  if (good && asked && timeline() != nullptr) {
    show_view(QStringLiteral("timeline"));
    timeline()->reveal_traces();
  }
  if (!session_.reading_traces()) progress_->hide();
  refresh_state();
  if (!asked) return;
  if (good && trouble.isEmpty()) return statusBar()->showMessage(tr("Added %1").arg(name), 4000);
  if (path.isEmpty()) return statusBar()->showMessage(trouble, 4000);
  tell(good ? tr("%1 is not whole; what could be read of it is shown").arg(name)
            : tr("%1 is no trace that can be shown").arg(name),
       trouble);
}

void MainWindow::refresh_views() {
  const Shown& shown = session_.shown();
  for (View* view : views()) view->show_result(shown);
  for (ViewFrame* frame : frames_) frame->refresh();
  answer_->show_answer(shown);
}

// A file that is a sweep has no answer of its own, but a map.
void MainWindow::show_listed_values() {
  answer_->show_note(tr("This file lists values: the tab Sweep has an answer for each combination."),
                     tr("Use a cell of its map to go on with these values."));
  if (text_page_->isVisible()) return;  // it is being typed
  for (std::size_t i = 0; i < views_.size(); ++i)
    for (const auto& card : views_[i].cards)
      for (const auto& view : card)
        if (dynamic_cast<SweepUser*>(view.get()) != nullptr) tabs_->setCurrentIndex(static_cast<int>(i));
}

void MainWindow::refresh_sweeps() {
  for (View* view : views())
    if (dynamic_cast<SweepUser*>(view) != nullptr) view->show_result(session_.shown());
  for (ViewFrame* frame : frames_) frame->refresh();
}

void MainWindow::refresh_state() {
  const RunState state = session_.state();
  const bool running = state == RunState::Simulating;
  progress_->setVisible(running || session_.reading_traces());
  if (action(QStringLiteral("stop")) != nullptr) {
    const bool scenario = !document_.text().empty() || document_.modified();  // else a trace alone
    panel_->setEnabled(scenario);
    for (const char* name : {"save", "save_as"}) action(QString::fromLatin1(name))->setEnabled(scenario);
    action(QStringLiteral("stop"))
        ->setEnabled(running || state == RunState::Waiting || sweeps_.running() || session_.reading_traces() ||
                     measurement_.state() == MeasureState::Running);
    action(QStringLiteral("run"))->setEnabled(state != RunState::Wrong && !running && session_.shown().result);
    action(QStringLiteral("pin"))->setEnabled(session_.shown().result != nullptr);
    action(QStringLiteral("export"))->setEnabled(session_.shown().result != nullptr);
    action(QStringLiteral("copy"))->setEnabled(document_.read().has_value());
    action(QStringLiteral("measure"))->setEnabled(document_.read().has_value());
  }
  switch (state) {
    case RunState::Idle:
      answer_->show_state({});
      status_->clear();
      break;
    case RunState::Estimating:
      answer_->clear_failure();
      answer_->show_state(tr("out of date"), tr("The scenario has changed since"));
      break;
    case RunState::Waiting:
      answer_->show_state(tr("estimate"), tr("Without contention; the simulation follows"));
      status_->setText(tr("Estimated in %1 ms").arg(session_.estimate_seconds() * 1e3, 0, 'f', 1));
      break;
    case RunState::Simulating:
      answer_->clear_failure();
      answer_->show_state(session_.shown().stale ? tr("out of date, simulating") : tr("estimate, simulating"));
      status_->setText(tr("Simulating"));
      break;
    case RunState::Done:
      answer_->show_state(tr("simulated"));
      status_->setText(session_.seconds() > 0 ? tr("Simulated in %1 s").arg(session_.seconds(), 0, 'f', 2)
                                              : tr("Predicted when lockstep was built"));
      break;
    case RunState::Stopped:
      answer_->show_state(session_.shown().estimated ? tr("stopped: estimate") : tr("stopped"));
      status_->setText(tr("Stopped"));
      break;
    case RunState::Failed:
      answer_->show_state(session_.shown().estimated ? tr("failed: estimate") : tr("failed"));
      status_->setText(tr("The simulation failed"));
      break;
    case RunState::Wrong:
      answer_->show_state(session_.shown().result ? tr("out of date") : QString());
      status_->setText(sweeps_.lists_values() ? tr("The scenario is a sweep") : tr("The scenario has an error"));
      break;
  }
}

void MainWindow::refresh_title() {
  if (pages_->currentIndex() == 0) {
    setWindowTitle(tr("lockstep"));
    setWindowModified(false);
    return;
  }
  setWindowTitle(tr("%1[*] – lockstep").arg(document_.name()));
  setWindowModified(document_.modified());
  const QString question = document_.read() ? QString::fromStdString(document_.read()->scenario.question) : QString();
  answer_->show_question(question);
}

void MainWindow::show_work() {
  pages_->setCurrentIndex(1);
  statusBar()->clearMessage();
  action(QStringLiteral("gallery"))->setEnabled(true);
  tabs_->tabBar()->setFocus();
  refresh_title();
  refresh_state();
}

void MainWindow::show_gallery() {
  pages_->setCurrentIndex(0);
  gallery_->show_recent(recent());
  for (const char* name : {"save", "save_as", "gallery", "run", "stop", "pin", "export", "copy", "measure"})
    action(QString::fromLatin1(name))->setEnabled(false);
  refresh_title();
}

void MainWindow::use_theme(int choice) {
  set_theme(static_cast<ThemeChoice>(choice));
  set_up_style();
  update_icons();
  for (View* view : views()) view->theme_changed();
  answer_->show_answer(session_.shown());  // its words are coloured
  strip_->theme_changed();
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (event->mimeData()->hasUrls()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  QStringList files;
  for (const QUrl& url : event->mimeData()->urls())
    if (url.isLocalFile()) files << url.toLocalFile();
  open_several(files);
  event->acceptProposedAction();
}

}  // namespace lockstep::gui
