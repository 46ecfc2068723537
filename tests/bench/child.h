// Work done in a forked child, so that its peak memory is its own.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace lockstep::bench {

struct ChildReport {
  double value = 0;       // what the child returned
  double wall_s = 0;      // from fork to end
  double cpu_s = 0;       // user and system, with all that it forked and waited for
  double peak_bytes = 0;  // resident, of the process or of the largest that it forked
  bool ended_well = false;
};

ChildReport in_child(const std::function<double()>& work);
// Runs a program; its standard output goes to /dev/null.
ChildReport run_program(const std::vector<std::string>& arguments);

// The same, and the peak memory of the process and of those that it forked apart: looked up every 20 ms, so that what a
// process takes in its last moments is not seen.
struct WatchedReport : ChildReport {
  double own_peak_bytes = 0, forked_peak_bytes = 0;
};
WatchedReport watch_program(const std::vector<std::string>& arguments);

}  // namespace lockstep::bench
