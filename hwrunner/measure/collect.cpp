#include "hwrunner/measure/collect.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "hwrunner/measure/statistics.h"
#include "simulator/base/format.h"

namespace lockstep {
namespace {

template <class T>
std::vector<const T*> records_of(const RankLog& rank) {
  std::vector<const T*> found;
  for (const Record& record : rank.records)
    if (const T* one = std::get_if<T>(&record)) found.push_back(one);
  return found;
}

template <class T>
const T* first_record(const RankLog& rank) {
  for (const Record& record : rank.records)
    if (const T* one = std::get_if<T>(&record)) return one;
  return nullptr;
}

const RankStepRecord* step_record(const RankLog& rank, int step) {
  for (const RankStepRecord* one : records_of<RankStepRecord>(rank))
    if (one->step == step) return one;
  return nullptr;
}

// A bucket of one step over all ranks, on the clock of the records.
struct Collective {
  int index = 0;
  std::int64_t bytes = 0;
  double ready_s = 0, launch_s = 0, end_s = 0;  // on the critical rank
  double start_s = 0;                           // the last rank's launch
};

// `one_at_a_time`: a collective starts when the one before it has ended.
std::vector<Collective> collectives_of(const std::vector<RankLog>& ranks, int step, std::size_t critical,
                                       bool one_at_a_time) {
  std::vector<Collective> found;
  for (const BucketRecord* one : records_of<BucketRecord>(ranks[critical]))
    if (one->step == step)
      found.push_back({one->index, one->bytes, one->ready_s, one->launch_s, one->end_s, one->launch_s});
  for (const RankLog& rank : ranks)
    for (const BucketRecord* one : records_of<BucketRecord>(rank))
      for (Collective& mine : found)
        if (one->step == step && one->index == mine.index) mine.start_s = std::max(mine.start_s, one->launch_s);
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.launch_s < b.launch_s; });
  if (one_at_a_time)
    for (std::size_t i = 1; i < found.size(); ++i) found[i].start_s = std::max(found[i].start_s, found[i - 1].end_s);
  // Of two clocks' noise: no collective ends before it starts.
  for (Collective& mine : found) mine.start_s = std::min(mine.start_s, mine.end_s);
  return found;
}

// Seconds of [from, to] that lie within any [start, end].
double covered_s(const std::vector<Collective>& sorted, double from, double to) {
  std::vector<std::pair<double, double>> intervals;
  for (const Collective& one : sorted)
    if (one.end_s > from && one.start_s < to)
      intervals.emplace_back(std::max(one.start_s, from), std::min(one.end_s, to));
  std::sort(intervals.begin(), intervals.end());
  double covered = 0, until = from;
  for (const auto& [start, end] : intervals) {
    covered += std::max(0.0, end - std::max(start, until));
    until = std::max(until, end);
  }
  return covered;
}

class Collector {
 public:
  Collector(const Launches& launches, const std::string& unit) : launches_(launches), plan_(launches.plan) {
    run_.strategy = plan_.strategy;
    run_.world_size = run_.gpus = plan_.world_size;
    run_.processes = plan_.processes();
    run_.throughput_unit = unit;
  }

  Run take() {
    samples();
    identity();
    if (run_.samples.empty()) {
      Run empty = std::move(run_);
      empty.throughput_unit.clear();
      empty.not_run = failure().value_or("no step was measured");
      return empty;
    }
    times();
    instrumented();
    profile();
    ranks();
    doubts();
    return std::move(run_);
  }

 private:
  std::optional<std::string> failure() const {
    for (const LaunchOutcome& one : launches_.plain)
      if (one.failure) return one.failure->sentence;
    return std::nullopt;
  }

  void samples() {
    for (std::size_t i = 0; i < launches_.plain.size(); ++i) {
      MeasuredTimes times = step_times_of(plan_, launches_.plain[i].ranks);
      if (run_.warm_up_step_times_s.empty()) run_.warm_up_step_times_s = std::move(times.warm_up_s);
      if (!times.steady_s.empty()) run_.samples.push_back({launches_.repeats[i], std::move(times.steady_s)});
    }
  }

  void identity() {
    for (const LaunchOutcome& one : launches_.plain)
      for (const RankLog& rank : one.ranks)
        if (const HelloRecord* hello = first_record<HelloRecord>(rank)) run_.implementation = hello->implementation;
  }

