// Cuts a step into laps of the device's clock that add up to it. Plain C++.
#pragma once

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

namespace lockstep {

class TorchDevice;

// Seconds of the monotonic clock.
inline double monotonic_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// A point in the work given to a device: the time of the call on CPUs, an event in the current stream on GPUs.
struct DeviceMark {
  double host_s = 0;
  std::shared_ptr<void> event;
};

// Sums are named while the work is given to the device and grow when the device is through with it: in finish().
class Laps {
 public:
  explicit Laps(TorchDevice& device);

  // The work since the last lap belongs to `sum`, which must live until finish().
  void add_to(double& sum);
  void add_to(double& sum, DeviceMark now);

  // Waits for the last mark; gives when the first lap started and when the last one ended.
  std::pair<double, double> finish();

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
