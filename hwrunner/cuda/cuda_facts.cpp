#include "hwrunner/cuda/cuda_facts.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <nccl.h>

#include <array>
#include <cstdlib>

namespace lockstep {

std::string cuda_version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

// Two digits for minor and patch since 2.9, one for the minor before.
std::string nccl_version_text(int version) {
  const int major = version >= 10000 ? version / 10000 : version / 1000;
  const int minor = version >= 10000 ? version % 10000 / 100 : version % 1000 / 100;
  return fmt::format("{}.{}.{}", major, minor, version % 100);
}

std::string what_is_missing(const CudaFacts& facts, const std::string& error) {
  if (facts.driver == 0)
    return fmt::format("there is no NVIDIA driver on this machine (the runner has CUDA {})",
                       cuda_version_text(facts.runtime));
  if (facts.driver / 1000 < facts.runtime / 1000)
    return fmt::format("the NVIDIA driver is one for CUDA {}, older than the runner's CUDA {}",
                       cuda_version_text(facts.driver), cuda_version_text(facts.runtime));
  if (facts.devices.empty()) {
    const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
    return fmt::format("there is an NVIDIA driver but no GPU{}{}",
                       visible != nullptr ? fmt::format(" (CUDA_VISIBLE_DEVICES is `{}`)", visible) : "",
                       error.empty() ? "" : ": " + error);
  }
  if (facts.nccl == 0) return "NCCL does not answer";
  return "";
}

CudaFacts cuda_facts() {
  CudaFacts facts;
  std::string error;
  cudaDriverGetVersion(&facts.driver);
  cudaRuntimeGetVersion(&facts.runtime);
  int count = 0;
  if (const cudaError_t status = cudaGetDeviceCount(&count); status != cudaSuccess) {
    count = 0;
    error = cudaGetErrorString(status);
    cudaGetLastError();  // else the next call that succeeds would report it
  }
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp properties{};
    std::array<char, 32> bus{};
    if (cudaGetDeviceProperties(&properties, i) != cudaSuccess) continue;
    facts.devices.emplace_back(properties.name);
    const bool known = cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), i) == cudaSuccess;
    facts.pci_bus_ids.emplace_back(known ? bus.data() : "");
  }
  if (ncclGetVersion(&facts.nccl) != ncclSuccess) facts.nccl = 0;
  facts.missing = what_is_missing(facts, error);
  return facts;
}

}  // namespace lockstep
