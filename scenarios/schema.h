// JSON Schema (draft 2020-12) of a kind of file, from its field table, so that editors complete and check. The
// committed files lie in scenarios/schema/; a test compares them with what the tables give.
#pragma once

#include <string>

#include "simulator/base/field_info.h"

namespace lockstep {

// Where a list of values is a sweep (TableInfo::sweep_message), the schema takes one at every key, and in place of
// maps. `title` e.g. "lockstep scenario"; `defaults` is a default-constructed struct of the table. Ends in a newline.
// What a schema cannot say stays with the reader: rules over several keys, dotted keys below the top, names of presets.
std::string json_schema(const TableInfo& table, const std::string& title, const void* defaults);

template <class Table, class T>
std::string json_schema_of(const Table& table, const std::string& title, const T& defaults) {
  return json_schema(table.info(), title, &defaults);
}

}  // namespace lockstep
