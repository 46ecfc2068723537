// A stand-in for torch.nn.DataParallel on CPUs: its steps in its order (docs: what the simulator models as `dp`), with
// replicas on threads of one process. Memory is shared, so copies cross no PCIe or NVLink. Includes LibTorch.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <mutex>
#include <vector>

#include "hwrunner/modules/torch_module.h"
#include "hwrunner/trainers/laps.h"
#include "hwrunner/trainers/torch_amp.h"
#include "hwrunner/trainers/trainer.h"

namespace lockstep {

// One of the two makes gradients of replicas x batch samples: this stand-in, or DataParallel on GPUs (hwrunner/cuda).
class TorchDp {
 public:
  virtual ~TorchDp() = default;
  TorchDp() = default;
  TorchDp(const TorchDp&) = delete;
  TorchDp& operator=(const TorchDp&) = delete;

  // Forward and backward of replicas x batch samples, loss divided by `micro_steps`; gradients are added to the base's.
  virtual at::Tensor micro_step(const TensorBatch& batch, int micro_steps, Laps& laps, MeasuredStep& step) = 0;

  // Forward passes run under amp's guard in each replica's thread; the loss is scaled before it goes back.
  void set_amp(const Amp* amp) { amp_ = amp; }
  // What a replica holds for each op: the lock of all replicas, for so long.
  void set_gil(double hold_s) { gil_hold_s_ = hold_s; }

 protected:
  // In the replica's thread.
  std::vector<at::Tensor> forward(OpModule& replica, const at::Tensor& input);

  const Amp* amp_ = nullptr;
  double gil_hold_s_ = 0;
  std::mutex gil_;
};

class DpStandIn : public TorchDp {
 public:
  // `base` is replica 0 and holds the parameters that the optimizer sees. `threads`: of each replica's operators.
  DpStandIn(std::shared_ptr<OpModule> base, int replicas, int threads);

  at::Tensor micro_step(const TensorBatch& batch, int micro_steps, Laps& laps, MeasuredStep& step) override;

 private:
  void replicate();
  void reduce_gradients();

  std::vector<std::shared_ptr<OpModule>> replicas_;
  int threads_;
};

}  // namespace lockstep
