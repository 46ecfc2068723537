// The clock of a paced rank: a third driver of the simulator's step graph, beside the estimate and the engine. Kernels
// and host work of the rank's program take their modelled time, by waiting; collectives are real, and their real ends
// go back into the walk. What a prediction says about one rank between two meetings is therefore the same here, host
// limits, launch queue, jitter and the slow-down under a running collective included; what it says about buckets,
// their order, waiting and the network is put to the test.
//
// Two times: the model's (seconds of the scenario), and the wall clock's, `dilate` times as long. The model's clock
// stands at 0 when the first step starts. A rank that comes late, because its CPU was busy, does not wait until it has
// caught up, as a GPU behind its host; it is late for good only where others waited for it. Plain C++.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "hwrunner/paced/pace_marks.h"
#include "models/derived.h"
#include "simulator/steps/jitter.h"
#include "simulator/steps/recurrence.h"

namespace lockstep {

struct PaceRequest {
  PointRequest point;  // strategy, sizes, calibration; what it points to must outlive the Pace
  int rank = 0;
  double dilate = 1;  // wall seconds for each of the model's
};

class Pace {
 public:
  // Errors: NotSupported for DataParallel, a data loader, static_graph and find_unused_parameters.
  static Expected<std::shared_ptr<Pace>> make(const PaceRequest& request);

  int rank() const { return rank_; }

  // All from the thread that trains, in this order; each returns when the wall clock is there.
  void start_step();
  void before_meeting(int micro_step);  // until buckets are rebuilt and buffers broadcast; do that, then
  void met();
  void forward(std::size_t op);   // until its forward pass is done; the loss last
  void gradient(ParameterId id);  // until it is final
  // Until the next bucket's all-reduce starts; gives its number in this step. A rank alone reduces with nobody, which
  // takes no time in the model: kNobodyElse, at once.
  int launch();
  void backward_done();    // until the backward pass is done, without what it waits for
  void reduced();          // until the buckets are back and copied out
  void end_step();         // until the optimizer is done
  void ended(int bucket);  // an all-reduce is over; from any thread

  // Where the compute stream stands, in the model's time.
  double model_s() const { return cursor_.stream; }
  // Kernels of the step under way, one after the other: none of the waits above ends earlier than that.
  double work_s() const { return work_s_; }
  // The longest time, in wall seconds, by which this rank's CPU came late to a wait in the step under way.
  double late_s() const { return late_s_; }
  // In which gradient() wants them.
  std::vector<ParameterId> gradients_in_order() const {
    return gradient_order(context_.model, context_.compute.autocast);
  }
  // Bytes of the buckets of a step, in launch order.
  const std::vector<std::int64_t>& bucket_bytes(int step) const { return graph_.program(step).bucket_bytes; }

 private:
  static constexpr int kNobodyElse = -1;

  explicit Pace(const PaceRequest& request);
  struct Environment {
    const Pace& pace;
    double end_of(int, int meeting) const { return pace.ends_[static_cast<std::size_t>(meeting)]; }
    double factor(int step) const { return pace.jitter_.factor(pace.rank_, step); }
  };
  const StepProgram& program() const { return graph_.program(cursor_.step); }
  const ProgramMarks& marks() const;
  const PaceMarks& micro() const { return marks().micro[static_cast<std::size_t>(micro_)]; }
  double model_now() const;
  int kernels_before(int item) const;
  void advance(int item);
  bool wait_until(double model_s, const int* seen_changes);
  void pass_meeting(const Stop& stop);
  void await_end(int meeting);
  void move_to(const Cursor& next);

  StepContext context_;
  StepGraph graph_;
  int rank_, class_;
  bool alone_;
  double dilate_;
  JitterSource jitter_;
  std::vector<ProgramMarks> marks_;        // of the warm-up programs, then the steady one
  std::vector<std::vector<int>> kernels_;  // the same: kernels before each item
  Cursor cursor_;
  LaunchQueue queue_;
  int micro_ = 0, launches_ = 0;
  bool started_ = false;
  double origin_s_ = 0;  // of the model's clock, on the monotonic clock
  double work_s_ = 0, late_s_ = 0;

  mutable std::mutex mutex_;  // of what follows; Gloo's threads say when a collective ended
  std::condition_variable changed_;
  SlowWindow window_;
  std::vector<double> ends_;  // [meeting] of the step under way
  int running_ = 0, changes_ = 0;
};

}  // namespace lockstep
