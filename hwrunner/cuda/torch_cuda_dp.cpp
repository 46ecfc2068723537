#include "hwrunner/cuda/torch_cuda_dp.h"

#include <ATen/Parallel.h>
#include <ATen/ThreadLocalState.h>
#include <ATen/core/grad_mode.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/csrc/autograd/functions/comm.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/csrc/cuda/comm.h>
#include <torch/csrc/cuda/nccl.h>
#include <torch/csrc/utils/tensor_flatten.h>

#include <exception>
#include <optional>
#include <thread>
#include <utility>

namespace lockstep {
namespace {

constexpr std::size_t kChunkBytes = 10 << 20;  // broadcast_coalesced's and reduce_add_coalesced's default

std::vector<std::int64_t> indices_of(const std::vector<at::Device>& devices) {
  std::vector<std::int64_t> indices;
  for (const at::Device& device : devices) indices.push_back(device.index());
  return indices;
}

// The tensors of `mine` become those of `theirs`: nothing is copied.
void take_over(const std::vector<at::Tensor>& mine, const std::vector<at::Tensor>& theirs) {
  for (std::size_t i = 0; i < mine.size(); ++i) mine[i].set_data(theirs[i].detach());
}

}  // namespace

CudaDataParallel::CudaDataParallel(std::shared_ptr<OpModule> base, std::vector<at::Device> devices, int threads)
    : base_(std::move(base)), devices_(std::move(devices)), threads_(threads) {
  if (devices_.size() == 1) return;  // DataParallel then calls the module itself
  for (const at::Device& device : devices_) {
    replicas_.push_back(std::dynamic_pointer_cast<OpModule>(base_->clone(device)));
    replicas_.back()->train(base_->is_training());
  }
  take_over(replicas_.front()->parameters_in_order(), base_->parameters_in_order());
  take_over(replicas_.front()->buffers_in_order(), base_->buffers_in_order());
}

// From GPU 0 by peer copies; from host memory to each GPU, on a stream of its own, for which the GPU's main stream
// waits.
std::vector<at::Tensor> CudaDataParallel::scatter(const at::Tensor& input) const {
  if (!input.is_cpu()) return torch::cuda::scatter(input, indices_of(devices_));
  std::vector<std::optional<at::cuda::CUDAStream>> streams;
  for (const at::Device& device : devices_)
    streams.emplace_back(at::cuda::getStreamFromPool(/*isHighPriority=*/false, device.index()));
  std::vector<at::Tensor> pieces = torch::cuda::scatter(input, indices_of(devices_), std::nullopt, 0, streams);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const c10::cuda::CUDAGuard guard(devices_[i]);
    const at::cuda::CUDAStream main = at::cuda::getCurrentCUDAStream(devices_[i].index());
    at::cuda::CUDAEvent copied;
    copied.record(*streams[i]);
    copied.block(main);
    pieces[i].record_stream(main);
  }
  return pieces;
}

void CudaDataParallel::replicate() {
  const at::NoGradGuard no_grad;
  const std::vector<std::int64_t> devices = indices_of(devices_);
  std::vector<at::Tensor> parameters;
  for (const at::Tensor& p : base_->parameters_in_order()) parameters.push_back(p.detach());
  const auto weights = torch::cuda::broadcast_coalesced(parameters, devices, kChunkBytes);
  for (std::size_t i = 1; i < replicas_.size(); ++i) take_over(replicas_[i]->parameters_in_order(), weights[i]);
  if (base_->buffers_in_order().empty()) return;
  const auto buffers = torch::cuda::broadcast_coalesced(base_->buffers_in_order(), devices, kChunkBytes);
  for (std::size_t i = 1; i < replicas_.size(); ++i) take_over(replicas_[i]->buffers_in_order(), buffers[i]);
}

