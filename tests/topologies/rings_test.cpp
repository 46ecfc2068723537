// Rings against NCCL's own search, replayed from tests/data/nccl_ring_graphs.csv, and against the mesh of a DGX-1.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
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
using test::chosen;
using test::hgx_h100;
using test::machine;
using test::mixed;

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

// The preset finds what NCCL finds on a machine of its kind.
TEST(Rings, of_the_hgx_h100_preset_are_those_of_nccls_search) {
  int rows = 0;
  for (const Row& row : nccl_rows()) {
    if (row.topology != "hgx-h100-8gpu-8ndr") continue;
    const Ring ring = ring_of(machine("hgx-h100", "ib-ndr-8x400", row.per_node), row.nodes * row.per_node);
    EXPECT_EQ(ring.channels, row.channels) << row.nodes << "x" << row.per_node;
    EXPECT_DOUBLE_EQ(ring.channel_rate, std::min(row.intra, row.inter)) << row.nodes << "x" << row.per_node;
    ++rows;
  }
  EXPECT_GT(rows, 20);
  EXPECT_EQ(ring_of(machine("hgx-h100"), 8).path, PathClass::NvlinkH100);
  EXPECT_DOUBLE_EQ(ring_of(machine("hgx-h100"), 8).bus_bandwidth(), 360e9);
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
  EXPECT_EQ(ring_of(t, 2).path, PathClass::NvlinkA100);    // the links of the GPU, whatever joins them
  EXPECT_DOUBLE_EQ(ring_of(t, 4).bus_bandwidth(), 20e9);   // issue 178: 20 with a third, unbridged card
  EXPECT_EQ(ring_of(t, 4).path, PathClass::PcieShm);
}

// NCCL counts 20 GB/s for each of the six NVLinks of a V100: 3 rings of 40, doubled to 6 of 20.
TEST(Rings, of_a_dgx2_take_all_six_nvlinks_of_every_gpu_for_any_number) {
  const Topology dgx2 = machine("dgx2-v100");
  for (int gpus = 2; gpus <= 16; ++gpus) {
    const Ring ring = ring_of(dgx2, gpus);
    EXPECT_EQ(ring.channels, 6) << gpus;
    EXPECT_DOUBLE_EQ(ring.channel_rate, 20e9) << gpus;
    EXPECT_EQ(ring.communicator_channels, 12) << gpus;
    EXPECT_EQ(ring.path, PathClass::NvlinkV100) << gpus;
  }
  EXPECT_DOUBLE_EQ(ring_of(dgx2, 16).links[0].rate, 150e9);
  EXPECT_DOUBLE_EQ(ring_of(machine("dgx2-v100", "own"), 32).bus_bandwidth(), 96e9);  // 8 EDR ports, 12 each
}

// NVIDIA/nccl src/graph: capability 7.5 counts 20 GB/s an NVLink, 8.6 counts 12. Two bridged RTX 2080 Ti, the same two
// links as TITAN RTX, measured 42.8 GB/s at 64 MiB (NVIDIA/nccl-tests issue 44: 1568 us).
TEST(Rings, over_a_bridge_take_its_links_as_one) {
  const Ring titan = ring_of(machine("titan-rtx-2gpu-nvlink"), 2);
  EXPECT_EQ(titan.channels, 2);
  EXPECT_DOUBLE_EQ(titan.bus_bandwidth(), 40e9);
  EXPECT_EQ(titan.path, PathClass::NvlinkV100);
  EXPECT_EQ(titan.slowest, LinkClass::Nvlink);
  EXPECT_DOUBLE_EQ(titan.links[0].rate, 50e9);
  const Ring rtx3090 = ring_of(machine("rtx3090-2gpu-nvlink"), 2);  // 48 in all: one ring of 40 fits, doubled
  EXPECT_EQ(rtx3090.channels, 2);
  EXPECT_DOUBLE_EQ(rtx3090.channel_rate, 20e9);
  EXPECT_DOUBLE_EQ(rtx3090.links[0].rate, 56.25e9);
}

