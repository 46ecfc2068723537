// A PointSource with times that a person can add up in the head, for what the answers make of points. Not a model.
//   forward 0.3 ms and backward 0.7 ms per sample and micro-step, times the kernel factor
//   host bound: 4 ms times the host factor / 0.8
//   copy to device: 20 ms from pageable, 5 ms from pinned memory, nothing when the batch is on the device
//   dp on n > 1 GPUs:  gradient reduce 60 ms x 300 GB/s / nvlink.rate
//   ddp on n > 1 GPUs: exposed all-reduce 30 ms x 300 GB/s / nvlink.rate, half of that with bucket_cap 10 MiB
//   memory: 0.5 GiB per sample of a micro-step
#pragma once

#include "simulator/answers/points.h"

namespace lockstep::testing {

struct FakeMachine {
  int runs = 0;
  std::vector<PointInputs> asked;
  std::optional<Strategy> dies_in;  // a RunFailed error for this strategy
  KernelCalibration calibration;
  double calibrated_step_s = 0;  // what calibrate was asked to match

  PointSource source();

 private:
  Expected<Run> run(const PointInputs& inputs, const PointOptions& options);
};

// A scenario on a dgx-a100-80gb; `more` is added below its required keys.
Inputs inputs_of(const std::string& more = "", const std::vector<std::string>& sets = {});

}  // namespace lockstep::testing
