// What the programs differ in: lockstep-hwrunner has CPUs alone (no_accelerator.cpp), lockstep-hwrunner-cuda GPUs too
// (cuda_accelerator.cpp). Plain C++.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hwrunner/launch/environment.h"
#include "hwrunner/launch/plan.h"
#include "hwrunner/measure/runner_program.h"

namespace lockstep {

class TorchDevice;

// Adds backends, devices, versions, and what is missing.
void probe_accelerator(RunnerProbe& answer);
// Of a rank whose plan is on GPUs. Throws TrainerFailure (setup, refused) when they are not there, and what LibTorch
// throws.
std::shared_ptr<TorchDevice> accelerator_of(const RunPlan& plan, const RankPlace& place);
// Versions for the record `hello`.
std::map<std::string, std::string> accelerator_software();
// A command of its own, by its first word: its exit code. Nothing: there is no such command.
std::optional<int> accelerator_command(const std::vector<std::string>& words);
const char* accelerator_usage();

}  // namespace lockstep
