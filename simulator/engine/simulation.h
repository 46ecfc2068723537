// One run of the engine: what engine.h promises, from calendar to ranks to meetings. Split by what is driven:
// simulation.cpp (run, calendar, steps), simulation_ranks.cpp (predict and revise), simulation_meetings.cpp.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "simulator/engine/calendar.h"
#include "simulator/engine/engine.h"
#include "simulator/engine/engine_facts.h"
#include "simulator/engine/message_level.h"

namespace lockstep {

// Where a meeting of one step stands in the engine.
struct MeetingKey {
  int step = 0;
  int meeting = 0;
  int rank = 0;  // of an own meeting; else any of its ranks
};

struct OpenMeeting {
  MeetingKey key;
  std::unique_ptr<MessageRing> ring;  // only in the message-level mode
};

// The host of a rank that has run ahead of its stream. All meetings of the host before `at` are joined; the one at `at`
// too when `held`.
struct HostAhead {
  bool active = false;
  bool held = false;  // joined the meeting at `at`, whose end is not known yet
  Cursor at;          // all but the stream counts
  Cursor candidate;   // the next meeting, on the calendar
  std::uint32_t version = 0;
};

struct RankState {
  int rank_class = 0;
  Cursor confirmed;
  Cursor predicted;
  Stop stop;
  SlowWindow window;
  bool communication_busy = false;
  double communication_end = 0;
  std::vector<MeetingKey> pending;  // launched while the communication stream was busy
  bool held = false;                // confirmed stands at a meeting that it joined and that holds it
  double held_date = 0;
  std::uint32_t version = 0;
  int factor_step = -1;
  double factor = 1;
  HostAhead ahead;
};

class Simulation final : public NetworkListener {
 public:
  Simulation(const StepGraph& graph, Network& network, const EngineOptions& options);
  StepRecord run();
  void on_wakeup() override;
  void on_flow_end(std::uint64_t token) override;

 private:
  struct OpenStep {
    StepTimes times;
    std::vector<int> arrived;  // [table index]
    int ranks_done = 0;
  };
  struct Environment {
    Simulation& simulation;
    int rank;
    double end_of(int step, int meeting) const { return simulation.times({step, meeting, rank}).end; }
    double factor(int step) const { return simulation.factor(rank, step); }
  };

  // --- access ---
  RankState& rank(int r) { return ranks_[static_cast<std::size_t>(r)]; }
  const ProgramFacts& facts(int step) const { return facts_.of_step(step); }
  const Meeting& meeting_of(const MeetingKey& key) const {
    return graph_.program(key.step).meetings[static_cast<std::size_t>(key.meeting)];
  }
  ArriveOn stop_on(const RankState& state) const {
    return meeting_of({state.predicted.step, state.stop.meeting, 0}).on;
  }
  int item_meeting(const RankState& state, const Cursor& at) const {
    return graph_.program(at.step)
        .programs[static_cast<std::size_t>(state.rank_class)][static_cast<std::size_t>(at.item)]
        .meeting;
  }
  bool holds_at(const RankState& state, const MeetingKey& key) const {
    return state.confirmed.step == key.step && item_meeting(state, state.confirmed) == key.meeting;
  }
  bool ahead_at(const RankState& state, const MeetingKey& key) const {
    return item_meeting(state, state.ahead.at) == key.meeting;
  }
  static double message_bytes(const Meeting& meeting) {
    return static_cast<double>(meeting.flow_bytes) / (meeting.ring_steps + meeting.ring_tail);
  }
  OpenStep& open_step(int step);
  MeetingTimes& times(const MeetingKey& key);
  double factor(int r, int step);

  // --- calendar and steps (simulation.cpp) ---
  bool stale(const Event& event);
  void schedule(double date, EventKind kind, std::uint32_t owner, std::uint32_t version, std::uint32_t detail = 0);
  void handle_due_events();
  void handle(const Event& event);
  void finish_step(int r, double stream_end);

  // --- ranks (simulation_ranks.cpp) ---
  // Walks the rank from its confirmed position to its next stop and puts that on the calendar. Where nothing can be
  // revised (no collective is open) step ends are confirmed at once.
  void predict(int r);
  bool pass_joined(int r, RankState& state);
  void confirm(int r, double date);
  void join(int r, const MeetingKey& key, double date);
  void begin_operation(int r, const MeetingKey& key, double date);
  void end_operation(int r, double now);
  // Looks for the next meeting that the host reaches before the stream's own next stop.
  void look_ahead(int r);
  // Host time alone, from `at` to the next meeting of the host; false if the stream must be known first or `horizon` is
  // passed. `launched`: launches whose start is known.
  bool walk_host(int r, Cursor& at, std::int64_t launched, double horizon);
  void confirm_host(int r, double date);
  // The host has already been at the meeting where the predicted walk stands.
  bool joined_ahead(const RankState& state) const;
  // The stop is an action of the streams (not of the host, which look_ahead() brings to its meetings).
  bool stream_acts(const RankState& state) const;
  // Launches that may be walked again later must not push those before them out of the launch queue.
  static std::int64_t launch_limit(const RankState& state);

  // --- meetings (simulation_meetings.cpp) ---
  void arrive(const MeetingKey& key, double date);
  std::uint32_t take_slot();
  void alpha_over(std::uint32_t slot);
  void end_meeting(std::uint32_t slot, double now);
  void meeting_ended_for(int r, const MeetingKey& key, double now);
  void request_message(std::uint32_t slot, int hop);
  void send_message(std::uint32_t slot, int hop);
  void message_arrived(std::uint32_t slot, int hop);

  static constexpr int kTail = 1 << 20;  // instead of a hop: the last receive-and-copy is over

  const StepGraph& graph_;
  Network& network_;
  EngineOptions options_;
  int rank_count_;
  int step_limit_ = 0;  // no rank starts this step
  EngineFacts facts_;
  std::vector<RankState> ranks_;
  std::vector<LaunchQueue> queues_;
  std::vector<OpenMeeting> meetings_;  // by slot
  std::vector<std::uint32_t> free_slots_;
  std::deque<OpenStep> open_steps_;
  int first_open_step_ = 0;
  StepRecord record_;
  Calendar calendar_;
  double armed_ = kUnknownTime;
  bool started_ = false;
  bool done_ = false;
};

}  // namespace lockstep
