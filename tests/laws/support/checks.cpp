#include "tests/laws/support/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "simulator/collectives/ring.h"
#include "simulator/steps/buckets.h"

namespace lockstep::testing {
namespace {

constexpr double kNear = 1e-9;  // relative

std::vector<Span> spans_of(const Watched& run, Lane lane) {
  std::vector<Span> spans;
  for (const auto& span : run.replay.timeline)
    if (span.lane == lane) spans.push_back(span);
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.start_s < b.start_s; });
  return spans;
}

double step_s(const Watched& run) {
  return run.replay.end_s - run.replay.start_s;
}

// Kernels beside the communication stream, cut to the step. Spans of each lane do not overlap.
double overlap_s(const Watched& run) {
  const auto kernels = spans_of(run, Lane::Compute);
  double sum = 0;
  for (const auto& moving : spans_of(run, Lane::Communication))
    for (const auto& kernel : kernels) {
      const double from = std::max({moving.start_s, kernel.start_s, 0.0});
      const double until = std::min({moving.end_s, kernel.end_s, step_s(run)});
      sum += std::max(0.0, until - from);
    }
  return sum;
}

std::vector<std::int64_t> reduced_bytes(const StepProgram& program) {
  std::vector<std::int64_t> bytes;
  for (const auto& meeting : program.meetings)
    if (meeting.bucket >= 0) bytes.push_back(meeting.payload_bytes);
  return bytes;
}

std::string text_of(const std::vector<std::int64_t>& bytes) {
  return fmt::format("[{}]", fmt::join(bytes, ", "));
}

}  // namespace

Watched watch(const StepGraph& graph, const StepRecord& record, int rank, int step, const JitterSource& jitter) {
  return {graph, record, rank, step, replay(graph, record, rank, step, jitter, {true, false})};
}

std::string breakdown_is_whole(const Watched& run) {
  double sum = 0;
  for (std::size_t c = 0; c < run.replay.breakdown_s.size(); ++c) {
    const double part = run.replay.breakdown_s[c];
    if (part < -1e-12 * step_s(run)) return fmt::format("{} is {} s", name_of(static_cast<Cause>(c)), part);
    sum += part;
  }
  if (std::abs(sum - step_s(run)) <= 1e-12 + 1e-12 * step_s(run)) return "";
  return fmt::format("parts sum to {} s of a step of {} s", sum, step_s(run));
}

std::string lanes_do_one_thing_at_a_time(const Watched& run) {
  for (const Lane lane : {Lane::Cpu, Lane::Compute, Lane::Communication}) {
    const auto spans = spans_of(run, lane);
    for (std::size_t i = 1; i < spans.size(); ++i)
      if (spans[i].start_s < spans[i - 1].end_s - 1e-12)
        return fmt::format("{}: `{}` starts at {} s, `{}` ends at {} s", name_of(lane), spans[i].name, spans[i].start_s,
                           spans[i - 1].name, spans[i - 1].end_s);
  }
  return "";
}

std::string hidden_communication_is_beside_work(const Watched& run) {
  const double hidden = run.replay.hidden_communication_s;
  const double overlap = overlap_s(run) + run.replay.breakdown_s[static_cast<std::size_t>(Cause::HostBound)];
  if (hidden > run.replay.communication_s * (1 + kNear))
    return fmt::format("{} s hidden of {} s of communication", hidden, run.replay.communication_s);
  if (hidden <= overlap + kNear * step_s(run)) return "";
  return fmt::format("{} s called hidden, {} s ran beside kernels or a late host", hidden, overlap);
}

std::string contention_is_paid(const Watched& run, double phi) {
  const double expected = (1 - 1 / phi) * overlap_s(run);
  const double paid = run.replay.breakdown_s[static_cast<std::size_t>(Cause::Contention)];
  if (std::abs(paid - expected) <= kNear * step_s(run)) return "";
  return fmt::format("{} s of contention, {} s expected", paid, expected);
}

