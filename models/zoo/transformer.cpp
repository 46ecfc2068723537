#include <fmt/format.h>

#include <utility>

#include "models/builder.h"
#include "models/zoo/families.h"

namespace lockstep::zoo_detail {
namespace {

OpId block(ModelBuilder& b, OpId x, const TransformerShape& shape, std::int64_t layer) {
  const std::string path = fmt::format("layers.{}", layer);
  OpId y = b.layer_norm(x, path + ".norm1");
  const OpId qkv = b.split(b.linear(y, path + ".attention.in_proj", 3 * shape.width));
  y = eager_attention(b, qkv, qkv, qkv, {b.shape(x)[0], shape.width, shape.heads, 0, ""});
  x = b.add(x, b.linear(y, path + ".attention.out_proj", shape.width));
  y = b.linear(b.layer_norm(x, path + ".norm2"), path + ".mlp.linear1", shape.feed_forward);
  y = b.unary(OpKind::Gelu, y, path + ".mlp.gelu");
  return b.add(x, b.linear(y, path + ".mlp.linear2", shape.width));
}

}  // namespace

Expected<Model> transformer(const std::string& name, const ModelOptions& options) {
  const std::int64_t sequence = options.sequence.value_or(128), width = options.width.value_or(768);
  const TransformerShape shape{options.layers.value_or(12),        width,
                               options.heads.value_or(12),         options.feed_forward.value_or(4 * width),
                               options.vocabulary.value_or(50257), sequence};
  if (width % shape.heads != 0) {
    return tl::make_unexpected(Errors{option_error(
        ErrorKind::Conflict, "heads", fmt::format("{}", shape.heads), fmt::format("a divisor of {}", width),
        fmt::format("{} heads do not divide a width of {}", shape.heads, width))});
  }
  ModelBuilder b(name, "sequences", {sequence}, DType::Int64, sequence);
  const OpId tokens = b.embedding(b.input(), "token_embedding", shape.vocabulary, width);
  OpId x = b.add(tokens, b.embedding(b.input(), "position_embedding", sequence, width, true));
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) x = block(b, x, shape, layer);
  x = b.layer_norm(x, "norm");
  b.cross_entropy(b.linear_with(OpKind::Linear, x, "head", shape.vocabulary, "token_embedding.weight", ""));
  return std::move(b).finish();
}

}  // namespace lockstep::zoo_detail
