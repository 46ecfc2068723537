// From the open scenario to what is shown: an estimate at once, then a simulation by a child process; measured results
// and a pinned baseline beside them. No widgets.
#pragma once

#include <QObject>
#include <QTemporaryDir>
#include <QTimer>
#include <memory>

#include "gui/charts/view.h"
#include "gui/document/scenario_document.h"
#include "gui/runs/child_run.h"
#include "gui/runs/estimator.h"
#include "gui/runs/spans_run.h"
#include "gui/runs/trace_loader.h"

namespace lockstep::gui {

enum class RunState { Idle, Estimating, Waiting, Simulating, Done, Stopped, Failed, Wrong };

class Session : public QObject {
  Q_OBJECT

 public:
  explicit Session(ScenarioDocument& document, QObject* parent = nullptr);

  const Shown& shown() const { return shown_; }
  RunState state() const { return state_; }
  double seconds() const { return seconds_; }  // of the last simulation
  double estimate_seconds() const { return estimate_s_; }
  const std::map<std::string, std::string>& effective() const { return effective_; }

  // A result that is known already (the gallery's), of the text that is open now: nothing has to run.
  void adopt(std::shared_ptr<const Result> result);
  void start_over();  // another file: nothing is shown any more; files are read again
  void run_now();     // without waiting for the last change to settle
  void stop();
  void pin(bool on);
  // What SweepRuns found out; tells nobody.
  void show_sweeps(std::shared_ptr<const BucketCurve> curve, std::shared_ptr<const SweepGrid> sweep);
  // Machine and timelines of the shown result at once, without the thread: for programs that wait for them anyway.
  void add_details_now();
  // The simulated spans follow a simulated result by themselves while somebody looks at them.
  void want_spans(bool wanted);
  // Once, whoever looks: true when they are on the way and `spans_ended` follows; false where they are there, or
  // nothing simulated is shown.
  bool request_spans();
  bool has_details() const { return shown_.topology && timelines_ && timelines_text_ == shown_text_; }

  // A result file of `lockstep measure` (or of `predict`: it becomes a line as well).
  Errors add_measured(const QString& path);
  void add_measured(const QString& name, std::shared_ptr<const Result> result);
  void remove_measured();  // traces as well
  // A Chrome trace, read in a thread; `trace_ended` follows.
  void add_trace(const QString& path) { traces_.read(path); }
  void remove_traces(const QStringList& paths);
  bool reading_traces() const { return traces_.running(); }
  void stop_reading_traces();

  // In place of the one of that name, or as one more: a measurement grows.
  void put_measured(const QString& name, std::shared_ptr<const Result> result);

 signals:
  void shown_changed();
  void details_changed();  // of shown() the timelines, parts of causes and the machine alone
  void state_changed();
  void effective_changed();
  void progressed(int done, int total, const QString& text);
  void wrong(const lockstep::Errors& errors);  // the scenario; empty: it is right
  void failed(const QString& why, const QString& last_words);
  void spans_ended(const QString& trouble);  // empty: they are in shown()
  void trace_progressed(const QString& name, double share);
  // Good: in shown(), `trouble` says what is missing of it. Else why not.
  void trace_ended(const QString& path, bool good, const QString& trouble);

 private:
  void scenario_changed();
  void estimated(const std::shared_ptr<const Estimate>& estimate);
  void detailed(const std::shared_ptr<const Estimate>& estimate);
  void attach_timelines();
  void stop_spans();
  void simulate();
  void set_state(RunState state);

  ScenarioDocument& document_;
  Estimator estimator_;
  ChildRun child_;
  SpansRun spans_run_;
  TraceLoader traces_;
  QTimer settle_, late_;
  Shown shown_;
  RunState state_ = RunState::Idle;
  std::string simulated_text_, shown_text_;                  // what the child, and what the shown result speaks of
  std::string pinned_text_;                                  // what the baseline speaks of
  std::shared_ptr<const Result> timelines_;                  // estimated runs with timelines ...
  std::string timelines_text_;                               // ... and what they speak of
  std::shared_ptr<const std::vector<lockstep::Run>> spans_;  // simulated runs with timelines, and what they speak of
  std::string spans_text_, spans_asked_text_;
  bool spans_wanted_ = false;
  quint64 wanted_ = 0;
  double seconds_ = 0, estimate_s_ = 0;
  std::map<std::string, std::string> effective_;
};

}  // namespace lockstep::gui