std::string links_keep_their_rate(const Watched& run) {
  const StepProgram& program = run.graph.program(run.step);
  const MeetingTable table(program, run.graph.simulated_ranks());
  const auto& times = run.record.steps[static_cast<std::size_t>(run.step)].meetings;
  struct Use {
    double bytes = 0, from = kUnknownTime, until = 0;
  };
  // Meetings that are open at the same time on one link are looked at together, others one by one.
  for (std::size_t link = 0; link < run.graph.links.size(); ++link) {
    std::vector<Use> uses;
    for (int m = 0; m < static_cast<int>(program.meetings.size()); ++m) {
      const Meeting& meeting = program.meetings[static_cast<std::size_t>(m)];
      for (std::size_t route = 0; route < meeting.routes.size(); ++route) {
        if (std::count(meeting.routes[route].begin(), meeting.routes[route].end(), static_cast<std::int32_t>(link)) ==
            0)
          continue;
        const auto& t = times[table.index(m, static_cast<int>(route))];
        uses.push_back({static_cast<double>(meeting.flow_bytes), t.start + meeting.alpha_s, t.end});
      }
    }
    std::sort(uses.begin(), uses.end(), [](const Use& a, const Use& b) { return a.from < b.from; });
    Use group;
    const auto broken = [&] {
      const double least = group.bytes / run.graph.links[link].rate;
      return group.bytes > 0 && group.until - group.from < least * (1 - 1e-6) - 1e-9;
    };
    for (const Use& use : uses) {
      if (use.from >= group.until) {
        if (broken()) break;
        group = use;
      } else {
        group.bytes += use.bytes;
        group.until = std::max(group.until, use.until);
      }
    }
    if (broken())
      return fmt::format("{} bytes over {} in {} s, its rate is {} bytes/s", group.bytes, run.graph.links[link].id,
                         group.until - group.from, run.graph.links[link].rate);
  }
  return "";
}

BucketPhases phases_of(const TestPoint& point) {
  const Precision precision = point.scenario.precision;
  return bucket_phases(*point.model, point.scenario.ddp, torch_version(point.scenario),
                       precision == Precision::AmpFp16 || precision == Precision::AmpBf16);
}

std::string buckets_are_those_of_the_rule(const StepGraph& graph, const TestPoint& point) {
  const auto phases = phases_of(point);
  std::vector<std::int64_t> expected;
  const int rounds = point.scenario.accumulate_no_sync ? 1 : point.micro_steps;
  for (int round = 0; round < rounds; ++round)
    for (const auto& bucket : phases.rebuilt) expected.push_back(bucket.bytes);
  const auto reduced = reduced_bytes(graph.steady);
  if (reduced == expected) return "";
  return fmt::format("reduced {}, the rule gives {}", text_of(reduced), text_of(expected));
}

std::string buckets_start_in_order(const Watched& run) {
  const auto& buckets = run.replay.buckets;
  for (std::size_t b = 1; b < buckets.size(); ++b) {
    if (buckets[b].index != 0 && buckets[b].index != buckets[b - 1].index + 1)
      return fmt::format("bucket {} after bucket {}", buckets[b].index, buckets[b - 1].index);
    if (buckets[b].start_s < buckets[b - 1].end_s - 1e-12)
      return fmt::format("bucket {} starts at {} s, the one before ends at {} s", buckets[b].index, buckets[b].start_s,
                         buckets[b - 1].end_s);
  }
  return "";
}

std::string buckets_take_their_plan(const Watched& run, const TestPoint& point) {
  const Ring ring = ring_of(point.topology, point.gpus);
  for (const auto& bucket : run.replay.buckets) {
    const double plan = plan_collective(ring, CollectiveOperation::AllReduce, bucket.bytes).seconds();
    if (std::abs(bucket.transfer_s - plan) > kNear * (plan + step_s(run)))
      return fmt::format("bucket {} takes {} s, its plan {} s", bucket.index, bucket.transfer_s, plan);
  }
  return "";
}

std::string buckets_keep_the_ring_bound(const Watched& run, const TestPoint& point) {
  const Ring ring = ring_of(point.topology, point.gpus);
  const double n = point.gpus;
  for (const auto& bucket : run.replay.buckets) {
    const double least = 2 * (n - 1) / n * static_cast<double>(bucket.bytes) / ring_rate(ring);
    if (bucket.transfer_s < least * (1 - kNear))
      return fmt::format("bucket {} takes {} s, its bytes alone {} s", bucket.index, bucket.transfer_s, least);
  }
  return "";
}

