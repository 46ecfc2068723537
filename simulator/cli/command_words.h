// What can be said of the words of a command line without a parser: what stands in the wrong place, the
// kinds of things that commands ask for by name.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "simulator/cli/command_tree.h"
#include "simulator/cli/options.h"

namespace lockstep {

Error on_command_line(ErrorKind kind, std::string message, std::string found = "", std::string allowed = "",
                      std::string hint = "");

// Kinds of `lockstep list` and `lockstep show`, shells of `lockstep completions`.
const std::vector<std::string>& listed_kinds();
const std::vector<std::string>& shown_kinds();
const std::vector<std::string>& known_shells();
// Nothing when `kind` is one of them, or empty.
std::optional<Error> wrong_kind(const std::string& kind, const std::vector<std::string>& allowed);

// The first word is a command, `--help`, `--version`, or wrong.
std::optional<Error> wrong_first_word(const std::vector<std::string>& words, const CommandTree& tree);

// An option that the command does not know.
Error unknown_option(const std::string& option, const std::string& command, const CommandTree& tree);
// An argument beyond those that the command takes.
Error surplus_argument(const std::string& word, const std::string& command, const CommandTree& tree);

// --seed beside --set seed=N.
std::optional<Error> seed_given_twice(const std::string& seed, const std::vector<std::string>& sets);

}  // namespace lockstep
