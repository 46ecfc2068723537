// The GPU half of lockstep-hwrunner-cuda: what it says of itself, which GPU is whose, and two commands of its own.
#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <thread>

#include "hwrunner/cuda/cuda_device.h"
#include "hwrunner/cuda/cuda_facts.h"
#include "hwrunner/gpu/nvml.h"
#include "hwrunner/gpu/slowdown.h"
#include "hwrunner/program/accelerator.h"
#include "hwrunner/program/torch_rank.h"
#include "hwrunner/rank/rank.h"
#include "scenarios/reader.h"
#include "simulator/base/document.h"

namespace lockstep {
namespace {

constexpr const char* kUsage =
    "  lockstep-hwrunner-cuda watch [--every SECONDS]   the GPUs as NVML sees them, as CSV, until it is stopped\n"
    "  lockstep-hwrunner-cuda slowdown FILE [--blocks 1,2,4] [--rates 0,50e9] [--threads 512] [--steps 20]\n"
    "      the training step of the scenario on one GPU beside a kernel of so many blocks that copies so many bytes "
    "per\n"
    "      second within the GPU's memory; as CSV\n";

template <class Number>
std::optional<std::vector<Number>> numbers_of(const std::string& text) {
  std::vector<Number> list;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    Number number{};
    const auto [after, code] = std::from_chars(at, end, number);
    if (code != std::errc{} || number < 0 || (after < end && *after != ',')) return std::nullopt;
    list.push_back(number);
    at = after < end ? after + 1 : after;
  }
  return list.empty() ? std::nullopt : std::optional(list);
}

int complain(const std::string& text) {
  fmt::print(stderr, "lockstep-hwrunner-cuda: {}\n", text);
  return 64;
}

// --- watch -----------------------------------------------------------------------------------------

std::string csv_number(const std::optional<double>& value) {
  return value ? fmt::format("{:.6g}", *value) : "";
}

int watch(const std::vector<std::string>& words) {
  double every_s = 1;
  if (words.size() == 3 && words[1] == "--every") {
    const auto given = numbers_of<double>(words[2]);
    if (!given || given->front() < 0.05) return complain("--every takes seconds, 0.05 or more, found " + words[2]);
    every_s = given->front();
  } else if (words.size() != 1) {
    return complain("watch takes only --every SECONDS");
  }
  const auto nvml = Nvml::open();
  if (!nvml) {
    fmt::print(stderr, "lockstep-hwrunner-cuda: {}\n", nvml.error().front().message);
    return 2;
  }
  fmt::print("time_s,gpu,utilisation,sm_clock_hz,power_w,temperature_c,memory_used_bytes,throttled\n");
  for (;;) {
    for (int i = 0; i < nvml->count(); ++i) {
      const NvmlSample s = nvml->sample(i);
      fmt::print("{:.3f},{},{},{},{},{},{},{}\n", rank_clock_s(), i, csv_number(s.utilisation),
                 csv_number(s.sm_clock_hz), csv_number(s.power_w), csv_number(s.temperature_c),
                 s.memory_used_bytes ? fmt::format("{}", *s.memory_used_bytes) : "",
                 fmt::join(throttle_reasons(s.clock_reasons_bits.value_or(0)), " + "));
    }
    if (std::fflush(stdout) != 0) return 0;  // the reader has gone
    std::this_thread::sleep_for(std::chrono::duration<double>(every_s));
  }
}

// --- slowdown --------------------------------------------------------------------------------------

struct SlowdownWords {
  std::string file, wrong;
  SlowdownOptions options;
};

SlowdownWords slowdown_words(const std::vector<std::string>& words) {
  SlowdownWords given;
  for (std::size_t i = 1; i < words.size() && given.wrong.empty(); ++i) {
    const std::string& word = words[i];
    if (word.rfind("--", 0) != 0) {
      if (!given.file.empty()) given.wrong = "one scenario at a time, found " + word;
      given.file = word;
      continue;
    }
    const std::string value = i + 1 < words.size() ? words[++i] : "";
    const auto counts = numbers_of<int>(value);
    if (word == "--blocks" && counts)
      given.options.blocks = *counts;
    else if (word == "--threads" && counts)
      given.options.threads = counts->front();
    else if (word == "--steps" && counts && counts->front() > 0)
      given.options.steps = counts->front();
    else if (const auto rates = numbers_of<double>(value); word == "--rates" && rates)
      given.options.rates_bps = *rates;
    else
      given.wrong = fmt::format("`{} {}` is not understood", word, value);
  }
  if (given.wrong.empty() && given.file.empty()) given.wrong = "slowdown takes a scenario file";
  return given;
}

RunPlan plan_for_slowdown(const std::string& file, std::string scenario, std::int64_t batch) {
  RunPlan plan;
  plan.per_gpu_batch = batch;
  plan.warm_up = plan.steps = 1;
  plan.instrumented = true;
  plan.backend = Backend::Nccl;
  plan.on_gpus = true;
  plan.scenario_file = file;
  plan.scenario = std::move(scenario);
  return plan;
}

// The trainer is left alive: a context that a kernel may still use is gone with the process.
Expected<std::vector<SlowdownRow>> slowdown_of(const RunPlan& plan, const SlowdownOptions& options) {
  auto* const trainer = make_torch_rank(plan, RankPlace{}).release();
  trainer->build();
  trainer->join();
  auto kernel = SideKernel::make(0);
  if (!kernel) return tl::unexpected(std::move(kernel.error()));
  SideWork work{[&](const SideLoad& load) { return kernel->start(load); }, [&] { return kernel->stop(); }};
  return measure_slowdown(*trainer, work, options);
}

int slowdown(const std::vector<std::string>& words) {
  const SlowdownWords given = slowdown_words(words);
  if (!given.wrong.empty()) return complain(given.wrong);
  auto text = read_text_file(given.file);
  if (!text) return complain(to_text(text.error().front()));
  const auto scenario = read_scenario(*text, given.file);
  if (!scenario) return complain(to_text(scenario.error().front()));
  const std::int64_t batch = scenario->per_gpu_batch ? *scenario->per_gpu_batch : *scenario->global_batch;
  std::string failed;
  try {
    const auto rows = slowdown_of(plan_for_slowdown(given.file, *std::move(text), batch), given.options);
    if (rows) {
      fmt::print("{}", slowdown_csv(*rows));
      return 0;
    }
    failed = to_text(rows.error().front());
  } catch (const TrainerFailure& failure) {
    failed = failure.message;
  } catch (const std::exception& failure) {
    failed = sorted_failure(failure.what()).message;
  }
  fmt::print(stderr, "lockstep-hwrunner-cuda: {}\n", failed);
  return 2;
}

}  // namespace

