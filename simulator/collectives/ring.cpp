#include "simulator/collectives/ring.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "simulator/base/ensure.h"

namespace lockstep {
namespace {

constexpr double kUs = 1e-6;
constexpr double kNcclNetworkHop = 14 * kUs;  // Ring Simple, NCCL 2.14 to 2.30 tuning table

// Fitted on open all-reduce tables (tests/data), protocol Simple. Bands of a prediction: answers/bands.cpp.
const std::array<RingConstants, 10> kConstants{{
    {PathClass::SingleGpu, 0, 0, 1, 0, 0, 0, "one rank: nothing to move"},
    {PathClass::NvlinkA100, 29 * kUs, 5.3 * kUs, 0.98, 0.5, 0, 0, "fit: vTrain A100 table, ml-engineering A100 table"},
    {PathClass::NvlinkV100, 15 * kUs, 5.0 * kUs, 1.18, 0.15, 0, 0, "fit: vTrain V100 table (n = 5 left out)"},
    {PathClass::NvlinkH100, 29 * kUs, 5.3 * kUs, 0.98, 0.5, 0, 0, "A100's t_p, h_p, e_p held on H100 tables"},
    {PathClass::PcieP2p, 32 * kUs, 3.4 * kUs, 1.08, 0.5, 0, 0,
     "fit: nccl-tests logs of RTX 4090 boxes with peer access"},
    {PathClass::PcieShm, 41 * kUs, 4.2 * kUs, 0.64, 0.5, 0, 0, "fit: one log (8x RTX 4090, Gen4); others .06 to .63"},
    {PathClass::InfiniBand, 29 * kUs, 5.3 * kUs, 1.0, 0, 1.3, kNcclNetworkHop, "fit: 2x DGX A100 HDR and others"},
    {PathClass::Efa, 29 * kUs, 5.3 * kUs, 0.97, 0, 1.2, kNcclNetworkHop,
     "fit: 2x p4d and others; lambda of the fabric"},
    {PathClass::Tcp, 50 * kUs, 4.3 * kUs, 1.0, 0, 0, 0, "fit: training runs at 1 to 100 Gb/s (a 20-150, h 3-6 us)"},
    {PathClass::CpuShared, 50 * kUs, 20 * kUs, 1.0, 0, 0, 0,
     "prior: Gloo between processes of one host, 10-30 us a message"},
}};

// One host thread that launches a call on g GPUs needs at least g (cl + cc channels): fitted on nccl-tests -g tables.
double launch_floor_s(PathClass path, int gpus, int channels) {
  const bool pcie = path == PathClass::PcieP2p || path == PathClass::PcieShm;
  const double per_gpu = (pcie ? 4.6 : 3.9) * kUs + (pcie ? 0.2 : 0.33) * kUs * channels;
  return gpus * per_gpu;
}

}  // namespace

const RingConstants& ring_constants(PathClass path) {
  const auto found =
      std::find_if(kConstants.begin(), kConstants.end(), [path](const auto& c) { return c.path == path; });
  LOCKSTEP_ENSURE(found != kConstants.end(), "path class {}", static_cast<int>(path));
  return *found;
}

double ring_rate(const Ring& ring) {
  return ring_constants(ring.path).efficiency * ring.bus_bandwidth();
}

CollectivePlan plan_collective(const Ring& ring, CollectiveOperation operation, std::int64_t bytes,
                               int launching_gpus) {
  CollectivePlan plan;
  if (ring.ranks <= 1) return plan;
  const RingConstants& c = ring_constants(ring.path);
  const int n = ring.ranks;
  const bool several_nodes = ring.nodes > 1;
  const double border_s = c.border_factor * c.border_s + ring.hop_latency;
  const double step_s = c.step_s + ring.step_latency;
  plan.channels = ring.communicator_channels;
  plan.rate = ring_rate(ring);
  const double payload = static_cast<double>(bytes);
  if (operation == CollectiveOperation::AllReduce) {
    plan.ring_steps = 2 * (n - 1);
    plan.ring_tail = several_nodes ? 0 : c.tail_steps;
    const double crossings = several_nodes ? 2.0 * (n - 1) / ring.ranks_per_node : 0;
    plan.ring_fixed_s = c.fixed_s + crossings * border_s;
    plan.ring_step_s = step_s;
    plan.alpha_s = plan.ring_fixed_s + (plan.ring_steps + plan.ring_tail) * step_s;
    plan.flow_bytes = std::llround((plan.ring_steps + plan.ring_tail) / n * payload);
  } else {
    plan.alpha_s = c.fixed_s + (ring.nodes - 1) * border_s + (n - 1) * step_s;
    plan.flow_bytes = bytes;
  }
  if (launching_gpus > 0) {
    const double floor = launch_floor_s(ring.path, launching_gpus, plan.channels);
    plan.alpha_s = std::max(plan.alpha_s, floor - static_cast<double>(plan.flow_bytes) / plan.rate);
  }
  return plan;
}

void put_plan(const CollectivePlan& plan, const Ring& ring, Meeting& meeting, StepGraph& graph) {
  meeting.algorithm = plan.algorithm;
  meeting.protocol = plan.protocol;
  meeting.channels = plan.channels;
  meeting.alpha_s = plan.alpha_s;
  meeting.flow_bytes = plan.flow_bytes;
  meeting.ring_steps = plan.ring_steps;
  meeting.ring_fixed_s = plan.ring_fixed_s;
  meeting.ring_step_s = plan.ring_step_s;
  meeting.ring_tail = plan.ring_tail;
  if (plan.flow_bytes == 0) return;
  const std::string id = std::string("ring.") + name_of(ring.slowest);
  meeting.routes = {{add_link(graph, {id, ring.slowest, plan.rate, 0, 1})}};
}

}  // namespace lockstep
