#include "hwrunner/measure/bench.h"

#include <fmt/format.h>

#include <algorithm>

#include "hwrunner/crew/world.h"
#include "hwrunner/launch/pinning.h"
#include "simulator/base/format.h"

namespace lockstep {
namespace {

// Slower than any link here: a collective of the largest message on it is no failure yet.
constexpr double kSlowestLink = 1e7;
// What a rank may hold of the memory that is free, with every message in flight and Gloo's scratch.
constexpr double kBenchMemoryShare = 0.5, kCopiesOfAMessage = 3;

std::vector<const BenchRecord*> points_of(const RankLog& rank) {
  std::vector<const BenchRecord*> found;
  for (const Record& record : rank.records)
    if (const auto* one = std::get_if<BenchRecord>(&record)) found.push_back(one);
  return found;
}

class Bencher {
 public:
  Bencher(const Inputs& inputs, const MeasureRequest& request, BenchPlan plan)
      : inputs_(inputs), request_(request), plan_(plan) {
    result_.backend = request.backend;
    result_.scenario_yaml = scenario_yaml(inputs.read);
    result_.notes = request.notes;
  }

  BenchResult run() {
    const std::vector<int> numbers = numbers_of_ranks();
    if (numbers.empty())
      result_.notes.emplace_back("collectives need two ranks: the scenario's `gpus` has none above 1");
    plan_.budget_s /= static_cast<double>(std::max<std::size_t>(numbers.size(), 1));
    const BenchPlan asked = plan_;
    for (std::size_t i = 0; i < numbers.size() && !stopped(); ++i) {
      plan_ = asked;
      spare_memory(numbers[i]);
      launch_with(numbers[i], static_cast<int>(i), static_cast<int>(numbers.size()));
    }
    result_.plan = plan_;
    result_.machine.merge(fingerprint(request_.machine));
    for (const auto& [name, version] : request_.runner.software) result_.software.emplace(name, version);
    result_.interrupted = result_.interrupted || stopped();
    if (result_.interrupted && !result_.partial) result_.partial = "interrupted";
    return std::move(result_);
  }

 private:
  const Scenario& scenario() const { return inputs_.scenario(); }
  bool stopped() const { return request_.stop != nullptr && *request_.stop != 0; }

  std::vector<int> numbers_of_ranks() {
    if (plan_.kind != BenchKind::Collectives) return {1};
    std::vector<int> numbers;
    for (const int ranks : scenario().gpus) {
      if (ranks < 2) continue;
      if (const auto why = why_not(ranks))
        result_.notes.push_back(fmt::format("{} ranks: not run: {}", ranks, *why));
      else
        numbers.push_back(ranks);
    }
    return numbers;
  }

  std::optional<std::string> why_not(int ranks) const {
    if (request_.nodes_here) return std::nullopt;  // on links that are slower than its cores they need not be one each
    if (!request_.on_gpus) return too_many_ranks(request_.machine, ranks, scenario().measure.threads_per_rank);
    const int there = static_cast<int>(request_.runner.devices.size());
    const bool shared = request_.backend == Backend::Gloo && there > 0;  // Gloo's ranks may share a GPU
    if (ranks > there && !shared) return fmt::format("this machine has {} GPU{}", there, there == 1 ? "" : "s");
    return std::nullopt;
  }

  void spare_memory(int ranks) {
    if (request_.machine.available_bytes == 0) return;
    const double room = kBenchMemoryShare * static_cast<double>(request_.machine.available_bytes) /
                        (ranks * kCopiesOfAMessage * std::min(2, scenario().measure.gloo_threads));
    if (static_cast<double>(plan_.max_bytes) <= room) return;
    plan_.max_bytes = std::max(plan_.min_bytes, static_cast<std::int64_t>(room));
    result_.notes.push_back(fmt::format("sizes end at {}: the memory of this machine holds no more for {} rank{}",
                                        format_bytes(static_cast<double>(plan_.max_bytes)), ranks,
                                        ranks == 1 ? "" : "s"));
  }

  RunPlan run_plan(int ranks) const {
    RunPlan run;
    run.strategy = ranks > 1 ? Strategy::Ddp : Strategy::Single;
    run.world_size = ranks;
    run.threads_per_rank = scenario().measure.threads_per_rank;
    run.backend = request_.backend;
    run.on_gpus = request_.on_gpus;
    run.bench = plan_;
    const double transfer_s = static_cast<double>(plan_.max_bytes) / kSlowestLink;
    run.timeouts = timeouts_for(scenario().measure.timeout_s + transfer_s, 0, 0);
    run.timeouts.silence_s += plan_.budget_s + 2 * transfer_s;
    run.scenario = result_.scenario_yaml;
    run.scenario_file = scenario().file;
    return run;
  }

