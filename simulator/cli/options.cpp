// The only file that includes CLI11: it takes seconds to compile.
#include "simulator/cli/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <ostream>

#include "simulator/base/nearest.h"
#include "simulator/base/quantity.h"
#include "simulator/cli/commands.h"
#include "simulator/cli/help.h"
#include "simulator/result/result.h"

namespace lockstep {
namespace {

Error on_command_line(ErrorKind kind, std::string message, std::string found = "", std::string allowed = "",
                      std::string hint = "") {
  Error error;
  error.kind = kind;
  error.file = "command line";
  error.found = std::move(found);
  error.allowed = std::move(allowed);
  error.hint = std::move(hint);
  error.message = std::move(message);
  return error;
}

bool has_word(const std::vector<std::string>& words, const char* word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

Form form_of(const std::vector<std::string>& words) {
  if (has_word(words, "--json")) return Form::Json;
  if (has_word(words, "--jsonl")) return Form::JsonLines;
  return has_word(words, "--csv") ? Form::Csv : Form::Text;
}

// What CLI11 fills for one command.
struct Raw {
  CommonArguments common;
  bool json = false, jsonl = false, csv = false;
  std::string seed, calibration, fail_above;
  PredictArguments predict;
  SweepArguments sweep;
  ListArguments list;
  ShowArguments show;
  ValidateArguments validate;
  ExplainArguments explain;
  SolveArguments solve;
  CompareArguments compare;
  MeasureArguments measure;
  std::string help_topic;
};

void add_common(CLI::App& app, Raw& raw) {
  app.add_option("--set", raw.common.sets, "Change one key: a.b=value, a YAML value (repeatable)")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  app.add_option("--seed", raw.seed, "Of the random numbers; short for --set seed=N")->type_name("N");
  app.add_flag("--json", raw.json, "One JSON document; errors too");
  app.add_flag("--jsonl", raw.jsonl, "JSON lines: progress, runs, the result");
  app.add_flag("--csv", raw.csv, "A table for other programs");
  app.add_option("-o,--output", raw.common.output_file, "Write the result to a file")->type_name("FILE");
  app.add_flag("--quiet", raw.common.quiet, "The table alone, no words");
  app.add_option("--calibration", raw.calibration, "Constants of a machine (comes with a later version)")
      ->type_name("FILE");
}

CLI::App& add_command(CLI::App& app, const char* name, Raw& raw) {
  const auto& all = command_help();
  const auto help = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.name == name; });
  CLI::App* command = app.add_subcommand(name, help->summary);
  command->footer("Examples:\n" + help->examples);
  if (std::string(name) != "help") add_common(*command, raw);
  return *command;
}

void add_commands(CLI::App& app, Raw& raw) {
  CLI::App& predict = add_command(app, "predict", raw);
  predict
      .add_option("FILE", raw.predict.file, "A scenario: a path, - for standard input, or a name of `list scenarios`")
      ->required();
  predict.add_option("--trace", raw.predict.trace_file, "Write a Chrome trace of one step (for ui.perfetto.dev)")
      ->type_name("FILE");
  predict.add_flag("--estimate", raw.predict.estimate,
                   "Each transfer alone on its share of the links: faster, and the twin of the simulation");
  predict.add_flag("--reference", raw.predict.reference, "Collectives message by message (up to 64 GPUs)");

  CLI::App& explain = add_command(app, "explain", raw);
  explain
      .add_option("FILE", raw.explain.file, "A scenario: a path, - for standard input, or a name of `list scenarios`")
      ->required();
  explain.add_flag("--estimate", raw.explain.estimate, "Without contention: faster");

  CLI::App& solve = add_command(app, "solve", raw);
  solve.add_option("FILE", raw.solve.file, "A scenario: a path, - for standard input, or a name of `list scenarios`")
      ->required();
  solve.add_option("--for", raw.solve.key, "The key of the scenario whose value is wanted")
      ->required()
      ->type_name("KEY");
  solve.add_option("--given", raw.solve.given, "step_time=1.71s, throughput=2000img/s or efficiency=0.9")
      ->required()
      ->type_name("GOAL=VALUE");
  solve.add_flag("--estimate", raw.solve.estimate, "Without contention: faster");

  CLI::App& compare = add_command(app, "compare", raw);
  compare
      .add_option("RESULT", raw.compare.files, "Results in JSON: the measured one, else the first, is the reference")
      ->required();
  compare.add_option("--fail-above", raw.fail_above, "Exit code 3 when the error of a row is larger, e.g. 10%")
      ->type_name("SHARE");
  compare.add_flag("--force", raw.compare.force, "Compare what is not the same thing, as DDP and a stand-in");

  CLI::App& measure = add_command(app, "measure", raw);
  measure
      .add_option("FILE", raw.measure.file, "A scenario: a path, - for standard input, or a name of `list scenarios`")
      ->required();
  measure
      .add_option("--backend", raw.measure.backend, "gloo (CPU) or nccl (GPUs); by the scenario's devices if not given")
      ->type_name("NAME")
      ->check(CLI::IsMember({"gloo", "nccl"}));
  measure.add_flag("--here", raw.measure.here, "On this machine's cores, whatever the scenario's machine is");

  CLI::App& sweep = add_command(app, "sweep", raw);
  sweep
      .add_option("FILE", raw.sweep.file,
                  "A scenario with lists: a path, - for standard input, or a name of `list scenarios`")
      ->required();
  sweep.add_flag("--estimate", raw.sweep.estimate, "Without contention: faster");
  sweep
      .add_option("--workers", raw.sweep.workers, "Processes that work at the same time; one for each core by default")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  sweep.get_option("--output")
      ->description("Keep the points in this folder: the same command goes on where it was stopped");
  sweep.get_option("--output")->type_name("DIR");

  CLI::App& list = add_command(app, "list", raw);
  list.add_option("KIND", raw.list.kind, "models, topologies, fabrics, gpus or scenarios")->required();

  CLI::App& show = add_command(app, "show", raw);
  show.add_option("KIND", raw.show.kind, "scenario, model or topology")->required();
  show.add_option("NAME", raw.show.name, "A name of `lockstep list`, a path, or - for standard input (scenario)")
      ->required();

  CLI::App& validate = add_command(app, "validate", raw);
  validate.add_option("WHAT", raw.validate.what, "claims, or the folder or file of claims")->required();
  validate.add_option("--fail-above", raw.fail_above, "Exit code 3 when the mean error is larger, e.g. 10%")
      ->type_name("SHARE");

  CLI::App& help = add_command(app, "help", raw);
  help.add_option("COMMAND", raw.help_topic, "The command");
}

// A positional argument that is one of a few words.
void check_kind(const std::string& kind, const std::vector<std::string>& allowed, Errors& errors) {
  if (kind.empty() || std::find(allowed.begin(), allowed.end(), kind) != allowed.end()) return;
  errors.push_back(on_command_line(ErrorKind::Range, fmt::format("there is no kind `{}`", kind), kind,
                                   fmt::format("{}", fmt::join(allowed, ", ")), did_you_mean(kind, allowed)));
}

// What the parser cannot say by itself; empty when all is well.
Errors finish_common(Raw& raw) {
  Errors errors;
  check_kind(raw.list.kind, {"models", "topologies", "fabrics", "gpus", "scenarios"}, errors);
  check_kind(raw.show.kind, {"scenario", "model", "topology"}, errors);
  if (int(raw.json) + int(raw.jsonl) + int(raw.csv) > 1)
    errors.push_back(on_command_line(ErrorKind::Conflict, "--json, --jsonl and --csv exclude each other", "", "",
                                     "give one of them"));
  if (!raw.calibration.empty())
    errors.push_back(on_command_line(ErrorKind::NotSupported, "`--calibration` comes with a later version",
                                     raw.calibration, "", "calibrate.single_gpu in the scenario takes one number"));
  raw.common.form = raw.json ? Form::Json : raw.jsonl ? Form::JsonLines : raw.csv ? Form::Csv : Form::Text;
  if (!raw.seed.empty()) raw.common.sets.push_back("seed=" + raw.seed);
  if (!raw.fail_above.empty()) {
    auto share = parse_quantity(raw.fail_above, Unit::Fraction);
    if (share) {
      raw.validate.fail_above = raw.compare.fail_above = *share;
    } else {
      Error error = share.error().front();
      error.file = "command line";
      error.key = "--fail-above";
      errors.push_back(std::move(error));
    }
  }
  return errors;
}

Command command_of(const CLI::App& app, const Raw& raw) {
  const std::string name = app.get_subcommands().front()->get_name();
  if (name == "predict") {
    PredictArguments arguments = raw.predict;
    arguments.common = raw.common;
    return [arguments](Output& output) { return run_predict(arguments, output); };
  }
  if (name == "explain") {
    ExplainArguments arguments = raw.explain;
    arguments.common = raw.common;
    return [arguments](Output& output) { return run_explain(arguments, output); };
  }
  if (name == "solve") {
    SolveArguments arguments = raw.solve;
    arguments.common = raw.common;
    return [arguments](Output& output) { return run_solve(arguments, output); };
  }
  if (name == "compare") {
    CompareArguments arguments = raw.compare;
    arguments.common = raw.common;
    return [arguments](Output& output) { return run_compare(arguments, output); };
  }
  if (name == "measure") {
    MeasureArguments arguments = raw.measure;
    arguments.common = raw.common;
    return [arguments](Output& output) { return run_measure(arguments, output); };
  }
  if (name == "sweep") {
    SweepArguments arguments = raw.sweep;
    arguments.common = raw.common;
    return [arguments](Output& output) { return run_sweep(arguments, output); };
  }
  if (name == "list") {
    ListArguments arguments = raw.list;
    arguments.common = raw.common;
    return [arguments](Output& output) { return run_list(arguments, output); };
  }
  if (name == "show") {
    ShowArguments arguments = raw.show;
    arguments.common = raw.common;
    return [arguments](Output& output) { return run_show(arguments, output); };
  }
  ValidateArguments arguments = raw.validate;
  arguments.common = raw.common;
  return [arguments](Output& output) { return run_validate(arguments, output); };
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* one : app.get_subcommands())
    for (const CLI::Option* option : one->get_options())
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

// CLI11's exceptions as errors of ours.
Error error_of(const CLI::ParseError& failure, const CLI::App& app) {
  if (dynamic_cast<const CLI::ExtrasError*>(&failure) != nullptr) {
    std::vector<std::string> rest = app.remaining(true);
    const std::string first = rest.empty() ? "" : rest.front();
    const bool option = first.rfind('-', 0) == 0;
    return on_command_line(ErrorKind::UnknownKey,
                           option ? fmt::format("there is no option `{}`", first)
                                  : fmt::format("there is one argument too many: `{}`", first),
                           first, "", option ? did_you_mean(first, option_names(app)) : "");
  }
  const auto names = app.get_subcommands();
  const std::string hint =
      names.empty() ? "lockstep --help" : fmt::format("lockstep {} --help", names.front()->get_name());
  if (dynamic_cast<const CLI::RequiredError*>(&failure) != nullptr)
    return on_command_line(ErrorKind::Missing, failure.what(), "", "", hint);
  return on_command_line(ErrorKind::Range, failure.what(), "", "", hint);
}

// The first word is a command, a global option, or wrong.
std::optional<Errors> wrong_command(const std::string& word) {
  std::vector<std::string> names;
  for (const CommandHelp& one : command_help()) names.push_back(one.name);
  if (word.rfind('-', 0) == 0 || std::find(names.begin(), names.end(), word) != names.end()) return std::nullopt;
  names.insert(names.end(), commands_of_later_versions().begin(), commands_of_later_versions().end());
  return Errors{on_command_line(ErrorKind::UnknownKey, fmt::format("there is no command `{}`", word), word, "",
                                did_you_mean(word, names).empty() ? "lockstep --help" : did_you_mean(word, names))};
}

std::unique_ptr<CLI::App> make_app(Raw& raw) {
  auto app = std::make_unique<CLI::App>(
      "Predicts how long a data-parallel training step takes, why, and what would help", "lockstep");
  app->set_version_flag("--version", std::string("lockstep ") + lockstep_version());
  app->require_subcommand(1);
  app->footer(exit_code_help() + "`lockstep help COMMAND` shows examples.");
  add_commands(*app, raw);
  return app;
}

std::variant<Command, Help, WrongCommandLine> parse(CLI::App& app, Raw& raw, std::vector<std::string> words) {
  const Form form = form_of(words);
  std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
  try {
    app.parse(std::move(words));
  } catch (const CLI::CallForVersion& version) {
    return Help{std::string(version.what()) + '\n'};
  } catch (const CLI::Success&) {
    return Help{app.help()};
  } catch (const CLI::ParseError& failure) {
    return WrongCommandLine{{error_of(failure, app)}, form};
  }
  Errors errors = finish_common(raw);
  if (!errors.empty()) return WrongCommandLine{std::move(errors), form};
  return command_of(app, raw);
}

}  // namespace

