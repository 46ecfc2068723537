// A network as LibTorch's data_parallel wants its module: it can be cloned, and makes one tensor of one. Includes
// LibTorch, but not CUDA.
#pragma once

#include <torch/nn/module.h>

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "hwrunner/modules/torch_module.h"

namespace lockstep {

// Where data_parallel passes by.
struct PassHooks {
  std::function<void()> before_clone;                                       // by the thread that called it
  std::function<at::Tensor(OpModule&, const at::Tensor& input)> run_model;  // by any thread of the pool
};

// Lives as long as one pass, and `hooks` as long as it. A clone has a deep copy of the model.
class OneTensorModule : public torch::nn::Module {
 public:
  OneTensorModule(std::shared_ptr<OpModule> model, const PassHooks& hooks)
      : model_(register_module("model", std::move(model))), hooks_(hooks) {}

  std::shared_ptr<torch::nn::Module> clone(const std::optional<at::Device>& device) const override {
    hooks_.before_clone();
    return std::make_shared<OneTensorModule>(std::dynamic_pointer_cast<OpModule>(model_->clone(device)), hooks_);
  }
  at::Tensor forward(const at::Tensor& input) { return hooks_.run_model(*model_, input); }

 private:
  std::shared_ptr<OpModule> model_;
  const PassHooks& hooks_;
};

}  // namespace lockstep
