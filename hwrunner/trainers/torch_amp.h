// Number formats of a training step as torch.amp has them: autocast around the forward pass, the scaler of fp16
// gradients, and clipping. Includes LibTorch.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <optional>
#include <string>
#include <vector>

#include "hwrunner/trainers/torch_optimizer.h"
#include "scenarios/scenario.h"

namespace lockstep {

// torch.amp.GradScaler, call by call: the loss is multiplied by `scale`; before the optimizer gradients are divided by
// it; a step whose gradients hold an infinity or a NaN is skipped and halves the scale (backoff_factor); after
// `growth_interval` steps without one it doubles (growth_factor).
class GradScaler {
 public:
  // PyTorch's defaults.
  struct Settings {
    double initial_scale = 65536, growth_factor = 2, backoff_factor = 0.5;
    std::int64_t growth_interval = 2000;
  };
  GradScaler(const Settings& settings, at::Device device);
  explicit GradScaler(at::Device device) : GradScaler(Settings(), device) {}

  at::Tensor scaled(const at::Tensor& loss) const { return loss.mul(scale_); }
  // Divides gradients by the scale, once in a step: a second call does nothing.
  void unscale(const std::vector<at::Tensor>& gradients);
  // Unscales unless that was done, then steps unless a gradient was not finite, which the host waits to hear. Fused
  // optimizers do both themselves, without that wait.
  void step(TorchOptimizer& optimizer);
  // At the end of a step: the next one's scale.
  void update();

  double scale() const { return scale_.item<double>(); }

 private:
  void look_at(const std::vector<at::Tensor>& gradients, const at::Tensor& factor);

  Settings settings_;
  at::Tensor scale_, good_steps_, found_inf_;
  bool unscaled_ = false;
};

// torch.nn.utils.clip_grad_norm_ with its foreach path: gradients are multiplied by max_norm / (norm + 1e-6) where that
// is below 1; norm: the Euclidean one of all of them together, which is returned. The host waits for nothing.
at::Tensor clip_grad_norm(const std::vector<at::Tensor>& gradients, double max_norm);

// What a scenario's precision and clipping do to a step.
class Amp {
 public:
  // Also sets the two TF32 switches of a GPU (`tf32`: both on).
  Amp(const TrainerOptions& options, at::Device device);

  // While it lives, the ops of this thread that autocast knows are cast.
  class Guard {
   public:
    explicit Guard(const Amp& amp);
    ~Guard();
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    std::optional<c10::DeviceType> device_;
    bool before_ = false;
  };

  at::Tensor scaled(const at::Tensor& loss) const { return scaler_ ? scaler_->scaled(loss) : loss; }
  void step(TorchOptimizer& optimizer);
  std::optional<double> scale() const { return scaler_ ? std::optional(scaler_->scale()) : std::nullopt; }

 private:
  c10::DeviceType device_;
  std::optional<at::ScalarType> cast_to_;
  bool clip_, optimizes_;
  std::optional<GradScaler> scaler_;
};

// The guard of an Amp that may not be there.
struct AmpOf {
  explicit AmpOf(const Amp* amp) {
    if (amp != nullptr) guard.emplace(*amp);
  }
  std::optional<Amp::Guard> guard;
};

}  // namespace lockstep
