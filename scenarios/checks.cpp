#include "scenarios/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "scenarios/fields.h"
#include "simulator/base/format.h"
#include "simulator/base/nearest.h"

namespace lockstep {
namespace {

std::vector<std::string> zoo_names() {
  std::vector<std::string> names;
  for (const ZooEntry& entry : zoo()) names.push_back(entry.name);
  return names;
}

// The zoo speaks of `model.inputs`; in a scenario that key stands inside `model.mlp`.
std::string key_of_option(const std::string& model, std::string key) {
  const std::string inner = "model." + model + key.substr(std::min(key.size(), std::string("model").size()));
  return scenario_fields().info().find(inner) != nullptr ? inner : key;
}

class Checks {
 public:
  Checks(Scenario& scenario, Reading& reading, const ReadOptions& options)
      : s_(scenario), reading_(reading), options_(options), check_(reading) {}

  void model() {
    if (!reading_.sound("model.name")) return;
    name_from_sizes();
    if (!reading_.sound("model.name") || s_.model_name.empty()) return;
    if (is_model_path(s_.model_name)) {
      options_of_a_file();
    } else if (const ZooEntry* entry = find_zoo_entry(s_.model_name)) {
      s_.model_name = entry->name;
      if (reading_.sound("model")) zoo_model();
    } else {
      check_.fail(ErrorKind::Range, "model.name", fmt::format("there is no model `{}`", shortened(s_.model_name, 60)),
                  fmt::format("{}, or the path of a model file", fmt::join(zoo_names(), ", ")),
                  did_you_mean(s_.model_name, zoo_names()), shortened(s_.model_name, 60));
    }
  }
  void batch() {
    if (!reading_.sound("batch")) return;
    const char* allowed = "per_gpu (weak scaling), global (strong scaling)";
    if (s_.per_gpu_batch && s_.global_batch) {
      // Named at the one that came last: --set after the file.
      const Origin &per_gpu = reading_.origins.at("batch.per_gpu"), &global = reading_.origins.at("batch.global");
      const auto rank = [](const Origin& o) { return std::tuple(o.from == Origin::From::Set, o.line, o.column); };
      const std::string last = rank(per_gpu) > rank(global) ? "per_gpu" : "global";
      check_.fail(ErrorKind::Conflict, "batch." + last, "`batch` holds both `per_gpu` and `global`", allowed,
                  fmt::format("keep one of them; `--set \"batch={{{}: ...}}\"` replaces both", last));
    } else if (!s_.per_gpu_batch && !s_.global_batch)
      check_.fail(ErrorKind::Missing, "batch", "`batch` is missing", allowed, "for example `batch: {per_gpu: 128}`");
  }
  void lists() {
    no_repeats("gpus", s_.gpus, [](int n) { return fmt::format("{}", n); });
    no_repeats("strategy", s_.strategies, [](Strategy one) { return std::string(name_of(one)); });
  }
  void machine() {
    for (const char* key : {"topology.nodes", "topology.gpu_index"}) {
      const bool empty = std::string(key) == "topology.nodes" ? s_.topology_nodes.empty() : s_.gpu_index.empty();
      if (empty && reading_.given(key) && reading_.sound(key))
        check_.fail(ErrorKind::Range, key, "the list is empty", "at least one entry", "delete the key");
    }
  }
  void precision() {
    if (!reading_.sound("precision") || !reading_.sound("tf32") || s_.precision != Precision::Tf32) return;
    for (const auto& [key, value] : {std::pair{"tf32.conv", s_.tf32_conv}, std::pair{"tf32.matmul", s_.tf32_matmul}})
      if (value == Switch::Off)
        check_.fail(ErrorKind::Conflict, key, "`precision: tf32` turns both TF32 switches on", "true, auto",
                    "write `precision: fp32` and set the switches one by one", "false");
    s_.tf32_conv = s_.tf32_matmul = Switch::On;
  }
  void noise() {
    if (!reading_.sound("noise")) return;
    if (s_.noise.none && s_.noise.jitter)
      check_.fail(ErrorKind::Conflict, "noise", "`noise: none` and `noise.jitter` exclude each other", "",
                  "keep one of them");
    const bool half = reading_.given("noise.jitter") || reading_.given("noise.jitter.per");
    if (half && !s_.noise.none && !reading_.given("noise.jitter.sigma"))
      check_.fail(ErrorKind::Missing, "noise.jitter.sigma", "`noise.jitter.sigma` is missing",
                  "a percentage such as 5%, or a fraction such as 0.05");
  }
  void software() {
    if (!reading_.sound("software.torch")) return;
    const Version version = torch_version(s_);
    if (version < Version{1, 7} || version >= Version{10, 0})
      check_.fail(ErrorKind::Range, "software.torch", "this version of PyTorch is not known", "\"1.7\" or newer", "",
                  s_.torch_version);
  }
  void calibration() {
    if (!s_.calibrate_in_iterations || !reading_.sound("calibrate") || !reading_.sound("batch")) return;
    if (!s_.per_gpu_batch) {
      check_.fail(ErrorKind::Conflict, "calibrate.single_gpu",
                  "a speed in iterations needs `batch.per_gpu`: under `batch.global` an iteration has no fixed size",
                  "img/s, seq/s, samples/s", "give the speed in samples per second");
      return;
    }
    s_.calibrate_single_gpu = *s_.calibrate_single_gpu * static_cast<double>(*s_.per_gpu_batch);
    s_.calibrate_in_iterations = false;
  }

