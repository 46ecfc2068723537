// The trainers of LibTorch as ranks of a launch. Plain C++.
#pragma once

#include "hwrunner/rank/rank.h"

namespace lockstep {

// single, ddp, and dp: DataParallel on GPUs, its stand-in on CPUs. Throws TrainerFailure: `refused` for what a plan
// asks and no trainer can do, `setup` for a scenario that cannot be read; else what LibTorch or Gloo says.
std::unique_ptr<RankTrainer> make_torch_rank(const RunPlan& plan, const RankPlace& place);

}  // namespace lockstep
