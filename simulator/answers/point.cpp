#include "simulator/answers/point.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/derived.h"
#include "simulator/answers/drive.h"
#include "simulator/base/ensure.h"
#include "simulator/costs/memory_cost.h"
#include "simulator/estimate/estimate.h"
#include "simulator/steps/replay.h"
#include "simulator/strategies/loader_wait.h"
#include "simulator/strategies/strategies.h"

namespace lockstep {
namespace {

PointRequest request_of(const PointInputs& inputs, bool labels) {
  PointRequest request;
  request.scenario = inputs.scenario;
  request.model = inputs.model;
  request.topology = inputs.topology;
  request.strategy = inputs.strategy;
  request.gpus = inputs.gpus;
  request.per_gpu_batch = inputs.per_gpu_batch;
  request.micro_steps = inputs.micro_steps;
  request.kernel_factor = inputs.kernel_factor;
  request.host_scale = inputs.host_scale;
  request.single_step_s = inputs.single_step_s;
  request.labels = labels;
  request.folded = ranks_are_alike(request);
  return request;
}

// The estimated step with batches always ready.
double step_without_loader_s(PointInputs inputs, double kernel_factor, double host_factor) {
  Scenario scenario = *inputs.scenario;
  scenario.loader.sample_cost_s.reset();
  inputs.scenario = &scenario;
  inputs.kernel_factor = kernel_factor;
  PointRequest request = request_of(inputs, false);
  request.host_factor = host_factor;
  return estimate(build_step_graph(request), StopRule{}).step_times_s().back();
}

// Which steps are steady, and which of them is shown: the lower median.
struct Shown {
  int first_steady = 0;
  int step = 0;
  std::vector<double> times_s;  // of all steps
};

Shown shown_step(const StepRecord& record, const Scenario& scenario) {
  Shown shown;
  shown.times_s = record.step_times_s();
  const int steps = static_cast<int>(shown.times_s.size());
  // Without noise the last two steps agree; what came before still settled.
  shown.first_steady = scenario.noise.jitter ? record.warm_up_steps + kSettlingSteps : std::max(0, steps - 2);
  std::vector<int> order;
  for (int s = shown.first_steady; s < steps; ++s) order.push_back(s);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return shown.times_s[static_cast<std::size_t>(a)] < shown.times_s[static_cast<std::size_t>(b)];
  });
  shown.step = order[(order.size() - 1) / 2];
  return shown;
}

double quantile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

std::string implementation_of(const PointInputs& inputs) {
  const bool on_cpu = inputs.topology->node.gpu.vendor == "cpu";
  switch (inputs.strategy) {
    case Strategy::Ddp:
      return "model of DDP";
    case Strategy::Dp:
      return on_cpu ? "model of the stand-in" : "model of DataParallel";
    case Strategy::DpCpp:
      LOCKSTEP_ENSURE(false, "there is no model of {}", name_of(inputs.strategy));
    case Strategy::Single:
      break;
  }
  return "model of one GPU";
}

// `context` is that of the rank's node.
MemoryEstimate memory_of(const PointInputs& inputs, const StepContext& context, int rank) {
  MemoryQuestion question;
  const Scenario& scenario = *inputs.scenario;
  if (inputs.strategy == Strategy::Ddp) question.role = MemoryRole::Ddp;
  if (inputs.strategy == Strategy::Dp && inputs.gpus > 1)
    question.role = rank == 0 ? MemoryRole::DpFirst : MemoryRole::DpOther;
  question.optimizer = scenario.optimizer;
  question.foreach_optimizer = scenario.optimizer_implementation == OptimizerImplementation::Foreach;
  question.gradient_as_bucket_view = scenario.ddp.gradient_as_bucket_view;
  question.replicas = inputs.strategy == Strategy::Dp ? inputs.gpus : 1;
  question.image_dtype = scenario.input.dtype;
  return memory_estimate(*inputs.model, context.compute, question, default_constants().memory);
}

// --- ranks ---

struct RankRange {
  int first = 0, last = 0;  // real ranks
  int simulated = 0;
};

std::vector<RankRange> rank_ranges(const StepGraph& graph) {
  std::vector<RankRange> ranges;
  int simulated = 0;
  for (const auto& c : graph.classes) {
    if (c.folded) {
      ranges.push_back({c.first_rank, c.first_rank + c.ranks - 1, simulated++});
      continue;
    }
    for (int r = 0; r < c.ranks; ++r) ranges.push_back({c.first_rank + r, c.first_rank + r, simulated++});
  }
  return ranges;
}

std::string range_text(const std::string& prefix, int first, int last) {
  return first == last ? fmt::format("{}{}", prefix, first) : fmt::format("{0}{1}-{0}{2}", prefix, first, last);
}

