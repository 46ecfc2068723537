#include "simulator/cli/command_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "simulator/base/nearest.h"
#include "simulator/cli/help.h"

namespace lockstep {
namespace {

bool contains(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// `--set=gpus=8` -> `--set`
std::string option_name(const std::string& word) {
  return word.substr(0, word.find('='));
}

std::vector<std::string> names_of(const std::vector<TreeOption>& options) {
  std::vector<std::string> names;
  for (const TreeOption& one : options) names.push_back(one.name);
  return names;
}

std::vector<std::string> names_anywhere(const CommandTree& tree) {
  std::vector<std::string> names = names_of(tree.options);
  for (const TreeCommand& one : tree.commands)
    for (const TreeOption& option : one.options)
      if (!contains(names, option.name)) names.push_back(option.name);
  return names;
}

std::vector<std::string> commands_with(const std::string& option, const CommandTree& tree) {
  std::vector<std::string> names;
  for (const TreeCommand& one : tree.commands)
    if (one.find(option) != nullptr) names.push_back(one.name);
  return names;
}

Error option_before_command(const std::vector<std::string>& words, const CommandTree& tree) {
  const std::string option = option_name(words.front());
  const auto known = commands_with(option, tree);
  if (known.empty())
    return on_command_line(ErrorKind::UnknownKey, fmt::format("there is no option `{}`", option), option, "",
                           did_you_mean(option, names_anywhere(tree)));
  // The command that follows somewhere, put in front.
  std::string line = "lockstep " + known.front();
  for (std::size_t i = 1; i < words.size(); ++i)
    if (tree.find(words[i]) != nullptr) {
      line = "lockstep " + words[i];
      for (std::size_t j = i + 1; j < words.size(); ++j) line += ' ' + words[j];
      for (std::size_t j = 0; j < i; ++j) line += ' ' + words[j];
      return on_command_line(ErrorKind::Syntax, fmt::format("`{}` stands before the command", option), "", "", line);
    }
  return on_command_line(ErrorKind::Missing, fmt::format("a command is missing before `{}`", option), "",
                         fmt::format("{}", fmt::join(known, ", ")), "lockstep --help");
}

}  // namespace

const TreeOption* TreeCommand::find(const std::string& option) const {
  for (const TreeOption& one : options)
    if (one.name == option || (!option.empty() && one.short_name == option)) return &one;
  return nullptr;
}

const TreeCommand* CommandTree::find(const std::string& command) const {
  for (const TreeCommand& one : commands)
    if (one.name == command) return &one;
  return nullptr;
}

Error on_command_line(ErrorKind kind, std::string message, std::string found, std::string allowed, std::string hint) {
  Error error;
  error.kind = kind;
  error.file = "command line";
  error.found = std::move(found);
  error.allowed = std::move(allowed);
  error.hint = std::move(hint);
  error.message = std::move(message);
  return error;
}

Form form_of(const std::vector<std::string>& words) {
  if (contains(words, "--json")) return Form::Json;
  if (contains(words, "--jsonl")) return Form::JsonLines;
  return contains(words, "--csv") ? Form::Csv : Form::Text;
}

const std::vector<std::string>& listed_kinds() {
  static const std::vector<std::string> kinds = {"models", "topologies", "fabrics", "gpus", "scenarios"};
  return kinds;
}
const std::vector<std::string>& shown_kinds() {
  static const std::vector<std::string> kinds = {"scenario", "model", "topology", "fabric", "gpu"};
  return kinds;
}
const std::vector<std::string>& known_shells() {
  static const std::vector<std::string> shells = {"bash", "zsh", "fish"};
  return shells;
}

std::optional<Error> wrong_kind(const std::string& kind, const std::vector<std::string>& allowed) {
  if (kind.empty() || contains(allowed, kind)) return std::nullopt;
  return on_command_line(ErrorKind::Range, fmt::format("there is no kind `{}`", kind), kind,
                         fmt::format("{}", fmt::join(allowed, ", ")), did_you_mean(kind, allowed));
}

std::optional<Error> wrong_first_word(const std::vector<std::string>& words, const CommandTree& tree) {
  const std::string& word = words.front();
  if (word.rfind('-', 0) == 0) {
    const bool global = std::any_of(tree.options.begin(), tree.options.end(),
                                    [&](const TreeOption& one) { return word == one.name || word == one.short_name; });
    if (global) return std::nullopt;
    return option_before_command(words, tree);
  }
  if (tree.find(word) != nullptr) return std::nullopt;
  std::vector<std::string> names;
  for (const TreeCommand& one : tree.commands) names.push_back(one.name);
  names.insert(names.end(), commands_of_later_versions().begin(), commands_of_later_versions().end());
  const std::string hint = did_you_mean(word, names);
  return on_command_line(ErrorKind::UnknownKey, fmt::format("there is no command `{}`", word), word, "",
                         hint.empty() ? "lockstep --help" : hint);
}

Error unknown_option(const std::string& word, const std::string& command, const CommandTree& tree) {
  const std::string option = option_name(word);
  const TreeCommand* here = tree.find(command);
  const std::string near = here == nullptr ? "" : did_you_mean(option, names_of(here->options));
  const auto elsewhere = commands_with(option, tree);
  if (!elsewhere.empty())
    return on_command_line(ErrorKind::UnknownKey,
                           fmt::format("`{}` means nothing to `lockstep {}`: it is an option of {}", option, command,
                                       fmt::join(elsewhere, ", ")),
                           option, "", "leave it out");
  return on_command_line(ErrorKind::UnknownKey, fmt::format("there is no option `{}`", option), option, "",
                         near.empty() && here != nullptr ? fmt::format("lockstep {} --help", command) : near);
}

Error surplus_argument(const std::string& word, const std::string& command, const CommandTree& tree) {
  std::vector<std::string> several;
  for (const TreeCommand& one : tree.commands)
    if (one.arguments.size() == 1 && one.arguments.front().name == "FILE" && one.arguments.front().repeatable)
      several.push_back(one.name);
  const TreeCommand* here = tree.find(command);
  const bool one_file = here != nullptr && here->arguments.size() == 1 && here->arguments.front().name == "FILE";
  return on_command_line(
      ErrorKind::UnknownKey, fmt::format("there is one argument too many: `{}`", word), word, "",
      one_file ? fmt::format("one command for each scenario (only {} take several)", fmt::join(several, " and ")) : "");
}

std::optional<Error> seed_given_twice(const std::string& seed, const std::vector<std::string>& sets) {
  if (seed.empty()) return std::nullopt;
  for (const std::string& set : sets)
    if (set.rfind("seed=", 0) == 0)
      return on_command_line(ErrorKind::Conflict, "--seed and `--set seed` exclude each other",
                             fmt::format("--seed {}, --set {}", seed, set), "", "give one of them");
  return std::nullopt;
}

}  // namespace lockstep
