// The life of one rank: reads its plan, drives a trainer through it and tells the launcher. Knows no LibTorch: the
// program gives it the trainer, and so does a test.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hwrunner/launch/environment.h"
#include "hwrunner/launch/plan.h"
#include "hwrunner/launch/record.h"

namespace lockstep {

// What a trainer says about one step that it ran. Seconds; the clock is CLOCK_MONOTONIC (rank_clock_s).
struct TrainedStep {
  double end_s = 0;  // of the last thing that the device did
  // Of the instrumented pass; see RankStepRecord and BucketRecord.
  std::map<std::string, double> parts;
  std::optional<double> idle_from_s, idle_to_s;
  struct Bucket {
    int index = 0;
    std::int64_t bytes = 0;
    double ready_s = 0, launch_s = 0, end_s = 0;
  };
  std::vector<Bucket> buckets;
};

// Thrown by a trainer to say what kind of failure it is (ErrorRecord::kind); any other exception is sorted by its text.
struct TrainerFailure {
  std::string kind, message;
  std::vector<int> ranks;  // known to be missing
};

class RankTrainer {
 public:
  virtual ~RankTrainer() = default;
  virtual std::string implementation() const = 0;                   // "c10d Reducer", ...
  virtual std::map<std::string, std::string> software() const = 0;  // "torch", "gloo", ...
  virtual std::string network_interface() const { return ""; }
  virtual void build() {}          // the model, the optimizer, the batch
  virtual void join() {}           // the process group; returns when every rank is in it
  virtual void barrier() {}        // all ranks start warm-up together
  virtual TrainedStep step() = 0;  // one optimizer step with all its micro-steps, ended on the device
  virtual std::optional<BenchRecord> bench_point() { return std::nullopt; }  // of a bench: the next one, or the end
  virtual std::int64_t peak_memory_bytes() const { return 0; }               // of the device; 0: the process's
  virtual std::map<std::string, std::string> logging() const { return {}; }  // DDP's own logging fields
};

// Makes the trainer of a plan, or throws (TrainerFailure: refused, setup).
using MakeRankTrainer = std::function<std::unique_ptr<RankTrainer>(const RunPlan& plan, const RankPlace& place)>;

// `words`: what stands after `worker` on the command line (--plan FILE --records N). The exit code: 0, or 1 after an
// error record. Leaves through no destructor of the trainer when it failed: the caller ends by _exit.
int run_rank(const std::vector<std::string>& words, const Environment& environment, const MakeRankTrainer& make);

double rank_clock_s();
double process_cpu_s();  // of all threads

// network, timeout, out_of_memory or exception, by what Gloo, NCCL and the allocators say; the ranks that a timeout
// names. The text is cut before the backtrace.
ErrorRecord sorted_failure(const std::string& what);

}  // namespace lockstep
