#include "simulator/strategies/loader_wait.h"

#include <algorithm>

#include "simulator/base/ensure.h"

namespace lockstep {

double host_cores(const Scenario& scenario, const Topology& topology, int node) {
  return scenario.host_cores.value_or(topology.node_type(node).host.cores);
}

namespace {

// Processes and cores of the node with the most processes for each core.
void set_fullest_node(LoaderPlan& plan, const PointRequest& request) {
  const Topology& topology = *request.topology;
  plan.cores = host_cores(*request.scenario, topology);
  if (request.strategy != Strategy::Ddp) return;
  plan.processes = std::min(request.gpus, topology.gpus_on(0));
  int first = plan.processes;
  for (int node = 1; first < request.gpus && !topology.nodes.empty(); ++node) {
    const int processes = std::min(request.gpus - first, topology.gpus_on(node));
    const double cores = host_cores(*request.scenario, topology, node);
    if (processes * plan.cores > plan.processes * cores) {
      plan.processes = processes;
      plan.cores = cores;
    }
    first += processes;
  }
}

}  // namespace

LoaderPlan loader_plan(const PointRequest& request) {
  const Scenario& scenario = *request.scenario;
  const LoaderOptions& loader = scenario.loader;
  const InputCosts& costs = default_constants().input;
  LOCKSTEP_ENSURE(loader.active(), "no loader in {}", scenario.file);
  LoaderPlan plan;
  plan.batch = request.per_gpu_batch * (request.strategy == Strategy::Dp ? request.gpus : 1);
  set_fullest_node(plan, request);
  plan.depth = std::max(1, loader.prefetch_factor * loader.workers_per_process);
  const double batch_s = static_cast<double>(plan.batch) * *loader.sample_cost_s;
  const std::int64_t bytes = batch_bytes(*request.model, plan.batch, scenario.input.dtype);
  const double pin_s = loader.pin_memory ? pin_seconds(bytes, scenario.input.touched, costs) : 0;
  if (loader.workers_per_process == 0) {
    plan.host_s = batch_s + pin_s;
    return plan;
  }
  plan.core_s = batch_s + pin_s;
  const double workers_s = batch_s / loader.workers_per_process;
  const double own_core_s = request.own_batch_s * std::min(1.0, plan.cores / plan.processes);
  const double cores_s = plan.processes * (plan.core_s + own_core_s) / plan.cores;
  plan.period_s = std::max({workers_s, pin_s, cores_s});
  plan.workers = batch_s / plan.period_s;
  plan.cores_limit = cores_s > std::max(workers_s, pin_s);
  plan.pin_limits = pin_s > std::max(workers_s, cores_s);
  return plan;
}

void set_loader(StepGraph& graph, const StepContext& context) {
  if (!context.scenario.loader.active()) return;
  const LoaderPlan plan = loader_plan(context.request);
  graph.loader = {plan.period_s, plan.depth};
}

void add_loader_wait(ProgramBuilder& program, const StepContext& context) {
  if (!context.scenario.loader.active()) return;
  const LoaderPlan plan = loader_plan(context.request);
  if (plan.host_s > 0)
    program.host(plan.host_s, Cause::Input, "load batch");
  else
    program.loader_wait("next batch of the loader");
}

}  // namespace lockstep
