// The data loader of a process (torch.utils.data.DataLoader) in steady state, and the place in a program where the
// process takes a batch from it.
//
//   batch     samples of the process in one micro-step: under dp those of all GPUs, else those of one
//   period    with workers, the longest of
//               batch x sample cost / workers
//               the copy into pinned memory by one thread
//               processes of the node x (batch x sample cost + pinning + own) / cores
//   host      without workers: batch x sample cost + copy into pinned memory, on the launching thread
//
// The last of the three is the node's CPU at work all the time, a launching thread included: it keeps a core for the
// `own` time of its step (PointRequest::own_batch_s; a fair share where there are more such threads than cores) and
// lends it to workers while it waits for them.
//
// Source: torch/utils/data/dataloader.py and _utils (PyTorch 2.7). The node with the most processes for each core has
// the slowest loaders, and they stand for all: every rank waits for the slowest. Nodes are filled in order, so that is
// the first unless nodes differ.
#pragma once

#include "simulator/steps/step_graph.h"
#include "simulator/strategies/step_context.h"

namespace lockstep {

struct LoaderPlan {
  std::int64_t batch = 0;
  int processes = 1;         // on the fullest node
  double cores = 0;          // of a node
  double workers = 0;        // of each process that are at work at a time when the loader is the limit
  bool cores_limit = false;  // fewer than there are, for want of cores
  bool pin_limits = false;   // fewer than there are, because of the thread that pins
  double period_s = 0;       // 0 without workers
  double host_s = 0;         // 0 with workers
  double core_s = 0;         // core-seconds that workers and pinning thread of one process spend on a batch
  int depth = 1;             // batches in the making or waiting
  // Samples per second of one process's loader, at most.
  double rate() const { return static_cast<double>(batch) / (period_s > 0 ? period_s : host_s); }
};

// Of a scenario whose loader is active().
LoaderPlan loader_plan(const PointRequest& request);

// Cores of one node: the scenario's, else the node's.
double host_cores(const Scenario& scenario, const Topology& topology, int node = 0);

// Sets the graph's loader. Nothing without an active loader, as below.
void set_loader(StepGraph& graph, const StepContext& context);
// The process takes its next batch.
void add_loader_wait(ProgramBuilder& program, const StepContext& context);

}  // namespace lockstep
