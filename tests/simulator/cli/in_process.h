// A command run in this process, its streams kept as text.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "simulator/cli/options.h"

namespace lockstep::testing {

struct Outcome {
  int code = -1;
  std::string out, err;
};

inline Outcome lockstep_in_process(const std::vector<std::string>& words, const std::string& input = "") {
  std::ostringstream out, err;
  std::istringstream in(input);
  Output output{out, err, in};
  Outcome outcome;
  outcome.code = run_command_line(words, output);
  outcome.out = out.str();
  outcome.err = err.str();
  return outcome;
}

// ResNet-50 on one DGX A100: small enough for a test, with input from the host so that every kind of lever is tried.
inline const char* small_scenario() {
  return "model: {name: resnet18, image: 64}\n"
         "batch: {per_gpu: 32}\n"
         "topology: dgx-a100-80gb\n"
         "gpus: [1, 4]\n"
         "strategy: [dp, ddp]\n"
         "input: {source: host}\n"
         "data: {samples: 50000, epochs: 2}\n";
}

}  // namespace lockstep::testing
