// What is wrong with an input, as a value that any caller can show: command line, window, JSON.
// A broken invariant of our own is not an Error: it stops the program with LOCKSTEP_ENSURE (base/ensure.h).
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace lockstep {

enum class ErrorKind { Syntax, UnknownKey, Type, Unit, Range, Missing, Conflict, NotSupported, Io, RunFailed };

// The name used in JSON: syntax, unknown_key, type, unit, range, missing, conflict, not_supported, io, run_failed.
const char* name_of(ErrorKind kind);

struct Error {
  ErrorKind kind = ErrorKind::Syntax;
  std::string file;     // file name, "--set", or "command line"; empty when there is none
  int line = 0;         // 1-based; 0 when unknown
  int column = 0;       // 1-based, in bytes; 0 when unknown
  std::string key;      // dotted key, e.g. "ddp.bucket_cap"
  std::string found;    // the offending text, as written
  std::string allowed;  // what may stand there
  std::string hint;     // one thing to try
  std::string message;  // one sentence that is readable alone, without place, allowed and hint
};

using Errors = std::vector<Error>;

template <class T>
using Expected = tl::expected<T, Errors>;

// "file:line:column: key: message; found `x`; allowed: ...; try: ..." on one line, parts that are empty left out.
std::string to_text(const Error& error);

}  // namespace lockstep
