// Cuts a step into laps of the device's clock that add up to it. Includes LibTorch.
#pragma once

#include <chrono>
#include <utility>
#include <vector>

#include "hwrunner/trainers/torch_device.h"

namespace lockstep {

// Seconds of the monotonic clock.
inline double monotonic_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Sums are named while the work is given to the device and grow when the device is through with it: in finish().
class Laps {
 public:
  explicit Laps(TorchDevice& device) : device_(device), start_(device.mark()) {}

  // The work since the last lap belongs to `sum`, which must live until finish().
  void add_to(double& sum) { add_to(sum, device_.mark()); }
  void add_to(double& sum, DeviceMark now) { laps_.push_back({&sum, std::move(now)}); }

  // Waits for the last mark; gives when the first lap started and when the last one ended.
  std::pair<double, double> finish() {
    const double start_s = device_.seconds(start_);
    double last_s = start_s;
    for (const Lap& lap : laps_) {
      const double now_s = device_.seconds(lap.end);
      *lap.sum += now_s - std::exchange(last_s, now_s);
    }
    laps_.clear();
    return {start_s, last_s};
  }

 private:
  struct Lap {
    double* sum;
    DeviceMark end;
  };
  TorchDevice& device_;
  DeviceMark start_;
  std::vector<Lap> laps_;
};

}  // namespace lockstep
