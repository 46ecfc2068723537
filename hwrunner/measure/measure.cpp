#include "hwrunner/measure/measure.h"

#include <fmt/format.h>

#include <algorithm>

#include "hwrunner/launch/pinning.h"
#include "hwrunner/measure/collect.h"
#include "hwrunner/measure/in_world.h"
#include "hwrunner/measure/python_plan.h"
#include "models/derived.h"
#include "simulator/answers/points.h"
#include "simulator/base/format.h"

namespace lockstep {
namespace {

// Ranks of a paced run wait rather than compute: many share a core, but each holds the model three times over.
constexpr int kMostPacedRanks = 16;
// A trace of more has tens of megabytes.
constexpr int kProfiledSteps = 5;
// A paced rank alone has nothing real to do: a step as long as this is long enough for it, whatever --dilate says.
constexpr double kLongestStepAlone_s = 0.3;
// A process with LibTorch takes 0.3 s to start on two cores (tests/hwrunner), ranks that meet a little longer.
constexpr double kStart_s = 0.5;

struct Row {
  Strategy strategy = Strategy::Single;
  int gpus = 1;
  std::optional<std::string> not_run;
  Launches launches;
  LaunchLoad load;  // of all its launches
  double expected_step_s = 0;
  bool failed = false;
};

// Ends of steps as they come, for `each_step`.
class StepWatch {
 public:
  StepWatch(const RunPlan& plan, const std::function<void(const StepEvent&)>& tell)
      : plan_(plan), tell_(tell), logs_(static_cast<std::size_t>(plan.processes())) {}

  void hear(int rank, const Record& record) {
    if (!tell_ || plan_.instrumented || plan_.profiled) return;
    Log& log = logs_[static_cast<std::size_t>(rank)];
    if (const auto* start = std::get_if<StartRecord>(&record)) log.ends = {start->at_s};
    if (const auto* step = std::get_if<RankStepRecord>(&record)) log.ends.push_back(step->end_s);
    while (std::all_of(logs_.begin(), logs_.end(), [this](const Log& one) { return one.ends.size() > told_; })) {
      double latest = 0;
      for (const Log& one : logs_) latest = std::max(latest, one.ends[told_]);
      if (told_ > 0) {
        const int step = static_cast<int>(told_) - 1;
        tell_({plan_.strategy, plan_.world_size, plan_.repeat, step, step < plan_.warm_up, latest - before_});
      }
      before_ = latest;
      ++told_;
    }
  }

 private:
  struct Log {
    std::vector<double> ends;
  };
  const RunPlan& plan_;
  const std::function<void(const StepEvent&)>& tell_;
  std::vector<Log> logs_;
  std::size_t told_ = 0;
  double before_ = 0;
};

class Measurer {
 public:
  Measurer(const Inputs& inputs, const MeasureRequest& request)
      : inputs_(inputs),
        request_(request),
        points_(inputs, request.dilate > 0 ? Method::Simulate : Method::Estimate, {}) {}

  Measurement run() {
    for (Row& row : rows_of()) rows_.push_back(std::move(row));
    total_ = static_cast<int>(std::count_if(rows_.begin(), rows_.end(), [](const Row& r) { return !r.not_run; })) *
             (inputs_.scenario().measure.repeats + 1 + (request_.profile ? 1 : 0));
    for (int repeat = 0; repeat < inputs_.scenario().measure.repeats; ++repeat) {
      for (std::size_t i = 0; i < rows_.size(); ++i) plain(rows_[repeat % 2 == 0 ? i : rows_.size() - 1 - i], repeat);
    }
    for (Row& row : rows_) instrumented(row);
    if (request_.profile)
      for (Row& row : rows_) profiled(row);
    return finish();
  }

  MeasurePlan plan() {
    MeasurePlan plan;
    const auto& m = scenario().measure;
    plan.warm_up = m.warm_up;
    plan.steps = m.steps;
    plan.repeats = m.repeats;
    for (const Row& row : rows_of()) {
      plan.rows.push_back({row.strategy, row.gpus, row.not_run, row.launches.plan.per_gpu_batch, row.expected_step_s});
      if (row.not_run) continue;
      const double passes = m.repeats + 1 + (request_.profile ? 1 : 0);
      const double dilate = std::max(1.0, row.launches.plan.dilate);
      plan.expected_s += passes * (kStart_s + (m.warm_up + m.steps) * row.expected_step_s * dilate);
    }
    return plan;
  }

 private:
  const Scenario& scenario() const { return inputs_.scenario(); }
  bool paced() const { return request_.dilate > 0; }
  bool stopped() const { return request_.stop != nullptr && *request_.stop != 0; }