TEST(Rings, of_boxes_without_peer_access_go_through_host_memory) {
  struct Box {
    const char* name;
    int gpus;
    double bus;
    LinkClass slowest;
  };
  const std::vector<Box> boxes{
      {"rtx3090-2gpu", 2, 24e9, LinkClass::Pcie},    // Gen4, AMD: no tax
      {"titan-rtx-2gpu", 2, 10e9, LinkClass::Pcie},  // Gen3 behind an Intel host bridge: 12 x 5/6
      {"titan-rtx-4gpu", 4, 10e9, LinkClass::Pcie},  // two switches below one CPU
      {"titan-rtx-4gpu", 2, 12e9, LinkClass::Pcie},  // below one switch, and yet no peer access
      {"rtx2080ti-4gpu", 4, 10e9, LinkClass::Host},  // across Skylake-type sockets: 10
      {"gtx1080ti-4gpu", 4, 6e9, LinkClass::Host},   // across Broadwell sockets: 6
      {"gtx1080ti-4gpu", 2, 10e9, LinkClass::Pcie},  // within one, not below a switch
      {"rtx4090-8gpu", 8, 15e9, LinkClass::Host},    // AMD between NUMA nodes: 16, the speed below is 15
      {"rtx4090-8gpu", 4, 15e9, LinkClass::Host},    // two of the four NUMA nodes
      {"rtx4090-8gpu", 2, 24e9, LinkClass::Pcie}};
  for (const Box& box : boxes) {
    const Ring ring = ring_of(machine(box.name), box.gpus);
    EXPECT_EQ(ring.path, PathClass::PcieShm) << box.name << " " << box.gpus;
    EXPECT_DOUBLE_EQ(ring.bus_bandwidth(), box.bus) << box.name << " " << box.gpus;
    EXPECT_EQ(ring.slowest, box.slowest) << box.name << " " << box.gpus;
  }
}

TEST(Rings, of_nodes_with_one_gpu_each_are_bound_by_the_network) {
  const Ring board = ring_of(machine("jetson-orin-nano-board", "own"), 4);
  EXPECT_EQ(board.path, PathClass::Tcp);
  EXPECT_EQ(board.intra_path, PathClass::SingleGpu);
  EXPECT_EQ(board.nodes, 4);
  EXPECT_DOUBLE_EQ(board.bus_bandwidth(), 0.115e9);
  EXPECT_DOUBLE_EQ(board.hop_latency, 40e-6);
  EXPECT_EQ(board.links.size(), 1u);
  const Ring one = ring_of(machine("rtx4090-8gpu", "ib-edr-1x100", 1), 2);
  EXPECT_EQ(one.path, PathClass::InfiniBand);
  EXPECT_DOUBLE_EQ(one.bus_bandwidth(), 12e9);
}

// tests/data/nccl_ring_graphs.csv has 1 x 24 for one GPU a node and 4 x 24 for four; a full node alone finds 8 x 24.
TEST(Rings, with_a_partly_filled_last_node_take_what_that_node_finds) {
  const Topology t = machine("dgx-a100-80gb", "ib-hdr-8x200");
  EXPECT_DOUBLE_EQ(ring_of(t, 16).bus_bandwidth(), 192e9);
  EXPECT_EQ(ring_of(t, 12).channels, 4);
  EXPECT_DOUBLE_EQ(ring_of(t, 12).bus_bandwidth(), 96e9);
  EXPECT_DOUBLE_EQ(ring_of(t, 9).bus_bandwidth(), 24e9);
  EXPECT_EQ(ring_of(t, 9).slowest_node, 1);
  EXPECT_EQ(ring_of(t, 9).intra_path, PathClass::NvlinkA100);
  EXPECT_EQ(ring_of(t, 9).ranks_per_node, 8);
}

TEST(Rings, over_mixed_nodes_are_as_slow_as_the_slowest_wherever_it_stands) {
  const double alone = ring_of(machine("dgx1-v100", "ib-edr-4x100"), 16).bus_bandwidth();
  const double fast = ring_of(machine("dgx-a100-80gb", "ib-hdr-8x200"), 16).bus_bandwidth();
  const std::vector<std::vector<std::string>> orders{{"dgx-a100-80gb", "dgx1-v100"}, {"dgx1-v100", "dgx-a100-80gb"}};
  for (const std::vector<std::string>& order : orders) {
    const Ring ring = ring_of(mixed(order, "own"), 16);
    EXPECT_LE(ring.bus_bandwidth(), alone);
    EXPECT_LT(ring.bus_bandwidth(), fast);
    EXPECT_GT(ring.bus_bandwidth(), 0.8 * alone);
    EXPECT_EQ(ring.slowest_node, order[0] == "dgx1-v100" ? 0 : 1);
    EXPECT_EQ(ring.links.back().id, order[0] == "dgx1-v100" ? "node0.nic0" : "node1.nic0");
    EXPECT_EQ(ring.ranks_per_node, 8);
  }
  // one node of the list alone knows nothing of the other
  EXPECT_DOUBLE_EQ(ring_of(mixed({"dgx-a100-80gb", "dgx1-v100"}, "own"), 8).bus_bandwidth(), 240e9);
}

