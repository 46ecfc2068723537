// From a GPU's events to the host's clock. Plain C++.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

namespace lockstep {

// An event only knows how long after another it was, as a float of milliseconds (cudaEventElapsedTime): exact to a
// microsecond up to some 10 s. So the event that is measured from is replaced by a later one on the way; the one in use
// is always 5 s old or more, so that marks may be looked up in any order within that time. `Event`: since(earlier)
// gives seconds.
template <class Event>
class EventClock {
 public:
  // `reached` was reached just now, at `now_s` of the host's clock.
  EventClock(std::shared_ptr<Event> reached, double now_s) : early_{std::move(reached), now_s}, late_(early_) {}

  // Of an event that was reached.
  double seconds(const std::shared_ptr<Event>& event) {
    const std::lock_guard lock(mutex_);
    const double now_s = early_.second + event->since(*early_.first);
    if (now_s - late_.second > kRenewed_s) early_ = std::exchange(late_, {event, now_s});
    return now_s;
  }

 private:
  static constexpr double kRenewed_s = 5;
  std::mutex mutex_;
  std::pair<std::shared_ptr<Event>, double> early_, late_;
};

}  // namespace lockstep
