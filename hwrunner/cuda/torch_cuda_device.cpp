#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#include <utility>

#include "hwrunner/cuda/cuda_device.h"
#include "hwrunner/cuda/cuda_facts.h"
#include "hwrunner/cuda/torch_cuda_dp.h"
#include "hwrunner/cuda/torch_cuda_dp_cpp.h"
#include "hwrunner/gpu/event_clock.h"
#include "hwrunner/gpu/gpu_watch.h"
#include "hwrunner/trainers/torch_device.h"
#include "hwrunner/trainers/torch_group.h"

namespace lockstep {
namespace {

// An event with a time. LibTorch's own class moved between versions.
class TimedEvent {
 public:
  TimedEvent() { C10_CUDA_CHECK(cudaEventCreate(&event_)); }
  ~TimedEvent() { cudaEventDestroy(event_); }
  TimedEvent(const TimedEvent&) = delete;
  TimedEvent& operator=(const TimedEvent&) = delete;

  void record(cudaStream_t stream) { C10_CUDA_CHECK(cudaEventRecord(event_, stream)); }
  bool reached() const {
    const cudaError_t status = cudaEventQuery(event_);
    if (status == cudaErrorNotReady) {
      cudaGetLastError();  // it counts as an error
      return false;
    }
    C10_CUDA_CHECK(status);
    return true;
  }
  double since(const TimedEvent& earlier) const {
    float milliseconds = 0;
    C10_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, earlier.event_, event_));
    return milliseconds * 1e-3;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

// What NCCL's process group reads from the environment, unless the user says otherwise: a collective that does not end
// or breaks is given up and reported, and the process lives on to say so; nothing is dumped, no thread watches the
// watchdog.
void set_nccl_environment() {
  for (const auto& [name, value] :
       {std::pair("TORCH_NCCL_ASYNC_ERROR_HANDLING", "2"), std::pair("TORCH_NCCL_DUMP_ON_TIMEOUT", "0"),
        std::pair("TORCH_NCCL_ENABLE_MONITORING", "0"), std::pair("TORCH_NCCL_PROPAGATE_ERROR", "0"),
        std::pair("TORCH_NCCL_TRACE_BUFFER_SIZE", "0"), std::pair("TORCH_FR_BUFFER_SIZE", "0")})
    ::setenv(name, value, 0);
}

// NVML counts GPUs by their place on the bus, CUDA by what it was allowed to see.
std::unique_ptr<GpuWatch> watch_of(int cuda_index) {
  const CudaFacts facts = cuda_facts();
  auto nvml = Nvml::open();
  std::optional<int> index;
  if (nvml && cuda_index < static_cast<int>(facts.pci_bus_ids.size()))
    index = nvml->index_of(facts.pci_bus_ids[static_cast<std::size_t>(cuda_index)]);
  if (!index) return std::make_unique<GpuWatch>(std::nullopt, 0);
  return std::make_unique<GpuWatch>(*std::move(nvml), *index);
}

class CudaDevice : public TorchDevice {
 public:
  explicit CudaDevice(const CudaDeviceOptions& options)
      : options_(options), first_(static_cast<c10::DeviceIndex>(options.first)), watch_(watch_of(options.first)) {
    c10::cuda::set_device(first_);
    for (int i = 0; i < options.devices; ++i) {
      const c10::cuda::CUDAGuard guard(of_replica(i));
      c10::cuda::device_synchronize();  // makes the context: not in the first step
    }
    auto start = std::make_shared<TimedEvent>();
    start->record(c10::cuda::getCurrentCUDAStream(first_));
    wait_for(*start);
    clock_ = std::make_unique<EventClock<TimedEvent>>(std::move(start), monotonic_s());
  }

  at::Device of_replica(int replica) const override {
    return {c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(options_.first + replica)};
  }
  bool asynchronous() const override { return true; }

  DeviceMark mark() override {
    const c10::cuda::CUDAGuard guard(first_);
    auto event = std::make_shared<TimedEvent>();
    event->record(c10::cuda::getCurrentCUDAStream(first_));
    watch_->start();
    return {0, std::move(event)};
  }

  // NCCL's callback runs with a stream that waits for it; Gloo's runs when the host is done, on a thread whose stream
  // is the one that computes.
  DeviceMark mark_of_collective() override { return options_.nccl ? mark() : DeviceMark{monotonic_s(), nullptr}; }

  double seconds(const DeviceMark& mark) override {
    if (!mark.event) return mark.host_s;
    const auto event = std::static_pointer_cast<TimedEvent>(mark.event);
    wait_for(*event);
    return clock_->seconds(event);
  }

  void synchronise() override {
    for (int i = 0; i < options_.devices; ++i) {
      const c10::cuda::CUDAGuard guard(of_replica(i));
      TimedEvent event;
      event.record(c10::cuda::getCurrentCUDAStream(of_replica(i).index()));
      wait_for(event);
    }
  }

