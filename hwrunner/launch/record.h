// What a rank tells the launcher, one JSON object a line through a pipe of its own. Every object has a `type`; readers
// ignore keys that they do not know and refuse types that they do not know. Times are seconds of CLOCK_MONOTONIC of the
// rank's host, which all ranks of a host share.
//
// In this order: hello, joining, ready, start, then step after step (with the buckets of a step before it where the
// pass is instrumented) or point after point of a bench, facts, done. `note` and `error` may come at any time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "simulator/base/error.h"

namespace lockstep {

// The process runs and has read its plan.
struct HelloRecord {
  int protocol = 1;
  std::int64_t pid = 0;
  std::string host;                             // its name
  std::string implementation;                   // "c10d Reducer", ... (docs/interface.md)
  std::map<std::string, std::string> software;  // torch, gloo, nccl, cuda: versions
  int threads = 1;                              // that compute
  std::vector<int> cores;                       // it may run on
  std::string network_interface;                // of the process group; empty: none
};
struct JoiningRecord {};  // the model is built; now the process group
struct ReadyRecord {};    // every rank is in the group
// Warm-up begins now, at the same moment on all ranks (after a barrier).
struct StartRecord {
  double at_s = 0;
};
// One bucket's all-reduce, before the record of its step.
struct BucketRecord {
  int step = 0, index = 0;
  std::int64_t bytes = 0;
  double ready_s = 0, launch_s = 0, end_s = 0;
};
// A step ended. Counted from 0, warm-up included.
struct RankStepRecord {
  int step = 0;
  double end_s = 0;
  double cpu_s = 0;  // of the whole process during the step
  // Instrumented pass only: seconds by the keys of `breakdown_s`; they add up to the step. All that the rank's
  // computing waited for collectives stands under exposed_communication, with its interval below: what of it was
  // waiting for peers follows from all ranks' buckets.
  std::map<std::string, double> parts;
  std::optional<double> idle_from_s, idle_to_s;
};
// One point of a bench: one size of one thing.
struct BenchRecord {
  std::string what;        // all_reduce, broadcast, reduce; conv2d, ...; host_to_host, ...
  std::string pass;        // of an op: forward, backward, step
  std::string shape;       // of an op, as text
  std::int64_t bytes = 0;  // of the message, tensor or copy
  std::int64_t count = 0;  // elements
  std::string type;        // float, half, bfloat16
  int in_flight = 1;       // collectives
  int iterations = 0;      // that were timed
  double time_s = 0;       // of one, the mean of this rank
  std::int64_t wrong = 0;  // elements that are not what they should be
  double flop = 0;         // of an op; 0: not counted
  double moved_bytes = 0;  // that an op must read and write at least
  std::string not_run;     // why there is no time
};
// Among FactsRecord::logging of a paced rank: the longest time, in wall seconds, by which its CPU came late to a wait.
inline constexpr const char* kPacedLate = "paced_late_s";

// After the last step.
struct FactsRecord {
  std::int64_t peak_memory_bytes = 0;          // of the device's allocator; on a CPU the launcher takes the process's
  std::map<std::string, std::string> logging;  // DDP's own logging fields, as text
};
struct NoteRecord {
  std::string text;
};
// Why this rank ends. kind: network (the connection to a peer broke), timeout (a peer did not come; `ranks` names those
// known to be missing), out_of_memory, setup (no device, port taken, ...), refused (the plan asks for what it cannot
// do), exception.
struct ErrorRecord {
  std::string kind, message;
  std::vector<int> ranks;
};
struct DoneRecord {};

using Record = std::variant<HelloRecord, JoiningRecord, ReadyRecord, StartRecord, BucketRecord, RankStepRecord,
                            BenchRecord, FactsRecord, NoteRecord, ErrorRecord, DoneRecord>;

// One line, newline included.
std::string record_to_line(const Record& record);
// Errors: Syntax, Missing, Type, NotSupported (a type not listed here).
Expected<Record> record_from_line(std::string_view line);

// Writes records to a file descriptor, whole lines, from any thread that holds the writer. False: the launcher is gone.
class RecordWriter {
 public:
  explicit RecordWriter(int descriptor) : descriptor_(descriptor) {}
  bool write(const Record& record);

 private:
  int descriptor_;
};

}  // namespace lockstep