  void times() {
    run_.per_gpu_batch = plan_.per_gpu_batch;
    run_.micro_steps = plan_.micro_steps;
    run_.global_batch = plan_.per_gpu_batch * run_.gpus * plan_.micro_steps;
    run_.spread = spread_of(run_.samples);
    run_.step_time_s = run_.spread->p50;
    run_.throughput = static_cast<double>(run_.global_batch) / run_.step_time_s;
  }

  // The instrumented step that took the median time, and the rank that ended it. That rank may have begun it before the
  // others did: its own start and time are what its parts add up to.
  struct Shown {
    int step = 0;
    std::size_t critical = 0;
    double start_s = 0, time_s = 0;  // of that rank
    double median_s = 0;             // of all ranks
  };
  std::optional<Shown> shown() const {
    if (!launches_.instrumented) return std::nullopt;
    const auto& logs = launches_.instrumented->ranks;
    const MeasuredTimes times = step_times_of(plan_, logs);
    if (times.steady_s.empty()) return std::nullopt;
    Shown shown;
    shown.median_s = lower_median(times.steady_s);
    const auto at = std::find(times.steady_s.begin(), times.steady_s.end(), shown.median_s) - times.steady_s.begin();
    shown.step = plan_.warm_up + static_cast<int>(at);
    for (std::size_t i = 0; i < logs.size(); ++i)
      if (step_record(logs[i], shown.step)->end_s > step_record(logs[shown.critical], shown.step)->end_s)
        shown.critical = i;
    const RankLog& critical = logs[shown.critical];
    shown.start_s =
        shown.step > 0 ? step_record(critical, shown.step - 1)->end_s : first_record<StartRecord>(critical)->at_s;
    shown.time_s = step_record(critical, shown.step)->end_s - shown.start_s;
    return shown;
  }

  void instrumented() {
    const auto step = shown();
    if (!step) {
      if (launches_.instrumented && launches_.instrumented->failure)
        run_.notes.push_back("no breakdown: " + launches_.instrumented->failure->sentence);
      return;
    }
    const auto& logs = launches_.instrumented->ranks;
    const auto collectives = collectives_of(logs, step->step, step->critical, plan_.paced());
    breakdown(*step_record(logs[step->critical], step->step), *step, collectives);
    buckets(collectives, *step);
    if (plan_.strategy == Strategy::Ddp) ddp_log(logs.front());
    run_.notes.push_back(fmt::format("breakdown and buckets are of a pass with marks, whose steps take {:+.1f} % ({})",
                                     (step->median_s / run_.step_time_s - 1) * 100, format_time(step->median_s)));
  }

  void ddp_log(const RankLog& rank) {
    const FactsRecord* facts = first_record<FactsRecord>(rank);
    if (facts == nullptr) return;
    for (const auto& [name, value] : facts->logging)
      if (name != kPacedLate && name.rfind("gpu_", 0) != 0) run_.ddp_logging_data[name] = value;
  }

  void breakdown(const RankStepRecord& record, const Shown& step, const std::vector<Collective>& collectives) {
    auto& parts = run_.breakdown_s;
    const auto part = [&parts](Cause cause) -> double& { return parts[static_cast<std::size_t>(cause)]; };
    double sum = 0;
    for (const auto& [name, seconds] : record.parts) {
      part(cause_of(name).value_or(Cause::Other)) += seconds;
      sum += seconds;
    }
    if (record.parts.empty()) return;
    part(Cause::Other) += step.time_s - sum;
    if (record.idle_from_s && record.idle_to_s && plan_.world_size > 1) {
      double& exposed = part(Cause::ExposedCommunication);
      const double under_way = std::min(exposed, covered_s(collectives, *record.idle_from_s, *record.idle_to_s));
      part(Cause::WaitForPeers) += exposed - under_way;
      exposed = under_way;
    }
    double transfer_s = 0;
    for (const Collective& one : collectives) transfer_s += one.end_s - one.start_s;
    const double scale = run_.step_time_s / step.time_s;
    for (double& one : parts) one *= scale;
    run_.communication_s = transfer_s * scale;
    const double all_s = covered_s(collectives, step.start_s, step.start_s + step.time_s) * scale;
    run_.hidden_communication_s = std::max(0.0, all_s - part(Cause::ExposedCommunication));
  }