// A new thread for each replica in each pass, as Python starts them; the first exception is rethrown.
std::vector<at::Tensor> CudaDataParallel::parallel_forward(const std::vector<at::Tensor>& inputs, Laps& laps,
                                                           MeasuredStep& step) {
  std::vector<std::vector<at::Tensor>> outputs(inputs.size());
  std::vector<std::exception_ptr> failed(inputs.size());
  std::vector<std::thread> threads;
  const at::ThreadLocalState state;  // of this thread: a profiler that listens
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        const at::ThreadLocalStateGuard same(state);
        at::set_num_threads(threads_);
        const c10::cuda::CUDAGuard guard(devices_[i]);
        outputs[i] = forward(*replicas_[i], inputs[i]);
      } catch (...) {
        failed[i] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& one : failed)
    if (one) std::rethrow_exception(one);
  laps.add_to(step.forward_s);

  std::vector<at::Tensor> gathered;
  for (std::size_t o = 0; o < outputs.front().size(); ++o) {
    torch::autograd::variable_list parts;
    for (const auto& mine : outputs) parts.push_back(mine[o]);
    const auto gather = std::make_shared<torch::autograd::Gather>(devices_.front());
    gathered.push_back(gather->apply(std::move(parts)).front());
  }
  laps.add_to(step.gather_s);
  return gathered;
}

// Chunk by chunk: each GPU's gradients flat, summed on GPU 0 by NCCL, and cut up again.
void CudaDataParallel::reduce_gradients() {
  const at::NoGradGuard no_grad;
  std::vector<std::size_t> with_gradient;
  for (std::size_t p = 0; p < base_->parameters_in_order().size(); ++p)
    if (replicas_.front()->parameters_in_order()[p].grad().defined()) with_gradient.push_back(p);
  std::vector<std::vector<torch::utils::TensorGroup>> chunks;  // of each replica
  std::vector<at::Tensor> order;
  for (const auto& replica : replicas_) {
    std::vector<at::Tensor> gradients;
    for (const std::size_t p : with_gradient) {
      at::Tensor parameter = replica->parameters_in_order()[p];
      gradients.push_back(parameter.grad());
      parameter.mutable_grad().reset();
    }
    chunks.push_back(torch::utils::take_tensors(gradients, kChunkBytes));
    if (order.empty()) order = std::move(gradients);
  }
  std::vector<at::Tensor> sums;
  for (std::size_t c = 0; c < chunks.front().size(); ++c) {
    std::vector<at::Tensor> flat;
    for (std::size_t i = 0; i < replicas_.size(); ++i) {
      const c10::cuda::CUDAGuard guard(devices_[i]);
      flat.push_back(torch::utils::flatten_dense_tensors(chunks[i][c].tensors));
    }
    const c10::cuda::CUDAGuard guard(devices_.front());
    at::Tensor sum = at::empty_like(flat.front());
    torch::cuda::nccl::reduce(flat, sum, 0);
    for (const at::Tensor& one : torch::utils::unflatten_dense_tensors(sum, chunks.front()[c].tensors))
      sums.push_back(one);
  }
  torch::utils::reorder_tensors_like(sums, order);  // a chunk holds one type
  for (std::size_t k = 0; k < sums.size(); ++k) {
    at::Tensor parameter = base_->parameters_in_order()[with_gradient[k]];
    if (parameter.grad().defined())
      parameter.mutable_grad().add_(sums[k]);
    else
      parameter.mutable_grad() = sums[k];
  }
}

at::Tensor CudaDataParallel::micro_step(const TensorBatch& batch, int micro_steps, Laps& laps, MeasuredStep& step) {
  std::vector<at::Tensor> outputs;
  if (replicas_.empty()) {
    outputs = forward(*base_, batch.input.to(devices_.front(), /*non_blocking=*/true));
  } else {
    const std::vector<at::Tensor> inputs = scatter(batch.input);
    laps.add_to(step.scatter_s);
    replicate();
    laps.add_to(step.replicate_s);
    outputs = parallel_forward(inputs, laps, step);
  }
  at::Tensor loss;
  {
    const AmpOf cast(amp_);
    loss = base_->loss(outputs, batch.labels);
  }
  if (micro_steps > 1) loss = loss / micro_steps;
  laps.add_to(step.forward_s);
  (amp_ != nullptr ? amp_->scaled(loss) : loss).backward();
  laps.add_to(step.backward_s);
  if (!replicas_.empty()) reduce_gradients();
  laps.add_to(step.gradient_reduce_s);
  return loss.detach();
}

}  // namespace lockstep
