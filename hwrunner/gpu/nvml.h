// What NVIDIA's management library says about the GPUs of this machine. Its shared library comes with the driver and is
// opened at run time: nothing here needs it to build or to start. Plain C++, no CUDA, no LibTorch. SI units.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simulator/base/error.h"

namespace lockstep {

struct NvmlGpu {
  std::string name, uuid;
  std::int64_t memory_bytes = 0;
  double max_sm_clock_hz = 0;
  int pcie_generation = 0, pcie_width = 0;  // as the link runs now: an idle GPU may have slowed it down
  int nvlinks = 0;                          // that are up
};

// Members are missing where the GPU does not tell.
struct NvmlSample {
  std::optional<double> utilisation;  // 0 to 1: time with a kernel running, over the driver's own interval
  std::optional<double> sm_clock_hz, power_w, temperature_c;
  std::optional<std::int64_t> memory_used_bytes;    // of all processes
  std::optional<std::uint64_t> clock_reasons_bits;  // nvmlClocksEventReasons of nvml.h
};

class Nvml {
 public:
  // Errors (RunFailed): the library is not there (no driver), it does not start, it lacks a function.
  static Expected<Nvml> open(const std::string& library = "libnvidia-ml.so.1");
  Nvml(Nvml&&) noexcept;
  Nvml& operator=(Nvml&&) noexcept;
  ~Nvml();

  std::string driver_version() const;  // "580.65.06"
  int count() const;
  // GPUs by NVML's index, which is that of the PCI bus and knows no CUDA_VISIBLE_DEVICES.
  NvmlGpu gpu(int index) const;
  NvmlSample sample(int index) const;
  // By a CUDA device's bus id, "0000:1b:00.0".
  std::optional<int> index_of(const std::string& pci_bus_id) const;
  // Nearest thing that both hang on: "same board", "PCIe switch", "PCIe switches", "host bridge", "NUMA node",
  // "system", and "unknown".
  std::string path_between(int a, int b) const;

 private:
  struct Library;
  explicit Nvml(std::unique_ptr<Library> library);
  std::unique_ptr<Library> library_;
};

// Why the clocks are lower than they could be, in words: "power cap", "thermal", ...; not that the GPU is idle or that
// somebody chose the clock.
std::vector<std::string> throttle_reasons(std::uint64_t bits);

// For the key `machine` of a result: driver, gpu0: name, gpu0_memory_bytes, gpu0_max_sm_clock_hz, gpu0_pcie "gen4 x16",
// gpu0_nvlinks, gpu0_gpu1: the path. GPU i is that of NVML's index indices[i].
std::map<std::string, std::string> nvml_fingerprint(const Nvml& nvml, const std::vector<int>& indices);

// Running summary of samples.
class NvmlSummary {
 public:
  void add(const NvmlSample& sample);
  // gpu_utilisation (mean), gpu_sm_clock_hz_min, gpu_sm_clock_hz_mean, gpu_power_w_mean, gpu_temperature_c_max,
  // gpu_memory_used_bytes_max, gpu_throttled ("power cap 12 %": share of samples), gpu_samples; what was never told is
  // left out.
  std::map<std::string, std::string> facts() const;
  // A sentence if anything slowed the GPU down in a tenth of the samples or more.
  std::optional<std::string> warning() const;

 private:
  struct Series {
    double sum = 0, least = 0, most = 0;
    int count = 0;
    void add(double value);
  };
  std::vector<std::pair<std::string, double>> throttled() const;  // reason, share of the samples

  int samples_ = 0;
  Series utilisation_, sm_clock_hz_, power_w_, temperature_c_, memory_bytes_;
  std::map<std::string, int> reasons_;
};

}  // namespace lockstep
