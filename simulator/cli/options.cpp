// The only file that includes CLI11: it takes seconds to compile.
#include "simulator/cli/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <ostream>

#include "simulator/base/quantity.h"
#include "simulator/cli/command_words.h"
#include "simulator/cli/commands.h"
#include "simulator/cli/completions.h"
#include "simulator/cli/help.h"
#include "simulator/result/result.h"

namespace lockstep {
namespace {

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
  CompletionsArguments completions;
  MeasureArguments measure;
  std::string help_topic;
};

void add_settings(CLI::App& app, Raw& raw) {
  app.add_option("--set", raw.common.sets, "Change one key: a.b=value, a YAML value (repeatable)")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  app.add_option("--seed", raw.seed, "Of the random numbers; short for --set seed=N")->type_name("N");
  app.add_option("--calibration", raw.calibration, "Constants of a machine (comes with a later version)")
      ->type_name("FILE");
}

void add_forms(CLI::App& app, Raw& raw) {
  app.add_flag("--json", raw.json, "One JSON document; errors too");
  app.add_flag("--jsonl", raw.jsonl, "JSON lines: progress, runs, the result");
  app.add_flag("--csv", raw.csv, "A table for other programs");
  app.add_option("-o,--output", raw.common.output_file, "Write the result to a file")->type_name("FILE");
  app.add_flag("--quiet", raw.common.quiet, "The table alone, no words");
}

// `settings`: it reads a scenario, so --set and the like mean something to it.
CLI::App& add_command(CLI::App& app, const char* name, Raw& raw, bool settings = true) {
  const auto& all = command_help();
  const auto help = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.name == name; });
  CLI::App* command = app.add_subcommand(name, help->summary);
  command->footer("Examples:\n" + help->examples);
  if (settings) add_settings(*command, raw);
  if (std::string(name) != "help") add_forms(*command, raw);
  return *command;
}

// Their names and meanings are those of nccl-tests.
void add_bench(CLI::App& measure, MeasureArguments& arguments) {
  CLI::Option* bench =
      measure.add_option("--bench", arguments.bench, "In place of training: collectives, ops or copies, size by size")
          ->type_name("KIND")
          ->check(CLI::IsMember({"collectives", "ops", "copies"}));
  measure.add_option("--minbytes", arguments.min_bytes, "With --bench: the smallest size, as 8, 64K or 1MiB")
      ->type_name("SIZE")
      ->needs(bench);
  measure.add_option("--maxbytes", arguments.max_bytes, "With --bench: the largest size")
      ->type_name("SIZE")
      ->needs(bench);
  measure.add_option("--stepfactor", arguments.step_factor, "With --bench: from each size to the next")
      ->type_name("K")
      ->check(CLI::Range(2, 1 << 20))
      ->needs(bench);
  measure.add_option("--iters", arguments.iterations, "With --bench: iterations of each size, at most")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000'000))
      ->needs(bench);
  measure.add_option("--warmup_iters", arguments.warm_up, "With --bench: iterations before them")
      ->type_name("N")
      ->check(CLI::Range(0, 1'000'000))
      ->needs(bench);
  measure.add_option("--budget", arguments.budget, "With --bench: time for all of it, 60s if not given")
      ->type_name("TIME")
      ->needs(bench);
}

