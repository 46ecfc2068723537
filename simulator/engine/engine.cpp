#include "simulator/engine/engine.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <memory>

#include "simulator/engine/calendar.h"
#include "simulator/engine/message_level.h"

namespace lockstep {
namespace {

// Messages of the reference mode are sent in units of 2^-20 byte over links that much faster: SimGrid takes whole
// bytes.
constexpr double kMessageScale = 1048576;

// Where a meeting of one step stands in the engine.
struct MeetingKey {
  int step = 0;
  int meeting = 0;
  int rank = 0;  // of an own meeting; else 0
};

// Facts of one kind of step (warm-up 0, 1, ..., steady) that do not change while running.
struct ProgramFacts {
  MeetingTable table;
  std::vector<int> arrivals;                 // [meeting]
  std::vector<std::vector<int>> members;     // [meeting] simulated ranks that join; empty for own meetings
  std::vector<std::vector<int>> routes;      // [meeting][route] network routes
  std::vector<std::vector<int>> hop_routes;  // [meeting][hop] message-level routes
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
  Cursor at;          // only step, item, host, launches count
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

bool before(const Cursor& a, const Cursor& b) {
  return a.step != b.step ? a.step < b.step : a.item < b.item;
}

}  // namespace

class Engine::Simulation final : public NetworkListener {
 public:
  Simulation(const StepGraph& graph, Network& network, const EngineOptions& options)
      : graph_(graph), network_(network), options_(options), rank_count_(graph.simulated_ranks()) {
    std::vector<int> links;
    for (const auto& link : graph.links) links.push_back(network.add_link(link.id, link.rate));
    for (const auto& program : graph.warm_up) add_facts(program, links);
    add_facts(graph.steady, links);
    const int warm_up = static_cast<int>(graph.warm_up.size());
    step_limit_ = options.stop.fixed_steady > 0 ? warm_up + options.stop.fixed_steady : options.stop.most;
  }

  StepRecord run() {
    ranks_.assign(static_cast<std::size_t>(rank_count_), RankState{});
    queues_.assign(static_cast<std::size_t>(rank_count_), LaunchQueue{});
    for (int r = 0; r < rank_count_; ++r) rank(r).rank_class = graph_.class_of(r);
    record_ = StepRecord{};
    record_.warm_up_steps = static_cast<int>(graph_.warm_up.size());
    open_steps_.clear();
    first_open_step_ = 0;
    meetings_.clear();
    free_slots_.clear();
    calendar_.clear();
    done_ = started_ = false;
    armed_ = kUnknownTime;
    network_.run(*this);
    LOCKSTEP_ENSURE(done_, "nothing left to happen after {} complete steps", record_.steps.size());
    return std::move(record_);
  }

  void on_wakeup() override {
    armed_ = kUnknownTime;
    if (!started_) {
      started_ = true;
      for (int r = 0; r < rank_count_ && !done_; ++r) predict(r);
    }
    handle_due_events();
  }

  void on_flow_end(std::uint64_t token) override {
    if (done_) return;
    const auto slot = static_cast<std::uint32_t>(token);
    const auto hop = static_cast<std::uint32_t>(token >> 32);
    if (meetings_[slot].ring) {
      message_arrived(slot, static_cast<int>(hop));
    } else {
      end_meeting(slot, network_.now());
    }
    handle_due_events();
  }

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

  // --- set-up ---
  void add_facts(const StepProgram& program, const std::vector<int>& links) {
    ProgramFacts facts{MeetingTable(program, rank_count_), {}, {}, {}, {}};
    for (int m = 0; m < static_cast<int>(program.meetings.size()); ++m) {
      const Meeting& meeting = program.meetings[static_cast<std::size_t>(m)];
      facts.arrivals.push_back(meeting.own ? 1 : graph_.arrivals(program, m));
      facts.members.push_back(meeting.own ? std::vector<int>{} : members_of(program, m));
      host_meetings_ |= meeting.on == ArriveOn::Host;
      facts.routes.emplace_back();
      if (meeting.flow_bytes > 0)
        for (const auto& route : meeting.routes) facts.routes.back().push_back(network_route(route, links));
      facts.hop_routes.push_back(options_.messages ? hop_routes(meeting) : std::vector<int>{});
    }
    facts_.push_back(std::move(facts));
  }

