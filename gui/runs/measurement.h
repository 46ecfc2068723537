// The open scenario, trained for real on this machine by `lockstep measure`: first what would run, then step by step
// what does, and a result that grows with every step and can be drawn before it is whole. No widgets.
#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QTemporaryDir>
#include <memory>
#include <vector>

#include "gui/runs/child_run.h"

namespace lockstep::gui {

enum class MeasureState { Idle, Asking, Refused, Ready, Running, Stopping, Done, Failed };

// A step of one launch that has ended on all ranks.
struct MeasuredStep {
  Strategy strategy = Strategy::Single;
  int gpus = 1;
  int launch = 0;  // from 0, in the order of time: a row's repeats are several
  bool warm_up = false;
  double seconds = 0;
};

// What is known of one row so far; seconds, of the steps that count.
struct MeasuredRow {
  Strategy strategy = Strategy::Single;
  int gpus = 1;
  int n = 0;
  double median_s = 0;  // the lower one, as `lockstep measure` takes it: an actual step
  double p5_s = 0, p95_s = 0, fastest_s = 0, slowest_s = 0;
};

inline constexpr int kStepsForPercentiles = 20;  // of fewer, 5 and 95 % are no more than the ends

// Of steps without warm-up, in the order in which rows began.
std::vector<MeasuredRow> measured_rows(const std::vector<MeasuredStep>& steps);

// A result of the steps so far, with the medians of all steps in place of what `lockstep measure` will say at its end.
// Rows without a step that counts are absent. unit: of its throughput.
Result measured_so_far(const PlanLine& plan, const std::vector<MeasuredStep>& steps, const std::string& unit);

class LiveMeasurement : public QObject {
  Q_OBJECT

 public:
  explicit LiveMeasurement(QObject* parent = nullptr);

  struct Request {
    QByteArray scenario;
    QString folder;               // where its relative paths start
    int steps = 0, repeats = 0;   // 0: what the scenario says
    std::string throughput_unit;  // img/s
    bool traced = true;           // one pass more with PyTorch's profiler; not with the Python front end
  };
  // Asks what would run: on the scenario's own machine where that is this one, else on this machine's cores.
  void ask(const Request& request);
  void start();  // what was told; only when Ready
  void stop();   // what is measured by then is kept
  void forget();

  MeasureState state() const { return state_; }
  bool active() const;  // a child is at work
  const PlanLine& plan() const { return plan_; }
  const std::vector<MeasuredStep>& steps() const { return steps_; }
  const QString& now() const { return now_; }  // "DDP × 2, repeat 1"
  int done() const { return done_; }           // launches
  int total() const { return total_; }
  double left_s() const;  // expected; the plan's before anything is known better
  // What went wrong and its last words; of a result that is not whole, what is missing.
  const QString& trouble() const { return trouble_; }
  std::shared_ptr<const Result> result() const { return result_; }
  // Chrome traces of its ranks, when Done; they go with this object or the next measurement.
  QStringList traces() const;
  bool wrote(const QString& trace) const { return folder_ && trace.startsWith(folder_->path()); }

 signals:
  void state_changed();
  void stepped();         // a step, or another launch
  void result_changed();  // result() has more in it

 private:
  void set_state(MeasureState state);
  void launch(bool dry);
  void take_step(const StepLine& line);
  void take_progress(const ProgressLine& line);
  void take_run(const Run& run);
  void ended(const std::shared_ptr<const Result>& result);
  void failed(const QString& why, const QString& last_words);

  ChildRun child_;
  std::unique_ptr<QTemporaryDir> folder_;  // of traces
  MeasureState state_ = MeasureState::Idle;
  Request request_;
  PlanLine plan_;
  bool here_ = false;  // --here
  std::vector<MeasuredStep> steps_;
  int launches_ = 0, done_ = 0, total_ = 0;
  QElapsedTimer clock_, drawn_;
  QString now_, trouble_;
  std::shared_ptr<const Result> result_;
};

}  // namespace lockstep::gui
