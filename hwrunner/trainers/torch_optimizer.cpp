#include "hwrunner/trainers/torch_optimizer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_addcdiv.h>
#include <ATen/ops/_foreach_addcmul.h>
#include <ATen/ops/_foreach_div.h>
#include <ATen/ops/_foreach_lerp.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_sqrt.h>
#include <ATen/ops/_foreach_sub.h>
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>
#include <utility>

namespace lockstep {
namespace {

// Values have no influence on times; small enough that a network learns noise without running away.
constexpr double kRate = 1e-3, kMomentum = 0.9, kDecay = 1e-4, kBeta1 = 0.9, kBeta2 = 0.999, kEps = 1e-8;

bool is_adam(OptimizerKind kind) {
  return kind == OptimizerKind::Adam || kind == OptimizerKind::AdamW;
}

}  // namespace

TorchOptimizer::TorchOptimizer(const TrainerOptions& options, std::vector<at::Tensor> parameters)
    : kind_(options.optimizer),
      implementation_(options.optimizer_implementation),
      decay_(options.weight_decay ? kDecay : 0),
      zero_in_place_(options.zero_in_place),
      parameters_(std::move(parameters)) {
  for (const at::Tensor& p : parameters_) {
    if (is_adam(kind_) || kind_ == OptimizerKind::SgdMomentum) first_.push_back(at::zeros_like(p).detach());
    if (is_adam(kind_)) {
      second_.push_back(at::zeros_like(p).detach());
      steps_.push_back(at::zeros({}, p.options().dtype(at::kFloat)));  // where fused kernels want them
    }
  }
}

void TorchOptimizer::clear_gradients() {
  for (at::Tensor& p : parameters_) {
    if (!zero_in_place_) {
      p.mutable_grad().reset();
    } else if (p.grad().defined()) {
      const at::NoGradGuard no_grad;
      p.mutable_grad().zero_();
    }
  }
}

TorchOptimizer::Lists TorchOptimizer::lists() {
  Lists l;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (!parameters_[i].grad().defined()) continue;
    l.parameters.push_back(parameters_[i]);
    l.gradients.push_back(parameters_[i].grad());
    if (!first_.empty()) l.first.push_back(first_[i]);
    if (!second_.empty()) l.second.push_back(second_[i]);
    if (!steps_.empty()) l.steps.push_back(steps_[i]);
  }
  return l;
}

void TorchOptimizer::step() {
  if (kind_ == OptimizerKind::None) return;
  const at::NoGradGuard no_grad;
  const Lists all = lists();
  if (all.parameters.empty()) return;
  ++done_;
  if (implementation_ == OptimizerImplementation::Fused) return fused(all);
  const bool one_by_one = implementation_ == OptimizerImplementation::ForLoop;
  const std::size_t groups = one_by_one ? all.parameters.size() : 1;
  for (std::size_t g = 0; g < groups; ++g) {
    Lists l = all;
    if (one_by_one) {
      const auto only = [g](const std::vector<at::Tensor>& list) {
        return list.empty() ? list : std::vector<at::Tensor>{list[g]};
      };
      l = {only(all.parameters), only(all.gradients), only(all.first), only(all.second), only(all.steps)};
    }
    is_adam(kind_) ? adam(l) : sgd(l);
  }
}

bool TorchOptimizer::fused() const {
  return kind_ != OptimizerKind::None && implementation_ == OptimizerImplementation::Fused;
}

void TorchOptimizer::step(const at::Tensor& grad_scale, const at::Tensor& found_inf) {
  const at::NoGradGuard no_grad;
  const Lists all = lists();
  if (all.parameters.empty()) return;
  ++done_;
  fused(all, grad_scale.defined() ? std::optional(grad_scale) : std::nullopt, found_inf);
}

std::vector<at::Tensor> TorchOptimizer::gradients() const {
  std::vector<at::Tensor> list;
  for (const at::Tensor& p : parameters_)
    if (p.grad().defined()) list.push_back(p.grad());
  return list;
}

// As torch/optim/sgd.py, _multi_tensor_sgd.
void TorchOptimizer::sgd(const Lists& l) {
  std::vector<at::Tensor> gradients = l.gradients;
  if (decay_ > 0) gradients = at::_foreach_add(l.gradients, l.parameters, decay_);
  if (kind_ == OptimizerKind::SgdMomentum) {
    at::_foreach_mul_(l.first, kMomentum);
    at::_foreach_add_(l.first, gradients, 1);
    gradients = l.first;
  }
  at::_foreach_add_(l.parameters, gradients, -kRate);
}

// As torch/optim/adam.py, _multi_tensor_adam without amsgrad.
void TorchOptimizer::adam(const Lists& l) {
  std::vector<at::Tensor> gradients = l.gradients;
  if (decay_ > 0 && kind_ == OptimizerKind::AdamW) at::_foreach_mul_(l.parameters, 1 - kRate * decay_);
  if (decay_ > 0 && kind_ == OptimizerKind::Adam) gradients = at::_foreach_add(l.gradients, l.parameters, decay_);
  at::_foreach_lerp_(l.first, gradients, 1 - kBeta1);
  at::_foreach_mul_(l.second, kBeta2);
  at::_foreach_addcmul_(l.second, gradients, gradients, 1 - kBeta2);
  const double first = 1 - std::pow(kBeta1, done_), second = 1 - std::pow(kBeta2, done_);
  std::vector<at::Tensor> deviations = at::_foreach_sqrt(l.second);
  at::_foreach_div_(deviations, std::sqrt(second));
  at::_foreach_add_(deviations, kEps);
  at::_foreach_addcdiv_(l.parameters, l.first, deviations, -kRate / first);
}

void TorchOptimizer::fused(const Lists& l, const std::optional<at::Tensor>& grad_scale,
                           const std::optional<at::Tensor>& found_inf) {
  if (!is_adam(kind_)) {
    const double momentum = kind_ == OptimizerKind::SgdMomentum ? kMomentum : 0;
    at::_fused_sgd_(l.parameters, l.gradients, l.first, decay_, momentum, kRate, 0, false, false, done_ == 1,
                    grad_scale, found_inf);
    return;
  }
  at::_foreach_add_(l.steps, 1);
  if (found_inf)
    at::_foreach_sub_(l.steps,
                      std::vector<at::Tensor>(l.steps.size(), *found_inf));  // a step that is skipped does not count
  const auto update = [&](auto function) {
    function(l.parameters, l.gradients, l.first, l.second, std::vector<at::Tensor>{}, l.steps);
  };
  if (kind_ == OptimizerKind::Adam) {
    update([&](auto&&... lists) {
      at::_fused_adam_(lists..., kRate, kBeta1, kBeta2, decay_, kEps, false, false, grad_scale, found_inf);
    });
  } else {
    update([&](auto&&... lists) {
      at::_fused_adamw_(lists..., kRate, kBeta1, kBeta2, decay_, kEps, false, false, grad_scale, found_inf);
    });
  }
}

}  // namespace lockstep
