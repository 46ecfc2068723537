// Gradient buckets of DistributedDataParallel: PyTorch's compute_bucket_assignment_by_size and the limits and orders
// that it is given (torch/csrc/distributed/c10d/reducer.cpp, torch/nn/parallel/distributed.py).
#pragma once

#include <cstdint>
#include <vector>

#include "models/model.h"
#include "scenarios/scenario.h"

namespace lockstep {

struct Bucket {
  std::vector<ParameterId> parameters;  // in the order in which they were put in
  std::int64_t bytes = 0;
};

inline constexpr std::int64_t kDefaultFirstBucketBytes = 1048576;
inline constexpr std::int64_t kDefaultBucketCapBytes = 26214400;

// Closing rule: tensors in the given order; after adding one, a bucket that has reached the current limit closes and
// the next limit becomes current (the last one stays). One open bucket per dtype; what is left at the end closes last.
std::vector<Bucket> assign_buckets(const Model& model, const std::vector<ParameterId>& order,
                                   const std::vector<std::int64_t>& limits);

// Buckets in launch order.
struct BucketPhases {
  std::vector<Bucket> initial;  // of the first step (static_graph: of the first two)
  std::vector<Bucket> rebuilt;  // of every later step; equal to `initial` when never rebuilt
  bool is_rebuilt = true;
};
// `autocast`: mixed precision, which changes the order of gradients (models/derived.h) and with it the rebuilt buckets.
BucketPhases bucket_phases(const Model& model, const DdpOptions& options, Version torch, bool autocast = false);

}  // namespace lockstep
