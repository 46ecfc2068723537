// lockstep-hwrunner and lockstep-hwrunner-cuda: one rank of a launch of `lockstep measure`, with LibTorch. Started by
// hand they say what they are.
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "hwrunner/measure/runner_program.h"
#include "hwrunner/modules/module_facts.h"
#include "hwrunner/program/accelerator.h"
#include "hwrunner/program/torch_rank.h"
#include "hwrunner/trainers/trainer.h"

namespace {

// What this program can do, to the descriptor that `--records` names.
int probe(const std::vector<std::string>& words) {
  int descriptor = STDOUT_FILENO;
  if (words.size() == 3 && words[1] == "--records")
    std::from_chars(words[2].data(), words[2].data() + words[2].size(), descriptor);
  lockstep::RunnerProbe answer;
  answer.software = {{"torch", lockstep::libtorch_version()}};
  answer.backends = {"gloo"};
  lockstep::probe_accelerator(answer);
  const std::string line = lockstep::probe_to_line(answer);
  return ::write(descriptor, line.data(), line.size()) == static_cast<ssize_t>(line.size()) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  setenv("TORCH_CPP_LOG_LEVEL", "FATAL", 0);  // lost connections are reported once, by us
  lockstep::initialise_logging();
  const std::vector<std::string> words(argv + 1, argv + argc);
  int code = 64;
  if (!words.empty() && words.front() == "probe") {
    code = probe(words);
  } else if (!words.empty() && words.front() == "worker") {
    code = lockstep::run_rank({words.begin() + 1, words.end()}, lockstep::environment_of_process(),
                              lockstep::make_torch_rank);
  } else if (const auto done = lockstep::accelerator_command(words)) {
    code = *done;
  } else {
    std::fputs("lockstep-hwrunner is started by `lockstep measure`; see `lockstep help measure`\n", stderr);
    std::fputs(lockstep::accelerator_usage(), stderr);
  }
  std::fflush(nullptr);
  ::_exit(code);  // without the destructors of static objects: some of LibTorch's wait for ranks that are gone
}
