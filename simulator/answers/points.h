// The points of a scenario: which batch each strategy and number of GPUs gets, which cannot run, and what they are
// compared with. Definitions of docs/interface.md ("A result").
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <tuple>

#include "simulator/answers/inputs.h"
#include "simulator/answers/point.h"
#include "simulator/result/result.h"
#include "simulator/strategies/loader_wait.h"

namespace lockstep {

// Where the times come from. Tests put in their own.
struct PointSource {
  std::function<Expected<Run>(const PointInputs&, const PointOptions&)> run = predict_point_apart;
  std::function<KernelCalibration(const PointInputs&, double)> calibrate = calibrate_kernels;
};

// Samples of one GPU in one micro-step, and micro-steps of a step.
struct Batch {
  std::int64_t per_gpu = 0;
  int micro_steps = 1;
  bool operator==(const Batch&) const = default;
};

class Points {
 public:
  // `inputs` must outlive this.
  Points(const Inputs& inputs, Method method, PointSource source);

  // Weak scaling: batch.per_gpu on every GPU. Strong scaling: batch.global shared out. Nothing when it does not divide.
  std::optional<Batch> batch_of(int gpus) const;
  bool strong() const { return inputs_.scenario().global_batch.has_value(); }

  // One GPU without a wrapper. Weak: with `batch.per_gpu`. Strong: with the whole global batch, in more micro-steps
  // where it does not fit the memory (`accumulated`). Simulated once.
  struct Single {
    Run run;
    Baseline baseline;
    bool accumulated = false;
  };
  Expected<Single> single(bool timeline = false);

  // Why this point cannot run; nothing when it can.
  std::optional<std::string> why_not(Strategy strategy, int gpus) const;

  // One row of the answer: run, throughput, speed-up, efficiency, epoch and total time; or `not_run` with the reason.
  Expected<Run> run(Strategy strategy, int gpus, bool timeline = false);
  // The same without what takes the baseline: no speed-up, efficiency, epochs. For levers.
  Expected<Run> alone(Strategy strategy, int gpus, bool timeline = false);

  // Times and costs of an epoch and of the whole run, where the scenario has `data.samples`.
  void add_epochs(Run& run) const;

  // Runs from here on keep their parts (Run::parts).
  void keep_parts() { keep_parts_ = true; }

  // The factor of calibrate.single_gpu; {1, false, 0} without it.
  const KernelCalibration& calibration();
  // What was simulated for a row, to ask again with other constants (bands.h).
  PointInputs point_inputs(Strategy strategy, int gpus, const Batch& batch, double single_step_s);

  const Inputs& inputs() const { return inputs_; }
  Method method() const { return method_; }
  const PointSource& source() const { return source_; }
  // The step of one GPU at this batch; simulated once for each batch unless it was told.
  Expected<double> single_step_s(const Batch& batch);
  void know_single_step(const Batch& batch, double step_s) {
    single_steps_[{batch.per_gpu, batch.micro_steps}] = step_s;
  }

 private:
  Batch baseline_batch();
  void complete(Run& run, const Batch& batch) const;
  void compare(Run& run, const Baseline& baseline) const;
  double validation_step_s(const Run& run) const;

  const Inputs& inputs_;
  Method method_;
  PointSource source_;
  bool keep_parts_ = false;
  std::optional<KernelCalibration> calibration_;
  std::optional<Single> single_;
  std::map<std::pair<std::int64_t, int>, double> single_steps_;
};

// The loader of each process of this run; the scenario has one. `own_batch_s`: a step with its batch at hand.
LoaderPlan loader_plan_of(const Run& run, const Inputs& inputs, double own_batch_s);
LoaderPlan loader_plan_of(const Run& run, const Inputs& inputs);  // of its micro-steps

// Ranks of one RankStats have the same type of GPU.
const GpuType& gpu_of(const RankStats& rank, const Topology& topology);

// memory_reserved_bytes of every rank against the memory of its GPU; nothing when the run says nothing.
std::optional<bool> fits_memory(const Run& run, const Topology& topology);
// The rank that lacks most; nothing when all fit.
struct MemoryLack {
  std::int64_t needed_bytes = 0;
  double memory_bytes = 0;
};
std::optional<MemoryLack> memory_lack(const Run& run, const Topology& topology);

}  // namespace lockstep
