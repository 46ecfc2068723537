// What is not known of a predicted step, as an 80 % interval: uncertainty_s. Kernel times and host times are moved to
// the ends of their bands and the step is estimated again; collectives move their buckets. The three are taken as
// independent: their effects on ln(step) add as squares.
// Sources: docs/cost-models.md (bands of uncalibrated kernel times, of the host factor, of all-reduce times per size
// and path, of DataParallel beyond four GPUs).
#pragma once

#include <string>

#include "simulator/answers/points.h"
#include "topologies/routes.h"

namespace lockstep {

// Factors true / predicted.
struct Band {
  double low = 1, high = 1;
  std::string from;  // "kernels 0.85 to 1.15 (dense CNN)"
};

// Kernel times of a model on a GPU. `calibrated`: with calibrate.single_gpu.
Band kernel_band(const Model& model, const GpuType& gpu, bool calibrated);

// One collective of so many bytes: its time may be this many times longer or shorter (both at least 1).
struct CollectiveBand {
  double longer = 1, shorter = 1;
};
CollectiveBand collective_band(PathClass path, std::int64_t bytes);

// The interval of a run that Points made; `run` has no not_run.
Expected<Uncertainty> uncertainty_of(const Run& run, Points& points);

}  // namespace lockstep
