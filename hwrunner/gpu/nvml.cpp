#include "hwrunner/gpu/nvml.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace lockstep {
namespace {

// The part of nvml.h that is used, written down by its documentation (NVIDIA, NVML API reference, CUDA 13.0).
using Status = int;                    // nvmlReturn_t: 0 is success
using Device = void*;                  // nvmlDevice_t
constexpr int kSmClock = 1;            // NVML_CLOCK_SM
constexpr unsigned kMostNvlinks = 18;  // NVML_NVLINK_MAX_LINKS
constexpr std::size_t kTextBytes = 96;
struct Memory {
  unsigned long long total, free, used;
};
struct Utilisation {
  unsigned gpu, memory;  // per cent
};

struct Reason {
  std::uint64_t bit;
  const char* words;
};
// nvmlClocksEventReason*; the ones left out are idleness (1), chosen clocks (2, 0x100) and a clock shared with a
// neighbour (0x10).
constexpr std::array<Reason, 5> kReasons = {{{0x04, "power cap"},
                                             {0x08, "hardware slow-down"},
                                             {0x20, "thermal"},
                                             {0x40, "thermal (hardware)"},
                                             {0x80, "power brake"}}};

Error not_usable(std::string message) {
  Error error;
  error.kind = ErrorKind::RunFailed;
  error.message = std::move(message);
  return error;
}

}  // namespace

struct Nvml::Library {
  void* handle = nullptr;
  bool started = false;

  // Needed.
  Status (*init)() = nullptr;
  Status (*shutdown)() = nullptr;
  Status (*driver)(char*, unsigned) = nullptr;
  Status (*count)(unsigned*) = nullptr;
  Status (*by_index)(unsigned, Device*) = nullptr;
  // Whose absence only leaves something out.
  const char* (*error_text)(Status) = nullptr;
  Status (*by_bus)(const char*, Device*) = nullptr;
  Status (*index)(Device, unsigned*) = nullptr;
  Status (*name)(Device, char*, unsigned) = nullptr;
  Status (*uuid)(Device, char*, unsigned) = nullptr;
  Status (*memory)(Device, Memory*) = nullptr;
  Status (*utilisation)(Device, Utilisation*) = nullptr;
  Status (*clock)(Device, int, unsigned*) = nullptr;
  Status (*max_clock)(Device, int, unsigned*) = nullptr;
  Status (*reasons)(Device, unsigned long long*) = nullptr;
  Status (*power)(Device, unsigned*) = nullptr;
  Status (*temperature)(Device, int, unsigned*) = nullptr;
  Status (*pcie_generation)(Device, unsigned*) = nullptr;
  Status (*pcie_width)(Device, unsigned*) = nullptr;
  Status (*nvlink_state)(Device, unsigned, int*) = nullptr;
  Status (*common_ancestor)(Device, Device, int*) = nullptr;

  Library() = default;
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() {
    if (started) shutdown();
    if (handle != nullptr) dlclose(handle);
  }

  template <class F>
  bool find(F& function, const char* symbol) {
    function = reinterpret_cast<F>(dlsym(handle, symbol));
    return function != nullptr;
  }

