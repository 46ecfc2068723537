#include "tests/simulator/support/event_per_op.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <queue>

namespace lockstep::testing {
namespace {

using Action = std::function<void()>;

// What waits in a stream, in order.
struct StreamEntry {
  ItemKind kind = ItemKind::Kernel;
  double visible = 0;  // not before this date (launch + latency)
  double work = 0;
  int step = 0;
  int meeting = -1;
  std::int64_t launch = -1;
  bool last_of_step = false;
};

struct Operation {
  int step, meeting;
};

struct OracleRank {
  int index = 0;
  int rank_class = 0;
  // host
  int step = 0;
  std::size_t item = 0;
  std::int64_t launches = 0;
  std::int64_t blocked_on_start = -1;
  bool blocked_on_drain = false;
  std::pair<int, int> blocked_on_meeting{-1, -1};
  bool host_done = false;
  // the loader of its process: a maker of one batch after the other, as long as there is room
  int batches = 1;  // ready
  bool making = false;
  std::uint64_t maker_version = 0;
  bool blocked_on_batch = false;
  // compute stream
  std::deque<StreamEntry> stream;
  bool busy = false;  // a kernel runs, or a held arrival
  bool kernel = false;
  double remaining = 0, rate = 1, since = 0;
  std::uint64_t kernel_version = 0;
  double stream_time = 0;     // end of the stream's last kernel or wait
  std::int64_t started = -1;  // highest launch that has started
  // communication stream
  std::deque<Operation> operations;
  bool communicating = false;
};

class Oracle final : public NetworkListener {
 public:
  Oracle(const StepGraph& graph, Network& network, const JitterSource& jitter, int steps)
      : graph_(graph), network_(network), jitter_(jitter), steps_(steps) {
    std::vector<int> links;
    for (const auto& link : graph.links) links.push_back(network.add_link(link.id, link.rate));
    for (int s = 0; s < steps; ++s) {
      const StepProgram& program = graph.program(s);
      const MeetingTable table(program, graph.simulated_ranks());
      record_.steps.emplace_back();
      record_.steps.back().meetings.resize(table.size());
      record_.steps.back().stream_ends.resize(static_cast<std::size_t>(graph.simulated_ranks()));
      for (const auto& meeting : program.meetings)
        if (meeting.flow_bytes > 0)
          for (const auto& route : meeting.routes) {
            if (routes_.contains(route)) continue;
            std::vector<int> in_network;
            for (const auto link : route) in_network.push_back(links[static_cast<std::size_t>(link)]);
            routes_[route] = network.add_route(in_network);
          }
    }
    record_.warm_up_steps = static_cast<int>(graph.warm_up.size());
    ranks_.resize(static_cast<std::size_t>(graph.simulated_ranks()));
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      ranks_[r].index = static_cast<int>(r);
      ranks_[r].rank_class = graph.class_of(static_cast<int>(r));
    }
  }

  StepRecord run() {
    network_.run(*this);
    for (auto& step : record_.steps) {
      const auto latest = std::max_element(step.stream_ends.begin(), step.stream_ends.end());
      step.end = *latest;
      step.critical_rank = static_cast<int>(latest - step.stream_ends.begin());
    }
    return std::move(record_);
  }

  void on_wakeup() override {
    if (!started_) {
      started_ = true;
      for (auto& rank : ranks_) {
        at(0, [this, &rank] { make_batch(rank); });
        at(0, [this, &rank] { host_next(rank); });
      }
    }
    work_off();
  }
  void on_flow_end(std::uint64_t token) override {
    const auto action = flow_ends_.at(token);
    flow_ends_.erase(token);
    action();
    work_off();
  }

 private:
  struct Entry {
    double date;
    std::uint64_t order;
    Action action;
    bool operator<(const Entry& other) const { return date != other.date ? date > other.date : order > other.order; }
  };

  void at(double date, Action action) { queue_.push({date, order_++, std::move(action)}); }
  void work_off() {
    while (!queue_.empty() && queue_.top().date <= network_.now()) {
      const Action action = queue_.top().action;
      queue_.pop();
      action();
    }
    if (!queue_.empty()) network_.set_wakeup(queue_.top().date);
  }

  // --- host ---
  void host_next(OracleRank& rank) {
    const auto& items = graph_.program(rank.step).programs[static_cast<std::size_t>(rank.rank_class)];
    if (rank.item == items.size()) {
      rank.stream.push_back({ItemKind::HostWork, 0, 0, rank.step, -1, -1, true});
      stream_next(rank);
      if (++rank.step == steps_) {
        rank.host_done = true;
        return;
      }
      rank.item = 0;
      host_next(rank);
      return;
    }
    const Item& item = items[rank.item];
    at(network_.now() + item.host_s, [this, &rank, &item] { host_did(rank, item); });
  }

