#include "simulator/steps/replay.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>

namespace lockstep {
namespace {

// Where time went: an item's label, a meeting, or words.
struct Detail {
  int label = -1, meeting = -1;
  const char* words = "";
};
Detail of_item(const Item& item) {
  return {item.label, -1, ""};
}

struct HostSegment {
  double from, until;
  Cause cause;
  Detail detail;
};

std::string first_word(const std::string& text) {
  return text.substr(0, text.find(' '));
}

// Names of details: op by op would be thousands, so ops go by the class of their kernel, parameters by their bucket
// copy.
class DetailNames {
 public:
  DetailNames(const StepGraph& graph, const StepProgram& program) : graph_(graph), program_(program) {
    for (const auto& items : program.programs)
      for (const Item& item : items)
        if (item.kind == ItemKind::Kernel && item.label >= 0 && is_computing(item.cause))
          op_classes_.insert(first_word(label(item.label)));
  }

  std::string name(Cause cause, const Detail& detail) const {
    if (detail.meeting >= 0) return program_.meetings[static_cast<std::size_t>(detail.meeting)].name;
    if (detail.label < 0) return *detail.words != '\0' ? detail.words : name_of(cause);
    const std::string& text = label(detail.label);
    const std::size_t bucket = text.find(" bucket ");
    const bool of_parameter = bucket != std::string::npos && (text[bucket + 8] < '0' || text[bucket + 8] > '9');
    if (of_parameter) return text.substr(0, bucket + 7);
    const bool by_class = is_computing(cause) || cause == Cause::Contention || cause == Cause::HostBound;
    const std::string word = first_word(text);
    return by_class && op_classes_.count(word) != 0 ? word : text;
  }

 private:
  static bool is_computing(Cause cause) {
    return cause == Cause::Forward || cause == Cause::Backward || cause == Cause::Optimizer;
  }
  const std::string& label(int index) const { return graph_.labels[static_cast<std::size_t>(index)]; }

  const StepGraph& graph_;
  const StepProgram& program_;
  std::set<std::string> op_classes_;
};

// A breakdown in pieces.
class Parts {
 public:
  Parts(const StepGraph& graph, const StepProgram& program) : names_(graph, program) {}
  void add(Cause cause, const Detail& detail, double seconds) {
    const auto key = std::pair{cause, names_.name(cause, detail)};
    const auto [at, is_new] = index_.try_emplace(key, parts_.size());
    if (is_new) parts_.push_back({cause, key.second, 0});
    parts_[at->second].seconds += seconds;
  }
  std::vector<StepPart> take() { return std::move(parts_); }

 private:
  DetailNames names_;
  std::map<std::pair<Cause, std::string>, std::size_t> index_;
  std::vector<StepPart> parts_;
};

// Unions of intervals that arrive roughly in order of their start.
class BusyUnion {
 public:
  void add(double from, double until) {
    if (until > from) intervals_.emplace_back(from, until);
  }
  double total() {
    std::sort(intervals_.begin(), intervals_.end());
    double sum = 0;
    double reached = -kUnknownTime;
    for (const auto& [from, until] : intervals_) {
      sum += std::max(0.0, until - std::max(from, reached));
      reached = std::max(reached, until);
    }
    return sum;
  }

 private:
  std::vector<std::pair<double, double>> intervals_;
};

// Books of one rank over one step; everything is cut to [start, end] of the step.
class Books {
 public:
  Books(const StepGraph& graph, const StepRecord& record, int rank, int step, const ReplayOptions& options)
      : graph_(graph),
        program_(graph.program(step)),
        table_(program_, graph.simulated_ranks()),
        times_(record.steps[static_cast<std::size_t>(step)]),
        rank_(rank),
        with_timeline_(options.timeline) {
    if (options.parts) parts_.emplace(graph, program_);
    out_.start_s = step == 0 ? 0 : record.steps[static_cast<std::size_t>(step) - 1].end;
    out_.end_s = times_.end;
  }

