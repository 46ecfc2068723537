// The recurrence of one rank: host and compute stream advance over the items of a program, without any event, until an
// item needs something that only a driver knows: when a meeting ends.
//
//   host(i)   = max(host(i-1) + host_s(i), start of launch i - kQueueDepth)
//   start(i)  = max(end(i-1), host(i) + launch latency)
//   end(i)    = start(i) + device_s(i) x jitter, stretched by `contention` while the slow window is open
//   batch(j)  = max(host, ready(j)),  ready(j+1) = max(ready(j), batch(j) - (depth - 1) period) + period
//
// The last line is the loader of a process (step_graph.h) as a bucket that gains a batch every period and holds
// `depth`: ready(j) is when batch j is there (the virtual scheduling form of the leaky bucket, ITU-T I.371).
//
// The driver supplies an environment (see WalkEnvironment below); a recorder sees every interval when a timeline or a
// breakdown is wanted, and costs nothing otherwise.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "simulator/base/ensure.h"
#include "simulator/steps/step_graph.h"

namespace lockstep {

inline constexpr double kUnknownTime = std::numeric_limits<double>::infinity();

// Compute is slow from `from` to `until`; until = infinity while the collective's end is not known.
struct SlowWindow {
  double from = kUnknownTime;
  double until = kUnknownTime;
  bool open() const { return from != kUnknownTime && until == kUnknownTime; }
};

// Start times of launches 0, 8, 16, ... of one rank. Twice the queue depth is kept, so that a walk that is thrown away
// and repeated finds the entries it read before.
class LaunchQueue {
 public:
  double start_of_limit(std::int64_t launch) const { return starts_[index(launch - kQueueDepth)]; }
  void set_start(std::int64_t launch, double start) { starts_[index(launch)] = start; }

