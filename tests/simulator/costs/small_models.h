// Models of one or two ops for tests of single costs. Op 0 is the input, op 1 a scale-free producer with a gradient
// where the op under test needs one, the last op is the one under test.
#pragma once

#include "models/builder.h"

namespace lockstep::reference {

// A 1x1 convolution gives the tensor under test a gradient; the model is not finished by a loss, so that only forward
// and the facts before the loss are complete: use with `with_loss` for backward costs.
inline Model with_loss(ModelBuilder builder, OpId last) {
  const Shape& shape = builder.model().op(last).output;
  builder.cross_entropy(shape.size() == 1 ? last : builder.flatten(last));
  return std::move(builder).finish();
}

struct OneOp {
  Model model;
  OpId op;
};

// The convolution under test reads a tensor that needs a gradient (`first` = false) or the image (`first` = true).
inline OneOp one_conv(std::int64_t in, std::int64_t out, std::int64_t size, const ConvAttributes& conv,
                      bool first = false) {
  ModelBuilder builder("one-conv", "images", {in, size, size}, DType::Fp32, 1);
  OpId x = builder.input();
  if (!first) x = builder.batch_norm(x, "before");
  const OpId op = builder.conv2d(x, "conv", out, conv);
  return {with_loss(std::move(builder), op), op};
}

// `make` adds the op under test to a tensor of `shape` that needs a gradient.
template <class Make>
OneOp one_op(const Shape& shape, Make make) {
  ModelBuilder builder("one-op", "images", shape, DType::Fp32, 1);
  const OpId x =
      shape.size() == 3 ? builder.batch_norm(builder.input(), "before") : builder.layer_norm(builder.input(), "before");
  const OpId op = make(builder, x);
  return {with_loss(std::move(builder), op), op};
}

inline ConvAttributes square(std::int64_t kernel, std::int64_t stride, std::int64_t padding, std::int64_t groups = 1) {
  ConvAttributes conv;
  conv.kernel_h = conv.kernel_w = kernel;
  conv.stride_h = conv.stride_w = stride;
  conv.padding_h = conv.padding_w = padding;
  conv.groups = groups;
  return conv;
}

}  // namespace lockstep::reference