  std::vector<Row> rows_of() {
    std::vector<Row> rows;
    rows.push_back(row_of(Strategy::Single, 1));
    for (const Strategy strategy : scenario().strategies)
      if (strategy != Strategy::Single)
        for (const int gpus : scenario().gpus) rows.push_back(row_of(strategy, gpus));
    for (const HeldBack& one : request_.held_back) {
      Row row;
      row.strategy = one.strategy;
      row.gpus = one.gpus;
      row.not_run = one.reason;
      rows.push_back(std::move(row));
    }
    return rows;
  }

  std::optional<std::string> why_not(Strategy strategy, int gpus) const {
    if (auto reason = strategy == Strategy::DpCpp ? why_no_dp_cpp() : std::nullopt) return reason;
    if (auto reason = points_.why_not(strategy, gpus)) return reason;
    if (!points_.batch_of(gpus)) return "the batch cannot be shared out";
    if (request_.world != nullptr) {
      WorldNeed need{strategy, gpus, std::nullopt, 0, std::nullopt};
      if (!paced()) need.nodes = inputs_.topology.nodes_for(gpus);
      if (!paced() && request_.backend == Backend::Gloo) need.threads = scenario().measure.threads_per_rank;
      if (request_.backend == Backend::Nccl) need.devices_here = static_cast<int>(request_.runner.devices.size());
      if (auto reason = why_not_in(*request_.world, need)) return reason;
    }
    if (paced() && strategy == Strategy::Ddp && gpus > kMostPacedRanks)
      return fmt::format("a paced run has {} ranks at most", kMostPacedRanks);
    if (paced() || request_.world != nullptr) return std::nullopt;
    if (inputs_.topology.nodes_for(gpus) > 1 && !request_.nodes_here) return "this machine is one node";
    if (!request_.on_gpus) return too_many_ranks(request_.machine, gpus, scenario().measure.threads_per_rank);
    const int there = static_cast<int>(request_.runner.devices.size());
    if (gpus > there && !shares_gpus(strategy))
      return fmt::format("this machine has {} GPU{}", there, there == 1 ? "" : "s");
    return std::nullopt;
  }

  std::optional<std::string> why_no_dp_cpp() const {
    if (scenario().front_end == FrontEnd::Python)
      return "LibTorch's data_parallel is C++: the Python front end has none";
    if (!request_.on_gpus) return "LibTorch's data_parallel wants GPUs: these are CPUs";
    if (inputs_.model.ops.back().inputs.size() > 1)
      return fmt::format("LibTorch's data_parallel gives one tensor, {} has {} outputs", inputs_.model.name,
                         inputs_.model.ops.back().inputs.size());
    return std::nullopt;
  }

  // Gloo's ranks may share a GPU, NCCL's may not.
  bool shares_gpus(Strategy strategy) const {
    return strategy == Strategy::Ddp && request_.backend == Backend::Gloo && !request_.runner.devices.empty();
  }

  Row row_of(Strategy strategy, int gpus) {
    Row row;
    row.strategy = strategy;
    row.gpus = gpus;
    row.not_run = why_not(strategy, gpus);
    if (row.not_run) return row;
    const Batch batch = *points_.batch_of(gpus);
    // For timeouts and the time left: DataParallel's step stands in for data_parallel's, of which there is no model.
    const Strategy like = strategy == Strategy::DpCpp ? Strategy::Dp : strategy;
    if (auto expected = points_.alone(like, gpus)) row.expected_step_s = expected->step_time_s;
    RunPlan& plan = row.launches.plan;
    plan.strategy = strategy;
    plan.world_size = gpus;
    plan.per_gpu_batch = batch.per_gpu;
    plan.micro_steps = batch.micro_steps;
    plan.warm_up = scenario().measure.warm_up;
    plan.steps = scenario().measure.steps;
    plan.threads_per_rank = scenario().measure.threads_per_rank;
    plan.backend = request_.backend;
    plan.on_gpus = request_.on_gpus;
    if (paced()) {
      plan.dilate = request_.dilate;
      if (strategy == Strategy::Single && row.expected_step_s > 0)
        plan.dilate = std::min(plan.dilate, std::max(1.0, kLongestStepAlone_s / row.expected_step_s));
      plan.kernel_factor = points_.calibration().factor;
    }
    plan.timeouts = timeouts_for(scenario().measure.timeout_s, row.expected_step_s * std::max(1.0, plan.dilate),
                                 static_cast<double>(parameter_bytes(inputs_.model)));
    plan.scenario_file = scenario().file;
    plan.scenario = scenario_yaml(inputs_.read);
    if (scenario().front_end == FrontEnd::Python) plan.python = python_plan(scenario(), inputs_.model);
    return row;
  }

