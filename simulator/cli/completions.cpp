#include "simulator/cli/completions.h"

#include <algorithm>
#include <ostream>

#include "models/zoo/zoo.h"
#include "scenarios/fields.h"
#include "simulator/answers/solve.h"
#include "simulator/cli/command_words.h"
#include "simulator/cli/commands.h"
#include "simulator/cli/files.h"
#include "topologies/presets.h"

namespace lockstep {
namespace {

bool starts_with(const std::string& text, const std::string& prefix) {
  return text.compare(0, prefix.size(), prefix) == 0;
}

// Numbers, of which `lockstep solve` can look for one.
bool has_numbers(const FieldInfo& field) {
  const bool number =
      field.type == FieldType::Integer || field.type == FieldType::Number || field.type == FieldType::Quantity;
  return number && (!field.list || field.one_or_many);
}

class Completer {
 public:
  Completer(const std::vector<std::string>& words, const CommandTree& tree)
      : words_(words), tree_(tree), typed_(words.back()) {}

  Completions run() {
    if (words_.size() == 1)
      first_word();
    else if (const TreeCommand* command = tree_.find(words_.front()))
      of_command(*command);
    return std::move(out_);
  }

 private:
  // Offers one more, if it goes on from what is typed.
  void offer(const std::string& text, const std::string& description) {
    if (starts_with(text, typed_)) out_.candidates.push_back({before_ + text, description});
  }
  void offer_all(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) offer(text, "");
  }

  void first_word() {
    for (const TreeCommand& command : tree_.commands) offer(command.name, command.summary);
    if (starts_with(typed_, "-")) options(tree_.options, {});
  }

  void of_command(const TreeCommand& command) {
    // What stands before: arguments, options that are given, the option whose value comes now.
    std::vector<std::string> arguments, given;
    const TreeOption* open = nullptr;
    bool options_over = false;
    for (std::size_t i = 1; i + 1 < words_.size(); ++i) {
      const std::string& word = words_[i];
      if (open != nullptr) {
        open = nullptr;
      } else if (!options_over && word == "--") {
        options_over = true;
      } else if (!options_over && word.size() > 1 && word.front() == '-') {
        const TreeOption* option = command.find(word.substr(0, word.find('=')));
        if (option == nullptr) continue;
        given.push_back(option->name);
        if (!option->value.empty() && word.find('=') == std::string::npos) open = option;
      } else {
        arguments.push_back(word);
      }
    }
    const std::size_t equals = typed_.find('=');
    if (open != nullptr) {
      value(open->value);
    } else if (!options_over && starts_with(typed_, "--") && equals != std::string::npos) {
      const TreeOption* option = command.find(typed_.substr(0, equals));
      if (option == nullptr || option->value.empty()) return;
      before_ = typed_.substr(0, equals + 1);
      typed_ = typed_.substr(equals + 1);
      value(option->value);
    } else if (!options_over && starts_with(typed_, "-")) {
      options(command.options, given);
    } else {
      argument(command, arguments);
    }
  }

  void options(const std::vector<TreeOption>& all, const std::vector<std::string>& given) {
    for (const TreeOption& option : all) {
      if (!option.repeatable && std::find(given.begin(), given.end(), option.name) != given.end()) continue;
      offer(option.name, option.description);
      if (!option.short_name.empty() && typed_ == option.short_name) offer(option.short_name, option.description);
    }
  }

  void value(const std::string& kind) {
    out_.files = kind == "FILE";
    out_.folders = kind == "DIR";
    if (kind == "KEY=VALUE")
      setting();
    else if (kind == "KEY")
      for (const FieldInfo& field : scenario_fields().info().fields) {
        if (has_numbers(field)) offer(field.key, field.doc);
      }
    else if (kind.rfind("BACKEND", 0) == 0)
      offer_all({"gloo", "nccl"});
    else if (kind == "GOAL=VALUE")
      for (const Goal goal : {Goal::StepTime, Goal::Throughput, Goal::Efficiency}) {
        offer(std::string(name_of(goal)) + '=', "");
        out_.no_space = true;
      }
  }

