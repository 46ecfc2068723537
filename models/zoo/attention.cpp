#include "models/builder.h"
#include "models/zoo/families.h"

namespace lockstep::zoo_detail {

OpId eager_attention(ModelBuilder& b, OpId q, OpId k, OpId v, const AttentionShape& shape) {
  const std::int64_t s = shape.sequence, head = shape.width / shape.heads;
  const OpId query = b.copy(q, {shape.heads, s, head});
  const OpId key = b.copy(k, {shape.heads, head, s});
  OpId weights = b.matmul(query, key, {shape.heads, s, s, head}, {shape.heads, s, s});
  weights = b.unary(OpKind::Scale, weights);  // 1 / sqrt(head)
  weights = b.unary(OpKind::Scale, weights);  // plus the mask
  weights = b.softmax(weights);
  if (shape.dropout > 0) weights = b.dropout(weights, shape.dropout_name, shape.dropout);
  const OpId value = b.copy(v, {shape.heads, s, head});
  const OpId context = b.matmul(weights, value, {shape.heads, s, head, s}, {shape.heads, s, head});
  return b.copy(context, {s, shape.width});
}

}  // namespace lockstep::zoo_detail
