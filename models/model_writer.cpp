#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "models/derived.h"
#include "models/model_file.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// One number where both are equal, else [height, width].
Json pair_of(std::int64_t height, std::int64_t width) {
  if (height == width) return height;
  return Json::array({height, width});
}

class ModelWriter {
 public:
  explicit ModelWriter(const Model& model) : model_(model) { choose_labels(); }

  std::string write() const {
    Json head = {{"name", model_.name}, {"sample_unit", model_.sample_unit}};
    head["input"] = {{"shape", model_.input}, {"dtype", name_of(model_.input_dtype)}};
    head["targets"] = model_.target_elements;
    std::string text = "{\n";
    for (const auto& [key, value] : head.items()) text += fmt::format("\"{}\": {},\n", key, text_of(value));
    text += "\"ops\": [";
    for (std::size_t i = 1; i < model_.ops.size(); ++i) text += (i == 1 ? "\n" : ",\n") + text_of(op_json(i));
    text += "\n],\n";
    const Json rest = tail();
    for (const auto& [key, value] : rest.items()) text += fmt::format("\"{}\": {},\n", key, text_of(value));
    return text + fmt::format("\"derived\": {}\n}}\n", text_of(derived()));
  }

 private:
  bool reads_op_above(std::size_t i) const {
    return model_.ops[i].inputs == std::vector<OpId>{OpId{static_cast<int>(i) - 1}} ||
           model_.ops[i].kind == OpKind::Parameter;
  }

  // `from` names an op by its name where that is the only one of it, else by an id.
  void choose_labels() {
    std::map<std::string, int> uses{{"input", 1}};
    for (const Op& op : model_.ops) ++uses[op.name];
    std::set<OpId> wanted;
    for (std::size_t i = 1; i < model_.ops.size(); ++i) {
      if (!reads_op_above(i)) wanted.insert(model_.ops[i].inputs.begin(), model_.ops[i].inputs.end());
    }
    labels_.resize(model_.ops.size());
    labels_[0] = "input";
    has_id_.resize(model_.ops.size(), false);
    for (const OpId id : wanted) {
      const std::size_t i = static_cast<std::size_t>(id);
      if (i == 0) continue;
      const std::string& name = model_.ops[i].name;
      has_id_[i] = name.empty() || uses[name] > 1;
      labels_[i] = has_id_[i] ? fmt::format("op{}", i) : name;
      while (has_id_[i] && uses.count(labels_[i]) > 0) labels_[i] += "_";
    }
  }

  Json op_json(std::size_t i) const {
    const Op& op = model_.ops[i];
    Json json = {{"op", file_name(op)}};
    if (!op.name.empty()) json["name"] = op.name;
    if (has_id_[i]) json["id"] = labels_[i];
    if (!reads_op_above(i)) {
      Json from = Json::array();
      for (const OpId input : op.inputs) from.push_back(labels_[static_cast<std::size_t>(input)]);
      json["from"] = std::move(from);
    }
    add_sizes(op, json);
    if (op.in_place) json["in_place"] = true;
    return json;
  }

  bool is_adaptive(const Op& op) const { return op.kind == OpKind::AvgPool && op.conv.kernel_h == 0; }

  std::string file_name(const Op& op) const {
    if (is_adaptive(op)) return op.output.size() == 1 ? "global_avg_pool" : "adaptive_avg_pool";
    return name_of(op.kind);
  }

  void add_sizes(const Op& op, Json& json) const {
    switch (op.kind) {
      case OpKind::Conv2d:
        json["out"] = op.output[0];
        add_window(op, json);
        if (op.conv.groups != 1) json["groups"] = op.conv.groups;
        json["bias"] = op.conv.bias;
        break;
      case OpKind::Linear:
      case OpKind::Conv1dGpt:
        json["out"] = op.gemm.n;
        add_linear_parameters(op, json);
        break;
      case OpKind::MatMul:
        json["gemm"] = {{"batch", op.gemm.batch}, {"m", op.gemm.m}, {"n", op.gemm.n}, {"k", op.gemm.k}};
        json["shape"] = op.output;
        break;
      case OpKind::Attention:
        json["gemm"] = {{"batch", op.gemm.batch}, {"m", op.gemm.m}, {"n", op.gemm.n}, {"k", op.gemm.k}};
        break;
      case OpKind::LayerNorm:
        if (op.parameters.size() < 2) json["bias"] = false;
        break;
      case OpKind::MaxPool:
      case OpKind::AvgPool:
        if (!is_adaptive(op)) add_window(op, json);
        if (is_adaptive(op) && op.output.size() == 3) json["size"] = pair_of(op.output[1], op.output[2]);
        break;
      case OpKind::Embedding: {
        const Parameter& table = model_.parameter(op.parameters[0]);
        json["entries"] = table.shape[0];
        json["width"] = table.shape[1];
        if (table.name != op.name + ".weight") json["shares"] = table.name;
        if (op.once_per_batch) json["once_per_batch"] = true;
        break;
      }
      case OpKind::Dropout:
        json["probability"] = op.probability;
        if (op.row > 0) json["per_sample"] = true;
        break;
      case OpKind::Parameter:
        json["shape"] = model_.parameter(op.parameters[0]).shape;
        break;
      case OpKind::Copy:
      case OpKind::View:
        json["shape"] = op.output;
        break;
      default:
        break;
    }
  }

