// A scenario, measured: every strategy on every number of ranks that this machine holds, in turns, each time in fresh
// processes, and once more with marks for the breakdown.
#pragma once

#include <csignal>
#include <functional>
#include <string>
#include <vector>

#include "hwrunner/crew/world.h"
#include "hwrunner/launch/launcher.h"
#include "hwrunner/measure/here.h"
#include "hwrunner/measure/machine.h"
#include "hwrunner/measure/runner_program.h"
#include "simulator/answers/inputs.h"
#include "simulator/result/result.h"

namespace lockstep {

// A step of a plain pass that ended on all ranks.
struct StepEvent {
  Strategy strategy = Strategy::Single;
  int gpus = 1;
  int repeat = 0, step = 0;  // from 0; warm-up steps count
  bool warm_up = false;
  double step_time_s = 0;
};

struct MeasureRequest {
  Backend backend = Backend::Gloo;
  bool profile = false;     // a third pass, with a profiler
  std::string trace_file;   // of it, for each row with the row's name in it (trace_file_of); empty: none
  bool on_gpus = false;     // else on the CPU's cores, or paced
  double dilate = 0;        // above 0: paced (hwrunner/paced); results are in the scenario's time
  bool nodes_here = false;  // the scenario's nodes are hosts made of this machine (tests/testbed)
  RunnerProbe runner;
  Machine machine;
  const World* world = nullptr;     // the ranks that a launcher started; null: this process starts its own
  std::vector<HeldBack> held_back;  // rows that are known not to run
  std::vector<std::string> notes;   // for the first run
  const volatile std::sig_atomic_t* stop = nullptr;
  std::function<void(int done, int total, const std::string& text)> progress;  // before each launch
  std::function<void(const StepEvent&)> each_step;
  std::function<void(const Run&)> each_run;  // when all of it is known
  std::function<LaunchOutcome(const RunPlan&, const LaunchOptions&)> launch = lockstep::launch;
};

struct Measurement {
  Result result;  // kind "measured"; `partial` says why where something is missing that should be there
  bool interrupted = false;
};

// "t.json" of ddp on 2 ranks is t-ddp-2.json.
std::string trace_file_of(const std::string& trace_file, Strategy strategy, int gpus);

// What `measure` would do, without doing it.
struct PlannedRow {
  Strategy strategy = Strategy::Single;
  int gpus = 1;
  std::optional<std::string> not_run;  // the reason; then nothing below is set
  std::int64_t per_gpu_batch = 0;
  double expected_step_s = 0;  // by the estimate; 0 where there is none
};
struct MeasurePlan {
  std::vector<PlannedRow> rows;
  int warm_up = 0, steps = 0, repeats = 0;  // of each row; one pass more has marks
  double expected_s = 0;                    // of all launches, 0.5 s for the start of each
};
MeasurePlan plan_measurement(const Inputs& inputs, const MeasureRequest& request);

// The order of work: repeat by repeat all rows, every second repeat backwards, so that a machine that slowly changes
// does so for all alike; the instrumented
// passes and then the profiled ones last. A row that fails is not tried again; the others go on.
Measurement measure(const Inputs& inputs, const MeasureRequest& request);

}  // namespace lockstep
