// The parts of one training iteration that strategies share: each appends items to one rank's program. Host time first,
// then the kernel, in the order in which PyTorch issues them.
#pragma once

#include <functional>

#include "simulator/steps/step_graph.h"
#include "simulator/strategies/step_context.h"

namespace lockstep {

// How the host pays for this rank's ops, and whether this rank has the kernels or only mirrors the host's work (the
// other GPUs of DataParallel while GPU 0 works).
struct RankView {
  double forward_factor = 1;
  double backward_factor = 1;
  bool mirrors_only = false;
};

void add_start(ProgramBuilder& program, const StepContext& context, const RankView& view);  // fixed part, zero_grad
void add_forward(ProgramBuilder& program, const StepContext& context, const RankView& view);
// The loss, forward part, on costs that may be those of a larger batch.
void add_loss(ProgramBuilder& program, const StepContext& context, const OpCost& loss, const RankView& view);
void add_loss_backward(ProgramBuilder& program, const OpCost& loss, const RankView& view);

// Called when the gradient of a parameter is final in .grad.
using GradientHook = std::function<void(ParameterId)>;
// Backward without the loss. `accumulates`: gradients are added to kept ones.
void add_backward(ProgramBuilder& program, const StepContext& context, const RankView& view, bool accumulates,
                  const GradientHook& hook);
void add_optimizer(ProgramBuilder& program, const StepContext& context, const RankView& view);

const OpCost* loss_cost(const StepContext& context);  // nullptr for a model without loss

}  // namespace lockstep
