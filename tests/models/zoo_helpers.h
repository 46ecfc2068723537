// Zoo models for tests; a model that cannot be built ends the test with its errors.
#pragma once

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "models/zoo/zoo.h"

namespace lockstep {

inline Model zoo_model(const std::string& name, const ModelOptions& options = {}) {
  Expected<Model> model = build_zoo_model(name, options);
  if (!model) throw std::runtime_error(to_text(model.error().front()));
  return std::move(*model);
}

inline std::vector<std::string> zoo_names() {
  std::vector<std::string> names;
  for (const ZooEntry& entry : zoo()) names.push_back(entry.name);
  return names;
}

// Parameterised test names may hold only letters, digits and underscores.
inline std::string test_name(std::string name) {
  for (char& c : name) {
    if (c == '-') c = '_';
  }
  return name;
}

}  // namespace lockstep
