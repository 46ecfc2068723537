#include "gui/timeline/timeline_model.h"

#include <QCoreApplication>
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <unordered_map>

#include "gui/app/theme.h"
#include "simulator/base/format.h"

namespace lockstep::gui {
namespace {

constexpr double kSameStep = 0.005;  // share of a step

QString tr(const char* text) {
  return QCoreApplication::translate("lockstep::gui::Timeline", text);
}

TimelineLane::Kind kind_of(Lane lane) {
  switch (lane) {
    case Lane::Cpu:
      return TimelineLane::Kind::Cpu;
    case Lane::Compute:
      return TimelineLane::Kind::Compute;
    case Lane::Copy:
      return TimelineLane::Kind::Copy;
    case Lane::Communication:
      break;
  }
  return TimelineLane::Kind::Communication;
}

QString ranks_text(const std::string& ranks) {
  const auto dash = ranks.find('-');
  if (dash == std::string::npos)
    return tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "rank %1")).arg(QString::fromStdString(ranks));
  return tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "ranks %1 to %2"))
      .arg(QString::fromStdString(ranks.substr(0, dash)), QString::fromStdString(ranks.substr(dash + 1)));
}

class Builder {
 public:
  explicit Builder(Devices devices) { out_.devices = devices; }
  Timeline take() {
    out_.from_s = std::min(0.0, from_s_);
    out_.to_s = to_s_;
    for (const TimelineGroup& group : out_.groups) {
      out_.step_s = std::max(out_.step_s, group.step_s);
      out_.to_s = std::max(out_.to_s, group.step_s);
      for (const TimelineLane& lane : group.lanes) out_.spans += lane.spans.size();
    }
    return std::move(out_);
  }

  void add_spans(const Run& run, const std::string& ranks, const std::vector<Span>& spans, TimelineOrigin origin,
                 bool estimated) {
    TimelineGroup group = group_of(run, origin);
    group.spans_estimated = estimated;
    group.ranks = ranks_text(ranks);
    group.folded = ranks_in(ranks);
    std::from_chars(ranks.data(), ranks.data() + ranks.size(), group.first_rank);
    std::array<std::vector<LaneSpan>, 4> lanes;
    for (const Span& span : spans) {
      const int bucket = span.lane == Lane::Communication ? bucket_of_span(span, run.buckets) : -1;
      lanes[static_cast<std::size_t>(span.lane)].push_back(
          seen(span.start_s, span.end_s, span.bytes, span.name, bucket, span.cause));
    }
    double end_s = 0;
    for (const Span& span : run.timeline)
      if (span.lane == Lane::Compute && origin == TimelineOrigin::Predicted) end_s = std::max(end_s, span.end_s);
    if (end_s > 0 && std::abs(end_s - run.step_time_s) > kSameStep * run.step_time_s) group.spans_step_s = end_s;
    for (const Lane lane : {Lane::Cpu, Lane::Compute, Lane::Copy, Lane::Communication})
      add_lane(group, kind_of(lane), std::move(lanes[static_cast<std::size_t>(lane)]));
    out_.groups.push_back(std::move(group));
  }

  void add_measured(const Run& run, TimelineOrigin origin) {
    TimelineGroup group = group_of(run, origin);
    group.folded = run.gpus;
    group.ranks = ranks_text(run.gpus > 1 ? "0-" + std::to_string(run.gpus - 1) : "0");
    std::vector<LaneSpan> parts, buckets;
    double at = 0;
    for (const Cause cause : kCauses) {
      const double seconds = run.part_s(cause);
      if (seconds <= 0) continue;
      parts.push_back(seen(at, at + seconds, 0, name_of(cause), -1, cause));
      at += seconds;
    }
    for (const BucketTimes& bucket : run.buckets)
      buckets.push_back(seen(bucket.start_s, bucket.end_s, bucket.bytes,
                             "all-reduce bucket " + std::to_string(bucket.index), bucket.index,
                             Cause::ExposedCommunication));
    add_lane(group, TimelineLane::Kind::Phases, std::move(parts));
    add_lane(group, TimelineLane::Kind::Communication, std::move(buckets));
    if (group.lanes.empty()) return;
    const auto twin = std::find_if(out_.groups.begin(), out_.groups.end(), [&](const TimelineGroup& other) {
      return other.origin == TimelineOrigin::Predicted && other.strategy == group.strategy && other.gpus == group.gpus;
    });
    place_beside(std::move(group), twin - out_.groups.begin());
  }

