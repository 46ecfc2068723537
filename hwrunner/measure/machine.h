// The machine that measures: what it is, and whether it was quiet meanwhile. Reads /proc and /sys below `root`, so that
// a test can give its own; what cannot be read is left out.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lockstep {

struct Machine {
  std::string host, cpu, kernel, governor;
  int cores = 1;           // logical ones that this process may use
  int physical_cores = 1;  // behind them
  std::vector<int> allowed;
  std::int64_t memory_bytes = 0, available_bytes = 0;
  double load = 0;  // of the last minute
};
Machine this_machine(const std::string& root = "");
// The same machine where these cores may be used: a launcher may have shared them out among several processes.
void use_cores(Machine& machine, std::vector<int> cores, const std::string& root = "");

// The key `machine` of a result: host, cpu, cores, physical_cores, memory_bytes, kernel, governor, affinity, load.
std::map<std::string, std::string> fingerprint(const Machine& machine);
// The same of one network interface: its rate in Mbit/s where the driver says, and its packet size.
std::map<std::string, std::string> interface_facts(const std::string& name, const std::string& root = "");

// Counters of the whole machine since it started.
struct CpuCounters {
  double busy_s = 0;           // all cores: user, system, interrupts
  double stolen_s = 0;         // by other guests of the hypervisor
  std::int64_t throttled = 0;  // times that a core was slowed down because it was hot
};
CpuCounters cpu_counters(const std::string& root = "");

// What disturbed a launch, in sentences: other programs or the hypervisor took more than 5 % of the cores, cores were
// throttled, more threads computed than there are cores.
struct LaunchLoad {
  CpuCounters before, after;
  double wall_s = 0, own_cpu_s = 0;
  int threads = 1;  // that compute, of all ranks
};
std::vector<std::string> disturbances(const Machine& machine, const LaunchLoad& load);

}  // namespace lockstep