std::string buckets_follow_their_gradients(const Watched& run, const TestPoint& point) {
  const auto phases = phases_of(point);
  std::map<std::string, double> copied;  // the last round of a step counts
  for (const auto& span : spans_of(run, Lane::Compute)) copied[span.name] = span.end_s;
  std::map<int, double> started;
  for (const auto& bucket : run.replay.buckets) started[bucket.index] = bucket.start_s;
  for (std::size_t b = 0; b < phases.rebuilt.size(); ++b)
    for (const auto id : phases.rebuilt[b].parameters) {
      const auto copy = copied.find("copy to bucket " + point.model->parameter(id).name);
      if (copy == copied.end()) return fmt::format("no copy of {}", point.model->parameter(id).name);
      if (started[static_cast<int>(b)] < copy->second - 1e-12)
        return fmt::format("bucket {} starts at {} s, `{}` ends at {} s", b, started[static_cast<int>(b)], copy->first,
                           copy->second);
    }
  return "";
}

std::string optimizer_follows_the_buckets(const Watched& run) {
  double last = 0;
  for (const auto& bucket : run.replay.buckets) last = std::max(last, bucket.end_s);
  bool after_backward = false;  // zeroing gradients at the start of a step counts as optimizer too
  for (const auto& span : spans_of(run, Lane::Compute)) {
    after_backward |= span.cause == Cause::Backward;
    if (after_backward && span.cause == Cause::Optimizer && span.start_s < last - 1e-12)
      return fmt::format("`{}` starts at {} s, the last bucket ends at {} s", span.name, span.start_s, last);
  }
  return "";
}

std::string reduce_follows_backward(const StepGraph& graph, const StepRecord& record, int step) {
  const StepProgram& program = graph.program(step);
  const MeetingTable table(program, graph.simulated_ranks());
  const double zero = step == 0 ? 0 : record.steps[static_cast<std::size_t>(step) - 1].end;
  std::vector<double> reduces;
  for (int m = 0; m < static_cast<int>(program.meetings.size()); ++m)
    if (program.meetings[static_cast<std::size_t>(m)].cause == Cause::GradientReduce)
      reduces.push_back(record.steps[static_cast<std::size_t>(step)].meetings[table.index(m, 0)].start - zero);
  if (static_cast<int>(reduces.size()) != program.micro_steps)
    return fmt::format("{} reductions in {} micro-steps", reduces.size(), program.micro_steps);
  for (int rank = 0; rank < graph.simulated_ranks(); ++rank) {
    const Watched run = watch(graph, record, rank, step);
    double last = 0;
    for (const auto& span : spans_of(run, Lane::Compute))
      if (span.cause == Cause::Backward) last = std::max(last, span.end_s);
    if (last <= 0) return fmt::format("rank {} has no backward pass", rank);
    if (reduces.back() < last - 1e-12)
      return fmt::format("reduce starts at {} s, rank {} computes until {} s", reduces.back(), rank, last);
  }
  return "";
}

namespace {

struct LaunchRecorder {
  std::vector<Launch> launches;
  void kernel(const Item&, double, double host_until, double, double start, double, double) {
    launches.push_back({host_until, start});
  }
  void host(const Item&, double, double) {}
  void stream_waits(const Item&, double, double) {}
};
struct NoMeetings {
  double end_of(int, int) const { return kUnknownTime; }
  double factor(int) const { return 1; }
};

}  // namespace

std::vector<Launch> launches_of(const StepGraph& graph, int steps, bool forgets) {
  LaunchRecorder recorder;
  Cursor cursor;
  LaunchQueue queue;
  for (int step = 0; step < steps; ++step) {
    if (forgets) queue = {};
    walk(graph, 0, cursor, {}, queue, NoMeetings{}, recorder);
    next_step(cursor);
  }
  return recorder.launches;
}

std::string host_is_at_most_the_queue_ahead(const std::vector<Launch>& launches) {
  for (std::size_t i = kQueueDepth; i < launches.size(); ++i) {
    const std::size_t checked = i - i % kQueueCheck - kQueueDepth;
    if (launches[i].launched < launches[checked].started - 1e-12)
      return fmt::format("launch {} at {} s, launch {} started at {} s", i, launches[i].launched, checked,
                         launches[checked].started);
  }
  return "";
}

}  // namespace lockstep::testing
