// What a sweep of the window computes: a scenario, and one or two keys with the values that each takes in turn. Points
// are what `lockstep sweep` predicts (docs/interface.md, "Sweeps"). No widgets.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "simulator/answers/inputs.h"
#include "simulator/result/result.h"

namespace lockstep::gui {

struct PlanAxis {
  std::string key;                  // dotted, of the field table
  std::vector<std::string> values;  // each as YAML
  std::vector<std::string> names;   // what `lockstep sweep` calls them; of a plan
  bool operator==(const PlanAxis&) const = default;
};

inline constexpr std::size_t kMostAxisValues = 16;  // that a map can hold and still write a number into each cell

// The first axis changes fastest: point = x + y * (values of the first axis).
struct SweepPlan {
  ScenarioText source;  // with sets for all that stays fixed: strategy, gpus, one value of every other list
  Strategy strategy = Strategy::Ddp;
  int gpus = 0;  // 0: an axis
  std::vector<PlanAxis> axes;
  std::string identity;  // every other key's value: while it agrees, known points stay true

  std::size_t size() const;
  std::size_t index(std::size_t point, std::size_t axis) const;
  std::string key_of(std::size_t point) const;  // tells points of plans with one identity apart
  ScenarioText text_of(std::size_t point) const;
};

// Checks every value by itself; what only a combination refuses becomes a point that cannot run. `gpus` is not looked
// at when it is an axis. Errors: of a value, with its key; an axis without values; those of the scenario.
Expected<SweepPlan> make_plan(const ScenarioText& source, Strategy strategy, int gpus, std::vector<PlanAxis> axes);

// Keys of a scenario file that hold a list of values, `gpus` and `strategy` left out; empty where the file is wrong.
std::vector<PlanAxis> listed_axes(const ScenarioText& source);

// "1, 2,  25 MiB" or "[1, 2]" as values. Errors: Syntax.
Expected<std::vector<std::string>> values_of_text(const std::string& text);
std::string text_of_values(const std::vector<std::string>& values);  // "1, 2, 25 MiB"

// `--set` that gives an axis the values named by `which`.
std::string set_of(const PlanAxis& axis, const std::vector<std::size_t>& which);

// What `lockstep sweep` names a value in `point` of a run.
std::string shown_value(const std::string& yaml);

enum class CellState { Pending, Known, NotRun };

// What is shown of one point.
struct SweepCell {
  CellState state = CellState::Pending;
  bool estimated = true;  // without contention; the simulation follows
  bool fits = true;       // in the memory of its GPUs, as far as that is known
  int gpus = 0, buckets = 0;
  double step_s = 0, throughput = 0, efficiency = 0, speedup = 0;
  double exposed_s = 0, hidden_s = 0;  // communication
  double gradient_bytes = 0;           // of one exchange, in all its buckets
  std::string throughput_unit, reason;
  bool usable() const { return state == CellState::Known && fits; }
  bool simulated() const { return state != CellState::Pending && !estimated; }
};
SweepCell cell_of(const lockstep::Run& run, bool estimated);
// The estimate of one point; never Pending.
SweepCell estimate_cell(const SweepPlan& plan, std::size_t point, LoadedInputs& loaded);

}  // namespace lockstep::gui