  // A key, or its value behind `key=`.
  void setting() {
    const TableInfo& table = scenario_fields().info();
    const std::size_t equals = typed_.find('=');
    if (equals == std::string::npos) {
      for (const FieldInfo& field : table.fields)
        if (field.type != FieldType::Later && field.type != FieldType::Ignored) offer(field.key + '=', field.doc);
      out_.no_space = true;
      return;
    }
    const std::string key = typed_.substr(0, equals);
    const FieldInfo* field = table.find(key);
    if (field == nullptr) field = table.shorthand_of(key);
    if (field == nullptr) return;
    before_ += typed_.substr(0, equals + 1);
    typed_ = typed_.substr(equals + 1);
    value_of(*field);
  }

  void value_of(const FieldInfo& field) {
    for (const FieldChoice& choice : field.choices)
      if (!choice.later) offer(choice.name, "");
    if (field.type == FieldType::Boolean) offer_all({"true", "false"});
    if (!field.unset_word.empty()) offer(field.unset_word, "");
    if (field.key == "model.name") models();
    if (field.key == "topology.node") presets(PresetKind::Node);
    if (field.key == "topology.fabric") {
      presets(PresetKind::Fabric);
      offer("own", "The node's own NICs, joined by a switch that never blocks");
    }
  }

  void argument(const TreeCommand& command, const std::vector<std::string>& before) {
    if (command.arguments.empty()) return;
    const std::size_t place = std::min(before.size(), command.arguments.size() - 1);
    const TreeArgument& argument = command.arguments[place];
    if (before.size() > place && !argument.repeatable) return;
    if (argument.name == "FILE") scenarios();
    if (argument.name == "RESULT") out_.files = true;
    if (argument.name == "COMMAND") first_word();
    if (argument.name == "SHELL") offer_all(known_shells());
    if (argument.name == "KIND") offer_all(command.name == "list" ? listed_kinds() : shown_kinds());
    if (argument.name == "NAME") thing(before.front());
    if (argument.name == "WHAT") {
      offer("claims", "Those of the article that came along");
      out_.files = true;
    }
  }

  // What `lockstep show KIND` can show.
  void thing(const std::string& kind) {
    out_.files = true;
    if (kind == "scenario") scenarios();
    if (kind == "model") models();
    if (kind == "topology") presets(PresetKind::Node);
    if (kind == "fabric") presets(PresetKind::Fabric);
    if (kind == "gpu") presets(PresetKind::Gpu);
  }

  void scenarios() {
    for (const ScenarioFile& one : shipped_scenarios()) offer(one.name, one.question);
    out_.files = true;
  }
  void models() {
    for (const ZooEntry& one : zoo()) offer(one.name, one.summary);
  }
  void presets(PresetKind kind) {
    const auto all = list_presets(kind);
    if (!all) return;
    for (const PresetSummary& one : *all) offer(one.name, one.summary);
  }

  const std::vector<std::string>& words_;
  const CommandTree& tree_;
  std::string typed_;   // the last word, or what of it is looked at
  std::string before_;  // the part of it that stands already
  Completions out_;
};

std::string one_line(std::string text) {
  for (char& c : text)
    if (c == '\t' || c == '\n' || c == '\r') c = ' ';
  return text;
}

}  // namespace

Completions completions_of(const std::vector<std::string>& words, const CommandTree& tree) {
  return Completer(words, tree).run();
}

int run_complete(const std::vector<std::string>& words, Output& output) {
  const auto found = completions_of(words.empty() ? std::vector<std::string>{""} : words, command_tree());
  std::string text;
  for (const Candidate& one : found.candidates) text += one.text + '\t' + one_line(one.description) + '\n';
  text += ':';
  if (found.files) text += " files";
  if (found.folders) text += " folders";
  if (found.no_space) text += " no_space";
  output.out << harmless(text, output) << '\n' << std::flush;
  return kGood;
}

int run_completions(const CompletionsArguments& arguments, Output& output) {
  return write_result(completion_script(arguments.shell), arguments.common, output) ? kGood : kRunFailed;
}

}  // namespace lockstep
