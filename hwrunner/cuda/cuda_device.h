// GPUs as the device of a trainer (hwrunner/trainers/torch_device.h): CUDA streams and events, NCCL, DataParallel.
// Plain C++.
#pragma once

#include <memory>

namespace lockstep {

class TorchDevice;

struct CudaDeviceOptions {
  int first = 0;       // CUDA's index of the rank's GPU, or of DataParallel's GPU 0
  int devices = 1;     // of DataParallel: first, first + 1, ...
  bool nccl = true;    // false: Gloo between GPUs, through host memory
  double wait_s = 60;  // for the GPU to come to a mark, before the wait is an error
};

// The GPUs must be there (cuda_facts). Throws what LibTorch throws.
std::shared_ptr<TorchDevice> make_cuda_device(const CudaDeviceOptions& options);

}  // namespace lockstep
