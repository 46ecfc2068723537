// A Gloo process group over TCP. Includes LibTorch.
#pragma once

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "hwrunner/trainers/trainer.h"

namespace lockstep {

// What ranks meet at: the TCP store of rank 0, or of somebody else. Throws what c10d throws.
c10::intrusive_ptr<c10d::Store> make_group_store(const GroupOptions& options);

// Meets the other ranks at the store and waits until all are there (monitoredBarrier, which names those that are not).
// Throws what c10d and Gloo throw.
// `pace`: each all-reduce starts when it says and tells it its end.
c10::intrusive_ptr<c10d::ProcessGroup> make_gloo_group(const GroupOptions& options,
                                                       const std::shared_ptr<Pace>& pace = nullptr);

}  // namespace lockstep
