// How much a training step slows down beside a kernel that holds k SMs and copies at r bytes per second: what NCCL's
// kernels do to the backward pass they overlap with. Plain C++.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "hwrunner/gpu/side_kernel.h"
#include "hwrunner/rank/rank.h"

namespace lockstep {

struct SlowdownOptions {
  std::vector<int> blocks = {1, 2, 4, 8, 16, 24, 32};
  std::vector<double> rates_bps = {0, 50e9, 200e9};
  int threads = 512;  // of a block
  int warm_up = 10, steps = 20;
};

// What the measurement needs of a side kernel: SideKernel, or a test's.
struct SideWork {
  std::function<tl::expected<void, Errors>(const SideLoad&)> start;
  std::function<Expected<SideRun>()> stop;
};

struct SlowdownRow {
  int blocks = 0;  // 0: nothing beside the step
  double asked_bps = 0, moved_bps = 0;
  double forward_s = 0, backward_s = 0, step_s = 0;  // medians
  double backward_ratio = 1;                         // over the mean of the rows before and after without a kernel
};

// The trainer's steps are instrumented ones (TrainedStep::parts), and it has been built and joined. First and last
// nothing runs beside them. Errors: of the kernel; what the trainer throws goes through.
Expected<std::vector<SlowdownRow>> measure_slowdown(RankTrainer& trainer, SideWork& kernel,
                                                    const SlowdownOptions& options);
// blocks,asked_bytes_per_s,moved_bytes_per_s,forward_s,backward_s,step_s,backward_ratio
std::string slowdown_csv(const std::vector<SlowdownRow>& rows);

}  // namespace lockstep
