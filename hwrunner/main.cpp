// lockstep-hwrunner: trains for real. `lockstep` itself knows nothing of LibTorch and starts this program.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "hwrunner/modules/module_facts.h"
#include "hwrunner/trainers/trainer.h"
#include "hwrunner/worker/worker.h"
#include "simulator/result/result.h"

namespace {

constexpr const char* kUsage =
    R"(usage: lockstep-hwrunner --worker --scenario FILE [OPTIONS]   one rank; JSON lines on standard output
       lockstep-hwrunner --about                               versions, as JSON

Ranks find each other by RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, as torchrun sets them.
  --set KEY=VALUE        changes the scenario (repeatable)
  --strategy NAME        single, dp or ddp; otherwise ddp when there are several ranks
  --replicas N           of dp, the stand-in for DataParallel: threads of this process (1)
  --batch N              samples of one micro-step of this rank; otherwise the scenario's
  --warm-up N, --steps N steps before those that count (5), and those (30)
  --repeat N             a number that comes back in each line
  --instrument           records each gradient bucket, by a hook that costs a little
  --hook NAME            none, allreduce, fp16 or bf16
  --threads N            of this rank's operators (1)
  --gloo-threads N       collectives in flight (2)
  --interface NAME       network interface of Gloo; otherwise $GLOO_SOCKET_IFNAME
  --timeout S, --store-timeout S   of one collective, and to find each other (60)
)";

// Without the destructors of static objects: after a failure some of LibTorch's wait for ranks that are gone.
[[noreturn]] void leave(int code) {
  std::cout.flush();
  std::cerr.flush();
  _exit(code);
}

int worker(const std::vector<std::string>& arguments) {
  const auto group =
      lockstep::group_from_environment([](const char* name) -> const char* { return std::getenv(name); });
  if (!group) return lockstep::report_worker_errors(group.error(), 0, std::cout);
  const auto options = lockstep::parse_worker_options(arguments, *group);
  if (!options) return lockstep::report_worker_errors(options.error(), group->rank, std::cout);
  return lockstep::run_worker(*options, std::cout);
}

}  // namespace

int main(int argc, char** argv) {
  setenv("TORCH_CPP_LOG_LEVEL", "FATAL", 0);  // lost connections are reported once, by us
  lockstep::initialise_logging();
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const std::string first = arguments.empty() ? "" : arguments.front();
  if (first == "--worker") leave(worker({arguments.begin() + 1, arguments.end()}));
  if (first == "--about") {
    fmt::print(R"({{"lockstep_version":"{}","libtorch":"{}","backends":["gloo"],"strategies":["single","dp","ddp"]}})"
               "\n",
               lockstep::lockstep_version(), lockstep::libtorch_version());
    return 0;
  }
  const bool asked = first == "--help" || first == "-h";
  fmt::print(asked ? stdout : stderr, "{}", kUsage);
  return asked ? 0 : 1;
}
