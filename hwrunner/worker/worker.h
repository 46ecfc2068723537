// One rank as a process: what `lockstep-hwrunner --worker` does. Started once per rank by a launcher (`lockstep
// measure`, torchrun, or by hand); reads a scenario, trains, and writes JSON lines. docs/interface.md, "The hardware
// runner".
#pragma once

#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "hwrunner/trainers/trainer.h"
#include "simulator/base/error.h"

namespace lockstep {

struct WorkerOptions {
  std::string scenario_file;
  std::vector<std::string> sets;
  int warm_up = 5, steps = 30, repeat = 0;
  std::optional<std::int64_t> batch;  // unset: the scenario's
  std::optional<Strategy> strategy;   // unset: ddp, or single for a world of one
  TrainerOptions trainer;             // what no scenario says: threads, hook, instrument, group
};

// The place of this process among its peers as torchrun and others put it into the environment (RANK, WORLD_SIZE,
// MASTER_ADDR, MASTER_PORT). Without RANK and WORLD_SIZE a world of one. `get` is getenv or a test's stand-in.
Expected<GroupOptions> group_from_environment(const std::function<const char*(const char*)>& get);

// Arguments after `--worker`.
Expected<WorkerOptions> parse_worker_options(const std::vector<std::string>& arguments, GroupOptions group);

// Trains and writes one JSON line for the start, each step and the end. Returns the exit code: 0, 1 (wrong input), 2
// (the run failed); on failure the last line has type `error`.
int run_worker(const WorkerOptions& options, std::ostream& out);

// The error line, and the exit code that goes with it.
int report_worker_errors(const Errors& errors, int rank, std::ostream& out);

}  // namespace lockstep