  std::vector<int> members_of(const StepProgram& program, int meeting) const {
    std::vector<int> members;
    for (int r = 0; r < rank_count_; ++r) {
      const auto& items = program.programs[static_cast<std::size_t>(graph_.class_of(r))];
      if (std::any_of(items.begin(), items.end(),
                      [meeting](const Item& item) { return item.kind == ItemKind::Arrive && item.meeting == meeting; }))
        members.push_back(r);
    }
    return members;
  }

  int network_route(const std::vector<std::int32_t>& route, const std::vector<int>& links) {
    const auto known = known_routes_.find(route);
    if (known != known_routes_.end()) return known->second;
    std::vector<int> in_network;
    for (const auto link : route) in_network.push_back(links[static_cast<std::size_t>(link)]);
    return known_routes_[route] = network_.add_route(in_network);
  }

  std::vector<int> hop_routes(const Meeting& meeting) {
    std::vector<int> hops;
    if (meeting.ring_steps == 0) return hops;
    const int ranks = meeting.ring_steps / 2 + 1;
    LOCKSTEP_ENSURE(ranks <= 64, "message-level ring of {} ranks", ranks);
    double rate = kUnknownTime;
    for (const auto link : meeting.routes[0]) rate = std::min(rate, graph_.links[static_cast<std::size_t>(link)].rate);
    for (int hop = 0; hop < ranks; ++hop) {
      const std::string name = meeting.name + ".hop" + std::to_string(hop);
      hops.push_back(network_.add_route({network_.add_link(name, rate * kMessageScale)}));
    }
    return hops;
  }

  // --- access ---
  RankState& rank(int r) { return ranks_[static_cast<std::size_t>(r)]; }
  const ProgramFacts& facts(int step) const {
    return facts_[std::min(static_cast<std::size_t>(step), facts_.size() - 1)];
  }
  const Meeting& meeting_of(const MeetingKey& key) const {
    return graph_.program(key.step).meetings[static_cast<std::size_t>(key.meeting)];
  }
  OpenStep& open_step(int step) {
    while (first_open_step_ + static_cast<int>(open_steps_.size()) <= step) {
      const int next = first_open_step_ + static_cast<int>(open_steps_.size());
      OpenStep opened;
      opened.times.meetings.resize(facts(next).table.size());
      opened.times.stream_ends.resize(static_cast<std::size_t>(rank_count_));
      opened.arrived.resize(facts(next).table.size());
      open_steps_.push_back(std::move(opened));
    }
    return open_steps_[static_cast<std::size_t>(step - first_open_step_)];
  }
  MeetingTimes& times(const MeetingKey& key) {
    const std::size_t index = facts(key.step).table.index(key.meeting, key.rank);
    if (key.step < first_open_step_) return record_.steps[static_cast<std::size_t>(key.step)].meetings[index];
    return open_step(key.step).times.meetings[index];
  }
  double factor(int r, int step) {
    RankState& state = rank(r);
    if (state.factor_step != step) {
      state.factor_step = step;
      state.factor = options_.jitter.factor(r, step);
    }
    return state.factor;
  }

  // --- calendar ---
  bool stale(const Event& event) {
    if (event.kind == EventKind::RankStream) return event.version != rank(static_cast<int>(event.owner)).version;
    if (event.kind == EventKind::RankHost) return event.version != rank(static_cast<int>(event.owner)).ahead.version;
    return false;
  }

  void schedule(double date, EventKind kind, std::uint32_t owner, std::uint32_t version, std::uint32_t detail = 0) {
    const double now = network_.now();
    LOCKSTEP_ENSURE(date >= now - 1e-12 * (1 + now), "event of kind {} at {} s, now {} s", static_cast<int>(kind), date,
                    now);
    calendar_.add({std::max(date, now), kind, owner, version, detail});
  }