 private:
  static constexpr int kEntries = 2 * kQueueDepth / kQueueCheck;
  static std::size_t index(std::int64_t launch) { return static_cast<std::size_t>(launch / kQueueCheck % kEntries); }
  std::array<double, kEntries> starts_{};
};
static_assert(kQueueDepth % kQueueCheck == 0);
// A walk under an open window may be repeated; it stops for confirmation after so many launches.
inline constexpr int kMaxSpeculativeLaunches = kQueueDepth - kQueueCheck;

// Where one rank stands: everything before `item` of `step` is done.
struct Cursor {
  int step = 0;
  int item = 0;
  double host = 0;
  double stream = 0;
  std::int64_t launches = 0;
  double batch_ready = 0;  // when the loader has the next batch
};

enum class StopKind : std::uint8_t {
  Arrive,     // the item is a meeting that this rank has not joined yet; `date` = when it does
  Parked,     // the item waits for a meeting whose end is unknown
  StepEnd,    // the program of this step is over; `date` = end of the compute stream
  Milestone,  // nothing to do but to confirm the walk up to `date`
};

struct Stop {
  StopKind kind = StopKind::Parked;
  std::int32_t meeting = -1;
  double date = kUnknownTime;
};

// A recorder that records nothing.
struct NoRecorder {
  void kernel(const Item&, double /*host_from*/, double /*host_until*/, double /*idle_from*/, double /*start*/,
              double /*end*/, double /*nominal_s*/) {}
  void host(const Item&, double /*from*/, double /*until*/) {}
  void stream_waits(const Item&, double /*from*/, double /*until*/) {}
};

// End of a kernel of `work` seconds that starts at `start`.
inline double stretched_end(double start, double work, const SlowWindow& window, double contention) {
  double t = start;
  if (t < window.from) {
    const double before = window.from - t;
    if (work <= before) return t + work;
    work -= before;
    t = window.from;
  }
  if (t < window.until) {
    const double capacity = (window.until - t) / contention;
    if (work <= capacity) return t + work * contention;
    work -= capacity;
    t = window.until;
  }
  return t + work;
}

// A host that comes for a batch at `host` has it at the date returned.
inline double take_batch(const StepGraph& graph, Cursor& cursor, double host) {
  const double period = graph.loader.period_s;
  const double taken = std::max(host, cursor.batch_ready);
  const double room = graph.loads_ahead(cursor.step) ? taken - (graph.loader.depth - 1) * period : taken;
  cursor.batch_ready = std::max(cursor.batch_ready, room) + period;
  return taken;
}

// Walks from `cursor` to the next stop. `environment` has
//   double end_of(int step, int meeting)  end of a meeting, kUnknownTime while unknown
//   double factor(int step)               jitter of this rank's kernels in that step
// The cursor is left AT the item that stopped the walk, its host work not yet done. Under an open window the walk stops
// for confirmation (Milestone) before launch number `launch_limit`.
template <class Environment, class Recorder>
Stop walk(const StepGraph& graph, int rank_class, Cursor& cursor, const SlowWindow& window, LaunchQueue& queue,
          const Environment& environment, Recorder& recorder,
          std::int64_t launch_limit = std::numeric_limits<std::int64_t>::max()) {
  const auto& items = graph.program(cursor.step).programs[static_cast<std::size_t>(rank_class)];
  const int count = static_cast<int>(items.size());
  const double latency = graph.launch_latency_s;
  const double factor = environment.factor(cursor.step);
  double host = cursor.host;
  double stream = cursor.stream;
  std::int64_t launches = cursor.launches;
  const auto leave_at = [&](int item) {
    cursor.item = item;
    cursor.host = host;
    cursor.stream = stream;
    cursor.launches = launches;
  };
  for (int i = cursor.item; i < count; ++i) {
    const Item& item = items[static_cast<std::size_t>(i)];
    switch (item.kind) {
      case ItemKind::Kernel: {
        if (launches >= launch_limit) [[unlikely]] {
          leave_at(i);
          return {StopKind::Milestone, -1, stream};
        }
        const double host_from = host;
        host += item.host_s;
        const bool counted = launches % kQueueCheck == 0;
        if (counted && launches >= kQueueDepth) {
          const double limit = queue.start_of_limit(launches);
          if (limit > host) host = limit;
        }
        const double launched = host + latency;
        const double start = launched > stream ? launched : stream;
        const double work = item.device_s * factor;
        double end = start + work;
        if (end > window.from && start < window.until) end = stretched_end(start, work, window, graph.contention);
        recorder.kernel(item, host_from, host, stream, start, end, work);
        stream = end;
        if (counted) queue.set_start(launches, start);
        ++launches;
        break;
      }
      case ItemKind::HostWork:
        recorder.host(item, host, host + item.host_s);
        host += item.host_s;
        break;
      case ItemKind::Arrive: {
        leave_at(i);
        const double host_after = host + item.host_s;
        const ArriveOn on = graph.program(cursor.step).meetings[static_cast<std::size_t>(item.meeting)].on;
        const double date = on == ArriveOn::Host ? host_after : std::max(stream, host_after + latency);
        return {StopKind::Arrive, item.meeting, date};
      }
      case ItemKind::StreamWait:
      case ItemKind::HostWait: {
        const double end = environment.end_of(cursor.step, item.meeting);
        if (end == kUnknownTime) {
          leave_at(i);
          return {StopKind::Parked, item.meeting, kUnknownTime};
        }
        if (item.kind == ItemKind::HostWait) {
          host = std::max(host, end);
        } else if (end > stream) {
          recorder.stream_waits(item, stream, end);
          stream = end;
        }
        break;
      }
      case ItemKind::HostSync:
        host = std::max(host, stream);
        break;
      case ItemKind::LoaderWait: {
        const double from = host;
        host += item.host_s;
        if (!graph.loads_ahead(cursor.step)) host = std::max(host, stream);
        host = take_batch(graph, cursor, host);
        recorder.host(item, from, host);
        break;
      }
    }
  }
  leave_at(count);
  return {StopKind::StepEnd, -1, stream};
}

// Moves the cursor past the Arrive item it stands at. `date` is that of its stop (for a communication stream: of the
// event on the compute stream). `end` is used when this class is held by the meeting.
template <class Recorder>
void pass_arrival(const StepGraph& graph, int rank_class, Cursor& cursor, double date, double end, Recorder& recorder) {
  const StepProgram& program = graph.program(cursor.step);
  const Item& item = program.programs[static_cast<std::size_t>(rank_class)][static_cast<std::size_t>(cursor.item)];
  const Meeting& meeting = program.meetings[static_cast<std::size_t>(item.meeting)];
  recorder.host(item, cursor.host, cursor.host + item.host_s);
  cursor.host += item.host_s;
  if (meeting.holds[static_cast<std::size_t>(rank_class)] && meeting.on != ArriveOn::Communication) {
    LOCKSTEP_ENSURE(end != kUnknownTime, "held by {} without an end", meeting.name);
    if (meeting.on == ArriveOn::Host) {
      cursor.host = std::max(cursor.host, end);
    } else {
      recorder.stream_waits(item, date, end);
      cursor.stream = std::max(date, end);
    }
  } else if (meeting.on != ArriveOn::Host) {
    cursor.stream = std::max(cursor.stream, date);  // an event on the stream, which is reached at `date`
  }
  ++cursor.item;
}

inline void next_step(Cursor& cursor) {
  ++cursor.step;
  cursor.item = 0;
}

// After a launch on the communication stream: the operation occupies it from `start` to `end`. Back-to-back operations
// make one window; an older window that ended before this launch can no longer touch a kernel.
inline void extend_window(SlowWindow& window, double start, double end) {
  if (window.from == kUnknownTime || start > window.until) window.from = start;
  window.until = end;
}

}  // namespace lockstep
