// The commands with their options and arguments, as the parser knows them (options.cpp): for what looks at all of them.
#pragma once

#include <string>
#include <vector>

namespace lockstep {

struct TreeOption {
  std::string name;        // "--output"
  std::string short_name;  // "-o", or empty
  std::string value;       // "FILE", "KEY=VALUE", ...; empty: a flag
  std::string description;
  bool repeatable = false;
};

struct TreeArgument {
  std::string name;  // "FILE", "KIND", ...
  bool repeatable = false;
};

struct TreeCommand {
  std::string name, summary;
  std::vector<TreeOption> options;
  std::vector<TreeArgument> arguments;

  const TreeOption* find(const std::string& option) const;  // by either name
};

struct CommandTree {
  std::vector<TreeOption> options;  // before any command
  std::vector<TreeCommand> commands;

  const TreeCommand* find(const std::string& command) const;
};

// options.cpp
const CommandTree& command_tree();

}  // namespace lockstep
