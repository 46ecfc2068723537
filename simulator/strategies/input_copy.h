// The copy of a batch from host memory to a GPU as part of a program: whose links it crosses, and what waits for it.
#pragma once

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

// True if the copies of all ranks at once look the same from every rank, so that ranks can be folded: the same link
// rates per copy everywhere. `rate` is that of one copy then.
struct FoldedCopy {
  bool alike = false;
  double rate = 0;
};
FoldedCopy folded_copy(const PointRequest& request);

// Adds the batch's copy of every rank (single GPU, DDP) to `program`, one meeting each.
void add_input_copy(StepGraph& graph, StepProgram& step, ProgramBuilder& program, const StepContext& context,
                    bool folded);

}  // namespace lockstep