RankStats rank_stats(const PointInputs& inputs, const StepContext& context, const RankRange& range,
                     const Replay& replayed) {
  RankStats stats;
  stats.ranks = range_text("", range.first, range.last);
  stats.host = range_text("node", inputs.topology->node_of(range.first), inputs.topology->node_of(range.last));
  stats.step_time_s = replayed.end_s - replayed.start_s;
  stats.gpu_utilization = replayed.gpu_busy_s / stats.step_time_s;
  stats.gpu_compute_utilization = replayed.compute_busy_s / stats.step_time_s;
  stats.launch_thread_utilization = replayed.host_busy_s / stats.step_time_s;
  const MemoryEstimate memory = memory_of(inputs, context, range.first);
  stats.memory_allocated_bytes = memory.allocated();
  stats.memory_reserved_bytes = memory.total();
  return stats;
}

// Core-seconds that one step keeps busy on the hosts of `ranks` GPUs. Every DDP process: its launching thread and the
// staging of its pageable copy, its loader's workers. DataParallel: the one process, N forward threads that share the
// lock, one backward thread per GPU.
double host_core_seconds(const PointInputs& inputs, const StepContext& context, int ranks, double lane_busy_s) {
  const double micro_steps = inputs.micro_steps;
  const InputOptions& input = inputs.scenario->input;
  double staging_s = 0;  // of one GPU's samples, loading included
  if (input.source == InputSource::Host && input.memory == HostMemory::Pageable)
    staging_s =
        static_cast<double>(batch_bytes(*inputs.model, inputs.per_gpu_batch * inputs.micro_steps, input.dtype)) /
        context.input.pageable_rate;
  if (inputs.scenario->loader.active()) {
    const LoaderPlan plan = loader_plan(context.request);
    const double batches = micro_steps * static_cast<double>(inputs.per_gpu_batch) / static_cast<double>(plan.batch);
    staging_s += batches * plan.core_s;  // of one GPU's share
  }
  if (inputs.strategy != Strategy::Dp || inputs.gpus == 1) return ranks * (lane_busy_s + staging_s);
  double forward_s = 0, backward_s = 0;
  for (const auto& op : context.op_costs) {
    for (const auto& kernel : op.forward) forward_s += host_seconds(kernel.host, context.host);
    for (const auto& kernel : op.backward) backward_s += host_seconds(kernel.host, context.host);
  }
  const double threads_beyond_lane =
      forward_s * std::max(0.0, inputs.gpus - forward_lock_factor(inputs.gpus, context.host)) +
      backward_s * backward_thread_factor(inputs.gpus, context.host) * (inputs.gpus - 1);
  return lane_busy_s + micro_steps * threads_beyond_lane + inputs.gpus * staging_s;
}

void add_step_times(Run& run, const Shown& shown, const Scenario& scenario) {
  const auto first = static_cast<std::size_t>(shown.first_steady);
  run.step_time_s = shown.times_s[static_cast<std::size_t>(shown.step)];
  run.warm_up_step_times_s.assign(shown.times_s.begin(), shown.times_s.begin() + shown.first_steady);
  Samples samples;
  samples.step_times_s.assign(shown.times_s.begin() + shown.first_steady, shown.times_s.end());
  run.samples = {samples};
  if (!scenario.noise.jitter) return;
  std::vector<double> sorted(shown.times_s.begin() + static_cast<std::ptrdiff_t>(first), shown.times_s.end());
  std::sort(sorted.begin(), sorted.end());
  run.spread = Spread{quantile(sorted, 0.05), quantile(sorted, 0.5), quantile(sorted, 0.95),
                      static_cast<int>(sorted.size()), "steps"};
}

// The contexts of all kinds of ranks.
class RankContexts {
 public:
  explicit RankContexts(const StepContext& first) : first_(first), kinds_(rank_kinds(first.request)) {
    for (std::size_t k = 1; k < kinds_.size(); ++k) {
      PointRequest request = first.request;
      request.node = kinds_[k].node;
      others_.emplace_back(request);
    }
  }
  const StepContext& of(int rank) const {
    std::size_t kind = 0;
    while (kind + 1 < kinds_.size() && kinds_[kind + 1].first_rank <= rank) ++kind;
    return kind == 0 ? first_ : others_[kind - 1];
  }
  bool differ() const { return !others_.empty(); }

 private:
  const StepContext& first_;
  std::vector<RankKind> kinds_;
  std::vector<StepContext> others_;  // without the first
};

// Replays of more ranks than this are not made; only the critical rank is listed then.
constexpr int kMaxListedRanks = 64;