  void handle_due_events() {
    while (!done_ && !calendar_.empty()) {
      if (stale(calendar_.top())) {
        calendar_.pop();
        continue;
      }
      if (calendar_.top().date > network_.now()) break;
      const Event event = calendar_.top();
      calendar_.pop();
      handle(event);
    }
    if (done_) {
      network_.clear_wakeup();
    } else if (!calendar_.empty() && calendar_.top().date != armed_) {
      armed_ = calendar_.top().date;
      network_.set_wakeup(armed_);
    }
  }

  void handle(const Event& event) {
    switch (event.kind) {
      case EventKind::MeetingAlpha:
        alpha_over(event.owner);
        break;
      case EventKind::RankStream:
        confirm(static_cast<int>(event.owner), event.date);
        break;
      case EventKind::RankHost:
        confirm_host(static_cast<int>(event.owner), event.date);
        break;
      case EventKind::Message:
        send_message(event.owner, static_cast<int>(event.detail));
        break;
    }
  }

  // --- ranks ---
  // Walks the rank from its confirmed position to its next stop and puts that on the calendar. Where nothing can be
  // revised (no collective is open) step ends are confirmed at once.
  void predict(int r) {
    RankState& state = rank(r);
    ++state.version;
    if (state.held) {
      look_ahead(r);
      return;
    }
    state.predicted = state.confirmed;
    NoRecorder recorder;
    while (!done_) {
      if (state.predicted.step == step_limit_) {  // this rank is through; others may not be
        state.stop = Stop{};
        return;
      }
      state.stop = walk(graph_, state.rank_class, state.predicted, state.window, queues_[static_cast<std::size_t>(r)],
                        Environment{*this, r}, recorder, launch_limit(state));
      if (state.stop.kind == StopKind::StepEnd && !state.window.open()) {
        state.confirmed = state.predicted;
        finish_step(r, state.stop.date);
        state.predicted = state.confirmed;
        continue;
      }
      if (state.stop.kind == StopKind::Arrive && joined_ahead(state)) {
        if (!pass_joined(r, state)) break;
        continue;
      }
      break;
    }
    if (done_) return;
    // Without an open window the walk is final; with one, the last confirmed position is kept.
    if (!state.window.open()) state.confirmed = state.predicted;
    if (stream_acts(state))
      schedule(state.stop.date, EventKind::RankStream, static_cast<std::uint32_t>(r), state.version);
    look_ahead(r);
  }

  // Launches that may be walked again later must not push those before them out of the launch queue.
  static std::int64_t launch_limit(const RankState& state) {
    return state.window.open() ? state.confirmed.launches + kMaxSpeculativeLaunches
                               : std::numeric_limits<std::int64_t>::max();
  }

  // The stop is an action of the streams (not of the host, which look_ahead() brings to its meetings).
  bool stream_acts(const RankState& state) const {
    return state.stop.kind != StopKind::Parked &&
           (state.stop.kind != StopKind::Arrive || stop_on(state) != ArriveOn::Host);
  }

  // The host has already been at the meeting where the predicted walk stands.
  bool joined_ahead(const RankState& state) const {
    if (!state.ahead.active || stop_on(state) != ArriveOn::Host) return false;
    return before(state.predicted, state.ahead.at) || (state.ahead.held && !before(state.ahead.at, state.predicted));
  }
  ArriveOn stop_on(const RankState& state) const {
    return meeting_of({state.predicted.step, state.stop.meeting, 0}).on;
  }

  bool pass_joined(int r, RankState& state) {
    const double end = times({state.predicted.step, state.stop.meeting, r}).end;
    const bool holds =
        meeting_of({state.predicted.step, state.stop.meeting, r}).holds[static_cast<std::size_t>(state.rank_class)];
    if (holds && end == kUnknownTime) {
      state.stop.kind = StopKind::Parked;
      return false;
    }
    NoRecorder recorder;
    pass_arrival(graph_, state.rank_class, state.predicted, state.stop.date, end, recorder);
    return true;
  }