std::variant<Command, Help, WrongCommandLine> parse_command_line(const std::vector<std::string>& given) {
  std::vector<std::string> words = given;
  if (!words.empty() && words.front() == "help") {
    words.erase(words.begin());
    words.insert(words.size() > 1 ? words.begin() + 1 : words.end(), "--help");
  }
  const Form form = form_of(words);
  if (!words.empty()) {
    const auto& later = commands_of_later_versions();
    const std::string first = words.front();
    if (std::find(later.begin(), later.end(), first) != later.end())
      return Command([first, form](Output& output) { return refuse_later(first, form, output); });
    if (auto errors = wrong_command(first)) return WrongCommandLine{*std::move(errors), form};
  }
  Raw raw;
  const auto app = make_app(raw);
  if (words.empty())
    return WrongCommandLine{
        {on_command_line(ErrorKind::Missing, "a command is missing", "",
                         "predict, measure, sweep, explain, solve, compare, list, show, validate, help",
                         "lockstep --help")},
        form};
  return parse(*app, raw, std::move(words));
}

int run_command_line(const std::vector<std::string>& words, Output& output) {
  auto parsed = parse_command_line(words);
  if (const auto* help = std::get_if<Help>(&parsed)) {
    output.out << help->text << std::flush;
    return output.out.good() ? kGood : kRunFailed;
  }
  if (const auto* wrong = std::get_if<WrongCommandLine>(&parsed)) {
    report_errors(wrong->errors, wrong->form, output);
    return kWrongInput;
  }
  return std::get<Command>(parsed)(output);
}

}  // namespace lockstep
