// From the text of a scenario file (and --set) to a checked Scenario, and back to text with the origin of every value.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/scenario.h"
#include "simulator/base/field_info.h"

namespace lockstep {

struct ReadOptions {
  // For what this layer cannot know: whether topology and fabric exist, whether a model file is sound. Called when the
  // scenario itself is right; errors come with `key` (e.g. "topology.node") and without place, which the reader fills
  // in.
  std::function<Errors(const Scenario&)> check;
  // What is wrong with a model of the zoo; empty: it is built to see.
  std::function<Errors(const std::string& name, const ModelOptions& options)> check_zoo_model;
};

struct ReadScenario {
  Scenario scenario;
  Reading reading;                 // the place of every key that was given
  std::vector<std::string> notes;  // given keys that cannot change the answer, one sentence each
};

// `sets` are the arguments of --set in their order. Errors: every one of the file in file order, then those of --set.
Expected<ReadScenario> read_scenario_with_origins(std::string_view text, const std::string& file_name,
                                                  const std::vector<std::string>& sets = {},
                                                  const ReadOptions& options = {});
// The same of a document whose --set was applied; `document.file` names it.
Expected<ReadScenario> read_scenario_document(const Document& document, const ReadOptions& options = {});
Expected<Scenario> read_scenario(std::string_view text, std::string file_name,
                                 const std::vector<std::string>& sets = {}, const ReadOptions& options = {});
// Reads the file first (kind Io when that fails).
Expected<ReadScenario> read_scenario_file(const std::string& path, const std::vector<std::string>& sets = {},
                                          const ReadOptions& options = {});

// Every resolved value as YAML, each line with its origin as a comment. Read again, it is the same scenario.
std::string scenario_yaml(const ReadScenario& read);
// The same of a Scenario made or changed by a program: every origin reads `default`.
std::string scenario_yaml(const Scenario& scenario);

}  // namespace lockstep
