// Rings against NCCL's own search, replayed from tests/data/nccl_ring_graphs.csv, and against the mesh of a DGX-1.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <charconv>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/topologies/machines.h"
#include "topologies/rates.h"
#include "topologies/ring_search.h"
#include "topologies/routes.h"

namespace lockstep {
namespace {

using test::a100_pcie_intel;
using test::hgx_h100;
using test::machine;

struct Row {
  std::string version, topology;
  int nodes = 0, per_node = 0, channels = 0, communicator_channels = 0;
  double intra = 0, inter = 0;
};

double number(const std::string& text) {
  double value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::vector<Row> nccl_rows() {
  std::ifstream file(LOCKSTEP_SOURCE_DIR "/tests/data/nccl_ring_graphs.csv");
  std::vector<Row> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#' || line.rfind("nccl_version", 0) == 0) continue;
    std::vector<std::string> cells;
    std::istringstream split(line);
    for (std::string cell; std::getline(split, cell, ',');) cells.push_back(cell);
    const auto whole = [&](std::size_t i) { return static_cast<int>(number(cells.at(i))); };
    rows.push_back({cells.at(0), cells.at(1), whole(2), whole(3), whole(5), whole(13), number(cells.at(6)) * 1e9,
                    number(cells.at(7)) * 1e9});
  }
  return rows;
}

Topology machine_of(const Row& row) {
  if (row.topology == "dgx-a100-8gpu-8hdr") return machine("dgx-a100-40gb", "ib-hdr-8x200", row.per_node);
  if (row.topology == "dgx1-v100-8gpu-4edr") return machine("dgx1-v100", "ib-edr-4x100", row.per_node);
  if (row.topology == "hgx-h100-8gpu-8ndr") return hgx_h100(row.per_node);
  if (row.topology == "a100-pcie-4gpu-intel-hostbridge-1x100g") return a100_pcie_intel(4, 2, row.per_node);
  if (row.topology == "a100-pcie-4gpu-intel-onesocket-nonet") return a100_pcie_intel(4, 4, row.per_node);
  if (row.topology == "a100-pcie-2gpu-intel-onesocket-nonet") return a100_pcie_intel(2, 2, row.per_node);
  ADD_FAILURE() << "no machine for " << row.topology;
  return {};
}

TEST(Rings, have_the_channels_and_rates_that_nccls_own_search_finds) {
  const std::vector<Row> rows = nccl_rows();
  ASSERT_EQ(rows.size(), 132u);
  for (const Row& row : rows) {
    SCOPED_TRACE(row.version + " " + row.topology + " " + std::to_string(row.nodes) + "x" +
                 std::to_string(row.per_node));
    const Ring ring = ring_of(machine_of(row), row.nodes * row.per_node);
    EXPECT_EQ(ring.nodes, row.nodes);
    EXPECT_EQ(ring.channels, row.channels);
    EXPECT_DOUBLE_EQ(ring.channel_rate, std::min(row.intra, row.inter));
    EXPECT_EQ(ring.communicator_channels, row.communicator_channels);
  }
}

// The counts 1, 2, 4, 2, 4, 6 also stand behind the all-reduce table of vTrain (VIA-Research/vTrain @f8dda84, V100):
// 22.6, 45.1, 85.4, 45.7, 87.0, 134.5 GB/s bus bandwidth at 1 GiB, 22.5 GB/s a ring.
TEST(Rings, of_the_dgx1_cube_mesh_are_1_2_4_2_4_6_for_2_3_4_6_7_8_gpus) {
  const Topology dgx1 = machine("dgx1-v100");
  const std::map<int, int> expected{{2, 1}, {3, 2}, {4, 4}, {6, 2}, {7, 4}, {8, 6}};
  for (const auto& [gpus, rings] : expected) {
    const Ring ring = ring_of(dgx1, gpus);
    EXPECT_EQ(ring.channels, rings) << gpus << " GPUs";
    EXPECT_DOUBLE_EQ(ring.channel_rate, 20e9);
    EXPECT_EQ(ring.path, PathClass::NvlinkV100);
  }
}

// GPU 4 has links to GPU 0 only (among the first five): no ring of direct links. Two go 0 -> 4 -> (0) -> next. The same
// table measured 37.2 GB/s for five GPUs, 0.83 of the 2 x 22.5 that two direct rings would give.
TEST(Rings, of_five_gpus_of_a_dgx1_pass_through_a_gpu) {
  const Topology dgx1 = machine("dgx1-v100");
  const MeshRings found = most_rings(dgx1.node.nvlink_pairs, 5);
  EXPECT_TRUE(found.through_gpus);
  EXPECT_EQ(found.rings.size(), 2u);
  EXPECT_DOUBLE_EQ(ring_of(dgx1, 5).bus_bandwidth(), 40e9);
}

TEST(MeshRings, never_use_a_link_more_often_than_it_is_there) {
  for (const char* name : {"dgx1-v100", "hgx-a100-4gpu-40gb"}) {
    const Topology t = machine(name);
    for (int gpus = 2; gpus <= t.node.gpu_count; ++gpus) {
      std::map<std::pair<int, int>, int> left;
      for (const NvLinkPair& pair : t.node.nvlink_pairs) {
        left[{pair.a, pair.b}] += pair.count;
        left[{pair.b, pair.a}] += pair.count;
      }
      const MeshRings found = most_rings(t.node.nvlink_pairs, gpus);
      ASSERT_FALSE(found.rings.empty()) << name << " " << gpus;
      for (const MeshRing& ring : found.rings) {
        EXPECT_EQ(std::set<int>(ring.gpus.begin(), ring.gpus.end()).size(), static_cast<std::size_t>(gpus));
        EXPECT_EQ(ring.links.front().first, 0);
        EXPECT_EQ(ring.links.back().second, 0);
        for (std::size_t i = 0; i < ring.links.size(); ++i) {
          EXPECT_GE(--left[ring.links[i]], 0) << name << " " << gpus << " GPUs";
          if (i > 0) {
            EXPECT_EQ(ring.links[i].first, ring.links[i - 1].second);
          }
        }
      }
    }
  }
}

TEST(MeshRings, of_gpus_without_links_are_none) {
  EXPECT_TRUE(most_rings({{0, 1, 4}, {2, 3, 4}}, 4).rings.empty());
  EXPECT_TRUE(most_rings({}, 2).rings.empty());
}

TEST(Rings, of_four_a100_linked_all_to_all_use_every_nvlink) {
  const Topology hgx = machine("hgx-a100-4gpu-40gb");
  EXPECT_EQ(ring_of(hgx, 4).channels, 12);  // 12 NVLinks a GPU, all of them
  EXPECT_EQ(ring_of(hgx, 3).channels, 8);
  EXPECT_EQ(ring_of(hgx, 2).channels, 4);
  EXPECT_EQ(ring_of(hgx, 4).path, PathClass::NvlinkA100);
  EXPECT_EQ(ring_of(hgx, 4).communicator_channels, 24);
}

TEST(Rings, of_bridged_pcie_cards_use_the_bridge_for_two_and_pcie_for_more) {
  Topology t = a100_pcie_intel(4, 4, 4);
  t.node.nvlink = NvLinkKind::Bridges;
  t.node.nvlink_pairs = {{0, 1, 12}, {2, 3, 12}};
  EXPECT_DOUBLE_EQ(ring_of(t, 2).bus_bandwidth(), 240e9);  // NVIDIA/nccl-tests issue 178 measured 208
  EXPECT_EQ(ring_of(t, 2).path, PathClass::NvlinkV100);    // the class of bridges
  EXPECT_DOUBLE_EQ(ring_of(t, 4).bus_bandwidth(), 20e9);   // issue 178: 20 with a third, unbridged card
  EXPECT_EQ(ring_of(t, 4).path, PathClass::PcieShm);
}

TEST(Rings, by_pcie_are_peer_to_peer_inside_a_switch_and_through_host_memory_beyond) {
  const Topology t = machine("a100-pcie-8gpu");
  EXPECT_EQ(ring_of(t, 4).path, PathClass::PcieP2p);
  EXPECT_DOUBLE_EQ(ring_of(t, 4).bus_bandwidth(), 24e9);
  EXPECT_EQ(ring_of(t, 4).slowest, LinkClass::Pcie);
  EXPECT_EQ(ring_of(t, 8).path, PathClass::PcieShm);
  EXPECT_DOUBLE_EQ(ring_of(t, 8).bus_bandwidth(), 15e9);  // AMD sockets count 16, the speed below is 15
  EXPECT_EQ(ring_of(t, 8).slowest, LinkClass::Host);
  Topology closed = t;
  closed.node.peer_access = false;
  EXPECT_EQ(ring_of(closed, 4).path, PathClass::PcieShm);
}

TEST(Rings, by_pcie_gen3_count_12_and_10_behind_an_intel_host_bridge) {
  Topology t = a100_pcie_intel(2, 2, 2);
  t.node.pcie.generation = 3;
  EXPECT_DOUBLE_EQ(ring_of(t, 2).bus_bandwidth(), 10e9);
  t.node.host.cpu_vendor = "amd";
  EXPECT_DOUBLE_EQ(ring_of(t, 2).bus_bandwidth(), 12e9);
  EXPECT_EQ(ring_of(t, 2).path, PathClass::PcieP2p);  // two GPUs on AMD: peer access between any
}

TEST(Rings, over_tcp_carry_the_fabrics_measured_rate) {
  const Topology t = machine("dgx-a100-80gb", "eth-100g");
  const Ring ring = ring_of(t, 32);
  EXPECT_EQ(ring.path, PathClass::Tcp);
  EXPECT_EQ(ring.intra_path, PathClass::NvlinkA100);
  EXPECT_DOUBLE_EQ(ring.bus_bandwidth(), 2.3e9);
  EXPECT_DOUBLE_EQ(ring.hop_latency, 40e-6);
  EXPECT_EQ(ring.slowest, LinkClass::Nic);
  EXPECT_EQ(ring.nodes, 4);
  EXPECT_DOUBLE_EQ(ring_of(machine("dgx1-v100", "eth-10g"), 16).bus_bandwidth(), 1.15e9);
}

TEST(Rings, over_a_fabric_with_fewer_nics_than_gpus_are_bound_by_the_nics) {
  const Ring ring = ring_of(machine("dgx-a100-80gb", "ib-edr-4x100"), 16);
  EXPECT_DOUBLE_EQ(ring.bus_bandwidth(), 48e9);
  EXPECT_EQ(ring.slowest, LinkClass::Nic);
  // one HDR adapter on the four-GPU board
  EXPECT_DOUBLE_EQ(ring_of(machine("hgx-a100-4gpu-40gb", "own"), 8).bus_bandwidth(), 24e9);
}

TEST(Rings, between_cpu_ranks_are_slower_than_their_memory) {
  const Ring ring = ring_of(machine("cpu-host"), 8);
  EXPECT_EQ(ring.path, PathClass::CpuShared);
  EXPECT_DOUBLE_EQ(ring.bus_bandwidth(), 2.2e9);
  EXPECT_NEAR(ring_of(machine("cpu-host"), 64).bus_bandwidth(), 300e9 / 6 / 64, 1);
}

TEST(Rings, of_one_gpu_have_no_links_and_no_borders) {
  const Ring ring = ring_of(machine("dgx-a100-80gb"), 1);
  EXPECT_EQ(ring.path, PathClass::SingleGpu);
  EXPECT_EQ(ring.ranks, 1);
  EXPECT_TRUE(ring.links.empty());
  EXPECT_EQ(ring.hop_latency, 0);
}

TEST(Rings, name_one_link_of_each_class_with_its_physical_rate_and_share) {
  const Ring node = ring_of(machine("dgx-a100-80gb"), 8);
  ASSERT_EQ(node.links.size(), 1u);
  EXPECT_EQ(node.links[0].id, "node0.gpu0.nvlink");
  EXPECT_DOUBLE_EQ(node.links[0].rate, 300e9);
  const Ring cluster = ring_of(machine("dgx-a100-80gb", "ib-hdr-8x200"), 16);
  ASSERT_EQ(cluster.links.size(), 2u);
  EXPECT_EQ(cluster.links[1].id, "node0.nic0");
  EXPECT_DOUBLE_EQ(cluster.links[1].rate, 25e9);
  EXPECT_DOUBLE_EQ(cluster.links[1].share, 1.0 / 8);
  // one ring of a DGX-1 takes one NVLink of six
  EXPECT_DOUBLE_EQ(ring_of(machine("dgx1-v100"), 2).links[0].rate, 25e9);
}

// --- Overrides ---------------------------------------------------------------------------------------------------

double bus(const std::string& node, const std::string& fabric, int gpus, const std::string& key, double rate) {
  return ring_of(machine(node, fabric, 0, {{key, rate}}), gpus).bus_bandwidth();
}

TEST(Overrides, of_the_nvlink_rate_scale_nccls_count_in_proportion) {
  EXPECT_DOUBLE_EQ(bus("dgx-a100-80gb", "", 8, "nvlink.rate", 600e9), 480e9);
  EXPECT_DOUBLE_EQ(bus("dgx-a100-80gb", "", 8, "nvlink.rate", 300e9), 240e9);
  EXPECT_DOUBLE_EQ(bus("dgx1-v100", "", 8, "nvlink.rate", 75e9), 60e9);
}

TEST(Overrides, never_make_a_ring_slower_by_more_bandwidth) {
  struct Case {
    const char *node, *fabric, *key;
    double base;
    int gpus;
  };
  const std::vector<Case> cases{{"dgx-a100-80gb", "", "nvlink.rate", 300e9, 8},
                                {"dgx-a100-80gb", "ib-hdr-8x200", "nvlink.rate", 300e9, 16},
                                {"dgx-a100-80gb", "ib-hdr-8x200", "nic.rate", 25e9, 16},
                                {"dgx-a100-80gb", "ib-hdr-8x200", "pcie.rate", 26e9, 16},
                                {"dgx1-v100", "ib-edr-4x100", "nic.rate", 12.5e9, 16},
                                {"dgx1-v100", "ib-edr-4x100", "pcie.rate", 13e9, 16},
                                {"dgx-a100-80gb", "eth-100g", "nic.rate", 12.5e9, 16},
                                {"a100-pcie-8gpu", "", "pcie.rate", 26e9, 4},
                                {"a100-pcie-8gpu", "", "host.rate", 380e9, 8},
                                {"a100-pcie-8gpu", "", "uplink.rate", 26e9, 8},
                                {"cpu-host", "", "host.rate", 300e9, 16}};
  for (const Case& one : cases) {
    double before = 0;
    for (double factor = 0.05; factor < 20; factor *= 1.03) {
      const double now = bus(one.node, one.fabric, one.gpus, one.key, one.base * factor);
      EXPECT_GE(now, before * (1 - 1e-12)) << one.node << " " << one.fabric << " " << one.key << " x" << factor;
      before = now;
    }
    EXPECT_GT(before, bus(one.node, one.fabric, one.gpus, one.key, one.base * 0.05)) << one.node << " " << one.key;
  }
}

TEST(Overrides, of_a_nic_beyond_pcie_gain_nothing_until_pcie_follows) {
  const std::string node = "dgx-a100-80gb", fabric = "ib-hdr-8x200";
  EXPECT_DOUBLE_EQ(bus(node, fabric, 16, "nic.rate", 50e9), 192e9);
  const Topology both = machine(node, fabric, 0, {{"nic.rate", 50e9}, {"pcie.rate", 2 * 26.2e9}});
  EXPECT_GT(ring_of(both, 16).bus_bandwidth(), 230e9);
}

TEST(Overrides, of_the_uplink_bound_a_ring_across_switches) {
  const Topology t = machine("a100-pcie-8gpu", "", 0, {{"uplink.rate", 5e9}});
  EXPECT_EQ(ring_of(t, 8).slowest, LinkClass::Uplink);
  EXPECT_LT(ring_of(t, 8).bus_bandwidth(), 5e9);
  EXPECT_DOUBLE_EQ(ring_of(t, 4).bus_bandwidth(), 24e9);  // inside one switch
}

TEST(Overrides, of_latencies_reach_the_ring) {
  const Topology t = machine("dgx-a100-80gb", "ib-hdr-8x200", 0, {{"nic.latency", 7e-6}, {"nvlink.latency", 1e-6}});
  EXPECT_DOUBLE_EQ(ring_of(t, 16).hop_latency, 7e-6);
  EXPECT_DOUBLE_EQ(ring_of(t, 16).step_latency, 1e-6);
  EXPECT_DOUBLE_EQ(ring_of(t, 8).hop_latency, 0);
}

}  // namespace
}  // namespace lockstep
