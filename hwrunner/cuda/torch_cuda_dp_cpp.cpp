#include "hwrunner/cuda/torch_cuda_dp_cpp.h"

#include <ATen/Parallel.h>
#include <ATen/ThreadLocalState.h>
#include <torch/nn/parallel/data_parallel.h>

#include <mutex>
#include <stdexcept>
#include <utility>

#include "hwrunner/cuda/torch_one_tensor.h"

namespace lockstep {
namespace {

class CudaDpCpp : public TorchDp {
 public:
  CudaDpCpp(std::shared_ptr<OpModule> base, std::vector<at::Device> devices, int threads)
      : base_(std::move(base)), devices_(std::move(devices)) {
    if (base_->model().ops.back().inputs.size() != 1)
      throw std::invalid_argument("LibTorch's data_parallel gives one tensor, and this network has more outputs");
    at::set_num_threads(threads * static_cast<int>(devices_.size()));
  }

  at::Tensor micro_step(const TensorBatch& batch, int micro_steps, Laps& laps, MeasuredStep& step) override {
    std::vector<at::Tensor> outputs = {data_parallel(batch.input, laps, step)};
    at::Tensor loss;
    {
      const AmpOf cast(amp_);
      loss = base_->loss(outputs, batch.labels);
    }
    if (micro_steps > 1) loss = loss / micro_steps;
    laps.add_to(step.forward_s);
    (amp_ != nullptr ? amp_->scaled(loss) : loss).backward();
    laps.add_to(step.backward_s);
    return loss.detach();
  }

 private:
  // Laps are those of GPU 0: what it waits for others belongs to the gathering.
  at::Tensor data_parallel(const at::Tensor& input, Laps& laps, MeasuredStep& step) {
    bool scattered = false;
    std::once_flag replicated;
    const at::ThreadLocalState state;  // of this thread: a profiler that listens
    PassHooks hooks;
    hooks.before_clone = [&] {
      if (!std::exchange(scattered, true)) laps.add_to(step.scatter_s);
    };
    hooks.run_model = [&](OpModule& replica, const at::Tensor& part) {
      std::call_once(replicated, [&] { laps.add_to(step.replicate_s); });
      const at::ThreadLocalStateGuard same(state);
      const at::Tensor output = forward(replica, part).front();
      if (part.device() == devices_.front()) laps.add_to(step.forward_s);  // one thread alone
      return output;
    };
    const at::Tensor gathered =
        torch::nn::parallel::data_parallel(std::make_shared<OneTensorModule>(base_, hooks), input, devices_);
    laps.add_to(step.gather_s);
    return gathered;
  }

  std::shared_ptr<OpModule> base_;
  std::vector<at::Device> devices_;
};

}  // namespace

std::unique_ptr<TorchDp> make_cuda_dp_cpp(std::shared_ptr<OpModule> base, std::vector<at::Device> devices,
                                          int threads) {
  return std::make_unique<CudaDpCpp>(std::move(base), std::move(devices), threads);
}

}  // namespace lockstep
