// A module whose ops wait for a Pace instead of computing. Its parameters and buffers are the model's, and each
// parameter gets a real gradient, in the model's own order: what DDP does with them is real. Includes LibTorch.
#pragma once

#include "hwrunner/modules/torch_module.h"
#include "hwrunner/paced/pace.h"

namespace lockstep {

class PacedModule : public OpModule {
 public:
  PacedModule(std::shared_ptr<const Model> model, std::shared_ptr<Pace> pace);

  // One number, whatever the input: its backward pass runs through the model's parameters.
  std::vector<at::Tensor> outputs(const at::Tensor& input, const Observer& observer = {}) override;
  at::Tensor loss(const std::vector<at::Tensor>& outputs, const at::Tensor& labels) override;

 private:
  std::shared_ptr<Pace> pace_;
  std::vector<ParameterId> gradient_order_;
};

}  // namespace lockstep
