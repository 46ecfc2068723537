#include "simulator/base/document.h"
#include "simulator/base/quantity.h"
#include "simulator/result/json.h"
#include "simulator/result/json_archive.h"

namespace lockstep {
namespace {

Json scalar_to_json(const Value& value) {
  if (value.quoted) return value.text;
  if (value.text == "true") return true;
  if (value.text == "false") return false;
  if (const auto integer = parse_integer(value.text)) return *integer;
  if (const auto number = parse_number(value.text)) return *number;
  return value.text;
}

Json to_json(const Value& value) {
  switch (value.kind) {
    case Value::Kind::Null:
      return nullptr;
    case Value::Kind::Scalar:
      return scalar_to_json(value);
    case Value::Kind::List: {
      Json list = Json::array();
      for (const Value& item : value.items) list.push_back(to_json(item));
      return list;
    }
    case Value::Kind::Map:
      break;
  }
  Json map = Json::object();
  for (const Entry& entry : value.entries) map[entry.key] = to_json(entry.value);
  return map;
}

Value from_json(const Json& json) {
  Value value;
  if (json.is_object()) {
    value.kind = Value::Kind::Map;
    for (const auto& [key, inner] : json.items()) value.entries.push_back({key, {}, from_json(inner)});
  } else if (json.is_array()) {
    value.kind = Value::Kind::List;
    for (const Json& inner : json) value.items.push_back(from_json(inner));
  } else if (!json.is_null()) {
    value.kind = Value::Kind::Scalar;
    value.text = json.is_string() ? json.get<std::string>() : json.dump();
    // A version such as 2.28.9 is no number, and the reader of a scenario wants it in quotes all the same.
    const bool digits = value.text.find_first_not_of("0123456789.") == std::string::npos;
    value.quoted = json.is_string() && (digits || yaml_scalar(value.text) != value.text);
  }
  return value;
}

Json error_to_json(const Error& error) {
  Json json = Json::object();
  const auto known = [&json](const char* key, const auto& value) {
    if (!is_default(value)) json[key] = value;
  };
  json["kind"] = name_of(error.kind);
  known("file", error.file);
  known("line", error.line);
  known("column", error.column);
  known("key", error.key);
  known("found", error.found);
  known("allowed", error.allowed);
  known("hint", error.hint);
  json["message"] = error.message;
  return json;
}

}  // namespace

std::string dump_json(const Json& json, bool indented) {
  return json.dump(indented ? 2 : -1, ' ', false, Json::error_handler_t::replace);
}

Expected<Json> parse_json(std::string_view text, const std::string& file) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& failure) {
    Error error;
    error.kind = ErrorKind::Syntax;
    error.file = file;
    error.line = 1;
    error.column = 1;
    for (std::size_t i = 0; i + 1 < failure.byte && i < text.size(); ++i) {
      error.column = text[i] == '\n' ? 1 : error.column + 1;
      error.line += text[i] == '\n' ? 1 : 0;
    }
    error.message = "this is not well-formed JSON";
    return tl::unexpected(Errors{error});
  } catch (const Json::exception&) {
    Error error;
    error.file = file;
    error.message = "this JSON holds a number that is too large";
    return tl::unexpected(Errors{error});
  }
}

Json yaml_to_json_value(std::string_view yaml) {
  const auto document = parse_document(yaml, "scenario");
  LOCKSTEP_ENSURE(document.has_value(), "a scenario of our own does not parse: {}", to_text(document.error().front()));
  return to_json(document->root);
}

std::string json_value_to_yaml(const Json& value) {
  return to_yaml(from_json(value));
}

std::string yaml_to_json(std::string_view yaml, JsonLayout layout) {
  return dump_json(yaml_to_json_value(yaml), layout == JsonLayout::Indented) + '\n';
}

std::string json_text(std::string_view text) {
  return dump_json(Json(std::string(text)), false);
}

std::string errors_to_json(const Errors& errors, JsonLayout layout) {
  Json list = Json::array();
  for (const Error& error : errors) list.push_back(error_to_json(error));
  Json json = Json::object();
  json["error"] = list.empty() ? Json::object() : list.front();
  json["errors"] = list;
  return dump_json(json, layout == JsonLayout::Indented) + '\n';
}

}  // namespace lockstep
