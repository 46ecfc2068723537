// The program. It creates no simulation engine: every simulated point runs in a forked child (answers/point.h).
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "simulator/cli/options.h"

namespace {

// Files are renamed into place when whole (output.cpp): at worst a `.part` beside one is left behind.
extern "C" void leave_interrupted(int) {
  _exit(lockstep::kInterrupted);
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGINT, leave_interrupted);
  lockstep::Output output = lockstep::standard_output();
  return lockstep::run_command_line(std::vector<std::string>(argv + 1, argv + argc), output);
}