  void host_did(OracleRank& rank, const Item& item) {
    const double visible = network_.now() + graph_.launch_latency_s;
    switch (item.kind) {
      case ItemKind::Kernel:
        if (rank.launches % kQueueCheck == 0 && rank.launches - kQueueDepth > rank.started &&
            rank.launches >= kQueueDepth) {
          rank.blocked_on_start = rank.launches - kQueueDepth;
          return;  // host_unblocked() comes back here
        }
        launch_kernel(rank, item);
        break;
      case ItemKind::Arrive: {
        const Meeting& meeting = meeting_of(rank.step, item.meeting);
        if (meeting.on == ArriveOn::Host) {
          const bool holds = meeting.holds[static_cast<std::size_t>(rank.rank_class)];
          if (holds) rank.blocked_on_meeting = {rank.step, item.meeting};
          arrive(rank, rank.step, item.meeting);
          if (holds) return;
          break;
        }
        rank.stream.push_back({ItemKind::Arrive, visible, 0, rank.step, item.meeting, -1, false});
        stream_next(rank);
        break;
      }
      case ItemKind::StreamWait:
        rank.stream.push_back({ItemKind::StreamWait, 0, 0, rank.step, item.meeting, -1, false});
        stream_next(rank);
        break;
      case ItemKind::HostWait:
        if (times(rank, rank.step, item.meeting).end == kUnknownTime) {
          rank.blocked_on_meeting = {rank.step, item.meeting};
          return;
        }
        break;
      case ItemKind::HostSync:
        if (rank.busy || !rank.stream.empty()) {
          rank.blocked_on_drain = true;
          return;
        }
        break;
      case ItemKind::LoaderWait:
        if (!graph_.loads_ahead(rank.step) && (rank.busy || !rank.stream.empty())) {
          rank.blocked_on_drain = true;
          return;
        }
        load(rank);
        return;
      case ItemKind::HostWork:
        break;
    }
    ++rank.item;
    host_next(rank);
  }

  // --- loader ---
  void make_batch(OracleRank& rank) {
    if (rank.making || rank.batches >= graph_.loader.depth || graph_.loader.period_s <= 0) return;
    rank.making = true;
    const auto version = ++rank.maker_version;
    at(network_.now() + graph_.loader.period_s, [this, &rank, version] {
      if (version == rank.maker_version) batch_made(rank);
    });
  }
  void batch_made(OracleRank& rank) {
    rank.making = false;
    ++rank.batches;
    if (rank.blocked_on_batch)
      load(rank);
    else
      make_batch(rank);
  }
  // Up to the first steady step a loader keeps nothing that it made ahead.
  void load(OracleRank& rank) {
    rank.blocked_on_batch = rank.batches == 0;
    if (rank.blocked_on_batch) return;  // batch_made() comes back here
    --rank.batches;
    if (!graph_.loads_ahead(rank.step)) {
      rank.batches = 0;
      rank.making = false;
      ++rank.maker_version;
    }
    make_batch(rank);
    ++rank.item;
    host_next(rank);
  }

  void launch_kernel(OracleRank& rank, const Item& item) {
    rank.stream.push_back({ItemKind::Kernel, network_.now() + graph_.launch_latency_s,
                           item.device_s * jitter_.factor(rank.index, rank.step), rank.step, -1, rank.launches, false});
    ++rank.launches;
    stream_next(rank);
  }

  void after_stream_progress(OracleRank& rank) {
    if (rank.blocked_on_start >= 0 && rank.started >= rank.blocked_on_start) {
      rank.blocked_on_start = -1;
      const auto& items = graph_.program(rank.step).programs[static_cast<std::size_t>(rank.rank_class)];
      launch_kernel(rank, items[rank.item]);
      ++rank.item;
      host_next(rank);
    }
    if (rank.blocked_on_drain && !rank.busy && rank.stream.empty()) {
      rank.blocked_on_drain = false;
      const auto& items = graph_.program(rank.step).programs[static_cast<std::size_t>(rank.rank_class)];
      if (items[rank.item].kind == ItemKind::LoaderWait) {
        load(rank);
        return;
      }
      ++rank.item;
      host_next(rank);
    }
  }

  // --- compute stream ---
  void stream_next(OracleRank& rank) {
    while (!rank.busy && !rank.stream.empty()) {
      const StreamEntry entry = rank.stream.front();
      if (entry.visible > network_.now()) {
        at(entry.visible, [this, &rank] { stream_next(rank); });
        return;
      }
      if (entry.kind == ItemKind::StreamWait && times(rank, entry.step, entry.meeting).end == kUnknownTime) return;
      rank.stream.pop_front();
      if (entry.last_of_step)
        record_.steps[static_cast<std::size_t>(entry.step)].stream_ends[static_cast<std::size_t>(rank.index)] =
            rank.stream_time;
      if (entry.kind == ItemKind::StreamWait)
        rank.stream_time = std::max(rank.stream_time, times(rank, entry.step, entry.meeting).end);
      if (entry.kind == ItemKind::Kernel) start_kernel(rank, entry);
      if (entry.kind == ItemKind::Arrive) {
        rank.stream_time = network_.now();
        stream_arrives(rank, entry);
      }
    }
    after_stream_progress(rank);
  }