void add_commands(CLI::App& app, Raw& raw) {
  CLI::App& predict = add_command(app, "predict", raw);
  predict
      .add_option("FILE", raw.predict.files,
                  "Scenarios: paths, - for standard input, or names of `list scenarios`; an answer each")
      ->required();
  predict
      .add_option("--trace", raw.predict.trace_file,
                  "Write a Chrome trace of one step (for ui.perfetto.dev); of one scenario")
      ->type_name("FILE");
  predict
      .add_option("--spans", raw.predict.spans_file,
                  "Write that step of every kind of rank, as the window reads it: a JSON line for each run")
      ->type_name("FILE");
  predict.add_flag("--estimate", raw.predict.estimate,
                   "Each transfer alone on its share of the links: faster, and the twin of the simulation");
  predict.add_flag("--reference", raw.predict.reference, "Collectives message by message (up to 64 GPUs)");

  CLI::App& explain = add_command(app, "explain", raw);
  explain
      .add_option("FILE", raw.explain.files,
                  "Scenarios: paths, - for standard input, or names of `list scenarios`; an answer each")
      ->required();
  explain.add_flag("--estimate", raw.explain.estimate, "Without contention: faster");

  CLI::App& solve = add_command(app, "solve", raw);
  solve.add_option("FILE", raw.solve.file, "One scenario: a path, - for standard input, or a name of `list scenarios`")
      ->required();
  solve.add_option("--for", raw.solve.key, "The key of the scenario whose value is wanted")
      ->required()
      ->type_name("KEY");
  solve
      .add_option(
          "--given", raw.solve.givens,
          "step_time=1.71s, throughput=2000img/s or efficiency=0.9; of several, as gpus=16:throughput=900img/s, "
          "whether one value explains all")
      ->required()
      ->allow_extra_args(false)
      ->type_name("GOAL=VALUE");
  solve.add_flag("--estimate", raw.solve.estimate, "Without contention: faster");

  CLI::App& compare = add_command(app, "compare", raw, false);
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
      ->type_name("BACKEND")
      ->check(CLI::IsMember({"gloo", "nccl"}));
  measure.add_flag("--here", raw.measure.here, "On this machine's cores, whatever the scenario's machine is");
  measure.add_flag("--dry-run", raw.measure.dry_run, "Say what would be measured and how long that takes, and end");
  CLI::Option* paced = measure.add_flag(
      "--paced", raw.measure.paced, "DDP and network are real, computing waits for its modelled time: needs no GPU");
  measure
      .add_option("--dilate", raw.measure.dilate,
                  "With --paced: everything modelled takes K times as long, so that the CPU keeps up")
      ->type_name("K")
      ->check(CLI::Range(1.0, 1e6))
      ->needs(paced);
  measure.add_flag("--profile", raw.measure.profile, "One pass more, with a profiler: times by class of op");
  measure
      .add_option("--trace", raw.measure.trace_file,
                  "As --profile, and keep Chrome traces: t.json gives t-ddp-2.json for ddp on 2 ranks")
      ->type_name("FILE");
  add_bench(measure, raw.measure);
  measure
      .add_option("--rendezvous", raw.measure.rendezvous,
                  "Several hosts without a launcher: where node 0 listens; the same command on each of them")
      ->type_name("HOST:PORT");
  measure.add_option("--nodes", raw.measure.nodes, "With --rendezvous: how many hosts")
      ->type_name("N")
      ->check(CLI::Range(1, 4096));
  measure.add_option("--node-rank", raw.measure.node_rank, "With --rendezvous: which of them this is, from 0")
      ->type_name("R");

  CLI::App& sweep = add_command(app, "sweep", raw);
  sweep.add_option("FILE", raw.sweep.file,
                   "One scenario with lists: a path, - for standard input, or a name of `list scenarios`; without it "
                   "-o DIR writes what the folder keeps");
  sweep.add_flag("--estimate", raw.sweep.estimate, "Without contention: faster");
  sweep
      .add_option("--workers", raw.sweep.workers, "Processes that work at the same time; one for each core by default")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  sweep.get_option("--output")
      ->description("Keep the points in this folder: the same command goes on where it was stopped");
  sweep.get_option("--output")->type_name("DIR");

  CLI::App& list = add_command(app, "list", raw, false);
  list.add_option("KIND", raw.list.kind, fmt::format("{}", fmt::join(listed_kinds(), ", ")))->required();
  list.get_option("--quiet")->description("The names alone");

  CLI::App& show = add_command(app, "show", raw);
  show.add_option("KIND", raw.show.kind, fmt::format("{}", fmt::join(shown_kinds(), ", ")))->required();
  show.add_option("NAME", raw.show.name, "A name of `lockstep list`, a path, or - for standard input (scenario)")
      ->required();

  CLI::App& validate = add_command(app, "validate", raw);
  validate.add_option("WHAT", raw.validate.what, "claims, or the folder or file of claims")->required();
  validate.add_option("--fail-above", raw.fail_above, "Exit code 3 when the mean error is larger, e.g. 10%")
      ->type_name("SHARE");

  CLI::App& completions = add_command(app, "completions", raw, false);
  completions.add_option("SHELL", raw.completions.shell, fmt::format("{}", fmt::join(known_shells(), ", ")))
      ->required();
  for (const char* form : {"--json", "--jsonl", "--csv", "--quiet"})
    completions.remove_option(completions.get_option(form));

  CLI::App& help = add_command(app, "help", raw, false);
  help.add_option("COMMAND", raw.help_topic, "The command");
}