  // The name of a function that is needed and not there; nullptr when all are.
  const char* find_all() {
    if (!find(init, "nvmlInit_v2")) return "nvmlInit_v2";
    if (!find(shutdown, "nvmlShutdown")) return "nvmlShutdown";
    if (!find(driver, "nvmlSystemGetDriverVersion")) return "nvmlSystemGetDriverVersion";
    if (!find(count, "nvmlDeviceGetCount_v2")) return "nvmlDeviceGetCount_v2";
    if (!find(by_index, "nvmlDeviceGetHandleByIndex_v2")) return "nvmlDeviceGetHandleByIndex_v2";
    find(error_text, "nvmlErrorString");
    find(by_bus, "nvmlDeviceGetHandleByPciBusId_v2");
    find(index, "nvmlDeviceGetIndex");
    find(name, "nvmlDeviceGetName");
    find(uuid, "nvmlDeviceGetUUID");
    find(memory, "nvmlDeviceGetMemoryInfo");
    find(utilisation, "nvmlDeviceGetUtilizationRates");
    find(clock, "nvmlDeviceGetClockInfo");
    find(max_clock, "nvmlDeviceGetMaxClockInfo");
    // The same function under its name up to driver 530 and after.
    if (!find(reasons, "nvmlDeviceGetCurrentClocksEventReasons"))
      find(reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
    find(power, "nvmlDeviceGetPowerUsage");
    find(temperature, "nvmlDeviceGetTemperature");
    find(pcie_generation, "nvmlDeviceGetCurrPcieLinkGeneration");
    find(pcie_width, "nvmlDeviceGetCurrPcieLinkWidth");
    find(nvlink_state, "nvmlDeviceGetNvLinkState");
    find(common_ancestor, "nvmlDeviceGetTopologyCommonAncestor");
    return nullptr;
  }

  Device device(int i) const {
    Device found = nullptr;
    return i >= 0 && by_index(static_cast<unsigned>(i), &found) == 0 ? found : nullptr;
  }

  std::optional<unsigned> number(Status (*ask)(Device, unsigned*), Device of) const {
    unsigned value = 0;
    if (ask == nullptr || of == nullptr || ask(of, &value) != 0) return std::nullopt;
    return value;
  }
  std::optional<unsigned> number(Status (*ask)(Device, int, unsigned*), Device of, int kind) const {
    unsigned value = 0;
    if (ask == nullptr || of == nullptr || ask(of, kind, &value) != 0) return std::nullopt;
    return value;
  }

  std::string text(Status (*ask)(Device, char*, unsigned), Device of) const {
    std::array<char, kTextBytes> buffer{};
    if (ask == nullptr || of == nullptr || ask(of, buffer.data(), static_cast<unsigned>(buffer.size())) != 0) return "";
    return buffer.data();
  }
};

Nvml::Nvml(std::unique_ptr<Library> library) : library_(std::move(library)) {}
Nvml::Nvml(Nvml&&) noexcept = default;
Nvml& Nvml::operator=(Nvml&&) noexcept = default;
Nvml::~Nvml() = default;

Expected<Nvml> Nvml::open(const std::string& library) {
  const auto no = [&](const std::string& why) {
    return tl::make_unexpected(Errors{not_usable(fmt::format("NVML: {}", why))});
  };
  auto opened = std::make_unique<Library>();
  opened->handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (opened->handle == nullptr) {
    const char* why = dlerror();
    return no(fmt::format("no NVIDIA driver here ({})", why != nullptr ? why : library));
  }
  if (const char* lacking = opened->find_all()) return no(fmt::format("{} has no {}", library, lacking));
  if (const Status status = opened->init(); status != 0)
    return no(opened->error_text != nullptr ? opened->error_text(status) : fmt::format("error {}", status));
  opened->started = true;
  return Nvml(std::move(opened));
}

std::string Nvml::driver_version() const {
  std::array<char, kTextBytes> buffer{};
  return library_->driver(buffer.data(), static_cast<unsigned>(buffer.size())) == 0 ? buffer.data() : "";
}

int Nvml::count() const {
  unsigned count = 0;
  return library_->count(&count) == 0 ? static_cast<int>(count) : 0;
}

NvmlGpu Nvml::gpu(int index) const {
  const Library& l = *library_;
  const Device device = l.device(index);
  NvmlGpu gpu;
  gpu.name = l.text(l.name, device);
  gpu.uuid = l.text(l.uuid, device);
  Memory memory{};
  if (device != nullptr && l.memory != nullptr && l.memory(device, &memory) == 0)
    gpu.memory_bytes = static_cast<std::int64_t>(memory.total);
  gpu.max_sm_clock_hz = l.number(l.max_clock, device, kSmClock).value_or(0) * 1e6;
  gpu.pcie_generation = static_cast<int>(l.number(l.pcie_generation, device).value_or(0));
  gpu.pcie_width = static_cast<int>(l.number(l.pcie_width, device).value_or(0));
  for (unsigned link = 0; link < kMostNvlinks && device != nullptr && l.nvlink_state != nullptr; ++link) {
    int active = 0;
    if (l.nvlink_state(device, link, &active) == 0 && active != 0) ++gpu.nvlinks;
  }
  return gpu;
}

NvmlSample Nvml::sample(int index) const {
  const Library& l = *library_;
  const Device device = l.device(index);
  NvmlSample sample;
  if (device == nullptr) return sample;
  Utilisation utilisation{};
  if (l.utilisation != nullptr && l.utilisation(device, &utilisation) == 0)
    sample.utilisation = utilisation.gpu / 100.0;
  if (const auto mhz = l.number(l.clock, device, kSmClock)) sample.sm_clock_hz = *mhz * 1e6;
  if (const auto milliwatts = l.number(l.power, device)) sample.power_w = *milliwatts * 1e-3;
  if (const auto degrees = l.number(l.temperature, device, 0)) sample.temperature_c = *degrees;
  Memory memory{};
  if (l.memory != nullptr && l.memory(device, &memory) == 0)
    sample.memory_used_bytes = static_cast<std::int64_t>(memory.used);
  unsigned long long bits = 0;
  if (l.reasons != nullptr && l.reasons(device, &bits) == 0) sample.clock_reasons_bits = bits;
  return sample;
}

std::optional<int> Nvml::index_of(const std::string& pci_bus_id) const {
  Device device = nullptr;
  if (library_->by_bus == nullptr || library_->by_bus(pci_bus_id.c_str(), &device) != 0) return std::nullopt;
  const auto index = library_->number(library_->index, device);
  return index ? std::optional<int>(static_cast<int>(*index)) : std::nullopt;
}

std::string Nvml::path_between(int a, int b) const {
  int level = -1;
  const Device one = library_->device(a), other = library_->device(b);
  if (one == nullptr || other == nullptr || library_->common_ancestor == nullptr ||
      library_->common_ancestor(one, other, &level) != 0)
    return "unknown";
  switch (level) {  // nvmlGpuTopologyLevel_t
    case 0:
      return "same board";
    case 10:
      return "PCIe switch";
    case 20:
      return "PCIe switches";
    case 30:
      return "host bridge";
    case 40:
      return "NUMA node";
    case 50:
      return "system";
    default:
      return "unknown";
  }
}

std::vector<std::string> throttle_reasons(std::uint64_t bits) {
  std::vector<std::string> words;
  for (const Reason& reason : kReasons)
    if ((bits & reason.bit) != 0) words.emplace_back(reason.words);
  return words;
}

std::map<std::string, std::string> nvml_fingerprint(const Nvml& nvml, const std::vector<int>& indices) {
  std::map<std::string, std::string> facts;
  facts["driver"] = nvml.driver_version();
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const NvmlGpu gpu = nvml.gpu(indices[i]);
    const std::string key = fmt::format("gpu{}", i);
    facts[key] = gpu.name;
    if (gpu.memory_bytes > 0) facts[key + "_memory_bytes"] = fmt::format("{}", gpu.memory_bytes);
    if (gpu.max_sm_clock_hz > 0) facts[key + "_max_sm_clock_hz"] = fmt::format("{}", gpu.max_sm_clock_hz);
    if (gpu.pcie_width > 0) facts[key + "_pcie"] = fmt::format("gen{} x{}", gpu.pcie_generation, gpu.pcie_width);
    facts[key + "_nvlinks"] = fmt::format("{}", gpu.nvlinks);
    for (std::size_t other = i + 1; other < indices.size(); ++other)
      facts[fmt::format("{}_gpu{}", key, other)] = nvml.path_between(indices[i], indices[other]);
  }
  return facts;
}

