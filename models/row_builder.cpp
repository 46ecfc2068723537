#include "models/row_builder.h"

#include <fmt/format.h>

#include <numeric>

#include "models/row_trouble.h"
#include "simulator/base/nearest.h"

namespace lockstep {

using row_detail::misfit;
using row_detail::text_of;
using Result = std::optional<Trouble>;

RowBuilder::RowBuilder(const ModelFile& file)
    : b_(file.name, file.sample_unit, file.input_shape, file.input_dtype, file.targets.value_or(1)) {
  for (const TensorRow& row : file.buffers) b_.buffer(row.name, row.shape, row.dtype);
}

double RowBuilder::product(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), 1.0,
                         [](double so_far, std::int64_t size) { return so_far * static_cast<double>(size); });
}

Result RowBuilder::add(const OpRow& row) {
  std::vector<OpId> inputs;
  if (Result trouble = check_label(row)) return trouble;
  if (Result trouble = find_inputs(row, inputs)) return trouble;
  if (Result trouble = check_types(row, inputs)) return trouble;
  if (Result trouble = build(row, inputs)) return trouble;
  const OpId id{static_cast<int>(b_.model().ops.size()) - 1};
  if (row.name) b_.set_name(id, *row.name);
  if (Result trouble = check_module(id)) return trouble;
  label(row, id);
  return std::nullopt;
}

// An id must be new; a name may come again, but then it no longer tells which op is meant.
Result RowBuilder::check_label(const OpRow& row) const {
  if (!row.id || (labels_.count(*row.id) == 0 && *row.id != "input")) return std::nullopt;
  return Trouble{ErrorKind::Conflict, "id", "this id is taken", "a label that no op above has", "", *row.id};
}

// A name that comes again is the same module used again, so it must be the same op with the same settings.
Result RowBuilder::check_module(OpId id) {
  const Op& op = b_.model().op(id);
  if (op.parameters.empty()) return std::nullopt;
  const auto [entry, is_new] = modules_.try_emplace(op.name, id);
  if (is_new) return std::nullopt;
  const Op& first = b_.model().op(entry->second);
  if (first.kind == op.kind && first.conv == op.conv && first.parameters == op.parameters) return std::nullopt;
  const std::string what = first.kind == op.kind ? fmt::format("a {} with other settings", name_of(first.kind))
                                                 : fmt::format("a {}", name_of(first.kind));
  return Trouble{
      ErrorKind::Conflict,
      "name",
      fmt::format("an op above has this name and is {}: ops of one name are one module and share its weights", what),
      "",
      "give it a name of its own",
      op.name};
}

void RowBuilder::label(const OpRow& row, OpId id) {
  if (row.name) {
    const auto [entry, is_new] = labels_.try_emplace(*row.name, id);
    if (!is_new) entry->second = std::nullopt;
  }
  if (row.id) labels_[*row.id] = id;
}

Result RowBuilder::find_input(const std::string& name, std::vector<OpId>& inputs) const {
  const auto found = labels_.find(name);
  if (name == "input") {
    inputs.push_back(b_.input());
  } else if (found == labels_.end()) {
    std::vector<std::string> known{"input"};
    for (const auto& [label, id] : labels_) known.push_back(label);
    return Trouble{ErrorKind::Range, "from", "no op above has this name or id", "", did_you_mean(name, known), name};
  } else if (!found->second) {
    return Trouble{ErrorKind::Conflict, "from", "several ops above have this name", "", "give the op an `id`", name};
  } else {
    inputs.push_back(*found->second);
  }
  return std::nullopt;
}