  void confirm(int r, double date) {
    RankState& state = rank(r);
    state.confirmed = state.predicted;
    const Stop stop = state.stop;
    if (stop.kind == StopKind::StepEnd) finish_step(r, stop.date);
    if (stop.kind == StopKind::Arrive) join(r, {state.confirmed.step, stop.meeting, r}, date);
    if (!done_) predict(r);
  }

  void join(int r, const MeetingKey& key, double date) {
    RankState& state = rank(r);
    const Meeting& meeting = meeting_of(key);
    NoRecorder recorder;
    if (meeting.on == ArriveOn::Communication) {
      pass_arrival(graph_, state.rank_class, state.confirmed, date, kUnknownTime, recorder);
      if (state.communication_busy) {
        state.pending.push_back(key);
      } else {
        begin_operation(r, key, date);
      }
      return;
    }
    if (meeting.holds[static_cast<std::size_t>(state.rank_class)]) {
      state.held = true;
      state.held_date = date;
    } else {
      pass_arrival(graph_, state.rank_class, state.confirmed, date, kUnknownTime, recorder);
    }
    arrive(key, date);
  }

  void begin_operation(int r, const MeetingKey& key, double date) {
    RankState& state = rank(r);
    state.communication_busy = true;
    extend_window(state.window, date, kUnknownTime);
    arrive(key, date);
  }

  void finish_step(int r, double stream_end) {
    RankState& state = rank(r);
    const int step = state.confirmed.step;
    next_step(state.confirmed);
    OpenStep& open = open_step(step);
    open.times.stream_ends[static_cast<std::size_t>(r)] = stream_end;
    if (++open.ranks_done < rank_count_) return;
    LOCKSTEP_ENSURE(step == first_open_step_, "step {} complete before step {}", step, first_open_step_);
    const auto latest = std::max_element(open.times.stream_ends.begin(), open.times.stream_ends.end());
    open.times.end = *latest;
    open.times.critical_rank = static_cast<int>(latest - open.times.stream_ends.begin());
    record_.steps.push_back(std::move(open.times));
    open_steps_.pop_front();
    ++first_open_step_;
    done_ = finished(record_, options_.stop);
    record_.converged = options_.stop.fixed_steady == 0 && static_cast<int>(record_.steps.size()) < options_.stop.most;
  }

  // --- hosts that run ahead of their stream ---
  // Looks for the next meeting that the host reaches before the stream's own next stop.
  void look_ahead(int r) {
    RankState& state = rank(r);
    HostAhead& ahead = state.ahead;
    const Cursor& known = state.held ? state.confirmed : state.predicted;
    if (!host_meetings_) return;
    ++ahead.version;
    if (ahead.active && ahead.held) return;
    ahead.candidate = ahead.active && before(known, ahead.at) ? ahead.at : known;
    const double horizon = state.held || !stream_acts(state) ? kUnknownTime : state.stop.date;
    if (walk_host(r, ahead.candidate, known.launches, horizon))
      schedule(ahead.candidate.host, EventKind::RankHost, static_cast<std::uint32_t>(r), ahead.version);
  }

  // Host time alone, from `at` to the next meeting of the host; false if the stream must be known first or `horizon` is
  // passed. `launched`: launches whose start is known.
  bool walk_host(int r, Cursor& at, std::int64_t launched, double horizon) {
    const RankState& state = rank(r);
    const LaunchQueue& queue = queues_[static_cast<std::size_t>(r)];
    while (true) {
      const auto& items = graph_.program(at.step).programs[static_cast<std::size_t>(state.rank_class)];
      if (at.item == static_cast<int>(items.size())) {
        if (at.step + 1 == step_limit_) return false;
        next_step(at);
        continue;
      }
      const Item& item = items[static_cast<std::size_t>(at.item)];
      if (at.host > horizon || item.kind == ItemKind::HostSync) return false;
      if (item.kind == ItemKind::HostWait) {
        const double end = times({at.step, item.meeting, r}).end;
        if (end == kUnknownTime) return false;
        at.host = std::max(at.host, end);
      }
      if (item.kind == ItemKind::Arrive &&
          graph_.program(at.step).meetings[static_cast<std::size_t>(item.meeting)].on == ArriveOn::Host) {
        at.host += item.host_s;
        return at.host <= horizon;
      }
      at.host += item.host_s;
      if (item.kind == ItemKind::Kernel) {
        if (at.launches % kQueueCheck == 0 && at.launches >= kQueueDepth) {
          if (at.launches - kQueueDepth >= launched) return false;
          at.host = std::max(at.host, queue.start_of_limit(at.launches));
        }
        ++at.launches;
      }
      ++at.item;
    }
  }

