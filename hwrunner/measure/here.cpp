#include "hwrunner/measure/here.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "simulator/answers/points.h"
#include "simulator/base/format.h"

namespace lockstep {
namespace {

constexpr double kLongestStep_s = 5;
constexpr double kMemoryShare = 0.6;
constexpr int kCoresOfThePreset = 64;  // topologies/nodes/cpu-host.yaml

std::string cores_of(const Machine& machine) {
  return fmt::format("{} core{}", machine.cores, machine.cores == 1 ? "" : "s");
}

Error wrong(ErrorKind kind, std::string key, std::string found, std::string message, std::string hint) {
  Error error;
  error.kind = kind;
  error.key = std::move(key);
  error.found = std::move(found);
  error.message = std::move(message);
  error.hint = std::move(hint);
  return error;
}

// What a rank is expected to take and to hold, by the estimate; nothing when there is none.
std::optional<Run> expected_single(const Inputs& inputs) {
  Points points(inputs, Method::Estimate, {});
  auto run = points.alone(Strategy::Single, 1);
  if (!run || run->not_run) return std::nullopt;
  return *std::move(run);
}

class Resolver {
 public:
  Resolver(const ScenarioText& given, const Machine& machine) : machine_(machine) { here_.text = given; }

  Expected<Here> run() {
    auto read = read_scenario_with_origins(here_.text.text, here_.text.file, here_.text.sets);
    if (!read) return tl::unexpected(std::move(read.error()));
    const Scenario& s = read->scenario;
    const int threads = s.measure.threads_per_rank;
    held_ = std::min(ranks_held(machine_, threads), kCoresOfThePreset / threads);
    if (held_ == 0)
      return tl::unexpected(Errors{wrong(ErrorKind::Range, "measure.threads_per_rank", fmt::format("{}", threads),
                                         fmt::format("this machine has {}", cores_of(machine_)),
                                         fmt::format("at most {} threads in a rank", machine_.cores))});
    set(fmt::format("topology={{node: cpu-host, gpus_per_node: {}}}", held_));
    if (s.topology_node != "cpu-host")
      here_.notes.push_back(fmt::format("measured on this machine's {} in place of {}", cores_of(machine_),
                                        s.topology_node.empty() ? "the scenario's nodes" : s.topology_node));
    numbers(s);
    if (s.calibrate_single_gpu) set("calibrate.single_gpu=none");
    if (s.precision == Precision::Tf32) {
      set("precision=fp32");
      set("tf32={conv: auto, matmul: auto}");
      here_.notes.emplace_back("a CPU has no TF32: precision is fp32");
    }
    const auto origin = read->reading.origins.find(s.per_gpu_batch ? "batch.per_gpu" : "batch.global");
    const bool fixed = origin != read->reading.origins.end() && origin->second.from == Origin::From::Set;
    if (!fixed)
      if (auto done = batch(s); !done) return tl::unexpected(std::move(done.error()));
    return std::move(here_);
  }

 private:
  void set(std::string assignment) { here_.text.sets.push_back(std::move(assignment)); }

  void numbers(const Scenario& s) {
    std::vector<int> kept;
    for (const int gpus : s.gpus) {
      if (gpus <= held_) {
        kept.push_back(gpus);
        continue;
      }
      for (const Strategy strategy : s.strategies)
        if (strategy != Strategy::Single)
          here_.held_back.push_back({strategy, gpus,
                                     too_many_ranks(machine_, gpus, s.measure.threads_per_rank)
                                         .value_or(fmt::format("cpu-host has {} cores", kCoresOfThePreset))});
    }
    if (kept.empty()) {
      kept = {held_};
      here_.notes.push_back(fmt::format("gpus is {}: the most that this machine holds", held_));
    }
    most_ = *std::max_element(kept.begin(), kept.end());
    set(fmt::format("gpus=[{}]", fmt::join(kept, ", ")));
  }

