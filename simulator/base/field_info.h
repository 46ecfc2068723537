// The part of a field table that does not depend on the struct it fills: descriptions, reading, printing.
// Declare tables with base/field_table.h; walk them (schema, docs, window) through TableInfo.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "simulator/base/document.h"
#include "simulator/base/error.h"
#include "simulator/base/quantity.h"

namespace lockstep {

enum class FieldType { Text, Integer, Number, Boolean, Choice, Quantity, Version, Rows, Custom, Later, Ignored };

using Scalar = std::variant<std::string, std::int64_t, double, bool>;  // a choice is its name
using Scalars = std::vector<Scalar>;                                   // one, or the items of a list field

struct FieldChoice {
  std::string name;
  bool later = false;  // known, refused in this version
};

struct TableInfo;

struct FieldInfo {
  std::string key;  // dotted
  FieldType type = FieldType::Text;
  Unit unit = Unit::None;
  std::optional<double> low, high;  // SI, inclusive unless low_open
  bool low_open = false;
  bool integral = false;                          // the member is a whole number
  std::int64_t integer_min = 0, integer_max = 0;  // what the member can hold
  std::vector<FieldChoice> choices;
  std::string allowed;     // of a text or a custom field: what may stand there, in words; empty: by the type
  std::string unset_word;  // for std::optional members: what stands for "not set"
  std::string doc, since = "0.1.0";
  std::string example;  // YAML of a good value, for required keys
  bool required = false;
  std::string required_unless;  // of a required key: another key that may stand in its place
  bool list = false;            // a list by nature
  bool one_or_many = false;
  bool positional = false;
  const TableInfo* row_table = nullptr;

  // Bound to the struct. fetch: nothing = not set. assign with no scalars = unset.
  std::function<void(void*, const Scalars&)> assign;
  std::function<std::optional<Scalars>(const void*)> fetch;
  std::function<bool(const void*)> shown;
  std::function<void(void*)> clear_rows;
  std::function<void*(void*)> add_row;
  std::function<std::vector<const void*>(const void*)> fetch_rows;
  std::function<std::optional<Error>(void*, const Value&)> read_custom;
  std::function<std::optional<std::string>(const void*)> print_custom;
};

// What reading left behind: errors, and the place of every key that was given.
struct Reading {
  Errors errors;
  std::map<std::string, Origin> origins;  // full dotted key (and groups) -> place of its value
  std::set<std::string> failed;           // keys with an error
  bool given(const std::string& key) const { return origins.count(key) != 0; }
  bool sound(const std::string& key) const;  // no error at the key, at a group around it, or below it
};

// Handed to the rules of a table.
class TableCheck {
 public:
  explicit TableCheck(Reading& reading, std::string prefix = "") : reading_(reading), prefix_(std::move(prefix)) {}
  bool given(const std::string& key) const { return reading_.given(prefix_ + key); }
  // Places the error at the key if it was given, else at the nearest group that was.
  void fail(ErrorKind kind, const std::string& key, std::string message, std::string allowed = "",
            std::string hint = "", std::string found = "");

 private:
  Reading& reading_;
  std::string prefix_;
};

struct TableRule {
  std::vector<std::string> keys;
  std::function<void(const void*, TableCheck&)> run;
};

struct TableInfo {
  std::string kind;  // "scenario", "topology", ...
  std::vector<FieldInfo> fields;
  std::vector<TableRule> rules;
  std::vector<std::string> no_shorthand;
  std::string sweep_message, sweep_hint;  // not empty: a list where one value is needed is checked, then refused so

  const FieldInfo* find(const std::string& key) const;
  bool is_group(const std::string& key) const;                        // some field's key starts with `key.`
  std::vector<std::string> children(const std::string& group) const;  // next components below a group ("" = top)
  const FieldInfo* shorthand_of(const std::string& group) const;      // the field that a bare value there is short for
};

// One value for `show`.
struct ResolvedField {
  std::string key;
  std::string yaml;  // the value in flow style
  Origin origin;
};

// Adds `document.problems`, unknown keys, bad values, missing keys and broken rules to reading.errors.
void read_table(const TableInfo& table, const Document& document, void* target, Reading& reading);
// File, line, column; then what is wrong in --set, in the order of `sets` where they are given; errors without place
// last.
Errors in_file_order(Errors errors, const std::vector<std::string>& sets = {});
std::vector<ResolvedField> resolved_fields(const TableInfo& table, const void* source, const Reading& reading);
// Fills file, line and column of an error from the place of `error.key`, or of the nearest group that was given.
void place_error(Error& error, const Reading& reading);

// Nested YAML of a resolved file, each line with `# x.yaml:3`, `# --set` or `# default`.
std::string resolved_yaml(const std::vector<ResolvedField>& fields);
// One line of what may stand there, e.g. "a quantity in bytes (B, kB, ...), or `default`".
std::string allowed_text(const FieldInfo& field);
// A Markdown table: key, what may stand there, default, meaning. `defaults` is a default-constructed struct.
std::string keys_markdown(const TableInfo& table, const void* defaults);

// --- For field_table.h ---------------------------------------------------------------------------------------------
template <class V>
struct optional_traits {
  using inside = V;
  static constexpr bool value = false;
};
template <class V>
struct optional_traits<std::optional<V>> {
  using inside = V;
  static constexpr bool value = true;
};
template <class V>
inline constexpr bool is_optional = optional_traits<V>::value;
template <class T, class Access>
using value_of = std::remove_cvref_t<std::invoke_result_t<Access, T&>>;
template <class T, class Access>
using value_inside = typename optional_traits<value_of<T, Access>>::inside;

template <class T, class Access>
auto& member(const Access& access, void* t) {
  return std::invoke(access, *static_cast<T*>(t));
}
template <class T, class Access>
const auto& member(const Access& access, const void* t) {
  return std::invoke(access, *static_cast<const T*>(t));
}
template <class V>
V from_scalar(const Scalar& s) {
  if constexpr (std::is_same_v<V, std::string>)
    return std::get<std::string>(s);
  else if constexpr (std::is_same_v<V, bool>)
    return std::get<bool>(s);
  else if constexpr (std::is_integral_v<V>)
    return static_cast<V>(std::get<std::int64_t>(s));
  else
    return std::get<double>(s);
}
template <class V>
Scalar to_scalar(const V& v) {
  if constexpr (std::is_same_v<V, std::string> || std::is_same_v<V, bool>)
    return v;
  else if constexpr (std::is_integral_v<V>)
    return static_cast<std::int64_t>(v);
  else
    return static_cast<double>(v);
}
template <class E>
E choice_value(const std::vector<std::pair<std::string, E>>& choices, const Scalar& name) {
  for (const auto& [text, value] : choices)
    if (text == std::get<std::string>(name)) return value;
  return choices.front().second;  // read_table hands over names of the list only
}
template <class E>
Scalar choice_name(const std::vector<std::pair<std::string, E>>& choices, const E& value) {
  for (const auto& [text, one] : choices)
    if (one == value) return text;
  return choices.front().first;
}

}  // namespace lockstep
