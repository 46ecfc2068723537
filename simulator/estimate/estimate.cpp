#include "simulator/estimate/estimate.h"

#include <algorithm>
#include <memory>

namespace lockstep {

double time_alone(const StepGraph& graph, const Meeting& meeting, int simulated_rank) {
  if (meeting.flow_bytes == 0) return meeting.alpha_s;
  const auto& route = meeting.routes[meeting.own ? static_cast<std::size_t>(simulated_rank) : 0U];
  double rate = kUnknownTime;
  for (const auto link : route) rate = std::min(rate, graph.links[static_cast<std::size_t>(link)].rate);
  return meeting.alpha_s + static_cast<double>(meeting.flow_bytes) / rate;
}

namespace {

struct RankWalk {
  int rank = 0;
  int rank_class = 0;
  Cursor cursor;
  SlowWindow window;
  double communication_end = 0;
  bool arrived = false;     // at the meeting where the cursor stands, whose end is not known yet
  double stop_date = 0;     // on host or compute stream
  double arrival_date = 0;  // later than stop_date when the communication stream was busy
  bool step_done = false;
  LaunchQueue queue;
};

// What the programs of one kind of step share: where meetings stand in the tables and how long they take.
struct ProgramFacts {
  MeetingTable table;
  std::vector<int> arrivals;      // [meeting]
  std::vector<double> durations;  // [table index]

  ProgramFacts(const StepGraph& graph, const StepProgram& program) : table(program, graph.simulated_ranks()) {
    durations.resize(table.size());
    for (int m = 0; m < static_cast<int>(program.meetings.size()); ++m) {
      const Meeting& meeting = program.meetings[static_cast<std::size_t>(m)];
      arrivals.push_back(meeting.own ? 1 : graph.arrivals(program, m));
      for (int rank = 0; rank < (meeting.own ? graph.simulated_ranks() : 1); ++rank)
        durations[table.index(m, rank)] = time_alone(graph, meeting, rank);
    }
  }
};

class Estimator {
 public:
  Estimator(const StepGraph& graph, const StopRule& rule, const JitterSource& jitter)
      : graph_(graph), rule_(rule), jitter_(jitter), ranks_(static_cast<std::size_t>(graph.simulated_ranks())) {
    for (const auto& program : graph.warm_up) facts_.emplace_back(graph, program);
    facts_.emplace_back(graph, graph.steady);
    record_.warm_up_steps = static_cast<int>(graph.warm_up.size());
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      ranks_[r].rank = static_cast<int>(r);
      ranks_[r].rank_class = graph.class_of(static_cast<int>(r));
    }
  }

  StepRecord run() {
    do {
      run_step();
    } while (!finished(record_, rule_));
    record_.converged = rule_.fixed_steady == 0 && static_cast<int>(record_.steps.size()) < rule_.most;
    return std::move(record_);
  }

 private:
  struct Environment {
    const Estimator& estimator;
    const RankWalk& rank;
    double end_of(int, int meeting) const {
      return estimator.times().meetings[estimator.facts().table.index(meeting, rank.rank)].end;
    }
    double factor(int step) const { return estimator.jitter_.factor(rank.rank, step); }
  };

  const ProgramFacts& facts() const { return facts_[std::min(step_, facts_.size() - 1)]; }
  const StepTimes& times() const { return record_.steps.back(); }
  StepTimes& times() { return record_.steps.back(); }

  void run_step() {
    step_ = record_.steps.size();
    record_.steps.emplace_back();
    times().meetings.resize(facts().table.size());
    times().stream_ends.resize(ranks_.size());
    arrived_.assign(facts().table.size(), 0);
    for (auto& rank : ranks_) rank.step_done = false;
    bool all_done = false;
    while (!all_done) {
      bool progress = false;
      all_done = true;
      for (auto& rank : ranks_) {
        progress |= !rank.step_done && advance(rank);
        all_done &= rank.step_done;
      }
      LOCKSTEP_ENSURE(progress || all_done, "step {}: every rank waits for another", step_);
    }
    const auto latest = std::max_element(times().stream_ends.begin(), times().stream_ends.end());
    times().end = *latest;
    times().critical_rank = static_cast<int>(latest - times().stream_ends.begin());
  }

  // Walks a rank until it waits for others or has done the step; true if it got anywhere.
  bool advance(RankWalk& rank) {
    bool progress = false;
    NoRecorder recorder;
    while (true) {
      if (rank.arrived && !pass(rank)) return progress;
      const Stop stop =
          walk(graph_, rank.rank_class, rank.cursor, rank.window, rank.queue, Environment{*this, rank}, recorder);
      progress = true;
      if (stop.kind == StopKind::StepEnd) {
        times().stream_ends[static_cast<std::size_t>(rank.rank)] = stop.date;
        next_step(rank.cursor);
        rank.step_done = true;
        return true;
      }
      LOCKSTEP_ENSURE(stop.kind == StopKind::Arrive, "step {}: stop {} at a meeting that this rank never joined", step_,
                      static_cast<int>(stop.kind));
      arrive(rank, stop);
    }
  }

  void arrive(RankWalk& rank, const Stop& stop) {
    const Meeting& meeting = graph_.program(static_cast<int>(step_)).meetings[static_cast<std::size_t>(stop.meeting)];
    rank.stop_date = rank.arrival_date = stop.date;
    if (meeting.on == ArriveOn::Communication) rank.arrival_date = std::max(stop.date, rank.communication_end);
    rank.arrived = true;
    const std::size_t index = facts().table.index(stop.meeting, rank.rank);
    MeetingTimes& entry = times().meetings[index];
    entry.start = arrived_[index] == 0 ? rank.arrival_date : std::max(entry.start, rank.arrival_date);
    if (++arrived_[index] == facts().arrivals[static_cast<std::size_t>(stop.meeting)])
      entry.end = entry.start + facts().durations[index];
  }

  // Goes past the meeting where the rank stands, if its end is known or not needed.
  bool pass(RankWalk& rank) {
    const StepProgram& program = graph_.program(static_cast<int>(step_));
    const auto cls = static_cast<std::size_t>(rank.rank_class);
    const int m = program.programs[cls][static_cast<std::size_t>(rank.cursor.item)].meeting;
    const Meeting& meeting = program.meetings[static_cast<std::size_t>(m)];
    const double end = times().meetings[facts().table.index(m, rank.rank)].end;
    const bool communication = meeting.on == ArriveOn::Communication;
    if (end == kUnknownTime && (communication || meeting.holds[cls])) return false;
    if (communication) {
      extend_window(rank.window, rank.arrival_date, end);
      rank.communication_end = end;
    }
    NoRecorder recorder;
    pass_arrival(graph_, rank.rank_class, rank.cursor, rank.stop_date, end, recorder);
    rank.arrived = false;
    return true;
  }

  const StepGraph& graph_;
  StopRule rule_;
  JitterSource jitter_;
  std::vector<RankWalk> ranks_;
  std::vector<ProgramFacts> facts_;
  std::vector<int> arrived_;  // [table index] of this step
  std::size_t step_ = 0;
  StepRecord record_;
};

}  // namespace

StepRecord estimate(const StepGraph& graph, const StopRule& rule, const JitterSource& jitter) {
  return Estimator(graph, rule, jitter).run();
}

}  // namespace lockstep
