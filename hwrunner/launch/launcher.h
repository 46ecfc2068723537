// Runs one plan: starts its ranks on this machine, hears their records, and sees to it that all of them end, whatever
// happens to one of them or to the launcher.
#pragma once

#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hwrunner/launch/blame.h"
#include "hwrunner/launch/plan.h"
#include "hwrunner/launch/rank_handle.h"
#include "hwrunner/launch/record.h"

namespace lockstep {

struct LaunchOptions {
  std::string program;                   // the runner; it is started as `program worker --plan FILE --records 3`
  std::vector<std::string> words;        // before `worker`: the script, where the program is an interpreter
  std::vector<std::vector<int>> cores;   // of each process (pinning.h); empty: not pinned
  std::vector<std::string> environment;  // NAME=value, before and over the variables of this process
  double grace_s = 0.3;                  // for the others to end by themselves after the first failure
  const volatile std::sig_atomic_t* stop = nullptr;               // not zero: end all ranks and come back (Ctrl-C)
  std::function<void(int rank, const Record& record)> on_record;  // as they come
  std::function<void()> meanwhile;                                // called again and again, every 20 ms at least
  // How rank i starts; nothing: here, as a process of this one.
  std::function<Expected<std::unique_ptr<RankHandle>>(const RunPlan& plan, int rank)> start;
  std::vector<std::string> hosts;  // of each rank, for messages; empty: all are here
};

struct RankLog {
  std::vector<Record> records;         // in the order in which they came
  double cpu_s = 0;                    // user and system time of the process
  std::int64_t peak_memory_bytes = 0;  // largest resident set
};

struct LaunchOutcome {
  std::vector<RankLog> ranks;            // one for each process; whatever came until the end
  std::optional<LaunchFailure> failure;  // the cause, when not all went well
  bool interrupted = false;
  double wall_s = 0;
};

// When it returns, no process of the launch is left. The plan's `rendezvous` is set here: a new folder, removed again
// (unless options.start says how ranks start).
LaunchOutcome launch(RunPlan plan, const LaunchOptions& options);

// One rank as a process of this one: program, words, environment and cores of `options`; the plan lies in `plan_file`.
Expected<std::unique_ptr<RankHandle>> start_here(const RunPlan& plan, int rank, int port, const LaunchOptions& options,
                                                 const std::string& plan_file);

// The variables that a rank of our own launch finds, beside those of this process: RANK, WORLD_SIZE, LOCAL_RANK,
// LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT, OMP_NUM_THREADS, OMP_WAIT_POLICY=PASSIVE (threads that spin take the
// cores of other ranks), TORCH_CPP_LOG_LEVEL=FATAL.
std::vector<std::string> environment_of_rank(const RunPlan& plan, int rank, int port,
                                             const std::vector<std::string>& more);

// A port of the loopback interface that nobody holds now; 0 when there is none. Rank 0's store listens there.
int free_port();

}  // namespace lockstep
