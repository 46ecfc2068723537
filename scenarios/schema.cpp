#include "scenarios/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "simulator/base/quantity.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

// The regular expression of a quantity: number, then a unit of the family.
std::string quantity_pattern(Unit unit) {
  const std::string number = R"(^ *[0-9]*\.?[0-9]+([eE][-+]?[0-9]+)? *)";
  switch (unit) {
    case Unit::Bytes:
      return number + "([kMGT]i?)?B *$";
    case Unit::BytesPerSecond:
      return number + "([kMGT]i?)?[Bb]/s *$";
    case Unit::Seconds:
      return number + "(ns|us|\u00b5s|\u03bcs|ms|s|min|h) *$";
    case Unit::FlopPerSecond:
      return number + "[kMGTP]?FLOP/s *$";
    case Unit::Fraction:
      return number + "% *$";
    case Unit::SampleRate:
      return number + "(img/s|images/s|seq/s|sequences/s|samples/s|it/s|s/it|ms/it) *$";
    case Unit::None:
      break;
  }
  return number + "$";
}

Json whole_or_exact(double value) {
  if (value == static_cast<double>(static_cast<std::int64_t>(value))) return static_cast<std::int64_t>(value);
  return value;
}

Json number_schema(const FieldInfo& field, const char* type) {
  Json schema = {{"type", type}};
  if (field.low) schema[field.low_open ? "exclusiveMinimum" : "minimum"] = whole_or_exact(*field.low);
  if (field.high) schema["maximum"] = whole_or_exact(*field.high);
  return schema;
}

Json choice_schema(const FieldInfo& field) {
  Json names = Json::array();
  for (const FieldChoice& choice : field.choices) {
    if (choice.later) continue;
    if (choice.name == "true")
      names.push_back(true);
    else if (choice.name == "false")
      names.push_back(false);
    else
      names.push_back(choice.name);
  }
  return {{"enum", names}};
}

Json quantity_schema(const FieldInfo& field) {
  const Json text = {{"type", "string"}, {"pattern", quantity_pattern(field.unit)}};
  if (field.unit != Unit::Fraction) return text;
  return {{"anyOf", Json::array({text, number_schema(field, "number")})}};
}

// Whether a list may stand where one value is needed: a sweep.
enum class Lists { Refused, Sweep };

Json object_schema(const TableInfo& table, const std::string& group, const void* defaults, Lists lists);

Json rows_schema(const FieldInfo& field) {
  const Json map = object_schema(*field.row_table, "", nullptr, Lists::Refused);
  if (!field.positional) return map;
  return {{"anyOf", Json::array({map, Json{{"type", "array"}, {"maxItems", field.row_table->fields.size()}}})}};
}

Json one_value_schema(const FieldInfo& field) {
  switch (field.type) {
    case FieldType::Text:
      return {{"type", "string"}};
    case FieldType::Integer:
      return number_schema(field, "integer");
    case FieldType::Number:
      return number_schema(field, "number");
    case FieldType::Boolean:
      return {{"type", "boolean"}};
    case FieldType::Choice:
      return choice_schema(field);
    case FieldType::Quantity:
      return quantity_schema(field);
    case FieldType::Version:
      return {{"type", "string"}, {"pattern", "^[0-9]+(\\.[0-9]+)*$"}};
    case FieldType::Rows:
      return rows_schema(field);
    case FieldType::Custom:
      return field.unit == Unit::None ? Json::object() : quantity_schema(field);
    case FieldType::Later:
    case FieldType::Ignored:
      break;
  }
  return Json::object();
}

Json any_of(std::vector<Json> schemas) {
  if (schemas.size() == 1) return schemas.front();
  return {{"anyOf", schemas}};
}

// What may stand at the field's key when it is not swept.
std::vector<Json> forms_of(const FieldInfo& field) {
  const Json one = one_value_schema(field);
  std::vector<Json> forms;
  if (field.list) forms.push_back(Json{{"type", "array"}, {"items", one}});
  if (!field.list || field.one_or_many) forms.push_back(one);
  if (!field.unset_word.empty()) forms.push_back(Json{{"const", field.unset_word}});
  return forms;
}

// `forms`, or where lists sweep also a list of them.
Json with_lists(std::vector<Json> forms, Lists lists) {
  if (lists == Lists::Refused) return any_of(forms);
  Json list = {{"type", "array"}, {"minItems", 1}, {"items", any_of(forms)}};
  forms.push_back(std::move(list));
  return any_of(forms);
}

// What may stand at the field's key, without description and default.
Json value_schema(const FieldInfo& field, Lists lists) {
  // gpus, strategy: their list is the sweep.
  return with_lists(forms_of(field), field.one_or_many ? Lists::Refused : lists);
}

