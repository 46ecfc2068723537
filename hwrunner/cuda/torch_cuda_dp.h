// torch.nn.DataParallel on the GPUs of one process, with LibTorch's own pieces: coalesced broadcast and reduce by NCCL,
// scatter and gather by peer copies, one thread for each replica's forward pass. Includes LibTorch.
#pragma once

#include <memory>
#include <vector>

#include "hwrunner/modules/torch_module.h"
#include "hwrunner/trainers/torch_dp.h"

namespace lockstep {

// As in the Python module, a step is: the batch in pieces to the GPUs; parameters and buffers to all of them, in flat
// chunks of 10 MiB; the replicas' forward passes on threads; their outputs together on GPU 0; the loss there; one
// backward pass, each GPU's part on its own thread of the engine; gradients added up on GPU 0 in chunks of 10 MiB.
// What differs: replicas are made once and get new tensors, where Python makes the module objects anew; and gradients
// are reduced after the backward pass by a call, where Python does it in the last node of that pass.
class CudaDataParallel : public TorchDp {
 public:
  CudaDataParallel(std::shared_ptr<OpModule> base, std::vector<at::Device> devices, int threads);
  at::Tensor micro_step(const Batch& batch, int micro_steps, Laps& laps, MeasuredStep& step) override;

 private:
  std::vector<at::Tensor> scatter(const at::Tensor& input) const;
  void replicate();
  std::vector<at::Tensor> forward(const std::vector<at::Tensor>& inputs, Laps& laps, MeasuredStep& step);
  void reduce_gradients();

  std::shared_ptr<OpModule> base_;  // holds what the optimizer sees
  std::vector<at::Device> devices_;
  int threads_;
  std::vector<std::shared_ptr<OpModule>> replicas_;  // the first shares the base's memory
};

}  // namespace lockstep
