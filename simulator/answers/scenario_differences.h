// What two resolved scenarios say differently, key by key, and which of that forbids to hold their results against each
// other.
#pragma once

#include <string>
#include <vector>

#include "simulator/result/result.h"

namespace lockstep {

// Values in YAML's flow style; empty where that side does not have the key.
struct ScenarioDifference {
  std::string key;  // dotted
  std::string value, other;
};

// Both as in Result::scenario_yaml, in the order of the first, then what only the other has. Numbers are compared as
// numbers. Where one side has a map and the other does not, the key of the map is told. Text that is no YAML has no
// differences.
std::vector<ScenarioDifference> scenario_differences(const std::string& yaml, const std::string& other);

// Those that make results unlike: another model, machine, precision, batch, accumulation. With `settings` those too
// that change a step in other ways (ddp, input, optimizer, ...). Never what says how a prediction was made or which
// rows were asked for: question, gpus, strategy, calibrate, host.factor, noise, measure, data, seed, price, and
// gpus_per_node.
std::vector<ScenarioDifference> unlike_keys(const Result& result, const Result& reference, bool settings);

// "model.name resnet18 (resnet50), batch.per_gpu 16 (128)": the other side's in brackets, at most `most` keys.
std::string differences_text(const std::vector<ScenarioDifference>& differences, std::size_t most = 6);

}  // namespace lockstep
