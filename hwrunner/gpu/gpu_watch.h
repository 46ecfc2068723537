// Looks at a GPU through NVML while work runs on it, on a thread of its own. Plain C++.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "hwrunner/gpu/nvml.h"

namespace lockstep {

class GpuWatch {
 public:
  // `index`: NVML's own. Without NVML there are no facts.
  GpuWatch(std::optional<Nvml> nvml, int index);
  ~GpuWatch();
  GpuWatch(const GpuWatch&) = delete;
  GpuWatch& operator=(const GpuWatch&) = delete;

  void start();  // the first call counts
  // As NvmlSummary, so far.
  std::map<std::string, std::string> facts() const;
  std::vector<std::string> warnings() const;

 private:
  void watch();

  std::optional<Nvml> nvml_;
  int index_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable stop_asked_;
  bool stop_ = false, started_ = false;
  NvmlSummary summary_;
  std::thread thread_;
};

}  // namespace lockstep
