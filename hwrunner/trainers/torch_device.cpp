#include "hwrunner/trainers/torch_device.h"

#include <stdexcept>

#include "hwrunner/trainers/torch_dp.h"
#include "hwrunner/trainers/torch_group.h"

namespace lockstep {
namespace {

class CpuDevice : public TorchDevice {
 public:
  at::Device of_replica(int) const override { return at::kCPU; }
  bool asynchronous() const override { return false; }
  DeviceMark mark() override { return {monotonic_s(), nullptr}; }
  double seconds(const DeviceMark& mark) override { return mark.host_s; }
  void synchronise() override {}
  at::Tensor in_host_memory(const at::Tensor& values, bool) override { return values.clone(); }
  std::int64_t peak_memory_bytes() const override { return 0; }
  c10::intrusive_ptr<c10d::ProcessGroup> make_group(const GroupOptions& options,
                                                    const std::shared_ptr<Pace>& pace) override {
    return make_gloo_group(options, pace);
  }
  std::unique_ptr<TorchDp> make_data_parallel(Strategy strategy, std::shared_ptr<OpModule> base, int replicas,
                                              int threads) override {
    if (strategy == Strategy::DpCpp) throw std::invalid_argument("LibTorch's data_parallel wants GPUs");
    return std::make_unique<DpStandIn>(std::move(base), replicas, threads);
  }
};

}  // namespace

Laps::Laps(TorchDevice& device) : device_(device), start_(device.mark()) {}

void Laps::add_to(double& sum) {
  add_to(sum, device_.mark());
}

void Laps::add_to(double& sum, DeviceMark now) {
  laps_.push_back({&sum, std::move(now)});
}

std::pair<double, double> Laps::finish() {
  const double start_s = device_.seconds(start_);
  double last_s = start_s;
  for (const Lap& lap : laps_) {
    const double now_s = device_.seconds(lap.end);
    *lap.sum += now_s - std::exchange(last_s, now_s);
  }
  laps_.clear();
  return {start_s, last_s};
}

std::shared_ptr<TorchDevice> make_cpu_device() {
  return std::make_shared<CpuDevice>();
}

}  // namespace lockstep
