// The program. It creates no simulation engine: every simulated point runs in a forked child (answers/point.h).
#include <string>
#include <vector>

#include "simulator/cli/interrupt.h"
#include "simulator/cli/options.h"

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  lockstep::leave_on_interrupt(lockstep::form_of(words));
  lockstep::Output output = lockstep::standard_output();
  return lockstep::run_command_line(words, output);
}
