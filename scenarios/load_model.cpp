#include "scenarios/load_model.h"

#include <filesystem>

#include "models/model_file.h"
#include "scenarios/fields.h"

namespace lockstep {

std::string model_file(const Scenario& scenario) {
  if (!is_model_path(scenario.model_name)) return "";
  const std::filesystem::path path(scenario.model_name);
  const std::filesystem::path beside = std::filesystem::path(scenario.file).parent_path() / path;
  std::error_code ignored;
  return path.is_relative() && std::filesystem::exists(beside, ignored) ? beside.string() : scenario.model_name;
}

Expected<Model> load_model(const Scenario& scenario) {
  const std::string file = model_file(scenario);
  return file.empty() ? build_zoo_model(scenario.model_name, scenario.model_options) : read_model_file(file);
}

}  // namespace lockstep
