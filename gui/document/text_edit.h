// One key of a scenario file changed in its text: everything else, comments and layout included, stays as it is.
#pragma once

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

}  // namespace lockstep::gui