  void start_kernel(OracleRank& rank, const StreamEntry& entry) {
    rank.busy = rank.kernel = true;
    rank.remaining = entry.work;
    rank.started = entry.launch;
    rank.rate = rank.communicating ? 1 / graph_.contention : 1;
    rank.since = network_.now();
    arm_kernel(rank);
    after_stream_progress(rank);
  }
  void arm_kernel(OracleRank& rank) {
    const auto version = ++rank.kernel_version;
    at(network_.now() + rank.remaining / rank.rate, [this, &rank, version] {
      if (version != rank.kernel_version) return;
      rank.busy = rank.kernel = false;
      rank.stream_time = network_.now();
      stream_next(rank);
    });
  }
  void set_communicating(OracleRank& rank, bool on) {
    rank.communicating = on;
    if (!rank.kernel) return;
    rank.remaining -= (network_.now() - rank.since) * rank.rate;
    rank.since = network_.now();
    rank.rate = on ? 1 / graph_.contention : 1;
    arm_kernel(rank);
  }

  void stream_arrives(OracleRank& rank, const StreamEntry& entry) {
    const Meeting& meeting = meeting_of(entry.step, entry.meeting);
    if (meeting.on == ArriveOn::Communication) {
      rank.operations.push_back({entry.step, entry.meeting});
      next_operation(rank);
      return;
    }
    rank.busy = meeting.holds[static_cast<std::size_t>(rank.rank_class)];
    arrive(rank, entry.step, entry.meeting);
  }

  // --- communication stream and meetings ---
  void next_operation(OracleRank& rank) {
    if (rank.communicating || rank.operations.empty()) return;
    set_communicating(rank, true);
    arrive(rank, rank.operations.front().step, rank.operations.front().meeting);
  }

  const Meeting& meeting_of(int step, int meeting) const {
    return graph_.program(step).meetings[static_cast<std::size_t>(meeting)];
  }
  MeetingTimes& times(const OracleRank& rank, int step, int meeting) {
    const MeetingTable table(graph_.program(step), graph_.simulated_ranks());
    return record_.steps[static_cast<std::size_t>(step)].meetings[table.index(meeting, rank.index)];
  }

  void arrive(OracleRank& rank, int step, int m) {
    const Meeting& meeting = meeting_of(step, m);
    times(rank, step, m).start = network_.now();
    const int who = meeting.own ? rank.index : -1;
    auto& arrived = arrived_[{step, m, who}];
    arrived.push_back(rank.index);
    const int expected = meeting.own ? 1 : graph_.arrivals(graph_.program(step), m);
    if (static_cast<int>(arrived.size()) < expected) return;
    at(network_.now() + meeting.alpha_s, [this, step, m, who] { transfer(step, m, who); });
  }
  void transfer(int step, int m, int who) {
    const Meeting& meeting = meeting_of(step, m);
    if (meeting.flow_bytes == 0) {
      end(step, m, who);
      return;
    }
    const auto& route = meeting.routes[meeting.own ? static_cast<std::size_t>(who) : 0U];
    flow_ends_[++token_] = [this, step, m, who] { end(step, m, who); };
    network_.start_flow(routes_.at(route), static_cast<std::uint64_t>(meeting.flow_bytes), token_);
  }
  void end(int step, int m, int who) {
    const Meeting& meeting = meeting_of(step, m);
    const auto members = arrived_.at({step, m, who});
    times(ranks_[static_cast<std::size_t>(members[0])], step, m).end = network_.now();
    for (const int index : members) {
      OracleRank& rank = ranks_[static_cast<std::size_t>(index)];
      if (meeting.on == ArriveOn::Communication) {
        rank.operations.pop_front();
        set_communicating(rank, false);
        next_operation(rank);
        stream_next(rank);
      } else if (meeting.on == ArriveOn::Stream) {
        if (meeting.holds[static_cast<std::size_t>(rank.rank_class)]) {
          rank.busy = false;
          rank.stream_time = network_.now();
        }
        stream_next(rank);
      }
      if (rank.blocked_on_meeting == std::pair{step, m}) {
        rank.blocked_on_meeting = {-1, -1};
        ++rank.item;
        host_next(rank);
      }
    }
  }

  const StepGraph& graph_;
  Network& network_;
  JitterSource jitter_;
  int steps_;
  std::vector<OracleRank> ranks_;
  std::map<std::vector<std::int32_t>, int> routes_;
  std::map<std::tuple<int, int, int>, std::vector<int>> arrived_;
  std::map<std::uint64_t, Action> flow_ends_;
  std::uint64_t token_ = 0, order_ = 0;
  std::priority_queue<Entry> queue_;
  bool started_ = false;
  StepRecord record_;
};

}  // namespace

StepRecord simulate_event_per_op(const StepGraph& graph, Network& network, const JitterSource& jitter, int steps) {
  return Oracle(graph, network, jitter, steps).run();
}

}  // namespace lockstep::testing
