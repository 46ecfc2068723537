// Private to the launch library: reading the fields of a JSON object without exceptions, all errors collected.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <vector>

#include "simulator/base/error.h"

namespace lockstep {

using RunnerJson = nlohmann::ordered_json;

class JsonFields {
 public:
  explicit JsonFields(const RunnerJson& object) : object_(object) {}

  template <class T>
  void need(const char* key, T& value) {
    if (!object_.contains(key))
      fail(ErrorKind::Missing, key, fmt::format("`{}` is missing", key));
    else
      read(object_[key], key, value);
  }
  template <class T>
  void may(const char* key, T& value) {
    if (object_.contains(key)) read(object_[key], key, value);
  }
  void fail(ErrorKind kind, const char* key, std::string message) {
    Error error;
    error.kind = kind;
    error.key = key;
    error.message = std::move(message);
    errors_.push_back(std::move(error));
  }
  const Errors& errors() const { return errors_; }

 private:
  template <class T>
  void read(const RunnerJson& in, const char* key, T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      if (!in.is_boolean()) return wrong(key, "true or false");
      value = in.get<bool>();
    } else if constexpr (std::is_same_v<T, double>) {
      if (!in.is_number()) return wrong(key, "a number");
      value = in.get<double>();
    } else if constexpr (std::is_integral_v<T>) {
      const bool fits = in.is_number_integer() &&
                        (!in.is_number_unsigned() ||
                         in.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<T>::max())) &&
                        in.get<std::int64_t>() >= static_cast<std::int64_t>(std::numeric_limits<T>::min()) &&
                        in.get<std::int64_t>() <= static_cast<std::int64_t>(std::numeric_limits<T>::max());
      if (!fits) return wrong(key, "a whole number");
      value = in.get<T>();
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (!in.is_string()) return wrong(key, "a string");
      value = in.get<std::string>();
    } else if constexpr (std::is_same_v<T, std::vector<int>> || std::is_same_v<T, std::vector<std::string>>) {
      if (!in.is_array()) return wrong(key, "a list");
      for (const RunnerJson& one : in) read(one, key, value.emplace_back());
    } else {
      if (!in.is_object()) return wrong(key, "an object");
      for (auto it = in.begin(); it != in.end(); ++it) read(it.value(), key, value[it.key()]);
    }
  }
  void wrong(const char* key, const char* wanted) {
    fail(ErrorKind::Type, key, fmt::format("`{}` must be {}", key, wanted));
  }

  const RunnerJson& object_;
  Errors errors_;
};

// An object, or Syntax.
inline Expected<RunnerJson> parse_object(std::string_view text, const char* what) {
  RunnerJson json = RunnerJson::parse(text, nullptr, false);
  if (json.is_object()) return json;
  Error error;
  error.kind = ErrorKind::Syntax;
  error.message = fmt::format("this is no {}", what);
  error.found = std::string(text.substr(0, 120));
  return tl::unexpected(Errors{std::move(error)});
}

inline std::string dump(const RunnerJson& json) {
  return json.dump(-1, ' ', false, RunnerJson::error_handler_t::replace);
}

}  // namespace lockstep
