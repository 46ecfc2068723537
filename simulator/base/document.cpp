#include "simulator/base/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "simulator/base/document_build.h"
#include "simulator/base/format.h"

namespace lockstep {
namespace {

Error plain_error(ErrorKind kind, std::string file, std::string message, std::string found = "",
                  std::string hint = "") {
  Error error;
  error.kind = kind;
  error.file = std::move(file);
  error.message = std::move(message);
  error.found = std::move(found);
  error.hint = std::move(hint);
  return error;
}

bool plain_character(char c) {
  const bool alphanumeric = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return alphanumeric || std::strchr("_-./+()%", c) != nullptr;
}

// Would a reader take the plain word for something else than text?
bool means_something(std::string_view text) {
  static const char* const words[] = {"~",     "null", "Null", "NULL", "true", "True", "TRUE", "false", "False",
                                      "FALSE", "yes",  "no",   "on",   "off",  "Yes",  "No",   "On",    "Off"};
  if (std::find(std::begin(words), std::end(words), text) != std::end(words)) return true;
  double number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  return code != std::errc::invalid_argument && end == text.data() + text.size();
}

std::string in_double_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      out += c;
  }
  return out + "\"";
}

std::string scalar_text(const Value& value) {
  if (value.kind == Value::Kind::Null) return "null";
  return value.quoted ? in_double_quotes(value.text) : value.text;
}

void write_block(const Value& value, int indent, std::string& out) {
  for (const Entry& entry : value.entries) {
    out.append(static_cast<std::size_t>(indent), ' ');
    out += yaml_scalar(entry.key) + ":";
    if (entry.value.kind == Value::Kind::Map && !entry.value.entries.empty()) {
      out += "\n";
      write_block(entry.value, indent + 2, out);
    } else {
      out += " " + to_flow_yaml(entry.value) + "\n";
    }
  }
}

}  // namespace

std::string to_text(const Origin& origin) {
  if (origin.from == Origin::From::Default) return "default";
  if (origin.from == Origin::From::Set) return "--set";
  return origin.line > 0 ? fmt::format("{}:{}", origin.file, origin.line) : origin.file;
}

const Value* Value::find(std::string_view key) const {
  for (const Entry& entry : entries)
    if (entry.key == key) return &entry.value;
  return nullptr;
}

std::string yaml_scalar(std::string_view text) {
  bool plain = !text.empty() && text.front() != ' ' && text.back() != ' ' && !means_something(text);
  for (const char c : text) plain = plain && (plain_character(c) || c == ' ' || c == ',' || c == '?' || c == '\'');
  // `-`, `?` and `%` start something else in YAML; a comma would end a value in flow style.
  plain = plain && std::strchr("-?%.,'", text.front()) == nullptr && text.find(',') == std::string_view::npos;
  return plain ? std::string(text) : in_double_quotes(text);
}

std::string to_flow_yaml(const Value& value) {
  std::string out;
  if (value.kind == Value::Kind::List) {
    for (const Value& item : value.items) out += (out.empty() ? "" : ", ") + to_flow_yaml(item);
    return "[" + out + "]";
  }
  if (value.kind == Value::Kind::Map) {
    for (const Entry& entry : value.entries)
      out += (out.empty() ? "" : ", ") + yaml_scalar(entry.key) + ": " + to_flow_yaml(entry.value);
    return "{" + out + "}";
  }
  return scalar_text(value);
}

std::string to_yaml(const Value& value) {
  if (value.kind != Value::Kind::Map || value.entries.empty()) return to_flow_yaml(value) + "\n";
  std::string out;
  write_block(value, 0, out);
  return out;
}

Expected<std::string> read_text_file(const std::string& path, std::size_t max_bytes) {
  const auto fail = [&](ErrorKind kind, std::string message, std::string hint = "") {
    return tl::make_unexpected(Errors{plain_error(kind, path, std::move(message), "", std::move(hint))});
  };
  std::error_code code;
  if (std::filesystem::is_directory(path, code)) return fail(ErrorKind::Io, "this is a folder, not a file");
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file) {
    const bool absent = errno == ENOENT;
    return fail(ErrorKind::Io,
                absent ? "there is no such file" : fmt::format("cannot read the file: {}", std::strerror(errno)));
  }
  std::string text;
  char block[16384];
  while (const std::size_t n = std::fread(block, 1, sizeof block, file.get())) {
    text.append(block, n);
    if (text.size() > max_bytes)
      return fail(ErrorKind::Range, fmt::format("the file is larger than {} bytes", max_bytes));
  }
  if (std::ferror(file.get())) return fail(ErrorKind::Io, "reading the file failed half-way");
  return text;
}

Expected<Document> read_document(const std::string& path, const DocumentLimits& limits) {
  const Expected<std::string> text = read_text_file(path, limits.bytes);
  if (!text) return tl::make_unexpected(text.error());
  return parse_document(*text, path, limits);
}

tl::expected<void, Errors> apply_set(Document& document, std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  const auto fail = [&](std::string message, std::string hint) {
    return tl::make_unexpected(
        Errors{plain_error(ErrorKind::Syntax, "--set", std::move(message), shortened(assignment), std::move(hint))});
  };
  if (equals == std::string_view::npos)
    return fail("--set needs a key, an equals sign and a value", "for example `--set ddp.bucket_cap=10MiB`");
  std::string key(assignment.substr(0, equals));
  while (!key.empty() && key.back() == ' ') key.pop_back();
  while (!key.empty() && key.front() == ' ') key.erase(0, 1);
  const std::vector<std::string> path = split_key(key);
  if (path.empty()) return fail("--set needs a key before the equals sign", "for example `--set batch.per_gpu=64`");
  Expected<Value> value = parse_set_value(assignment.substr(equals + 1));
  if (!value) {
    for (Error& error : value.error()) error.key = key;
    return tl::make_unexpected(value.error());
  }
  Origin origin;
  origin.from = Origin::From::Set;
  origin.file = "--set";
  Value* at = &document.root;
  for (const std::string& component : path) {
    make_map(*at);
    at = &entry_of(*at, component, origin).value;
  }
  *at = std::move(*value);
  return {};
}

}  // namespace lockstep