// NVIDIA/nccl src/init.cc: ranks exchange what their nodes found and take the minimum of channels and of rates, each.
TEST(Rings, over_mixed_nodes_have_the_fewest_channels_and_the_lowest_rate_of_any) {
  const std::vector<std::array<const char*, 3>> mixes{{"dgx1-v100", "hgx-a100-4gpu-40gb", "own"},
                                                      {"dgx-a100-80gb", "dgx2-v100", "ib-ndr-8x400"},
                                                      {"rtx3090-2gpu", "rtx3090-2gpu-nvlink", "ib-hdr-8x200"},
                                                      {"hgx-h100", "dgx-a100-80gb", "ib-ndr-8x400"}};
  for (const auto& [first, second, fabric] : mixes) {
    const Topology a = machine(first, fabric), b = machine(second, fabric);
    const Ring of_a = ring_of(a, 2 * a.gpus_per_node), of_b = ring_of(b, 2 * b.gpus_per_node);
    const Ring both = ring_of(mixed({first, second}, fabric), a.gpus_per_node + b.gpus_per_node);
    EXPECT_EQ(both.channels, std::min(of_a.channels, of_b.channels)) << first << " " << second;
    EXPECT_DOUBLE_EQ(both.channel_rate, std::min(of_a.channel_rate, of_b.channel_rate)) << first << " " << second;
  }
  // 4 x 12 and 1 x 24 agree on 1 x 12
  EXPECT_DOUBLE_EQ(ring_of(mixed({"dgx1-v100", "hgx-a100-4gpu-40gb"}, "own"), 12).bus_bandwidth(), 12e9);
}

TEST(TcpRate, of_mixed_nodes_with_own_nics_is_that_of_the_slowest) {
  const Topology t = mixed({"rtx2080ti-4gpu", "titan-rtx-2gpu", "titan-rtx-4gpu"}, "own");
  EXPECT_DOUBLE_EQ(tcp_rate(t).rate, 0.115e9);
  EXPECT_DOUBLE_EQ(tcp_rate(t).low, 0.07e9);
  EXPECT_DOUBLE_EQ(ring_of(t, 10).bus_bandwidth(), 0.115e9);
  EXPECT_DOUBLE_EQ(ring_of(t, 6).bus_bandwidth(), 0.115e9);
}

TEST(Rings, over_a_list_of_like_nodes_are_those_of_the_node) {
  const Topology list = mixed({"dgx-a100-80gb", "dgx-a100-80gb", "dgx-a100-80gb"}, "ib-hdr-8x200");
  const Topology like = machine("dgx-a100-80gb", "ib-hdr-8x200");
  for (int gpus = 1; gpus <= 24; ++gpus) {
    const Ring a = ring_of(list, gpus), b = ring_of(like, gpus);
    EXPECT_EQ(a.channels, b.channels) << gpus;
    EXPECT_DOUBLE_EQ(a.bus_bandwidth(), b.bus_bandwidth()) << gpus;
    EXPECT_EQ(a.communicator_channels, b.communicator_channels) << gpus;
    EXPECT_EQ(a.nodes, b.nodes) << gpus;
    EXPECT_EQ(a.path, b.path) << gpus;
  }
}

// NVIDIA DGX-1 white paper: two NVLinks join GPUs 0 and 3, one joins 0 and 1, none 0 and 5.
TEST(Rings, over_chosen_gpus_follow_their_links) {
  EXPECT_EQ(ring_of(chosen("dgx1-v100", {0, 1}), 2).channels, 1);
  const Ring strong = ring_of(chosen("dgx1-v100", {0, 3}), 2);
  EXPECT_EQ(strong.channels, 2);
  EXPECT_DOUBLE_EQ(strong.bus_bandwidth(), 40e9);
  EXPECT_DOUBLE_EQ(strong.links[0].rate, 50e9);
  const Ring apart = ring_of(chosen("dgx1-v100", {0, 5}), 2);
  EXPECT_EQ(apart.path, PathClass::PcieShm);
  EXPECT_DOUBLE_EQ(apart.bus_bandwidth(), 6e9);
  // any quarter of the mesh that is a corner of the cube is as good as the first
  EXPECT_DOUBLE_EQ(ring_of(chosen("dgx1-v100", {4, 5, 6, 7}), 4).bus_bandwidth(),
                   ring_of(machine("dgx1-v100"), 4).bus_bandwidth());
  EXPECT_DOUBLE_EQ(ring_of(chosen("dgx1-v100", {7, 2, 5, 0, 3, 6, 1, 4}), 8).bus_bandwidth(), 120e9);
  EXPECT_EQ(ring_of(chosen("a100-pcie-8gpu", {2, 3}), 2).path, PathClass::PcieP2p);
  EXPECT_EQ(ring_of(chosen("a100-pcie-8gpu", {3, 4}), 2).slowest, LinkClass::Host);
  EXPECT_EQ(ring_of(chosen("a100-pcie-8gpu", {5, 6}), 2).links[0].id, "node0.gpu5.pcie");
}