  void confirm_host(int r, double date) {
    RankState& state = rank(r);
    HostAhead& ahead = state.ahead;
    ahead.active = true;
    ahead.at = ahead.candidate;
    const MeetingKey key{ahead.at.step, item_meeting(state, ahead.at), r};
    ahead.held = meeting_of(key).holds[static_cast<std::size_t>(state.rank_class)];
    if (!ahead.held) ++ahead.at.item;
    arrive(key, date);
    predict(r);
  }

  // --- meetings ---
  void arrive(const MeetingKey& key, double date) {
    OpenStep& step = open_step(key.step);
    const ProgramFacts& program = facts(key.step);
    const std::size_t index = program.table.index(key.meeting, key.rank);
    MeetingTimes& entry = step.times.meetings[index];
    entry.start = date;  // arrivals come in order of time: the last one counts
    if (++step.arrived[index] < program.arrivals[static_cast<std::size_t>(key.meeting)]) return;
    const std::uint32_t slot = take_slot();
    meetings_[slot].key = key;
    const Meeting& meeting = meeting_of(key);
    const bool ring = !program.hop_routes[static_cast<std::size_t>(key.meeting)].empty();
    const double fixed = ring ? meeting.ring_fixed_s : meeting.alpha_s;
    if (ring) meetings_[slot].ring = std::make_unique<MessageRing>(meeting.ring_steps / 2 + 1, meeting.ring_steps);
    schedule(date + fixed, EventKind::MeetingAlpha, slot, 0);
  }

  std::uint32_t take_slot() {
    if (free_slots_.empty()) {
      meetings_.emplace_back();
      return static_cast<std::uint32_t>(meetings_.size()) - 1;
    }
    const auto slot = free_slots_.back();
    free_slots_.pop_back();
    return slot;
  }

  void alpha_over(std::uint32_t slot) {
    const MeetingKey key = meetings_[slot].key;
    const Meeting& meeting = meeting_of(key);
    if (meetings_[slot].ring) {
      for (int r = 0; r < meetings_[slot].ring->ranks(); ++r) request_message(slot, r);
      return;
    }
    if (meeting.flow_bytes == 0) {
      end_meeting(slot, network_.now());
      return;
    }
    const auto& routes = facts(key.step).routes[static_cast<std::size_t>(key.meeting)];
    const std::size_t which = meeting.own ? static_cast<std::size_t>(key.rank) : 0U;
    network_.start_flow(routes[which], static_cast<std::uint64_t>(meeting.flow_bytes), slot);
  }

  void end_meeting(std::uint32_t slot, double now) {
    const MeetingKey key = meetings_[slot].key;
    meetings_[slot].ring.reset();
    free_slots_.push_back(slot);
    times(key).end = now;
    if (meeting_of(key).own) {
      meeting_ended_for(key.rank, key, now);
      return;
    }
    for (const int r : facts(key.step).members[static_cast<std::size_t>(key.meeting)]) {
      if (done_) return;
      meeting_ended_for(r, key, now);
    }
  }

  void meeting_ended_for(int r, const MeetingKey& key, double now) {
    RankState& state = rank(r);
    const Meeting& meeting = meeting_of(key);
    if (meeting.on == ArriveOn::Communication) {
      end_operation(r, now);
    } else if (state.held && holds_at(state, key)) {
      NoRecorder recorder;
      pass_arrival(graph_, state.rank_class, state.confirmed, state.held_date, now, recorder);
      state.held = false;
    } else if (state.ahead.held && state.ahead.at.step == key.step && ahead_at(state, key)) {
      state.ahead.held = false;
      state.ahead.at.host = std::max(state.ahead.at.host, now);
      ++state.ahead.at.item;
    }
    predict(r);
  }