// What the parser cannot say by itself; empty when all is well.
Errors finish_common(Raw& raw) {
  Errors errors;
  for (auto& wrong : {wrong_kind(raw.list.kind, listed_kinds()), wrong_kind(raw.show.kind, shown_kinds()),
                      wrong_kind(raw.completions.shell, known_shells()), seed_given_twice(raw.seed, raw.common.sets)})
    if (wrong) errors.push_back(*wrong);
  if (int(raw.json) + int(raw.jsonl) + int(raw.csv) > 1)
    errors.push_back(on_command_line(ErrorKind::Conflict, "--json, --jsonl and --csv exclude each other", "", "",
                                     "give one of them"));
  if (!raw.calibration.empty())
    errors.push_back(on_command_line(ErrorKind::NotSupported, "`--calibration` comes with a later version",
                                     raw.calibration, "", "calibrate.single_gpu in the scenario takes one number"));
  raw.common.form = raw.json ? Form::Json : raw.jsonl ? Form::JsonLines : raw.csv ? Form::Csv : Form::Text;
  if (raw.common.output_file == "-" && !raw.sweep.file.empty())
    errors.push_back(on_command_line(ErrorKind::Conflict, "-o of `lockstep sweep` is a folder that keeps the points",
                                     "-", "", "name a folder, or leave -o out: the result goes to standard output"));
  if (raw.common.output_file == "-") raw.common.output_file.clear();  // standard output, as for other programs
  if (!raw.seed.empty()) raw.common.sets.push_back("seed=" + raw.seed);
  if (!raw.fail_above.empty()) {
    auto share = parse_share(raw.fail_above);
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
  if (name == "completions") {
    CompletionsArguments arguments = raw.completions;
    arguments.common = raw.common;
    return [arguments](Output& output) { return run_completions(arguments, output); };
  }
  ValidateArguments arguments = raw.validate;
  arguments.common = raw.common;
  return [arguments](Output& output) { return run_validate(arguments, output); };
}

// CLI11's exceptions as errors of ours.
Error error_of(const CLI::ParseError& failure, const CLI::App& app) {
  if (dynamic_cast<const CLI::ExtrasError*>(&failure) != nullptr) {
    std::vector<std::string> rest = app.remaining(true);
    const std::string first = rest.empty() ? "" : rest.front();
    const auto commands = app.get_subcommands();
    const std::string command = commands.empty() ? "" : commands.front()->get_name();
    return first.rfind('-', 0) == 0 ? unknown_option(first, command, command_tree())
                                    : surplus_argument(first, command, command_tree());
  }
  const auto names = app.get_subcommands();
  const std::string hint =
      names.empty() ? "lockstep --help" : fmt::format("lockstep {} --help", names.front()->get_name());
  if (dynamic_cast<const CLI::RequiredError*>(&failure) != nullptr)
    return on_command_line(ErrorKind::Missing, failure.what(), "", "", hint);
  return on_command_line(ErrorKind::Range, failure.what(), "", "", hint);
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

std::vector<TreeOption> options_of(const CLI::App& app) {
  std::vector<TreeOption> options;
  for (const CLI::Option* one : app.get_options()) {
    if (!one->nonpositional()) continue;
    TreeOption option;
    option.name = "--" + one->get_lnames().front();
    if (!one->get_snames().empty()) option.short_name = "-" + one->get_snames().front();
    if (one->get_items_expected_max() > 0) option.value = one->get_type_name();
    option.description = one->get_description();
    option.repeatable = one->get_items_expected_max() > 1;
    options.push_back(std::move(option));
  }
  return options;
}

TreeCommand tree_of(const CLI::App& app) {
  TreeCommand command;
  command.name = app.get_name();
  command.summary = app.get_description();
  command.options = options_of(app);
  for (const CLI::Option* one : app.get_options())
    if (one->get_positional()) command.arguments.push_back({one->get_name(true), one->get_items_expected_max() > 1});
  return command;
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

const CommandTree& command_tree() {
  static const CommandTree tree = [] {
    Raw raw;
    const auto app = make_app(raw);
    CommandTree made;
    made.options = options_of(*app);
    for (const CLI::App* one : app->get_subcommands({})) made.commands.push_back(tree_of(*one));
    return made;
  }();
  return tree;
}

std::variant<Command, Help, WrongCommandLine> parse_command_line(const std::vector<std::string>& given) {
  std::vector<std::string> words = given;
  if (!words.empty() && words.front() == kCompleteCommand) {
    words.erase(words.begin());
    return Command([words](Output& output) { return run_complete(words, output); });
  }
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
    if (auto wrong = wrong_first_word(words, command_tree())) return WrongCommandLine{{*std::move(wrong)}, form};
  }
  Raw raw;
  const auto app = make_app(raw);
  if (words.empty()) {
    std::vector<std::string> names;
    for (const CommandHelp& one : command_help()) names.push_back(one.name);
    return WrongCommandLine{{on_command_line(ErrorKind::Missing, "a command is missing", "",
                                             fmt::format("{}", fmt::join(names, ", ")), "lockstep --help")},
                            form};
  }
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
