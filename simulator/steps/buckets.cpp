#include "simulator/steps/buckets.h"

#include <algorithm>
#include <limits>
#include <map>

#include "models/derived.h"

namespace lockstep {
namespace {

std::vector<ParameterId> registration_order(const Model& model) {
  std::vector<ParameterId> order;
  for (std::size_t p = 0; p < model.parameters.size(); ++p)
    if (model.parameters[p].used) order.push_back(static_cast<ParameterId>(p));
  return order;
}

// An explicit cap has had no small first bucket since torch 2.4 (pytorch/pytorch#121640); before, the first bucket
// stayed at 1 MiB whatever the cap.
std::vector<std::int64_t> limits_of(const DdpOptions& options, Version torch) {
  const std::int64_t cap = options.bucket_cap_bytes.value_or(kDefaultBucketCapBytes);
  const bool small_first = !options.bucket_cap_bytes || torch < Version{2, 4};
  const std::int64_t first = options.first_bucket_bytes.value_or(small_first ? kDefaultFirstBucketBytes : cap);
  return {first, cap};
}

}  // namespace

std::vector<Bucket> assign_buckets(const Model& model, const std::vector<ParameterId>& order,
                                   const std::vector<std::int64_t>& limits) {
  struct Open {
    Bucket bucket;
    std::size_t limit = 0;
  };
  std::map<DType, Open> open;
  std::vector<Bucket> closed;
  for (const auto id : order) {
    const Parameter& parameter = model.parameter(id);
    Open& o = open[parameter.dtype];
    o.bucket.parameters.push_back(id);
    o.bucket.bytes += parameter.bytes();
    if (o.bucket.bytes < limits[o.limit]) continue;
    closed.push_back(std::move(o.bucket));
    o.bucket = {};
    if (o.limit + 1 < limits.size()) ++o.limit;
  }
  for (auto& [dtype, o] : open)
    if (!o.bucket.parameters.empty()) closed.push_back(std::move(o.bucket));
  return closed;
}

BucketPhases bucket_phases(const Model& model, const DdpOptions& options, Version torch, bool autocast) {
  const auto limits = limits_of(options, torch);
  BucketPhases phases;
  if (options.find_unused_parameters && !options.static_graph) {
    // Never rebuilt: registration order, then the list reversed, so that the bucket of the last layers goes first.
    phases.initial = assign_buckets(model, registration_order(model), limits);
    std::reverse(phases.initial.begin(), phases.initial.end());
    phases.rebuilt = phases.initial;
    phases.is_rebuilt = false;
    return phases;
  }
  const auto ready_order = gradient_order(model, autocast);
  phases.rebuilt = assign_buckets(model, ready_order, limits);
  if (torch < Version{1, 12}) {  // before pytorch/pytorch#72843 the first step had buckets of the same limits
    auto reversed = registration_order(model);
    std::reverse(reversed.begin(), reversed.end());
    phases.initial = assign_buckets(model, reversed, limits);
  } else {
    phases.initial = assign_buckets(model, registration_order(model), {std::numeric_limits<std::int64_t>::max()});
  }
  return phases;
}

}  // namespace lockstep
