#include "hwrunner/paced/pace.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "simulator/base/ensure.h"
#include "simulator/estimate/estimate.h"
#include "simulator/strategies/strategies.h"

namespace lockstep {
namespace {

using Clock = std::chrono::steady_clock;

double wall_s() {
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

PointRequest unfolded(PointRequest point) {
  point.folded = false;
  point.labels = false;
  point.single_step_s = 0;  // real ranks wait for each other as they do
  return point;
}

std::optional<Error> refused(const PaceRequest& request) {
  const Scenario& scenario = *request.point.scenario;
  const auto no = [](const char* key, std::string found, const char* why) {
    Error error;
    error.kind = ErrorKind::NotSupported;
    error.key = key;
    error.found = std::move(found);
    error.message = fmt::format("a paced run does not have {}", why);
    return error;
  };
  if (has_replicas(request.point.strategy))
    return no("strategy", name_of(request.point.strategy),
              "DataParallel: its copies between GPUs have no real counterpart here");
  if (scenario.loader.active()) return no("input.loader", "", "a data loader");
  if (request.point.strategy != Strategy::Ddp) return std::nullopt;
  if (scenario.ddp.static_graph) return no("ddp.static_graph", "true", "static graphs");
  if (scenario.ddp.find_unused_parameters)
    return no("ddp.find_unused_parameters", "true", "the search for unused parameters");
  return std::nullopt;
}

}  // namespace

Expected<std::shared_ptr<Pace>> Pace::make(const PaceRequest& request) {
  if (auto wrong = refused(request)) return tl::make_unexpected(Errors{*std::move(wrong)});
  return std::shared_ptr<Pace>(new Pace(request));
}

Pace::Pace(const PaceRequest& request)
    : context_(unfolded(request.point)),
      graph_(build_step_graph(context_)),
      rank_(request.rank),
      class_(graph_.class_of(request.rank)),
      alone_(request.point.gpus == 1),
      dilate_(request.dilate),
      jitter_(jitter_of(*request.point.scenario)) {
  LOCKSTEP_ENSURE(dilate_ > 0, "dilate is {}", dilate_);
  for (std::size_t i = 0; i <= graph_.warm_up.size(); ++i) {
    const StepProgram& one = graph_.program(static_cast<int>(i));
    marks_.push_back(pace_marks(one, class_, context_));
    std::vector<int>& kernels = kernels_.emplace_back(std::vector<int>{0});
    for (const Item& item : one.programs[static_cast<std::size_t>(class_)])
      kernels.push_back(kernels.back() + (item.kind == ItemKind::Kernel ? 1 : 0));
  }
}

const ProgramMarks& Pace::marks() const {
  return marks_[std::min(static_cast<std::size_t>(cursor_.step), marks_.size() - 1)];
}

int Pace::kernels_before(int item) const {
  const auto& kernels = kernels_[std::min(static_cast<std::size_t>(cursor_.step), kernels_.size() - 1)];
  return kernels[static_cast<std::size_t>(item)];
}

double Pace::model_now() const {
  return (wall_s() - origin_s_) / dilate_;
}

void Pace::start_step() {
  if (!started_) origin_s_ = wall_s();
  started_ = true;
  micro_ = launches_ = 0;
  work_s_ = late_s_ = 0;
  const std::lock_guard lock(mutex_);
  ends_.assign(program().meetings.size(), kUnknownTime);
}

void Pace::before_meeting(int micro_step) {
  micro_ = micro_step;
  advance(micro().meet);
}

// Rebuilding and broadcasts are several meetings for the simulator; here they are over together.
void Pace::met() {
  const auto& items = program().programs[static_cast<std::size_t>(class_)];
  const double now = model_now();
  const std::lock_guard lock(mutex_);
  for (int at = micro().start; at < micro().compute; ++at) {
    const Item& item = items[static_cast<std::size_t>(at)];
    if (item.kind != ItemKind::Arrive) continue;
    const auto meeting = static_cast<std::size_t>(item.meeting);
    if (!program().meetings[meeting].own) ends_[meeting] = now;
  }
}

void Pace::forward(std::size_t op) {
  advance(micro().forward[op]);
}

void Pace::gradient(ParameterId id) {
  advance(micro().gradient[static_cast<std::size_t>(id)]);
}

int Pace::launch() {
  if (alone_) return kNobodyElse;
  const auto bucket = static_cast<std::size_t>(launches_++);
  LOCKSTEP_ENSURE(bucket < marks().launched.size(), "all-reduce {} of {}", bucket + 1, marks().launched.size());
  advance(marks().launched[bucket]);
  const std::lock_guard lock(mutex_);
  extend_window(window_, model_now(), kUnknownTime);
  ++running_;
  return static_cast<int>(bucket);
}

void Pace::ended(int bucket) {
  if (bucket == kNobodyElse) return;
  const std::lock_guard lock(mutex_);
  const double now = model_now();
  ends_[static_cast<std::size_t>(marks().buckets[static_cast<std::size_t>(bucket)])] = now;
  if (--running_ == 0) window_.until = now;
  ++changes_;
  changed_.notify_all();
}

void Pace::backward_done() {
  advance(micro().backward);
}

void Pace::reduced() {
  // Who waits for an all-reduce may wake before ended() is called.
  for (int bucket = 0; bucket < launches_; ++bucket) await_end(marks().buckets[static_cast<std::size_t>(bucket)]);
  advance(micro().reduced);
}

void Pace::end_step() {
  advance(static_cast<int>(program().programs[static_cast<std::size_t>(class_)].size()));
  next_step(cursor_);
}

// Walks on as if a collective under way never ended, and waits; when it did end meanwhile, walks again.
void Pace::advance(int target) {
  while (cursor_.item < target) {
    Cursor next = cursor_;
    Stop stop;
    SlowWindow window;
    int seen = 0;
    {
      const std::lock_guard lock(mutex_);
      window = window_;
      seen = changes_;
      NoRecorder nothing;
      const int kernels = kernels_before(target) - kernels_before(cursor_.item);
      stop = walk(graph_, class_, next, window, queue_, Environment{*this}, nothing, next.launches + kernels);
    }
    if (!wait_until(next.stream, window.open() ? &seen : nullptr)) continue;
    move_to(next);
    if (cursor_.item >= target) return;
    if (stop.kind == StopKind::Arrive) {
      pass_meeting(stop);
    } else {
      LOCKSTEP_ENSURE(stop.kind == StopKind::Parked, "stop {} before item {}", static_cast<int>(stop.kind), target);
      await_end(stop.meeting);
    }
  }
}

void Pace::move_to(const Cursor& next) {
  const auto& items = program().programs[static_cast<std::size_t>(class_)];
  const double factor = jitter_.factor(rank_, cursor_.step);
  for (int at = cursor_.item; at < next.item; ++at) work_s_ += items[static_cast<std::size_t>(at)].device_s * factor;
  cursor_ = next;
}

// False when a collective ended before, and `seen_changes` tells that this matters.
bool Pace::wait_until(double model_s, const int* seen_changes) {
  const double date = origin_s_ + model_s * dilate_;
  late_s_ = std::max(late_s_, wall_s() - date);
  const Clock::time_point until{std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(date))};
  if (seen_changes == nullptr) {
    std::this_thread::sleep_until(until);
    return true;
  }
  std::unique_lock lock(mutex_);
  return !changed_.wait_until(lock, until, [&] { return changes_ != *seen_changes; });
}

void Pace::pass_meeting(const Stop& stop) {
  const Meeting& meeting = program().meetings[static_cast<std::size_t>(stop.meeting)];
  double end = kUnknownTime;
  if (meeting.own) {
    end = stop.date + time_alone(graph_, meeting, rank_);
    const std::lock_guard lock(mutex_);
    ends_[static_cast<std::size_t>(stop.meeting)] = end;
  }
  NoRecorder nothing;
  pass_arrival(graph_, class_, cursor_, stop.date, end, nothing);
  wait_until(cursor_.stream, nullptr);
}

void Pace::await_end(int meeting) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ends_[static_cast<std::size_t>(meeting)] != kUnknownTime; });
}

}  // namespace lockstep