  void buckets(const std::vector<Collective>& collectives, const Shown& step) {
    for (const Collective& one : collectives) {
      BucketTimes bucket;
      bucket.index = one.index;
      bucket.bytes = one.bytes;
      bucket.ready_s = one.ready_s - step.start_s;
      bucket.launch_s = one.launch_s - step.start_s;
      bucket.start_s = one.start_s - step.start_s;
      bucket.end_s = one.end_s - step.start_s;
      bucket.wait_s = one.start_s - one.launch_s;
      bucket.transfer_s = one.end_s - one.start_s;
      run_.buckets.push_back(std::move(bucket));
    }
  }

  void profile() {
    if (!launches_.profiled) return;
    if (launches_.profiled->failure) {
      run_.notes.push_back("no profile: " + launches_.profiled->failure->sentence);
      return;
    }
    const auto& logs = launches_.profiled->ranks;
    const std::vector<double> steps = step_times_of(plan_, logs).steady_s;
    const RankLog* slowest = nullptr;
    for (const RankLog& log : logs)
      if (slowest == nullptr || own_step_s(log) > own_step_s(*slowest)) slowest = &log;
    const FactsRecord* facts = slowest == nullptr ? nullptr : first_record<FactsRecord>(*slowest);
    if (facts == nullptr || steps.empty()) return;
    for (const auto& [name, passes] : facts->profile) {
      OpClassTimes times;
      times.op_class = name;
      const auto of = [&passes = passes](const char* pass) { return passes.count(pass) > 0 ? passes.at(pass) : 0; };
      times.forward_s = of("forward");
      times.backward_s = of("backward");
      times.step_s = of("step");
      run_.profile.push_back(std::move(times));
    }
    const auto total = [](const OpClassTimes& one) { return one.forward_s + one.backward_s + one.step_s; };
    std::stable_sort(run_.profile.begin(), run_.profile.end(),
                     [&](const OpClassTimes& a, const OpClassTimes& b) { return total(a) > total(b); });
    const double median_s = lower_median(steps);
    run_.notes.push_back(fmt::format("the profile is of a pass of its own, whose steps take {:+.1f} % ({})",
                                     (median_s / run_.step_time_s - 1) * 100, format_time(median_s)));
  }

  // Of the last repeat: one entry a rank, and how busy all of them kept the cores they had.
  void ranks() {
    const LaunchOutcome* last = nullptr;
    for (const LaunchOutcome& one : launches_.plain)
      if (!step_times_of(plan_, one.ranks).steady_s.empty()) last = &one;
    double cpu_s = 0, wall_s = 0;
    for (std::size_t i = 0; i < last->ranks.size(); ++i) {
      const RankLog& log = last->ranks[i];
      const HelloRecord* hello = first_record<HelloRecord>(log);
      const FactsRecord* facts = first_record<FactsRecord>(log);
      RankStats stats;
      stats.ranks = fmt::format("{}", i);
      stats.host = hello != nullptr ? hello->host : "";
      stats.step_time_s = own_step_s(log);
      if (facts != nullptr && facts->peak_memory_bytes > 0) stats.memory_allocated_bytes = facts->peak_memory_bytes;
      if (log.peak_memory_bytes > 0) stats.memory_reserved_bytes = log.peak_memory_bytes;
      double own_cpu_s = 0;
      int steps = 0;
      for (const RankStepRecord* step : records_of<RankStepRecord>(log)) {
        if (step->step < plan_.warm_up) continue;
        own_cpu_s += step->cpu_s;
        ++steps;
      }
      if (own_cpu_s > 0) stats.cpu_time_s = own_cpu_s / steps;
      cpu_s += own_cpu_s;
      run_.ranks.push_back(std::move(stats));
    }
    for (const double step : step_times_of(plan_, last->ranks).steady_s) wall_s += step;
    const double cores = static_cast<double>(plan_.world_size) * plan_.threads_per_rank;
    if (cpu_s > 0) run_.cpu_utilization = cpu_s / (wall_s * cores);
  }

