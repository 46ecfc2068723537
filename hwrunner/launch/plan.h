// What one launch of the hardware runner does: one strategy at one size, in fresh processes, once. Written by the
// launcher as one JSON document, read by every rank.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/scenario.h"
#include "simulator/base/error.h"

namespace lockstep {

// Of plan and records: a runner that was built apart from `lockstep` must speak the same.
inline constexpr int kRunnerProtocol = 1;

enum class Backend { Gloo, Nccl };
const char* name_of(Backend backend);  // gloo, nccl

// No 30-minute default anywhere: everything follows from the expected step (timeouts_for).
struct Timeouts {
  double join_s = 60;     // from the start of a rank until the group is there and the model is built
  double group_s = 60;    // of one collective: the process group's own timeout
  double silence_s = 76;  // the launcher's: a rank without a record for so long hangs. Longer than group_s, so that
                          // ranks that wait say so first
  bool operator==(const Timeouts&) const = default;
};

// `least_s`: measure.timeout. A step may take twenty times what is expected, building a model a second for each
// 100 MB of parameters.
Timeouts timeouts_for(double least_s, double expected_step_s, double parameter_bytes);

// `lockstep measure --bench`: no training, but one kind of work over sizes. Names as the options of nccl-tests.
enum class BenchKind { None, Collectives, Ops, Copies };
const char* name_of(BenchKind kind);  // none, collectives, ops, copies

struct BenchPlan {
  BenchKind kind = BenchKind::None;
  std::int64_t min_bytes = 8, max_bytes = 512 << 20;  // of a message, of an op's tensor, of a copy
  int step_factor = 2;
  int warm_up = 5, iterations = 20;  // of each size, at most
  double budget_s = 60;              // of the launch: larger sizes get fewer iterations, the largest none
  bool operator==(const BenchPlan&) const = default;
};
// What each kind tries unless told otherwise: messages of 8 B to 512 MiB, tensors of 1 to 64 MiB, copies of 4 KiB to
// 512 MiB.
BenchPlan default_bench(BenchKind kind);
// min_bytes, times step_factor, ... up to max_bytes.
std::vector<std::int64_t> bench_sizes(const BenchPlan& plan);

struct RunPlan {
  Strategy strategy = Strategy::Single;
  int world_size = 1;  // ranks of ddp; replicas of dp and dp-cpp, which are one process
  std::int64_t per_gpu_batch = 1;
  int micro_steps = 1;
  int warm_up = 5, steps = 30;
  int repeat = 0;
  bool profiled = false;      // the pass with a profiler; no samples either
  std::string trace_file;     // of that pass: rank 0 keeps its Chrome trace there; empty: nobody does
  bool instrumented = false;  // the pass with hooks and marks; its step times are no samples
  int threads_per_rank = 1;
  Backend backend = Backend::Gloo;
  bool on_gpus = false;  // with Gloo: what crosses between ranks goes through host memory
  // Above 0: computing is paced (hwrunner/paced): it waits for its modelled time, so many times as long. Records are in
  // wall time all the same.
  double dilate = 0;
  double kernel_factor = 1;  // of that model: what calibrate.single_gpu makes of kernel times
  Timeouts timeouts;
  std::string rendezvous;     // a folder of this launch alone: the ranks' file store
  std::string scenario_file;  // where it came from: relative paths of model files start at its folder
  std::string scenario;       // resolved, as YAML
  // For the Python front end, which reads no YAML: a JSON object with `model` (a model file) and `training` (names as
  // in lockstep_train.py, class Settings); empty: none. plan_from_json leaves it unread.
  std::string python;
  BenchPlan bench;  // kind other than None: in place of training

  int processes() const { return strategy == Strategy::Ddp ? world_size : 1; }
  bool benches() const { return bench.kind != BenchKind::None; }
  bool paced() const { return dilate > 0; }
  int all_steps() const { return warm_up + steps; }
  bool operator==(const RunPlan&) const = default;
};

// One JSON document, ending in a newline.
std::string plan_to_json(const RunPlan& plan);
// Errors: Syntax, Missing, Type, Range, NotSupported (another protocol), each with the key.
Expected<RunPlan> plan_from_json(std::string_view text);

}  // namespace lockstep
