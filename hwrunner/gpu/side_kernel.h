// A kernel of ours that keeps part of a GPU busy beside other work, as NCCL's kernels do: k blocks that stay, and copy
// within the GPU's memory at a given rate. Compiled at run time by NVRTC and started through the CUDA driver, both
// opened at run time: no build needs nvcc. Plain C++, no CUDA headers. SI units.
#pragma once

#include <memory>
#include <string>

#include "simulator/base/error.h"

namespace lockstep {

struct SideLoad {
  int blocks = 1;     // where nothing else is in the way each takes an SM of its own
  int threads = 512;  // of a block, up to 1024
  double rate_bps =
      0;  // bytes per second, of all blocks together: each is read once and written once; 0: they only stay
  double most_s = 60;  // then it ends by itself, so that nothing hangs on it
};

struct SideRun {
  double moved_bytes = 0, duration_s = 0;
};

class SideKernel {
 public:
  // In CUDA's primary context of the device, which LibTorch uses too. Errors (RunFailed): NVRTC or the driver is
  // missing or refuses, in the words of the library.
  static Expected<SideKernel> make(int device);
  SideKernel(SideKernel&&) noexcept;
  SideKernel& operator=(SideKernel&&) noexcept;
  ~SideKernel();

  // On a stream of its own. While it runs, nothing may wait for the whole device, and no kernel may run for the first
  // time in the process (loading one waits for the device): that would last until most_s.
  tl::expected<void, Errors> start(const SideLoad& load);
  // Ends it and waits for that.
  Expected<SideRun> stop();

 private:
  struct Driver;
  explicit SideKernel(std::unique_ptr<Driver> driver);
  std::unique_ptr<Driver> driver_;
};

// The kernel for `architecture` ("compute_80") as PTX. Needs NVRTC but no GPU.
Expected<std::string> compile_side_kernel(const std::string& architecture);

}  // namespace lockstep