  // Halves the batch while a step takes too long or memory is short.
  tl::expected<void, Errors> batch(const Scenario& s) {
    const char* key = s.per_gpu_batch ? "per_gpu" : "global";
    const std::int64_t given = s.per_gpu_batch ? *s.per_gpu_batch : *s.global_batch;
    std::int64_t batch = given;
    for (;; batch /= 2) {
      const ScenarioText tried = here_.text.with(fmt::format("batch={{{}: {}}}", key, batch));
      auto inputs = load_inputs(tried, Accept::Measured);
      if (!inputs) return tl::unexpected(std::move(inputs.error()));
      const auto run = expected_single(*inputs);
      if (!run || batch % 2 != 0 || bearable(*run)) break;
    }
    if (batch == given) return {};
    set(fmt::format("batch={{{}: {}}}", key, batch));
    here_.notes.push_back(
        fmt::format("batch.{} is {} in place of {}: a step of {} would take too long here", key, batch, given, given));
    return {};
  }

  bool bearable(const Run& run) const {
    const double ranks = run.scaling == "strong" ? 1 : most_;
    double memory_bytes = 0;
    for (const RankStats& rank : run.ranks)
      memory_bytes = std::max(memory_bytes, static_cast<double>(rank.memory_reserved_bytes.value_or(0)));
    const bool fits = machine_.available_bytes == 0 ||
                      memory_bytes * ranks <= kMemoryShare * static_cast<double>(machine_.available_bytes);
    return run.step_time_s <= kLongestStep_s && fits;
  }

  const Machine& machine_;
  int held_ = 1, most_ = 1;
  Here here_;
};

std::string letters_of(const std::string& text) {
  std::string bare;
  for (const char c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      bare += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return bare;
}

// "rtx3090" in "NVIDIA GeForce RTX 3090"; "h100" of h100-sxm5 in "NVIDIA H100 80GB HBM3".
bool is_called(const std::string& gpu, const std::string& device) {
  return letters_of(device).find(letters_of(gpu.substr(0, gpu.find('-')))) != std::string::npos;
}

}  // namespace

int ranks_held(const Machine& machine, int threads) {
  return machine.cores / std::max(threads, 1);
}

std::optional<std::string> too_many_ranks(const Machine& machine, int ranks, int threads) {
  const int held = ranks_held(machine, threads);
  if (ranks <= held) return std::nullopt;
  return fmt::format("this machine has {}: it holds {} rank{} of {} thread{}", cores_of(machine), held,
                     held == 1 ? "" : "s", threads, threads == 1 ? "" : "s");
}

Expected<Here> resolve_here(const ScenarioText& given, const Machine& machine) {
  return Resolver(given, machine).run();
}

std::optional<Error> not_this_machine(const Inputs& inputs, const Machine& machine, const RunnerProbe* gpus) {
  const Topology& topology = inputs.topology;
  const auto no = [&](const std::string& why) {
    return wrong(ErrorKind::Conflict, "topology.node", inputs.scenario().topology_node,
                 fmt::format("the scenario's machine is not this one: {}", why),
                 fmt::format("--here measures on this machine's {}", cores_of(machine)));
  };
  if (topology.node.gpu.vendor == "cpu") {
    const int threads = inputs.scenario().measure.threads_per_rank;
    if (const auto reason = too_many_ranks(machine, topology.gpus_per_node, threads))
      return no(fmt::format("{} has {} such ranks and {}", topology.name, topology.gpus_per_node, *reason));
    return std::nullopt;
  }
  std::error_code ignored;
  if (gpus == nullptr) {
    if (std::filesystem::exists("/dev/nvidiactl", ignored)) return std::nullopt;  // the runner will tell which
    return no(fmt::format("{} has GPUs, and there is no NVIDIA driver here", topology.name));
  }
  if (gpus->devices.empty()) return no(gpus->missing.empty() ? "there is no GPU here" : gpus->missing);
  for (const std::string& device : gpus->devices)
    if (!is_called(topology.node.gpu.name, device))
      return no(fmt::format("{} has {}, here is {}", topology.name, topology.node.gpu.name, device));
  return std::nullopt;
}

}  // namespace lockstep
