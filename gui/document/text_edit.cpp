#include "gui/document/text_edit.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "simulator/base/document.h"
#include "simulator/base/document_build.h"

namespace lockstep::gui {
namespace {

using Span = std::pair<std::size_t, std::size_t>;  // [begin, end) of a text

std::optional<std::size_t> offset_of(std::string_view text, const Origin& origin) {
  if (origin.from != Origin::From::File || origin.line < 1) return std::nullopt;
  std::size_t at = 0;
  for (int line = 1; line < origin.line; ++line) {
    at = text.find('\n', at);
    if (at == std::string_view::npos) return std::nullopt;
    ++at;
  }
  at += static_cast<std::size_t>(origin.column - 1);
  return at <= text.size() ? std::optional(at) : std::nullopt;
}

bool ends_plain(std::string_view text, std::size_t at, bool in_flow) {
  const char c = text[at];
  if (c == '\n') return true;
  if (c == '#') return at > 0 && (text[at - 1] == ' ' || text[at - 1] == '\t');
  return in_flow && (c == ',' || c == '}' || c == ']');
}

std::size_t end_of_quotes(std::string_view text, std::size_t at) {
  const char quote = text[at];
  for (++at; at < text.size(); ++at) {
    if (quote == '"' && text[at] == '\\') {
      ++at;
    } else if (text[at] == quote) {
      if (quote == '\'' && at + 1 < text.size() && text[at + 1] == '\'')
        ++at;
      else
        return at + 1;
    }
  }
  return at;
}

// The end of a flow list or map that begins at `at`.
std::size_t end_of_brackets(std::string_view text, std::size_t at) {
  int depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"' || c == '\'') {
      at = end_of_quotes(text, at);
      continue;
    }
    if (c == '#' && at > 0 && (text[at - 1] == ' ' || text[at - 1] == '\n')) {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    depth += c == '[' || c == '{' ? 1 : 0;
    depth -= c == ']' || c == '}' ? 1 : 0;
    ++at;
    if (depth == 0) break;
  }
  return at;
}

// Where the source of a scalar, or of a list or map in flow style, stands; nothing for block style.
std::optional<Span> source_of(std::string_view text, const Value& value, bool in_flow) {
  const auto begin = offset_of(text, value.origin);
  if (!begin || *begin >= text.size()) return std::nullopt;
  const char first = text[*begin];
  if (value.kind == Value::Kind::List || value.kind == Value::Kind::Map) {
    if (first != '[' && first != '{') return std::nullopt;
    return Span{*begin, end_of_brackets(text, *begin)};
  }
  if (first == '"' || first == '\'') return Span{*begin, end_of_quotes(text, *begin)};
  if (first == '|' || first == '>' || first == '&' || first == '!' || first == '*') return std::nullopt;
  std::size_t end = *begin;
  while (end < text.size() && !ends_plain(text, end, in_flow)) ++end;
  while (end > *begin && (text[end - 1] == ' ' || text[end - 1] == '\t' || text[end - 1] == '\r')) --end;
  if (end == *begin) return std::nullopt;
  return Span{*begin, end};
}

std::string replaced(const std::string& text, const Span& span, const std::string& by) {
  return text.substr(0, span.first) + by + text.substr(span.second);
}

// A new line that holds `line`, after all that stands in the text.
std::string appended(const std::string& text, const std::string& line) {
  std::string out = text;
  if (!out.empty() && out.back() != '\n') out += '\n';
  return out + line + '\n';
}

bool is_flow(std::string_view text, const Value& value) {
  const auto at = offset_of(text, value.origin);
  return value.kind == Value::Kind::Map && at && *at < text.size() && text[*at] == '{';
}

// Gives values that stand for their first key (`topology: X` under `--set topology.fabric=Y`) that key.
void name_short_forms(Value& value, const TableInfo& table, const std::string& prefix) {
  auto& entries = value.entries;
  for (std::size_t i = 0; i < entries.size();) {
    if (entries[i].key.empty()) {
      const FieldInfo* field = table.shorthand_of(prefix);
      const std::string name = field == nullptr ? "" : field->key.substr(prefix.size() + 1);
      if (name.empty() || value.find(name) != nullptr) {
        entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(i));  // what was set stands there
        continue;
      }
      entries[i].key = name;
    }
    name_short_forms(entries[i].value, table, prefix.empty() ? entries[i].key : prefix + '.' + entries[i].key);
    ++i;
  }
}

// All values of a document by the key that the reader gives them: nested, dotted and short forms are the same.
void collect(const Value& value, const TableInfo& table, const std::string& prefix,
             std::map<std::string, std::string>& into) {
  if (value.kind == Value::Kind::Map) {
    for (const Entry& entry : value.entries)
      collect(entry.value, table, prefix.empty() ? entry.key : prefix + '.' + entry.key, into);
    return;
  }
  const FieldInfo* field = table.is_group(prefix) ? table.shorthand_of(prefix) : nullptr;
  into[field == nullptr ? prefix : field->key] = to_flow_yaml(value);
}

std::map<std::string, std::string> values_by_key(Value root, const TableInfo& table) {
  name_short_forms(root, table, "");
  std::map<std::string, std::string> values;
  collect(root, table, "", values);
  return values;
}

