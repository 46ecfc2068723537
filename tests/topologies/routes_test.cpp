// Paths of copies and the rates on them.
#include "topologies/routes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/topologies/machines.h"
#include "topologies/rates.h"

namespace lockstep {
namespace {

using test::chosen;
using test::machine;
using test::mixed;

std::vector<std::string> ids(const std::vector<Link>& links) {
  std::vector<std::string> all;
  for (const Link& link : links) all.push_back(link.id);
  return all;
}
double slowest(const std::vector<Link>& links) {
  double rate = 1e30;
  for (const Link& link : links) rate = std::min(rate, link.rate);
  return rate;
}

// Pinned copies, large: A100-SXM4 24.33 GiB/s and V100-SXM2 12.14 GiB/s (pc2/GPUInspector.jl docs @b0bea3a), H200
// 55.43 GB/s (nvbandwidth, stas00/ml-engineering @744d01e).
TEST(PcieRate, matches_measured_pinned_copies_within_one_percent) {
  const double gib = 1024.0 * 1024 * 1024;
  EXPECT_NEAR(pcie_rate({4, 16, {}, true}) / (24.33 * gib), 1, 0.01);
  EXPECT_NEAR(pcie_rate({3, 16, {}, true}) / (12.14 * gib), 1, 0.01);
  EXPECT_NEAR(pcie_rate({5, 16, {}, true}) / 55.43e9, 1, 0.01);
  EXPECT_DOUBLE_EQ(pcie_rate({4, 8, {}, true}), pcie_rate({4, 16, {}, true}) / 2);
}

TEST(HostToDevice, of_a_dgx_crosses_the_shared_uplink_of_its_switch) {
  const Topology t = machine("dgx-a100-80gb");
  EXPECT_EQ(ids(host_to_device_path(t, 0, 3)),
            (std::vector<std::string>{"node0.gpu3.pcie", "node0.switch1.uplink", "node0.host"}));
  EXPECT_EQ(host_to_device_path(t, 0, 2)[1].id, host_to_device_path(t, 0, 3)[1].id);
  EXPECT_NE(host_to_device_path(t, 0, 2)[1].id, host_to_device_path(t, 0, 4)[1].id);
  EXPECT_DOUBLE_EQ(host_to_device_path(t, 0, 0).back().rate, 380e9);
}

TEST(HostToDevice, of_a_gpu_alone_on_its_switch_crosses_no_uplink) {
  const Topology t = machine("dgx-a100-80gb", "", 1);
  EXPECT_EQ(ids(host_to_device_path(t, 0, 0)), (std::vector<std::string>{"node0.gpu0.pcie", "node0.host"}));
}

TEST(HostToDevice, through_host_bridges_shares_no_uplink) {
  const Topology t = machine("hgx-a100-4gpu-40gb");
  EXPECT_EQ(ids(host_to_device_path(t, 1, 1)), (std::vector<std::string>{"node1.gpu1.pcie", "node1.host"}));
}

TEST(HostToDevice, follows_overrides) {
  const Topology t = machine("dgx-a100-80gb", "", 0, {{"pcie.rate", 5e9}, {"host.rate", 9e9}, {"pcie.latency", 3e-6}});
  const std::vector<Link> path = host_to_device_path(t, 0, 0);
  EXPECT_DOUBLE_EQ(path[0].rate, 5e9);
  EXPECT_DOUBLE_EQ(path[1].rate, 5e9);  // the uplink follows the slot
  EXPECT_DOUBLE_EQ(path[2].rate, 9e9);
  EXPECT_DOUBLE_EQ(path[0].latency, 3e-6);
  const Topology wide = machine("dgx-a100-80gb", "", 0, {{"pcie.rate", 5e9}, {"uplink.rate", 50e9}});
  EXPECT_DOUBLE_EQ(host_to_device_path(wide, 0, 0)[1].rate, 50e9);
}

TEST(HostToDevice, of_a_cpu_rank_is_no_copy) {
  EXPECT_TRUE(host_to_device_path(machine("cpu-host"), 0, 0).empty());
}

TEST(HostToDevice, of_chosen_gpus_shares_an_uplink_only_with_a_chosen_neighbour) {
  EXPECT_EQ(ids(host_to_device_path(chosen("dgx-a100-80gb", {0, 2, 4, 6}), 0, 4)),
            (std::vector<std::string>{"node0.gpu4.pcie", "node0.host"}));
  EXPECT_EQ(ids(host_to_device_path(chosen("dgx-a100-80gb", {0, 4, 5}), 0, 4)),
            (std::vector<std::string>{"node0.gpu4.pcie", "node0.switch2.uplink", "node0.host"}));
}

TEST(HostToDevice, of_mixed_nodes_is_that_of_each_node) {
  const Topology t = mixed({"dgx-a100-80gb", "dgx1-v100"}, "own");
  const std::vector<Link> a100 = host_to_device_path(t, t.node_of(7), t.gpu_in_node(7));
  const std::vector<Link> v100 = host_to_device_path(t, t.node_of(8), t.gpu_in_node(8));
  EXPECT_EQ(a100[0].id, "node0.gpu7.pcie");
  EXPECT_EQ(v100[0].id, "node1.gpu0.pcie");
  EXPECT_NEAR(a100[0].rate / v100[0].rate, 2, 1e-9);  // Gen4 against Gen3
  EXPECT_DOUBLE_EQ(v100.back().rate, 130e9);
}

// Each byte is read from and written to the same memory.
TEST(HostToDevice, of_a_gpu_that_shares_the_hosts_memory_has_half_its_rate) {
  const std::vector<Link> path = host_to_device_path(machine("jetson-orin-nano-board"), 0, 0);
  EXPECT_EQ(ids(path), (std::vector<std::string>{"node0.gpu0.copy", "node0.host"}));
  EXPECT_DOUBLE_EQ(slowest(path), 34e9);
}

// p2pBandwidthLatencyTest: 274 GB/s between any two A100 of an 8-GPU node (payload 0.91 of 300); the link is the bound.
TEST(PeerPath, on_nvswitch_crosses_both_gpus_ports) {
  const std::vector<Link> path = peer_path(machine("dgx-a100-80gb"), 0, 2, 5);
  EXPECT_EQ(ids(path), (std::vector<std::string>{"node0.gpu2.nvlink", "node0.gpu5.nvlink"}));
  EXPECT_DOUBLE_EQ(slowest(path), 300e9);
}

TEST(PeerPath, on_a_mesh_has_as_many_links_as_join_the_pair) {
  const Topology t = machine("dgx1-v100");
  EXPECT_DOUBLE_EQ(slowest(peer_path(t, 0, 0, 1)), 25e9);
  EXPECT_DOUBLE_EQ(slowest(peer_path(t, 0, 3, 0)), 50e9);
  EXPECT_DOUBLE_EQ(slowest(peer_path(machine("dgx1-v100", "", 0, {{"nvlink.rate", 300e9}}), 0, 0, 1)), 50e9);
}

// GPUInspector.jl docs @b0bea3a: 8.1 GiB/s between V100s of a cube mesh that share no NVLink.
TEST(PeerPath, without_nvlink_goes_by_pcie_across_the_sockets) {
  const std::vector<Link> path = peer_path(machine("dgx1-v100"), 0, 0, 5);
  EXPECT_EQ(ids(path), (std::vector<std::string>{"node0.gpu0.pcie", "node0.switch0.uplink", "node0.interconnect",
                                                 "node0.switch2.uplink", "node0.gpu5.pcie"}));
  EXPECT_NEAR(slowest(path), 8.1 * 1.0737e9, 0.1e9);
}

TEST(PeerPath, inside_a_pcie_switch_stays_there_unless_peer_access_is_off) {
  Topology t = machine("a100-pcie-8gpu");
  EXPECT_EQ(ids(peer_path(t, 0, 0, 3)), (std::vector<std::string>{"node0.gpu0.pcie", "node0.gpu3.pcie"}));
  t.node.peer_access = false;
  EXPECT_EQ(ids(peer_path(t, 0, 0, 3)),
            (std::vector<std::string>{"node0.gpu0.pcie", "node0.switch0.uplink", "node0.host", "node0.switch0.uplink",
                                      "node0.gpu3.pcie"}));
}

// 8x RTX 4090, peer access off: 18.4 to 20.6 GB/s between any two (p2pBandwidthLatencyTest); copies through host
// memory.
TEST(PeerPath, without_peer_access_crosses_host_memory_and_numa_nodes) {
  const Topology t = machine("rtx4090-8gpu");
  EXPECT_EQ(ids(peer_path(t, 0, 0, 1)), (std::vector<std::string>{"node0.gpu0.pcie", "node0.host", "node0.gpu1.pcie"}));
  const std::vector<Link> far = peer_path(t, 0, 1, 2);
  EXPECT_EQ(ids(far),
            (std::vector<std::string>{"node0.gpu1.pcie", "node0.host", "node0.interconnect", "node0.gpu2.pcie"}));
  EXPECT_NEAR(slowest(far), 19.5e9, 2.2e9);
}

TEST(PeerPath, over_a_bridge_has_all_its_links_and_without_one_goes_through_the_host) {
  EXPECT_DOUBLE_EQ(slowest(peer_path(machine("rtx3090-2gpu-nvlink"), 0, 0, 1)), 56.25e9);
  EXPECT_DOUBLE_EQ(slowest(peer_path(machine("titan-rtx-2gpu-nvlink"), 0, 1, 0)), 50e9);
  EXPECT_EQ(ids(peer_path(machine("titan-rtx-2gpu"), 0, 0, 1)),
            (std::vector<std::string>{"node0.gpu0.pcie", "node0.host", "node0.gpu1.pcie"}));
}

TEST(PeerPath, of_mixed_nodes_is_that_of_each_node) {
  const Topology t = mixed({"dgx-a100-80gb", "dgx1-v100"}, "own");
  EXPECT_EQ(peer_path(t, 0, 0, 1)[0].id, "node0.gpu0.nvlink");
  EXPECT_DOUBLE_EQ(slowest(peer_path(t, 0, 0, 1)), 300e9);
  EXPECT_EQ(peer_path(t, 1, 0, 1)[0].id, "node1.gpu0.nvlink1");
  EXPECT_DOUBLE_EQ(slowest(peer_path(t, 1, 0, 1)), 25e9);
}

TEST(Nics, of_a_fabric_are_spread_over_the_nodes_switches_in_order) {
  EXPECT_EQ(nic_switches(machine("dgx-a100-80gb", "ib-edr-4x100")), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(nic_switches(machine("dgx-a100-80gb", "ib-hdr-8x200")), (std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(nic_switches(machine("dgx1-v100", "ib-hdr-8x200")), (std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(nic_switches(machine("dgx1-v100", "eth-10g")), (std::vector<int>{0}));
}

}  // namespace
}  // namespace lockstep
