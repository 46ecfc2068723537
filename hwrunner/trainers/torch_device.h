// What a trainer must know about the device that it computes on: CPUs here, GPUs in hwrunner/cuda. Includes LibTorch.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <vector>

#include "hwrunner/trainers/laps.h"
#include "hwrunner/trainers/trainer.h"

namespace lockstep {

class OpModule;
class TorchDp;

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
  // In the callback of a collective: its end.
  virtual DeviceMark mark_of_collective() { return mark(); }
  // Seconds of this host's monotonic clock (monotonic_s); waits until the device has come to the mark.
  virtual double seconds(const DeviceMark& mark) = 0;
  // Waits until all work of all devices of this rank is done.
  virtual void synchronise() = 0;

  // A copy in host memory from which `copy_`, `to(device, non_blocking)` start; on CPUs there is one kind.
  virtual at::Tensor in_host_memory(const at::Tensor& values, bool pinned) = 0;
  // Of tensors on the devices, since the start; 0: the process's memory is all there is.
  virtual std::int64_t peak_memory_bytes() const = 0;

  // What was seen of it since the first mark: utilisation, clock, ... by the keys of nvml.h; and what a reader of the
  // results should know.
  virtual std::map<std::string, std::string> facts() const { return {}; }
  virtual std::vector<std::string> warnings() const { return {}; }

  // As make_gloo_group (torch_group.h), over what the device communicates with.
  virtual c10::intrusive_ptr<c10d::ProcessGroup> make_group(const GroupOptions& options,
                                                            const std::shared_ptr<Pace>& pace) = 0;
  // Dp or DpCpp on `replicas` devices; `base` is on that of replica 0. `threads`: of each replica's operators. Throws
  // what it cannot do.
  virtual std::unique_ptr<TorchDp> make_data_parallel(Strategy strategy, std::shared_ptr<OpModule> base, int replicas,
                                                      int threads) = 0;
};

// The CPUs of this process, with Gloo and the stand-in for DataParallel.
std::shared_ptr<TorchDevice> make_cpu_device();

}  // namespace lockstep
