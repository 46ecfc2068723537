// Inside scenarios: rules over several keys, names of the zoo, and settings that have no effect.
#pragma once

#include <string>
#include <vector>

#include "scenarios/reader.h"
#include "scenarios/scenario.h"
#include "simulator/base/field_info.h"

namespace lockstep {

// Completes what one key says for another (model: {mlp: ...} is model mlp, precision tf32 sets both switches, a speed
// in it/s becomes samples/s) and adds what is wrong to `reading`. Rules look only at keys that were read without error.
void complete_and_check(Scenario& scenario, Reading& reading, const ReadOptions& options);

// One sentence for each given key that cannot change the answer.
// True for a key that the file or --set gives another value than its default: worth a word when it has no effect.
bool given_otherwise_than_default(const Scenario& scenario, const Reading& reading, const std::string& key);

std::vector<std::string> keys_without_effect(const Scenario& scenario, const Reading& reading);

}  // namespace lockstep