void add_ranks(Run& run, const PointInputs& inputs, const StepContext& context, const StepGraph& graph,
               const StepRecord& record, int step, const JitterSource& jitter, const PointOptions& options) {
  const auto ranges = rank_ranges(graph);
  const int critical = record.steps[static_cast<std::size_t>(step)].critical_rank;
  const RankContexts contexts(context);
  double core_seconds = 0;
  int counted_ranks = 0;
  for (const auto& range : ranges) {
    const bool is_critical = range.simulated == critical;
    if (!is_critical && static_cast<int>(ranges.size()) > kMaxListedRanks) continue;
    const bool timeline =
        options.timeline && (is_critical || static_cast<int>(run.other_timelines.size()) < kMostOtherTimelines);
    Replay replayed = replay(graph, record, range.simulated, step, jitter, {timeline, is_critical && options.parts});
    const StepContext& here = contexts.of(range.first);
    run.ranks.push_back(rank_stats(inputs, here, range, replayed));
    const int ranks = range.last - range.first + 1;
    if (is_critical || contexts.differ()) core_seconds += host_core_seconds(inputs, here, ranks, replayed.host_busy_s);
    if (is_critical || contexts.differ()) counted_ranks += ranks;
    if (!is_critical && timeline) run.other_timelines.push_back({run.ranks.back().ranks, std::move(replayed.timeline)});
    if (!is_critical) continue;
    run.breakdown_s = replayed.breakdown_s;
    run.communication_s = replayed.communication_s;
    run.hidden_communication_s = replayed.hidden_communication_s;
    run.buckets = replayed.buckets;
    run.timeline = std::move(replayed.timeline);
    if (timeline) run.timeline_ranks = run.ranks.back().ranks;
    run.parts = replayed.parts;
  }
  double cores = 0;
  for (int node = 0; node < run.nodes; ++node) cores += host_cores(*inputs.scenario, *inputs.topology, node);
  // The ranks that were not replayed are as busy as those that were.
  if (inputs.strategy == Strategy::Ddp) core_seconds *= static_cast<double>(inputs.gpus) / counted_ranks;
  run.cpu_utilization = core_seconds / (cores * run.step_time_s);
}

}  // namespace

StopRule stop_rule(const Scenario& scenario) {
  StopRule rule;
  if (scenario.noise.jitter) rule.fixed_steady = scenario.noise.runs + kSettlingSteps;
  return rule;
}

Run predict_point(const PointInputs& inputs, const PointOptions& options) {
  const Scenario& scenario = *inputs.scenario;
  PointRequest request = request_of(inputs, options.timeline || options.parts);
  if (scenario.loader.active() && scenario.loader.workers_per_process > 0)
    request.own_batch_s = step_without_loader_s(inputs, inputs.kernel_factor, 0) / inputs.micro_steps;
  const StepContext context(request);
  const StepGraph graph = build_step_graph(context);
  const StepRecord record = drive(graph, scenario, options.method);
  const JitterSource jitter = jitter_of(scenario);
  const Shown shown = shown_step(record, scenario);

  Run run;
  run.strategy = inputs.strategy;
  run.implementation = implementation_of(inputs);
  run.world_size = run.gpus = inputs.gpus;
  run.nodes = inputs.topology->nodes_for(inputs.gpus);
  run.processes = inputs.strategy == Strategy::Ddp ? inputs.gpus : 1;
  run.per_gpu_batch = inputs.per_gpu_batch;
  run.micro_steps = inputs.micro_steps;
  run.global_batch = inputs.per_gpu_batch * inputs.gpus * inputs.micro_steps;
  add_step_times(run, shown, scenario);
  run.throughput = static_cast<double>(run.global_batch) / run.step_time_s;
  run.throughput_unit = inputs.model->sample_unit + "/s";
  if (options.times_only) return run;
  add_ranks(run, inputs, context, graph, record, shown.step, jitter, options);
  for (auto& use : link_use(graph, record, shown.step))
    if (use.bytes > 0) run.links.push_back(std::move(use));
  if (!record.converged && !scenario.noise.jitter)
    run.notes.push_back(fmt::format("steps did not settle within {} steps; the last two differ", record.steps.size()));
  return run;
}

namespace {

// x in [low, high] with f(x) = wanted for a rising f, to 1e-12 of the interval.
template <class Function>
double bisect(double low, double high, double wanted, Function f) {
  for (int i = 0; i < 60 && high - low > 1e-12 * high; ++i) {
    const double middle = (low + high) / 2;
    (f(middle) < wanted ? low : high) = middle;
  }
  return (low + high) / 2;
}

constexpr double kNoFactor = 1e-6;  // "even without kernels"; the factor itself must stay above 0

}  // namespace

// The measured speed is the GPU's: a loader is left out.
KernelCalibration calibrate_kernels(const PointInputs& single, double measured_step_s) {
  LOCKSTEP_ENSURE(single.strategy == Strategy::Single, "calibration on strategy {}", name_of(single.strategy));
  KernelCalibration result;
  const auto step_of_kernels = [&](double g) { return step_without_loader_s(single, g, 0); };
  if (step_of_kernels(kNoFactor) >= measured_step_s) {
    result.host_limits = true;
    const double used = single.scenario->host_factor.value_or(single.topology->node.host.factor);
    const auto step_of_host = [&](double u) { return step_without_loader_s(single, 1, u); };
    if (step_of_host(kNoFactor) < measured_step_s)
      result.explaining_host_factor = bisect(kNoFactor, used, measured_step_s, step_of_host);
    return result;
  }
  double high = 1;
  while (step_of_kernels(high) < measured_step_s) high *= 2;
  result.factor = bisect(kNoFactor, high, measured_step_s, step_of_kernels);
  return result;
}

}  // namespace lockstep
