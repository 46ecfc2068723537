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
std::vector<Place> places(const PointRequest& request, const RankKind& kind) {
  std::vector<Place> result;
  for (int rank = kind.first_rank; rank < kind.first_rank + kind.ranks; ++rank)
    result.push_back({request.topology->node_of(rank), request.topology->gpu_in_node(rank)});
  return result;
}
std::vector<Place> places(const PointRequest& request) {
  return places(request, {0, request.gpus, 0});
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

FoldedCopy folded_copy(const PointRequest& request, const RankKind& kind) {
  std::map<std::string, int> sharers;
  for (const auto& place : places(request))
    for (const auto& link : copy_links(request, place.node, place.gpu)) ++sharers[link.id];
  FoldedCopy folded;
  folded.alike = true;
  std::vector<std::pair<double, int>> first;
  for (const auto& place : places(request, kind)) {
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

std::optional<Meeting> input_copy(StepGraph& graph, const StepContext& context) {
  const PointRequest& request = context.request;
  const InputOptions& input = context.scenario.input;
  if (input.source != InputSource::Host) return std::nullopt;
  Meeting copy;
  copy.name = "batch to GPU";
  copy.own = true;
  copy.cause = copy.wait_cause = Cause::CopyToDevice;
  copy.payload_bytes = copy.flow_bytes = batch_bytes(context.model, request.per_gpu_batch, input.dtype);
  copy.alpha_s = host_copy_fixed_s(context, copy.flow_bytes);
  copy.on = copy_mode(input) == CopyMode::Blocking ? ArriveOn::Host : ArriveOn::Stream;
  const auto kinds = rank_kinds(request);
  copy.holds.assign(kinds.size(), true);
  const bool folded = request.folded && request.strategy == Strategy::Ddp;
  for (std::size_t k = 0; k < kinds.size() && folded; ++k) {
    const std::string id = k == 0 ? "host_to_device" : fmt::format("host_to_device {}", k);
    copy.routes.push_back({add_link(graph, {id, LinkClass::Pcie, folded_copy(request, kinds[k]).rate, 0, 1})});
  }
  for (const auto& place : places(request))
    if (!folded) copy.routes.push_back(host_copy_route(graph, context, place.node, place.gpu));
  const bool no_links = copy.routes.front().empty();  // a cpu rank has the batch where it needs it
  if (no_links) return std::nullopt;
  return copy;
}

void arrive_at_input_copy(ProgramBuilder& program, int meeting, const StepContext& context) {
  if (copy_mode(context.scenario.input) == CopyMode::Blocking) program.host_sync();
  program.arrive(meeting, context.host.c_f, "batch to GPU");
}

}  // namespace lockstep
