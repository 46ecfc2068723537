#include "hwrunner/program/accelerator.h"
#include "hwrunner/rank/rank.h"

namespace lockstep {

void probe_accelerator(RunnerProbe& answer) {
  answer.missing = "this runner is built for CPUs";
}

std::shared_ptr<TorchDevice> accelerator_of(const RunPlan&, const RankPlace&) {
  throw TrainerFailure{"refused", "this runner is built for CPUs", {}};
}

std::map<std::string, std::string> accelerator_software() {
  return {};
}

std::optional<int> accelerator_command(const std::vector<std::string>&) {
  return std::nullopt;
}

const char* accelerator_usage() {
  return "";
}

}  // namespace lockstep
