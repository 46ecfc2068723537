// Inside scenarios: rules over several keys, names of the zoo, and settings that have no effect.
#pragma once

#include <string>
#include <vector>

#include "scenarios/scenario.h"
#include "simulator/base/field_info.h"

namespace lockstep {

// Completes what one key says for another (model: {mlp: ...} is model mlp, precision tf32 sets both switches, a speed
// in it/s becomes samples/s) and adds what is wrong to `reading`. Rules look only at keys that were read without error.
void complete_and_check(Scenario& scenario, Reading& reading);

// One sentence for each given key that cannot change the answer.
std::vector<std::string> keys_without_effect(const Scenario& scenario, const Reading& reading);

}  // namespace lockstep