void NvmlSummary::Series::add(double value) {
  least = count == 0 ? value : std::min(least, value);
  most = count == 0 ? value : std::max(most, value);
  sum += value;
  ++count;
}

void NvmlSummary::add(const NvmlSample& sample) {
  ++samples_;
  if (sample.utilisation) utilisation_.add(*sample.utilisation);
  if (sample.sm_clock_hz) sm_clock_hz_.add(*sample.sm_clock_hz);
  if (sample.power_w) power_w_.add(*sample.power_w);
  if (sample.temperature_c) temperature_c_.add(*sample.temperature_c);
  if (sample.memory_used_bytes) memory_bytes_.add(static_cast<double>(*sample.memory_used_bytes));
  for (const std::string& reason : throttle_reasons(sample.clock_reasons_bits.value_or(0))) ++reasons_[reason];
}

std::vector<std::pair<std::string, double>> NvmlSummary::throttled() const {
  std::vector<std::pair<std::string, double>> shares;
  for (const auto& [reason, count] : reasons_) shares.emplace_back(reason, static_cast<double>(count) / samples_);
  return shares;
}

std::map<std::string, std::string> NvmlSummary::facts() const {
  std::map<std::string, std::string> facts;
  if (samples_ == 0) return facts;
  facts["gpu_samples"] = fmt::format("{}", samples_);
  const auto tell = [&](const char* key, const Series& series, double value) {
    if (series.count > 0) facts[key] = fmt::format("{:.6g}", value);
  };
  tell("gpu_utilisation", utilisation_, utilisation_.sum / utilisation_.count);
  tell("gpu_sm_clock_hz_min", sm_clock_hz_, sm_clock_hz_.least);
  tell("gpu_sm_clock_hz_mean", sm_clock_hz_, sm_clock_hz_.sum / sm_clock_hz_.count);
  tell("gpu_power_w_mean", power_w_, power_w_.sum / power_w_.count);
  tell("gpu_temperature_c_max", temperature_c_, temperature_c_.most);
  if (memory_bytes_.count > 0) facts["gpu_memory_used_bytes_max"] = fmt::format("{:.0f}", memory_bytes_.most);
  std::vector<std::string> words;
  for (const auto& [reason, share] : throttled()) words.push_back(fmt::format("{} {:.0f} %", reason, 100 * share));
  facts["gpu_throttled"] = words.empty() ? "no" : fmt::format("{}", fmt::join(words, ", "));
  return facts;
}

std::optional<std::string> NvmlSummary::warning() const {
  std::vector<std::string> words;
  for (const auto& [reason, share] : throttled())
    if (share >= 0.1) words.push_back(fmt::format("{} in {:.0f} % of the samples", reason, 100 * share));
  if (words.empty()) return std::nullopt;
  return fmt::format("the GPU ran below its clock: {} (SM clock {:.0f} MHz on average, {:.0f} MHz at least)",
                     fmt::join(words, ", "), sm_clock_hz_.sum / std::max(sm_clock_hz_.count, 1) / 1e6,
                     sm_clock_hz_.least / 1e6);
}

}  // namespace lockstep
