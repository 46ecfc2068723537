#include <fmt/format.h>

#include <algorithm>

#include "simulator/cli/commands.h"

namespace lockstep {
namespace {

Error on_command_line(ErrorKind kind, std::string found, std::string message, std::string hint) {
  Error error;
  error.kind = kind;
  error.file = "command line";
  error.found = std::move(found);
  error.message = std::move(message);
  error.hint = std::move(hint);
  return error;
}

}  // namespace

int run_validate(const ValidateArguments& arguments, Output& output) {
  Errors errors;
  for (const std::string& what : arguments.what)
    errors.push_back(on_command_line(ErrorKind::NotSupported, what,
                                     fmt::format("`lockstep validate {}` comes with a later version", what), ""));
  return report_errors(errors, arguments.common.form, output);
}

}  // namespace lockstep
