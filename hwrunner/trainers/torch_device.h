// What a trainer must know about the device that it computes on: CPUs here, GPUs in hwrunner/cuda. Includes LibTorch.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <memory>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "hwrunner/trainers/trainer.h"

namespace lockstep {

class OpModule;
class TorchDp;

// A point in the work given to a device: the time of the call on CPUs, an event in the current stream on GPUs.
struct DeviceMark {
  double host_s = 0;
  std::shared_ptr<void> event;
};

class TorchDevice {
 public:
  virtual ~TorchDevice() = default;
  TorchDevice() = default;
  TorchDevice(const TorchDevice&) = delete;
  TorchDevice& operator=(const TorchDevice&) = delete;

  // Of this rank, or of a replica of DataParallel; parameters lie on that of replica 0.
  virtual at::Device of_replica(int replica = 0) const = 0;
  // Work is queued and runs later than the call that asks for it.
  virtual bool asynchronous() const = 0;

  // May be called by any thread.
  virtual DeviceMark mark() = 0;
  // Seconds of this host's monotonic clock (monotonic_s); waits until the device has come to the mark.
  virtual double seconds(const DeviceMark& mark) = 0;
  // Waits until all work of all devices of this rank is done.
  virtual void synchronise() = 0;

  // A copy in host memory from which `copy_`, `to(device, non_blocking)` start; on CPUs there is one kind.
  virtual at::Tensor in_host_memory(const at::Tensor& values, bool pinned) = 0;
  // Of tensors on the devices, since the start; 0: the process's memory is all there is.
  virtual std::int64_t peak_memory_bytes() const = 0;

  // As make_gloo_group (torch_group.h), over what the device communicates with.
  virtual c10::intrusive_ptr<c10d::ProcessGroup> make_group(const GroupOptions& options,
                                                            const std::shared_ptr<Pace>& pace) = 0;
  // DataParallel on `replicas` devices; `base` is on that of replica 0. `threads`: of each replica's operators.
  virtual std::unique_ptr<TorchDp> make_data_parallel(std::shared_ptr<OpModule> base, int replicas, int threads) = 0;
};

// The CPUs of this process, with Gloo and the stand-in for DataParallel.
std::shared_ptr<TorchDevice> make_cpu_device();

}  // namespace lockstep
