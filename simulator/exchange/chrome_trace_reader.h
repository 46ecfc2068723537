// Chrome traces as PyTorch's profiler (Kineto), `lockstep measure --trace` and `lockstep predict --trace` write them,
// .json or .json.gz: what each rank's GPU and CPU did, as spans. The file is read as a stream and never held as a
// whole: a file of 200 MB takes less memory than that.
//
// What becomes of an event (category in any case; names that Kineto has had since 2021):
//   kernel, gpu_memset           Lane::Compute; Lane::Communication where NCCL or RCCL names the kernel
//   gpu_memcpy                   Lane::Copy
//   cpu_op, cuda_runtime, ...    Lane::Cpu, the outermost of each thread; without any GPU they are the computing
//   gloo:all_reduce, mpi:...     Lane::Communication, without any GPU
//   ProfilerStep#n               a step
// A kernel belongs to the pass (forward, backward, optimizer) of the op that launched it, by its correlation id;
// without such an id to what its name says, else to Cause::Other.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simulator/base/error.h"
#include "simulator/result/result.h"

namespace lockstep {

// One ProfilerStep#n: on the GPU where that is marked, else on the host. Seconds from the trace's first event.
struct TracedStep {
  std::int64_t number = 0;
  double start_s = 0, end_s = 0;
  double host_start_s = 0, host_end_s = 0;  // of its launches
};

// A GPU with the CPU that launches its work, or a process without GPUs.
struct TracedRank {
  int device = -1;      // -1: no GPU
  std::string process;  // as the trace names it
  std::vector<TracedStep> steps;
  std::vector<Span> spans;  // by start; seconds from the trace's first event
};

struct TraceFile {
  std::string file;
  std::optional<int> rank;  // of its distributedInfo, else of the file's name
  int world_size = 0;       // 0: unknown
  std::string backend;
  bool predicted = false;  // lockstep predict wrote it: a rank for each run
  std::vector<TracedRank> ranks;
  std::int64_t events = 0;         // read
  std::optional<std::string> cut;  // how its end is missing: one sentence
};

// `progress` hears which share of the file is read; where it says false, reading ends with RunFailed.
// Errors: Io (missing, unreadable, bad compression before the first event), Syntax (no JSON before the first event,
// with its place), Missing (JSON, but no trace; a trace without any span). What breaks after that is in `cut`.
Expected<TraceFile> read_chrome_trace(const std::string& path, const std::function<bool(double)>& progress = {});

// Whether the beginning of a file looks like a trace and not like a result: what to try it as.
bool looks_like_trace(const std::string& path);

}  // namespace lockstep
