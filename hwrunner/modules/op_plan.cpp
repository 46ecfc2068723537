#include "hwrunner/modules/op_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace lockstep {
namespace {

std::size_t index_of(OpId id) {
  return static_cast<std::size_t>(id);
}

tl::unexpected<Errors> not_supported(const Model& model, const Op& op, const char* what) {
  Error error;
  error.kind = ErrorKind::NotSupported;
  error.key = "model";
  error.message = fmt::format("{}: the hardware runner cannot tell from its shapes {} `{}`", model.name, what,
                              op.name.empty() ? name_of(op.kind) : op.name);
  return tl::make_unexpected(Errors{error});
}

bool reads_a_part(const Model& model, const Op& op) {
  if (op.kind != OpKind::Copy && op.kind != OpKind::View) return false;
  const Op& source = model.op(op.inputs.front());
  return source.kind == OpKind::Split && elements_of(op.output) < elements_of(source.output);
}

// Which axis of `whole` is cut for a part of `elements` values. Rows of features are cut along the features when they
// are copied afterwards (torch.split of query, key and value), anything else along its first axis (torch.chunk of
// channels).
std::optional<std::size_t> split_axis(const Shape& whole, const Op& reader) {
  const std::int64_t all = elements_of(whole), part = elements_of(reader.output);
  const auto fits = [&](std::size_t axis) { return whole[axis] * part % all == 0; };
  const std::size_t last = whole.size() - 1;
  if (reader.kind == OpKind::Copy && whole.size() == 2 && fits(last)) return last;
  if (fits(0)) return 0;
  if (fits(last)) return last;
  return std::nullopt;
}

std::optional<Shape> broadcast_shape(const Shape& small, const Shape& large) {
  const std::size_t missing = large.size() - std::min(large.size(), small.size());
  const auto matches = [&](const Shape& shape) {
    for (std::size_t i = 0; i < shape.size(); ++i)
      if (shape[i] != 1 && shape[i] != large[i]) return false;
    return shape.size() == large.size();
  };
  Shape leading(missing, 1), trailing = small;  // [1, 1, C] as numpy would, or [C, 1, 1]: a factor for each channel
  leading.insert(leading.end(), small.begin(), small.end());
  trailing.insert(trailing.end(), missing, 1);
  if (matches(leading)) return leading;
  if (matches(trailing)) return trailing;
  return std::nullopt;
}

class Planner {
 public:
  explicit Planner(const Model& model) : model_(model), plans_(model.ops.size()) {}

  Expected<std::vector<OpPlan>> plan() {
    for (std::size_t i = 0; i < model_.ops.size(); ++i) {
      const Op& op = model_.ops[i];
      OpPlan& plan = plans_[i];
      if (op.kind == OpKind::Embedding) plan.reads_positions = op.once_per_batch;
      if (op.kind == OpKind::Multiply && !plan_factors(op, plan))
        return not_supported(model_, op, "which values meet in");
      if (op.kind != OpKind::Copy && op.kind != OpKind::View) continue;
      Shape input = model_.input_shape(op);
      if (reads_a_part(model_, op)) {
        if (!plan_part(op, plan)) return not_supported(model_, op, "which part of its input is read by");
        input[plan.part->axis] = plan.part->length;
      }
      plan.rearrangement = rearrangement_of(input, op.output);
    }
    mark_whole_splits();
    mark_last_reads();
    return std::move(plans_);
  }

 private:
  bool plan_factors(const Op& op, OpPlan& plan) {
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      const std::optional<Shape> shape = broadcast_shape(model_.input_shape(op, i), op.output);
      if (!shape) return false;
      plan.factors[i] = *shape;
    }
    return true;
  }

  bool plan_part(const Op& op, OpPlan& plan) {
    const OpId split = op.inputs.front();
    const Shape& whole = model_.op(split).output;
    const std::optional<std::size_t> axis = split_axis(whole, op);
    if (!axis) return false;
    Readers& readers = readers_[split];
    SplitPart part;
    part.axis = *axis;
    part.length = whole[*axis] * elements_of(op.output) / elements_of(whole);
    part.start = readers.end;
    part.index = readers.count++;
    readers.end += part.length;
    readers.equal = readers.equal && part.start == part.index * part.length;
    readers.axis = readers.count == 1 ? *axis : readers.axis;
    if (readers.end > whole[*axis] || readers.axis != *axis) return false;
    plan.part = part;
    return true;
  }

  void mark_whole_splits() {
    for (std::size_t i = 0; i < plans_.size(); ++i) {
      if (!plans_[i].part) continue;
      const OpId split = model_.ops[i].inputs.front();
      const Readers& readers = readers_.at(split);
      plans_[i].part->whole = readers.equal && readers.end == model_.op(split).output[readers.axis];
    }
  }

  void mark_last_reads() {
    std::vector<std::size_t> last(model_.ops.size(), 0);
    for (std::size_t i = 0; i < model_.ops.size(); ++i) {
      last[i] = i;
      for (const OpId input : model_.ops[i].inputs) last[index_of(input)] = i;
    }
    for (std::size_t i = 0; i < last.size(); ++i) plans_[last[i]].last_read.push_back(OpId{static_cast<int>(i)});
  }

  struct Readers {
    std::int64_t end = 0;
    int count = 0;
    bool equal = true;
    std::size_t axis = 0;
  };

  const Model& model_;
  std::vector<OpPlan> plans_;
  std::map<OpId, Readers> readers_;
};

}  // namespace

Rearrangement rearrangement_of(const Shape& in, const Shape& out) {
  if (in == out) return {in, {}};
  if (in.size() == 2 && out.size() == 3 && out[0] * out[1] * out[2] == in[0] * in[1]) {
    // [s, heads x width] -> [heads, s, width], or transposed for the keys: [heads, width, s]
    if (out[1] == in[0]) return {{in[0], out[0], out[2]}, {1, 0, 2}};
    if (out[2] == in[0]) return {{in[0], out[0], out[1]}, {1, 2, 0}};
  }
  // [s, parts x heads x width] -> [parts, heads, s, width]
  if (in.size() == 2 && out.size() == 4 && out[2] == in[0]) return {{in[0], out[0], out[1], out[3]}, {1, 2, 0, 3}};
  // [heads, s, width] -> [s, heads x width]
  if (in.size() == 3 && out.size() == 2 && out[0] == in[1] && out[1] == in[0] * in[2]) return {in, {1, 0, 2}};
  // [channels, height, width] -> [pixels, channels]: patches of an image
  if (in.size() == 3 && out.size() == 2 && out[1] == in[0] && out[0] == in[1] * in[2])
    return {{in[0], in[1] * in[2]}, {1, 0}};
  return {in, {}};
}

std::int64_t input_vocabulary(const Model& model) {
  std::int64_t rows = 0;
  for (const Op& op : model.ops) {
    if (op.kind != OpKind::Embedding || op.once_per_batch) continue;
    rows = std::max(rows, model.parameter(op.parameters.front()).shape.front());
  }
  return rows;
}

Expected<std::vector<OpPlan>> plan_ops(const Model& model) {
  return Planner(model).plan();
}

}  // namespace lockstep
