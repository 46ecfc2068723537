// The copy of a batch from host memory to a GPU as part of a program: whose links it crosses, and what waits for it.
#pragma once

#include <optional>

#include "simulator/steps/step_graph.h"
#include "simulator/strategies/step_context.h"

namespace lockstep {

// How a copy occupies host and stream.
enum class CopyMode {
  Blocking,  // the host waits until earlier work of the stream and then the copy are done
  Queued,    // the copy waits in the stream; the host goes on (pinned memory, non_blocking)
};
CopyMode copy_mode(const InputOptions& input);

// A meeting for a copy of `bytes` to one GPU. Its links are in the graph afterwards. `sharers`: simulated ranks stand
// for so many copies at once on every link of the path (folded ranks); 1 for explicit ranks.
std::vector<std::int32_t> host_copy_route(StepGraph& graph, const StepContext& context, int node, int gpu_in_node);

// Part of the copy's time before its bytes flow: page faults of memory that was never touched.
double host_copy_fixed_s(const StepContext& context, std::int64_t bytes);

// True if the copies of all ranks of a kind at once look the same from each of them, so that they can be folded: the
// same link rates per copy everywhere. `rate` is that of one copy then.
struct FoldedCopy {
  bool alike = false;
  double rate = 0;
};
FoldedCopy folded_copy(const PointRequest& request, const RankKind& kind);

// The batch's copy of every rank (single GPU, DDP) as a meeting of each rank's own; nothing where the batch is where it
// is needed. Its links are in the graph afterwards.
std::optional<Meeting> input_copy(StepGraph& graph, const StepContext& context);
// The rank's part of it.
void arrive_at_input_copy(ProgramBuilder& program, int meeting, const StepContext& context);

}  // namespace lockstep
