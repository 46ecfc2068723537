// A sweep for people: a row per point, swept keys first.
#pragma once

#include <string>
#include <vector>

#include "simulator/cli/output.h"
#include "simulator/result/result.h"

namespace lockstep {

// `keys`: swept keys in their order, without `strategy` and `gpus`, which have columns anyway. Ends in a newline.
std::string sweep_table(const std::vector<Run>& runs, const std::vector<std::string>& keys, const Output& output);

// "[=====>    ] 37/100 points, 12 s left"; `elapsed_s` since `begun` points were there.
std::string progress_bar(std::size_t done, std::size_t total, std::size_t begun, double elapsed_s);

}  // namespace lockstep
