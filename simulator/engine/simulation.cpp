#include "simulator/engine/simulation.h"

#include <algorithm>

#include "simulator/base/ensure.h"

namespace lockstep {

Simulation::Simulation(const StepGraph& graph, Network& network, const EngineOptions& options)
    : graph_(graph),
      network_(network),
      options_(options),
      rank_count_(graph.simulated_ranks()),
      facts_(graph, network, options.messages) {
  const int warm_up = static_cast<int>(graph.warm_up.size());
  step_limit_ = options.stop.fixed_steady > 0 ? warm_up + options.stop.fixed_steady : options.stop.most;
}

StepRecord Simulation::run() {
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

void Simulation::on_wakeup() {
  armed_ = kUnknownTime;
  if (!started_) {
    started_ = true;
    for (int r = 0; r < rank_count_ && !done_; ++r) predict(r);
  }
  handle_due_events();
}

void Simulation::on_flow_end(std::uint64_t token) {
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

Simulation::OpenStep& Simulation::open_step(int step) {
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

MeetingTimes& Simulation::times(const MeetingKey& key) {
  const std::size_t index = facts(key.step).table.index(key.meeting, key.rank);
  if (key.step < first_open_step_) return record_.steps[static_cast<std::size_t>(key.step)].meetings[index];
  return open_step(key.step).times.meetings[index];
}

double Simulation::factor(int r, int step) {
  RankState& state = rank(r);
  if (state.factor_step != step) {
    state.factor_step = step;
    state.factor = options_.jitter.factor(r, step);
  }
  return state.factor;
}

bool Simulation::stale(const Event& event) {
  if (event.kind == EventKind::RankStream) return event.version != rank(static_cast<int>(event.owner)).version;
  if (event.kind == EventKind::RankHost) return event.version != rank(static_cast<int>(event.owner)).ahead.version;
  return false;
}

void Simulation::schedule(double date, EventKind kind, std::uint32_t owner, std::uint32_t version,
                          std::uint32_t detail) {
  const double now = network_.now();
  // SimGrid's clock goes on from run to run of a process; after hours of simulated time it rounds to 1e-12 s.
  LOCKSTEP_ENSURE(date >= now - 1e-11 * (1 + now), "event of kind {} at {} s, now {} s", static_cast<int>(kind), date,
                  now);
  calendar_.add({std::max(date, now), kind, owner, version, detail});
}

void Simulation::handle_due_events() {
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

void Simulation::handle(const Event& event) {
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

void Simulation::finish_step(int r, double stream_end) {
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

}  // namespace lockstep
