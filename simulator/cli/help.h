// What `--help` says beyond the options: one line and examples per command, and the commands of later versions.
#pragma once

#include <string>
#include <vector>

namespace lockstep {

struct CommandHelp {
  std::string name, summary, examples;  // examples: one command a line, indented by two spaces, comments after #
};

const std::vector<CommandHelp>& command_help();  // commands of this version
const std::vector<std::string>& commands_of_later_versions();
std::string exit_code_help();

}  // namespace lockstep
