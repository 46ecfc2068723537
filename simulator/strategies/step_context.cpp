#include "simulator/strategies/step_context.h"

#include <algorithm>
#include <cstdlib>

namespace lockstep {
namespace {

// The PyTorch default of FP32 matrix products on Ampere: TF32 in 1.7 to 1.11, off since 1.12; convolutions on
// since 1.7.
bool tf32_on(Switch chosen, bool matmul, const Scenario& scenario) {
  if (scenario.precision == Precision::Tf32) return true;
  if (chosen != Switch::Auto) return chosen == Switch::On;
  const Version torch = torch_version(scenario);
  if (torch < Version{1, 7}) return false;
  return !matmul || torch < Version{1, 12};
}

std::vector<std::vector<ParameterId>> ready_by_op(const Model& model, const std::vector<OpId>& backward_order,
                                                  bool autocast) {
  std::vector<std::size_t> last_use(model.parameters.size(), model.ops.size());
  for (const auto op : backward_order)
    for (const auto parameter : model.op(op).parameters)
      last_use[static_cast<std::size_t>(parameter)] = static_cast<std::size_t>(op);
  std::vector<std::vector<ParameterId>> ready(model.ops.size());
  for (const auto parameter : gradient_order(model, autocast))
    ready[last_use[static_cast<std::size_t>(parameter)]].push_back(parameter);
  return ready;
}

}  // namespace

ComputeContext compute_context(const PointRequest& request, std::int64_t batch) {
  const Scenario& scenario = *request.scenario;
  ComputeContext context;
  context.gpu = &request.topology->node_type(request.node).gpu;
  context.batch = batch;
  context.autocast = scenario.precision == Precision::AmpFp16 || scenario.precision == Precision::AmpBf16;
  context.bf16 = scenario.precision == Precision::AmpBf16;
  context.tf32_conv = tf32_on(scenario.tf32_conv, false, scenario);
  context.tf32_matmul = tf32_on(scenario.tf32_matmul, true, scenario);
  context.kernel_factor = request.kernel_factor;
  return context;
}

std::vector<RankKind> rank_kinds(const PointRequest& request) {
  const Topology& topology = *request.topology;
  std::vector<RankKind> kinds = {{0, request.gpus, 0}};
  if (topology.nodes.empty()) return kinds;
  kinds.front().ranks = 0;
  for (int rank = 0; rank < request.gpus; ++rank) {
    const int node = topology.node_of(rank);
    const Node &here = topology.node_type(node), &before = topology.node_type(kinds.back().node);
    if (here.gpu != before.gpu || here.host.factor != before.host.factor) kinds.push_back({rank, 0, node});
    ++kinds.back().ranks;
  }
  return kinds;
}

StepContext::StepContext(const PointRequest& r)
    : request(r), scenario(*r.scenario), model(*r.model), topology(*r.topology) {
  const CostConstants& constants = default_constants();
  double factor = r.host_factor;
  if (factor == 0) factor = scenario.host_factor.value_or(topology.node_type(r.node).host.factor);
  factor *= r.host_scale;
  compute = compute_context(r, r.per_gpu_batch);
  host = host_costs(constants.host, factor);
  if (on_cores()) host.launch_latency = 0;
  ddp = constants.ddp;
  input = constants.input;
  op_costs = lockstep::op_costs(model, compute);
  backward_order = lockstep::backward_order(model);
  ready_at = ready_by_op(model, backward_order, compute.autocast);
  OptimizerSpec spec;
  spec.kind = scenario.optimizer;
  spec.implementation = scenario.optimizer_implementation;
  spec.weight_decay = scenario.weight_decay;
  spec.clip_grad_norm = scenario.clip_grad_norm;
  spec.gradient_scaler = scenario.precision == Precision::AmpFp16;
  spec.cuda_major = std::atoi(scenario.cuda_version.c_str());
  optimizer = optimizer_kernels(model, spec, compute, host);
  keeps_gradients = scenario.zero_grad == ZeroGrad::Zeros ||
                    (scenario.zero_grad == ZeroGrad::Auto && torch_version(scenario) < Version{2, 0});
  if (keeps_gradients) zero_grad = zero_grad_kernels(model, compute, host);
  memory_bandwidth = compute.gpu->memory_bandwidth;
}

std::int64_t StepContext::output_bytes() const {
  const auto loss =
      std::find_if(model.ops.begin(), model.ops.end(), [](const Op& op) { return op.kind == OpKind::CrossEntropy; });
  const OpId last{static_cast<int>(model.ops.size()) - 1};
  const std::vector<OpId> outputs = loss == model.ops.end() ? std::vector<OpId>{last} : loss->inputs;
  const auto types = output_dtypes(model, compute);
  std::int64_t bytes = 0;
  for (const OpId id : outputs)
    bytes += elements_of(model.op(id).output) * bytes_of(types[static_cast<std::size_t>(id)]);
  return bytes * request.per_gpu_batch;
}

}  // namespace lockstep
