// From the words of a command line to a command, ready to run.
#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "simulator/cli/output.h"

namespace lockstep {

struct Help {
  std::string text;  // --help, --version: goes to standard output
};
struct WrongCommandLine {
  Errors errors;
  Form form = Form::Text;  // as far as it could be read
};
// As far as it can be read from the words.
Form form_of(const std::vector<std::string>& words);
using Command = std::function<int(Output&)>;

// `words`: without the program's name.
std::variant<Command, Help, WrongCommandLine> parse_command_line(const std::vector<std::string>& words);

// parse_command_line, and the command run: the exit code.
int run_command_line(const std::vector<std::string>& words, Output& output);

}  // namespace lockstep
