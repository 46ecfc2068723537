// A batch on its way: made by a loader's workers, pinned, copied from host memory to a GPU. Form and constants:
// docs/cost-models.md, sections "input" and "loader".
#pragma once

#include <cstdint>

#include "models/model.h"
#include "scenarios/scenario.h"

namespace lockstep {

struct InputCosts {
#define LOCKSTEP_CONSTANT(name, unit, value, low, high, basis, source, meaning) double name = value;
#include "simulator/costs/input_constants.inc"
#undef LOCKSTEP_CONSTANT
};

// Bytes that `samples` samples bring to the device: the input in `image_dtype` (token ids stay int64) and int64 labels.
std::int64_t batch_bytes(const Model& model, std::int64_t samples, DType image_dtype);

// Seconds of one copy. Pinned memory moves at the PCIe path's rate; pageable memory at its own rate, at most the
// path's. Untouched pages (a loader worker's shared memory, first read by this copy) add page faults unless memory is
// pinned.
double host_to_device_seconds(std::int64_t bytes, HostMemory memory, bool touched, double pcie_path_rate,
                              const InputCosts& costs);

// Seconds in which one thread copies a batch from pageable to pinned memory: the CPU's part of a pageable copy.
double pin_seconds(std::int64_t bytes, bool touched, const InputCosts& costs);

}  // namespace lockstep
