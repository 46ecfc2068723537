// What a driver hands back: when steps and meetings ended. Enough to replay any rank (replay.h).
#pragma once

#include <string>
#include <vector>

#include "simulator/steps/jitter.h"
#include "simulator/steps/recurrence.h"
#include "simulator/steps/step_graph.h"

namespace lockstep {

struct MeetingTimes {
  double start = kUnknownTime;  // the last arrival
  double end = kUnknownTime;
};

// times[meeting], or times[meeting * simulated ranks + rank] for own meetings: index() knows.
class MeetingTable {
 public:
  MeetingTable(const StepProgram& program, int simulated_ranks);
  std::size_t index(int meeting, int rank) const {
    return first_[static_cast<std::size_t>(meeting)] +
           (own_[static_cast<std::size_t>(meeting)] ? static_cast<std::size_t>(rank) : 0U);
  }
  std::size_t size() const { return size_; }

 private:
  std::vector<std::size_t> first_;
  std::vector<bool> own_;
  std::size_t size_ = 0;
};

struct StepTimes {
  std::vector<MeetingTimes> meetings;  // by MeetingTable::index
  std::vector<double> stream_ends;     // [simulated rank]
  double end = 0;                      // the latest of stream_ends
  int critical_rank = 0;               // the first rank with that end
};

struct StepRecord {
  std::vector<StepTimes> steps;  // warm-up steps first
  int warm_up_steps = 0;
  bool converged = false;
  std::vector<double> step_times_s() const;  // differences of successive ends
};

// When a run ends: without noise two successive steady steps that agree to 1e-9 (relative), at least `least` and at
// most `most` steps in all; with noise a fixed number of steady steps.
struct StopRule {
  int least = 4;
  int most = 20;
  int fixed_steady = 0;  // > 0: so many steady steps, no convergence test
};
bool finished(const StepRecord& record, const StopRule& rule);

}  // namespace lockstep