  at::Tensor in_host_memory(const at::Tensor& values, bool pinned) override {
    const at::Tensor copy = values.detach().to(at::kCPU, /*non_blocking=*/false, /*copy=*/true);
    return pinned ? copy.pin_memory() : copy;
  }

  std::int64_t peak_memory_bytes() const override {
    constexpr std::size_t kAllPools = 0;  // StatType::AGGREGATE
    return c10::cuda::CUDACachingAllocator::getDeviceStats(first_).allocated_bytes[kAllPools].peak;
  }

  std::map<std::string, std::string> facts() const override { return watch_->facts(); }
  std::vector<std::string> warnings() const override { return watch_->warnings(); }

  c10::intrusive_ptr<c10d::ProcessGroup> make_group(const GroupOptions& options,
                                                    const std::shared_ptr<Pace>& pace) override {
    if (options_.nccl) return make_nccl_group(options);
    auto group = make_gloo_group(options, pace);
    group->setBackend(c10::DeviceType::CUDA, c10d::ProcessGroup::BackendType::GLOO,
                      group->getBackend(c10::DeviceType::CPU));
    return group;
  }

  std::unique_ptr<TorchDp> make_data_parallel(Strategy strategy, std::shared_ptr<OpModule> base, int replicas,
                                              int threads) override {
    std::vector<at::Device> devices;
    for (int i = 0; i < replicas; ++i) devices.push_back(of_replica(i));
    if (strategy == Strategy::DpCpp) return make_cuda_dp_cpp(std::move(base), std::move(devices), threads);
    auto made = std::make_unique<CudaDataParallel>(std::move(base), std::move(devices), threads);
    c10::cuda::CUDACachingAllocator::resetPeakStats(first_);  // GPU 0 held a second model for a moment
    return made;
  }

 private:
  // Not cudaEventSynchronize: a collective whose peer is gone never ends.
  void wait_for(const TimedEvent& event) const {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    while (!event.reached()) {
      const std::chrono::duration<double> waited = Clock::now() - start;
      if (waited.count() > options_.wait_s)
        throw std::runtime_error(fmt::format(
            "Timed out waiting {} s for the GPU: a collective whose other ranks do not come, or a step that "
            "takes this long",
            options_.wait_s));
      if (waited > std::chrono::microseconds(100)) std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }

  // NCCL only says that it waits: the store tells who did not come.
  static void meet(c10d::Store& store, const GroupOptions& options) {
    const auto key = [](int rank) { return fmt::format("joined/{}", rank); };
    store.set(key(options.rank), std::vector<std::uint8_t>{1});
    for (int rank = 0; rank < options.world; ++rank)
      store.wait({key(rank)}, std::chrono::milliseconds(static_cast<std::int64_t>(options.store_timeout_s * 1000)));
  }

  c10::intrusive_ptr<c10d::ProcessGroup> make_nccl_group(const GroupOptions& options) {
    set_nccl_environment();
    const auto store = make_group_store(options);
    meet(*store, options);
    const auto nccl = c10d::ProcessGroupNCCL::Options::create(/*is_high_priority_stream=*/false);
    // Later than wait_for, which has the better words.
    nccl->timeout = std::chrono::milliseconds(static_cast<std::int64_t>((options_.wait_s + 5) * 1000));
    const auto backend = c10::make_intrusive<c10d::ProcessGroupNCCL>(store, options.rank, options.world, nccl);
    const auto group = c10::make_intrusive<c10d::ProcessGroup>(store, options.rank, options.world);
    group->setDefaultBackend(c10d::ProcessGroup::BackendType::NCCL);
    group->setBackend(c10::DeviceType::CUDA, c10d::ProcessGroup::BackendType::NCCL, backend);
    backend->setBoundDeviceId(of_replica(0));
    group->setBoundDeviceId(of_replica(0));
    // Communicators are made by the first collective: here, not in the first step.
    std::vector<at::Tensor> one{at::ones({1}, at::TensorOptions().device(of_replica(0)))};
    group->allreduce(one)->wait();
    synchronise();
    if (one.front().item<float>() != static_cast<float>(options.world))
      throw std::runtime_error("NCCL's first all-reduce gave a wrong sum");
    return group;
  }

  CudaDeviceOptions options_;
  c10::DeviceIndex first_;
  std::unique_ptr<GpuWatch> watch_;
  std::unique_ptr<EventClock<TimedEvent>> clock_;
};

}  // namespace

std::shared_ptr<TorchDevice> make_cuda_device(const CudaDeviceOptions& options) {
  return std::make_shared<CudaDevice>(options);
}

}  // namespace lockstep
