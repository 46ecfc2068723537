#include "gui/runs/child_run.h"

#include <QCoreApplication>
#include <QFileInfo>
#include <QStandardPaths>
#include <csignal>
#include <utility>

#include "simulator/base/format.h"

namespace lockstep::gui {
namespace {

constexpr int kParseBudgetMs = 8;  // for each turn of the event loop
constexpr int kGraceMs = 2000;     // from asking to killing
constexpr int kLeavingMs = 500;
constexpr int kMostComplaints = 20;

// A message may hold anything.
QString harmless(const QByteArray& bytes) {
  return QString::fromStdString(
      visible(std::string_view(bytes.constData(), static_cast<std::size_t>(bytes.size())), true));
}

}  // namespace

QString lockstep_program() {
  const QString named = qEnvironmentVariable("LOCKSTEP_PROGRAM");
  if (!named.isEmpty()) return named;
  const QString beside = QCoreApplication::applicationDirPath() + QStringLiteral("/lockstep");
  if (QFileInfo(beside).isExecutable()) return beside;
  return QStandardPaths::findExecutable(QStringLiteral("lockstep"));
}

void let_go(QProcess* process) {
  if (process->state() == QProcess::NotRunning) {
    process->deleteLater();
    return;
  }
  process->setParent(QCoreApplication::instance());
  QObject::connect(process, &QProcess::finished, process, &QObject::deleteLater);
  process->terminate();
  QTimer::singleShot(kGraceMs, process, &QProcess::kill);
}

void end_now(QProcess* process) {
  process->terminate();
  if (!process->waitForFinished(kLeavingMs)) process->kill();
  process->waitForFinished(kLeavingMs);
  delete process;
}

ChildRun::ChildRun(QObject* parent) : QObject(parent) {
  more_.setSingleShot(true);
  more_.setInterval(0);
  connect(&more_, &QTimer::timeout, this, &ChildRun::read);
}

ChildRun::~ChildRun() {
  if (process_ == nullptr) return;
  process_->disconnect(this);
  end_now(process_);
}

void ChildRun::start(const Task& task) {
  discard();
  rest_.clear();
  complaints_.clear();
  result_.reset();
  summary_.reset();
  planned_ = false;
  clock_.start();
  process_ = new QProcess(this);
  process_->setWorkingDirectory(task.folder);
  connect(process_, &QProcess::readyReadStandardOutput, this, &ChildRun::read);
  connect(process_, &QProcess::finished, this, &ChildRun::ended);
  connect(process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart) fail(tr("%1 could not be started").arg(process_->program()));
  });
  process_->start(task.program, task.arguments);
  process_->write(task.input);
  process_->closeWriteChannel();
}

void ChildRun::stop() {
  if (process_ == nullptr) return;
  discard();
  emit stopped();
}

void ChildRun::finish_early() {
  if (process_ == nullptr) return;
  process_->terminate();
  QTimer::singleShot(kGraceMs, process_, &QProcess::kill);
}

void ChildRun::discard() {
  if (process_ == nullptr) return;
  more_.stop();
  process_->disconnect(this);
  let_go(std::exchange(process_, nullptr));
}

void ChildRun::read() {
  if (process_ == nullptr) return;
  rest_ += process_->readAllStandardOutput();
  QElapsedTimer budget;
  budget.start();
  qsizetype at = 0;
  while (process_ != nullptr) {
    const qsizetype end = rest_.indexOf('\n', at);
    if (end < 0) break;
    take(rest_.mid(at, end - at));
    at = end + 1;
    if (budget.elapsed() >= kParseBudgetMs) {
      more_.start();
      break;
    }
  }
  rest_.remove(0, at);
}

void ChildRun::take(const QByteArray& bytes) {
  JsonLine line = read_json_line({bytes.constData(), static_cast<std::size_t>(bytes.size())});
  if (const auto* one = std::get_if<ProgressLine>(&line)) emit progress(*one);
  if (const auto* one = std::get_if<StepLine>(&line)) emit step(*one);
  if (const auto* one = std::get_if<PlanLine>(&line)) {
    planned_ = true;
    emit planned(*one);
  }
  if (const auto* one = std::get_if<Run>(&line)) emit run_known(*one);
  if (auto* one = std::get_if<Result>(&line)) result_ = std::make_shared<Result>(std::move(*one));
  if (const auto* one = std::get_if<SummaryLine>(&line)) summary_ = *one;
  if (const auto* one = std::get_if<ErrorLine>(&line)) complaints_ << harmless(QByteArray::fromStdString(one->message));
  if (std::holds_alternative<BadLine>(line) && complaints_.size() < kMostComplaints)
    complaints_ << tr("not understood: %1").arg(harmless(bytes.left(200)));
}

void ChildRun::ended(int code, QProcess::ExitStatus status) {
  rest_ += process_->readAllStandardOutput();
  if (!rest_.endsWith('\n')) rest_ += '\n';
  for (const QByteArray& line : rest_.split('\n'))
    if (!line.trimmed().isEmpty()) take(line);
  rest_.clear();
  if (status == QProcess::CrashExit) return fail(tr("lockstep died (signal %1)").arg(code));
  if (!result_ && !summary_ && !planned_) return fail(tr("lockstep ended with status %1 and no result").arg(code));
  QProcess* gone = process_;
  process_ = nullptr;
  gone->deleteLater();
  const double seconds = static_cast<double>(clock_.elapsed()) / 1e3;
  summary_ ? emit swept(*summary_, seconds) : emit finished(result_, seconds);  // a plan alone: without a result
}

void ChildRun::fail(const QString& why) {
  QStringList words = complaints_;
  const QByteArray last = process_->readAllStandardError().trimmed();
  if (!last.isEmpty()) words << harmless(last).split('\n').mid(0, 12).join('\n');
  QProcess* gone = process_;
  process_ = nullptr;
  gone->disconnect(this);
  gone->deleteLater();
  emit failed(why, words.join('\n'));
}

}  // namespace lockstep::gui
