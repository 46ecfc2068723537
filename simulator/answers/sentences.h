// The answer in words: what came out, why, what would help, what to doubt. Each sentence has an id and its values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "simulator/answers/levers.h"
#include "simulator/answers/points.h"
#include "simulator/result/result.h"

namespace lockstep {

// Seconds of a step that one cause takes beyond its fair share of the baseline's: weak scaling its whole part there,
// strong scaling the GPUs' share of it (the same samples on n GPUs).
double loss_s(const Run& run, const Run& baseline, Cause cause);

// The same of forward, backward and optimizer together: kernels that are slower than the baseline's.
double computing_loss_s(const Run& run, const Run& baseline);

// The cause other than computing (forward, backward, optimizer) with the largest loss; nothing below 1 % of the step.
struct Loss {
  Cause cause = Cause::Other;
  double seconds = 0;
};
std::optional<Loss> largest_loss(const Run& run, const Run& baseline);

// Of the runs at the largest GPU count that ran: the one with the lowest throughput. The levers are tried on it,
// because that is where something is to be gained; a single GPU only when nothing else ran. Index into runs.
std::optional<std::size_t> focus_run(const std::vector<Run>& runs);

// Fills answer.sentences and answer.largest_loss; the runs, and answer.levers where asked for, must be there.
void add_sentences(Result& result, const Points::Single& single, const Inputs& inputs,
                   const KernelCalibration& calibration, const std::optional<BucketCapEffect>& bucket_cap,
                   bool levers_tried);

}  // namespace lockstep
