#include "simulator/answers/points.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "simulator/base/format.h"

namespace lockstep {
namespace {

constexpr double kSecondsPerHour = 3600;

std::int64_t ceil_divide(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

std::string counted(int count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

Run not_run(Strategy strategy, int gpus, const Topology& topology, std::string reason) {
  Run run;
  run.strategy = strategy;
  run.world_size = run.gpus = gpus;
  run.nodes = topology.nodes_for(gpus);
  run.processes = strategy == Strategy::Ddp ? gpus : 1;
  run.not_run = std::move(reason);
  return run;
}

// Share of a training step that a step without gradients takes: the parts of the forward pass. Idle time of a late host
// is shared out as the forward and backward work is. Without the loader.
double forward_only_s(const Run& run) {
  double forward = 0;
  for (const Cause cause :
       {Cause::CopyToDevice, Cause::Scatter, Cause::Replicate, Cause::Forward, Cause::Gather, Cause::BufferBroadcast})
    forward += run.part_s(cause);
  const double work = run.part_s(Cause::Forward) + run.part_s(Cause::Backward);
  const double share = work > 0 ? run.part_s(Cause::Forward) / work : 0;
  return (forward + share * run.part_s(Cause::HostBound)) / run.micro_steps;
}

}  // namespace

LoaderPlan loader_plan_of(const Run& run, const Inputs& inputs, double own_batch_s) {
  PointRequest request;
  request.scenario = &inputs.scenario();
  request.model = &inputs.model;
  request.topology = &inputs.topology;
  request.strategy = run.strategy;
  request.gpus = run.gpus;
  request.per_gpu_batch = run.per_gpu_batch;
  request.micro_steps = run.micro_steps;
  request.own_batch_s = own_batch_s;
  return loader_plan(request);
}

LoaderPlan loader_plan_of(const Run& run, const Inputs& inputs) {
  return loader_plan_of(run, inputs, (run.step_time_s - run.part_s(Cause::Input)) / run.micro_steps);
}

// `ranks` starts with the first of them ("8-15").
const GpuType& gpu_of(const RankStats& rank, const Topology& topology) {
  int first = 0;
  std::from_chars(rank.ranks.data(), rank.ranks.data() + rank.ranks.size(), first);
  return topology.node_type(topology.node_of(first)).gpu;
}

std::optional<bool> fits_memory(const Run& run, const Topology& topology) {
  const bool known = std::any_of(run.ranks.begin(), run.ranks.end(), [&](const RankStats& rank) {
    return rank.memory_reserved_bytes && gpu_of(rank, topology).memory_bytes > 0;
  });
  if (!known) return std::nullopt;
  return !memory_lack(run, topology);
}

std::optional<MemoryLack> memory_lack(const Run& run, const Topology& topology) {
  std::optional<MemoryLack> lack;
  for (const RankStats& rank : run.ranks) {
    const double memory = gpu_of(rank, topology).memory_bytes;
    const MemoryLack one{rank.memory_reserved_bytes.value_or(0), memory};
    const auto missing = [](const MemoryLack& l) { return static_cast<double>(l.needed_bytes) - l.memory_bytes; };
    if (memory <= 0 || missing(one) <= 0) continue;
    if (!lack || missing(one) > missing(*lack)) lack = one;
  }
  return lack;
}

Points::Points(const Inputs& inputs, Method method, PointSource source)
    : inputs_(inputs), method_(method), source_(std::move(source)) {}

std::optional<Batch> Points::batch_of(int gpus) const {
  const Scenario& s = inputs_.scenario();
  const int steps = s.accumulate_steps;
  if (!strong()) return Batch{*s.per_gpu_batch, steps};
  const std::int64_t shares = std::int64_t{gpus} * steps;
  if (*s.global_batch % shares != 0) return std::nullopt;
  return Batch{*s.global_batch / shares, steps};
}

PointInputs Points::point_inputs(Strategy strategy, int gpus, const Batch& batch, double single_step_s) {
  PointInputs point;
  point.scenario = &inputs_.scenario();
  point.model = &inputs_.model;
  point.topology = &inputs_.topology;
  point.strategy = strategy;
  point.gpus = gpus;
  point.per_gpu_batch = batch.per_gpu;
  point.micro_steps = batch.micro_steps;
  point.kernel_factor = calibration().factor;
  point.single_step_s = single_step_s;
  return point;
}

const KernelCalibration& Points::calibration() {
  if (calibration_) return *calibration_;
  calibration_.emplace();
  const Scenario& s = inputs_.scenario();
  if (s.calibrate_single_gpu) {
    // The number was measured with the scenario's batch on one GPU: one micro-step.
    const auto batch = batch_of(1).value_or(Batch{s.global_batch.value_or(1), 1});
    const PointInputs single = point_inputs(Strategy::Single, 1, {batch.per_gpu, 1}, 0);
    calibration_ = source_.calibrate(single, static_cast<double>(batch.per_gpu) / *s.calibrate_single_gpu);
  }
  return *calibration_;
}

// Strong scaling puts the whole batch on one GPU; where that does not fit, in the fewest micro-steps that do.
Batch Points::baseline_batch() {
  const auto wanted = batch_of(1);
  const std::int64_t global = inputs_.scenario().global_batch.value_or(0);
  const Batch first = wanted.value_or(Batch{global, 1});
  if (!strong()) return first;
  for (std::int64_t steps = first.micro_steps; steps <= std::min<std::int64_t>(global, 1'000'000); ++steps) {
    if (global % steps != 0) continue;
    const Batch batch{global / steps, static_cast<int>(steps)};
    const auto run = source_.run(point_inputs(Strategy::Single, 1, batch, 0), {Method::Estimate, false, false});
    if (!run) return first;
    if (fits_memory(*run, inputs_.topology).value_or(true)) return batch;
  }
  return first;
}

Expected<Points::Single> Points::single(bool timeline) {
  if (single_ && (!timeline || !single_->run.timeline.empty())) return *single_;
  const Batch batch = baseline_batch();
  auto run = source_.run(point_inputs(Strategy::Single, 1, batch, 0), {method_, timeline, keep_parts_});
  if (!run) return tl::unexpected(std::move(run.error()));
  complete(*run, batch);
  Single single;
  single.accumulated = strong() && batch.micro_steps > inputs_.scenario().accumulate_steps;
  single.baseline = {Strategy::Single, batch.per_gpu, batch.micro_steps, run->step_time_s,
                     run->fits_memory.value_or(true)};
  compare(*run, single.baseline);
  add_epochs(*run);
  single.run = std::move(*run);
  single_steps_[{batch.per_gpu, batch.micro_steps}] = single.run.step_time_s;
  single_ = std::move(single);
  return *single_;
}

Expected<double> Points::single_step_s(const Batch& batch) {
  const auto key = std::pair{batch.per_gpu, batch.micro_steps};
  const auto known = single_steps_.find(key);
  if (known != single_steps_.end()) return known->second;
  auto run = source_.run(point_inputs(Strategy::Single, 1, batch, 0), {method_, false, false});
  if (!run) return tl::unexpected(std::move(run.error()));
  return single_steps_[key] = run->step_time_s;
}

std::optional<std::string> Points::why_not(Strategy strategy, int gpus) const {
  const int node = inputs_.topology.gpus_on(0);
  if (strategy == Strategy::Single) return std::nullopt;
  if (has_replicas(strategy) && gpus > node)
    return std::string(strategy == Strategy::Dp ? "DataParallel" : "data_parallel") +
           " runs in one process: one node has " + counted(node, "GPU");
  if (!batch_of(gpus))
    return fmt::format("a global batch of {} cannot be shared out evenly among {} x {}",
                       *inputs_.scenario().global_batch, counted(gpus, "GPU"),
                       counted(inputs_.scenario().accumulate_steps, "micro-step"));
  return std::nullopt;
}

Expected<Run> Points::alone(Strategy strategy, int gpus, bool timeline) {
  if (strategy == Strategy::Single) {
    auto one = single(timeline);
    if (!one) return tl::unexpected(std::move(one.error()));
    return one->run;
  }
  if (auto reason = why_not(strategy, gpus)) return not_run(strategy, gpus, inputs_.topology, *std::move(reason));
  const Batch batch = *batch_of(gpus);
  // Only ranks of DDP wait for each other.
  const auto single_s = strategy == Strategy::Ddp ? single_step_s(batch) : Expected<double>(0.0);
  if (!single_s) return tl::unexpected(single_s.error());
  auto run = source_.run(point_inputs(strategy, gpus, batch, *single_s), {method_, timeline, keep_parts_});
  if (!run) return tl::unexpected(std::move(run.error()));
  complete(*run, batch);
  return *std::move(run);
}

Expected<Run> Points::run(Strategy strategy, int gpus, bool timeline) {
  const auto one = single();  // first: its step serves the others too
  if (!one) return tl::unexpected(one.error());
  auto run = alone(strategy, gpus, timeline);
  if (!run || run->not_run || strategy == Strategy::Single) return run;
  compare(*run, one->baseline);
  add_epochs(*run);
  return *std::move(run);
}

// A step of the validation takes a batch like a micro-step of training.
double Points::validation_step_s(const Run& run) const {
  const double forward_s = forward_only_s(run);
  if (!inputs_.scenario().loader.active()) return forward_s;
  const LoaderPlan plan = loader_plan_of(run, inputs_, forward_s);
  return std::max(forward_s + plan.host_s, plan.period_s);
}

// What the point does not know of itself.
void Points::complete(Run& run, const Batch& batch) const {
  run.per_gpu_batch = batch.per_gpu;
  run.micro_steps = batch.micro_steps;
  run.global_batch = batch.per_gpu * run.gpus * batch.micro_steps;
  run.throughput = static_cast<double>(run.global_batch) / run.step_time_s;
  run.throughput_unit = inputs_.model.sample_unit + "/s";
  run.scaling = strong() ? "strong" : "weak";
  run.fits_memory = fits_memory(run, inputs_.topology);
}

void Points::compare(Run& run, const Baseline& baseline) const {
  run.baseline = baseline;
  const double samples = static_cast<double>(baseline.per_gpu_batch) * baseline.micro_steps;
  run.speedup = run.throughput * baseline.step_time_s / samples;
  run.efficiency = run.speedup / run.gpus;
}

void Points::add_epochs(Run& run) const {
  const Scenario& s = inputs_.scenario();
  if (!s.data_samples) return;
  const std::int64_t steps =
      s.loader.drop_last ? *s.data_samples / run.global_batch : ceil_divide(*s.data_samples, run.global_batch);
  if (steps == 0) {
    run.notes.push_back(
        fmt::format("An epoch of {} samples has no whole step of {}: `loader.drop_last` leaves nothing to train on.",
                    *s.data_samples, run.global_batch));
    return;
  }
  run.epoch_time_s = static_cast<double>(steps) * run.step_time_s;
  const std::int64_t evaluated = run.per_gpu_batch * run.gpus;  // no accumulation without gradients
  const double validation_s =
      static_cast<double>(ceil_divide(s.data_validation_samples, evaluated)) * validation_step_s(run);
  run.total_time_s = s.data_startup_s + s.data_epochs * (*run.epoch_time_s + validation_s);
  if (!s.price_per_gpu_hour) return;
  const double per_second = *s.price_per_gpu_hour * run.gpus / kSecondsPerHour;
  run.cost_per_epoch = *run.epoch_time_s * per_second;
  run.cost_total = *run.total_time_s * per_second;
}

}  // namespace lockstep