  void add_window(const Op& op, Json& json) const {
    const ConvAttributes& w = op.conv;
    json["kernel"] = pair_of(w.kernel_h, w.kernel_w);
    json["stride"] = pair_of(w.stride_h, w.stride_w);
    if (w.padding_h != 0 || w.padding_w != 0) json["padding"] = pair_of(w.padding_h, w.padding_w);
    if (w.dilation != 1) json["dilation"] = w.dilation;
    if (w.ceil_mode) json["ceil_mode"] = true;
  }

  bool is_first_use(const Op& op) const {
    for (const Op& other : model_.ops) {
      for (const ParameterId id : other.parameters) {
        if (id == op.parameters[0]) return &other == &op;
      }
    }
    return true;
  }

  void add_linear_parameters(const Op& op, Json& json) const {
    const std::string& weight = model_.parameter(op.parameters[0]).name;
    if (weight != op.name + ".weight") json[is_first_use(op) ? "weight_name" : "shares"] = weight;
    if (op.parameters.size() < 2) {
      json["bias"] = false;
      return;
    }
    const std::string& bias = model_.parameter(op.parameters[1]).name;
    if (bias != op.name + ".bias") json["bias_name"] = bias;
  }

  Json tail() const {
    Json json = Json::object();
    std::set<std::string> of_batch_norms;
    for (const Op& op : model_.ops) {
      if (op.kind != OpKind::BatchNorm) continue;
      for (const char* part : {".running_mean", ".running_var", ".num_batches_tracked"}) {
        of_batch_norms.insert(op.name + part);
      }
    }
    for (const Buffer& b : model_.buffers) {
      if (of_batch_norms.count(b.name) > 0) continue;
      json["buffers"].push_back({{"name", b.name}, {"shape", b.shape}, {"dtype", name_of(b.dtype)}});
    }
    for (const Parameter& p : model_.parameters) {
      if (!p.used)
        json["unused_parameters"].push_back({{"name", p.name}, {"shape", p.shape}, {"dtype", name_of(p.dtype)}});
    }
    add_registration(json);
    return json;
  }

  // Left out where it is the order in which the ops use them, unused ones last.
  void add_registration(Json& json) const {
    std::vector<std::string> by_use, by_registration;
    std::set<std::string> seen;
    for (const Op& op : model_.ops) {
      for (const ParameterId id : op.parameters) {
        if (seen.insert(model_.parameter(id).name).second) by_use.push_back(model_.parameter(id).name);
      }
    }
    for (const Parameter& p : model_.parameters) {
      by_registration.push_back(p.name);
      if (seen.insert(p.name).second) by_use.push_back(p.name);
    }
    if (by_use != by_registration) json["registration"] = by_registration;
  }

  Json derived() const {
    Json order = Json::array();
    for (const ParameterId id : gradient_order(model_)) order.push_back(model_.parameter(id).name);
    return {{"parameters", parameter_count(model_)},
            {"parameter_tensors", model_.parameters.size()},
            {"buffers", model_.buffers.size()},
            {"buffer_bytes", buffer_bytes(model_)},
            {"modules", module_count(model_)},
            {"forward_flop_per_sample", forward_flop(model_)},
            {"backward_flop_per_sample", backward_flop(model_)},
            {"saved_activation_bytes_per_sample", saved_activation_bytes_per_sample(model_)},
            {"gradient_order", std::move(order)}};
  }

  const Model& model_;
  std::vector<std::string> labels_;  // empty: nobody asks
  std::vector<bool> has_id_;
};

}  // namespace

std::string to_model_json(const Model& model) {
  return ModelWriter(model).write();
}

}  // namespace lockstep
