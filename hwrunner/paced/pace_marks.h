// Where in a program (simulator/steps/step_graph.h) the real work of a paced rank has its place: how far the program
// must have been walked before the real thing may happen. Found by walking over the program that a strategy built, item
// by item, with the counts of kernels that it was built from; no time is computed here.
#pragma once

#include <vector>

#include "simulator/steps/step_graph.h"
#include "simulator/strategies/step_context.h"

namespace lockstep {

// Of one micro-step. A mark is an item index: everything before it is done. Marks never decrease in the order in which
// they stand here; forward in op order, gradients in the order of the model and its precision.
struct PaceMarks {
  int start = 0;              // of the micro-step
  int meet = 0;               // behind the first arrival at a meeting of all ranks: buckets rebuilt, buffers broadcast
  int compute = 0;            // the first kernel of the forward pass
  std::vector<int> forward;   // [op] its forward kernels are done; of the loss too
  std::vector<int> gradient;  // [parameter] its gradient is final; under DDP its copy into the bucket comes next
  int backward = 0;           // all of the backward pass, with the copies into buckets and the last launch
  int reduced = 0;            // all buckets are back and copied out
};

struct ProgramMarks {
  std::vector<PaceMarks> micro;  // [micro-step]
  std::vector<int> launched;     // item after the arrival of each bucket, in launch order, all micro-steps
  std::vector<int> buckets;      // their meetings
};

// Of one class's program. It must be one that build_single or build_ddp made of this context, whose gradients are
// copied into buckets as they come (no static graph).
ProgramMarks pace_marks(const StepProgram& program, int rank_class, const StepContext& context);

}  // namespace lockstep
