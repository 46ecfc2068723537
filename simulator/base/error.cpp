#include "simulator/base/error.h"

#include <fmt/format.h>

#include "simulator/base/ensure.h"

namespace lockstep {

const char* name_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::Syntax:
      return "syntax";
    case ErrorKind::UnknownKey:
      return "unknown_key";
    case ErrorKind::Type:
      return "type";
    case ErrorKind::Unit:
      return "unit";
    case ErrorKind::Range:
      return "range";
    case ErrorKind::Missing:
      return "missing";
    case ErrorKind::Conflict:
      return "conflict";
    case ErrorKind::NotSupported:
      return "not_supported";
    case ErrorKind::Io:
      return "io";
    case ErrorKind::RunFailed:
      return "run_failed";
  }
  LOCKSTEP_ENSURE(false, "error kind {}", static_cast<int>(kind));
}

std::string to_text(const Error& error) {
  std::string text = error.file;
  if (error.line > 0) text += fmt::format(":{}", error.line);
  if (error.line > 0 && error.column > 0) text += fmt::format(":{}", error.column);
  if (!text.empty()) text += ": ";
  if (!error.key.empty()) text += error.key + ": ";
  text += error.message;
  if (!error.found.empty()) text += fmt::format("; found `{}`", error.found);
  if (!error.allowed.empty()) text += "; allowed: " + error.allowed;
  // A question stands alone, anything else is a thing to try.
  if (!error.hint.empty()) text += (error.hint.back() == '?' ? "; " : "; try: ") + error.hint;
  return text;
}

}  // namespace lockstep
