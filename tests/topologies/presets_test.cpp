// Presets: all load, and their figures are those of the sources named here (not of the files themselves).
#include "topologies/presets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "simulator/base/nearest.h"
#include "tests/topologies/machines.h"
#include "topologies/describe.h"
#include "topologies/rates.h"

namespace lockstep {
namespace {

using test::chosen;
using test::machine;
using test::mixed;
using test::source_presets;
using test::text_of;
using testing::AllOf;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

std::vector<std::string> names_of(PresetKind kind) {
  return preset_names(kind, source_presets());
}

// The names of docs/interface.md.
TEST(Presets, are_all_there_and_no_others) {
  EXPECT_THAT(names_of(PresetKind::Gpu),
              UnorderedElementsAre("a100-pcie-40gb", "a100-pcie-80gb", "a100-sxm4-40gb", "a100-sxm4-80gb", "a10g",
                                   "cpu-core", "gtx1080ti", "h100-pcie", "h100-sxm5", "h200", "jetson-orin-nano", "l4",
                                   "p100-pcie", "rtx2080ti", "rtx3090", "rtx4090", "t4", "titan-rtx", "v100-pcie",
                                   "v100-sxm2-16gb", "v100-sxm2-32gb"));
  EXPECT_THAT(
      names_of(PresetKind::Node),
      UnorderedElementsAre("a100-pcie-8gpu", "cpu-host", "dgx-a100-40gb", "dgx-a100-80gb", "dgx1-v100", "dgx2-v100",
                           "gtx1080ti-4gpu", "hgx-a100-4gpu-40gb", "hgx-a100-4gpu-80gb", "hgx-h100",
                           "jetson-orin-nano-board", "rtx2080ti-4gpu", "rtx3090-2gpu", "rtx3090-2gpu-nvlink",
                           "rtx4090-8gpu", "titan-rtx-2gpu", "titan-rtx-2gpu-nvlink", "titan-rtx-4gpu"));
  EXPECT_THAT(names_of(PresetKind::Fabric),
              UnorderedElementsAre("efa-32x100", "efa-4x100", "eth-100g", "eth-10g", "eth-1g", "eth-25g", "eth-40g",
                                   "ib-edr-1x100", "ib-edr-4x100", "ib-hdr-1x200", "ib-hdr-8x200", "ib-ndr-8x400",
                                   "wan-10g-50ms"));
}

TEST(Presets, load_and_are_named_as_their_files_with_a_source) {
  for (const std::string& name : names_of(PresetKind::Gpu)) {
    const Expected<GpuType> gpu = load_gpu(name, source_presets());
    ASSERT_TRUE(gpu) << text_of(gpu.error());
    EXPECT_EQ(gpu->name, name);
    EXPECT_GE(gpu->source.size(), 12u) << name;
  }
  for (const std::string& name : names_of(PresetKind::Node)) {
    const Expected<Node> node = load_node(name, source_presets());
    ASSERT_TRUE(node) << text_of(node.error());
    EXPECT_EQ(node->name, name);
    EXPECT_GE(node->source.size(), 12u) << name;
    // A small board's cores are slower than those of a server.
    EXPECT_EQ(node->host.factor, name == "jetson-orin-nano-board" ? 2.0 : 0.8) << name;
  }
  for (const std::string& name : names_of(PresetKind::Fabric)) {
    const Expected<Fabric> fabric = load_fabric(name, source_presets());
    ASSERT_TRUE(fabric) << text_of(fabric.error());
    EXPECT_EQ(fabric->name, name);
    EXPECT_GE(fabric->source.size(), 12u) << name;
  }
}

// Vendor data sheets and white papers: dense peaks in TFLOP/s, memory in GB, GB/s.
struct Sheet {
  const char* name;
  double sms, memory, bandwidth, fp64, fp32, tf32, fp16, bf16, nvlink_both_ways;
};
TEST(Presets, have_the_figures_of_the_gpu_data_sheets) {
  const std::vector<Sheet> sheets{{"a100-sxm4-40gb", 108, 40, 1555, 9.7, 19.5, 156, 312, 312, 600},
                                  {"a100-sxm4-80gb", 108, 80, 2039, 9.7, 19.5, 156, 312, 312, 600},
                                  {"a100-pcie-40gb", 108, 40, 1555, 9.7, 19.5, 156, 312, 312, 600},
                                  {"a100-pcie-80gb", 108, 80, 1935, 9.7, 19.5, 156, 312, 312, 600},
                                  {"v100-sxm2-16gb", 80, 16, 900, 7.8, 15.7, 0, 125, 0, 300},
                                  {"v100-sxm2-32gb", 80, 32, 900, 7.8, 15.7, 0, 125, 0, 300},
                                  {"v100-pcie", 80, 16, 900, 7.0, 14.0, 0, 112, 0, 0},
                                  {"h100-sxm5", 132, 80, 3350, 34, 67, 495, 989.5, 989.5, 900},
                                  {"h200", 132, 141, 4800, 34, 67, 495, 989.5, 989.5, 900},
                                  {"t4", 40, 16, 320, 0.25, 8.1, 0, 65, 0, 0},
                                  {"p100-pcie", 56, 16, 732, 4.7, 9.3, 0, 0, 0, 0},
                                  {"h100-pcie", 114, 80, 2039, 25.6, 51.2, 378, 756, 756, 600},
                                  {"l4", 58, 24, 300, 0.473, 30.3, 60, 121, 121, 0},
                                  {"a10g", 80, 24, 600, 0.547, 35, 35, 70, 70, 0},
                                  {"rtx2080ti", 68, 11, 616, 0.42, 13.4, 0, 53.8, 0, 100},
                                  {"rtx3090", 82, 24, 936, 0.556, 35.6, 35.6, 71, 71, 112.5},
                                  {"rtx4090", 128, 24, 1008, 1.29, 82.6, 82.6, 165, 165, 0},
                                  {"titan-rtx", 72, 24, 672, 0.51, 16.3, 0, 130.5, 0, 100},
                                  {"gtx1080ti", 28, 11, 484, 0.354, 11.3, 0, 0, 0, 0},
                                  {"jetson-orin-nano", 8, 8, 68, 0.02, 1.28, 5.12, 10.24, 10.24, 0}};
  const auto close = [](double ours, double sheet) { return std::abs(ours - sheet) <= 0.015 * sheet; };
  for (const Sheet& sheet : sheets) {
    SCOPED_TRACE(sheet.name);
    const GpuType gpu = load_gpu(sheet.name, source_presets()).value();
    EXPECT_EQ(gpu.sm_count, sheet.sms);
    EXPECT_DOUBLE_EQ(gpu.memory_bytes, sheet.memory * 1e9);
    EXPECT_PRED2(close, gpu.memory_bandwidth, sheet.bandwidth * 1e9);
    EXPECT_PRED2(close, gpu.peak_fp64, sheet.fp64 * 1e12);
    EXPECT_PRED2(close, gpu.peak_fp32, sheet.fp32 * 1e12);
    EXPECT_PRED2(close, gpu.peak_tf32, sheet.tf32 * 1e12);
    EXPECT_PRED2(close, gpu.peak_fp16, sheet.fp16 * 1e12);
    EXPECT_PRED2(close, gpu.peak_bf16, sheet.bf16 * 1e12);
    EXPECT_DOUBLE_EQ(2 * gpu.nvlink_links * gpu.nvlink_per_link, sheet.nvlink_both_ways * 1e9);
  }
}

// fp32 cores per SM by architecture (NVIDIA CUDA programming guide, arithmetic instructions) and the boost clocks of
// the same sheets give the fp32 peak: a check that SM count and peak belong together.
TEST(Presets, have_fp32_peaks_that_follow_from_cores_and_clock) {
  struct Clocked {
    const char* name;
    double cores_per_sm, mhz;
  };
  const std::vector<Clocked> gpus{{"p100-pcie", 64, 1303},
                                  {"gtx1080ti", 128, 1582},
                                  {"v100-pcie", 64, 1380},
                                  {"v100-sxm2-32gb", 64, 1530},
                                  {"t4", 64, 1590},
                                  {"rtx2080ti", 64, 1545},
                                  {"titan-rtx", 64, 1770},
                                  {"a100-sxm4-80gb", 64, 1410},
                                  {"a100-pcie-40gb", 64, 1410},
                                  {"rtx3090", 128, 1695},
                                  {"a10g", 128, 1710},
                                  {"l4", 128, 2040},
                                  {"rtx4090", 128, 2520},
                                  {"jetson-orin-nano", 128, 625},
                                  {"h100-sxm5", 128, 1980},
                                  {"h100-pcie", 128, 1755}};
  for (const Clocked& one : gpus) {
    const GpuType gpu = load_gpu(one.name, source_presets()).value();
    EXPECT_NEAR(gpu.peak_fp32 / (2 * gpu.sm_count * one.cores_per_sm * one.mhz * 1e6), 1, 0.01) << one.name;
  }
}

// pc2/GPUInspector.jl docs @b0bea3a (FMA and tensor-core kernels): a measured peak reaches at least 90 % of the sheet
// and never passes it by more than the clock's slack.
TEST(Presets, have_peaks_that_measured_kernels_reach) {
  const GpuType a100 = load_gpu("a100-sxm4-40gb", source_presets()).value();
  const GpuType v100 = load_gpu("v100-sxm2-32gb", source_presets()).value();
  const std::vector<std::pair<double, double>> measured_and_peak{{19.1e12, a100.peak_fp32},
                                                                 {9.6e12, a100.peak_fp64},
                                                                 {311.2e12, a100.peak_fp16},
                                                                 {155.55e12, a100.peak_tf32},
                                                                 {15.5e12, v100.peak_fp32}};
  for (const auto& [measured, peak] : measured_and_peak) {
    EXPECT_GT(measured, 0.9 * peak);
    EXPECT_LT(measured, 1.01 * peak);
  }
}

// NVIDIA system guides of DGX A100 (2020) and DGX-1 (2017).
TEST(Presets, have_the_layout_of_the_dgx_guides) {
  for (const char* name : {"dgx-a100-40gb", "dgx-a100-80gb"}) {
    const Node dgx = load_node(name, source_presets()).value();
    EXPECT_EQ(dgx.host.sockets * 64, dgx.host.cores);
    EXPECT_EQ(dgx.gpu_count, 8);
    EXPECT_EQ(dgx.nvlink, NvLinkKind::NvSwitch);
    EXPECT_EQ(dgx.pcie.generation, 4);
    EXPECT_EQ(dgx.pcie.switches.size(), 4u);
    EXPECT_EQ(dgx.nics.count, 8);
    EXPECT_DOUBLE_EQ(dgx.nics.rate, 25e9);
  }
  EXPECT_EQ(load_node("dgx-a100-40gb", source_presets())->gpu.name, "a100-sxm4-40gb");
  const Node dgx1 = load_node("dgx1-v100", source_presets()).value();
  EXPECT_EQ(dgx1.host.cores, 40);
  EXPECT_EQ(dgx1.pcie.generation, 3);
  EXPECT_EQ(dgx1.nics.count, 4);
  EXPECT_DOUBLE_EQ(dgx1.nics.rate, 12.5e9);
  std::vector<int> links(8, 0), neighbours(8, 0);
  for (const NvLinkPair& pair : dgx1.nvlink_pairs)
    for (const int gpu : {pair.a, pair.b}) links[gpu] += pair.count, ++neighbours[gpu];
  EXPECT_THAT(links, testing::Each(6));
  EXPECT_THAT(neighbours, testing::Each(4));
}

// Vendors' guides: GPUs, NVLink rate per GPU both ways in GB/s, NICs and their Gb/s, PCIe generation.
TEST(Presets, have_the_gpus_links_and_nics_of_their_guides) {
  struct Guide {
    const char* name;
    int gpus;
    NvLinkKind nvlink;
    double both_ways;
    int nics;
    double gbit;
    int pcie;
  };
  const std::vector<Guide> guides{{"dgx2-v100", 16, NvLinkKind::NvSwitch, 300, 8, 100, 3},
                                  {"hgx-h100", 8, NvLinkKind::NvSwitch, 900, 8, 400, 5},
                                  {"hgx-a100-4gpu-80gb", 4, NvLinkKind::Mesh, 600, 1, 200, 4},
                                  {"rtx3090-2gpu-nvlink", 2, NvLinkKind::Bridges, 112.5, 1, 10, 4},
                                  {"titan-rtx-2gpu-nvlink", 2, NvLinkKind::Bridges, 100, 1, 1, 3},
                                  {"rtx3090-2gpu", 2, NvLinkKind::None, 112.5, 1, 10, 4},
                                  {"titan-rtx-2gpu", 2, NvLinkKind::None, 100, 1, 1, 3},
                                  {"titan-rtx-4gpu", 4, NvLinkKind::None, 100, 1, 10, 3},
                                  {"rtx2080ti-4gpu", 4, NvLinkKind::None, 100, 1, 100, 3},
                                  {"gtx1080ti-4gpu", 4, NvLinkKind::None, 0, 1, 10, 3},
                                  {"rtx4090-8gpu", 8, NvLinkKind::None, 0, 2, 100, 4},
                                  {"jetson-orin-nano-board", 1, NvLinkKind::None, 0, 1, 1, 3}};
  for (const Guide& guide : guides) {
    SCOPED_TRACE(guide.name);
    const Node node = load_node(guide.name, source_presets()).value();
    EXPECT_EQ(node.gpu_count, guide.gpus);
    EXPECT_EQ(node.nvlink, guide.nvlink);
    EXPECT_DOUBLE_EQ(2 * node.gpu.nvlink_links * node.gpu.nvlink_per_link, guide.both_ways * 1e9);
    EXPECT_EQ(node.nics.count, guide.nics);
    EXPECT_DOUBLE_EQ(node.nics.rate, guide.gbit * 1e9 / 8);
    EXPECT_EQ(node.pcie.generation, guide.pcie);
  }
  // A bridge takes all NVLinks of its two cards.
  for (const char* name : {"rtx3090-2gpu-nvlink", "titan-rtx-2gpu-nvlink"}) {
    const Node node = load_node(name, source_presets()).value();
    ASSERT_EQ(node.nvlink_pairs.size(), 1u);
    EXPECT_EQ(node.nvlink_pairs[0].count, node.gpu.nvlink_links);
  }
}

// NVIDIA/nccl issue 1127 (RTX 3090), NVIDIA/nccl-tests issue 117 (RTX 2080 Ti, RTX 4090): no peer access over PCIe.
TEST(Presets, of_cards_without_peer_access_say_so) {
  for (const char* name : {"rtx3090-2gpu", "rtx3090-2gpu-nvlink", "titan-rtx-2gpu", "titan-rtx-2gpu-nvlink",
                           "titan-rtx-4gpu", "rtx2080ti-4gpu", "rtx4090-8gpu"})
    EXPECT_FALSE(load_node(name, source_presets())->peer_access) << name;
  for (const char* name : {"gtx1080ti-4gpu", "a100-pcie-8gpu", "dgx2-v100", "hgx-h100"})
    EXPECT_TRUE(load_node(name, source_presets())->peer_access) << name;
}

TEST(Presets, of_rdma_fabrics_have_the_ports_of_their_names_and_the_fitted_latency) {
  struct Ports {
    const char* name;
    FabricKind kind;
    int count;
    double gbit, latency;
  };
  const std::vector<Ports> fabrics{
      {"ib-hdr-8x200", FabricKind::InfiniBand, 8, 200, 0}, {"ib-hdr-1x200", FabricKind::InfiniBand, 1, 200, 0},
      {"ib-edr-4x100", FabricKind::InfiniBand, 4, 100, 0}, {"ib-edr-1x100", FabricKind::InfiniBand, 1, 100, 0},
      {"ib-ndr-8x400", FabricKind::InfiniBand, 8, 400, 0}, {"efa-4x100", FabricKind::Efa, 4, 100, 25e-6},
      {"efa-32x100", FabricKind::Efa, 32, 100, 25e-6}};
  for (const Ports& ports : fabrics) {
    const Fabric fabric = load_fabric(ports.name, source_presets()).value();
    EXPECT_EQ(fabric.kind, ports.kind) << ports.name;
    EXPECT_EQ(fabric.nics.count, ports.count) << ports.name;
    EXPECT_DOUBLE_EQ(fabric.nics.rate, ports.gbit * 1e9 / 8) << ports.name;
    EXPECT_DOUBLE_EQ(fabric.latency, ports.latency) << ports.name;
  }
}

TEST(Presets, of_tcp_fabrics_carry_the_measured_rate_and_its_band) {
  const Fabric ten = load_fabric("eth-10g", source_presets()).value();
  EXPECT_DOUBLE_EQ(ten.nccl_rate, 1.15e9);  // HKBU-HPML/ddl-benchmarks @30de09b: 1.12 to 1.22 GB/s
  EXPECT_LT(ten.nccl_rate_high, ten.nics.rate);
  const Fabric hundred = load_fabric("eth-100g", source_presets()).value();
  EXPECT_DOUBLE_EQ(hundred.nccl_rate, 2.3e9);  // same source, 100 Gb/s card as IP: 2.15 to 2.4
  EXPECT_DOUBLE_EQ(hundred.nccl_rate_low, 1.5e9);
  EXPECT_DOUBLE_EQ(hundred.nccl_rate_high, 5e9);
  EXPECT_DOUBLE_EQ(hundred.latency, 40e-6);
}

// Shares of the line: 0.92 where the wire is the limit, less where one flow on one core is.
TEST(Presets, of_tcp_fabrics_agree_with_what_is_assumed_of_any_line) {
  for (const char* name : {"eth-1g", "eth-10g", "eth-25g", "eth-40g", "eth-100g"}) {
    const Fabric fabric = load_fabric(name, source_presets()).value();
    const TcpRate any = tcp_rate_of_line(fabric.nics.rate);
    EXPECT_NEAR(any.rate / fabric.nccl_rate, 1, 1e-9) << name;
    EXPECT_NEAR(any.low / fabric.nccl_rate_low, 1, 1e-9) << name;
    EXPECT_NEAR(any.high / fabric.nccl_rate_high, 1, 1e-9) << name;
    EXPECT_LE(fabric.nccl_rate_high, fabric.nics.rate) << name;
  }
  EXPECT_NEAR(load_fabric("eth-1g", source_presets())->nccl_rate / 0.125e9, 0.92, 1e-9);
}

TEST(Presets, are_found_whatever_the_case_and_underscores) {
  EXPECT_EQ(load_node("DGX_A100_80GB", source_presets())->name, "dgx-a100-80gb");
  EXPECT_EQ(load_fabric("IB-HDR_8x200", source_presets())->name, "ib-hdr-8x200");
}

TEST(Presets, are_listed_with_one_line_each) {
  for (const PresetKind kind : {PresetKind::Gpu, PresetKind::Node, PresetKind::Fabric}) {
    const auto list = list_presets(kind, source_presets());
    ASSERT_TRUE(list) << text_of(list.error());
    EXPECT_EQ(list->size(), names_of(kind).size());
    for (const PresetSummary& one : *list) {
      EXPECT_FALSE(one.summary.empty()) << one.name;
      EXPECT_EQ(one.summary.find('\n'), std::string::npos) << one.name;
      EXPECT_TRUE(std::filesystem::exists(one.path));
    }
  }
  const auto nodes = list_presets(PresetKind::Node, source_presets()).value();
  const auto dgx1 = std::find_if(nodes.begin(), nodes.end(), [](const auto& one) { return one.name == "dgx1-v100"; });
  ASSERT_NE(dgx1, nodes.end());
  EXPECT_EQ(dgx1->summary, "8 x v100-sxm2-32gb, NVLink mesh, PCIe Gen3 x16, 4 NICs of 12.5 GB/s");
}

TEST(Presets, are_missed_with_an_error_where_there_is_no_folder) {
  EXPECT_FALSE(list_presets(PresetKind::Gpu, {{"/nonexistent"}}));
  EXPECT_FALSE(default_preset_paths().roots.empty());
}

TEST(Description, shows_every_class_of_link_and_the_rings) {
  const std::string text = describe_topology(machine("dgx-a100-80gb", "ib-hdr-8x200"));
  EXPECT_THAT(text,
              AllOf(HasSubstr("nvswitch, 300 GB/s per GPU"), HasSubstr("switch 3 on socket 1: GPU 6, 7; NIC 6, 7"),
                    HasSubstr("8 x 25 GB/s"), HasSubstr("12 x 20 GB/s = 240 GB/s by nvlink-a100"),
                    HasSubstr("16 on 2 nodes: 8 x 24 GB/s = 192 GB/s by infiniband"), HasSubstr("source: ")));
}

TEST(Description, marks_what_an_override_changed) {
  const std::string text = describe_topology(machine("dgx-a100-80gb", "", 4, {{"nvlink.rate", 600e9}}));
  EXPECT_THAT(text, AllOf(HasSubstr("600 GB/s per GPU and direction (override)"), HasSubstr("4 used on each node")));
}

TEST(Description, of_mixed_nodes_draws_each_kind_once_and_names_the_slowest) {
  const std::string text = describe_topology(mixed({"dgx-a100-80gb", "dgx1-v100", "dgx-a100-80gb"}, "ib-hdr-8x200"));
  EXPECT_THAT(text,
              AllOf(HasSubstr("dgx-a100-80gb, dgx1-v100, dgx-a100-80gb + ib-hdr-8x200\n├─ node 0, 2: dgx-a100-80gb"),
                    HasSubstr("│  ├─ NVLink: nvswitch, 300 GB/s"), HasSubstr("└─ node 1: dgx1-v100"),
                    HasSubstr("   ├─ NVLink: mesh, 150 GB/s"), HasSubstr("24 on 3 nodes"),
                    HasSubstr("of node 1 (dgx1-v100)"), HasSubstr("  dgx1-v100: NVIDIA DGX-1")));
}

TEST(Description, of_a_wide_area_link_says_why_it_is_slow) {
  const std::string text = describe_topology(machine("dgx-a100-80gb", "wan-10g-50ms", 0, {{"wan.rate", 12.5e9}}));
  EXPECT_THAT(text, AllOf(HasSubstr("line to the other sites: 12.5 GB/s per direction (override)"),
                          HasSubstr("25 ms more per node border"), HasSubstr("one window of 3MiB per round trip"),
                          HasSubstr("NCCL reaches 126 MB/s per node (62.9 MB/s to 252 MB/s)")));
}

TEST(Description, of_other_machines_says_what_is_special_about_them) {
  EXPECT_THAT(describe_topology(machine("jetson-orin-nano-board")), HasSubstr("shares the host's memory"));
  EXPECT_THAT(describe_topology(machine("hgx-h100")), HasSubstr("NVLS"));
  EXPECT_THAT(
      describe_topology(machine("rtx4090-8gpu")),
      AllOf(HasSubstr("64 cores, 4 NUMA nodes"), HasSubstr("on NUMA node 3: GPU 6, 7"), HasSubstr("peer access off")));
  EXPECT_THAT(describe_topology(chosen("dgx1-v100", {0, 3})), HasSubstr("GPU 0, 3 used on each node"));
}

TEST(Description, of_every_node_over_every_fabric_is_a_text_that_ends_with_a_line) {
  for (const std::string& node : names_of(PresetKind::Node))
    for (const std::string& fabric : names_of(PresetKind::Fabric)) {
      const std::string text = describe_topology(machine(node, fabric));
      EXPECT_EQ(text.rfind(node, 0), 0u) << text;
      EXPECT_EQ(text.back(), '\n') << text;
      EXPECT_THAT(text, HasSubstr("on 2 nodes")) << node << " " << fabric;
    }
}

}  // namespace
}  // namespace lockstep