  LaunchOutcome launch_row(Row& row, RunPlan plan) {
    const char* unit = inputs_.topology.node.gpu.vendor == "cpu" ? "rank" : "GPU";
    std::string text = fmt::format("{} on {} {}{}, {}", name_of(row.strategy), row.gpus, unit, row.gpus == 1 ? "" : "s",
                                   plan.profiled       ? "with a profiler"
                                   : plan.instrumented ? "with marks"
                                                       : fmt::format("repeat {}", plan.repeat + 1));
    if (done_ > 0) text += fmt::format(", about {} left", format_time(spent_s_ / done_ * (total_ - done_)));
    if (request_.progress) request_.progress(done_, total_, text);
    LaunchOptions options;
    options.program = request_.runner.program;
    options.words = request_.runner.words;
    options.stop = request_.stop;
    const int cores_each = plan.threads_per_rank * (plan.world_size / plan.processes());
    if (!request_.on_gpus && !paced())
      options.cores = request_.world != nullptr ? request_.world->cores_for(plan.processes(), cores_each)
                                                : cores_for(plan.processes(), cores_each, request_.machine.allowed);
    StepWatch watch(plan, request_.each_step);
    options.on_record = [&](int rank, const Record& record) {
      watch.hear(rank, paced() ? in_scenario_time(record, plan.dilate) : record);
    };
    const CpuCounters before = cpu_counters();
    LaunchOutcome outcome = request_.launch(plan, options);
    if (paced())
      for (RankLog& rank : outcome.ranks)
        for (Record& record : rank.records) record = in_scenario_time(std::move(record), plan.dilate);
    add_load(row, plan, before, cpu_counters(), outcome);
    spent_s_ += outcome.wall_s;
    if (!outcome.interrupted) ++done_;
    if (outcome.failure && outcome.failure->refused && !plan.instrumented && !plan.profiled) {
      row.not_run = outcome.failure->sentence;
      total_ -= scenario().measure.repeats;  // what will not be tried
    } else if (outcome.failure && !outcome.failure->refused) {
      row.failed = true;
      failures_.push_back(outcome.failure->sentence);
      if (!outcome.failure->hint.empty()) failures_.back() += fmt::format(" ({})", outcome.failure->hint);
    }
    interrupted_ = interrupted_ || outcome.interrupted;
    return outcome;
  }

  // A rank of this host, whose counters are read.
  bool is_here(std::size_t rank) const { return request_.world == nullptr || request_.world->ranks[rank].host == 0; }

  void add_load(Row& row, const RunPlan& plan, const CpuCounters& before, const CpuCounters& after,
                const LaunchOutcome& outcome) const {
    row.load.after.busy_s += after.busy_s - before.busy_s;
    row.load.after.stolen_s += after.stolen_s - before.stolen_s;
    row.load.after.throttled += after.throttled - before.throttled;
    row.load.wall_s += outcome.wall_s;
    int here = 0;
    for (std::size_t i = 0; i < outcome.ranks.size(); ++i) {
      if (!is_here(i)) continue;
      ++here;
      row.load.own_cpu_s += outcome.ranks[i].cpu_s;
    }
    if (!plan.paced() && !plan.on_gpus)
      row.load.threads = here * plan.threads_per_rank * (plan.world_size / plan.processes());
  }

  void plain(Row& row, int repeat) {
    if (row.not_run || row.failed || stopped()) return;
    RunPlan plan = row.launches.plan;
    plan.repeat = repeat;
    row.launches.plain.push_back(launch_row(row, std::move(plan)));
    row.launches.repeats.push_back(repeat);
  }

  void instrumented(Row& row) {
    if (row.not_run || row.failed || stopped()) return;
    RunPlan plan = row.launches.plan;
    plan.instrumented = true;
    LaunchOutcome outcome = launch_row(row, std::move(plan));
    if (!outcome.interrupted) row.launches.instrumented = std::move(outcome);
  }

  void profiled(Row& row) {
    if (row.not_run || row.failed || stopped()) return;
    RunPlan plan = row.launches.plan;
    plan.profiled = true;
    plan.steps = std::min(plan.steps, kProfiledSteps);
    if (!request_.trace_file.empty()) plan.trace_file = trace_file_of(request_.trace_file, row.strategy, row.gpus);
    LaunchOutcome outcome = launch_row(row, std::move(plan));
    if (!outcome.interrupted) row.launches.profiled = std::move(outcome);
  }

  Run run_of(Row& row) {
    if (row.not_run) {
      Run run;
      run.strategy = row.strategy;
      run.world_size = run.gpus = row.gpus;
      run.processes = row.strategy == Strategy::Ddp ? row.gpus : 1;
      run.not_run = row.not_run;
      return run;
    }
    Run run = collect(row.launches, inputs_.model.sample_unit + "/s");
    if (run.not_run) {
      if (interrupted_ && !row.failed) run.not_run = "interrupted before its first step";
      return run;
    }
    run.scaling = scenario().global_batch ? "strong" : "weak";
    for (std::string& one : disturbances(request_.machine, row.load)) run.notes.push_back(std::move(one));
    const int devices = static_cast<int>(request_.runner.devices.size());
    if (request_.on_gpus && row.gpus > devices)
      run.notes.push_back(fmt::format("{} ranks share {} GPU{}", row.gpus, devices, devices == 1 ? "" : "s"));
    points_.add_epochs(run);
    if (paced()) against_prediction(row, run);
    return run;
  }

