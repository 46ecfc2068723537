#include "models/builder.h"

#include <algorithm>
#include <utility>

#include "simulator/base/ensure.h"

namespace lockstep {
namespace {

ConvAttributes square(const ConvSpec& spec) {
  ConvAttributes attributes;
  attributes.kernel_h = attributes.kernel_w = spec.kernel;
  attributes.stride_h = attributes.stride_w = spec.stride;
  attributes.padding_h = attributes.padding_w = spec.padding;
  attributes.groups = spec.groups;
  attributes.bias = spec.bias;
  return attributes;
}

}  // namespace

ModelBuilder::ModelBuilder(std::string name, std::string sample_unit, Shape input, DType input_dtype,
                           std::int64_t target_elements) {
  model_.name = std::move(name);
  model_.sample_unit = std::move(sample_unit);
  model_.input = input;
  model_.input_dtype = input_dtype;
  model_.target_elements = target_elements;
  Op op;
  op.kind = OpKind::Input;
  op.output = std::move(input);
  op.output_dtype = input_dtype;
  model_.ops.push_back(std::move(op));
}

ParameterId ModelBuilder::parameter(const std::string& name, const Shape& shape) {
  const auto [found, is_new] = by_name_.try_emplace(name, ParameterId{static_cast<int>(model_.parameters.size())});
  if (is_new) {
    model_.parameters.push_back({name, shape, DType::Fp32, true});
  } else {
    LOCKSTEP_ENSURE(model_.parameter(found->second).shape == shape, "parameter {} with two shapes", name);
  }
  return found->second;
}

OpId ModelBuilder::learned(const std::string& name, const Shape& shape) {
  const bool batch_axis = shape.size() > 1 && shape.front() == 1;
  Op op = make(OpKind::Parameter, name, {}, Shape(shape.begin() + (batch_axis ? 1 : 0), shape.end()));
  op.once_per_batch = true;
  op.parameters = {parameter(name, shape)};
  return push(std::move(op));
}

const Parameter* ModelBuilder::find_parameter(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &model_.parameter(found->second);
}

void ModelBuilder::unused_parameter(const std::string& name, const Shape& shape, DType dtype) {
  Parameter& added = model_.parameters[static_cast<std::size_t>(parameter(name, shape))];
  added.used = false;
  added.dtype = dtype;
}

void ModelBuilder::buffer(const std::string& name, const Shape& shape, DType dtype) {
  if (buffer_names_.insert(name).second) model_.buffers.push_back({name, shape, dtype});
}

Op ModelBuilder::make(OpKind kind, const std::string& name, std::vector<OpId> inputs, Shape output) const {
  Op op;
  op.kind = kind;
  op.name = name;
  op.inputs = std::move(inputs);
  op.output = std::move(output);
  const bool keeps_type = kind == OpKind::View || kind == OpKind::Split || kind == OpKind::Copy;
  if (keeps_type) op.output_dtype = model_.op(op.inputs.front()).output_dtype;
  return op;
}

OpId ModelBuilder::push(Op op) {
  const OpId id{static_cast<int>(model_.ops.size())};
  for (const OpId input : op.inputs) LOCKSTEP_ENSURE(input < id && input >= OpId{0}, "op {} reads a later op", op.name);
  model_.ops.push_back(std::move(op));
  return id;
}

std::int64_t ModelBuilder::window_output(std::int64_t size, std::int64_t kernel, std::int64_t stride,
                                         std::int64_t padding, std::int64_t dilation, bool ceil_mode) {
  const std::int64_t room = size + 2 * padding - dilation * (kernel - 1) - 1;
  if (room < 0) return 0;
  const bool hangs_over = ceil_mode && room % stride != 0 && (room / stride + 1) * stride < size + padding;
  return room / stride + (hangs_over ? 2 : 1);
}

OpId ModelBuilder::conv2d(OpId x, const std::string& name, const ConvSpec& spec) {
  return conv2d(x, name, spec.out, square(spec));
}

OpId ModelBuilder::conv2d(OpId x, const std::string& name, std::int64_t out, const ConvAttributes& c) {
  const Shape in = shape(x);
  LOCKSTEP_ENSURE(in.size() == 3 && in[0] % c.groups == 0 && out % c.groups == 0, "convolution {}", name);
  const std::int64_t height = window_output(in[1], c.kernel_h, c.stride_h, c.padding_h, c.dilation);
  const std::int64_t width = window_output(in[2], c.kernel_w, c.stride_w, c.padding_w, c.dilation);
  LOCKSTEP_ENSURE(height > 0 && width > 0, "convolution {} is larger than its {}x{} input", name, in[1], in[2]);
  Op op = make(OpKind::Conv2d, name, {x}, {out, height, width});
  op.conv = c;
  op.parameters.push_back(parameter(name + ".weight", {out, in[0] / c.groups, c.kernel_h, c.kernel_w}));
  if (c.bias) op.parameters.push_back(parameter(name + ".bias", {out}));
  return push(std::move(op));
}

OpId ModelBuilder::batch_norm(OpId x, const std::string& name) {
  const std::int64_t channels = shape(x).front();
  Op op = make(OpKind::BatchNorm, name, {x}, shape(x));
  op.parameters = {parameter(name + ".weight", {channels}), parameter(name + ".bias", {channels})};
  buffer(name + ".running_mean", {channels}, DType::Fp32);
  buffer(name + ".running_var", {channels}, DType::Fp32);
  buffer(name + ".num_batches_tracked", {}, DType::Int64);
  return push(std::move(op));
}

OpId ModelBuilder::layer_norm(OpId x, const std::string& name, bool bias) {
  Op op = make(OpKind::LayerNorm, name, {x}, shape(x));
  op.row = shape(x).back();
  op.parameters.push_back(parameter(name + ".weight", {op.row}));
  if (bias) op.parameters.push_back(parameter(name + ".bias", {op.row}));
  return push(std::move(op));
}

OpId ModelBuilder::linear(OpId x, const std::string& name, std::int64_t out, bool bias) {
  return linear_with(OpKind::Linear, x, name, out, name + ".weight", bias ? name + ".bias" : "");
}

OpId ModelBuilder::conv1d_gpt(OpId x, const std::string& name, std::int64_t out, bool bias) {
  return linear_with(OpKind::Conv1dGpt, x, name, out, name + ".weight", bias ? name + ".bias" : "");
}

OpId ModelBuilder::linear_with(OpKind kind, OpId x, const std::string& name, std::int64_t out,
                               const std::string& weight, const std::string& bias) {
  Shape output = shape(x);
  const std::int64_t in = output.back();
  output.back() = out;
  Op op = make(kind, name, {x}, output);
  op.gemm = {1, elements_of(output) / out, out, in};
  op.parameters.push_back(parameter(weight, kind == OpKind::Linear ? Shape{out, in} : Shape{in, out}));
  if (!bias.empty()) op.parameters.push_back(parameter(bias, {out}));
  return push(std::move(op));
}

OpId ModelBuilder::embedding(OpId x, const std::string& name, std::int64_t entries, std::int64_t width,
                             bool once_per_batch, const std::string& weight) {
  Shape output = shape(x);
  output.push_back(width);
  Op op = make(OpKind::Embedding, name, {x}, output);
  op.once_per_batch = once_per_batch;
  op.parameters.push_back(parameter(weight.empty() ? name + ".weight" : weight, {entries, width}));
  return push(std::move(op));
}

OpId ModelBuilder::unary(OpKind kind, OpId x, const std::string& name, bool in_place) {
  Op op = make(kind, name, {x}, shape(x));
  op.in_place = in_place;
  return push(std::move(op));
}

OpId ModelBuilder::softmax(OpId x, const std::string& name) {
  Op op = make(OpKind::Softmax, name, {x}, shape(x));
  op.row = shape(x).back();
  return push(std::move(op));
}

OpId ModelBuilder::dropout(OpId x, const std::string& name, double probability, bool in_place) {
  Op op = make(OpKind::Dropout, name, {x}, shape(x));
  op.probability = probability;
  op.in_place = in_place;
  return push(std::move(op));
}

OpId ModelBuilder::stochastic_depth(OpId x, const std::string& name, double probability) {
  Op op = make(OpKind::Dropout, name, {x}, shape(x));
  op.probability = probability;
  op.row = elements_of(op.output);
  return push(std::move(op));
}

OpId ModelBuilder::add(OpId a, OpId b, bool in_place, const std::string& name) {
  LOCKSTEP_ENSURE(shape(a) == shape(b), "sum of {} and {} elements", elements_of(shape(a)), elements_of(shape(b)));
  Op op = make(OpKind::Add, name, {a, b}, shape(a));
  op.in_place = in_place;
  return push(std::move(op));
}

OpId ModelBuilder::multiply(OpId a, OpId b, const std::string& name) {
  const bool a_is_larger = elements_of(shape(a)) >= elements_of(shape(b));
  return push(make(OpKind::Multiply, name, {a, b}, shape(a_is_larger ? a : b)));
}

OpId ModelBuilder::matmul(OpId a, OpId b, const GemmShape& gemm, Shape output) {
  const bool fits = elements_of(shape(a)) == gemm.batch * gemm.m * gemm.k &&
                    elements_of(shape(b)) == gemm.batch * gemm.k * gemm.n &&
                    elements_of(output) == gemm.batch * gemm.m * gemm.n;
  LOCKSTEP_ENSURE(fits, "product {} x [{} x {}] by [{} x {}]", gemm.batch, gemm.m, gemm.k, gemm.k, gemm.n);
  Op op = make(OpKind::MatMul, "", {a, b}, std::move(output));
  op.gemm = gemm;
  return push(std::move(op));
}

OpId ModelBuilder::attention(OpId query, OpId key, OpId value, const GemmShape& gemm) {
  const std::int64_t keys = gemm.batch * gemm.n * gemm.k;
  const bool fits = elements_of(shape(query)) == gemm.batch * gemm.m * gemm.k && elements_of(shape(key)) == keys &&
                    elements_of(shape(value)) == keys;
  LOCKSTEP_ENSURE(fits, "attention of {} heads, {} x {} positions, width {}", gemm.batch, gemm.m, gemm.n, gemm.k);
  Op op = make(OpKind::Attention, "", {query, key, value}, {gemm.batch, gemm.m, gemm.k});
  op.gemm = gemm;
  return push(std::move(op));
}

OpId ModelBuilder::pool(OpKind kind, OpId x, const std::string& name, const ConvAttributes& w) {
  const Shape& in = shape(x);
  LOCKSTEP_ENSURE(in.size() == 3, "pool {} of {} axes", name, in.size());
  const std::int64_t height = window_output(in[1], w.kernel_h, w.stride_h, w.padding_h, w.dilation, w.ceil_mode);
  const std::int64_t width = window_output(in[2], w.kernel_w, w.stride_w, w.padding_w, w.dilation, w.ceil_mode);
  LOCKSTEP_ENSURE(height > 0 && width > 0, "pool {} is larger than its {}x{} input", name, in[1], in[2]);
  Op op = make(kind, name, {x}, {in[0], height, width});
  op.conv = w;
  return push(std::move(op));
}

OpId ModelBuilder::max_pool(OpId x, const std::string& name, std::int64_t kernel, std::int64_t stride,
                            std::int64_t padding, bool ceil_mode) {
  ConvAttributes window = square({1, kernel, stride, padding, 1, false});
  window.ceil_mode = ceil_mode;
  return pool(OpKind::MaxPool, x, name, window);
}

OpId ModelBuilder::avg_pool(OpId x, const std::string& name, std::int64_t kernel, std::int64_t stride,
                            std::int64_t padding) {
  return pool(OpKind::AvgPool, x, name, square({1, kernel, stride, padding, 1, false}));
}

OpId ModelBuilder::adaptive_avg_pool(OpId x, const std::string& name, std::int64_t height, std::int64_t width) {
  LOCKSTEP_ENSURE(shape(x).size() == 3, "pool {} of {} axes", name, shape(x).size());
  Op op = make(OpKind::AvgPool, name, {x}, {shape(x)[0], height, width});
  op.conv.kernel_h = op.conv.kernel_w = 0;
  return push(std::move(op));
}

OpId ModelBuilder::global_mean(OpId x, const std::string& name) {
  Op op = make(OpKind::AvgPool, name, {x}, {shape(x)[0]});
  op.conv.kernel_h = op.conv.kernel_w = 0;
  return push(std::move(op));
}

OpId ModelBuilder::concat(std::vector<OpId> parts, const std::string& name) {
  Shape output = shape(parts.front());
  for (std::size_t i = 1; i < parts.size(); ++i) output.front() += shape(parts[i]).front();
  return push(make(OpKind::Concat, name, std::move(parts), output));
}

OpId ModelBuilder::copy(OpId x, Shape output) {
  return push(make(OpKind::Copy, "", {x}, std::move(output)));
}

OpId ModelBuilder::view(OpId x, Shape output) {
  return push(make(OpKind::View, "", {x}, std::move(output)));
}

OpId ModelBuilder::flatten(OpId x) {
  return view(x, {elements_of(shape(x))});
}

OpId ModelBuilder::split(OpId x) {
  return push(make(OpKind::Split, "", {x}, shape(x)));
}

OpId ModelBuilder::cross_entropy(std::vector<OpId> logits) {
  const std::int64_t row = shape(logits.front()).back();
  for (const OpId one : logits) LOCKSTEP_ENSURE(shape(one) == shape(logits.front()), "losses over unlike outputs");
  Op op = make(OpKind::CrossEntropy, "", std::move(logits), {});
  op.row = row;
  return push(std::move(op));
}

void ModelBuilder::set_name(OpId id, const std::string& name) {
  model_.ops[static_cast<std::size_t>(id)].name = name;
}

void ModelBuilder::reorder_parameters(const std::vector<std::string>& names) {
  std::vector<int> place(model_.parameters.size(), -1);  // new position of each old one
  std::vector<Parameter> ordered;
  const auto move = [&](std::size_t old) {
    LOCKSTEP_ENSURE(place[old] == -1, "parameter {} named twice", model_.parameters[old].name);
    place[old] = static_cast<int>(ordered.size());
    ordered.push_back(model_.parameters[old]);
  };
  for (const std::string& name : names) move(static_cast<std::size_t>(by_name_.at(name)));
  for (std::size_t old = 0; old < place.size(); ++old) {
    if (place[old] == -1) move(old);
  }
  model_.parameters = std::move(ordered);
  const auto renumber = [&place](ParameterId& id) { id = ParameterId{place[static_cast<std::size_t>(id)]}; };
  for (Op& op : model_.ops) std::for_each(op.parameters.begin(), op.parameters.end(), renumber);
  for (auto& [name, id] : by_name_) renumber(id);
}

Model ModelBuilder::finish() && {
  LOCKSTEP_ENSURE(model_.ops.back().kind == OpKind::CrossEntropy, "{} does not end with its loss", model_.name);
  return std::move(model_);
}

}  // namespace lockstep
