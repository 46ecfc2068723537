// One rank of a recorded run walked again, with every interval noted: what its compute lane did over one step, its
// buckets, its timeline. The drivers' hot loops keep no such books.
#pragma once

#include "simulator/steps/step_record.h"

namespace lockstep {

struct Replay {
  double start_s = 0, end_s = 0;                  // of the step: the ends of the previous and of this step
  std::array<double, kCauseCount> breakdown_s{};  // sums to end_s - start_s
  double communication_s = 0;  // sum of start-to-end of the gradient collectives on the communication stream
  double hidden_communication_s = 0;
  double compute_busy_s = 0;         // kernels other than communication
  double gpu_busy_s = 0;             // any kernel, collectives that wait for peers included
  double host_busy_s = 0;            // work of the host lane (not: waiting)
  std::vector<BucketTimes> buckets;  // times from start_s
  std::vector<Span> timeline;        // times from start_s
  std::vector<StepPart> parts;       // breakdown_s in pieces, in the order in which they first appear
};

// What the books keep beyond the sums.
struct ReplayOptions {
  bool timeline = false;
  bool parts = false;
};

// `rank` is a simulated rank, `step` an index into record.steps.
Replay replay(const StepGraph& graph, const StepRecord& record, int rank, int step, const JitterSource& jitter,
              const ReplayOptions& options);

// Bytes and busy time of every link of the graph over one step.
std::vector<LinkUse> link_use(const StepGraph& graph, const StepRecord& record, int step);

}  // namespace lockstep