  // A loader's batch is in host memory; whether that is pinned, and who touches it first, follows from the loader.
  void loader() {
    if (!s_.loader.active() || !reading_.sound("loader") || !reading_.sound("input")) return;
    if (s_.input.source == InputSource::Device && reading_.given("input.source"))
      check_.fail(ErrorKind::Conflict, "input.source",
                  "a loader (`loader.sample_cost`) puts batches into the host's memory", "host",
                  "write `input.source: host`, or leave loader.sample_cost out", "device");
    s_.input.source = InputSource::Host;
    if (!s_.loader.pin_memory && s_.input.memory == HostMemory::Pinned)
      check_.fail(ErrorKind::Conflict, "input.memory",
                  "a loader's batch is in pageable memory unless `loader.pin_memory` is true", "pageable",
                  "set `loader.pin_memory` to true", "pinned");
    if (s_.loader.pin_memory) s_.input.memory = HostMemory::Pinned;
    if (s_.loader.workers_per_process > 0 && !reading_.given("input.touched")) s_.input.touched = false;
  }

 private:
  void name_from_sizes() {
    std::vector<std::string> given;
    for (const char* kind : {"mlp", "transformer"})
      if (reading_.given(std::string("model.") + kind)) given.emplace_back(kind);
    if (given.size() == 2) {
      check_.fail(ErrorKind::Conflict, "model", "`model` holds both `mlp` and `transformer`", "", "keep one of them");
      return;
    }
    const bool named = reading_.given("model.name");
    if (!named && given.empty()) {
      const bool group = reading_.given("model");
      if (!group && !reading_.sound("model")) return;
      check_.fail(ErrorKind::Missing, group ? "model.name" : "model",
                  fmt::format("`{}` is missing", group ? "model.name" : "model"),
                  "a model of `lockstep list models`, or the path of a model file", "for example `model: resnet50`");
      return;
    }
    if (named && !given.empty() && canonical_name(s_.model_name) != given.front()) {
      check_.fail(ErrorKind::Conflict, "model." + given.front(),
                  fmt::format("`model.{}` gives sizes to the model `{}`, which does not take them", given.front(),
                              shortened(s_.model_name, 60)),
                  "", fmt::format("delete `name` or `{}`", given.front()));
      return;
    }
    if (!named) s_.model_name = given.front();
    if (s_.model_name.empty())
      check_.fail(ErrorKind::Range, "model.name", "the name is empty", "a model of `lockstep list models`, or a path");
  }
  void options_of_a_file() {
    for (const char* option : {"image", "classes", "stem", "sequence"})
      if (const std::string key = std::string("model.") + option; reading_.given(key))
        check_.fail(ErrorKind::Conflict, key, "a model file has its own sizes and takes no options", "",
                    "delete the key and change the file");
  }
  void zoo_model() {
    if (reading_.given("model.sequence") && reading_.given("model.transformer.sequence")) {
      check_.fail(ErrorKind::Conflict, "model.sequence", "`sequence` is given twice", "",
                  "keep model.transformer.sequence");
      return;
    }
    for (const Error& error : wrong_in_zoo_model())
      check_.fail(error.kind, key_of_option(s_.model_name, error.key), error.message, error.allowed, error.hint,
                  error.found);
  }

  Errors wrong_in_zoo_model() const {
    if (options_.check_zoo_model) return options_.check_zoo_model(s_.model_name, s_.model_options);
    const Expected<Model> model = build_zoo_model(s_.model_name, s_.model_options);
    return model ? Errors{} : model.error();
  }