Result RowBuilder::find_inputs(const OpRow& row, std::vector<OpId>& inputs) const {
  if (row.op == FileOp::Parameter) {
    if (row.from.empty()) return std::nullopt;
    return misfit("from", "a learned tensor has no inputs");
  }
  if (row.from.empty()) inputs.push_back(OpId{static_cast<int>(b_.model().ops.size()) - 1});
  for (const std::string& name : row.from) {
    if (Result trouble = find_input(name, inputs)) return trouble;
  }
  const std::size_t count = inputs.size();
  if (row.op == FileOp::Concat || row.op == FileOp::CrossEntropy) return std::nullopt;
  const bool pair = row.op == FileOp::Add || row.op == FileOp::Multiply || row.op == FileOp::MatMul;
  const bool triple = row.op == FileOp::Attention;
  if (count == (triple ? 3u : pair ? 2u : 1u)) return std::nullopt;
  const char* wanted = triple ? "three inputs" : pair ? "two inputs" : "one input";
  return misfit("from", fmt::format("this op has {}, not {}", wanted, count),
                triple ? "from: [query, key, value]"
                : pair ? "from: [a, b]"
                       : "from: a");
}

Result RowBuilder::check_types(const OpRow& row, const std::vector<OpId>& inputs) const {
  const bool wants_indices = row.op == FileOp::Embedding;
  const bool either = row.op == FileOp::View || row.op == FileOp::Flatten || row.op == FileOp::Copy;
  for (const OpId id : inputs) {
    const bool indices = b_.model().op(id).output_dtype == DType::Int64;
    if (either || indices == wants_indices) continue;
    if (indices) return misfit("op", "this op does not take int64 values", "embedding", "start with an embedding");
    return misfit("op", "an embedding looks up int64 values", "input: {dtype: int64}");
  }
  return std::nullopt;
}

Result RowBuilder::check_size(const char* key, double elements, double parameters, double flop) {
  flop_ += flop;
  elements_ += elements + parameters;
  if (elements_ <= kMostElements && flop_ <= kMostFlop) return std::nullopt;
  return Trouble{ErrorKind::Range,
                 key,
                 "the model grows too large here",
                 fmt::format("{:.0e} elements and {:.0e} FLOP per sample in all", kMostElements, kMostFlop),
                 "",
                 ""};
}

Result RowBuilder::check_parameter(const char* key, const std::string& name, const Shape& shape,
                                   bool must_exist) const {
  const Parameter* known = b_.find_parameter(name);
  if (known == nullptr && !must_exist) return std::nullopt;
  if (known == nullptr) {
    std::vector<std::string> names;
    for (const Parameter& p : b_.model().parameters) names.push_back(p.name);
    return Trouble{ErrorKind::Range, key, "no op above has this parameter", "", did_you_mean(name, names), name};
  }
  if (known->shape == shape) return std::nullopt;
  return misfit(key, fmt::format("{} has the shape {} above and {} here", name, text_of(known->shape), text_of(shape)));
}

Result RowBuilder::build(const OpRow& row, const std::vector<OpId>& inputs) {
  if (row.op == FileOp::Parameter) return learned(row);
  const OpId x = inputs.front();
  switch (row.op) {
    case FileOp::Conv2d:
      return conv2d(row, x);
    case FileOp::Linear:
      return linear(row, x, OpKind::Linear);
    case FileOp::Conv1dGpt:
      return linear(row, x, OpKind::Conv1dGpt);
    case FileOp::BatchNorm:
    case FileOp::LayerNorm:
      return normalise(row, x);
    case FileOp::Embedding:
      return embedding(row, x);
    case FileOp::MaxPool:
    case FileOp::AvgPool:
      return pool(row, x);
    case FileOp::AdaptiveAvgPool:
    case FileOp::GlobalAvgPool:
      return adaptive_pool(row, x);
    case FileOp::MatMul:
      return matmul(row, inputs);
    case FileOp::Attention:
      return attention(row, inputs);
    case FileOp::CrossEntropy:
      return loss(inputs);
    case FileOp::Add:
    case FileOp::Multiply:
    case FileOp::Concat:
      return combine(row, inputs);
    case FileOp::Copy:
    case FileOp::View:
    case FileOp::Flatten:
      return reshape(row, x);
    default:
      return elementwise(row, x);
  }
}

Result RowBuilder::needs_image(OpId x) const {
  if (b_.shape(x).size() == 3) return std::nullopt;
  return misfit("op", fmt::format("this op needs [channels, height, width], its input is {}", text_of(b_.shape(x))));
}

}  // namespace lockstep
