// Shape rules of the ops of a model file, one function per group of ops.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/row_builder.h"
#include "models/row_trouble.h"

namespace lockstep {

using row_detail::misfit;
using row_detail::text_of;
using Result = std::optional<Trouble>;

namespace {

std::int64_t at(const std::vector<std::int64_t>& values, std::size_t i, std::int64_t otherwise) {
  return values.empty() ? otherwise : values[std::min(i, values.size() - 1)];
}

Shape window_output(std::int64_t channels, const Shape& in, const ConvAttributes& w) {
  return {channels, ModelBuilder::window_output(in[1], w.kernel_h, w.stride_h, w.padding_h, w.dilation, w.ceil_mode),
          ModelBuilder::window_output(in[2], w.kernel_w, w.stride_w, w.padding_w, w.dilation, w.ceil_mode)};
}

OpKind unary_kind(FileOp op) {
  for (const auto& [name, known] : file_ops()) {
    if (known == op) return op_kind_of(name).value_or(OpKind::View);
  }
  return OpKind::View;
}

}  // namespace

Result RowBuilder::window(const OpRow& row, OpId x, bool is_pool, ConvAttributes& w) const {
  if (Result trouble = needs_image(x)) return trouble;
  w.kernel_h = at(row.kernel, 0, 1);
  w.kernel_w = at(row.kernel, 1, 1);
  w.stride_h = at(row.stride, 0, is_pool ? w.kernel_h : 1);
  w.stride_w = at(row.stride, 1, is_pool ? w.kernel_w : 1);
  w.padding_h = at(row.padding, 0, 0);
  w.padding_w = at(row.padding, 1, 0);
  w.dilation = row.dilation.value_or(1);
  w.ceil_mode = row.ceil_mode.value_or(false);
  const Shape& in = b_.shape(x);
  const Shape out = window_output(1, in, w);
  if (out[1] < 1 || out[2] < 1) {
    return misfit("kernel", fmt::format("the window is larger than the input {} with its padding", text_of(in)));
  }
  return std::nullopt;
}

Result RowBuilder::conv2d(const OpRow& row, OpId x) {
  ConvAttributes w;
  if (Result trouble = window(row, x, false, w)) return trouble;
  w.groups = row.groups.value_or(1);
  w.bias = row.bias.value_or(true);
  const Shape& in = b_.shape(x);
  if (in[0] % w.groups != 0 || *row.out % w.groups != 0) {
    return misfit("groups",
                  fmt::format("{} groups do not divide {} input and {} output channels", w.groups, in[0], *row.out));
  }
  const Shape weight{*row.out, in[0] / w.groups, w.kernel_h, w.kernel_w};
  const Shape output = window_output(*row.out, in, w);
  const double work = 2 * product(output) * product(weight) / static_cast<double>(*row.out);
  if (Result trouble = check_size("out", product(output), product(weight), work)) return trouble;
  if (Result trouble = check_parameter("name", *row.name + ".weight", weight)) return trouble;
  b_.conv2d(x, *row.name, *row.out, w);
  return std::nullopt;
}

Result RowBuilder::linear(const OpRow& row, OpId x, OpKind kind) {
  const Shape& in = b_.shape(x);
  if (in.empty()) return misfit("op", "a linear layer needs at least one axis");
  const double elements = product(in) / static_cast<double>(in.back()) * static_cast<double>(*row.out);
  const Shape weight = kind == OpKind::Linear ? Shape{*row.out, in.back()} : Shape{in.back(), *row.out};
  const double work = 2 * elements * static_cast<double>(in.back());
  if (Result trouble = check_size("out", elements, product(weight), work)) return trouble;
  if (row.shares && row.weight_name) return misfit("weight_name", "a shared weight has its name already");
  const std::string weight_name = row.shares.value_or(row.weight_name.value_or(*row.name + ".weight"));
  const std::string bias_name = row.bias_name.value_or(*row.name + ".bias");
  const bool bias = row.bias.value_or(true);
  const char* weight_key = row.shares ? "shares" : row.weight_name ? "weight_name" : "name";
  if (Result t = check_parameter(weight_key, weight_name, weight, row.shares.has_value())) return t;
  if (bias) {
    if (Result t = check_parameter(row.bias_name ? "bias_name" : "name", bias_name, {*row.out})) return t;
  }
  b_.linear_with(kind, x, *row.name, *row.out, weight_name, bias ? bias_name : "");
  return std::nullopt;
}

Result RowBuilder::normalise(const OpRow& row, OpId x) {
  const Shape& in = b_.shape(x);
  const bool batch = row.op == FileOp::BatchNorm;
  if (in.empty()) return misfit("op", "a normalisation needs at least one axis");
  const Shape weight{batch ? in.front() : in.back()};
  if (Result trouble = check_size("op", product(in), 2 * product(weight), 0)) return trouble;
  if (Result trouble = check_parameter("name", *row.name + ".weight", weight)) return trouble;
  if (Result trouble = check_parameter("name", *row.name + ".bias", weight)) return trouble;
  if (batch) {
    b_.batch_norm(x, *row.name);
  } else {
    b_.layer_norm(x, *row.name, row.bias.value_or(true));
  }
  return std::nullopt;
}

Result RowBuilder::embedding(const OpRow& row, OpId x) {
  const Shape weight{*row.entries, *row.width};
  const double elements = product(b_.shape(x)) * static_cast<double>(*row.width);
  if (Result trouble = check_size("width", elements, product(weight), 0)) return trouble;
  const std::string name = row.shares.value_or(*row.name + ".weight");
  if (Result t = check_parameter(row.shares ? "shares" : "name", name, weight, row.shares.has_value())) return t;
  b_.embedding(x, *row.name, *row.entries, *row.width, row.once_per_batch.value_or(false), name);
  return std::nullopt;
}

Result RowBuilder::pool(const OpRow& row, OpId x) {
  ConvAttributes w;
  if (Result trouble = window(row, x, true, w)) return trouble;
  const Shape& in = b_.shape(x);
  if (Result trouble = check_size("kernel", product(window_output(in[0], in, w)), 0, 0)) return trouble;
  b_.pool(row.op == FileOp::MaxPool ? OpKind::MaxPool : OpKind::AvgPool, x, "", w);
  return std::nullopt;
}

Result RowBuilder::adaptive_pool(const OpRow& row, OpId x) {
  if (Result trouble = needs_image(x)) return trouble;
  if (row.op == FileOp::GlobalAvgPool) {
    b_.global_mean(x, "");
    return std::nullopt;
  }
  const std::int64_t height = at(row.size, 0, 1), width = at(row.size, 1, 1);
  if (Result trouble = check_size("size", product({b_.shape(x)[0], height, width}), 0, 0)) return trouble;
  b_.adaptive_avg_pool(x, "", height, width);
  return std::nullopt;
}

Result RowBuilder::matmul(const OpRow& row, const std::vector<OpId>& inputs) {
  const GemmShape g{row.batch.value_or(1), *row.m, *row.n, *row.k};
  const Shape output = row.shape.empty() ? Shape{g.batch, g.m, g.n} : row.shape;
  const double work = 2 * product({g.batch, g.m, g.n, g.k});
  if (Result trouble = check_size("gemm", product(output), 0, work)) return trouble;
  const Shape& a = b_.shape(inputs[0]);
  const Shape& b = b_.shape(inputs[1]);
  if (product(a) != product({g.batch, g.m, g.k}) || product(b) != product({g.batch, g.k, g.n})) {
    return misfit("gemm", fmt::format("the factors {} and {} are not {} x [{}, {}] and {} x [{}, {}]", text_of(a),
                                      text_of(b), g.batch, g.m, g.k, g.batch, g.k, g.n));
  }
  if (product(output) != product({g.batch, g.m, g.n})) {
    return misfit("shape", fmt::format("{} does not hold {} x [{}, {}]", text_of(output), g.batch, g.m, g.n));
  }
  b_.matmul(inputs[0], inputs[1], g, output);
  return std::nullopt;
}

Result RowBuilder::attention(const OpRow& row, const std::vector<OpId>& inputs) {
  const GemmShape g{row.batch.value_or(1), *row.m, *row.n, *row.k};
  const double queries = product({g.batch, g.m, g.k}), keys = product({g.batch, g.n, g.k});
  if (Result trouble = check_size("gemm", queries, 0, 4 * queries * static_cast<double>(g.n))) return trouble;
  const Shape &q = b_.shape(inputs[0]), &k = b_.shape(inputs[1]), &v = b_.shape(inputs[2]);
  if (product(q) != queries || product(k) != keys || product(v) != keys) {
    return misfit("gemm",
                  fmt::format("query {}, key {} and value {} are not {} heads of [{}, {}], [{}, {}] and [{}, {}]",
                              text_of(q), text_of(k), text_of(v), g.batch, g.m, g.k, g.n, g.k, g.n, g.k));
  }
  b_.attention(inputs[0], inputs[1], inputs[2], g);
  return std::nullopt;
}

Result RowBuilder::learned(const OpRow& row) {
  if (Result trouble = check_size("shape", product(row.shape), product(row.shape), 0)) return trouble;
  if (Result trouble = check_parameter("name", *row.name, row.shape)) return trouble;
  b_.learned(*row.name, row.shape);
  return std::nullopt;
}

Result RowBuilder::loss(const std::vector<OpId>& inputs) {
  const Shape& first = b_.shape(inputs.front());
  if (first.empty()) return misfit("op", "this op needs at least one axis");
  for (const OpId one : inputs) {
    if (b_.shape(one) == first) continue;
    return misfit("from", fmt::format("outputs {} and {} do not share labels", text_of(first), text_of(b_.shape(one))));
  }
  b_.cross_entropy(inputs);
  return std::nullopt;
}

Result RowBuilder::combine(const OpRow& row, const std::vector<OpId>& inputs) {
  const Shape& first = b_.shape(inputs[0]);
  double elements = product(first);
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    const Shape& other = b_.shape(inputs[i]);
    const bool same_but_first =
        !first.empty() && first.size() == other.size() && std::equal(first.begin() + 1, first.end(), other.begin() + 1);
    const bool divides = std::fmod(std::max(elements, product(other)), std::min(elements, product(other))) == 0;
    const bool fits = row.op == FileOp::Add ? first == other : row.op == FileOp::Concat ? same_but_first : divides;
    if (!fits) return misfit("from", fmt::format("{} and {} do not fit", text_of(first), text_of(other)));
    if (row.op == FileOp::Concat) elements += product(other);
  }
  if (Result trouble = check_size("from", elements, 0, 0)) return trouble;
  if (row.op == FileOp::Add) {
    b_.add(inputs[0], inputs[1], row.in_place.value_or(false));
  } else if (row.op == FileOp::Multiply) {
    b_.multiply(inputs[0], inputs[1]);
  } else {
    b_.concat(inputs);
  }
  return std::nullopt;
}

