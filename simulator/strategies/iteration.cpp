#include "simulator/strategies/iteration.h"

#include <fmt/format.h>

namespace lockstep {
namespace {

void add_kernel(ProgramBuilder& program, const RankView& view, double host_s, double device_s, Cause cause,
                std::string_view label) {
  if (view.mirrors_only) {
    program.host(host_s, Cause::HostBound, label);
  } else {
    program.kernel(host_s, device_s, cause, label);
  }
}

std::string label_of(const ProgramBuilder& program, const char* kernel, const Op& op) {
  if (!program.keeps_labels()) return {};
  return op.name.empty() ? kernel : fmt::format("{} {}", kernel, op.name);
}

void add_optimizer_kernel(ProgramBuilder& program, const RankView& view, const OptimizerKernel& kernel) {
  add_kernel(program, view, kernel.host_s, kernel.cost.seconds, Cause::Optimizer, kernel.cost.label);
  if (kernel.host_waits && !view.mirrors_only) program.host_sync();
}

}  // namespace

void add_start(ProgramBuilder& program, const StepContext& context, const RankView& view) {
  program.host(context.host.start, Cause::HostBound, "step start");
  for (const auto& kernel : context.zero_grad) add_optimizer_kernel(program, view, kernel);
}

void add_forward(ProgramBuilder& program, const StepContext& context, const RankView& view) {
  for (std::size_t i = 0; i < context.model.ops.size(); ++i) {
    if (context.is_loss(static_cast<OpId>(i))) continue;
    for (const auto& kernel : context.op_costs[i].forward)
      add_kernel(program, view, host_seconds(kernel.host, context.host) * view.forward_factor, kernel.seconds,
                 Cause::Forward, label_of(program, kernel.label, context.model.ops[i]));
  }
}

const OpCost* loss_cost(const StepContext& context) {
  for (std::size_t i = 0; i < context.model.ops.size(); ++i)
    if (context.is_loss(static_cast<OpId>(i))) return &context.op_costs[i];
  return nullptr;
}

void add_loss(ProgramBuilder& program, const StepContext& context, const OpCost& loss, const RankView& view) {
  double host_s = context.host.t_loss;
  for (const auto& kernel : loss.forward) {
    add_kernel(program, view, host_s, kernel.seconds, Cause::Forward, kernel.label);
    host_s = 0;
  }
}

void add_loss_backward(ProgramBuilder& program, const OpCost& loss, const RankView& view) {
  for (const auto& kernel : loss.backward) add_kernel(program, view, 0, kernel.seconds, Cause::Backward, kernel.label);
}

void add_backward(ProgramBuilder& program, const StepContext& context, const RankView& view, bool accumulates,
                  const GradientHook& hook) {
  for (const auto id : context.backward_order) {
    if (context.is_loss(id)) continue;
    const auto index = static_cast<std::size_t>(id);
    for (const auto& kernel : context.op_costs[index].backward)
      add_kernel(program, view, host_seconds(kernel.host, context.host) * view.backward_factor, kernel.seconds,
                 Cause::Backward, label_of(program, kernel.label, context.model.ops[index]));
    for (const auto parameter : context.ready_at[index]) {
      if (accumulates) {
        const auto kernel = accumulate_kernel(context.model.parameter(parameter), context.compute, context.host);
        add_kernel(program, view, kernel.host_s, kernel.cost.seconds, Cause::Backward, kernel.cost.label);
      }
      if (hook) hook(parameter);
    }
  }
}

void add_optimizer(ProgramBuilder& program, const StepContext& context, const RankView& view) {
  for (const auto& kernel : context.optimizer) add_optimizer_kernel(program, view, kernel);
}

}  // namespace lockstep
