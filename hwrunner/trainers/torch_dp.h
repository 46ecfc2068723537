// A stand-in for torch.nn.DataParallel on CPUs: its steps in its order (docs: what the simulator models as `dp`), with
// replicas on threads of one process. Memory is shared, so copies cross no PCIe or NVLink. Includes LibTorch.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "hwrunner/modules/torch_module.h"
#include "hwrunner/trainers/laps.h"
#include "hwrunner/trainers/trainer.h"

namespace lockstep {

class DpStandIn {
 public:
  // `base` is replica 0 and holds the parameters that the optimizer sees. `threads`: of each replica's operators.
  DpStandIn(std::shared_ptr<OpModule> base, int replicas, int threads);

  // Forward and backward of replicas x batch samples, loss divided by `micro_steps`; gradients are added to the base's.
  at::Tensor micro_step(const TensorBatch& batch, int micro_steps, Laps& laps, MeasuredStep& step);

 private:
  void replicate();
  void reduce_gradients();

  std::vector<std::shared_ptr<OpModule>> replicas_;
  int threads_;
};

}  // namespace lockstep