  void add_pinned(const Run& run) {
    add_spans(run, run.timeline_ranks, run.timeline, TimelineOrigin::Pinned, false);
    TimelineGroup group = std::move(out_.groups.back());
    out_.groups.pop_back();
    const auto twin = std::find_if(out_.groups.begin(), out_.groups.end(), [&](const TimelineGroup& other) {
      return other.origin == TimelineOrigin::Predicted && other.strategy == group.strategy;
    });
    place_beside(std::move(group), twin - out_.groups.begin());
  }

  // All ranks of it; a trace without marked steps is longer than a step, and is not held against one.
  void add_traced(const TracedRun& traced) {
    const TimelineOrigin origin = traced.predicted ? TimelineOrigin::Stored : TimelineOrigin::Measured;
    const std::size_t before = out_.groups.size();
    add_spans(traced.run, traced.run.timeline_ranks, traced.run.timeline, origin, false);
    for (std::size_t i = 0; i < traced.run.other_timelines.size(); ++i) {
      const RankTimeline& other = traced.run.other_timelines[i];
      add_spans(traced.run, other.ranks, other.spans, origin, false);
      out_.groups.back().step_s = traced.other_steps_s[i];
    }
    std::vector<TimelineGroup> groups(
        std::make_move_iterator(out_.groups.begin() + static_cast<std::ptrdiff_t>(before)),
        std::make_move_iterator(out_.groups.end()));
    out_.groups.resize(before);
    std::stable_sort(groups.begin(), groups.end(),
                     [](const TimelineGroup& a, const TimelineGroup& b) { return a.first_rank < b.first_rank; });
    for (TimelineGroup& group : groups) {
      if (traced.step)
        group.note = tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "step %1 of its trace")).arg(*traced.step);
      else if (traced.beginning)
        group.note = tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "the beginning of its trace: no step is marked"));
      else if (!traced.predicted)
        group.note = tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "all of its trace: no step is marked"));
      const auto twin = std::find_if(out_.groups.begin(), out_.groups.end(), [&](const TimelineGroup& other) {
        return other.origin == TimelineOrigin::Predicted && other.strategy == group.strategy &&
               other.gpus == group.gpus;
      });
      place_beside(std::move(group), twin - out_.groups.begin(), traced.step || traced.predicted);
    }
  }

 private:
  TimelineGroup group_of(const Run& run, TimelineOrigin origin) const {
    TimelineGroup group;
    group.origin = origin;
    group.strategy = run.strategy;
    group.gpus = run.gpus;
    group.step_s = run.step_time_s;
    group.parts_s = run.breakdown_s;
    group.buckets = run.buckets;
    group.title = run_name(run, out_.devices);
    return group;
  }

  // Below the last group that belongs to `twin`, or at the end.
  void place_beside(TimelineGroup group, std::ptrdiff_t twin, bool comparable = true) {
    auto& groups = out_.groups;
    if (twin >= static_cast<std::ptrdiff_t>(groups.size())) {
      groups.push_back(std::move(group));
      return;
    }
    group.beside = comparable ? static_cast<int>(twin) : -1;
    const TimelineGroup& first = groups[static_cast<std::size_t>(twin)];
    auto at = groups.begin() + twin;
    while (at != groups.end() && at->strategy == first.strategy && at->gpus == first.gpus) ++at;
    const int index = static_cast<int>(at - groups.begin());
    groups.insert(at, std::move(group));
    for (std::size_t i = 0; i < groups.size(); ++i)
      if (groups[i].beside >= index) ++groups[i].beside;
  }

  LaneSpan seen(double start_s, double end_s, std::int64_t bytes, const std::string& name, int bucket, Cause cause) {
    from_s_ = std::min(from_s_, start_s);
    to_s_ = std::max(to_s_, end_s);
    const auto [at, is_new] = index_.try_emplace(name, static_cast<std::int32_t>(out_.names.size()));
    if (is_new) out_.names.push_back(name);
    return {start_s, end_s, bytes, at->second, bucket, cause};
  }

  static void add_lane(TimelineGroup& group, TimelineLane::Kind kind, std::vector<LaneSpan> spans) {
    int row = 0;
    for (auto& one : in_rows(std::move(spans))) group.lanes.push_back({kind, row++, std::move(one)});
  }

  Timeline out_;
  std::unordered_map<std::string, std::int32_t> index_;
  double from_s_ = 0, to_s_ = 0;
};

}  // namespace

int ranks_in(const std::string& ranks) {
  const auto number = [](const char* from, const char* to) {
    int value = 0;
    std::from_chars(from, to, value);
    return value;
  };
  const auto dash = ranks.find('-');
  const char* text = ranks.data();
  if (dash == std::string::npos) return 1;
  return number(text + dash + 1, text + ranks.size()) - number(text, text + dash) + 1;
}

