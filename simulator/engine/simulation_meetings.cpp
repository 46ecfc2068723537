#include <algorithm>
#include <cmath>

#include "simulator/engine/simulation.h"

namespace lockstep {

void Simulation::arrive(const MeetingKey& key, double date) {
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

std::uint32_t Simulation::take_slot() {
  if (free_slots_.empty()) {
    meetings_.emplace_back();
    return static_cast<std::uint32_t>(meetings_.size()) - 1;
  }
  const auto slot = free_slots_.back();
  free_slots_.pop_back();
  return slot;
}

void Simulation::alpha_over(std::uint32_t slot) {
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

void Simulation::end_meeting(std::uint32_t slot, double now) {
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

void Simulation::meeting_ended_for(int r, const MeetingKey& key, double now) {
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

void Simulation::request_message(std::uint32_t slot, int hop) {
  if (!meetings_[slot].ring->may_send(hop)) return;
  const Meeting& meeting = meeting_of(meetings_[slot].key);
  schedule(network_.now() + meeting.ring_step_s, EventKind::Message, slot, 0, static_cast<std::uint32_t>(hop));
}

void Simulation::send_message(std::uint32_t slot, int hop) {
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

void Simulation::message_arrived(std::uint32_t slot, int hop) {
  MessageRing& ring = *meetings_[slot].ring;
  const int receiver = ring.arrived(hop);
  if (ring.all_done()) {
    const Meeting& meeting = meeting_of(meetings_[slot].key);
    double rate = kUnknownTime;
    for (const auto link : meeting.routes[0]) rate = std::min(rate, graph_.links[static_cast<std::size_t>(link)].rate);
    const double tail = meeting.ring_tail * (meeting.ring_step_s + message_bytes(meeting) / rate);
    schedule(network_.now() + tail, EventKind::Message, slot, 0, static_cast<std::uint32_t>(kTail));
    return;
  }
  request_message(slot, hop);
  request_message(slot, receiver);
}

}  // namespace lockstep