  void launch_with(int ranks, int done, int total) {
    const RunPlan run = run_plan(ranks);
    const std::string what = fmt::format("{} on {} rank{}", name_of(plan_.kind), ranks, ranks == 1 ? "" : "s");
    if (request_.progress) request_.progress(done, total, what);
    LaunchOptions options;
    options.program = request_.runner.program;
    options.words = request_.runner.words;
    options.stop = request_.stop;
    if (!request_.on_gpus)
      options.cores = request_.world != nullptr ? request_.world->cores_for(ranks, run.threads_per_rank)
                                                : cores_for(ranks, run.threads_per_rank, request_.machine.allowed);
    options.on_record = [&](int rank, const Record& record) {
      const auto* point = std::get_if<BenchRecord>(&record);
      if (point == nullptr || rank != 0 || !request_.progress) return;
      request_.progress(done, total,
                        fmt::format("{}: {} {}", what, point->what, format_bytes(static_cast<double>(point->bytes))));
    };
    const CpuCounters before = cpu_counters();
    const LaunchOutcome outcome = request_.launch(run, options);
    note_the_load(run, before, outcome);
    for (BenchRow& row : bench_rows(outcome.ranks, plan_.kind)) result_.rows.push_back(std::move(row));
    describe(outcome);
    if (outcome.failure) {
      const std::string hint = outcome.failure->hint.empty() ? "" : fmt::format(" ({})", outcome.failure->hint);
      const std::string sentence = outcome.failure->sentence + hint;
      result_.partial = result_.partial ? *result_.partial + "; " + sentence : sentence;
    }
    result_.interrupted = result_.interrupted || outcome.interrupted;
  }

  void note_the_load(const RunPlan& run, const CpuCounters& before, const LaunchOutcome& outcome) {
    LaunchLoad load;
    load.before = before;
    load.after = cpu_counters();
    load.wall_s = outcome.wall_s;
    for (const RankLog& rank : outcome.ranks) load.own_cpu_s += rank.cpu_s;
    load.threads = run.world_size * run.threads_per_rank;
    for (std::string& one : disturbances(request_.machine, load)) result_.notes.push_back(std::move(one));
  }

  void describe(const LaunchOutcome& outcome) {
    for (const RankLog& rank : outcome.ranks)
      for (const Record& record : rank.records)
        if (const auto* hello = std::get_if<HelloRecord>(&record)) {
          for (const auto& [name, version] : hello->software) result_.software[name] = version;
          for (const auto& [key, value] : interface_facts(hello->network_interface)) result_.machine[key] = value;
        }
  }

  const Inputs& inputs_;
  const MeasureRequest& request_;
  BenchPlan plan_;
  BenchResult result_;
};

}  // namespace

double bus_factor(const std::string& collective, int ranks) {
  return collective == "all_reduce" ? 2.0 * (ranks - 1) / ranks : 1;
}

std::vector<BenchRow> bench_rows(const std::vector<RankLog>& ranks, BenchKind kind) {
  std::vector<std::vector<const BenchRecord*>> points;
  std::size_t common = ranks.empty() ? 0 : points_of(ranks.front()).size();
  for (const RankLog& rank : ranks) {
    points.push_back(points_of(rank));
    common = std::min(common, points.back().size());
  }
  std::vector<BenchRow> rows;
  for (std::size_t i = 0; i < common; ++i) {
    BenchRow row;
    row.ranks = static_cast<int>(ranks.size());
    row.point = *points.front()[i];
    row.point.time_s = 0;
    row.point.wrong = 0;
    for (const auto& mine : points) {
      row.point.time_s += mine[i]->time_s / row.ranks;
      row.slowest_s = std::max(row.slowest_s, mine[i]->time_s);
      row.point.wrong += mine[i]->wrong;
    }
    const double bytes = kind == BenchKind::Ops ? row.point.moved_bytes : static_cast<double>(row.point.bytes);
    if (row.point.time_s > 0) row.algbw = bytes / row.point.time_s;
    if (kind == BenchKind::Collectives) row.busbw = row.algbw * bus_factor(row.point.what, row.ranks);
    rows.push_back(std::move(row));
  }
  return rows;
}

BenchResult bench(const Inputs& inputs, const MeasureRequest& request, BenchPlan plan) {
  return Bencher(inputs, request, plan).run();
}

}  // namespace lockstep