int bucket_of_span(const Span& span, const std::vector<BucketTimes>& buckets) {
  for (const BucketTimes& bucket : buckets)
    if (bucket.bytes == span.bytes && std::abs(bucket.end_s - span.end_s) < 1e-9) return bucket.index;
  return -1;
}

QString bucket_words(const LaneSpan& span, Devices devices) {
  if (span.bytes <= 0) return cause_name_in(TimelineLane::Kind::Communication, span.cause, devices);
  return tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "bucket %1, %2"))
      .arg(span.bucket)
      .arg(QString::fromStdString(format_bytes(static_cast<double>(span.bytes))));
}

QString lane_name(TimelineLane::Kind kind, Devices devices) {
  switch (kind) {
    case TimelineLane::Kind::Cpu:
      return devices == Devices::Cores ? tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "starting ops"))
                                       : tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "CPU launch"));
    case TimelineLane::Kind::Compute:
      return devices == Devices::Cores ? tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "compute"))
                                       : tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "GPU compute"));
    case TimelineLane::Kind::Copy:
      return tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "copies"));
    case TimelineLane::Kind::Communication:
      return tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "collectives"));
    case TimelineLane::Kind::Phases:
      break;
  }
  return tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "parts of the step"));
}

QString cause_name_in(TimelineLane::Kind kind, Cause cause, Devices devices) {
  if (kind == TimelineLane::Kind::Cpu && cause == Cause::HostBound)
    return devices == Devices::Cores ? tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "starts of ops"))
                                     : tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "kernel launches"));
  if (kind == TimelineLane::Kind::Communication && cause == Cause::ExposedCommunication)
    return tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "all-reduce"));
  return cause_name(cause, devices);
}

QColor span_colour(TimelineLane::Kind kind, Cause cause) {
  const Lane lane = kind == TimelineLane::Kind::Cpu             ? Lane::Cpu
                    : kind == TimelineLane::Kind::Communication ? Lane::Communication
                                                                : Lane::Compute;
  return theme().span(lane, cause);
}

bool in_focus(const Focus& focus, TimelineLane::Kind kind, Cause cause) {
  const bool collective = kind == TimelineLane::Kind::Communication, copy = kind == TimelineLane::Kind::Copy;
  if ((focus.collectives && collective) || (focus.copies && copy)) return true;
  if (!focus.cause) return false;
  switch (*focus.cause) {
    case Cause::ExposedCommunication:
    case Cause::WaitForPeers:
    case Cause::Contention:
      return collective && cause != Cause::BufferBroadcast;
    case Cause::HostBound:
      return kind == TimelineLane::Kind::Cpu;
    default:
      return cause == *focus.cause;
  }
}

bool in_focus(const Focus& focus, const TimelineGroup& group, bool any_gpus) {
  return focus.strategy == group.strategy && (any_gpus || focus.gpus == group.gpus);
}

namespace {

// Of traces alone, whether they have work of a GPU.
Devices devices_in(const Shown& shown) {
  if (shown.topology || shown.result || !shown.measured.empty() || shown.traces.empty()) return devices_of(shown);
  const auto has_gpu = [](const std::shared_ptr<const TraceFile>& file) {
    return file->predicted ||
           std::any_of(file->ranks.begin(), file->ranks.end(), [](const TracedRank& rank) { return rank.device >= 0; });
  };
  return std::any_of(shown.traces.begin(), shown.traces.end(), has_gpu) ? Devices::Gpus : Devices::Cores;
}

}  // namespace

Timeline timeline_of(const Shown& shown, const std::vector<TracedRun>& traced) {
  Builder builder(devices_in(shown));
  if (shown.result)
    for (const Run* run : runs_of(*shown.result)) {
      if (run->timeline.empty()) continue;
      builder.add_spans(*run, run->timeline_ranks, run->timeline, TimelineOrigin::Predicted, shown.spans_estimated);
      for (const RankTimeline& other : run->other_timelines)
        builder.add_spans(*run, other.ranks, other.spans, TimelineOrigin::Predicted, shown.spans_estimated);
    }
  if (shown.baseline && shown.baseline != shown.result)
    for (const Run* run : runs_of(*shown.baseline))
      if (!run->timeline.empty()) builder.add_pinned(*run);
  for (const MeasuredResult& one : shown.measured)
    for (const Run* run : runs_of(*one.result))
      builder.add_measured(*run, one.result->kind == "measured" ? TimelineOrigin::Measured : TimelineOrigin::Stored);
  for (const TracedRun& one : traced) builder.add_traced(one);
  return builder.take();
}

}  // namespace lockstep::gui
