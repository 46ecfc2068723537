// Private to the result library: writing and reading one struct by one description of its fields, so that the two
// cannot drift apart. A description is `template <class A> void describe(A& a, T& t)`, calling
//   a.field("key", t.member)         always written, must be there when read
//   a.known("key", t.member)         absent while it has its default (0, empty, unset); absent reads as that
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "simulator/base/ensure.h"
#include "simulator/base/error.h"
#include "simulator/result/result.h"

namespace lockstep {

using Json = nlohmann::ordered_json;

// Enums travel by name.
template <class E>
struct EnumNames;
template <>
struct EnumNames<Strategy> {
  static const char* name(Strategy value) { return name_of(value); }
  static std::optional<Strategy> value(std::string_view name) {
    for (const Strategy one : {Strategy::Single, Strategy::Dp, Strategy::DpCpp, Strategy::Ddp})
      if (name == name_of(one)) return one;
    return std::nullopt;
  }
};
template <>
struct EnumNames<Cause> {
  static const char* name(Cause value) { return name_of(value); }
  static std::optional<Cause> value(std::string_view name) { return cause_of(name); }
};
template <>
struct EnumNames<Lane> {
  static const char* name(Lane value) { return name_of(value); }
  static std::optional<Lane> value(std::string_view name) { return lane_of(name); }
};

template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;
using TextMap = std::map<std::string, std::string>;

template <class T>
bool is_default(const T& value) {
  if constexpr (std::is_same_v<T, double>)
    return value == 0 && !std::signbit(value);
  else if constexpr (std::is_arithmetic_v<T>)
    return value == T{};
  else
    return value.empty();
}

class JsonWriter {
 public:
  explicit JsonWriter(Json& out) : out_(out) {}

  template <class T>
  void field(const char* key, const T& value) {
    out_[key] = to_json(value);
  }
  template <class T>
  void known(const char* key, const T& value) {
    if (!is_default(value)) field(key, value);
  }
  template <class T>
  void known(const char* key, const std::optional<T>& value) {
    if (value) field(key, *value);
  }

 private:
  template <class T>
  static Json to_json(const T& value) {
    if constexpr (std::is_same_v<T, double>) {
      LOCKSTEP_ENSURE(std::isfinite(value), "{} cannot stand in a result", value);
      return value;
    } else if constexpr (std::is_enum_v<T>) {
      return EnumNames<T>::name(value);
    } else if constexpr (std::is_same_v<T, TextMap>) {
      Json map = Json::object();
      for (const auto& [key, text] : value) map[key] = text;
      return map;
    } else if constexpr (is_vector<T>) {
      Json list = Json::array();
      for (const auto& one : value) list.push_back(to_json(one));
      return list;
    } else if constexpr (std::is_class_v<T> && !std::is_same_v<T, std::string>) {
      Json object = Json::object();
      JsonWriter writer(object);
      describe(writer, value);
      return object;
    } else {
      return value;
    }
  }

  Json& out_;
};

class JsonReader {
 public:
  JsonReader(const Json& in, std::string path, const std::string& file, Errors& errors)
      : in_(in), path_(std::move(path)), file_(file), errors_(errors) {}

  template <class T>
  void field(const char* key, T& value) {
    if (!in_.contains(key)) {
      fail(ErrorKind::Missing, path_ + key, "", fmt::format("a result needs `{}`", key));
      return;
    }
    read(in_[key], path_ + key, value);
  }
  template <class T>
  void known(const char* key, T& value) {
    if (in_.contains(key)) read(in_[key], path_ + key, value);
  }
  template <class T>
  void known(const char* key, std::optional<T>& value) {
    if (in_.contains(key)) read(in_[key], path_ + key, value.emplace());
  }
  void fail(ErrorKind kind, const std::string& key, const std::string& found, const std::string& message) {
    Error error;
    error.kind = kind;
    error.file = file_;
    error.key = key;
    error.found = found;
    error.message = message;
    errors_.push_back(std::move(error));
  }

 private:
  template <class T>
  void read(const Json& in, const std::string& path, T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      if (!in.is_boolean()) return wrong(in, path, "true or false");
      value = in.get<bool>();
    } else if constexpr (std::is_same_v<T, double>) {
      if (!in.is_number()) return wrong(in, path, "a number");
      value = in.get<double>();
    } else if constexpr (std::is_integral_v<T>) {
      const bool fits = in.is_number_integer() && (!in.is_number_unsigned() || in.get<std::uint64_t>() <= kLargest) &&
                        in.get<std::int64_t>() >= std::numeric_limits<T>::min() &&
                        in.get<std::int64_t>() <= std::numeric_limits<T>::max();
      if (!fits) return wrong(in, path, "a whole number");
      value = in.get<T>();
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (!in.is_string()) return wrong(in, path, "a string");
      value = in.get<std::string>();
    } else if constexpr (std::is_enum_v<T>) {
      const auto one = in.is_string() ? EnumNames<T>::value(in.get<std::string>()) : std::nullopt;
      if (!one) return wrong(in, path, "a known name");
      value = *one;
    } else if constexpr (std::is_same_v<T, TextMap>) {
      if (!in.is_object()) return wrong(in, path, "an object");
      for (auto it = in.begin(); it != in.end(); ++it) {
        const Json& text = it.value();
        value[it.key()] = text.is_string() ? text.get<std::string>() : text.dump();
      }
    } else if constexpr (is_vector<T>) {
      if (!in.is_array()) return wrong(in, path, "a list");
      value.clear();
      for (std::size_t i = 0; i < in.size(); ++i) read(in[i], fmt::format("{}[{}]", path, i), value.emplace_back());
    } else {
      if (!in.is_object()) return wrong(in, path, "an object");
      JsonReader reader(in, path + ".", file_, errors_);
      describe(reader, value);
    }
  }
  void wrong(const Json& in, const std::string& path, const char* wanted) {
    fail(ErrorKind::Type, path, in.dump().substr(0, 60), fmt::format("`{}` must be {}", path, wanted));
    errors_.back().allowed = wanted;
  }

  static constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const Json& in_;
  std::string path_;
  const std::string& file_;
  Errors& errors_;
};

// Parses text; Syntax with line and column when it is no JSON.
Expected<Json> parse_json(std::string_view text, const std::string& file);
// What no result can say: no GPUs, times of 0 or less, parts or ratios below 0, neither a step nor a reason for none.
void check_result(const Result& result, const std::string& file, Errors& errors);
// YAML to JSON values and back (json_scenario.cpp).
Json yaml_to_json_value(std::string_view yaml);
std::string json_value_to_yaml(const Json& value);
std::string dump_json(const Json& json, bool indented);  // without newline; bad UTF-8 is replaced

}  // namespace lockstep
