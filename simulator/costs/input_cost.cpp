#include "simulator/costs/input_cost.h"

#include <algorithm>

#include "simulator/base/ensure.h"

namespace lockstep {

std::int64_t batch_bytes(const Model& model, std::int64_t samples, DType image_dtype) {
  const DType dtype = model.input_dtype == DType::Int64 ? DType::Int64 : image_dtype;
  return samples * (elements_of(model.input) * bytes_of(dtype) + model.target_elements * bytes_of(DType::Int64));
}

double host_to_device_seconds(std::int64_t bytes, HostMemory memory, bool touched, double pcie_path_rate,
                              const InputCosts& costs) {
  LOCKSTEP_ENSURE(pcie_path_rate > 0, "path rate {} byte/s for {} bytes", pcie_path_rate, bytes);
  const double size = static_cast<double>(bytes);
  if (memory == HostMemory::Pinned) return size / pcie_path_rate;
  return size / std::min(costs.pageable_rate, pcie_path_rate) + (touched ? 0 : size * costs.page_fault);
}

double pin_seconds(std::int64_t bytes, bool touched, const InputCosts& costs) {
  const double size = static_cast<double>(bytes);
  return size / costs.pageable_rate + (touched ? 0 : size * costs.page_fault);
}

}  // namespace lockstep
