#include <algorithm>

#include "simulator/engine/simulation.h"

namespace lockstep {

namespace {

bool before(const Cursor& a, const Cursor& b) {
  return a.step != b.step ? a.step < b.step : a.item < b.item;
}

}  // namespace

void Simulation::predict(int r) {
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

bool Simulation::pass_joined(int r, RankState& state) {
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

void Simulation::confirm(int r, double date) {
  RankState& state = rank(r);
  state.confirmed = state.predicted;
  const Stop stop = state.stop;
  if (stop.kind == StopKind::StepEnd) finish_step(r, stop.date);
  if (stop.kind == StopKind::Arrive) join(r, {state.confirmed.step, stop.meeting, r}, date);
  if (!done_) predict(r);
}

void Simulation::join(int r, const MeetingKey& key, double date) {
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

void Simulation::begin_operation(int r, const MeetingKey& key, double date) {
  RankState& state = rank(r);
  state.communication_busy = true;
  extend_window(state.window, date, kUnknownTime);
  arrive(key, date);
}

void Simulation::end_operation(int r, double now) {
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

void Simulation::look_ahead(int r) {
  RankState& state = rank(r);
  HostAhead& ahead = state.ahead;
  const Cursor& known = state.held ? state.confirmed : state.predicted;
  if (!facts_.host_meetings()) return;
  ++ahead.version;
  if (ahead.active && ahead.held) return;
  ahead.candidate = ahead.active && before(known, ahead.at) ? ahead.at : known;
  const double horizon = state.held || !stream_acts(state) ? kUnknownTime : state.stop.date;
  if (walk_host(r, ahead.candidate, known.launches, horizon))
    schedule(ahead.candidate.host, EventKind::RankHost, static_cast<std::uint32_t>(r), ahead.version);
}

bool Simulation::walk_host(int r, Cursor& at, std::int64_t launched, double horizon) {
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
    const bool synchronises =
        item.kind == ItemKind::HostSync || (item.kind == ItemKind::LoaderWait && !graph_.loads_ahead(at.step));
    if (at.host > horizon || synchronises) return false;
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
    if (item.kind == ItemKind::LoaderWait) at.host = take_batch(graph_, at, at.host);
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

void Simulation::confirm_host(int r, double date) {
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

bool Simulation::joined_ahead(const RankState& state) const {
  if (!state.ahead.active || stop_on(state) != ArriveOn::Host) return false;
  return before(state.predicted, state.ahead.at) || (state.ahead.held && !before(state.ahead.at, state.predicted));
}

bool Simulation::stream_acts(const RankState& state) const {
  return state.stop.kind != StopKind::Parked &&
         (state.stop.kind != StopKind::Arrive || stop_on(state) != ArriveOn::Host);
}

std::int64_t Simulation::launch_limit(const RankState& state) {
  return state.window.open() ? state.confirmed.launches + kMaxSpeculativeLaunches
                             : std::numeric_limits<std::int64_t>::max();
}

}  // namespace lockstep
