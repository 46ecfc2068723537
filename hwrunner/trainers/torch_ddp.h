// DistributedDataParallel around a module, call by call what torch/nn/parallel/distributed.py does with the Reducer.
// Includes LibTorch.
#pragma once

#include <memory>
#include <mutex>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <vector>

#include "hwrunner/modules/torch_module.h"
#include "hwrunner/trainers/laps.h"
#include "hwrunner/trainers/torch_device.h"
#include "hwrunner/trainers/trainer.h"

namespace c10d {
class Logger;
class Reducer;
}  // namespace c10d

namespace lockstep {

// What the instrumenting hook writes down; Gloo's threads write too.
class BucketLog {
 public:
  struct Entry {
    MeasuredBucket times;  // index and bytes
    std::vector<std::size_t> parameters;
    DeviceMark ready, launch, end;
  };
  explicit BucketLog(std::shared_ptr<TorchDevice> device) : device_(std::move(device)) {}
  void clear();
  std::size_t started(Entry entry);
  void launched(std::size_t entry);
  void ended(std::size_t entry);
  std::vector<Entry> entries() const;

 private:
  std::shared_ptr<TorchDevice> device_;
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
};

class Ddp {
 public:
  // With options.device set.
  Ddp(OpModule& module, const TrainerOptions& options);
  ~Ddp();
  Ddp(const Ddp&) = delete;
  Ddp& operator=(const Ddp&) = delete;

  // Before the forward pass: new buckets once. `sync`: gradients of this pass will be reduced.
  void before_forward(bool sync);
  void broadcast_buffers();  // does nothing where that is switched off, or after a pass without sync
  // After it, with the module's outputs.
  void before_backward(const std::vector<at::Tensor>& outputs, bool sync);
  // In the first backward hook of a pass: what must happen when the engine is done.
  void queue_end_of_backward();
  void after_step();

  std::vector<MeasuredBucket> buckets(double step_start_s) const;  // instrumented
  std::vector<std::int64_t> bucket_bytes() const;
  std::map<std::string, std::string> log() const;

 private:
  void send_rank_0_state();
  void make_reducer(const TrainerOptions& options);
  void register_hook(const TrainerOptions& options);

  OpModule& module_;
  DdpOptions options_;
  std::shared_ptr<TorchDevice> device_;
  bool instrument_;
  bool broadcasts_next_ = true;  // require_forward_param_sync
  int synced_passes_ = 0;
  double backward_start_s_ = 0;
  std::vector<at::Tensor> parameters_;
  c10::intrusive_ptr<c10d::ProcessGroup> group_;
  std::shared_ptr<BucketLog> bucket_log_;
  std::shared_ptr<c10d::Reducer> reducer_;
  std::shared_ptr<c10d::Logger> logger_;
};

}  // namespace lockstep
