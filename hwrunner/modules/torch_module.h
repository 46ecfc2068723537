// A LibTorch module that runs the ops of a Model in their order: the one definition of a network serves the simulator
// and the hardware. Includes LibTorch: for files of the runner that are compiled with it; module_facts.h is the plain
// header.
//
// Parameters and buffers have PyTorch's dotted names (they live in submodules along the path), tied weights are one
// tensor, and a module can be cloned to another device. Layers have PyTorch's defaults where a Model says nothing
// (batch norm: momentum 0.1, eps 1e-5); constants that a Scale op multiplies by are 0.5.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/cloneable.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hwrunner/modules/op_plan.h"
#include "models/model.h"

namespace lockstep {

at::ScalarType torch_type(DType dtype);

// Parameters and buffers of a Model by the parts of their names.
struct TensorTree {
  struct Leaf {
    std::string name;
    Shape shape;
    DType dtype = DType::Fp32;
  };
  std::vector<Leaf> parameters, buffers;
  std::vector<std::pair<std::string, std::shared_ptr<TensorTree>>> children;
};

class TensorModule : public torch::nn::Cloneable<TensorModule> {
 public:
  explicit TensorModule(std::shared_ptr<const TensorTree> tree);
  void reset() override;

 private:
  std::shared_ptr<const TensorTree> tree_;
};

class OpModule : public torch::nn::Cloneable<OpModule> {
 public:
  // `plans` of plan_ops(model). The weights are zero until initialise() or a copy.
  OpModule(std::shared_ptr<const Model> model, std::shared_ptr<const std::vector<OpPlan>> plans);
  void reset() override;

  // Weights from `seed`: normal with He's deviation for convolutions, uniform 1/sqrt(inputs) for linear layers, normal
  // 0.02 for tables and the rest; biases 0 to 1/sqrt(inputs); normalisations 1 and 0.
  void initialise(std::uint64_t seed);

  // Called with the index of each op that ran and its output.
  using Observer = std::function<void(std::size_t, const at::Tensor&)>;

  // Runs all ops but the loss. Input: [batch, sample shape...]. Gives the loss's inputs.
  virtual std::vector<at::Tensor> outputs(const at::Tensor& input, const Observer& observer = {});
  // Mean over the batch of the model's loss; labels: int64 [batch x target_elements].
  virtual at::Tensor loss(const std::vector<at::Tensor>& outputs, const at::Tensor& labels);

  const Model& model() const { return *model_; }
  // In the order of the Model, tensors of this module.
  const std::vector<at::Tensor>& parameters_in_order();
  const std::vector<at::Tensor>& buffers_in_order();
  static std::vector<std::int64_t> batched(std::int64_t batch, const Shape& shape);

 private:
  void bind();
  at::Tensor run(std::size_t i, const std::vector<at::Tensor>& values);
  at::Tensor parameter_of(const Op& op, std::size_t which) const;  // undefined where the op has none
  at::Tensor batch_norm(const Op& op, const at::Tensor& x);
  at::Tensor embedding(const Op& op, const OpPlan& plan, const at::Tensor& x);
  at::Tensor rearranged(const Op& op, const OpPlan& plan, const at::Tensor& x);
  at::Tensor part_of(const SplitPart& part, OpId split, const at::Tensor& whole);

  std::shared_ptr<const Model> model_;
  std::shared_ptr<const std::vector<OpPlan>> plans_;
  bool bound_ = false;
  std::vector<at::Tensor> weights_, states_;
  std::vector<std::vector<at::Tensor>> norm_buffers_;          // per op: mean, variance, counter of a batch norm
  std::vector<std::pair<OpId, std::vector<at::Tensor>>> cut_;  // Splits of the running pass whose parts are still read
  std::vector<at::Tensor> positions_;                          // per op: indices of a table of positions
};

// Input and labels of samples first, first + 1, ...: a function of seed and sample number alone, so that a rank's part
// of a batch is the same whoever makes it. Images are normal, indices uniform.
struct TensorBatch {
  at::Tensor input, labels;
};
TensorBatch synthetic_batch(const Model& model, std::uint64_t seed, std::int64_t first, std::int64_t samples);

}  // namespace lockstep
