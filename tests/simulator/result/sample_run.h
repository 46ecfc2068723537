// Results with every field set, with values that are awkward to print.
#pragma once

#include "simulator/result/result.h"

namespace lockstep::testing {

Run full_run();        // DDP on 8 GPUs, with buckets, ranks, links and a timeline
Result full_result();  // full_run, and a DP run that did not run

}  // namespace lockstep::testing
