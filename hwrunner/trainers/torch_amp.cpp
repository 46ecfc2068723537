#include "hwrunner/trainers/torch_amp.h"

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale.h>
#include <ATen/ops/_amp_update_scale.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

namespace lockstep {
namespace {

constexpr double kMaxNorm = 1;  // no influence on times; as the Python front end

}  // namespace

GradScaler::GradScaler(const Settings& settings, at::Device device)
    : settings_(settings),
      scale_(at::full({}, settings.initial_scale, at::TensorOptions(at::kFloat).device(device))),
      good_steps_(at::zeros({}, at::TensorOptions(at::kInt).device(device))),
      found_inf_(at::zeros({}, at::TensorOptions(at::kFloat).device(device))) {}

// Multiplies by the factor, and remembers whether a gradient was not finite.
void GradScaler::look_at(const std::vector<at::Tensor>& gradients, const at::Tensor& factor) {
  const at::NoGradGuard no_grad;
  found_inf_.zero_();
  if (!gradients.empty()) at::_amp_foreach_non_finite_check_and_unscale_(gradients, found_inf_, factor);
}

void GradScaler::unscale(const std::vector<at::Tensor>& gradients) {
  if (unscaled_) return;
  look_at(gradients, scale_.to(at::kDouble).reciprocal().to(at::kFloat));
  unscaled_ = true;
}

void GradScaler::step(TorchOptimizer& optimizer) {
  if (optimizer.fused()) {
    if (!unscaled_) look_at(optimizer.gradients(), at::ones_like(scale_));
    optimizer.step(unscaled_ ? at::Tensor() : scale_, found_inf_);
    return;
  }
  unscale(optimizer.gradients());
  if (found_inf_.item<double>() == 0) optimizer.step();
}

void GradScaler::update() {
  at::_amp_update_scale_(scale_, good_steps_, found_inf_, settings_.growth_factor, settings_.backoff_factor,
                         settings_.growth_interval);
  unscaled_ = false;
}

at::Tensor clip_grad_norm(const std::vector<at::Tensor>& gradients, double max_norm) {
  if (gradients.empty()) return at::zeros({});
  const at::NoGradGuard no_grad;
  const at::Tensor norm = at::linalg_vector_norm(at::stack(at::_foreach_norm(gradients, 2)), 2);
  at::_foreach_mul_(gradients, norm.add(1e-6).reciprocal().mul(max_norm).clamp_max(1));
  return norm;
}

Amp::Amp(const TrainerOptions& options, at::Device device)
    : device_(device.type()), clip_(options.clip_grad_norm), optimizes_(options.optimizer != OptimizerKind::None) {
  if (options.precision == Precision::AmpBf16) cast_to_ = at::kBFloat16;
  if (options.precision == Precision::AmpFp16) cast_to_ = at::kHalf;
  if (options.precision == Precision::AmpFp16) scaler_.emplace(device);
  if (!device.is_cuda()) return;
  const bool tf32 = options.precision == Precision::Tf32;
  if (tf32 || options.tf32_conv != Switch::Auto)
    at::globalContext().setAllowTF32CuDNN(tf32 || options.tf32_conv == Switch::On);
  if (tf32 || options.tf32_matmul != Switch::Auto)
    at::globalContext().setAllowTF32CuBLAS(tf32 || options.tf32_matmul == Switch::On);
}

Amp::Guard::Guard(const Amp& amp) {
  if (!amp.cast_to_) return;
  device_ = amp.device_;
  before_ = at::autocast::is_autocast_enabled(*device_);
  at::autocast::set_autocast_enabled(*device_, true);
  at::autocast::set_autocast_dtype(*device_, *amp.cast_to_);
  at::autocast::increment_nesting();
}

// As torch.autocast.__exit__: the casts of weights are kept for one forward pass.
Amp::Guard::~Guard() {
  if (!device_) return;
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(*device_, before_);
}

void Amp::step(TorchOptimizer& optimizer) {
  if (clip_) {
    const std::vector<at::Tensor> gradients = optimizer.gradients();
    if (scaler_ && optimizes_) scaler_->unscale(gradients);
    clip_grad_norm(gradients, kMaxNorm);
  }
  if (!scaler_) return optimizer.step();
  if (!optimizes_) return;
  scaler_->step(optimizer);
  scaler_->update();
}

}  // namespace lockstep
