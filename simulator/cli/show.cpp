#include <fmt/format.h>

#include <algorithm>

#include "models/describe.h"
#include "models/model_file.h"
#include "scenarios/fields.h"
#include "simulator/base/document.h"
#include "simulator/base/nearest.h"
#include "simulator/cli/commands.h"
#include "simulator/cli/files.h"
#include "simulator/result/json.h"
#include "topologies/describe.h"
#include "topologies/presets.h"
#include "topologies/reader.h"

namespace lockstep {
namespace {

Error on_command_line(ErrorKind kind, std::string key, std::string message, std::string allowed, std::string hint) {
  Error error;
  error.kind = kind;
  error.file = "command line";
  error.key = std::move(key);
  error.message = std::move(message);
  error.allowed = std::move(allowed);
  error.hint = std::move(hint);
  return error;
}

Expected<std::string> scenario_shown(const ShowArguments& arguments, Output& output) {
  const auto text = read_scenario_text(arguments.name, arguments.common.sets, output);
  if (!text) return tl::unexpected(text.error());
  const auto inputs = load_inputs(*text, Accept::Measured);
  if (!inputs) return tl::unexpected(inputs.error());
  const std::string yaml = scenario_yaml(inputs->read);
  return arguments.common.form == Form::Json ? yaml_to_json(yaml) : yaml;
}

// What --set changes must be part of what is shown: keys of `group`, none where it is empty.
Errors idle_sets(const ShowArguments& arguments, const std::string& group) {
  Errors errors;
  for (const std::string& set : arguments.common.sets) {
    const std::string key = set.substr(0, set.find('='));
    if (!group.empty() && (key == group || key.rfind(group + '.', 0) == 0)) continue;
    errors.push_back(on_command_line(ErrorKind::Conflict, key,
                                     fmt::format("it changes nothing of what `lockstep show {}` shows", arguments.kind),
                                     group.empty() ? "" : fmt::format("keys of `{}`", group), "leave it out"));
    errors.back().file = "--set";
  }
  return errors;
}

// `--set model.image=32` and the other options of a zoo model, as in a scenario.
Expected<Model> model_of(const ShowArguments& arguments) {
  const bool file = is_model_path(arguments.name);
  if (Errors idle = idle_sets(arguments, file ? "" : "model"); !idle.empty()) return tl::unexpected(std::move(idle));
  if (file) return read_model_file(arguments.name);
  const ZooEntry* entry = find_zoo_entry(arguments.name);
  if (entry == nullptr) {
    std::vector<std::string> names;
    for (const ZooEntry& one : zoo()) names.push_back(one.name);
    return tl::unexpected(Errors{on_command_line(
        ErrorKind::Range, "NAME", fmt::format("there is no model `{}`", arguments.name),
        "a model of `lockstep list models`, or the path of a model file", did_you_mean(arguments.name, names))});
  }
  const std::string text =
      fmt::format("{{model: {{name: {}}}, batch: {{per_gpu: 1}}, topology: dgx-a100-80gb, gpus: 1}}", entry->name);
  const auto scenario = read_scenario(text, "command line", arguments.common.sets);
  if (!scenario) return tl::unexpected(scenario.error());
  return build_zoo_model(scenario->model_name, scenario->model_options);
}

Expected<std::string> model_shown(const ShowArguments& arguments) {
  const auto model = model_of(arguments);
  if (!model) return tl::unexpected(model.error());
  return arguments.common.form == Form::Json ? to_model_json(*model) : describe_model(*model);
}

Expected<std::string> topology_shown(const ShowArguments& arguments) {
  if (arguments.common.form != Form::Text)
    return tl::unexpected(Errors{
        on_command_line(ErrorKind::NotSupported, "--json", "a topology is shown as text; its file is YAML", "", "")});
  if (Errors idle = idle_sets(arguments, "topology"); !idle.empty()) return tl::unexpected(std::move(idle));
  // `--set topology.fabric=X` and `--set topology.override.nic.rate=Y`, as in a scenario.
  const std::string text = fmt::format("{{model: resnet50, batch: {{per_gpu: 1}}, topology: {{node: {}}}, gpus: 1}}",
                                       yaml_scalar(arguments.name));
  const auto inputs = load_inputs({text, "command line", arguments.common.sets});
  if (!inputs) return tl::unexpected(inputs.error());
  return describe_topology(inputs->topology);
}

// A GPU or a fabric: what its file says, once it has been found right.
Expected<std::string> preset_shown(const ShowArguments& arguments, PresetKind kind) {
  if (Errors idle = idle_sets(arguments, ""); !idle.empty()) return tl::unexpected(std::move(idle));
  const PresetPaths paths = default_preset_paths();
  auto path = find_preset(kind, arguments.name, paths, "", "NAME");
  if (!path) {
    for (Error& error : path.error()) error.file = "command line";
    return tl::unexpected(std::move(path.error()));
  }
  const auto text = read_text_file(*path);
  if (!text) return tl::unexpected(text.error());
  Errors wrong;
  if (kind == PresetKind::Gpu)
    if (const auto gpu = load_gpu(*path, paths); !gpu) wrong = gpu.error();
  if (kind == PresetKind::Fabric)
    if (const auto fabric = load_fabric(*path, paths); !fabric) wrong = fabric.error();
  if (!wrong.empty()) return tl::unexpected(std::move(wrong));
  return arguments.common.form == Form::Json ? yaml_to_json(*text) : fmt::format("# {}\n{}", *path, *text);
}

Expected<std::string> shown(const ShowArguments& arguments, Output& output) {
  if (arguments.kind == "scenario") return scenario_shown(arguments, output);
  if (arguments.kind == "model") return model_shown(arguments);
  if (arguments.kind == "gpu") return preset_shown(arguments, PresetKind::Gpu);
  if (arguments.kind == "fabric") return preset_shown(arguments, PresetKind::Fabric);
  return topology_shown(arguments);
}

}  // namespace

int run_show(const ShowArguments& arguments, Output& output) {
  const Form form = arguments.common.form;
  if (form == Form::Csv || form == Form::JsonLines)
    return report_errors({on_command_line(ErrorKind::NotSupported, form == Form::Csv ? "--csv" : "--jsonl",
                                          "`lockstep show` prints text, or JSON with --json", "--json", "")},
                         form, output);
  const auto text = shown(arguments, output);
  if (!text) return report_errors(text.error(), form, output);
  return write_result(*text, arguments.common, output) ? kGood : kRunFailed;
}

}  // namespace lockstep