// The default as JSON; nothing for what has none.
std::optional<Json> default_of(const FieldInfo& field, const void* defaults) {
  if (defaults == nullptr || field.required || field.list || !field.fetch) return std::nullopt;
  if (field.shown && !field.shown(defaults)) return std::nullopt;
  const std::optional<Scalars> scalars = field.fetch(defaults);
  if (!scalars) return field.unset_word.empty() ? std::nullopt : std::optional<Json>(field.unset_word);
  const Scalar& scalar = scalars->front();
  if (const auto* text = std::get_if<std::string>(&scalar)) {
    if (text->empty()) return field.unset_word.empty() ? std::nullopt : std::optional<Json>(field.unset_word);
    return *text;
  }
  if (const auto* flag = std::get_if<bool>(&scalar)) return *flag;
  if (const auto* number = std::get_if<std::int64_t>(&scalar))
    return field.type == FieldType::Quantity ? Json(quantity_text(static_cast<double>(*number), field.unit))
                                             : Json(*number);
  const double number = std::get<double>(scalar);
  return field.type == FieldType::Quantity ? Json(quantity_text(number, field.unit)) : Json(number);
}

Json field_schema(const FieldInfo& field, const void* defaults, Lists lists) {
  Json schema = value_schema(field, lists);
  if (!field.doc.empty()) schema["description"] = field.doc;
  if (const std::optional<Json> standard = default_of(field, defaults)) schema["default"] = *standard;
  return schema;
}

bool is_live(const FieldInfo* field) {
  return field == nullptr || field->type != FieldType::Later;
}

// Dotted keys reach the same values (`nic.rate`); their names are checked here, their values by the reader.
void add_dotted_keys(Json& schema, const std::vector<std::string>& groups) {
  if (groups.empty()) return;
  schema["patternProperties"][fmt::format("^({})\\.", fmt::join(groups, "|"))] = Json::object();
}

// Where the map of a swept group stands in the whole schema.
std::string pointer_to_map(const std::string& key) {
  std::string pointer = "#";
  for (std::size_t at = 0; at < key.size();) {
    const std::size_t dot = std::min(key.find('.', at), key.size());
    pointer += "/properties/" + key.substr(at, dot - at) + "/anyOf/0";
    at = dot + 1;
  }
  return pointer;
}

Json group_schema(const TableInfo& table, const std::string& key, const void* defaults, Lists lists) {
  std::vector<Json> forms = {object_schema(table, key, defaults, lists)};
  const FieldInfo* bare = table.find(key);
  if (bare == nullptr) bare = table.shorthand_of(key);
  if (bare != nullptr && !is_live(bare)) bare = nullptr;
  if (bare != nullptr) forms.push_back(any_of(forms_of(*bare)));
  if (lists == Lists::Refused) return any_of(forms);
  // Whole maps sweep too: the map is the first form of this very group, as of every group around it.
  std::vector<Json> items = {Json{{"$ref", pointer_to_map(key)}}};
  if (bare != nullptr) items.push_back(any_of(forms_of(*bare)));
  forms.push_back(Json{{"type", "array"}, {"minItems", 1}, {"items", any_of(items)}});
  return any_of(forms);
}

bool holds_required(const TableInfo& table, const std::string& group) {
  return std::any_of(table.fields.begin(), table.fields.end(),
                     [&](const FieldInfo& field) { return field.required && field.key.rfind(group + ".", 0) == 0; });
}

// `other` is a dotted key of the same group.
Json either_required(const std::string& name, const std::string& other) {
  const std::string other_name = other.substr(other.rfind('.') + 1);
  return Json::array({{{"required", Json::array({name})}}, {{"required", Json::array({other_name})}}});
}

Json object_schema(const TableInfo& table, const std::string& group, const void* defaults, Lists lists) {
  Json schema = {{"type", "object"}, {"additionalProperties", false}};
  Json properties = Json::object(), required = Json::array();
  std::vector<std::string> groups;
  for (const std::string& name : table.children(group)) {
    const std::string key = group.empty() ? name : group + "." + name;
    const FieldInfo* field = table.find(key);
    if (!is_live(field)) continue;
    if (table.is_group(key)) {
      groups.push_back(name);
      if (holds_required(table, key)) required.push_back(name);
      properties[name] = group_schema(table, key, defaults, lists);
    } else {
      properties[name] = field_schema(*field, defaults, lists);
      if (field->required && field->required_unless.empty()) required.push_back(name);
      if (!field->required_unless.empty()) schema["anyOf"] = either_required(name, field->required_unless);
    }
  }
  schema["properties"] = properties;
  if (!required.empty()) schema["required"] = required;
  add_dotted_keys(schema, groups);
  return schema;
}

}  // namespace

std::string json_schema(const TableInfo& table, const std::string& title, const void* defaults) {
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", title}};
  schema.update(object_schema(table, "", defaults, table.sweep_message.empty() ? Lists::Refused : Lists::Sweep));
  return schema.dump(2) + "\n";
}

}  // namespace lockstep
