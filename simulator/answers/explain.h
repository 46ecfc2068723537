// The critical path of a step in pieces: what the compute stream of the slowest rank's GPU did or waited for, cause by
// cause (the keys of breakdown_s) and within them op class by op class, bucket by bucket. Seconds; pieces add up to the
// step. DataParallel against DDP as a list of differences that adds up to the difference of the two steps.
#pragma once

#include <string>
#include <vector>

#include "simulator/answers/inputs.h"
#include "simulator/answers/points.h"
#include "simulator/result/result.h"

namespace lockstep {

struct ExplainedCause {
  Cause cause = Cause::Other;
  double seconds = 0;
  double share = 0;             // of the step
  std::string note;             // what the GPU was doing, in words
  std::vector<StepPart> parts;  // longest first; they add up to seconds
};

struct ExplainedRun {
  Run run;
  std::vector<ExplainedCause> rows;  // longest first, causes without time left out; they add up to run.step_time_s
};

// One line of DataParallel against DDP on the same GPUs.
struct DifferenceRow {
  std::string cause;  // replicate, batch, host, gather, gradients, bucket_copies, overlap, ...
  double dp_s = 0, ddp_s = 0;
  std::string note;
  double seconds() const { return dp_s - ddp_s; }
};

struct Explanation {
  std::vector<ExplainedRun> runs;         // each strategy on the most GPUs that can run
  std::size_t focus = 0;                  // the run that `lockstep predict` speaks of (focus_run)
  std::vector<DifferenceRow> difference;  // empty unless both strategies ran on the same number of GPUs
  std::vector<Sentence> sentences;
};

// Errors: RunFailed when a simulation died or nothing that was asked for could run.
Expected<Explanation> explain(const Inputs& inputs, Method method, const PointSource& source = {});

// The parts of a run, sorted; of a run without parts each cause is one piece.
ExplainedRun explained(Run run, bool on_cores);

// Every key of the breakdown belongs to one row, so that the rows add up to dp's step less ddp's.
std::vector<DifferenceRow> difference_of(const Run& dp, const Run& ddp, bool on_cores);

}  // namespace lockstep
