#include "simulator/sweep/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>

#include "scenarios/fields.h"
#include "simulator/answers/bands.h"
#include "simulator/base/document.h"
#include "simulator/result/json.h"
#include "simulator/sweep/workers.h"
#include "topologies/presets.h"

namespace lockstep {
namespace {

constexpr int kWaitMs = 100;

const char* name_of_method(Method method) {
  switch (method) {
    case Method::Simulate:
      return "simulate";
    case Method::Estimate:
      return "estimate";
    case Method::Messages:
      return "messages";
  }
  return "?";
}

const SweepAxis* axis_at(const SweepAxes& axes, const std::string& key) {
  for (const SweepAxis& axis : axes.axes())
    if (key == axis.key || key.rfind(axis.key + ".", 0) == 0) return &axis;
  return nullptr;
}

// FNV-1a, 64 bits (public domain, Fowler, Noll, Vo): tells a changed file, is no protection against a forger.
std::uint64_t fingerprint(const std::string& text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

// A preset by its place in the folder of presets, wherever that lies on this machine.
std::string name_of_file(const std::string& path) {
  for (const std::string& root : default_preset_paths().roots)
    if (path.rfind(root, 0) == 0) return path.substr(root.size() + (root.back() == '/' ? 0 : 1));
  return path;
}

// The files that were read for these inputs, each with the fingerprint of what it holds.
void add_files(const Inputs& inputs, std::map<std::string, std::string>& lines) {
  std::vector<std::string> files = inputs.topology.files;
  if (const std::string model = model_file(inputs.scenario()); !model.empty()) files.push_back(model);
  for (const std::string& file : files) {
    if (lines.count(file) != 0) continue;
    if (const auto text = read_text_file(file))
      lines[file] = fmt::format("file {}: {:016x}", name_of_file(file), fingerprint(*text));
  }
}

std::string flow_list(const SweepAxis& axis) {
  Value list;
  list.kind = Value::Kind::List;
  list.items = axis.values;
  return to_flow_yaml(list);
}

// The resolved values of one combination, with the lists back in the place of swept keys.
std::string resolved_with_lists(const SweepAxes& axes, const ReadScenario& read) {
  std::vector<ResolvedField> fields;
  std::set<const SweepAxis*> shown;
  for (ResolvedField& field : scenario_fields().resolved(read.scenario, read.reading)) {
    if (const SweepAxis* axis = axis_at(axes, field.key)) {
      if (!shown.insert(axis).second) continue;
      field.key = axis->key;
      field.yaml = flow_list(*axis);
    }
    fields.push_back(std::move(field));
  }
  return resolved_yaml(fields);
}

// What of a point is known even where its scenario is wrong.
Run run_without_answer(const SweepAxes& axes, std::size_t combination) {
  Run run;
  Scenario scenario;
  Reading reading;
  scenario_fields().read_into(axes.document(combination), scenario, reading);
  if (!scenario.strategies.empty()) run.strategy = scenario.strategies.front();
  if (!scenario.gpus.empty()) run.gpus = run.world_size = scenario.gpus.front();
  run.nodes = 0;
  return run;
}

// The first error without its place: a combination stands in no line of the file.
std::string reason(const Errors& errors) {
  if (errors.empty()) return "no reason given";
  const Error& first = errors.front();
  return first.key.empty() ? first.message : fmt::format("{}: {}", first.key, first.message);
}

void name_point(Run& run, const SweepAxes& axes, std::size_t combination) {
  for (auto& [key, value] : axes.point(combination)) run.point[key] = std::move(value);
}

std::string point_key(const SweepAxes& axes, std::size_t combination) {
  std::string key;
  for (const auto& [name, value] : axes.point(combination)) key += (key.empty() ? "" : ", ") + name + "=" + value;
  return key;
}

const char* state_of(const SweptPoint& point) {
  return point.failed ? "failed" : point.run.not_run ? "not_run" : "run";
}

// What a worker sends: state, newline, run.
std::string message_of(const SweptPoint& point) {
  return std::string(state_of(point)) + '\n' + run_to_json(point.run);
}

StoredPoint stored_point(const SweepAxes& axes, const WorkDone& done) {
  StoredPoint point;
  point.combination = done.piece;
  point.key = point_key(axes, done.piece);
  std::string text = done.text;
  if (done.died) {
    SweptPoint failed{run_without_answer(axes, done.piece), true};
    failed.run.not_run = *done.died;
    name_point(failed.run, axes, done.piece);
    text = message_of(failed);
  }
  const std::size_t end = text.find('\n');
  point.state = text.substr(0, end);
  point.run = text.substr(end + 1);
  return point;
}

tl::unexpected<Errors> no_process() {
  Error error;
  error.kind = ErrorKind::RunFailed;
  error.message = "no process could be started";
  return tl::make_unexpected(Errors{error});
}

}  // namespace

Expected<SweepIdentity> sweep_identity(const SweepAxes& axes, Method method) {
  SweepIdentity identity;
  identity.method = name_of_method(method);
  identity.points = axes.points();
  for (const SweepAxis& axis : axes.axes()) identity.keys.push_back(axis.key);
  std::set<std::string> lines;
  std::map<std::string, std::string> files;
  LoadedInputs loaded;
  std::optional<Errors> first_errors;
  bool any = false;
  const auto look_at = [&](std::size_t probe) {
    const auto inputs = load_inputs(axes.document(probe), loaded);
    if (!inputs) {
      if (!first_errors) first_errors = inputs.error();
      return;
    }
    any = true;
    for (const ResolvedField& field : scenario_fields().resolved(inputs->scenario(), inputs->read.reading))
      if (field.key != "question" && axis_at(axes, field.key) == nullptr)
        lines.insert(fmt::format("{}: {}", field.key, field.yaml));
    add_files(*inputs, files);
    if (identity.scenario.empty()) identity.scenario = resolved_with_lists(axes, inputs->read);
  };
  for (const std::size_t probe : axes.probes_of_words()) look_at(probe);
  for (const std::size_t probe : axes.probes())
    if (!any) look_at(probe);
  if (!any) return tl::unexpected(*std::move(first_errors));
  for (const SweepAxis& axis : axes.axes()) identity.identity += fmt::format("{}: {}\n", axis.key, flow_list(axis));
  for (const auto& [file, line] : files) lines.insert(line);
  for (const std::string& line : lines) identity.identity += line + '\n';
  return identity;
}

Expected<Run> SweptPoints::predict_loaded(const Inputs& inputs) {
  const Scenario& scenario = inputs.scenario();
  Points points(inputs, method_, source_);
  Expected<Run> run = points.run(scenario.strategies.front(), scenario.gpus.front());
  if (!run || run->not_run) return run;
  Expected<Uncertainty> uncertainty = uncertainty_of(*run, points);
  if (!uncertainty) return tl::unexpected(std::move(uncertainty.error()));
  run->uncertainty = *std::move(uncertainty);
  return run;
}

SweptPoint SweptPoints::predict(std::size_t combination) {
  SweptPoint point;
  const auto fail = [&](const Errors& errors) {
    point.run = run_without_answer(axes_, combination);
    point.run.not_run = reason(errors);
    point.failed = !errors.empty() && errors.front().kind == ErrorKind::RunFailed;
  };
  if (const auto inputs = load_inputs(axes_.document(combination), loaded_)) {
    if (auto run = predict_loaded(*inputs))
      point.run = *std::move(run);
    else
      fail(run.error());
  } else {
    fail(inputs.error());
  }
  name_point(point.run, axes_, combination);
  return point;
}

Expected<bool> fill_sweep(const SweepAxes& axes, SweepStore& store, const SweepOptions& options) {
  SweptPoints points(axes, options.method);  // each worker has its own copy from the fork on
  Workers workers(
      options.workers, [&](std::size_t combination) { return message_of(points.predict(combination)); },
      [&] { store.forget_lock(); });
  std::size_t next = 0, done = store.size();
  const auto stopped = [&] { return options.stop && options.stop(); };
  std::vector<WorkDone> finished;
  while (true) {
    // First the workers, then the file: they compute while it is written.
    while (!stopped() && next < axes.combinations() && workers.idle()) {
      if (!axes.left_out(next) && !store.has(next) && !workers.give(next)) return no_process();
      ++next;
    }
    for (const WorkDone& one : finished) {
      if (one.died && stopped()) return false;
      if (auto put = store.put(stored_point(axes, one)); !put) return tl::unexpected(std::move(put.error()));
      ++done;
      if (!options.stored) continue;
      if (auto good = options.stored(); !good) return tl::unexpected(std::move(good.error()));
    }
    if (stopped()) return false;
    if (options.progress) options.progress(done);
    if (!workers.busy()) return true;
    finished = workers.wait(kWaitMs);
  }
}

}  // namespace lockstep