// DGX A100: two NICs below every PCIe switch. DGX-1: one; its V100s carry 10 where a GPU has a NIC of its own (a ring
// enters and leaves by the same slot) and 12 where two share one (in by one slot, out by the other).
TEST(Rings, over_chosen_gpus_use_the_nics_beside_them) {
  EXPECT_EQ(ring_of(chosen("dgx-a100-80gb", {6, 7}, "own"), 4).channels, 2);
  EXPECT_DOUBLE_EQ(ring_of(chosen("dgx-a100-80gb", {0}, "own"), 2).bus_bandwidth(), 24e9);
  const Ring apart = ring_of(chosen("dgx1-v100", {0, 2}, "own"), 4),
             beside = ring_of(chosen("dgx1-v100", {0, 1}, "own"), 4);
  EXPECT_EQ(apart.channels, 2);
  EXPECT_DOUBLE_EQ(apart.channel_rate, 10e9);
  EXPECT_EQ(beside.channels, 1);
  EXPECT_DOUBLE_EQ(beside.channel_rate, 12e9);
}

TEST(Rings, between_cpu_ranks_of_several_nodes_speak_ip_over_any_fabric) {
  for (const char* fabric : {"own", "ib-hdr-8x200", "eth-10g"}) {
    const Ring ring = ring_of(machine("cpu-host", fabric), 128);
    EXPECT_EQ(ring.path, PathClass::Tcp) << fabric;
    EXPECT_EQ(ring.intra_path, PathClass::CpuShared) << fabric;
  }
}

// --- Wide-area links -----------------------------------------------------------------------------------------------

// Linux ip-sysctl: 6 MiB receive buffer at most, half of it payload; two sockets.
TEST(WideArea, rings_carry_one_window_per_round_trip_and_socket) {
  const double mib = 1 << 20;
  const Ring ring = ring_of(machine("dgx-a100-80gb", "wan-10g-50ms"), 16);
  EXPECT_EQ(ring.path, PathClass::Tcp);
  EXPECT_NEAR(ring.bus_bandwidth(), 2 * 3 * mib / 50e-3, 1);
  EXPECT_DOUBLE_EQ(ring.hop_latency, 25e-3);
  EXPECT_EQ(ring.slowest, LinkClass::Wan);
  EXPECT_EQ(ring.links.back().id, "node0.wan");
  EXPECT_DOUBLE_EQ(ring.links.back().rate, 1.25e9);
  const TcpRate rate = tcp_rate(machine("dgx-a100-80gb", "wan-10g-50ms"));
  EXPECT_LT(rate.low, rate.rate);
  EXPECT_GT(rate.high, rate.rate);
}

