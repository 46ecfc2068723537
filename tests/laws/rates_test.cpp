// The rate of every class of links, from far below what any machine has to far above: no plateau, no jump, nothing
// faster than the wire.
#include "topologies/rates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "simulator/collectives/ring.h"
#include "tests/laws/support/points.h"

namespace lockstep::testing {
namespace {

constexpr int kRates = 200;
constexpr double kLowest = 1e6, kHighest = 50e9;
// A step is a sum of parts of which each is at most inversely proportional to the rate.
const double kRatio = std::pow(kHighest / kLowest, 1.0 / (kRates - 1));

struct Swept {
  const char *node, *fabric, *key;
};

// 16 GPUs. Every kind of fabric, and below it every class of links that its ring can cross.
const std::vector<Swept> kSwept{{"dgx1-v100", "own", "nic.rate"},
                                {"dgx1-v100", "ib-edr-4x100", "nic.rate"},
                                {"dgx1-v100", "ib-edr-4x100", "pcie.rate"},
                                {"dgx1-v100", "ib-edr-1x100", "nvlink.rate"},
                                {"dgx-a100-80gb", "own", "pcie.rate"},
                                {"dgx-a100-80gb", "ib-hdr-8x200", "nic.rate"},
                                {"dgx-a100-80gb", "efa-4x100", "nic.rate"},
                                {"dgx-a100-80gb", "ib-hdr-8x200", "nvlink.rate"},
                                {"hgx-h100", "ib-ndr-8x400", "nic.rate"},
                                {"hgx-h100", "efa-32x100", "pcie.rate"},
                                {"rtx4090-8gpu", "ib-edr-1x100", "nic.rate"},
                                {"rtx4090-8gpu", "ib-edr-1x100", "pcie.rate"},
                                {"dgx2-v100", "", "nvlink.rate"},
                                {"dgx-a100-80gb", "eth-25g", "nic.rate"},
                                {"rtx4090-8gpu", "eth-100g", "pcie.rate"},
                                {"dgx-a100-80gb", "wan-10g-50ms", "wan.rate"}};

TestPoint ddp_on_16(const Swept& swept) {
  TestPoint point;
  point.node = swept.node;
  point.fabric = swept.fabric;
  point.gpus = 16;
  point.load();
  return point;
}

// What the links of the class that bounds the ring carry together into or out of a node.
double wires_of(const Ring& ring, const Topology& t) {
  switch (ring.slowest) {
    case LinkClass::Nvlink:
      return nvlink_rate(t);
    case LinkClass::Pcie:
      return pcie_slot_rate(t) * (ring.path == PathClass::PcieShm ? 1 : ring.ranks_per_node);
    case LinkClass::Uplink:
      return pcie_uplink_rate(t);
    case LinkClass::Host:
      return interconnect_rate(t);
    case LinkClass::Nic:
    case LinkClass::Wan:
      return nics_of(t).count * nics_of(t).rate;
  }
  return 0;
}

TEST(RateOfALink, neither_jumps_nor_stands_still_nor_makes_a_step_slower) {
  for (const Swept& swept : kSwept) {
    SCOPED_TRACE(std::string(swept.node) + " " + swept.fabric + " " + swept.key);
    TestPoint point = ddp_on_16(swept);
    double before = 0, slowest = 0;
    for (int i = 0; i < kRates; ++i) {
      const double rate = kLowest * std::pow(kRatio, i);
      point.topology.overrides[swept.key] = rate;
      const double step_s = estimated_step_s(point.graph());
      if (i == 0) slowest = step_s;
      if (i > 0) {
        EXPECT_LE(step_s, before * (1 + 1e-9)) << rate;
        EXPECT_GE(step_s, before / (kRatio * 1.005)) << rate;
      }
      before = step_s;
    }
    EXPECT_GT(slowest, 20 * before);
  }
}

TEST(RateOfALink, is_never_exceeded_by_what_flows) {
  for (const Swept& swept : kSwept) {
    SCOPED_TRACE(std::string(swept.node) + " " + swept.fabric + " " + swept.key);
    Topology t = ddp_on_16(swept).topology;
    for (int i = 0; i < kRates; ++i) {
      const double rate = kLowest * std::pow(kRatio, i);
      t.overrides[swept.key] = rate;
      const Ring ring = ring_of(t, 16);
      EXPECT_LE(ring_rate(ring), wires_of(ring, t) * (1 + 1e-9)) << rate << " by " << name_of(ring.slowest);
    }
  }
}

// Links that a rate leaves behind are used as before: an override with the file's own rate changes nothing.
TEST(RateOfALink, as_in_the_file_changes_nothing) {
  for (const Swept& swept : kSwept) {
    Topology t = ddp_on_16(swept).topology;
    const Ring before = ring_of(t, 16);
    const std::string key = swept.key;
    t.overrides[key] = key == "pcie.rate" ? pcie_slot_rate(t) : key == "nvlink.rate" ? nvlink_rate(t) : nics_of(t).rate;
    const Ring after = ring_of(t, 16);
    EXPECT_EQ(after.channels, before.channels) << swept.node << " " << key;
    EXPECT_EQ(after.communicator_channels, before.communicator_channels) << swept.node << " " << key;
    EXPECT_DOUBLE_EQ(after.bus_bandwidth(), before.bus_bandwidth()) << swept.node << " " << key;
    EXPECT_EQ(after.slowest, before.slowest) << swept.node << " " << key;
  }
}

}  // namespace
}  // namespace lockstep::testing
