#include "gui/runs/measurement.h"

#include <QDir>
#include <QRegularExpression>
#include <algorithm>
#include <cmath>
#include <utility>

#include "gui/app/theme.h"
#include "gui/charts/view.h"

namespace lockstep::gui {
namespace {

constexpr qint64 kRedrawMs = 1000;  // between two growing results: every chart is drawn again

// Of sorted values, between its neighbours.
double quantile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(std::floor(at));
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

std::vector<double> counted(const std::vector<MeasuredStep>& steps, Strategy strategy, int gpus) {
  std::vector<double> seconds;
  for (const MeasuredStep& step : steps)
    if (!step.warm_up && step.strategy == strategy && step.gpus == gpus) seconds.push_back(step.seconds);
  return seconds;
}

Run run_so_far(const PlanLine::Row& row, const MeasuredRow& known, const std::vector<MeasuredStep>& steps) {
  Run run;
  run.strategy = row.strategy;
  run.gpus = run.world_size = row.gpus;
  run.processes = row.strategy == Strategy::Ddp ? row.gpus : 1;
  run.per_gpu_batch = row.per_gpu_batch;
  run.global_batch = row.per_gpu_batch * row.gpus;
  run.step_time_s = known.median_s;
  run.throughput = known.median_s > 0 ? static_cast<double>(run.global_batch) / known.median_s : 0;
  run.spread = Spread{known.p5_s, known.median_s, known.p95_s, known.n, "steps"};
  run.samples.push_back({0, counted(steps, row.strategy, row.gpus)});
  return run;
}

// "ddp on 2 ranks, repeat 1, about 2.1 min left" for people: the time left is told by left_s().
QString launch_text(const QString& text) {
  static const QRegularExpression form(
      QStringLiteral("^([a-z-]+) on (\\d+) [A-Za-z]+, (repeat (\\d+)|with marks|[^,]+)"));
  const auto match = form.match(text);
  const auto strategy = strategy_called(match.captured(1).toStdString());
  if (!match.hasMatch() || !strategy) return text;
  const QString row = *strategy == Strategy::Single
                          ? LiveMeasurement::tr("one alone")
                          : QStringLiteral("%1 × %2").arg(strategy_name(*strategy), match.captured(2));
  if (!match.captured(4).isEmpty()) return LiveMeasurement::tr("%1, repeat %2").arg(row, match.captured(4));
  return match.captured(3) == QLatin1String("with marks")
             ? LiveMeasurement::tr("%1 once more, with marks for the parts of a step").arg(row)
             : LiveMeasurement::tr("%1, with a profiler").arg(row);
}

}  // namespace

std::vector<MeasuredRow> measured_rows(const std::vector<MeasuredStep>& steps) {
  std::vector<MeasuredRow> rows;
  for (const MeasuredStep& step : steps) {
    const auto known = std::find_if(rows.begin(), rows.end(), [&](const MeasuredRow& row) {
      return row.strategy == step.strategy && row.gpus == step.gpus;
    });
    if (!step.warm_up && known == rows.end()) rows.push_back({step.strategy, step.gpus});
  }
  for (MeasuredRow& row : rows) {
    std::vector<double> seconds = counted(steps, row.strategy, row.gpus);
    std::sort(seconds.begin(), seconds.end());
    row.n = static_cast<int>(seconds.size());
    row.median_s = seconds[(seconds.size() - 1) / 2];
    row.fastest_s = seconds.front();
    row.slowest_s = seconds.back();
    row.p5_s = quantile(seconds, 0.05);
    row.p95_s = quantile(seconds, 0.95);
  }
  return rows;
}

Result measured_so_far(const PlanLine& plan, const std::vector<MeasuredStep>& steps, const std::string& unit) {
  Result result;
  result.kind = "measured";
  result.scenario_yaml = plan.scenario_yaml;
  const auto rows = measured_rows(steps);
  double single = 0;  // throughput
  for (const PlanLine::Row& planned : plan.rows)
    for (const MeasuredRow& row : rows) {
      if (row.strategy != planned.strategy || row.gpus != planned.gpus) continue;
      Run run = run_so_far(planned, row, steps);
      run.throughput_unit = unit;
      if (run.strategy == Strategy::Single) single = run.throughput;
      if (single > 0) {
        run.speedup = run.throughput / single;
        run.efficiency = run.speedup / run.gpus;
      }
      result.runs.push_back(std::move(run));
    }
  return result;
}

LiveMeasurement::LiveMeasurement(QObject* parent) : QObject(parent) {
  connect(&child_, &ChildRun::planned, this, [this](const PlanLine& line) { plan_ = line; });
  connect(&child_, &ChildRun::progress, this, &LiveMeasurement::take_progress);
  connect(&child_, &ChildRun::step, this, &LiveMeasurement::take_step);
  connect(&child_, &ChildRun::run_known, this, &LiveMeasurement::take_run);
  connect(&child_, &ChildRun::finished, this,
          [this](const std::shared_ptr<const Result>& result, double) { ended(result); });
  connect(&child_, &ChildRun::failed, this, &LiveMeasurement::failed);
}

void LiveMeasurement::set_state(MeasureState state) {
  state_ = state;
  emit state_changed();
}

bool LiveMeasurement::active() const {
  return state_ == MeasureState::Asking || state_ == MeasureState::Running || state_ == MeasureState::Stopping;
}

void LiveMeasurement::ask(const Request& request) {
  request_ = request;
  plan_ = {};
  trouble_.clear();
  here_ = false;
  launch(true);
}

void LiveMeasurement::launch(bool dry) {
  const QString program = lockstep_program();
  if (program.isEmpty()) {
    trouble_ = tr("The program `lockstep` is neither beside the window nor in PATH: it does the measuring.");
    return set_state(MeasureState::Refused);
  }
  QStringList arguments = {QStringLiteral("measure"), QStringLiteral("-"), QStringLiteral("--jsonl")};
  if (here_) arguments << QStringLiteral("--here");
  if (dry) arguments << QStringLiteral("--dry-run");
  if (!dry && request_.traced) {
    folder_ = std::make_unique<QTemporaryDir>();
    if (folder_->isValid()) arguments << QStringLiteral("--trace") << folder_->filePath(QStringLiteral("here.json"));
  }
  if (request_.steps > 0)
    arguments << QStringLiteral("--set") << QStringLiteral("measure.steps=%1").arg(request_.steps);
  if (request_.repeats > 0)
    arguments << QStringLiteral("--set") << QStringLiteral("measure.repeats=%1").arg(request_.repeats);
  set_state(dry ? MeasureState::Asking : MeasureState::Running);
  child_.start({program, arguments, request_.scenario, request_.folder});
}

QStringList LiveMeasurement::traces() const {
  QStringList files;
  if (!folder_ || state_ != MeasureState::Done) return files;
  const QDir folder(folder_->path());
  for (const QString& name : folder.entryList({QStringLiteral("*.json")}, QDir::Files, QDir::Name))
    files << folder.filePath(name);
  return files;
}

void LiveMeasurement::start() {
  if (state_ != MeasureState::Ready && state_ != MeasureState::Done && state_ != MeasureState::Failed) return;
  steps_.clear();
  result_.reset();
  trouble_.clear();
  now_.clear();
  launches_ = done_ = total_ = 0;
  clock_.start();
  drawn_.invalidate();
  launch(false);
}

void LiveMeasurement::stop() {
  if (state_ == MeasureState::Asking) {
    child_.stop();
    return set_state(MeasureState::Idle);
  }
  if (state_ != MeasureState::Running) return;
  set_state(MeasureState::Stopping);
  child_.finish_early();
}

void LiveMeasurement::forget() {
  child_.stop();
  steps_.clear();
  result_.reset();
  trouble_.clear();
  set_state(MeasureState::Idle);
}

double LiveMeasurement::left_s() const {
  if (done_ == 0) return plan_.expected_s;
  return static_cast<double>(clock_.elapsed()) / 1e3 / done_ * (total_ - done_);
}

void LiveMeasurement::take_progress(const ProgressLine& line) {
  now_ = launch_text(QString::fromStdString(line.text));
  if (done_ != line.done) ++launches_;
  done_ = line.done;
  total_ = line.total;
  emit stepped();
}

void LiveMeasurement::take_step(const StepLine& line) {
  const auto strategy = strategy_called(line.strategy);
  if (!strategy) return;
  const bool first = !line.warm_up && counted(steps_, *strategy, line.gpus).empty();
  steps_.push_back({*strategy, line.gpus, launches_, line.warm_up, line.step_time_s});
  emit stepped();
  if (line.warm_up || (!first && drawn_.isValid() && drawn_.elapsed() < kRedrawMs)) return;
  drawn_.start();
  result_ = std::make_shared<Result>(measured_so_far(plan_, steps_, request_.throughput_unit));
  emit result_changed();
}

// What `lockstep measure` says of a row at its end replaces what was made of its steps.
void LiveMeasurement::take_run(const Run& run) {
  Result next = result_ ? *result_ : measured_so_far(plan_, {}, {});
  const auto known = std::find_if(next.runs.begin(), next.runs.end(),
                                  [&](const Run& one) { return one.strategy == run.strategy && one.gpus == run.gpus; });
  if (known != next.runs.end())
    *known = run;
  else
    next.runs.push_back(run);
  result_ = std::make_shared<Result>(std::move(next));
  emit result_changed();
}

void LiveMeasurement::ended(const std::shared_ptr<const Result>& result) {
  if (state_ == MeasureState::Asking) return set_state(MeasureState::Ready);
  if (!result) return failed(tr("lockstep ended without a result"), {});
  if (result->partial) trouble_ = QString::fromStdString(*result->partial);
  if (runs_of(*result).empty()) return failed(tr("Nothing was measured"), std::exchange(trouble_, {}));
  result_ = result;
  emit result_changed();
  set_state(MeasureState::Done);
}

void LiveMeasurement::failed(const QString& why, const QString& last_words) {
  if (state_ == MeasureState::Asking && !here_) {  // not the scenario's machine, or no runner for its GPUs
    here_ = true;
    return launch(true);
  }
  trouble_ = last_words.isEmpty() ? why : why + '\n' + last_words;
  if (state_ == MeasureState::Asking) {
    trouble_ = last_words.isEmpty() ? why : last_words;
    return set_state(MeasureState::Refused);
  }
  set_state(MeasureState::Failed);
}

}  // namespace lockstep::gui
