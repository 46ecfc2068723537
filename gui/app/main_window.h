// The window: start page, settings on the left, the answer on top, views below it.
#pragma once

#include <QFileSystemWatcher>
#include <QMainWindow>
#include <memory>
#include <vector>

#include "gui/app/all_views.h"
#include "gui/document/gallery.h"
#include "gui/document/scenario_document.h"
#include "gui/runs/measurement.h"
#include "gui/runs/session.h"
#include "gui/sweep/sweep_runs.h"

class QAction;
class QFrame;
class QLabel;
class QMenu;
class QProgressBar;
class QSplitter;
class QStackedWidget;
class QTabWidget;

namespace lockstep::gui {

class AnswerBar;
class GalleryPage;
class TextPage;
class TimelineView;
class MeasureStrip;
class ViewFrame;
class WhatIfPanel;

class MainWindow : public QMainWindow {
  Q_OBJECT

 public:
  explicit MainWindow(std::vector<ViewTab> views = all_views());
  ~MainWindow() override;

  // A scenario, a measured result, a trace, or the name of an example.
  void open_any(const QString& file);
  // Scenarios first, so that results join them.
  void open_several(const QStringList& files);
  void open_card(const GalleryCard& card);
  bool save_to(const QString& path);
  void show_gallery();

  ScenarioDocument& document() { return document_; }
  Session& session() { return session_; }
  SweepRuns& sweeps() { return sweeps_; }
  LiveMeasurement& measurement() { return measurement_; }
  AnswerBar& answer() { return *answer_; }
  WhatIfPanel& panel() { return *panel_; }
  GalleryPage& gallery() { return *gallery_; }
  std::vector<View*> views() const { return views_in(views_); }
  const std::vector<ViewFrame*>& frames() const { return frames_; }
  // Brings a view to the front, by its id; its card, or nullptr where there is none.
  ViewFrame* show_view(const QString& id);
  QAction* action(const QString& name) const;  // by its object name: "save", "undo", ...
  void use_theme(int choice);
  // The timeline in front, with what is meant lit.
  void show_in_timeline(const Focus& focus);
  void change_font(int by);  // points; 0: the system's size
  void restore_layout();

 protected:
  void closeEvent(QCloseEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  QAction* add_action(const QString& name, const QString& text, const QKeySequence& keys, const QString& tip = {});
  void make_actions();
  void make_view_actions();
  void make_menus();
  void fill_view_menu(QMenu& view);
  void make_toolbar();
  QWidget* make_work_page();
  QWidget* make_changed_bar();
  void add_tab(const ViewTab& tab);
  void make_status();
  void connect_session();
  void connect_measurement();

  bool start_with(const QString& path);
  void open_scenario_of_result(const QString& file);
  void open_dialog();
  void save();
  void save_as();
  void export_dialog();
  void export_to(const QString& folder);
  void copy_command();
  void show_terms();
  void show_keys();
  bool may_leave();  // asks about unsaved changes
  void complain(const QString& what, const Errors& errors);
  void tell(const QString& what, const QString& more);
  void remember(const QString& path);
  QStringList recent() const;
  void fill_recent_menu();
  void show_work();
  void refresh_views();
  void refresh_sweeps();
  void show_listed_values();
  void write_export(const QString& folder);
  void follow_timeline();
  TimelineView* timeline() const;
  void end_trace(const QString& path, bool good, const QString& trouble);
  void refresh_state();
  void refresh_title();
  void go_to_levers();
  void watch_file();
  void file_changed();
  void update_icons();

  ScenarioDocument document_;
  Session session_;
  SweepRuns sweeps_;
  LiveMeasurement measurement_;
  QStringList measured_traces_;  // of the last measurement
  QFileSystemWatcher watcher_;
  std::vector<ViewTab> views_;
  std::vector<ViewFrame*> frames_;
  QStackedWidget* pages_ = nullptr;
  GalleryPage* gallery_ = nullptr;
  WhatIfPanel* panel_ = nullptr;
  AnswerBar* answer_ = nullptr;
  MeasureStrip* strip_ = nullptr;
  TextPage* text_page_ = nullptr;
  QSplitter* split_ = nullptr;
  QTabWidget* tabs_ = nullptr;
  QWidget* side_ = nullptr;        // the panel with its frame
  QFrame* changed_bar_ = nullptr;  // the file has changed on disk
  QMenu* recent_menu_ = nullptr;
  QLabel* status_ = nullptr;
  QProgressBar* progress_ = nullptr;
};

}  // namespace lockstep::gui
