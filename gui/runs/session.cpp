#include "gui/runs/session.h"

#include <QDir>
#include <QFileInfo>
#include <algorithm>

#include "simulator/base/document.h"
#include "simulator/result/json.h"

namespace lockstep::gui {
namespace {

constexpr int kSettleMs = 250;  // from the last change to the simulation
constexpr int kLateMs = 60;     // an estimate that takes longer shows the old result greyed meanwhile

// Timelines and the pieces of causes, of the runs that have them.
void add_details_of(const std::vector<Run>& runs, Result& result) {
  for (Run& run : result.runs)
    for (const Run& from : runs) {
      if (from.strategy != run.strategy || from.gpus != run.gpus) continue;
      if (!from.parts.empty()) run.parts = from.parts;
      if (from.timeline.empty()) continue;
      run.timeline = from.timeline;
      run.timeline_ranks = from.timeline_ranks;
      run.other_timelines = from.other_timelines;
    }
}

QByteArray bytes_of(const std::string& text) {
  return QByteArray::fromStdString(text);
}

}  // namespace

Session::Session(ScenarioDocument& document, QObject* parent) : QObject(parent), document_(document) {
  settle_.setSingleShot(true);
  settle_.setInterval(kSettleMs);
  late_.setSingleShot(true);
  late_.setInterval(kLateMs);
  connect(&document_, &ScenarioDocument::changed, this, &Session::scenario_changed);
  connect(&estimator_, &Estimator::done, this, &Session::estimated);
  connect(&estimator_, &Estimator::detailed, this, &Session::detailed);
  connect(&settle_, &QTimer::timeout, this, &Session::simulate);
  connect(&late_, &QTimer::timeout, this, [this] {
    if (!shown_.result || shown_.stale) return;
    shown_.stale = true;
    emit shown_changed();
  });
  connect(&child_, &ChildRun::progress, this, [this](const ProgressLine& line) {
    emit progressed(line.done, line.total, QString::fromStdString(line.text));
  });
  connect(&child_, &ChildRun::finished, this, [this](std::shared_ptr<const Result> result, double seconds) {
    shown_.result = std::move(result);
    shown_.estimated = false;
    shown_.stale = document_.text() != simulated_text_;
    shown_text_ = simulated_text_;
    attach_timelines();
    if (shown_.baseline && shown_.baseline_estimated && pinned_text_ == shown_text_) pin(true);  // now it is simulated
    seconds_ = seconds;
    set_state(RunState::Done);
    emit shown_changed();
    want_spans(spans_wanted_);
  });
  connect(&child_, &ChildRun::failed, this, [this](const QString& why, const QString& last_words) {
    set_state(RunState::Failed);
    emit failed(why, last_words);
  });
  connect(&child_, &ChildRun::stopped, this, [this] { set_state(RunState::Stopped); });
  connect(&spans_run_, &SpansRun::known, this, [this](std::shared_ptr<const std::vector<lockstep::Run>> runs) {
    spans_ = std::move(runs);
    spans_text_ = spans_asked_text_;
    attach_timelines();
    emit details_changed();
    emit spans_ended({});
  });
  connect(&spans_run_, &SpansRun::failed, this, &Session::spans_ended);
  connect(&traces_, &TraceLoader::progress, this, &Session::trace_progressed);
  connect(&traces_, &TraceLoader::loaded, this, [this](std::shared_ptr<const TraceFile> file) {
    const QString path = QString::fromStdString(file->file), trouble = QString::fromStdString(file->cut.value_or(""));
    std::erase_if(shown_.traces, [&](const auto& one) { return one->file == file->file; });
    shown_.traces.push_back(std::move(file));
    emit shown_changed();
    emit trace_ended(path, true, trouble);
  });
  connect(&traces_, &TraceLoader::failed, this, [this](const QString& path, const Errors& errors) {
    emit trace_ended(path, false, errors.empty() ? QString() : QString::fromStdString(to_text(errors.front())));
  });
}

void Session::set_state(RunState state) {
  state_ = state;
  emit state_changed();
}

void Session::adopt(std::shared_ptr<const Result> result) {
  settle_.stop();
  late_.stop();
  child_.stop();
  shown_.result = std::move(result);
  shown_.estimated = shown_.stale = false;
  shown_text_ = document_.text();
  seconds_ = 0;
  wanted_ = estimator_.request(document_.source());  // for what holds where keys are not set
  attach_timelines();
  set_state(RunState::Done);
  emit shown_changed();
  want_spans(spans_wanted_);
}

void Session::start_over() {
  const bool alone = document_.text().empty();  // traces that were opened without a scenario stay for the first one
  settle_.stop();
  child_.stop();
  stop_spans();
  spans_.reset();
  estimator_.forget_files();
  shown_.result.reset();
  shown_.topology.reset();
  shown_.baseline.reset();
  shown_.baseline_name.clear();
  shown_.baseline_curve.reset();
  timelines_.reset();
  shown_.measured.clear();
  if (!alone) {
    shown_.traces.clear();
    traces_.stop();
  }
  shown_.stale = shown_.estimated = false;
  shown_text_.clear();
  set_state(RunState::Idle);
  emit shown_changed();
}

void Session::scenario_changed() {
  if (child_.running()) child_.stop();
  stop_spans();
  settle_.stop();
  if (!document_.errors().empty()) {
    wanted_ = 0;  // an estimate under way is of another text
    late_.stop();
    shown_.stale = shown_.result != nullptr;
    set_state(RunState::Wrong);
    emit shown_changed();
    emit wrong(document_.errors());
    return;
  }
  wanted_ = estimator_.request(document_.source());
  if (shown_.result && !shown_.stale) late_.start();
  set_state(RunState::Estimating);
}

void Session::estimated(const std::shared_ptr<const Estimate>& estimate) {
  if (estimate->id != wanted_) return;
  late_.stop();
  if (estimate->topology) shown_.topology = estimate->topology;
  if (effective_ != estimate->effective) {
    effective_ = estimate->effective;
    emit effective_changed();
  }
  estimate_s_ = estimate->seconds;
  if (!estimate->result) {
    shown_.stale = shown_.result != nullptr;
    set_state(RunState::Wrong);
    emit shown_changed();
    emit wrong(estimate->errors);
    return;
  }
  emit wrong({});
  if (!shown_.estimated && shown_.result && shown_text_ == document_.text() && state_ == RunState::Done)
    return;  // a result that was known already stays
  shown_.result = estimate->result;
  shown_.estimated = true;
  shown_.stale = false;
  shown_text_ = document_.text();
  if (child_.running() && simulated_text_ == shown_text_) return emit shown_changed();  // its answer follows anyway
  set_state(RunState::Waiting);
  emit shown_changed();
  settle_.start();
}

void Session::detailed(const std::shared_ptr<const Estimate>& estimate) {
  if (estimate->id != wanted_ || !estimate->result) return;
  timelines_ = estimate->result;
  timelines_text_ = document_.text();
  attach_timelines();
  emit details_changed();
}

void Session::add_details_now() {
  LoadedInputs loaded;
  const Estimate estimate = estimate_now(document_.source(), loaded, true);
  if (!estimate.result) return;
  shown_.topology = estimate.topology;
  effective_ = estimate.effective;
  timelines_ = estimate.result;
  timelines_text_ = document_.text();
  attach_timelines();
}

// The child's result has no timelines: until its spans are there those of the estimate stand in, and say so.
void Session::attach_timelines() {
  if (!shown_.result) return;
  const bool simulated = spans_ && spans_text_ == shown_text_ && !shown_.estimated;
  if (!simulated && (!timelines_ || timelines_text_ != shown_text_)) return;
  shown_.spans_estimated = !simulated && !shown_.estimated;
  auto with = std::make_shared<Result>(*shown_.result);
  if (timelines_ && timelines_text_ == shown_text_) add_details_of(timelines_->runs, *with);
  if (simulated) add_details_of(*spans_, *with);
  shown_.result = std::move(with);
}

void Session::want_spans(bool wanted) {
  spans_wanted_ = wanted;
  if (wanted) request_spans();
}

bool Session::request_spans() {
  if (spans_run_.running()) return true;
  const bool simulated = shown_.result && !shown_.estimated && !shown_.stale && state_ == RunState::Done;
  if (!simulated || (spans_ && spans_text_ == shown_text_)) return false;
  const QString program = lockstep_program();
  if (program.isEmpty()) return false;
  spans_asked_text_ = shown_text_;
  spans_run_.start(program, bytes_of(shown_text_), document_.folder());
  return spans_run_.running();
}

void Session::stop_spans() {
  if (!spans_run_.running()) return;
  spans_run_.stop();
  emit spans_ended(tr("The scenario has changed."));
}

void Session::run_now() {
  if (!document_.errors().empty()) return;
  settle_.stop();
  simulate();
}

void Session::simulate() {
  const QString program = lockstep_program();
  if (program.isEmpty()) {
    set_state(RunState::Failed);
    emit failed(tr("The program `lockstep` is neither beside the window nor in PATH; only estimates are shown."), {});
    return;
  }
  simulated_text_ = document_.text();
  set_state(RunState::Simulating);
  child_.start({program,
                {QStringLiteral("predict"), QStringLiteral("-"), QStringLiteral("--jsonl")},
                bytes_of(simulated_text_),
                document_.folder()});
}

void Session::stop() {
  settle_.stop();
  if (child_.running())
    child_.stop();
  else
    set_state(RunState::Stopped);
}

void Session::show_sweeps(std::shared_ptr<const BucketCurve> curve, std::shared_ptr<const SweepGrid> sweep) {
  shown_.bucket_curve = std::move(curve);
  shown_.sweep = std::move(sweep);
}

void Session::pin(bool on) {
  shown_.baseline = on ? shown_.result : nullptr;
  shown_.baseline_name = on ? document_.name() : QString();
  shown_.baseline_estimated = on && shown_.estimated;
  pinned_text_ = on ? shown_text_ : std::string();
  shown_.baseline_curve = on ? shown_.bucket_curve : nullptr;
  emit shown_changed();
}

Errors Session::add_measured(const QString& path) {
  const auto text = read_text_file(path.toStdString(), std::size_t{64} << 20);
  if (!text) return text.error();
  auto result = result_from_json(*text, path.toStdString());
  if (!result) return result.error();
  add_measured(QFileInfo(path).fileName(), std::make_shared<Result>(*std::move(result)));
  return {};
}

void Session::add_measured(const QString& name, std::shared_ptr<const Result> result) {
  shown_.measured.push_back({name, std::move(result)});
  emit shown_changed();
}

void Session::remove_traces(const QStringList& paths) {
  std::erase_if(shown_.traces, [&](const auto& one) { return paths.contains(QString::fromStdString(one->file)); });
  if (!paths.isEmpty()) emit shown_changed();
}

void Session::stop_reading_traces() {
  traces_.stop();
  emit trace_ended({}, false, tr("Reading was stopped."));
}

void Session::remove_measured() {
  shown_.measured.clear();
  shown_.traces.clear();
  emit shown_changed();
}

void Session::put_measured(const QString& name, std::shared_ptr<const Result> result) {
  for (MeasuredResult& one : shown_.measured) {
    if (one.name != name) continue;
    one.result = std::move(result);
    emit shown_changed();
    return;
  }
  add_measured(name, std::move(result));
}

}  // namespace lockstep::gui