TEST(WideArea, rings_get_faster_with_a_shorter_way_until_the_line_binds) {
  const auto bus_at = [](double latency, double line) {
    return ring_of(machine("dgx-a100-80gb", "wan-10g-50ms", 0, {{"wan.latency", latency}, {"wan.rate", line}}), 16)
        .bus_bandwidth();
  };
  EXPECT_NEAR(bus_at(12.5e-3, 1.25e9) / bus_at(25e-3, 1.25e9), 2, 1e-9);
  EXPECT_DOUBLE_EQ(bus_at(25e-3, 12.5e9), bus_at(25e-3, 1.25e9));  // a wider line helps no window
  EXPECT_DOUBLE_EQ(bus_at(0.1e-3, 1.25e9), 1.15e9);                // as on eth-10g
  EXPECT_DOUBLE_EQ(bus_at(0, 0.125e9), 0.115e9);
  const Topology near = machine("dgx-a100-80gb", "wan-10g-50ms", 0, {{"wan.latency", 1e-3}});
  EXPECT_DOUBLE_EQ(ring_of(near, 16).hop_latency, 1e-3);
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
  EXPECT_DOUBLE_EQ(ring.bus_bandwidth(), 1.5e9);
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
                                {"cpu-host", "", "host.rate", 300e9, 16},
                                {"dgx2-v100", "", "nvlink.rate", 150e9, 16},
                                {"dgx2-v100", "own", "nic.rate", 12.5e9, 32},
                                {"dgx-a100-80gb", "efa-4x100", "nic.rate", 12.5e9, 16},
                                {"hgx-h100", "efa-32x100", "nic.rate", 12.5e9, 16},
                                {"hgx-h100", "ib-ndr-8x400", "pcie.rate", 55e9, 16},
                                {"rtx3090-2gpu-nvlink", "", "nvlink.rate", 56.25e9, 2},
                                {"rtx3090-2gpu", "", "pcie.rate", 26e9, 2},
                                {"titan-rtx-4gpu", "", "uplink.rate", 13e9, 4},
                                {"rtx2080ti-4gpu", "", "host.rate", 240e9, 4},
                                {"rtx4090-8gpu", "", "host.rate", 380e9, 8},
                                {"jetson-orin-nano-board", "own", "nic.rate", 0.125e9, 4},
                                {"dgx-a100-80gb", "wan-10g-50ms", "wan.rate", 0.5e9, 16}};
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

// The search decides channels and the share of the wire at the file's rate: 4 x 12 of 4 x 12.5.
TEST(Overrides, of_nics_scale_what_nccl_finds_at_the_rate_of_the_file) {
  for (const double rate : {200e6, 121e6, 119e6, 10e6, 1e6}) {
    const Ring ring = ring_of(machine("dgx1-v100", "own", 0, {{"nic.rate", rate}}), 16);
    EXPECT_EQ(ring.channels, 4) << rate;
    EXPECT_NEAR(ring.bus_bandwidth() / (4 * 0.96 * rate), 1, 1e-12) << rate;
    EXPECT_EQ(ring.slowest, LinkClass::Nic);
  }
  const double at_1 = bus("dgx1-v100", "ib-edr-4x100", 16, "pcie.rate", 1e6);
  EXPECT_NEAR(bus("dgx1-v100", "ib-edr-4x100", 16, "pcie.rate", 150e6) / at_1, 150, 1e-9);
}

// Of a file as of an override: NCCL's list ends at 120 MB/s, and has but four speeds below 3 GB/s.
TEST(Rings, over_nics_slower_than_any_rdma_network_are_as_slow_as_these) {
  Topology t = machine("dgx1-v100", "ib-edr-4x100");
  double before = 0;
  for (double rate = 1e6; rate < 1.25e9; rate *= 1.05) {
    t.fabric->nics.rate = rate;
    const Ring ring = ring_of(t, 16);
    EXPECT_NEAR(ring.bus_bandwidth() / (4 * 0.96 * rate), 1, 1e-12) << rate;
    EXPECT_GT(ring.bus_bandwidth(), before);
    before = ring.bus_bandwidth();
  }
  t.fabric->nics.rate = 1.25e9;
  EXPECT_DOUBLE_EQ(ring_of(t, 16).bus_bandwidth(), 4 * 1.2e9);
}

TEST(Overrides, never_make_a_ring_over_mixed_nodes_slower_by_more_bandwidth) {
  for (const auto& [key, base] : std::map<std::string, double>{{"nic.rate", 12.5e9}, {"pcie.rate", 13e9}}) {
    double before = 0;
    for (double factor = 0.05; factor < 20; factor *= 1.1) {
      const Topology t = mixed({"dgx-a100-80gb", "dgx1-v100"}, "ib-edr-4x100", {{key, base * factor}});
      const double now = ring_of(t, 16).bus_bandwidth();
      EXPECT_GE(now, before * (1 - 1e-12)) << key << " x" << factor;
      before = now;
    }
  }
  const double base = ring_of(mixed({"dgx-a100-80gb", "titan-rtx-2gpu"}, "ib-edr-1x100"), 10).bus_bandwidth();
  const Topology slower = mixed({"dgx-a100-80gb", "titan-rtx-2gpu"}, "ib-edr-1x100", {{"nvlink.rate", 3e9}});
  EXPECT_LT(ring_of(slower, 10).bus_bandwidth(), base);  // only one of the two has NVLink
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