  void kernel(const Item& item, double host_from, double host_until, double idle_from, double start, double end,
              double nominal_s) {
    host_work(item, host_from, host_until);
    idle_for_host(idle_from, start, item.host_cause);
    const double share = overlap(start, end) / std::max(end - start, 1e-300);
    // Below this the difference of two dates is rounding, not contention.
    const double stretched_s = end - start - nominal_s;
    const double contention_s = stretched_s > 1e-12 ? stretched_s : 0;
    charge(item.cause, (end - start - contention_s) * share, of_item(item));
    charge(Cause::Contention, contention_s * share, of_item(item));
    out_.compute_busy_s += (end - start) * share;
    gpu_.add(cut(start), cut(end));
    span(Lane::Compute, item.cause, item.label, start, end, 0);
  }

  void host(const Item& item, double from, double until) {
    host_work(item, from, until);
    if (item.kind == ItemKind::LoaderWait && until > from) span(Lane::Cpu, item.host_cause, item.label, from, until, 0);
  }

  // The compute stream waits [from, until] for the end of a meeting that it joined.
  void stream_waits(const Item& item, double from, double until) {
    const Meeting& meeting = program_.meetings[static_cast<std::size_t>(item.meeting)];
    const double start = std::clamp(meeting_times(item.meeting).start, from, until);
    const Detail detail{-1, item.meeting, ""};
    charge(meeting.wait_cause, overlap(from, start), detail);
    charge(meeting.cause, overlap(start, until), detail);
  }

  // Idle of the stream between `from` and an arrival at `until` (the host was late).
  void idle_for_host(double from, double until, Cause otherwise) {
    if (until <= from) return;
    while (!segments_.empty() && segments_.front().until <= from) segments_.pop_front();
    const Detail gap{-1, -1, "from launch to start"};
    double at = from;
    for (const auto& segment : segments_) {
      if (segment.from >= until) break;
      if (segment.from > at) charge(otherwise, overlap(at, segment.from), gap);
      at = std::max(at, segment.from);
      const double to = std::min(segment.until, until);
      if (to <= at) continue;
      charge(segment.cause, overlap(at, to), segment.detail);
      at = to;
    }
    if (until > at) charge(otherwise, overlap(at, until), gap);
  }

  // The host is held by a meeting from `from` to its end.
  void host_held(int index, double from, double start, double end) {
    const Meeting& meeting = program_.meetings[static_cast<std::size_t>(index)];
    const Detail detail{-1, index, ""};
    if (start > from) segments_.push_back({from, start, meeting.wait_cause, detail});
    if (end > std::max(from, start)) segments_.push_back({std::max(from, start), end, meeting.cause, detail});
  }

  void collective(const Meeting& meeting, double arrival, double ready, double launch, const MeetingTimes& t) {
    const bool is_copy = meeting.algorithm.empty();
    if (!is_copy) gpu_.add(cut(arrival), cut(t.end));
    // The kernel of a collective runs from this rank's arrival on, its wait for peers included. A copy starts when all
    // are there; who only waits for it, or for nothing but the others, has none.
    const double from = is_copy ? t.start : arrival;
    if (with_timeline_ && t.end > from && (!is_copy || is_copied_here(meeting)))
      out_.timeline.push_back({is_copy ? Lane::Copy : Lane::Communication, meeting.cause, meeting.name,
                               from - out_.start_s, t.end - out_.start_s, meeting.payload_bytes});
    if (meeting.on == ArriveOn::Communication && meeting.cause == Cause::ExposedCommunication)
      out_.communication_s += t.end - t.start;
    if (meeting.bucket < 0) return;
    const double zero = out_.start_s;
    out_.buckets.push_back({meeting.bucket, meeting.payload_bytes, ready - zero, launch - zero, t.start - zero,
                            t.end - zero, t.start - launch, t.end - t.start, meeting.algorithm, meeting.protocol,
                            meeting.channels});
  }