Result RowBuilder::reshape(const OpRow& row, OpId x) {
  const Shape& in = b_.shape(x);
  const Shape output = !row.shape.empty() ? row.shape : row.op == FileOp::Flatten ? Shape{elements_of(in)} : in;
  const bool part = b_.model().op(x).kind == OpKind::Split && product(output) <= product(in);
  if (product(output) != product(in) && !part) {
    return misfit("shape",
                  fmt::format("{} does not hold the {} values of {}", text_of(output), elements_of(in), text_of(in)));
  }
  if (Result trouble = check_size("shape", product(output), 0, 0)) return trouble;
  if (row.op == FileOp::Copy) {
    b_.copy(x, output);
  } else {
    b_.view(x, output);
  }
  return std::nullopt;
}

Result RowBuilder::dropout(const OpRow& row, OpId x) {
  const double probability = row.probability.value_or(0.5);
  if (!row.per_sample.value_or(false)) {
    b_.dropout(x, "", probability, row.in_place.value_or(false));
    return std::nullopt;
  }
  if (row.in_place) return misfit("in_place", "dropping whole samples is not done in place");
  b_.stochastic_depth(x, "", probability);
  return std::nullopt;
}

Result RowBuilder::elementwise(const OpRow& row, OpId x) {
  if (Result trouble = check_size("op", product(b_.shape(x)), 0, 0)) return trouble;
  if (row.op == FileOp::Softmax && b_.shape(x).empty()) return misfit("op", "this op needs at least one axis");
  switch (row.op) {
    case FileOp::Dropout:
      return dropout(row, x);
    case FileOp::Softmax:
      b_.softmax(x);
      break;
    case FileOp::Split:
      b_.split(x);
      break;
    default:
      b_.unary(unary_kind(row.op), x, "", row.in_place.value_or(false));
  }
  return std::nullopt;
}

}  // namespace lockstep
