// A DistributedDataParallel step written down from a page of numbers: forward, backward and optimizer as times, buckets
// as fractions of backward. No host work.
#pragma once

#include <vector>

#include "simulator/collectives/ring.h"
#include "simulator/steps/step_graph.h"

namespace lockstep::testing {

struct HandBucket {
  double ready_fraction;  // of backward, when its last gradient is there
  std::int64_t bytes;
  int tensors;
};

enum class HandOrder {
  Overlapped,     // each bucket as soon as it is ready
  AfterBackward,  // all copies in, all buckets, then all copies out
};

struct HandDdp {
  double broadcast_ms = 0, forward_ms = 0, backward_ms = 0, optimizer_ms = 0, wait_ms = 0;
  double copy_rate = 0;  // bytes/s; each byte is read and written
  double copy_per_tensor_us = 8, launch_us = 50, phi = 1.15;
  std::vector<HandBucket> buckets;
  Ring ring;
  HandOrder order = HandOrder::Overlapped;
};

StepGraph build(const HandDdp& hand);

// a 50 us, h 4.3 us; `border_us` per border crossing.
Ring hand_ring(int nodes, int ranks_per_node, double gigabytes_per_s, double border_us);

}  // namespace lockstep::testing
