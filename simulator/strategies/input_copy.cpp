#include "simulator/strategies/input_copy.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace lockstep {
namespace {

// A pageable copy crosses the host's memory three times: read by the CPU, written to a pinned staging buffer, read by
// the GPU's copy engine. A pinned one crosses it once.
double memory_crossings(HostMemory memory) {
  return memory == HostMemory::Pageable ? 3 : 1;
}

// Links of one copy; the CPU thread that stages pageable memory is a link of its own.
std::vector<Link> copy_links(const PointRequest& request, int node, int gpu) {
  std::vector<Link> links = host_to_device_path(*request.topology, node, gpu);
  const HostMemory memory = request.scenario->input.memory;
  for (auto& link : links)
    if (link.link_class == LinkClass::Host) link.rate /= memory_crossings(memory);
  if (memory == HostMemory::Pageable)
    links.push_back({fmt::format("node{}.gpu{}.staging", node, gpu), LinkClass::Host,
                     default_constants().input.pageable_rate, 0, 1});
  return links;
}

struct Place {
  int node, gpu;
};
std::vector<Place> places(const PointRequest& request) {
  std::vector<Place> result;
  for (int rank = 0; rank < request.gpus; ++rank)
    result.push_back({request.topology->node_of(rank), request.topology->gpu_in_node(rank)});
  return result;
}

}  // namespace

CopyMode copy_mode(const InputOptions& input) {
  return input.memory == HostMemory::Pinned && input.non_blocking ? CopyMode::Queued : CopyMode::Blocking;
}

std::vector<std::int32_t> host_copy_route(StepGraph& graph, const StepContext& context, int node, int gpu_in_node) {
  std::vector<std::int32_t> route;
  for (const auto& link : copy_links(context.request, node, gpu_in_node)) route.push_back(add_link(graph, link));
  return route;
}

double host_copy_fixed_s(const StepContext& context, std::int64_t bytes) {
  const InputOptions& input = context.scenario.input;
  const bool faults = !input.touched && input.memory == HostMemory::Pageable;
  return faults ? static_cast<double>(bytes) * context.input.page_fault : 0;
}

FoldedCopy folded_copy(const PointRequest& request) {
  std::map<std::string, int> sharers;
  for (const auto& place : places(request))
    for (const auto& link : copy_links(request, place.node, place.gpu)) ++sharers[link.id];
  FoldedCopy folded;
  folded.alike = true;
  std::vector<std::pair<double, int>> first;
  for (const auto& place : places(request)) {
    std::vector<std::pair<double, int>> signature;
    double rate = std::numeric_limits<double>::infinity();
    for (const auto& link : copy_links(request, place.node, place.gpu)) {
      signature.emplace_back(link.rate, sharers[link.id]);
      rate = std::min(rate, link.rate / sharers[link.id]);
    }
    if (first.empty()) {
      first = signature;
      folded.rate = rate;
    }
    folded.alike &= signature == first;
  }
  return folded;
}

void add_input_copy(StepGraph& graph, StepProgram& step, ProgramBuilder& program, const StepContext& context,
                    bool folded) {
  const InputOptions& input = context.scenario.input;
  if (input.source != InputSource::Host) return;
  Meeting copy;
  copy.name = "batch to GPU";
  copy.own = true;
  copy.cause = copy.wait_cause = Cause::CopyToDevice;
  copy.payload_bytes = copy.flow_bytes = batch_bytes(context.model, context.request.per_gpu_batch, input.dtype);
  copy.alpha_s = host_copy_fixed_s(context, copy.flow_bytes);
  copy.holds = {true};
  const CopyMode mode = copy_mode(input);
  copy.on = mode == CopyMode::Blocking ? ArriveOn::Host : ArriveOn::Stream;
  if (folded) {
    copy.routes = {{add_link(graph, {"host_to_device", LinkClass::Pcie, folded_copy(context.request).rate, 0, 1})}};
  } else {
    for (const auto& place : places(context.request))
      copy.routes.push_back(host_copy_route(graph, context, place.node, place.gpu));
  }
  const bool no_links = copy.routes.front().empty();  // a cpu rank has the batch where it needs it
  if (no_links) return;
  step.meetings.push_back(copy);
  if (mode == CopyMode::Blocking) program.host_sync();
  program.arrive(static_cast<int>(step.meetings.size()) - 1, context.host.c_f, "batch to GPU");
}

}  // namespace lockstep
