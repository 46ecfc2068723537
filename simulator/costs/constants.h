// Every constant of the cost models in one table: name, unit, value, range, basis and source. The rows stand in
// op_constants.inc (generated), host_constants.inc, ddp_constants.inc, input_constants.inc and memory_constants.inc;
// the structs below and the table are both made from those rows, so that a default and its range cannot part. A
// calibration file overrides a constant by its name with set_constant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "simulator/costs/ddp_cost.h"
#include "simulator/costs/host_cost.h"
#include "simulator/costs/input_cost.h"
#include "simulator/costs/memory_cost.h"

namespace lockstep {

// Efficiencies and passes of kernels (op_constants.inc). Fractions of the data-sheet peak or DRAM rate unless the table
// gives another unit.
struct OpConstants {
#define LOCKSTEP_CONSTANT(name, unit, value, low, high, basis, source, meaning) double name = value;
#include "simulator/costs/op_constants.inc"
#undef LOCKSTEP_CONSTANT
};

struct CostConstants {
  OpConstants op;
  HostCosts host;  // at host factor 1; host_costs(constants.host, u) scales
  DdpCosts ddp;
  InputCosts input;
  MemoryCosts memory;
};

struct ConstantInfo {
  std::string name;  // "op.e_gemm_tf32_a100", "host.c_f", "ddp.phi", "input.pageable_rate", "memory.cuda_context"
  std::string unit;
  double value = 0, low = 0, high = 0;  // default and its range
  std::string basis;                    // fit | measured | prior | source
  std::string source;                   // where it comes from; never empty for fit
  std::string meaning;
};

// All rows, in the order op, host, ddp, input, memory.
const std::vector<ConstantInfo>& constant_table();

// The value of one constant; nullptr when no constant has this name.
double* find_constant(CostConstants& constants, std::string_view name);
bool set_constant(CostConstants& constants, std::string_view name, double value);  // false: no such name

const CostConstants& default_constants();

}  // namespace lockstep
