// One point of a scenario: one strategy on one number of GPUs. From checked inputs to a Run, with breakdown, buckets,
// ranks, links and (when asked) the timeline; without what needs other points (speed-up, efficiency: answers/predict).
#pragma once

#include "models/model.h"
#include "scenarios/scenario.h"
#include "simulator/result/result.h"
#include "topologies/topology.h"

namespace lockstep {

enum class Method {
  Simulate,  // the engine on SimGrid
  Estimate,  // the graph walked without contention
  Messages,  // the engine, collectives as single messages of a ring (reference, up to 64 ranks)
};

struct PointInputs {
  const Scenario* scenario = nullptr;
  const Model* model = nullptr;
  const Topology* topology = nullptr;
  Strategy strategy = Strategy::Single;
  int gpus = 1;
  std::int64_t per_gpu_batch = 1;  // micro-batch of one GPU
  int micro_steps = 1;
  double kernel_factor = 1;  // g of calibrate.single_gpu
  double host_scale = 1;     // on the host factor of every node
  double single_step_s = 0;  // step of one GPU without wrapper at the same per-GPU batch; sets the expected wait
};

struct PointOptions {
  Method method = Method::Simulate;
  bool timeline = false;
  bool parts = false;       // Run::parts
  bool times_only = false;  // step times without what is inside the step: no breakdown, buckets, ranks, links
};

// Simulates in this process: at most once per process with Method::Simulate, if the result is to have one value.
Run predict_point(const PointInputs& inputs, const PointOptions& options);

// The same in a forked child of this process, which must not hold an engine: same bits whatever ran before. The child's
// death (signal, abort of the simulator) comes back as an Error of kind run_failed. Method::Estimate runs in place.
Expected<Run> predict_point_apart(const PointInputs& inputs, const PointOptions& options);

// The factor on kernel times that makes the single-GPU step equal the calibration; 1 when the host alone takes longer.
struct KernelCalibration {
  double factor = 1;
  bool host_limits = false;           // no factor can match: the host alone is slower than the measurement
  double explaining_host_factor = 0;  // the host factor that would explain it, when host_limits
};
KernelCalibration calibrate_kernels(const PointInputs& single, double measured_step_s);

}  // namespace lockstep
