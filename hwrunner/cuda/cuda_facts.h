// What CUDA and NCCL find on this machine, asked without LibTorch, so that what is missing gets a name. Plain C++.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace lockstep {

struct CudaFacts {
  int driver = 0, runtime = 0;       // CUDA versions as 13000 for 13.0; driver 0: none
  int nccl = 0;                      // 22809 for 2.28.9; 0: it does not answer
  std::vector<std::string> devices;  // names, in CUDA's order
  std::vector<std::string> pci_bus_ids;
  // The first of driver, device and NCCL that is missing, in a sentence without a full stop; empty: none is.
  std::string missing;
};
CudaFacts cuda_facts();

// The sentence for what the three would answer; `error`: of the call that counts devices, empty when it succeeded.
std::string what_is_missing(const CudaFacts& facts, const std::string& error);

std::string cuda_version_text(int version);  // 13.0
std::string nccl_version_text(int version);  // 2.28.9

}  // namespace lockstep