  const MeetingTimes& meeting_times(int meeting) const { return times_.meetings[table_.index(meeting, rank_)]; }
  const StepProgram& program() const { return program_; }

  Replay close() {
    out_.gpu_busy_s = gpu_.total();
    double sum = 0;
    for (const double part : out_.breakdown_s) sum += part;
    // A rank that starts the step late or ends before the critical one: the rest is waiting for others.
    const double rest = out_.end_s - out_.start_s - sum;
    if (rest > 1e-12) charge(Cause::WaitForPeers, rest, {-1, -1, "end of the step"});
    if (parts_) out_.parts = parts_->take();
    const double exposed = out_.breakdown_s[static_cast<std::size_t>(Cause::ExposedCommunication)];
    out_.hidden_communication_s = std::max(0.0, out_.communication_s - exposed);
    return std::move(out_);
  }

 private:
  // Of a folded class: to any of its ranks.
  bool is_copied_here(const Meeting& meeting) const {
    if (meeting.receiver < 0) return true;
    const auto& c = graph_.classes[static_cast<std::size_t>(graph_.class_of(rank_))];
    if (c.folded) return meeting.receiver >= c.first_rank && meeting.receiver < c.first_rank + c.ranks;
    return meeting.receiver == real_rank(c);
  }
  int real_rank(const RankClass& c) const {
    int first = 0;  // simulated rank of c's first
    for (const auto& before : graph_.classes) {
      if (&before == &c) break;
      first += before.folded ? 1 : before.ranks;
    }
    return c.first_rank + rank_ - first;
  }

  double cut(double t) const { return std::clamp(t, out_.start_s, out_.end_s); }
  double overlap(double from, double until) const { return std::max(0.0, cut(until) - cut(from)); }
  void charge(Cause cause, double seconds, const Detail& detail) {
    out_.breakdown_s[static_cast<std::size_t>(cause)] += seconds;
    if (parts_ && seconds != 0) parts_->add(cause, detail, seconds);
  }

  void host_work(const Item& item, double from, double until) {
    if (until > from) segments_.push_back({from, until, item.host_cause, of_item(item)});
    if (item.host_cause != Cause::WaitForPeers) out_.host_busy_s += item.host_s;
    if (item.host_s > 0) span(Lane::Cpu, item.host_cause, item.label, until - item.host_s, until, 0);
  }

  void span(Lane lane, Cause cause, int label, double from, double until, std::int64_t bytes) {
    if (!with_timeline_) return;
    const std::string name = label < 0 ? std::string(name_of(cause)) : graph_.labels[static_cast<std::size_t>(label)];
    out_.timeline.push_back({lane, cause, name, from - out_.start_s, until - out_.start_s, bytes});
  }

  const StepGraph& graph_;
  const StepProgram& program_;
  MeetingTable table_;
  const StepTimes& times_;
  int rank_;
  bool with_timeline_;
  std::optional<Parts> parts_;
  std::deque<HostSegment> segments_;
  BusyUnion gpu_;
  Replay out_;
};

// Walks one rank with every end known. `Notes` is Books for the shown step, nothing for the steps before.
class Replayer {
 public:
  Replayer(const StepGraph& graph, const StepRecord& record, int rank, const JitterSource& jitter)
      : graph_(graph), record_(record), rank_(rank), rank_class_(graph.class_of(rank)), jitter_(jitter) {}

  void skip_step() {
    NoRecorder recorder;
    run_step(recorder, nullptr);
  }
  void note_step(Books& books) { run_step(books, &books); }

 private:
  struct Environment {
    const StepRecord& record;
    const MeetingTable& table;
    const JitterSource& jitter;
    int rank;
    double end_of(int step, int meeting) const {
      return record.steps[static_cast<std::size_t>(step)].meetings[table.index(meeting, rank)].end;
    }
    double factor(int step) const { return jitter.factor(rank, step); }
  };

