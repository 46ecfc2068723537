#include "hwrunner/gpu/gpu_watch.h"

#include <chrono>
#include <utility>

namespace lockstep {
namespace {

constexpr std::chrono::milliseconds kInterval{200};  // a look takes some 0.1 ms of CPU time

}  // namespace

GpuWatch::GpuWatch(std::optional<Nvml> nvml, int index) : nvml_(std::move(nvml)), index_(index) {}

GpuWatch::~GpuWatch() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stop_asked_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void GpuWatch::start() {
  const std::lock_guard lock(mutex_);
  if (!nvml_ || std::exchange(started_, true)) return;
  thread_ = std::thread([this] { watch(); });
}

void GpuWatch::watch() {
  std::unique_lock lock(mutex_);
  do {
    lock.unlock();
    const NvmlSample sample = nvml_->sample(index_);
    lock.lock();
    summary_.add(sample);
  } while (!stop_asked_.wait_for(lock, kInterval, [this] { return stop_; }));
}

std::map<std::string, std::string> GpuWatch::facts() const {
  const std::lock_guard lock(mutex_);
  return summary_.facts();
}

std::vector<std::string> GpuWatch::warnings() const {
  const std::lock_guard lock(mutex_);
  const auto one = summary_.warning();
  return one ? std::vector<std::string>{*one} : std::vector<std::string>{};
}

}  // namespace lockstep
