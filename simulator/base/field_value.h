// Inside base: one value of a field, from its text and back.
#pragma once

#include <optional>
#include <string>

#include "simulator/base/field_info.h"

namespace lockstep {

Error value_error(ErrorKind kind, const Value& value, std::string message, std::string allowed = "",
                  std::string hint = "");
// Nothing inside: the word for "not set". Errors have place, found and message, not yet the key.
Expected<std::optional<Scalar>> read_scalar(const FieldInfo& field, const Value& value);
// As it stands in YAML.
std::string scalar_yaml(const FieldInfo& field, const Scalar& scalar);
// Names of live choices, the unset word first.
std::vector<std::string> choice_names(const FieldInfo& field);

}  // namespace lockstep
