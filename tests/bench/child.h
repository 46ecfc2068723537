// Work done in a forked child, so that its peak memory is its own.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace lockstep::bench {

struct ChildReport {
  double value = 0;       // what the child returned
  double wall_s = 0;      // from fork to end
  double peak_bytes = 0;  // resident
  bool ended_well = false;
};

ChildReport in_child(const std::function<double()>& work);
// Runs a program; its standard output goes to /dev/null.
ChildReport run_program(const std::vector<std::string>& arguments);

}  // namespace lockstep::bench
