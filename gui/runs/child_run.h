// A run of `lockstep` in a process of its own: what it says arrives line by line, Stop always works, and when it dies
// its last words are told.
#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QProcess>
#include <QStringList>
#include <QTimer>
#include <memory>
#include <optional>

#include "gui/runs/json_lines.h"

namespace lockstep::gui {

class ChildRun : public QObject {
  Q_OBJECT

 public:
  explicit ChildRun(QObject* parent = nullptr);
  ~ChildRun() override;

  struct Task {
    QString program;
    QStringList arguments;
    QByteArray input;  // for standard input
    QString folder;    // where it runs
  };
  // Whatever still runs is ended first, without a word.
  void start(const Task& task);
  // Asks it to end and to say what it has so far: `finished` or `failed` follow; after two seconds it is killed.
  void finish_early();
  // Asks it to end; after two seconds it is killed. `stopped` follows at once.
  void stop();
  bool running() const { return process_ != nullptr; }

 signals:
  void progress(const lockstep::gui::ProgressLine& line);
  void step(const lockstep::gui::StepLine& line);
  void planned(const lockstep::gui::PlanLine& line);
  void run_known(const lockstep::Run& run);
  // result: nullptr where only a plan was asked for.
  void finished(std::shared_ptr<const lockstep::Result> result, double seconds);
  void swept(const lockstep::gui::SummaryLine& summary, double seconds);  // in place of `finished`: no result, but runs
  void failed(const QString& why, const QString& last_words);
  void stopped();

 private:
  void read();
  void take(const QByteArray& line);
  void ended(int code, QProcess::ExitStatus status);
  void fail(const QString& why);
  void discard();

  QProcess* process_ = nullptr;
  QByteArray rest_;  // of a line that is not whole yet
  QTimer more_;
  QElapsedTimer clock_;
  std::shared_ptr<const Result> result_;
  std::optional<SummaryLine> summary_;
  bool planned_ = false;    // a plan is an answer too
  QStringList complaints_;  // error lines and lines that mean nothing
};

// Ends a process that nobody listens to any more: asked first, killed after two seconds, deleted when it has ended.
void let_go(QProcess* process);
// Ends it here and now, for those who leave themselves: a second at the most.
void end_now(QProcess* process);

// `lockstep`: LOCKSTEP_PROGRAM, beside the window's own program, or in PATH; empty when nowhere.
QString lockstep_program();

}  // namespace lockstep::gui
