// One key of a scenario file changed in its text: everything else, comments and layout included, stays as it is.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "simulator/base/error.h"
#include "simulator/base/field_info.h"

namespace lockstep::gui {

struct EditedText {
  std::string text;
  bool comments_kept = true;  // false: the file was so unusual that it had to be written anew
};

// `text` with `key` (dotted) at `yaml`, a YAML value as --set takes it. Read again, the text is the same document as
// with `--set key=yaml`; `table` says which key a plain value is short for (`topology: X` becomes `{node: X, ...}`).
// Errors: Syntax when `text` or `yaml` cannot be read.
Expected<EditedText> set_in_text(const std::string& text, std::string_view key, std::string_view yaml,
                                 const TableInfo& table);

// Every key that the text gives, with its value in flow style as it was written, right or wrong; nothing where the text
// is no YAML map. Nested, dotted and short forms have the key of the table.
std::optional<std::map<std::string, std::string>> written_values(const std::string& text, const TableInfo& table);

}  // namespace lockstep::gui
