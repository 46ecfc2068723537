// From the records of launches to one Run, in the definitions of docs/interface.md ("A result").
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hwrunner/launch/launcher.h"
#include "simulator/result/result.h"

namespace lockstep {

// The record of a paced rank in the time of its scenario: dates, durations and CPU seconds divided by `dilate`.
Record in_scenario_time(Record record, double dilate);

// When a step ended on the latest rank, for each step that ended on all of them: differences of the values are step
// times. The first is the start of warm-up. Empty without a start on every rank.
std::vector<double> step_ends_s(const std::vector<RankLog>& ranks);

// Step times of one launch, warm-up and steady steps apart.
struct MeasuredTimes {
  std::vector<double> warm_up_s, steady_s;
};
MeasuredTimes step_times_of(const RunPlan& plan, const std::vector<RankLog>& ranks);

// All launches of one row.
struct Launches {
  RunPlan plan;                      // of any of them: strategy, sizes, steps
  std::vector<LaunchOutcome> plain;  // by repeat
  std::vector<int> repeats;          // their numbers
  std::optional<LaunchOutcome> instrumented, profiled;
};

// step_time_s (lower median of the steady steps of all repeats), spread, samples, warm-up, throughput, breakdown,
// hidden communication, buckets, ranks, implementation, notes. A run without a single steady step is `not_run` with the
// failure as the reason; one with some keeps them and has the failure among its notes. No speed-up yet (compare_with).
// `unit`: "images/s".
//
// The profile is that of the rank that took longest in the profiled pass, whose difference is a note as well; seconds
// of one of its own steps, not scaled. ddp_logging_data is rank 0's, of the instrumented pass, which samples each step.
//
// The breakdown is that of the instrumented pass's median step on its latest rank, scaled to step_time_s; the
// difference of the two passes is a note. What that rank waited for collectives is exposed_communication while one that
// all ranks had launched was under way, wait_for_peers else. Buckets are those of the same step, not scaled.
Run collect(const Launches& launches, const std::string& unit);

// The speed-up, efficiency and baseline of a run against the measured single.
void compare_with(const Run& single, Run& run);

}  // namespace lockstep
