// One GPU without a wrapper: the baseline of every other strategy.
#include <algorithm>

#include "simulator/base/ensure.h"
#include "simulator/strategies/input_copy.h"
#include "simulator/strategies/iteration.h"
#include "simulator/strategies/loader_wait.h"
#include "simulator/strategies/strategies.h"

namespace lockstep {

StepGraph build_single(const StepContext& context) {
  StepGraph graph;
  graph.keeps_labels = context.request.labels;
  graph.launch_latency_s = context.host.launch_latency;
  graph.contention = context.ddp.phi;
  graph.host_computes = context.on_cores();
  graph.classes = {{0, 1, false}};
  set_loader(graph, context);
  graph.steady.micro_steps = context.request.micro_steps;
  graph.steady.programs.resize(1);
  ProgramBuilder program(graph, graph.steady.programs[0]);
  const RankView view;
  add_start(program, context, view);
  for (int micro = 0; micro < context.request.micro_steps; ++micro) {
    add_loader_wait(program, context);
    if (auto copy = input_copy(graph, context)) {
      graph.steady.meetings.push_back(*std::move(copy));
      arrive_at_input_copy(program, static_cast<int>(graph.steady.meetings.size()) - 1, context);
    }
    add_forward(program, context, view);
    if (const OpCost* loss = loss_cost(context)) {
      add_loss(program, context, *loss, view);
      add_loss_backward(program, *loss, view);
    }
    add_backward(program, context, view, context.keeps_gradients || micro > 0, {});
  }
  add_optimizer(program, context, view);
  return graph;
}

StepGraph build_step_graph(const PointRequest& request) {
  return build_step_graph(StepContext(request));
}

StepGraph build_step_graph(const StepContext& context) {
  const PointRequest& request = context.request;
  switch (request.strategy) {
    case Strategy::Ddp:
      return build_ddp(context);
    case Strategy::Dp:
      if (request.gpus > 1) return build_dp(context);
      [[fallthrough]];
    case Strategy::Single:
      break;
    case Strategy::DpCpp:
      LOCKSTEP_ENSURE(false, "there is no step graph of {}", name_of(request.strategy));
  }
  return build_single(context);
}

bool ranks_are_alike(const PointRequest& request) {
  const InputOptions& input = request.scenario->input;
  if (request.scenario->noise.jitter) return false;
  if (input.source != InputSource::Host || request.strategy == Strategy::Single) return true;
  if (request.strategy == Strategy::Ddp) {
    const auto kinds = rank_kinds(request);
    return std::all_of(kinds.begin(), kinds.end(),
                       [&](const RankKind& kind) { return folded_copy(request, kind).alike; });
  }
  // DataParallel's pieces cross the links of different GPUs at once.
  return input.dp_copy == DpCopy::Device0 || copy_mode(input) == CopyMode::Blocking;
}

}  // namespace lockstep
