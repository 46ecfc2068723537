// torch::nn::parallel::data_parallel of LibTorch (torch/nn/parallel/data_parallel.h) on the GPUs of one process, called
// as it is. Includes LibTorch.
#pragma once

#include <c10/core/Device.h>

#include <memory>
#include <vector>

#include "hwrunner/modules/torch_module.h"
#include "hwrunner/trainers/torch_dp.h"

namespace lockstep {

// Another algorithm than torch.nn.DataParallel (torch_cuda_dp.h) in spite of the same steps:
// - the batch is scattered on the GPUs' main streams, also from host memory;
// - each replica, that of GPU 0 too, is a deep copy made anew in every pass, one copy for each tensor, without NCCL; so
//   the running statistics of batch norms stay where they were;
// - forward passes run on the pool of operator threads: `threads` for each replica, or one after the other if that is
//   one in all;
// - a parameter's gradients are added up on GPU 0, replica after replica, as soon as the last of them is there: within
//   the backward pass, of which they are part here.
// `base`, on devices[0], holds what the optimizer sees; its loss has one input. Two devices or more, none twice. Throws
// std::invalid_argument when the loss has more inputs.
std::unique_ptr<TorchDp> make_cuda_dp_cpp(std::shared_ptr<OpModule> base, std::vector<at::Device> devices, int threads);

}  // namespace lockstep