class Editor {
 public:
  Editor(const std::string& text, const Document& document, std::string_view key, std::string yaml,
         const TableInfo& table)
      : text_(text), document_(document), parts_(split_key(key)), yaml_(std::move(yaml)), table_(table) {}

  // The simplest change first; whoever calls checks what came out.
  std::optional<std::string> edited() {
    const Value* at = &document_.root;
    std::string path;
    bool in_flow = is_flow(text_, *at);
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const Value* next = at->find(parts_[i]);
      if (next == nullptr) return added(*at, path, i, in_flow);
      path += (path.empty() ? "" : ".") + parts_[i];
      in_flow = in_flow || is_flow(text_, *at);
      at = next;
      const bool last = i + 1 == parts_.size();
      if (!last && at->kind != Value::Kind::Map) return expanded(*at, path, i + 1, in_flow);
    }
    const auto span = source_of(text_, *at, in_flow);
    if (!span) return std::nullopt;
    return replaced(text_, *span, yaml_);
  }

 private:
  std::string rest(std::size_t from) const {
    std::string key;
    for (std::size_t i = from; i < parts_.size(); ++i) key += (key.empty() ? "" : ".") + parts_[i];
    return key;
  }
  // `key: value`, nested in flow style.
  std::string nested(std::size_t from) const {
    std::string out = yaml_;
    for (std::size_t i = parts_.size(); i-- > from;)
      out = i == from ? parts_[i] + ": " + out : "{" + parts_[i] + ": " + out + "}";
    return out;
  }

  // The map at `path` has no entry `parts_[i]`.
  std::optional<std::string> added(const Value& map, const std::string& path, std::size_t i, bool in_flow) const {
    if (path.empty() && !in_flow) return appended(text_, nested(0));
    if (is_flow(text_, map)) {
      const auto span = source_of(text_, map, true);
      if (!span || text_[span->second - 1] != '}') return std::nullopt;
      std::size_t end = span->second - 1;
      while (end > span->first + 1 && (text_[end - 1] == ' ' || text_[end - 1] == '\n')) --end;
      const std::string comma = map.entries.empty() ? "" : text_[end - 1] == ',' ? " " : ", ";
      return text_.substr(0, end) + comma + nested(i) + text_.substr(end);
    }
    return into_block(map, i);
  }

  // Behind the last line of the first entry, indented as that is.
  std::optional<std::string> into_block(const Value& map, std::size_t i) const {
    if (map.entries.empty() || map.entries.front().dotted) return std::nullopt;
    const Origin& first = map.entries.front().origin;
    const auto begin = offset_of(text_, first);
    if (!begin) return std::nullopt;
    const std::size_t line = *begin - static_cast<std::size_t>(first.column - 1);
    if (text_.find_first_not_of(' ', line) != *begin) return std::nullopt;
    const std::string indent(static_cast<std::size_t>(first.column - 1), ' ');
    return text_.substr(0, line) + indent + nested(i) + '\n' + text_.substr(line);
  }

  // A plain value where a map is needed: `topology: X` becomes `topology: {node: X, fabric: Y}`.
  std::optional<std::string> expanded(const Value& value, const std::string& group, std::size_t i, bool in_flow) const {
    const auto span = source_of(text_, value, in_flow);
    const FieldInfo* field = table_.shorthand_of(group);
    if (!span || field == nullptr) return std::nullopt;
    const std::string inner = field->key.substr(group.size() + 1);
    const std::string old = text_.substr(span->first, span->second - span->first);
    if (inner == rest(i)) return replaced(text_, *span, yaml_);
    if (rest(i).rfind(inner + ".", 0) == 0) return std::nullopt;
    return replaced(text_, *span, fmt::format("{{{}: {}, {}}}", inner, old, nested(i)));
  }

  const std::string& text_;
  const Document& document_;
  std::vector<std::string> parts_;
  std::string yaml_;
  const TableInfo& table_;
};

}  // namespace

std::optional<std::map<std::string, std::string>> written_values(const std::string& text, const TableInfo& table) {
  auto document = parse_document(text, "scenario");
  if (!document || document->root.kind != Value::Kind::Map) return std::nullopt;
  return values_by_key(std::move(document->root), table);
}

Expected<EditedText> set_in_text(const std::string& text, std::string_view key, std::string_view yaml,
                                 const TableInfo& table) {
  auto document = parse_document(text, "scenario");
  if (!document) return tl::unexpected(std::move(document.error()));
  Document wanted = *document;
  if (auto applied = apply_set(wanted, fmt::format("{}={}", key, yaml)); !applied)
    return tl::unexpected(std::move(applied.error()));
  name_short_forms(wanted.root, table, "");
  const auto values = values_by_key(wanted.root, table);
  if (const auto edited = Editor(text, *document, key, std::string(yaml), table).edited()) {
    const auto again = parse_document(*edited, "scenario");
    if (again && again->problems.size() == document->problems.size() && values_by_key(again->root, table) == values)
      return EditedText{*edited, true};
  }
  return EditedText{to_yaml(wanted.root), false};
}

}  // namespace lockstep::gui