void probe_accelerator(RunnerProbe& answer) {
  const CudaFacts facts = cuda_facts();
  answer.missing = facts.missing;
  answer.devices = facts.devices;
  for (const auto& [name, version] : accelerator_software()) answer.software[name] = version;
  if (facts.missing.empty()) answer.backends.emplace_back("nccl");
  const auto nvml = Nvml::open();
  if (!nvml) return;
  std::vector<int> indices;
  for (const std::string& bus : facts.pci_bus_ids)
    if (const auto index = nvml->index_of(bus)) indices.push_back(*index);
  answer.machine = nvml_fingerprint(*nvml, indices);
}

std::map<std::string, std::string> accelerator_software() {
  const CudaFacts facts = cuda_facts();
  std::map<std::string, std::string> software = {{"cuda", cuda_version_text(facts.runtime)}};
  if (facts.nccl > 0) software["nccl"] = nccl_version_text(facts.nccl);
  if (facts.driver > 0) software["cuda_driver"] = cuda_version_text(facts.driver);
  return software;
}

std::shared_ptr<TorchDevice> accelerator_of(const RunPlan& plan, const RankPlace& place) {
  const CudaFacts facts = cuda_facts();
  const int there = static_cast<int>(facts.devices.size());
  const bool without_nccl = plan.backend == Backend::Gloo && there > 0;
  if (!facts.missing.empty() && !without_nccl) throw TrainerFailure{"setup", facts.missing, {}};
  CudaDeviceOptions options;
  options.nccl = plan.backend == Backend::Nccl;
  options.wait_s = plan.timeouts.group_s;
  if (has_replicas(plan.strategy)) options.devices = plan.world_size;
  // Gloo's ranks may share a GPU; NCCL's may not.
  if (plan.strategy == Strategy::Ddp) options.first = options.nccl ? place.local_rank : place.local_rank % there;
  if (const int wanted = options.first + options.devices; wanted > there)
    throw TrainerFailure{
        "setup", fmt::format("this machine has {} GPU{}, {} are needed", there, there == 1 ? "" : "s", wanted), {}};
  return make_cuda_device(options);
}

std::optional<int> accelerator_command(const std::vector<std::string>& words) {
  if (!words.empty() && words.front() == "watch") return watch(words);
  if (!words.empty() && words.front() == "slowdown") return slowdown(words);
  return std::nullopt;
}

const char* accelerator_usage() {
  return kUsage;
}

}  // namespace lockstep
