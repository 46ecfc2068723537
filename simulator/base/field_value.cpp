#include "simulator/base/field_value.h"

#include <fmt/format.h>

#include <cmath>

#include "simulator/base/ensure.h"
#include "simulator/base/format.h"
#include "simulator/base/nearest.h"

namespace lockstep {
namespace {

std::string number_text(const FieldInfo& field, double value) {
  if (field.type == FieldType::Quantity) return quantity_text(value, field.unit);
  return fmt::format("{}", value);
}

// "from 1 to 64", "above 0", or empty. A lower bound of 0 of a quantity goes without saying.
std::string range_text(const FieldInfo& field) {
  const bool plain_zero = field.type == FieldType::Quantity && field.low == 0.0 && !field.low_open;
  std::string low, high;
  if (field.low && !plain_zero) low = number_text(field, *field.low);
  if (field.high) high = number_text(field, *field.high);
  if (!low.empty() && field.low_open && high.empty()) return "above " + low;
  if (!low.empty() && field.low_open) return fmt::format("above {}, at most {}", low, high);
  if (!low.empty() && !high.empty()) return fmt::format("from {} to {}", low, high);
  if (!low.empty()) return "at least " + low;
  return high.empty() ? "" : "at most " + high;
}

bool in_range(const FieldInfo& field, double value) {
  if (field.low && (field.low_open ? value <= *field.low : value < *field.low)) return false;
  return !field.high || value <= *field.high;
}

using Read = Expected<std::optional<Scalar>>;

tl::unexpected<Errors> refuse(Error error) {
  return tl::make_unexpected(Errors{std::move(error)});
}

// Errors of the quantity parsers get place and, where they say nothing, what the field allows.
tl::unexpected<Errors> refuse_parsed(const FieldInfo& field, const Value& value, Errors errors) {
  for (Error& error : errors) {
    error.file = value.origin.file;
    error.line = value.origin.line;
    error.column = value.origin.column;
    if (!field.unset_word.empty()) {
      error.allowed += fmt::format("{}or `{}`", error.allowed.empty() ? "" : ", ", field.unset_word);
      if (const std::string hint = did_you_mean(value.text, {field.unset_word}); !hint.empty()) error.hint = hint;
    }
  }
  return tl::make_unexpected(std::move(errors));
}

Read out_of_range(const FieldInfo& field, const Value& value) {
  return refuse(value_error(ErrorKind::Range, value, "the value is out of range", range_text(field)));
}

Read read_integer(const FieldInfo& field, const Value& value) {
  const Expected<std::int64_t> number = parse_integer(value.text);
  if (!number) return refuse_parsed(field, value, number.error());
  if (!in_range(field, static_cast<double>(*number))) return out_of_range(field, value);
  if (*number < field.integer_min || *number > field.integer_max)
    return refuse(value_error(ErrorKind::Range, value, "the value is out of range",
                              fmt::format("from {} to {}", field.integer_min, field.integer_max)));
  return std::optional<Scalar>(*number);
}

Read read_number(const FieldInfo& field, const Value& value) {
  const Expected<double> number = parse_number(value.text);
  if (!number) return refuse_parsed(field, value, number.error());
  if (!in_range(field, *number)) return out_of_range(field, value);
  return std::optional<Scalar>(*number);
}

Read read_quantity(const FieldInfo& field, const Value& value) {
  if (field.integral) {
    const Expected<std::int64_t> bytes = parse_bytes(value.text);
    if (!bytes) return refuse_parsed(field, value, bytes.error());
    if (!in_range(field, static_cast<double>(*bytes))) return out_of_range(field, value);
    return std::optional<Scalar>(*bytes);
  }
  const Expected<double> si = parse_quantity(value.text, field.unit);
  if (!si) return refuse_parsed(field, value, si.error());
  if (!in_range(field, *si)) return out_of_range(field, value);
  return std::optional<Scalar>(*si);
}

Read read_flag(const Value& value) {
  const std::string name = canonical_name(value.text);
  if (!value.quoted && name == "true") return std::optional<Scalar>(true);
  if (!value.quoted && name == "false") return std::optional<Scalar>(false);
  std::string hint;
  if (name == "yes" || name == "on" || name == "1" || name == "true") hint = "write true, without quotes";
  if (name == "no" || name == "off" || name == "0" || name == "false") hint = "write false, without quotes";
  return refuse(value_error(ErrorKind::Type, value, "true or false is needed here", "true, false", hint));
}

Read read_choice(const FieldInfo& field, const Value& value) {
  const std::string name = canonical_name(value.text);
  for (const FieldChoice& choice : field.choices) {
    if (canonical_name(choice.name) != name) continue;
    if (choice.later)
      return refuse(
          value_error(ErrorKind::NotSupported, value,
                      fmt::format("`{}` is not supported in this version; a later one will take it", choice.name),
                      fmt::format("{}", fmt::join(choice_names(field), ", "))));
    return std::optional<Scalar>(choice.name);
  }
  const std::vector<std::string> names = choice_names(field);
  return refuse(value_error(ErrorKind::Range, value,
                            fmt::format("`{}` is not one of the values that may stand here", shortened(value.text, 60)),
                            fmt::format("{}", fmt::join(names, ", ")), did_you_mean(value.text, names)));
}

Read read_version(const Value& value) {
  bool digits = !value.text.empty() && value.text.front() != '.' && value.text.back() != '.';
  for (std::size_t i = 0; i < value.text.size(); ++i) {
    const char c = value.text[i];
    digits = digits && ((c >= '0' && c <= '9') || (c == '.' && value.text[i - 1] != '.'));
  }
  if (!digits || value.text.size() > 32)
    return refuse(value_error(ErrorKind::Type, value, "a version is numbers with dots between them",
                              "a version in quotes such as \"2.11\""));
  if (!value.quoted)
    return refuse(value_error(ErrorKind::Type, value,
                              "a version stands in quotes: 2.10 without them would be the number 2.1",
                              "a version in quotes such as \"2.11\"", fmt::format("write \"{}\"", value.text)));
  return std::optional<Scalar>(value.text);
}

}  // namespace

Error value_error(ErrorKind kind, const Value& value, std::string message, std::string allowed, std::string hint) {
  Error error;
  error.kind = kind;
  error.file = value.origin.file;
  error.line = value.origin.line;
  error.column = value.origin.column;
  error.found = value.kind == Value::Kind::Null ? value.text : to_flow_yaml(value);
  error.found = shortened(error.found);
  error.message = std::move(message);
  error.allowed = std::move(allowed);
  error.hint = std::move(hint);
  return error;
}

std::vector<std::string> choice_names(const FieldInfo& field) {
  std::vector<std::string> names;
  if (!field.unset_word.empty()) names.push_back(field.unset_word);
  for (const FieldChoice& choice : field.choices)
    if (!choice.later) names.push_back(choice.name);
  return names;
}

Read read_scalar(const FieldInfo& field, const Value& value) {
  if (value.kind == Value::Kind::Null)
    return refuse(value_error(ErrorKind::Type, value, "the key has no value", allowed_text(field),
                              field.required ? "" : "delete the key to get the default"));
  if (value.kind != Value::Kind::Scalar)
    return refuse(
        value_error(ErrorKind::Type, value,
                    fmt::format("one value is needed here, not a {}", value.kind == Value::Kind::List ? "list" : "map"),
                    allowed_text(field)));
  if (!field.unset_word.empty() && canonical_name(value.text) == field.unset_word) return std::optional<Scalar>();
  if (value.quoted && (field.type == FieldType::Integer || field.type == FieldType::Number))
    return refuse(value_error(ErrorKind::Type, value, "a number is needed here, not a text in quotes",
                              allowed_text(field), "take the quotes away"));
  switch (field.type) {
    case FieldType::Text:
      return std::optional<Scalar>(value.text);
    case FieldType::Integer:
      return read_integer(field, value);
    case FieldType::Number:
      return read_number(field, value);
    case FieldType::Boolean:
      return read_flag(value);
    case FieldType::Choice:
      return read_choice(field, value);
    case FieldType::Quantity:
      return read_quantity(field, value);
    case FieldType::Version:
      return read_version(value);
    default:
      break;
  }
  LOCKSTEP_ENSURE(false, "field {} has no scalar type: {}", field.key, static_cast<int>(field.type));
}

std::string scalar_yaml(const FieldInfo& field, const Scalar& scalar) {
  if (field.type == FieldType::Quantity) {
    if (const auto* bytes = std::get_if<std::int64_t>(&scalar)) {
      // Above 2^53 a double cannot tell neighbours apart.
      const std::string text = quantity_text(static_cast<double>(*bytes), Unit::Bytes);
      const Expected<std::int64_t> back = parse_bytes(text);
      return back && *back == *bytes ? text : fmt::format("{}B", *bytes);
    }
    return quantity_text(std::get<double>(scalar), field.unit);
  }
  if (const auto* text = std::get_if<std::string>(&scalar)) {
    if (field.type == FieldType::Version) return "\"" + *text + "\"";
    return field.type == FieldType::Choice ? *text : yaml_scalar(*text);
  }
  if (const auto* number = std::get_if<std::int64_t>(&scalar)) return fmt::format("{}", *number);
  if (const auto* number = std::get_if<double>(&scalar)) {
    const std::string text = fmt::format("{}", *number);
    return field.type == FieldType::Version ? "\"" + text + "\"" : text;
  }
  return std::get<bool>(scalar) ? "true" : "false";
}

std::string allowed_text(const FieldInfo& field) {
  std::string text;
  switch (field.type) {
    case FieldType::Text:
      text = "a text";
      break;
    case FieldType::Integer:
      text = "a whole number";
      break;
    case FieldType::Number:
      text = "a number";
      break;
    case FieldType::Boolean:
      text = "true, false";
      break;
    case FieldType::Choice:
      text = fmt::format("{}", fmt::join(choice_names(field), ", "));
      break;
    case FieldType::Quantity:
      text = fmt::format("a quantity such as {}", example_of(field.unit));
      break;
    case FieldType::Version:
      text = "a version in quotes such as \"2.11\"";
      break;
    case FieldType::Rows:
      text = field.positional ? "lists or maps" : "maps";
      break;
    case FieldType::Custom:
      break;
    case FieldType::Later:
      return "not in this version";
    case FieldType::Ignored:
      return "anything (not read)";
  }
  if (!field.allowed.empty()) text = field.allowed;
  if (const std::string range = range_text(field); !range.empty()) text += " " + range;
  if (field.one_or_many)
    text = "one or a list of: " + text;
  else if (field.list)
    text = "a list of: " + text;
  if (!field.unset_word.empty() && field.type != FieldType::Choice) text += fmt::format(", or `{}`", field.unset_word);
  return text;
}

}  // namespace lockstep
