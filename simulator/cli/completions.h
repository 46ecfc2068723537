// What may follow on a command line, for the shells: `lockstep completions SHELL` prints a short script that asks the
// program itself (`lockstep __complete WORDS`), so that no list of commands, options, keys or names grows old.
//
// `lockstep __complete WORD ...` gets the words after `lockstep`, the last one as far as it is typed (it may be empty).
// It prints a line for each candidate, the whole word, a tab, a description; last a line `:` with what else holds:
//   files     names of files may stand here too
//   folders   a folder may
//   no_space  the word goes on after a candidate
#pragma once

#include <string>
#include <vector>

#include "simulator/cli/command_tree.h"
#include "simulator/cli/output.h"

namespace lockstep {

inline constexpr const char* kCompleteCommand = "__complete";

struct Candidate {
  std::string text, description;
};

struct Completions {
  std::vector<Candidate> candidates;
  bool files = false, folders = false, no_space = false;
};

// `words`: at least one.
Completions completions_of(const std::vector<std::string>& words, const CommandTree& tree);

int run_complete(const std::vector<std::string>& words, Output& output);

// completion_scripts.cpp; `shell` is one of known_shells().
std::string completion_script(const std::string& shell);

}  // namespace lockstep
