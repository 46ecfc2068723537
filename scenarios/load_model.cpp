#include "scenarios/load_model.h"

#include <filesystem>

#include "models/model_file.h"
#include "scenarios/fields.h"

namespace lockstep {

Expected<Model> load_model(const Scenario& scenario) {
  if (!is_model_path(scenario.model_name)) return build_zoo_model(scenario.model_name, scenario.model_options);
  const std::filesystem::path path(scenario.model_name);
  const std::filesystem::path beside = std::filesystem::path(scenario.file).parent_path() / path;
  std::error_code ignored;
  return read_model_file(path.is_relative() && std::filesystem::exists(beside, ignored) ? beside.string()
                                                                                        : scenario.model_name);
}

}  // namespace lockstep
