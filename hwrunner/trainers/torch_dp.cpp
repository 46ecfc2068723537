#include "hwrunner/trainers/torch_dp.h"

#include <ATen/Parallel.h>
#include <ATen/ThreadLocalState.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/cat.h>
#include <torch/csrc/autograd/autograd.h>

#include <exception>
#include <functional>
#include <thread>
#include <utility>

namespace lockstep {
namespace {

// A new thread for each replica, as DataParallel starts them in each forward pass; the first exception is rethrown.
void on_threads(std::size_t count, int operator_threads, const std::function<void(std::size_t)>& f) {
  std::vector<std::exception_ptr> failed(count);
  std::vector<std::thread> threads;
  const at::ThreadLocalState state;  // of this thread: a profiler that listens
  for (std::size_t i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      try {
        const at::ThreadLocalStateGuard same(state);
        at::set_num_threads(operator_threads);
        f(i);
      } catch (...) {
        failed[i] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& one : failed)
    if (one) std::rethrow_exception(one);
}

}  // namespace

DpStandIn::DpStandIn(std::shared_ptr<OpModule> base, int replicas, int threads) : threads_(threads) {
  replicas_.push_back(std::move(base));
  while (static_cast<int>(replicas_.size()) < replicas) {
    replicas_.push_back(std::dynamic_pointer_cast<OpModule>(replicas_.front()->clone()));
    replicas_.back()->train(replicas_.front()->is_training());
  }
}

void DpStandIn::replicate() {
  const at::NoGradGuard no_grad;
  for (std::size_t i = 1; i < replicas_.size(); ++i) {
    at::_foreach_copy_(replicas_[i]->parameters_in_order(), replicas_.front()->parameters_in_order());
    if (replicas_[i]->buffers_in_order().empty()) continue;
    at::_foreach_copy_(replicas_[i]->buffers_in_order(), replicas_.front()->buffers_in_order());
  }
}

void DpStandIn::reduce_gradients() {
  const at::NoGradGuard no_grad;
  for (std::size_t i = 1; i < replicas_.size(); ++i) {
    std::vector<at::Tensor> sums, addends;
    for (std::size_t p = 0; p < replicas_[i]->parameters_in_order().size(); ++p) {
      at::Tensor parameter = replicas_[i]->parameters_in_order()[p];
      if (!parameter.grad().defined()) continue;
      sums.push_back(replicas_.front()->parameters_in_order()[p].grad());
      addends.push_back(parameter.grad());
      parameter.mutable_grad().reset();
    }
    if (!sums.empty()) at::_foreach_add_(sums, addends);
  }
}

// Python takes its lock to launch an op and lets go of it while the op computes: here the lock is held for a while
// before each op but the first of a pass.
std::vector<at::Tensor> TorchDp::forward(OpModule& replica, const at::Tensor& input) {
  const AmpOf cast(amp_);
  if (gil_hold_s_ <= 0) return replica.outputs(input);
  return replica.outputs(input, [this](std::size_t, const at::Tensor&) {
    const std::lock_guard lock(gil_);
    const double until = monotonic_s() + gil_hold_s_;
    while (monotonic_s() < until) {
    }
  });
}

at::Tensor DpStandIn::micro_step(const TensorBatch& batch, int micro_steps, Laps& laps, MeasuredStep& step) {
  const std::size_t n = replicas_.size();
  const std::int64_t each = batch.input.size(0) / static_cast<std::int64_t>(n);
  std::vector<at::Tensor> inputs;
  for (std::size_t i = 0; i < n; ++i)
    inputs.push_back(batch.input.narrow(0, static_cast<std::int64_t>(i) * each, each).clone());
  laps.add_to(step.scatter_s);
  replicate();
  laps.add_to(step.replicate_s);

  std::vector<std::vector<at::Tensor>> outputs(n);
  on_threads(n, threads_, [&](std::size_t i) { outputs[i] = forward(*replicas_[i], inputs[i]); });
  laps.add_to(step.forward_s);
  std::vector<at::Tensor> gathered;
  for (std::size_t o = 0; o < outputs.front().size(); ++o) {
    std::vector<at::Tensor> parts;
    for (const auto& mine : outputs) parts.push_back(mine[o].detach());
    gathered.push_back(at::cat(parts, 0).requires_grad_(true));
  }
  laps.add_to(step.gather_s);
  at::Tensor loss;
  {
    const AmpOf cast(amp_);
    loss = replicas_.front()->loss(gathered, batch.labels);
  }
  if (micro_steps > 1) loss = loss / micro_steps;
  laps.add_to(step.forward_s);

  // The engine runs CPU work on the calling thread: one call for each replica makes them parallel.
  (amp_ != nullptr ? amp_->scaled(loss) : loss).backward();
  on_threads(n, threads_, [&](std::size_t i) {
    std::vector<at::Tensor> gradients;
    const std::int64_t start = static_cast<std::int64_t>(i) * outputs[i].front().size(0);
    for (std::size_t o = 0; o < gathered.size(); ++o)
      gradients.push_back(gathered[o].grad().narrow(0, start, outputs[i][o].size(0)));
    torch::autograd::backward(outputs[i], gradients);
  });
  laps.add_to(step.backward_s);
  reduce_gradients();
  laps.add_to(step.gradient_reduce_s);
  return loss.detach();
}

}  // namespace lockstep
