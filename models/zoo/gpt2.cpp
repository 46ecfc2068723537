// transformers.GPT2LMHeadModel (transformers 5.24, attn_implementation="eager").
#include <fmt/format.h>

#include <utility>

#include "models/builder.h"
#include "models/zoo/families.h"

namespace lockstep::zoo_detail {
namespace {

constexpr double kDropout = 0.1;

// 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) as the eight kernels that eager mode launches.
OpId gelu_new(ModelBuilder& b, OpId x, const std::string& name) {
  const OpId half = b.unary(OpKind::Scale, x, name);
  const OpId cube = b.unary(OpKind::Power, x, name);
  const OpId inner = b.add(x, b.unary(OpKind::Scale, cube, name), false, name);
  const OpId tanh = b.unary(OpKind::Tanh, b.unary(OpKind::Scale, inner, name), name);
  return b.multiply(half, b.unary(OpKind::Scale, tanh, name), name);
}

OpId block(ModelBuilder& b, OpId x, const TransformerShape& shape, std::int64_t layer) {
  const std::string path = fmt::format("transformer.h.{}", layer);
  const std::string attn = path + ".attn", mlp = path + ".mlp";
  OpId y = b.layer_norm(x, path + ".ln_1");
  const OpId qkv = b.split(b.conv1d_gpt(y, attn + ".c_attn", 3 * shape.width));
  y = eager_attention(b, qkv, qkv, qkv, {b.shape(x)[0], shape.width, shape.heads, kDropout, attn + ".attn_dropout"});
  y = b.dropout(b.conv1d_gpt(y, attn + ".c_proj", shape.width), attn + ".resid_dropout", kDropout);
  x = b.add(y, x);
  y = b.conv1d_gpt(b.layer_norm(x, path + ".ln_2"), mlp + ".c_fc", shape.feed_forward);
  y = b.conv1d_gpt(gelu_new(b, y, mlp + ".act"), mlp + ".c_proj", shape.width);
  return b.add(x, b.dropout(y, mlp + ".dropout", kDropout));
}

}  // namespace

Expected<Model> gpt2(const std::string& name, const TransformerShape& shape, const ModelOptions& options) {
  const std::int64_t sequence = options.sequence.value_or(128);
  ModelBuilder b(name, "sequences", {sequence}, DType::Int64, sequence);
  const OpId tokens = b.embedding(b.input(), "transformer.wte", shape.vocabulary, shape.width);
  const OpId places = b.embedding(b.input(), "transformer.wpe", shape.positions, shape.width, true);
  OpId x = b.dropout(b.add(tokens, places), "transformer.drop", kDropout);
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) x = block(b, x, shape, layer);
  x = b.layer_norm(x, "transformer.ln_f");
  x = b.linear_with(OpKind::Linear, x, "lm_head", shape.vocabulary, "transformer.wte.weight", "");
  b.cross_entropy(x);
  return std::move(b).finish();
}

}  // namespace lockstep::zoo_detail
