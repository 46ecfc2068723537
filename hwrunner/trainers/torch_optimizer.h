// Optimizers as torch.optim has them: one kernel for each parameter and operation (for-loop), multi-tensor operations
// (foreach), or one multi-tensor kernel (fused). Includes LibTorch.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

#include "hwrunner/trainers/trainer.h"

namespace lockstep {

class TorchOptimizer {
 public:
  TorchOptimizer(const TrainerOptions& options, std::vector<at::Tensor> parameters);
  void step();  // parameters without gradient are left alone
  // Fused: divides gradients by `grad_scale` where there is one, and does nothing where `found_inf` is not 0.
  void step(const at::Tensor& grad_scale, const at::Tensor& found_inf);
  bool fused() const;
  std::vector<at::Tensor> gradients() const;  // those that there are
  // The optimizer of Python lets go of gradients; LibTorch's zero_grad() would throw where they are views of buckets.
  void clear_gradients();

 private:
  struct Lists {
    std::vector<at::Tensor> parameters, gradients, first, second, steps;
  };
  Lists lists();
  void sgd(const Lists& l);
  void adam(const Lists& l);
  void fused(const Lists& l, const std::optional<at::Tensor>& grad_scale = {},
             const std::optional<at::Tensor>& found_inf = {});

  OptimizerKind kind_;
  OptimizerImplementation implementation_;
  double decay_;
  bool zero_in_place_;
  int done_ = 0;
  std::vector<at::Tensor> parameters_, first_, second_, steps_;
};

}  // namespace lockstep
