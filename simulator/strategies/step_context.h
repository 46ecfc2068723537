// What every strategy needs of one point: costs of ops, optimizer and host for this model, GPU and batch.
#pragma once

#include <vector>

#include "models/derived.h"
#include "models/model.h"
#include "scenarios/scenario.h"
#include "simulator/costs/constants.h"
#include "simulator/costs/op_cost.h"
#include "simulator/costs/optimizer_cost.h"
#include "topologies/routes.h"
#include "topologies/topology.h"

namespace lockstep {

struct PointRequest {
  const Scenario* scenario = nullptr;
  const Model* model = nullptr;
  const Topology* topology = nullptr;
  Strategy strategy = Strategy::Single;
  int gpus = 1;
  std::int64_t per_gpu_batch = 1;  // micro-batch of one GPU
  int micro_steps = 1;
  double kernel_factor = 1;  // g of calibrate.single_gpu
  double host_factor = 0;    // 0: the scenario's, else the node's
  double host_scale = 1;     // on top of that, on every node
  double single_step_s = 0;  // sets DDP's expected wait for the slowest rank
  double own_batch_s = 0;    // a micro-step of this point with its batch at hand; sets what a loader has of the CPU
  bool folded = true;        // identical ranks simulated once
  int node = 0;              // whose GPU and host the costs are of
  bool labels = true;        // StepGraph::labels, for timeline and parts
};

// Consecutive ranks on nodes of the same GPU and host: what one program serves.
struct RankKind {
  int first_rank = 0;
  int ranks = 1;
  int node = 0;  // the first of their nodes
};
// Of request.gpus ranks, in rank order; one kind unless nodes differ.
std::vector<RankKind> rank_kinds(const PointRequest& request);

struct StepContext {
  explicit StepContext(const PointRequest& request);

  PointRequest request;
  const Scenario& scenario;
  const Model& model;
  const Topology& topology;
  ComputeContext compute;
  HostCosts host;
  DdpCosts ddp;
  InputCosts input;
  std::vector<OpCost> op_costs;  // [op]
  std::vector<OpId> backward_order;
  std::vector<std::vector<ParameterId>> ready_at;  // [op] parameters whose gradient is final after this op's backward
  std::vector<OptimizerKernel> optimizer, zero_grad;
  bool keeps_gradients = false;  // zero_grad sets zeros: the first gradient of a step is added, not taken over
  double memory_bandwidth = 0;

  const Op& op(OpId id) const { return model.op(id); }
  bool is_loss(OpId id) const { return model.op(id).kind == OpKind::CrossEntropy; }
  // CPU cores stand in for GPUs: who launches a kernel computes it.
  bool on_cores() const { return topology.node_type(request.node).gpu.vendor == "cpu"; }
  std::int64_t output_bytes() const;  // of what the network hands to the loss, for one GPU's batch
};

// Compute context of a batch on the GPUs of request.node.
ComputeContext compute_context(const PointRequest& request, std::int64_t batch);

}  // namespace lockstep
