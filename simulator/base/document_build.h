// Inside base: pieces of a Document shared by its parser and by --set.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "simulator/base/document.h"

namespace lockstep {

// "a.b" -> {a, b}; empty when a component is empty or there are more than 16.
std::vector<std::string> split_key(std::string_view key);
// Makes a map of a value that something is to be put into: a scalar or list stays under the empty key.
void make_map(Value& value);
// The entry of that name, made when there is none.
Entry& entry_of(Value& map, const std::string& key, const Origin& origin);
// Puts `value` under a possibly dotted key. Errors go to `problems`.
void insert_entry(Value& map, const std::string& key, const Origin& origin, Value value, Errors& problems);
// The right side of --set: a YAML value whose origins are --set.
Expected<Value> parse_set_value(std::string_view text);

}  // namespace lockstep
