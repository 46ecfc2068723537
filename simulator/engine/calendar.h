// The engine's own calendar: events in order of date; events of one date in an order that does not depend on when they
// were put in (kind, then owner).
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

namespace lockstep {

enum class EventKind : std::uint8_t {
  MeetingAlpha,  // owner = slot of an open meeting: its fixed part is over
  RankStream,    // owner = rank: the stop of its predicted walk is reached
  RankHost,      // owner = rank: its host reaches a meeting ahead of the stream
  Message,       // owner = slot of a message-level ring: a message may leave
};

struct Event {
  double date = 0;
  EventKind kind = EventKind::MeetingAlpha;
  std::uint32_t owner = 0;
  std::uint32_t version = 0;  // a rank's event counts only if it is the rank's latest
  std::uint32_t detail = 0;
};

class Calendar {
 public:
  void add(const Event& event) { events_.push(event); }
  bool empty() const { return events_.empty(); }
  const Event& top() const { return events_.top(); }
  void pop() { events_.pop(); }
  void clear() { events_ = {}; }

 private:
  struct Later {
    bool operator()(const Event& a, const Event& b) const {
      if (a.date != b.date) return a.date > b.date;
      if (a.kind != b.kind) return a.kind > b.kind;
      return a.owner > b.owner;
    }
  };
  std::priority_queue<Event, std::vector<Event>, Later> events_;
};

}  // namespace lockstep
