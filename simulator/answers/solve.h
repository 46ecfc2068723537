// The value of one key that gives a wanted step time, throughput or efficiency: "how fast must the network be", "how
// many GPUs are still worth it", "which rate does this measurement imply". Found by predicting again with other values,
// so with everything that the key changes (solve_search.h). Several measurements are solved one by one and held
// against each other: does one value explain them all?
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "simulator/answers/inputs.h"
#include "simulator/answers/points.h"
#include "simulator/result/result.h"

namespace lockstep {

enum class Goal { StepTime, Throughput, Efficiency };
const char* name_of(Goal goal);  // step_time, throughput, efficiency

struct Given {
  Goal goal = Goal::Efficiency;
  double value = 0;                   // s, samples/s, 1
  std::string text;                   // as it was given
  std::vector<std::string> sets;      // what of the scenario was otherwise, as for --set
  SampleWord word = SampleWord::Any;  // of a throughput
  // A shorter step, a larger throughput or efficiency is at least as good.
  bool met_by(const Run& run) const { return met_by(of(run)); }
  bool met_by(double reached) const { return goal == Goal::StepTime ? reached <= value : reached >= value; }
  double of(const Run& run) const;
};
// "efficiency=0.9", "efficiency=90%", "step_time=1.71s", "throughput=2000img/s"; before it, each with a colon, what was
// otherwise: "gpus=16:throughput=160img/s". Errors name what is allowed.
Expected<Given> parse_given(const std::string& text);

struct SolveOptions {
  Method method = Method::Simulate;
  PointSource source;
  std::function<void(int samples)> progress;  // before each prediction
};

struct SolveSample {
  double value = 0;    // of the key, SI
  double reached = 0;  // step_time s, throughput samples/s, or efficiency
  bool meets = false;
};
struct SolveInterval {
  double low = 0, high = 0;
};

struct Solution {
  std::string key, unit;  // B/s, B, s, FLOP/s, or empty
  Given given;
  Strategy strategy = Strategy::Single;
  int gpus = 1;                            // of the key's present value
  std::optional<double> low, high;         // the goal is crossed between these; unset: no value
  bool rises_to_goal = true;               // values from `high` on meet the goal; false: values up to `low`
  bool monotonic = true;                   // over all samples
  std::vector<SolveInterval> meeting;      // ranges of samples that meet the goal
  std::vector<SolveSample> samples;        // by value
  Sentence answer;                         // solve_at_least, solve_at_most, solve_only, solve_none, solve_always
  std::optional<Sentence> doubt;           // solve_not_monotonic, solve_not_monotonic_none
  std::optional<Sentence> baseline;        // solve_fed: what efficiency is counted against with a data loader
  std::optional<std::string> floor_cause;  // of solve_none: the largest loss that remains
};

// With a data loader, efficiency counts against one GPU whose batches are always ready: one that waits for the same
// loader would make any loader look good enough.
//
// Of DDP if the scenario has it, on its largest number of GPUs (any other with --set strategy, gpus). Errors: an
// unknown key or one without numbers, values that the scenario refuses, a batch beside calibrate.single_gpu, RunFailed.
Expected<Solution> solve(const Inputs& inputs, const std::string& key, const Given& given,
                         const SolveOptions& options = {});

// What one of several measurements implies. The band: values for which the measurement lies inside the 80 % band of the
// prediction (bands.h, taken where the prediction is nearest to the measurement); an end that is not set is open.
struct ImpliedValue {
  Solution solution;
  bool possible = true;  // false: the measurement lies outside the band whatever the value
  std::optional<double> band_low, band_high;
};

enum class ImpliedTrend { None, Falls, Rises };  // from each measurement to the next, by their GPUs if these differ

struct CommonValue {
  std::vector<ImpliedValue> values;  // by GPUs if these differ, else as given
  bool fits = false;                 // the bands have a value in common
  std::optional<double> low, high;   // that part; an end that is not set is open
  ImpliedTrend trend = ImpliedTrend::None;
  Sentence verdict;  // solve_fits, solve_fits_not
};

// At least two measurements. Errors as of solve, and of the scenario with `Given::sets`.
Expected<CommonValue> solve_common(const Inputs& inputs, const std::string& key, const std::vector<Given>& givens,
                                   const SolveOptions& options = {});

// A value of the key for people: "1.25 GB/s". Four digits: the two ends of an answer differ in the fourth.
std::string solve_value_text(const std::string& unit, double value);

}  // namespace lockstep