  template <class Recorder>
  void run_step(Recorder& recorder, Books* books) {
    const StepProgram& program = graph_.program(cursor_.step);
    const MeetingTable table(program, graph_.simulated_ranks());
    const Environment environment{record_, table, jitter_, rank_};
    while (true) {
      const Stop stop = walk(graph_, rank_class_, cursor_, window_, queue_, environment, recorder);
      if (stop.kind == StopKind::StepEnd) break;
      LOCKSTEP_ENSURE(stop.kind == StopKind::Arrive, "replay of rank {} stopped with {}", rank_,
                      static_cast<int>(stop.kind));
      join(program, stop, table, recorder, books);
    }
    next_step(cursor_);
  }

  template <class Recorder>
  void join(const StepProgram& program, const Stop& stop, const MeetingTable& table, Recorder& recorder, Books* books) {
    const Meeting& meeting = program.meetings[static_cast<std::size_t>(stop.meeting)];
    const Item& item = program.programs[static_cast<std::size_t>(rank_class_)][static_cast<std::size_t>(cursor_.item)];
    const MeetingTimes& t =
        record_.steps[static_cast<std::size_t>(cursor_.step)].meetings[table.index(stop.meeting, rank_)];
    const double ready = cursor_.stream;
    const double launch = cursor_.host + item.host_s;
    double arrival = stop.date;
    if (meeting.on == ArriveOn::Communication) {
      arrival = std::max(arrival, communication_end_);
      extend_window(window_, arrival, t.end);
      communication_end_ = t.end;
    }
    const bool holds = meeting.holds[static_cast<std::size_t>(rank_class_)];
    if (books != nullptr && meeting.on != ArriveOn::Host) books->idle_for_host(ready, stop.date, item.host_cause);
    pass_arrival(graph_, rank_class_, cursor_, stop.date, t.end, recorder);
    if (books == nullptr) return;
    if (meeting.on == ArriveOn::Host && holds) books->host_held(stop.meeting, stop.date, t.start, t.end);
    books->collective(meeting, arrival, ready, launch, t);
  }

  const StepGraph& graph_;
  const StepRecord& record_;
  int rank_;
  int rank_class_;
  const JitterSource& jitter_;
  Cursor cursor_;
  SlowWindow window_;
  double communication_end_ = 0;
  LaunchQueue queue_;
};

}  // namespace

Replay replay(const StepGraph& graph, const StepRecord& record, int rank, int step, const JitterSource& jitter,
              const ReplayOptions& options) {
  Replayer replayer(graph, record, rank, jitter);
  for (int s = 0; s < step; ++s) replayer.skip_step();
  Books books(graph, record, rank, step, options);
  replayer.note_step(books);
  return books.close();
}

std::vector<LinkUse> link_use(const StepGraph& graph, const StepRecord& record, int step) {
  std::vector<LinkUse> uses;
  for (const auto& link : graph.links) uses.push_back({link.id, name_of(link.link_class), 0, 0, 0, link.rate});
  const StepProgram& program = graph.program(step);
  const MeetingTable table(program, graph.simulated_ranks());
  const StepTimes& times = record.steps[static_cast<std::size_t>(step)];
  const double before = step == 0 ? 0 : record.steps[static_cast<std::size_t>(step) - 1].end;
  for (int m = 0; m < static_cast<int>(program.meetings.size()); ++m) {
    const Meeting& meeting = program.meetings[static_cast<std::size_t>(m)];
    if (meeting.flow_bytes == 0) continue;
    for (std::size_t route = 0; route < meeting.routes.size(); ++route) {
      const MeetingTimes& t = times.meetings[table.index(m, static_cast<int>(route))];
      for (const auto link : meeting.routes[route]) {
        LinkUse& use = uses[static_cast<std::size_t>(link)];
        use.bytes += meeting.flow_bytes;
        use.busy_s += t.end - t.start - meeting.alpha_s;
      }
    }
  }
  for (auto& use : uses) use.utilization = use.busy_s / (times.end - before);
  return uses;
}

}  // namespace lockstep
