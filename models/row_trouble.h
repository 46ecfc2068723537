// Helpers that the two halves of the row builder share.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

#include "models/row_builder.h"

namespace lockstep::row_detail {

inline std::string text_of(const Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

inline Trouble misfit(std::string key, std::string message, std::string allowed = "", std::string hint = "") {
  return {ErrorKind::Conflict, std::move(key), std::move(message), std::move(allowed), std::move(hint), ""};
}

}  // namespace lockstep::row_detail
