#include "simulator/costs/constants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/simulator/costs/table.h"

namespace lockstep {
namespace {

using reference::number;
using reference::read_table;
using reference::Row;

double to_seconds(const std::string& unit) {
  if (unit.starts_with("microseconds")) return 1e-6;
  if (unit.starts_with("milliseconds")) return 1e-3;
  return 1;
}

TEST(Constants, TheOpConstantsAreTheTablesInValueRangeBasisAndSource) {
  std::size_t at = 0;
  for (const Row& row : read_table("op_efficiency_fit.csv")) {
    if (row.at("id").starts_with("tile_rel")) continue;
    ASSERT_LT(at, constant_table().size());
    const ConstantInfo& constant = constant_table()[at++];
    EXPECT_TRUE(constant.name.starts_with("op." + row.at("id"))) << constant.name << " for " << row.at("id");
    const double scale = to_seconds(row.at("unit"));
    EXPECT_DOUBLE_EQ(constant.value, scale * number(row.at("value"))) << constant.name;
    EXPECT_DOUBLE_EQ(constant.low, scale * number(row.at("low"))) << constant.name;
    EXPECT_DOUBLE_EQ(constant.high, scale * number(row.at("high"))) << constant.name;
    EXPECT_EQ(constant.basis, row.at("basis")) << constant.name;
    EXPECT_EQ(constant.source, row.at("open_source")) << constant.name;
  }
  EXPECT_TRUE(constant_table()[at].name.starts_with("host."));  // no op constant beside the table's
}

TEST(Constants, EachHasAUniqueNameAUnitARangeAroundItsValueAndASource) {
  std::set<std::string> names;
  for (const ConstantInfo& c : constant_table()) {
    EXPECT_TRUE(names.insert(c.name).second) << c.name;
    EXPECT_FALSE(c.unit.empty()) << c.name;
    EXPECT_FALSE(c.meaning.empty()) << c.name;
    EXPECT_LE(c.low, c.value) << c.name;
    EXPECT_GE(c.high, c.value) << c.name;
    EXPECT_THAT((std::set<std::string>{"fit", "measured", "prior", "source"}), testing::Contains(c.basis)) << c.name;
    EXPECT_TRUE(c.basis == "prior" || !c.source.empty()) << c.name;
  }
}

TEST(Constants, TheTablesDefaultsAreTheOnesInUse) {
  CostConstants constants;
  for (const ConstantInfo& c : constant_table()) {
    const double* const value = find_constant(constants, c.name);
    ASSERT_NE(value, nullptr) << c.name;
    EXPECT_EQ(*value, c.value) << c.name;
  }
}

TEST(Constants, OneIsOverriddenByItsNameAndOnlyThatOne) {
  CostConstants constants;
  EXPECT_TRUE(set_constant(constants, "op.em_bn", 0.7));
  EXPECT_TRUE(set_constant(constants, "host.c_f", 20e-6));
  EXPECT_FALSE(set_constant(constants, "host.nothing", 1));
  int changed = 0;
  for (const ConstantInfo& c : constant_table()) changed += *find_constant(constants, c.name) != c.value ? 1 : 0;
  EXPECT_EQ(changed, 2);
  EXPECT_EQ(constants.op.em_bn, 0.7);
  EXPECT_EQ(default_constants().op.em_bn, 0.75);
}

}  // namespace
}  // namespace lockstep