  // Median of the differences of a rank's own ends.
  double own_step_s(const RankLog& log) const {
    std::vector<double> times;
    double before = 0;
    for (const RankStepRecord* step : records_of<RankStepRecord>(log)) {
      if (step->step >= std::max(plan_.warm_up, 1)) times.push_back(step->end_s - before);
      before = step->end_s;
    }
    return times.empty() ? run_.step_time_s : lower_median(std::move(times));
  }

  void doubts() {
    if (plan_.paced()) lateness();
    for (std::string& one : doubts_about(run_.samples)) run_.notes.push_back(std::move(one));
    for (const LaunchOutcome& one : launches_.plain) {
      if (one.failure) run_.notes.push_back("partial: " + one.failure->sentence);
      if (one.interrupted) run_.notes.push_back("partial: interrupted");
      for (const RankLog& rank : one.ranks)
        for (const NoteRecord* note : records_of<NoteRecord>(rank))
          if (std::find(run_.notes.begin(), run_.notes.end(), note->text) == run_.notes.end())
            run_.notes.push_back(note->text);
    }
  }

  // By how much CPUs that were to only wait came too late.
  void lateness() {
    double late_s = 0;
    for (const LaunchOutcome& one : launches_.plain)
      for (const RankLog& rank : one.ranks)
        for (const FactsRecord* facts : records_of<FactsRecord>(rank)) {
          const auto found = facts->logging.find(kPacedLate);
          double seconds = 0;
          if (found == facts->logging.end()) continue;
          std::from_chars(found->second.data(), found->second.data() + found->second.size(), seconds);
          late_s = std::max(late_s, seconds / plan_.dilate);
        }
    run_.notes.push_back(fmt::format(
        "the CPU came up to {} late to a wait ({:.2f} % of a step): more than 1 % asks for a larger --dilate",
        format_time(late_s), 100 * late_s / run_.step_time_s));
  }

  const Launches& launches_;
  const RunPlan& plan_;
  Run run_;
};

}  // namespace

Record in_scenario_time(Record record, double dilate) {
  const auto divide = [dilate](double& seconds) { seconds /= dilate; };
  if (auto* start = std::get_if<StartRecord>(&record)) divide(start->at_s);
  if (auto* bucket = std::get_if<BucketRecord>(&record))
    for (double* one : {&bucket->ready_s, &bucket->launch_s, &bucket->end_s}) divide(*one);
  if (auto* step = std::get_if<RankStepRecord>(&record)) {
    divide(step->end_s);
    divide(step->cpu_s);
    for (auto& [name, seconds] : step->parts) divide(seconds);
    if (step->idle_from_s) divide(*step->idle_from_s);
    if (step->idle_to_s) divide(*step->idle_to_s);
  }
  return record;
}

std::vector<double> step_ends_s(const std::vector<RankLog>& ranks) {
  std::vector<double> ends;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const StartRecord* start = first_record<StartRecord>(ranks[i]);
    if (start == nullptr) return {};
    std::vector<double> mine = {start->at_s};
    for (const RankStepRecord* step : records_of<RankStepRecord>(ranks[i]))
      if (static_cast<std::size_t>(step->step) + 1 == mine.size()) mine.push_back(step->end_s);
    if (i == 0) ends = mine;
    ends.resize(std::min(ends.size(), mine.size()));
    for (std::size_t k = 0; k < ends.size(); ++k) ends[k] = std::max(ends[k], mine[k]);
  }
  return ends;
}

MeasuredTimes step_times_of(const RunPlan& plan, const std::vector<RankLog>& ranks) {
  const std::vector<double> ends = step_ends_s(ranks);
  MeasuredTimes times;
  for (std::size_t i = 1; i < ends.size(); ++i) {
    const bool warm_up = i <= static_cast<std::size_t>(plan.warm_up);
    (warm_up ? times.warm_up_s : times.steady_s).push_back(ends[i] - ends[i - 1]);
  }
  return times;
}

Run collect(const Launches& launches, const std::string& unit) {
  return Collector(launches, unit).take();
}

void compare_with(const Run& single, Run& run) {
  if (single.not_run || run.not_run) return;
  run.baseline = Baseline{single.strategy, single.per_gpu_batch, single.micro_steps, single.step_time_s, true};
  run.speedup = run.throughput / single.throughput;
  run.efficiency = run.speedup / run.gpus;
}

}  // namespace lockstep
