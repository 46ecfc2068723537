// What the menus of the window do.
#include <QAction>
#include <QActionGroup>
#include <QApplication>
#include <QClipboard>
#include <QCloseEvent>
#include <QDialog>
#include <QDialogButtonBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenuBar>
#include <QMessageBox>
#include <QSettings>
#include <QSplitter>
#include <QStackedWidget>
#include <QStatusBar>
#include <QTextBrowser>
#include <QToolBar>
#include <QUndoStack>
#include <QVBoxLayout>

#include "gui/app/answer_bar.h"
#include "gui/app/glossary.h"
#include "gui/app/keys.h"
#include "gui/app/main_window.h"
#include "gui/app/measure_strip.h"
#include "gui/app/pages.h"
#include "gui/app/theme.h"
#include "gui/compare/error_rows.h"
#include "gui/export/export_view.h"
#include "gui/export/report.h"
#include "simulator/base/document.h"

namespace lockstep::gui {
namespace {

constexpr int kMostRecent = 8;

void show_text(QWidget* parent, const QString& title, const QString& html) {
  QDialog dialog(parent);
  dialog.setWindowTitle(title);
  dialog.resize(620, 560);
  auto* column = new QVBoxLayout(&dialog);
  auto* text = new QTextBrowser;
  text->setHtml(html);
  text->setAccessibleName(title);
  column->addWidget(text);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
  QObject::connect(buttons, &QDialogButtonBox::rejected, &dialog, &QDialog::reject);
  column->addWidget(buttons);
  dialog.exec();
}

}  // namespace

QAction* MainWindow::action(const QString& name) const {
  return findChild<QAction*>(name);
}

QAction* MainWindow::add_action(const QString& name, const QString& text, const QKeySequence& keys,
                                const QString& tip) {
  auto* action = new QAction(text, this);
  action->setObjectName(name);
  action->setShortcut(keys);
  QString plain = text;
  plain.remove('&');
  const QString shown = tip.isEmpty() ? plain : tip;
  action->setToolTip(keys.isEmpty() ? shown
                                    : QStringLiteral("%1 (%2)").arg(shown, keys.toString(QKeySequence::NativeText)));
  addAction(action);
  return action;
}

void MainWindow::make_actions() {
  const auto on = [this](QAction* action, auto slot) { connect(action, &QAction::triggered, this, slot); };
  on(add_action("gallery", tr("&Gallery"), QKeySequence(Qt::CTRL | Qt::Key_G), tr("Back to the questions")), [this] {
    if (may_leave()) show_gallery();
  });
  on(add_action("open", tr("&Open"), QKeySequence::Open, tr("Open a scenario, a result or a trace")),
     &MainWindow::open_dialog);
  on(add_action("save", tr("&Save"), QKeySequence::Save), &MainWindow::save);
  on(add_action("save_as", tr("Save &as"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_S)), &MainWindow::save_as);
  on(add_action("export", tr("&Export"), QKeySequence(Qt::CTRL | Qt::Key_E),
                tr("Every view as PNG, SVG, PDF and CSV, and a page about the scenario")),
     &MainWindow::export_dialog);
  on(add_action("quit", tr("&Quit"), QKeySequence(Qt::CTRL | Qt::Key_Q)), [this] { close(); });
  on(add_action("copy", tr("&Copy as command"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_C),
                tr("The lockstep line that predicts the same")),
     &MainWindow::copy_command);
  on(add_action("run", tr("&Run"), QKeySequence(Qt::Key_F5), tr("Simulate now")), [this] { session_.run_now(); });
  on(add_action("stop", tr("&Stop"), QKeySequence(Qt::SHIFT | Qt::Key_F5)), [this] {
    sweeps_.stop();
    if (session_.reading_traces()) session_.stop_reading_traces();
    if (measurement_.state() == MeasureState::Running) measurement_.stop();
    if (session_.state() == RunState::Simulating || session_.state() == RunState::Waiting) session_.stop();
  });
  on(add_action("measure", tr("&Measure here"), QKeySequence(Qt::Key_F6),
                tr("Train the scenario for real on this machine")),
     [this] { measurement_.state() == MeasureState::Running ? measurement_.stop() : strip_->ask(); });
  on(add_action("unmeasure", tr("Remove measured results"), {}), [this] { session_.remove_measured(); });
  QAction* pin = add_action("pin", tr("&Pin as baseline"), QKeySequence(Qt::CTRL | Qt::Key_B),
                            tr("Keep this result in the charts to compare with"));
  pin->setCheckable(true);
  connect(pin, &QAction::toggled, this, [this](bool pinned) { session_.pin(pinned); });
  on(add_action("terms", tr("&Terms"), QKeySequence(Qt::Key_F1), tr("What the words mean")), &MainWindow::show_terms);
  QAction* keys = add_action("keys", tr("&Keys"), QKeySequence(Qt::Key_Question), tr("Every key of the window"));
  keys->setShortcuts({QKeySequence(Qt::Key_Question), QKeySequence(Qt::CTRL | Qt::Key_Slash)});
  on(keys, &MainWindow::show_keys);
  make_view_actions();
  QAction* undo = document_.undo().createUndoAction(this, tr("Undo"));
  undo->setObjectName(QStringLiteral("undo"));
  undo->setShortcut(QKeySequence::Undo);
  QAction* redo = document_.undo().createRedoAction(this, tr("Redo"));
  redo->setObjectName(QStringLiteral("redo"));
  redo->setShortcut(QKeySequence::Redo);
  for (QAction* one : {undo, redo}) addAction(one);
  update_icons();
}

void MainWindow::update_icons() {
  for (const char* name :
       {"gallery", "open", "save", "undo", "redo", "run", "stop", "measure", "pin", "export", "copy"})
    action(QString::fromLatin1(name))->setIcon(icon(QString::fromLatin1(name)));
  action(QStringLiteral("terms"))->setIcon(icon(QStringLiteral("help")));
}

void MainWindow::make_menus() {
  const auto add = [this](QMenu* menu, std::initializer_list<const char*> names) {
    for (const char* name : names)
      *name == '-' ? static_cast<void>(menu->addSeparator()) : menu->addAction(action(QString::fromLatin1(name)));
  };
  QMenu* file = menuBar()->addMenu(tr("&File"));
  add(file, {"gallery", "open"});
  recent_menu_ = file->addMenu(tr("Recent &files"));
  connect(recent_menu_, &QMenu::aboutToShow, this, &MainWindow::fill_recent_menu);
  add(file, {"-", "save", "save_as", "export", "-", "quit"});
  add(menuBar()->addMenu(tr("&Edit")), {"undo", "redo", "-", "copy"});
  add(menuBar()->addMenu(tr("&Run")), {"run", "stop", "-", "measure", "unmeasure", "-", "pin"});
  QMenu* view = menuBar()->addMenu(tr("&View"));
  auto* themes = new QActionGroup(this);
  const QStringList names = {tr("Theme of the &system"), tr("&Light"), tr("&Dark")};
  const QStringList stored = {QStringLiteral("system"), QStringLiteral("light"), QStringLiteral("dark")};
  for (int i = 0; i < names.size(); ++i) {
    QAction* one = view->addAction(names[i]);
    one->setCheckable(true);
    one->setChecked(static_cast<int>(theme_choice()) == i);
    themes->addAction(one);
    connect(one, &QAction::triggered, this, [this, i, stored] {
      QSettings().setValue(QStringLiteral("theme"), stored[i]);
      use_theme(i);
    });
  }
  fill_view_menu(*view);
  add(menuBar()->addMenu(tr("&Help")), {"palette", "terms", "keys"});
}

void MainWindow::make_toolbar() {
  QToolBar* bar = addToolBar(tr("Tools"));
  bar->setObjectName(QStringLiteral("tools"));
  bar->setMovable(false);
  bar->setIconSize({20, 20});
  bar->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
  for (const char* name : {"gallery", "open", "save", "-", "undo", "redo", "-", "run", "stop", "measure", "-", "pin",
                           "export", "copy", "-", "terms"}) {
    if (*name == '-') {
      bar->addSeparator();
      continue;
    }
    bar->addAction(action(QString::fromLatin1(name)));
  }
  for (const char* name : {"undo", "redo"})
    if (auto* button = qobject_cast<QWidget*>(bar->widgetForAction(action(QString::fromLatin1(name)))))
      button->setProperty("toolButtonStyle", Qt::ToolButtonIconOnly);
}

// --- Files ---

void MainWindow::complain(const QString& what, const Errors& errors) {
  QStringList lines;
  for (const Error& error : errors) lines << QString::fromStdString(to_text(error));
  tell(what, lines.join('\n'));
}

void MainWindow::tell(const QString& what, const QString& more) {
  auto* box = new QMessageBox(QMessageBox::Warning, tr("lockstep"), what, QMessageBox::Ok, this);
  box->setInformativeText(more);
  box->setAttribute(Qt::WA_DeleteOnClose);
  box->open();
}

// What was open stays where the next file cannot be read.
bool MainWindow::start_with(const QString& path) {
  if (const auto text = read_text_file(path.toStdString()); !text) {
    complain(tr("%1 cannot be opened").arg(path), text.error());
    return false;
  }
  action(QStringLiteral("pin"))->setChecked(false);
  session_.start_over();
  changed_bar_->hide();
  return true;
}

void MainWindow::open_any(const QString& file) {
  const bool json = file.endsWith(QLatin1String(".json"), Qt::CaseInsensitive);
  if (file.endsWith(QLatin1String(".json.gz"), Qt::CaseInsensitive) || (json && looks_like_trace(file.toStdString()))) {
    if (pages_->currentIndex() == 0) show_work();
    session_.add_trace(QFileInfo(file).absoluteFilePath());
    return refresh_state();
  }
  if (json) {
    if (const Errors errors = session_.add_measured(file); !errors.empty())
      complain(tr("%1 is no result that can be shown").arg(file), errors);
    else
      statusBar()->showMessage(tr("Added %1").arg(QFileInfo(file).fileName()), 4000);
    if (pages_->currentIndex() == 0 && !session_.shown().measured.empty()) open_scenario_of_result(file);
    return;
  }
  if (!QFileInfo::exists(file))
    for (const GalleryCard& card : gallery_cards())
      if (card.name == file) return open_card(card);
  if (!may_leave() || !start_with(file)) return;
  document_.open(file);
  remember(QFileInfo(file).absoluteFilePath());
  show_work();
}

void MainWindow::open_several(const QStringList& files) {
  const auto is_result = [](const QString& file) {
    return file.endsWith(QLatin1String(".json"), Qt::CaseInsensitive) ||
           file.endsWith(QLatin1String(".json.gz"), Qt::CaseInsensitive);
  };
  QStringList scenarios, results;
  for (const QString& file : files) (is_result(file) ? results : scenarios) << file;
  if (!scenarios.isEmpty()) open_any(scenarios.takeFirst());
  for (const QString& file : results) open_any(file);
  if (!scenarios.isEmpty())
    statusBar()->showMessage(
        tr("One scenario is open at a time; not opened: %1").arg(scenarios.join(QStringLiteral(", "))));
}

// Where no scenario is open, a result brings its own.
void MainWindow::open_scenario_of_result(const QString& file) {
  const MeasuredResult added = session_.shown().measured.back();
  if (added.result->scenario_yaml.empty()) return;
  session_.start_over();
  document_.open_text(added.result->scenario_yaml, QFileInfo(file).fileName());
  show_work();
  if (added.result->kind == "predicted") return session_.adopt(added.result);
  session_.add_measured(added.name, added.result);
}

void MainWindow::open_card(const GalleryCard& card) {
  if (!may_leave() || !start_with(card.path)) return;
  document_.open_example(card.path, card.name);
  show_work();
  if (auto answer = stored_answer(card)) session_.adopt(std::move(answer));
}

void MainWindow::open_dialog() {
  const QStringList files = QFileDialog::getOpenFileNames(
      this, tr("Open"), {}, tr("Scenarios, results and traces (*.yaml *.yml *.json *.json.gz);;All files (*)"));
  open_several(files);
}

bool MainWindow::save_to(const QString& path) {
  text_page_->take();
  if (const Errors errors = document_.save(path); !errors.empty()) {
    complain(tr("The scenario could not be saved"), errors);
    return false;
  }
  remember(path);
  changed_bar_->hide();
  statusBar()->showMessage(
      document_.comments_kept() ? tr("Saved %1").arg(path) : tr("Saved %1; its comments could not be kept").arg(path),
      4000);
  return true;
}

void MainWindow::save() {
  document_.path().isEmpty() ? save_as() : static_cast<void>(save_to(document_.path()));
}

void MainWindow::save_as() {
  const QString proposed = document_.path().isEmpty() ? document_.name() + QStringLiteral(".yaml") : document_.path();
  const QString path = QFileDialog::getSaveFileName(this, tr("Save the scenario"), proposed, tr("Scenarios (*.yaml)"));
  if (!path.isEmpty()) save_to(path);
}

bool MainWindow::may_leave() {
  text_page_->take();
  if (!document_.modified()) return true;
  const auto answer =
      QMessageBox::question(this, tr("lockstep"), tr("%1 has changes that are not saved.").arg(document_.name()),
                            QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel, QMessageBox::Save);
  if (answer == QMessageBox::Save) save();
  return answer == QMessageBox::Discard || (answer == QMessageBox::Save && !document_.modified());
}

QStringList MainWindow::recent() const {
  QStringList files;
  for (const QString& file : QSettings().value(QStringLiteral("recent")).toStringList())
    if (QFileInfo::exists(file)) files << file;
  return files;
}

void MainWindow::remember(const QString& path) {
  QStringList files = recent();
  files.removeAll(path);
  files.prepend(path);
  QSettings().setValue(QStringLiteral("recent"), QStringList(files.mid(0, kMostRecent)));
}

void MainWindow::fill_recent_menu() {
  recent_menu_->clear();
  for (const QString& file : recent())
    connect(recent_menu_->addAction(file), &QAction::triggered, this, [this, file] { open_any(file); });
  if (recent_menu_->isEmpty()) recent_menu_->addAction(tr("None yet"))->setEnabled(false);
}

void MainWindow::closeEvent(QCloseEvent* event) {
  if (!may_leave()) return event->ignore();
  QSettings().setValue(QStringLiteral("geometry"), saveGeometry());
  QSettings().setValue(QStringLiteral("split"), split_->saveState());
  session_.stop();
  event->accept();
}

// --- The rest ---

void MainWindow::export_dialog() {
  const QString folder = QFileDialog::getExistingDirectory(this, tr("Folder for pictures and numbers"));
  if (folder.isEmpty()) return;
  // The timeline of a picture that stays is the simulated one.
  if (session_.request_spans())
    connect(
        &session_, &Session::spans_ended, this, [this, folder] { export_to(folder); }, Qt::SingleShotConnection);
  else
    export_to(folder);
}

void MainWindow::export_to(const QString& folder) {
  if (!session_.has_details()) {
    session_.add_details_now();
    refresh_views();
  }
  statusBar()->showMessage(tr("Simulating the sweeps for the export"));
  sweeps_.finish([this, folder] { write_export(folder); });
}

void MainWindow::write_export(const QString& folder) {
  QString why;
  const QString prefix = QFileInfo(document_.name()).completeBaseName();
  const std::vector<View*> shown = views_with_numbers(views());
  QStringList files = export_views(shown, all_formats(), folder, prefix, &why);
  if (why.isEmpty() && document_.read())
    files += export_report({QString::fromStdString(document_.read()->scenario.question), document_.name(),
                            document_.command(), QString::fromStdString(document_.text()),
                            session_.shown().result.get(), shown, mismatch_warnings(session_.shown())},
                           folder, prefix, &why);
  if (!why.isEmpty()) QMessageBox::warning(this, tr("lockstep"), why);
  statusBar()->showMessage(tr("%n files written to %1", nullptr, static_cast<int>(files.size())).arg(folder), 6000);
}

void MainWindow::copy_command() {
  const QString line = document_.command();
  QApplication::clipboard()->setText(line);
  statusBar()->showMessage(tr("Copied: %1").arg(line), 6000);
}

void MainWindow::show_terms() {
  QString html;
  for (const Term& term : glossary()) html += term_text(term.id);
  show_text(this, tr("Terms"), html);
}

void MainWindow::show_keys() {
  show_text(this, tr("Keys"), keys_text(findChildren<QAction*>()));
}

}  // namespace lockstep::gui
