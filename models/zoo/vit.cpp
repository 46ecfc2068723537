// torchvision.models.vision_transformer (torchvision 0.26). torch.nn.MultiheadAttention calls
// scaled_dot_product_attention, which is one fused kernel; its dropouts have probability 0.
#include <fmt/format.h>

#include <utility>

#include "models/builder.h"
#include "models/zoo/families.h"

namespace lockstep::zoo_detail {
namespace {

// With batch_first the input is a transposed view, so that the projection copies it first; its output is copied once
// more to hold query, key and value one after the other. (PyTorch joins the gradients of the three with five small
// kernels; here that is the one kernel of a Split.)
OpId self_attention(ModelBuilder& b, OpId x, const std::string& path, std::int64_t heads) {
  const std::int64_t sequence = b.shape(x)[0], width = b.shape(x)[1], head = width / heads;
  const OpId rows = b.copy(x, {sequence, width});
  const OpId packed =
      b.copy(b.linear_with(OpKind::Linear, rows, path, 3 * width, path + ".in_proj_weight", path + ".in_proj_bias"),
             {3, heads, sequence, head});
  const OpId parts = b.split(packed);
  const Shape part{heads, sequence, head};
  const OpId query = b.view(parts, part), key = b.view(parts, part), value = b.view(parts, part);
  const OpId context = b.attention(query, key, value, {heads, sequence, sequence, head});
  return b.linear(b.view(context, {sequence, width}), path + ".out_proj", width);
}

OpId encoder_layer(ModelBuilder& b, OpId x, const VitShape& shape, const std::string& path) {
  OpId y = self_attention(b, b.layer_norm(x, path + ".ln_1"), path + ".self_attention", shape.heads);
  x = b.add(b.dropout(y, path + ".dropout", 0), x);
  y = b.linear(b.layer_norm(x, path + ".ln_2"), path + ".mlp.0", shape.feed_forward);
  y = b.dropout(b.unary(OpKind::Gelu, y, path + ".mlp.1"), path + ".mlp.2", 0);
  y = b.dropout(b.linear(y, path + ".mlp.3", shape.width), path + ".mlp.4", 0);
  return b.add(x, y);
}

}  // namespace

Expected<Model> vit(const std::string& name, const VitShape& shape, const ModelOptions& options) {
  const std::int64_t image = options.image.value_or(224);
  if (image % shape.patch != 0) {
    return tl::make_unexpected(Errors{option_error(
        ErrorKind::Conflict, "image", fmt::format("{}", image), fmt::format("a multiple of {}", shape.patch),
        fmt::format("patches of {0}x{0} pixels do not cover a {1}x{1} image", shape.patch, image))});
  }
  const std::int64_t patches = image / shape.patch * (image / shape.patch);
  ModelBuilder b(name, "images", {3, image, image}, DType::Fp32, 1);
  b.parameter("class_token", {1, 1, shape.width});  // registered before the layers, used after one
  OpId x = b.conv2d(b.input(), "conv_proj",
                    {.out = shape.width, .kernel = shape.patch, .stride = shape.patch, .bias = true});
  x = b.concat({b.learned("class_token", {1, 1, shape.width}), b.view(x, {patches, shape.width})});
  x = b.add(x, b.learned("encoder.pos_embedding", {1, patches + 1, shape.width}));
  x = b.dropout(x, "encoder.dropout", 0);
  for (int layer = 0; layer < shape.layers; ++layer) {
    x = encoder_layer(b, x, shape, fmt::format("encoder.layers.encoder_layer_{}", layer));
  }
  x = b.layer_norm(x, "encoder.ln");
  x = b.view(b.split(x), {shape.width});  // the class token's row
  b.cross_entropy(b.linear(x, "heads.head", options.classes.value_or(1000)));
  return std::move(b).finish();
}

}  // namespace lockstep::zoo_detail
