#include <fmt/format.h>

#include <algorithm>

#include "simulator/base/field_info.h"
#include "simulator/base/field_value.h"

namespace lockstep {
namespace {

std::string rows_yaml(const FieldInfo& field, const void* source);

// The value in flow style; nothing when there is none to show.
std::optional<std::string> field_yaml(const FieldInfo& field, const void* source) {
  if (field.type == FieldType::Later || field.type == FieldType::Ignored) return std::nullopt;
  if (field.shown && !field.shown(source)) return std::nullopt;
  if (field.type == FieldType::Custom) return field.print_custom(source);
  if (field.type == FieldType::Rows) return rows_yaml(field, source);
  const std::optional<Scalars> scalars = field.fetch(source);
  const auto* only_text = scalars && !field.list ? std::get_if<std::string>(&scalars->front()) : nullptr;
  const bool no_items = scalars && field.list && scalars->empty() && !field.unset_word.empty();
  const bool unset = !scalars || no_items || (!field.unset_word.empty() && only_text != nullptr && only_text->empty());
  if (unset) return field.unset_word.empty() ? std::nullopt : std::optional<std::string>(field.unset_word);
  if (!field.list) return scalar_yaml(field, scalars->front());
  std::vector<std::string> items;
  for (const Scalar& scalar : *scalars) items.push_back(scalar_yaml(field, scalar));
  return fmt::format("[{}]", fmt::join(items, ", "));
}

std::string rows_yaml(const FieldInfo& field, const void* source) {
  std::vector<std::string> rows;
  for (const void* row : field.fetch_rows(source)) {
    std::vector<std::string> parts;
    for (const FieldInfo& inner : field.row_table->fields) {
      const std::optional<std::string> text = field_yaml(inner, row);
      if (!text) continue;
      parts.push_back(field.positional ? *text : fmt::format("{}: {}", inner.key, *text));
    }
    rows.push_back(fmt::format(fmt::runtime(field.positional ? "[{}]" : "{{{}}}"), fmt::join(parts, ", ")));
  }
  return fmt::format("[{}]", fmt::join(rows, ", "));
}

// Keys of one group side by side again, whatever the order of the table.
struct Branch {
  std::string key;
  const ResolvedField* field = nullptr;
  std::vector<Branch> children;
};

void grow(Branch& root, const ResolvedField& field) {
  Branch* at = &root;
  std::size_t begin = 0;
  while (begin <= field.key.size()) {
    const std::size_t dot = std::min(field.key.find('.', begin), field.key.size());
    const std::string part = field.key.substr(begin, dot - begin);
    auto child = std::find_if(at->children.begin(), at->children.end(), [&](const Branch& b) { return b.key == part; });
    if (child == at->children.end()) child = at->children.insert(child, Branch{part, nullptr, {}});
    at = &*child;
    begin = dot + 1;
  }
  at->field = &field;
}

void write(const Branch& branch, int indent, std::string& out) {
  constexpr std::size_t kCommentColumn = 48;
  for (const Branch& child : branch.children) {
    std::string line(static_cast<std::size_t>(indent), ' ');
    line += child.key + ":";
    if (child.field != nullptr) {
      line += " " + child.field->yaml;
      line.append(line.size() < kCommentColumn ? kCommentColumn - line.size() : 2, ' ');
      line += "# " + to_text(child.field->origin);
    }
    out += line + "\n";
    write(child, indent + 2, out);
  }
}

std::string escaped(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, 1, '\\');
  return text;
}

}  // namespace

std::vector<ResolvedField> resolved_fields(const TableInfo& table, const void* source, const Reading& reading) {
  std::vector<ResolvedField> all;
  for (const FieldInfo& field : table.fields) {
    std::optional<std::string> text = field_yaml(field, source);
    if (!text) continue;
    ResolvedField resolved;
    resolved.key = field.key;
    resolved.yaml = std::move(*text);
    if (const auto at = reading.origins.find(field.key); at != reading.origins.end()) resolved.origin = at->second;
    all.push_back(std::move(resolved));
  }
  return all;
}

std::string resolved_yaml(const std::vector<ResolvedField>& fields) {
  Branch root;
  for (const ResolvedField& field : fields) grow(root, field);
  std::string out;
  write(root, 0, out);
  return out;
}

namespace {

std::string required_text(const FieldInfo& field) {
  return field.required_unless.empty() ? "required" : fmt::format("required, or `{}`", field.required_unless);
}

}  // namespace

std::string keys_markdown(const TableInfo& table, const void* defaults) {
  std::string out = "| key | what may stand there | default | meaning |\n|---|---|---|---|\n";
  for (const FieldInfo& field : table.fields) {
    std::string allowed = allowed_text(field);
    std::vector<std::string> later;
    for (const FieldChoice& choice : field.choices)
      if (choice.later) later.push_back(choice.name);
    if (!later.empty()) allowed += fmt::format(" (later: {})", fmt::join(later, ", "));
    const std::string standard = field.required ? required_text(field) : field_yaml(field, defaults).value_or("");
    const std::string quoted = field.required || standard.empty() ? standard : "`" + standard + "`";
    out += fmt::format("| `{}` | {} | {} | {} |\n", field.key, escaped(allowed), escaped(quoted), escaped(field.doc));
    if (field.row_table == nullptr) continue;
    for (const FieldInfo& inner : field.row_table->fields)
      out += fmt::format("| `{}[].{}` | {} | {} | {} |\n", field.key, inner.key, escaped(allowed_text(inner)),
                         inner.required ? "required" : "", escaped(inner.doc));
  }
  return out;
}

}  // namespace lockstep
