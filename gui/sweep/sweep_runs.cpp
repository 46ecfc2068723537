#include "gui/sweep/sweep_runs.h"

#include <algorithm>
#include <utility>

#include "gui/app/slider_scale.h"
#include "gui/charts/view.h"
#include "scenarios/fields.h"
#include "simulator/base/quantity.h"

namespace lockstep::gui {
namespace {

constexpr int kLateMs = 60;     // until what is shown is greyed, as the session does
constexpr int kQuietMs = 150;   // without a change, until what nobody sees is estimated
constexpr int kPublishMs = 25;  // points that come in meanwhile are shown together
constexpr const char* kCap = "ddp.bucket_cap";

// The run of DDP on the most GPUs.
const lockstep::Run* largest_ddp(const Result* result) {
  const lockstep::Run* largest = nullptr;
  if (result != nullptr)
    for (const lockstep::Run* run : runs_of(*result))
      if (run->strategy == Strategy::Ddp && (largest == nullptr || run->gpus > largest->gpus)) largest = run;
  return largest;
}

Strategy usual_strategy(const Scenario& scenario) {
  const auto has = [&](Strategy s) {
    return std::find(scenario.strategies.begin(), scenario.strategies.end(), s) != scenario.strategies.end();
  };
  return has(Strategy::Ddp) || !has(Strategy::Dp) ? Strategy::Ddp : Strategy::Dp;
}

int largest_gpus(const Scenario& scenario) {
  return scenario.gpus.empty() ? 1 : *std::max_element(scenario.gpus.begin(), scenario.gpus.end());
}

ScenarioText with_first_values(ScenarioText source, const std::vector<PlanAxis>& listed) {
  for (const PlanAxis& axis : listed) source.sets.push_back(axis.key + '=' + axis.values.front());
  return source;
}

QString first_line(const Errors& errors) {
  return errors.empty() ? QString() : QString::fromStdString(to_text(errors.front()));
}

}  // namespace

SweepRuns::SweepRuns(ScenarioDocument& document, Session& session, QObject* parent)
    : QObject(parent), document_(document), session_(session), curve_(estimator_), map_(estimator_) {
  late_.setSingleShot(true);
  late_.setInterval(kLateMs);
  quiet_.setSingleShot(true);
  quiet_.setInterval(kQuietMs);
  publish_.setSingleShot(true);
  publish_.setInterval(kPublishMs);
  connect(&document_, &ScenarioDocument::changed, this, &SweepRuns::scenario_changed);
  connect(&session_, &Session::state_changed, this, &SweepRuns::consider);
  connect(&session_, &Session::shown_changed, this, &SweepRuns::consider);
  connect(&session_, &Session::details_changed, this,
          &SweepRuns::consider);  // with the machine, where the answer was known
  connect(&late_, &QTimer::timeout, this, [this] {
    stale_ = true;
    publish();
  });
  connect(&publish_, &QTimer::timeout, this, &SweepRuns::publish);
  connect(&quiet_, &QTimer::timeout, this, [this] {
    if (can_plan()) replan();
  });
  for (Part& one : parts_) {
    connect(one.job, &SweepJob::changed, this, [this] {
      if (!publish_.isActive()) publish_.start();
    });
    connect(one.job, &SweepJob::ended, this, [this] {
      publish();
      advance();
    });
    connect(one.job, &SweepJob::failed, this, [this, &one](const QString& why, const QString& last) {
      one.failure = last.isEmpty() ? why : why + '\n' + last;
      publish();
      advance();
    });
  }
}

// The thread speaks to the jobs: it ends first.
SweepRuns::~SweepRuns() {
  estimator_.stop();
}

void SweepRuns::want(SweepKind kind, bool on) {
  part(kind).wanted = on;
  if (on) can_plan() ? replan() : advance();
}

// The session hears of a change first, and a file that lists values is planned by then.
void SweepRuns::scenario_changed() {
  if (planned_text_ == document_.text()) return;
  quiet_.stop();
  for (Part& one : parts_) {
    one.job->pause();
    one.job->stop();
  }
  if (!planned_text_.empty() && !stale_) late_.start();
}

// The scenario's own estimate and simulation come first.
void SweepRuns::consider() {
  const RunState state = session_.state();
  if (state == RunState::Idle) {
    for (Part& one : parts_) one = {one.job, one.wanted, false, false, {}, {}};
    late_.stop();
    quiet_.stop();
    curve_.clear();
    map_.clear();
    estimator_.forget_files();
    axes_.clear();
    planned_text_.clear();
    wrong_text_.clear();
    strategy_.reset();
    axes_by_hand_ = stale_ = lists_values_ = false;
    return publish();
  }
  if (state != RunState::Wrong) wrong_text_.clear();
  if (state == RunState::Simulating)
    for (Part& one : parts_) one.tried = false;
  if (state == RunState::Estimating || planned_text_ == document_.text()) return advance();
  if (state == RunState::Wrong) {
    if (wrong_text_ == document_.text()) return;
    wrong_text_ = document_.text();
    lists_values_ = !listed_axes(document_.source()).empty();
    if (lists_values_) return replan();
    late_.stop();
    stale_ = true;
    return publish();
  }
  if (!can_plan()) return;
  if (is_seen() || then_) return replan();
  if (!quiet_.isActive()) quiet_.start();
}

bool SweepRuns::is_seen() const {
  return part(SweepKind::Curve).wanted || part(SweepKind::Map).wanted;
}

// The session has an answer to the text that is open, and knows its machine.
bool SweepRuns::can_plan() const {
  const RunState state = session_.state();
  return state != RunState::Idle && state != RunState::Estimating && state != RunState::Wrong &&
         planned_text_ != document_.text() && !session_.shown().stale && session_.shown().topology;
}

void SweepRuns::replan() {
  late_.stop();
  quiet_.stop();
  stale_ = false;
  planned_text_ = document_.text();
  note_.clear();
  for (Part& one : parts_) {
    one.tried = one.asked = false;
    one.failure.clear();
    one.missing.clear();
  }
  const std::vector<PlanAxis> listed = document_.read() ? std::vector<PlanAxis>() : listed_axes(document_.source());
  const ScenarioText source = with_first_values(document_.source(), listed);
  lists_values_ = !listed.empty();
  base_.reset();
  if (lists_values_)
    if (auto read = read_scenario_with_origins(source.text, source.file, source.sets)) base_ = *std::move(read);
  choose_axes(listed);
  plan_curve(source);
  plan_map(document_.source());
  publish();
  advance();
}

void SweepRuns::plan_curve(const ScenarioText& source) {
  Part& one = part(SweepKind::Curve);
  const lockstep::Run* largest = document_.read() ? largest_ddp(session_.shown().result.get()) : nullptr;
  if (largest == nullptr) {
    one.missing = lists_values_
                      ? tr("The scenario lists values: choose a cell of the map, and its bucket sizes are shown here.")
                      : tr("DDP is not among the strategies that run in this scenario.");
    return curve_.clear();
  }
  PlanAxis axis{kCap, {"default"}, {}};
  for (const double cap : curve_caps(cell_of(*largest, true).gradient_bytes))
    axis.values.push_back(quantity_text(cap, Unit::Bytes));
  const std::string present = present_value(kCap, context());
  const auto same = [&](const std::string& value) {
    return value == present || number_of(value, Unit::Bytes) == number_of(present, Unit::Bytes);
  };
  if (std::none_of(axis.values.begin(), axis.values.end(), same)) axis.values.push_back(present);
  auto plan = make_plan(source, Strategy::Ddp, largest->gpus, {axis});
  if (plan) return curve_.set_plan(*std::move(plan));
  one.missing = first_line(plan.error());
  curve_.clear();
}

// What a file lists is swept; else GPUs against links, until somebody chooses.
void SweepRuns::choose_axes(const std::vector<PlanAxis>& listed) {
  const AxisContext now = context();
  if (axes_by_hand_ && !axes_.empty()) return;
  if (!listed.empty()) {
    axes_ = listed;
    if (axes_.size() == 1) axes_.push_back(first_axes(now).front());
    axes_.resize(2);
    for (PlanAxis& axis : axes_) {
      if (axis.values.size() <= kMostAxisValues) continue;
      note_ = tr("The first %1 of %2 values of %3 are shown; `lockstep sweep` takes all.")
                  .arg(kMostAxisValues)
                  .arg(axis.values.size())
                  .arg(QString::fromStdString(axis.key));
      axis.values.resize(kMostAxisValues);
    }
    axes_by_hand_ = true;
    return;
  }
  // Once chosen, they stay on one machine: a map must not move while its cells are applied.
  const std::string machine = session_.shown().topology ? session_.shown().topology->name : std::string();
  if (!axes_.empty() && machine == axes_machine_) return;
  axes_machine_ = machine;
  axes_ = first_axes(now);
}

void SweepRuns::plan_map(const ScenarioText& source) {
  Part& one = part(SweepKind::Map);
  const AxisContext now = context();
  if (now.scenario == nullptr) {
    one.missing = tr("The scenario cannot be read.");
    return map_.clear();
  }
  auto plan = make_plan(source, strategy_.value_or(usual_strategy(*now.scenario)), largest_gpus(*now.scenario), axes_);
  if (plan) return map_.set_plan(*std::move(plan));
  one.missing = first_line(plan.error());
  map_.clear();
}

AxisContext SweepRuns::context() const {
  AxisContext now;
  const auto& read = lists_values_ ? base_ : document_.read();
  if (!read) return now;
  now.scenario = &read->scenario;
  if (lists_values_) {
    for (const ResolvedField& field : scenario_fields().resolved(read->scenario, read->reading))
      now.values[field.key] = field.yaml;
    return now;
  }
  for (const auto& [key, field] : document_.values()) now.values[key] = field.yaml;
  now.effective = session_.effective();
  if (session_.shown().topology) now.most_gpus = session_.shown().topology->most_gpus();
  return now;
}

Errors SweepRuns::set_axis(std::size_t axis, const std::string& key, const std::string& values) {
  const auto list = values_of_text(values);
  if (!list) return list.error();
  if (list->size() > kMostAxisValues) {
    Error error;
    error.kind = ErrorKind::Range;
    error.key = key;
    error.message = tr("%1 values are too many for a map").arg(list->size()).toStdString();
    error.allowed = tr("1 to %1 values").arg(kMostAxisValues).toStdString();
    return {error};
  }
  std::vector<PlanAxis> axes = axes_;
  if (axes.size() != 2 || axis > 1) return {};
  axes[axis] = {key, *list, {}};
  if (axes[1 - axis].key == key) axes[1 - axis] = axes_[axis];  // they change places
  const AxisContext now = context();
  if (now.scenario == nullptr) return {};
  auto plan = make_plan(document_.source(), strategy_.value_or(usual_strategy(*now.scenario)),
                        largest_gpus(*now.scenario), axes);
  if (!plan) {
    Errors own;
    for (const Error& error : plan.error())
      if (error.key == key || own.empty()) own.push_back(error);
    std::stable_partition(own.begin(), own.end(), [&](const Error& error) { return error.key == key; });
    return own;
  }
  axes_ = std::move(axes);
  axes_by_hand_ = true;
  note_.clear();
  Part& one = part(SweepKind::Map);
  one.tried = false;
  one.failure.clear();
  one.missing.clear();
  map_.set_plan(*std::move(plan));
  publish();
  advance();
  return {};
}

void SweepRuns::choose_key(std::size_t axis, const std::string& key) {
  set_axis(axis, key, text_of_values(default_axis(key, context()).values));
}

void SweepRuns::set_strategy(Strategy strategy) {
  strategy_ = strategy;
  if (!axes_.empty()) replan();
}

void SweepRuns::advance() {
  if (was_running_ != running()) {
    was_running_ = running();
    emit running_changed();
  }
  if (running()) return;
  const RunState state = session_.state();
  const bool busy = state == RunState::Estimating || state == RunState::Waiting || state == RunState::Simulating;
  const bool free = state == RunState::Done || (state == RunState::Wrong && lists_values_);
  const bool planned = planned_text_ == document_.text();
  for (Part& one : parts_) {
    if (!(free || (one.asked && !busy)) || !planned || one.tried || !(one.wanted || then_) ||
        one.job->cells().empty() || one.job->simulated())
      continue;
    one.tried = true;
    if (lockstep_program().isEmpty()) {
      one.failure = tr("The program `lockstep` is neither beside the window nor in PATH; only estimates are shown.");
      publish();
      continue;
    }
    one.job->simulate(document_.folder());
    publish();
    return advance();
  }
  if (!then_ || (busy && !planned)) return;
  if (busy) return;
  for (Part& one : parts_) one.job->finish_now();
  publish();
  std::exchange(then_, nullptr)();
}

void SweepRuns::finish(std::function<void()> then) {
  then_ = std::move(then);
  for (Part& one : parts_) one.tried = false;
  if (planned_text_ != document_.text() && session_.shown().result && !session_.shown().stale) return replan();
  advance();
}

void SweepRuns::stop() {
  for (Part& one : parts_) {
    one.tried = one.tried || one.job->running();
    one.job->stop();
  }
  publish();
  advance();
}

void SweepRuns::run(SweepKind kind) {
  part(kind).tried = false;
  part(kind).asked = true;
  part(kind).failure.clear();
  advance();
}

void SweepRuns::publish() {
  publish_.stop();
  session_.show_sweeps(curve(), map());
  emit changed();
}

}  // namespace lockstep::gui
