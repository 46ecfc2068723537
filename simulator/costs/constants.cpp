#include "simulator/costs/constants.h"

namespace lockstep {
namespace {

struct Row {
  ConstantInfo info;
  double& (*field)(CostConstants&);
};

std::vector<Row> make_rows() {
  std::vector<Row> rows;
#define LOCKSTEP_ROW(part, name, unit, value, low, high, basis, source, meaning)     \
  rows.push_back({{#part "." #name, unit, value, low, high, basis, source, meaning}, \
                  [](CostConstants& c) -> double& { return c.part.name; }});
#define LOCKSTEP_CONSTANT(...) LOCKSTEP_ROW(op, __VA_ARGS__)
#include "simulator/costs/op_constants.inc"
#undef LOCKSTEP_CONSTANT
#define LOCKSTEP_CONSTANT(...) LOCKSTEP_ROW(host, __VA_ARGS__)
#define LOCKSTEP_HOST_TIME(...) LOCKSTEP_ROW(host, __VA_ARGS__)
#include "simulator/costs/host_constants.inc"
#undef LOCKSTEP_HOST_TIME
#undef LOCKSTEP_CONSTANT
#define LOCKSTEP_CONSTANT(...) LOCKSTEP_ROW(ddp, __VA_ARGS__)
#include "simulator/costs/ddp_constants.inc"
#undef LOCKSTEP_CONSTANT
#define LOCKSTEP_CONSTANT(...) LOCKSTEP_ROW(input, __VA_ARGS__)
#include "simulator/costs/input_constants.inc"
#undef LOCKSTEP_CONSTANT
#define LOCKSTEP_CONSTANT(...) LOCKSTEP_ROW(memory, __VA_ARGS__)
#include "simulator/costs/memory_constants.inc"
#undef LOCKSTEP_CONSTANT
#undef LOCKSTEP_ROW
  return rows;
}

const std::vector<Row>& rows() {
  static const std::vector<Row> all = make_rows();
  return all;
}

}  // namespace

const std::vector<ConstantInfo>& constant_table() {
  static const std::vector<ConstantInfo> table = [] {
    std::vector<ConstantInfo> infos;
    for (const Row& row : rows()) infos.push_back(row.info);
    return infos;
  }();
  return table;
}

double* find_constant(CostConstants& constants, std::string_view name) {
  for (const Row& row : rows())
    if (row.info.name == name) return &row.field(constants);
  return nullptr;
}

bool set_constant(CostConstants& constants, std::string_view name, double value) {
  double* const field = find_constant(constants, name);
  if (field != nullptr) *field = value;
  return field != nullptr;
}

const CostConstants& default_constants() {
  static const CostConstants constants;
  return constants;
}

}  // namespace lockstep
