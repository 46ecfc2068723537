#include "simulator/exchange/trace_runs.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <set>

namespace lockstep {
namespace {

struct Named {
  Strategy strategy = Strategy::Single;
  int gpus = 1;
};

std::optional<Strategy> strategy_called(std::string_view name) {
  for (const Strategy one : {Strategy::Single, Strategy::Dp, Strategy::DpCpp, Strategy::Ddp})
    if (name == name_of(one)) return one;
  return std::nullopt;
}

std::optional<Named> named(std::string_view strategy, std::string_view gpus) {
  const auto known = strategy_called(strategy);
  int count = 0;
  const auto [end, error] = std::from_chars(gpus.data(), gpus.data() + gpus.size(), count);
  if (!known || error != std::errc() || count < 1 || count > 1'000'000) return std::nullopt;
  return Named{*known, count};
}

// "t-ddp-2.json" of `lockstep measure --trace`.
std::optional<Named> named_by_file(const std::string& path) {
  std::string name = std::filesystem::path(path).filename().string();
  name = name.substr(0, name.find(".json"));
  const std::size_t gpus = name.rfind('-');
  if (gpus == std::string::npos || gpus == 0) return std::nullopt;
  for (const Strategy one : {Strategy::DpCpp, Strategy::Single, Strategy::Dp, Strategy::Ddp}) {
    const std::string strategy = name_of(one);
    if (name.substr(0, gpus).ends_with("-" + strategy)) return named(strategy, name.substr(gpus + 1));
  }
  return std::nullopt;
}

// "ddp on 8 GPUs: GPU of the critical rank" of `lockstep predict --trace`.
std::optional<Named> named_by_process(const std::string& process) {
  const std::size_t on = process.find(" on ");
  return on == std::string::npos ? std::nullopt : named(process.substr(0, on), process.substr(on + 4));
}

bool communicates(const TraceFile& file) {
  for (const TracedRank& rank : file.ranks)
    for (const Span& span : rank.spans)
      if (span.lane == Lane::Communication) return true;
  return false;
}

Named name_of_trace(const TraceFile& file, int most_ranks) {
  if (const auto by_file = named_by_file(file.file)) return *by_file;
  const int here = static_cast<int>(file.ranks.size());
  if (file.world_size > 1) return {Strategy::Ddp, file.world_size};
  if (here > 1) return {Strategy::Dp, here};
  if (file.world_size == 0 && (most_ranks > 1 || communicates(file))) return {Strategy::Ddp, std::max(2, most_ranks)};
  return {};
}

const TracedStep* chosen(const TracedRank& rank, std::optional<std::int64_t> wanted) {
  if (rank.steps.empty()) return nullptr;
  std::vector<const TracedStep*> by_length;
  for (const TracedStep& step : rank.steps) {
    if (step.number == wanted) return &step;
    by_length.push_back(&step);
  }
  std::sort(by_length.begin(), by_length.end(),
            [](const TracedStep* a, const TracedStep* b) { return a->end_s - a->start_s < b->end_s - b->start_s; });
  return by_length[(by_length.size() - 1) / 2];
}

struct RankSpans {
  int rank = 0;
  double step_s = 0;
  std::optional<std::int64_t> step;
  bool beginning = false;
  std::vector<Span> spans;
};

// What begins in the step: on the CPU in the step of its launches, which runs ahead.
RankSpans spans_of(const TracedRank& rank, std::optional<std::int64_t> wanted, bool all) {
  RankSpans out;
  const TracedStep* step = chosen(rank, wanted);
  double zero = rank.spans.front().start_s;
  if (step != nullptr) {
    zero = step->start_s;
    out.step_s = step->end_s - step->start_s;
    out.step = step->number;
  }
  all |= step == nullptr;
  out.beginning = step == nullptr && rank.spans.size() > kMostWholeSpans;
  const Span& last = out.beginning ? rank.spans[kMostWholeSpans - 1] : rank.spans.back();
  const double from = all ? rank.spans.front().start_s : std::min(step->start_s, step->host_start_s);
  const double to = all ? last.start_s : std::max(step->end_s, step->host_end_s);
  auto at = std::partition_point(rank.spans.begin(), rank.spans.end(), [&](const Span& s) { return s.start_s < from; });
  for (; at != rank.spans.end() && at->start_s <= to; ++at) {
    const bool inside =
        all || (at->lane == Lane::Cpu ? at->start_s >= step->host_start_s && at->start_s < step->host_end_s
                                      : at->start_s >= step->start_s && at->start_s < step->end_s);
    if (!inside) continue;
    out.spans.push_back(*at);
    out.spans.back().start_s -= zero;
    out.spans.back().end_s -= zero;
    if (step == nullptr) out.step_s = std::max(out.step_s, out.spans.back().end_s);
  }
  return out;
}

std::vector<BucketTimes> buckets_of(const std::vector<Span>& spans) {
  std::vector<BucketTimes> buckets;
  for (const Span& span : spans) {
    if (span.lane != Lane::Communication || span.cause == Cause::BufferBroadcast) continue;
    BucketTimes bucket;
    bucket.index = static_cast<int>(buckets.size());
    bucket.bytes = span.bytes;
    bucket.start_s = span.start_s;
    bucket.end_s = span.end_s;
    buckets.push_back(bucket);
  }
  return buckets;
}

TracedRun run_of(const Named& name, std::vector<RankSpans> ranks) {
  TracedRun out;
  out.run.strategy = name.strategy;
  out.run.gpus = out.run.world_size = name.gpus;
  const auto slowest = std::max_element(ranks.begin(), ranks.end(),
                                        [](const RankSpans& a, const RankSpans& b) { return a.step_s < b.step_s; });
  out.run.step_time_s = slowest->step_s;
  out.step = slowest->step;
  out.beginning = slowest->beginning;
  out.run.timeline_ranks = std::to_string(slowest->rank);
  out.run.timeline = std::move(slowest->spans);
  out.run.buckets = buckets_of(out.run.timeline);
  for (RankSpans& rank : ranks) {
    if (&rank == &*slowest) continue;
    out.other_steps_s.push_back(rank.step_s);
    out.run.other_timelines.push_back({std::to_string(rank.rank), std::move(rank.spans)});
  }
  return out;
}

}  // namespace

std::vector<std::int64_t> steps_of(const TraceFiles& files) {
  std::set<std::int64_t> all;
  for (const auto& file : files)
    for (const TracedRank& rank : file->ranks)
      for (const TracedStep& step : rank.steps)
        if (!file->predicted) all.insert(step.number);
  return {all.begin(), all.end()};
}

std::vector<TracedRun> runs_of_traces(const TraceFiles& files, std::optional<std::int64_t> step) {
  std::vector<TracedRun> runs;
  int most_ranks = 0;
  for (const auto& file : files)
    if (file->rank) most_ranks = std::max(most_ranks, *file->rank + 1);
  std::map<std::pair<int, int>, std::map<int, RankSpans>> measured;  // strategy, GPUs -> rank -> its step
  for (const auto& file : files) {
    if (file->predicted) {
      for (const TracedRank& rank : file->ranks) {
        std::vector<RankSpans> alone;
        alone.push_back(spans_of(rank, std::nullopt, true));
        runs.push_back(run_of(named_by_process(rank.process).value_or(Named{}), std::move(alone)));
        runs.back().predicted = true;
        runs.back().step.reset();
      }
      continue;
    }
    const Named name = name_of_trace(*file, most_ranks);
    auto& ranks = measured[{static_cast<int>(name.strategy), name.gpus}];
    for (std::size_t i = 0; i < file->ranks.size(); ++i) {
      const int rank = file->ranks.size() > 1 ? static_cast<int>(i) : file->rank.value_or(0);
      ranks[rank] = spans_of(file->ranks[i], step, false);
      ranks[rank].rank = rank;
    }
  }
  for (auto& [name, by_rank] : measured) {
    std::vector<RankSpans> ranks;
    for (auto& [rank, spans] : by_rank) ranks.push_back(std::move(spans));
    runs.push_back(run_of({static_cast<Strategy>(name.first), name.second}, std::move(ranks)));
  }
  return runs;
}

}  // namespace lockstep
