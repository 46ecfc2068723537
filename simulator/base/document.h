// A YAML (or JSON) text as a tree whose every value knows its text, whether it was quoted, and where it came from.
// Built from yaml-cpp's events, because its Node takes duplicate keys silently and reads `010` as 8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/base/error.h"

namespace lockstep {

struct Origin {
  enum class From { Default, File, Set };
  From from = From::Default;
  std::string file;  // file name; "--set" for Set
  int line = 0;      // 1-based; 0 when unknown, always 0 for Set and Default
  int column = 0;    // 1-based, bytes
};
// "x.yaml:3", "--set" or "default".
std::string to_text(const Origin& origin);

struct Entry;

struct Value {
  enum class Kind { Null, Scalar, List, Map };
  Kind kind = Kind::Null;
  std::string text;     // Scalar: unescaped text. Null: as written ("", "~", "null")
  bool quoted = false;  // Scalar in quotes, or a `|` or `>` block
  Origin origin;
  std::vector<Value> items;    // List
  std::vector<Entry> entries;  // Map, in file order

  const Value* find(std::string_view key) const;  // Map: the entry's value; nullptr when absent or not a map
};

// `key` is empty for a value that stood where a map was needed and was then extended from below
// (`topology: X` and `--set topology.fabric=Y`): the field table knows which key that value is short for.
struct Entry {
  std::string key;
  Origin origin;  // of the key
  Value value;
  bool dotted = false;  // made by a dotted key: a second entry of this name extends it
};

struct Document {
  std::string file;
  Value root;  // a map; a list or scalar at the root is an error of the reader
  Errors
      problems;  // what was wrong but left the rest readable: duplicate keys, aliases. FieldTable::read reports them.
};

struct DocumentLimits {
  std::size_t bytes = std::size_t{8} << 20;
  int depth = 32;
  std::size_t values = 400'000;
};

// Errors: Syntax with place (bad YAML, bad UTF-8, NUL and control bytes, no or several documents, too deep, too large).
// A dotted key in a map is the nested one: `{a.b: 1, a: {c: 2}}` is `{a: {b: 1, c: 2}}`; the same key twice is a
// problem.
Expected<Document> parse_document(std::string_view text, std::string file, const DocumentLimits& limits = {});

// The file's bytes. Errors: Io (missing, a folder, unreadable), Range (larger than `max_bytes`).
Expected<std::string> read_text_file(const std::string& path, std::size_t max_bytes = std::size_t{8} << 20);
// read_text_file and parse_document.
Expected<Document> read_document(const std::string& path, const DocumentLimits& limits = {});

// One `--set` argument, `a.b=value` with a YAML value; later ones win. Replaces what stood there.
tl::expected<void, Errors> apply_set(Document& document, std::string_view assignment);

// Text as a YAML scalar: in double quotes where a plain one would read as something else.
std::string yaml_scalar(std::string_view text);
// One line in flow style: `{a: 1, b: [x, y]}`; quoted scalars stay quoted.
std::string to_flow_yaml(const Value& value);
// Block style, for a whole document.
std::string to_yaml(const Value& value);

}  // namespace lockstep