  bool holds_at(const RankState& state, const MeetingKey& key) const {
    return state.confirmed.step == key.step && item_meeting(state, state.confirmed) == key.meeting;
  }
  bool ahead_at(const RankState& state, const MeetingKey& key) const {
    return item_meeting(state, state.ahead.at) == key.meeting;
  }
  int item_meeting(const RankState& state, const Cursor& at) const {
    return graph_.program(at.step)
        .programs[static_cast<std::size_t>(state.rank_class)][static_cast<std::size_t>(at.item)]
        .meeting;
  }

  void end_operation(int r, double now) {
    RankState& state = rank(r);
    state.communication_busy = false;
    state.communication_end = now;
    if (state.pending.empty()) {
      state.window.until = now;
      return;
    }
    const MeetingKey next = state.pending.front();
    state.pending.erase(state.pending.begin());
    state.window.until = now;
    begin_operation(r, next, now);
  }

  // --- message-level rings ---
  void request_message(std::uint32_t slot, int hop) {
    if (!meetings_[slot].ring->may_send(hop)) return;
    const Meeting& meeting = meeting_of(meetings_[slot].key);
    schedule(network_.now() + meeting.ring_step_s, EventKind::Message, slot, 0, static_cast<std::uint32_t>(hop));
  }

  void send_message(std::uint32_t slot, int hop) {
    if (hop == kTail) {
      end_meeting(slot, network_.now());
      return;
    }
    const MeetingKey& key = meetings_[slot].key;
    const auto& hops = facts(key.step).hop_routes[static_cast<std::size_t>(key.meeting)];
    const auto token = static_cast<std::uint64_t>(hop) << 32 | slot;
    const double scaled = message_bytes(meeting_of(key)) * kMessageScale;
    network_.start_flow(hops[static_cast<std::size_t>(hop)], static_cast<std::uint64_t>(std::llround(scaled)), token);
  }

  void message_arrived(std::uint32_t slot, int hop) {
    MessageRing& ring = *meetings_[slot].ring;
    const int receiver = ring.arrived(hop);
    if (ring.all_done()) {
      const Meeting& meeting = meeting_of(meetings_[slot].key);
      double rate = kUnknownTime;
      for (const auto link : meeting.routes[0])
        rate = std::min(rate, graph_.links[static_cast<std::size_t>(link)].rate);
      const double tail = meeting.ring_tail * (meeting.ring_step_s + message_bytes(meeting) / rate);
      schedule(network_.now() + tail, EventKind::Message, slot, 0, static_cast<std::uint32_t>(kTail));
      return;
    }
    request_message(slot, hop);
    request_message(slot, receiver);
  }

  static double message_bytes(const Meeting& meeting) {
    return static_cast<double>(meeting.flow_bytes) / (meeting.ring_steps + meeting.ring_tail);
  }

  static constexpr int kTail = 1 << 20;  // instead of a hop: the last receive-and-copy is over

  const StepGraph& graph_;
  Network& network_;
  EngineOptions options_;
  int rank_count_;
  bool host_meetings_ = false;       // some host arrives somewhere: look-ahead is needed
  int step_limit_ = 0;               // no rank starts this step
  std::vector<ProgramFacts> facts_;  // warm-up programs, then steady
  std::map<std::vector<std::int32_t>, int> known_routes_;
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

Engine::Engine(const StepGraph& graph, Network& network, const EngineOptions& options)
    : simulation_(std::make_unique<Simulation>(graph, network, options)) {}
Engine::~Engine() = default;
StepRecord Engine::run() {
  return simulation_->run();
}

StepRecord simulate(const StepGraph& graph, const EngineOptions& options) {
  const auto network = make_simgrid_network();
  Engine engine(graph, *network, options);
  return engine.run();
}

}  // namespace lockstep
