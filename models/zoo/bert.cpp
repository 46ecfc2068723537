// transformers.BertForMaskedLM (transformers 5.24, attn_implementation="eager").
#include <fmt/format.h>

#include <utility>

#include "models/builder.h"
#include "models/zoo/families.h"

namespace lockstep::zoo_detail {
namespace {

constexpr double kDropout = 0.1;
constexpr std::int64_t kTokenTypes = 2;
constexpr const char* kWordWeight = "bert.embeddings.word_embeddings.weight";
constexpr const char* kDecoderBias = "cls.predictions.bias";

OpId embeddings(ModelBuilder& b, const TransformerShape& shape) {
  const std::string path = "bert.embeddings";
  b.buffer(path + ".position_ids", {1, shape.positions}, DType::Int64);
  b.buffer(path + ".token_type_ids", {1, shape.positions}, DType::Int64);
  // Registered in this order, used in another.
  b.parameter(kWordWeight, {shape.vocabulary, shape.width});
  b.parameter(path + ".position_embeddings.weight", {shape.positions, shape.width});
  const OpId words = b.embedding(b.input(), path + ".word_embeddings", shape.vocabulary, shape.width);
  const OpId types = b.embedding(b.input(), path + ".token_type_embeddings", kTokenTypes, shape.width);
  OpId x = b.add(words, types);
  x = b.add(x, b.embedding(b.input(), path + ".position_embeddings", shape.positions, shape.width, true));
  return b.dropout(b.layer_norm(x, path + ".LayerNorm"), path + ".dropout", kDropout);
}

// Dense layer, dropout, residual sum, layer norm: the end of both halves of a layer.
OpId close_half(ModelBuilder& b, OpId x, OpId residual, const std::string& path, std::int64_t width) {
  x = b.dropout(b.linear(x, path + ".dense", width), path + ".dropout", kDropout);
  return b.layer_norm(b.add(x, residual), path + ".LayerNorm");
}

OpId encoder_layer(ModelBuilder& b, OpId x, const TransformerShape& shape, std::int64_t layer) {
  const std::string path = fmt::format("bert.encoder.layer.{}", layer);
  const std::string self = path + ".attention.self";
  const OpId q = b.linear(x, self + ".query", shape.width);
  const OpId k = b.linear(x, self + ".key", shape.width);
  const OpId v = b.linear(x, self + ".value", shape.width);
  const OpId context =
      eager_attention(b, q, k, v, {b.shape(x)[0], shape.width, shape.heads, kDropout, self + ".dropout"});
  const OpId attended = close_half(b, context, x, path + ".attention.output", shape.width);
  OpId y = b.linear(attended, path + ".intermediate.dense", shape.feed_forward);
  y = b.unary(OpKind::Gelu, y, path + ".intermediate.intermediate_act_fn");
  return close_half(b, y, attended, path + ".output", shape.width);
}

OpId language_head(ModelBuilder& b, OpId x, const TransformerShape& shape) {
  b.parameter(kDecoderBias, {shape.vocabulary});
  const std::string path = "cls.predictions.transform";
  x = b.unary(OpKind::Gelu, b.linear(x, path + ".dense", shape.width), path + ".transform_act_fn");
  x = b.layer_norm(x, path + ".LayerNorm");
  return b.linear_with(OpKind::Linear, x, "cls.predictions.decoder", shape.vocabulary, kWordWeight, kDecoderBias);
}

}  // namespace

Expected<Model> bert(const std::string& name, const TransformerShape& shape, const ModelOptions& options) {
  const std::int64_t sequence = options.sequence.value_or(128);
  ModelBuilder b(name, "sequences", {sequence}, DType::Int64, sequence);
  OpId x = embeddings(b, shape);
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) x = encoder_layer(b, x, shape, layer);
  b.cross_entropy(language_head(b, x, shape));
  return std::move(b).finish();
}

}  // namespace lockstep::zoo_detail