  // What ran here computes nothing and holds no activations: its memory says nothing. What it is a twin of stands
  // beside it.
  void against_prediction(const Row& row, Run& run) {
    for (RankStats& rank : run.ranks) rank.memory_allocated_bytes = rank.memory_reserved_bytes = std::nullopt;
    if (row.expected_step_s > 0)
      run.notes.push_back(fmt::format("predicted {} with the scenario's links: paced {:+.1f} %",
                                      format_time(row.expected_step_s),
                                      100 * (run.step_time_s / row.expected_step_s - 1)));
  }

  Measurement finish() {
    Measurement measurement;
    Result& result = measurement.result;
    result.kind = "measured";
    result.scenario_yaml = scenario_yaml(inputs_.read);
    for (Row& row : rows_) {
      Run run = run_of(row);
      compare_with(result.runs.empty() ? run : result.runs.front(), run);
      result.runs.push_back(std::move(run));
    }
    auto& notes = result.runs.front().notes;
    notes.insert(notes.begin(), request_.notes.begin(), request_.notes.end());
    if (request_.each_run)
      for (const Run& run : result.runs) request_.each_run(run);
    describe_machine(result);
    measurement.interrupted = interrupted_ || stopped();
    if (measurement.interrupted)
      result.partial = fmt::format("interrupted after {} of {} launches", done_, total_);
    else if (!failures_.empty())
      result.partial = fmt::format("{}", fmt::join(failures_, "; "));
    return measurement;
  }

  void describe_machine(Result& result) const {
    result.machine = fingerprint(request_.machine);
    result.software = request_.runner.software;
    bool communicates = false;
    const LaunchOutcome* largest = nullptr;
    for (const Row& row : rows_)
      for (const LaunchOutcome& outcome : row.launches.plain)
        if (largest == nullptr || outcome.ranks.size() > largest->ranks.size()) largest = &outcome;
    if (largest != nullptr)
      for (const auto& [key, value] : pinning_facts(*largest, request_.machine)) result.machine[key] = value;
    for (const Row& row : rows_)
      for (const LaunchOutcome& outcome : row.launches.plain)
        for (const RankLog& rank : outcome.ranks)
          for (const Record& record : rank.records)
            if (const auto* hello = std::get_if<HelloRecord>(&record)) {
              for (const auto& [name, version] : hello->software) result.software[name] = version;
              for (const auto& [key, value] : interface_facts(hello->network_interface)) result.machine[key] = value;
              communicates = communicates || row.gpus > 1;
            }
    if (request_.on_gpus) result.machine.insert(request_.runner.machine.begin(), request_.runner.machine.end());
    for (std::size_t i = 0; i < request_.runner.devices.size() && request_.on_gpus; ++i)
      result.machine[fmt::format("gpu{}", i)] = request_.runner.devices[i];
    if (paced()) {
      result.fidelity = {{"compute", "paced"},
                         {"host", "paced"},
                         {"input", scenario().input.source == InputSource::Device ? "none" : "paced"},
                         {"memory", "none"},
                         {"network", communicates ? "measured" : "none"}};
      return;
    }
    result.fidelity = {{"compute", "measured"},
                       {"host", "measured"},
                       {"input", scenario().input.source == InputSource::Device ? "none" : "measured"},
                       {"memory", "measured"},
                       {"network", communicates ? "measured" : "none"}};
  }

  const Inputs& inputs_;
  const MeasureRequest& request_;
  Points points_;
  std::vector<Row> rows_;
  std::vector<std::string> failures_;
  int done_ = 0, total_ = 0;
  double spent_s_ = 0;
  bool interrupted_ = false;
};

}  // namespace

std::string trace_file_of(const std::string& trace_file, Strategy strategy, int gpus) {
  const std::size_t dot = trace_file.rfind('.'), slash = trace_file.rfind('/');
  const bool has_end = dot != std::string::npos && dot > 0 && (slash == std::string::npos || dot > slash + 1);
  const std::size_t end = has_end ? dot : trace_file.size();
  return fmt::format("{}-{}-{}{}", trace_file.substr(0, end), name_of(strategy), gpus, trace_file.substr(end));
}

MeasurePlan plan_measurement(const Inputs& inputs, const MeasureRequest& request) {
  return Measurer(inputs, request).plan();
}

Measurement measure(const Inputs& inputs, const MeasureRequest& request) {
  return Measurer(inputs, request).run();
}

}  // namespace lockstep
