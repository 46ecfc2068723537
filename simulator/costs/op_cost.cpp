#include "simulator/costs/op_cost.h"

#include "models/derived.h"
#include "simulator/base/ensure.h"
#include "simulator/costs/op_view.h"
#include "simulator/costs/pricing.h"

namespace lockstep {
namespace {

std::size_t index_of(OpId id) {
  return static_cast<std::size_t>(id);
}

// The autograd engine sums the gradients that arrive at a tensor with several consumers, and those of a tied parameter.
void append_gradient_adds(const OpView& view, const Pricing& pricing, OpCost& cost) {
  const auto add = [&](double bytes) {
    cost.backward.push_back(
        pricing.kernel(pricing.pointwise_seconds(3 * bytes), HostClass::BackwardOther, "gradient_add"));
  };
  for (int i = 0; i < view.gradient_adds; ++i) add(view.output.bytes());
}

void append_tied_gradient_adds(const OpView& view, const Pricing& pricing, OpCost& cost) {
  for (const ParameterView& parameter : view.parameters)
    if (parameter.used_later)
      cost.backward.push_back(pricing.kernel(pricing.pointwise_seconds(3 * parameter.bytes()), HostClass::BackwardOther,
                                             "tied_gradient_add"));
}

OpCost cost_of(const OpView& view, const Model& model, bool autocast, const Pricing& pricing) {
  OpCost cost;
  if (view.output.needs_gradient) append_gradient_adds(view, pricing, cost);
  if (autocast) append_forward_casts(view, pricing, cost);
  switch (view.op->kind) {
    case OpKind::Conv2d:
      append_conv(view, model, pricing, cost);
      break;
    case OpKind::Linear:
    case OpKind::Conv1dGpt:
    case OpKind::MatMul:
      append_matrix_product(view, pricing, cost);
      break;
    case OpKind::Attention:
      append_attention(view, pricing, cost);
      break;
    default:
      append_memory_bound(view, pricing, cost);
  }
  if (!view.output.needs_gradient) return cost;
  if (autocast) append_backward_casts(view, pricing, cost);
  append_tied_gradient_adds(view, pricing, cost);
  return cost;
}

double sum_seconds(const std::vector<KernelCost>& kernels) {
  double sum = 0;
  for (const KernelCost& kernel : kernels) sum += kernel.seconds;
  return sum;
}

}  // namespace

ModelFacts facts_of(const Model& model, const ComputeContext& context) {
  ModelFacts facts{output_dtypes(model, context), requires_gradient(model), runs_backward(model), gradient_adds(model),
                   std::vector<std::size_t>(model.parameters.size(), 0)};
  for (std::size_t op = 0; op < model.ops.size(); ++op)
    for (const ParameterId parameter : model.ops[op].parameters)
      facts.last_use[static_cast<std::size_t>(parameter)] = op;
  return facts;
}

OpView describe_op(const Model& model, OpId id, const ComputeContext& context, const ModelFacts& facts) {
  const Op& op = model.op(id);
  const std::size_t index = index_of(id);
  const auto tensor = [&](const Op& producer, std::size_t at) {
    const std::int64_t samples = producer.once_per_batch ? 1 : context.batch;
    return TensorView{static_cast<double>(samples * elements_of(producer.output)), facts.dtypes[at], false,
                      producer.once_per_batch};
  };
  OpView view;
  view.op = &op;
  view.id = id;
  view.batch = op.once_per_batch ? 1 : context.batch;
  view.regime = regime_of(op, context);
  for (const OpId input : op.inputs) {
    view.inputs.push_back(tensor(model.op(input), index_of(input)));
    view.inputs.back().needs_gradient = facts.requires_gradient[index_of(input)];
    view.input_gradient = view.input_gradient || view.inputs.back().needs_gradient;
  }
  view.output = tensor(op, index);
  view.output.needs_gradient = facts.runs_backward[index];
  for (const ParameterId id_of : op.parameters) {
    const Parameter& parameter = model.parameter(id_of);
    view.parameters.push_back({static_cast<double>(parameter.elements()), parameter.dtype,
                               facts.last_use[static_cast<std::size_t>(id_of)] > index});
  }
  view.gradient_adds = facts.gradient_adds[index];
  return view;
}

OpCost op_cost(const Model& model, OpId id, const ComputeContext& context) {
  LOCKSTEP_ENSURE(index_of(id) < model.ops.size(), "op {} of {}", index_of(id), model.ops.size());
  const Pricing pricing(context);
  return cost_of(describe_op(model, id, context, facts_of(model, context)), model, context.autocast, pricing);
}

std::vector<OpCost> op_costs(const Model& model, const ComputeContext& context) {
  const Pricing pricing(context);
  const ModelFacts facts = facts_of(model, context);
  std::vector<OpCost> costs;
  costs.reserve(model.ops.size());
  for (std::size_t i = 0; i < model.ops.size(); ++i)
    costs.push_back(
        cost_of(describe_op(model, OpId{static_cast<int>(i)}, context, facts), model, context.autocast, pricing));
  return costs;
}

double forward_seconds(const std::vector<OpCost>& costs) {
  double sum = 0;
  for (const OpCost& cost : costs) sum += sum_seconds(cost.forward);
  return sum;
}

double backward_seconds(const std::vector<OpCost>& costs) {
  double sum = 0;
  for (const OpCost& cost : costs) sum += sum_seconds(cost.backward);
  return sum;
}

}  // namespace lockstep
