#include "simulator/base/document_build.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "simulator/base/format.h"

namespace lockstep {
namespace {

void report_twice(const Origin& again, const Origin& first, const std::string& key, Errors& problems) {
  Error error;
  error.kind = ErrorKind::Conflict;
  error.file = again.file;
  error.line = again.line;
  error.column = again.column;
  error.key = key;
  error.message = first.line > 0 ? fmt::format("the key is given twice, first in line {}", first.line)
                                 : std::string("the key is given twice");
  error.hint = "delete one of the two";
  problems.push_back(std::move(error));
}

void merge_entry(Value& map, Entry entry, const std::string& path, Errors& problems) {
  const auto same = [&](const Entry& e) { return e.key == entry.key; };
  const auto found = std::find_if(map.entries.begin(), map.entries.end(), same);
  if (found == map.entries.end()) {
    map.entries.push_back(std::move(entry));
    return;
  }
  const std::string here = path + entry.key;
  if (!found->dotted && !entry.dotted) {
    report_twice(entry.origin, found->origin, here, problems);
    return;
  }
  make_map(found->value);
  make_map(entry.value);
  found->dotted = found->dotted && entry.dotted;
  for (Entry& child : entry.value.entries) merge_entry(found->value, std::move(child), here + ".", problems);
}

}  // namespace

std::vector<std::string> split_key(std::string_view key) {
  constexpr std::size_t kMaxParts = 16;
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (true) {
    const std::size_t dot = key.find('.', begin);
    const std::string_view part = key.substr(begin, dot == std::string_view::npos ? dot : dot - begin);
    if (part.empty() || parts.size() == kMaxParts) return {};
    parts.emplace_back(part);
    if (dot == std::string_view::npos) return parts;
    begin = dot + 1;
  }
}

void make_map(Value& value) {
  if (value.kind == Value::Kind::Map) return;
  Value map;
  map.kind = Value::Kind::Map;
  map.origin = value.origin;
  if (value.kind != Value::Kind::Null) {
    Entry inner;
    inner.origin = value.origin;
    inner.value = std::move(value);
    map.entries.push_back(std::move(inner));
  }
  value = std::move(map);
}

Entry& entry_of(Value& map, const std::string& key, const Origin& origin) {
  for (Entry& entry : map.entries)
    if (entry.key == key) return entry;
  Entry entry;
  entry.key = key;
  entry.origin = origin;
  entry.value.origin = origin;
  map.entries.push_back(std::move(entry));
  return map.entries.back();
}

void insert_entry(Value& map, const std::string& key, const Origin& origin, Value value, Errors& problems) {
  const std::vector<std::string> parts = split_key(key);
  if (parts.empty()) {
    Error error;
    error.kind = ErrorKind::Syntax;
    error.file = origin.file;
    error.line = origin.line;
    error.column = origin.column;
    error.found = shortened(key);
    error.message = key.empty() ? "a key is empty" : "a dotted key has an empty part, or too many";
    problems.push_back(std::move(error));
    return;
  }
  Entry entry;
  entry.origin = origin;
  entry.value = std::move(value);
  for (std::size_t i = parts.size(); i-- > 1;) {
    entry.key = parts[i];
    Value outer;
    outer.kind = Value::Kind::Map;
    outer.origin = origin;
    outer.entries.push_back(std::move(entry));
    entry = Entry{};
    entry.origin = origin;
    entry.value = std::move(outer);
    entry.dotted = true;
  }
  entry.key = parts.front();
  merge_entry(map, std::move(entry), "", problems);
}

}  // namespace lockstep
