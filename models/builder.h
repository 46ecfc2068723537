// Writes down a network op by op, in the order of its forward pass, and keeps track of shapes, so that a builder of the
// zoo reads like the network it describes. Shapes are those of one sample: images [channels, height, width], text
// [positions, features], attention [heads, positions, positions].
// Calling it with sizes that do not fit is a broken invariant (LOCKSTEP_ENSURE); the reader of model files checks
// first.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "models/model.h"

namespace lockstep {

// Square convolution, as in torch.nn.Conv2d; the bias default is that of torchvision's networks with batch norm.
struct ConvSpec {
  std::int64_t out = 1, kernel = 1, stride = 1, padding = 0, groups = 1;
  bool bias = false;
};

class ModelBuilder {
 public:
  // `input` per sample; `target_elements` int64 labels per sample.
  ModelBuilder(std::string name, std::string sample_unit, Shape input, DType input_dtype, std::int64_t target_elements);

  OpId input() const { return OpId{0}; }
  const Shape& shape(OpId id) const { return model_.op(id).output; }

  // A parameter by its name; the first call registers it, later ones return the same id (tied weights, or a
  // registration order that differs from the order of use).
  ParameterId parameter(const std::string& name, const Shape& shape);
  // The parameter as an op of its own, `name` in full. A first axis of 1 stands for the batch, as modules write it, and
  // is not part of the output.
  OpId learned(const std::string& name, const Shape& shape);
  const Parameter* find_parameter(const std::string& name) const;  // nullptr when there is none yet
  void unused_parameter(const std::string& name, const Shape& shape, DType dtype = DType::Fp32);
  // A second buffer of the same name (a module that is used twice) is the first one.
  void buffer(const std::string& name, const Shape& shape, DType dtype);

  // Layers with parameters NAME.weight and NAME.bias. `name` is the module path.
  OpId conv2d(OpId x, const std::string& name, const ConvSpec& spec);
  OpId conv2d(OpId x, const std::string& name, std::int64_t out, const ConvAttributes& attributes);
  OpId batch_norm(OpId x, const std::string& name);
  OpId layer_norm(OpId x, const std::string& name, bool bias = true);
  OpId linear(OpId x, const std::string& name, std::int64_t out, bool bias = true);
  OpId conv1d_gpt(OpId x, const std::string& name, std::int64_t out, bool bias = true);
  // A linear whose parameters have other names or exist already: weight [out, in] (Linear) or [in, out] (Conv1dGpt).
  OpId linear_with(OpKind kind, OpId x, const std::string& name, std::int64_t out, const std::string& weight,
                   const std::string& bias);
  OpId embedding(OpId x, const std::string& name, std::int64_t entries, std::int64_t width, bool once_per_batch = false,
                 const std::string& weight = "");  // weight: its name where it is not NAME.weight

  // Element-wise ops with one input (Relu, Relu6, Gelu, Tanh, Sigmoid, Silu, Scale, Power) and the row-wise Softmax.
  OpId unary(OpKind kind, OpId x, const std::string& name = "", bool in_place = false);
  OpId relu(OpId x, const std::string& name, bool in_place = true) { return unary(OpKind::Relu, x, name, in_place); }
  OpId softmax(OpId x, const std::string& name = "");
  OpId dropout(OpId x, const std::string& name, double probability, bool in_place = false);
  OpId stochastic_depth(OpId x, const std::string& name, double probability);  // drops whole samples
  OpId add(OpId a, OpId b, bool in_place = false, const std::string& name = "");
  OpId multiply(OpId a, OpId b, const std::string& name = "");

  // Product of two activations per sample; b is [k x n].
  OpId matmul(OpId a, OpId b, const GemmShape& gemm, Shape output);
  // Fused attention; gemm {heads, queries, keys, width of a head}. Gives [heads, queries, width of a head].
  OpId attention(OpId query, OpId key, OpId value, const GemmShape& gemm);

  OpId pool(OpKind kind, OpId x, const std::string& name, const ConvAttributes& window);
  OpId max_pool(OpId x, const std::string& name, std::int64_t kernel, std::int64_t stride, std::int64_t padding = 0,
                bool ceil_mode = false);
  OpId avg_pool(OpId x, const std::string& name, std::int64_t kernel, std::int64_t stride, std::int64_t padding = 0);
  OpId adaptive_avg_pool(OpId x, const std::string& name, std::int64_t height, std::int64_t width);
  OpId global_mean(OpId x, const std::string& name);  // [C, H, W] -> [C]: mean over the pixels

  OpId concat(std::vector<OpId> parts, const std::string& name = "");  // along the first axis (channels)
  OpId copy(OpId x, Shape output);
  OpId view(OpId x, Shape output);
  OpId flatten(OpId x);
  OpId split(OpId x);  // consumers read parts of it: copy(split, part shape) or view(split, part shape)

  OpId cross_entropy(OpId logits) { return cross_entropy(std::vector<OpId>{logits}); }  // over the last axis
  OpId cross_entropy(std::vector<OpId> logits);  // summed over outputs that share their labels

  // Any op as it is: the reader of model files and the layers above.
  OpId push(Op op);
  void set_name(OpId id, const std::string& name);
  // Shape of a window of size `kernel` sliding over `size` pixels; < 1 when it does not fit.
  static std::int64_t window_output(std::int64_t size, std::int64_t kernel, std::int64_t stride, std::int64_t padding,
                                    std::int64_t dilation, bool ceil_mode = false);

  const Model& model() const { return model_; }
  void reorder_parameters(const std::vector<std::string>& names);  // those not named follow in their order
  void set_target_elements(std::int64_t count) { model_.target_elements = count; }
  Model finish() &&;  // the loss must be the last op

 private:
  Op make(OpKind kind, const std::string& name, std::vector<OpId> inputs, Shape output) const;

  Model model_;
  std::unordered_map<std::string, ParameterId> by_name_;
  std::unordered_set<std::string> buffer_names_;
};

}  // namespace lockstep
