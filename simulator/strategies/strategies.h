// From a point to its StepGraph: one builder per strategy, one pair of files each when it is more than a page.
#pragma once

#include "simulator/steps/step_graph.h"
#include "simulator/strategies/step_context.h"

namespace lockstep {

StepGraph build_single(const StepContext& context);
StepGraph build_ddp(const StepContext& context);
StepGraph build_dp(const StepContext& context);

// The builder of request.strategy. DataParallel on one GPU calls the module directly: the graph of Single.
StepGraph build_step_graph(const StepContext& context);
StepGraph build_step_graph(const PointRequest& request);

// True when the ranks of this point are alike, so that one may stand for all: no noise that tells them apart, the same
// path to the host for each.
bool ranks_are_alike(const PointRequest& request);

}  // namespace lockstep