  template <class V, class Text>
  void no_repeats(const char* key, const std::vector<V>& values, Text text) {
    if (!reading_.sound(key)) return;
    if (values.empty() && reading_.given(key))
      check_.fail(ErrorKind::Range, key, "the list is empty", "at least one value");
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (std::find(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(i), values[i]) ==
          values.begin() + static_cast<std::ptrdiff_t>(i))
        continue;
      check_.fail(ErrorKind::Range, key, fmt::format("`{}` is listed twice", text(values[i])), "",
                  "list each value once");
      return;
    }
  }

  Scenario& s_;
  Reading& reading_;
  const ReadOptions& options_;
  TableCheck check_;
};

}  // namespace

void complete_and_check(Scenario& scenario, Reading& reading, const ReadOptions& options) {
  Checks checks(scenario, reading, options);
  checks.model();
  checks.batch();
  checks.lists();
  checks.machine();
  checks.precision();
  checks.noise();
  checks.software();
  checks.calibration();
  checks.loader();
}

bool given_otherwise_than_default(const Scenario& scenario, const Reading& reading, const std::string& key) {
  if (!reading.given(key)) return false;
  const auto value_in = [&key](const Scenario& s) {
    for (const ResolvedField& field : scenario_fields().resolved(s, Reading{}))
      if (field.key == key) return field.yaml;
    return std::string();
  };
  return value_in(scenario) != value_in(Scenario{});
}

std::vector<std::string> keys_without_effect(const Scenario& s, const Reading& reading) {
  std::vector<std::string> notes;
  const auto note = [&](bool idle, const std::string& key, const char* why) {
    if (idle && given_otherwise_than_default(s, reading, key))
      notes.push_back(fmt::format("`{}` has no effect: {}", key, why));
  };
  const auto uses = [&](Strategy one) {
    return std::find(s.strategies.begin(), s.strategies.end(), one) != s.strategies.end();
  };
  for (const FieldInfo& field : scenario_fields().info().fields)
    if (field.key.rfind("ddp.", 0) == 0) note(!uses(Strategy::Ddp), field.key, "no strategy is ddp");
  note(uses(Strategy::Ddp) && s.ddp.static_graph && s.ddp.find_unused_parameters, "ddp.find_unused_parameters",
       "static_graph finds unused parameters by itself, as in PyTorch");
  if (uses(Strategy::Ddp) && s.ddp.static_graph && !s.ddp.find_unused_parameters)
    notes.push_back(
        "`ddp.static_graph` changes the first step only, whose all-reduces wait for the end of backward: later steps "
        "take the same time without it");
  for (const char* key : {"input.memory", "input.non_blocking", "input.touched", "input.dp_copy"})
    note(s.input.source == InputSource::Device, key, "the batch is on the device when the step starts");
  note(s.input.source == InputSource::Host && !uses(Strategy::Dp) && !uses(Strategy::DpCpp), "input.dp_copy",
       "no strategy is dp or dp-cpp");
  note(s.input.source == InputSource::Host && s.input.memory == HostMemory::Pageable && s.input.non_blocking,
       "input.non_blocking", "a copy from pageable memory blocks the host anyway");
  for (const char* key : {"loader.workers_per_process", "loader.prefetch_factor", "loader.pin_memory"})
    note(!s.loader.active(), key, "`loader.sample_cost` is not given, so batches are always ready");
  if (!s.loader.active() && given_otherwise_than_default(s, reading, "host.cores"))
    notes.push_back(
        "`host.cores` changes no time, only the share of the CPU that is used: `loader.sample_cost` is not given, and "
        "nothing but a data loader waits for cores");
  const bool prefetches = s.loader.workers_per_process > 0;
  note(s.loader.active() && !prefetches, "loader.prefetch_factor", "without workers nothing is loaded ahead");
  note(true, "loader.in_order", "samples cost the same, so batches are ready in order anyway");
  note(!s.data_samples, "loader.drop_last", "`data.samples` is not given, so there are no epochs");
  note(s.accumulate_steps == 1, "accumulate.no_sync", "there is one micro-step only");
  note(!s.noise.jitter, "noise.runs", "without jitter every steady-state step is the same");
  for (const char* key : {"optimizer.implementation", "optimizer.weight_decay"})
    note(s.optimizer == OptimizerKind::None, key, "there is no optimizer");
  for (const char* key : {"data.epochs", "data.validation_samples", "data.startup", "price_per_gpu_hour"})
    note(!s.data_samples, key, "`data.samples` is not given, so there is no time for the whole run");
  return notes;
}

}  // namespace lockstep
