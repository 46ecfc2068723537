// Presets: all load, and their figures are those of the sources named here (not of the files themselves).
#include "topologies/presets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "simulator/base/nearest.h"
#include "tests/topologies/machines.h"
#include "topologies/describe.h"

namespace lockstep {
namespace {

using test::machine;
using test::source_presets;
using test::text_of;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsSupersetOf;

std::vector<std::string> names_of(PresetKind kind) {
  return preset_names(kind, source_presets());
}

TEST(Presets, of_this_version_are_all_there) {
  EXPECT_THAT(names_of(PresetKind::Gpu),
              IsSupersetOf({"a100-sxm4-40gb", "a100-sxm4-80gb", "a100-pcie-40gb", "a100-pcie-80gb", "v100-sxm2-16gb",
                            "v100-sxm2-32gb", "v100-pcie", "h100-sxm5", "cpu-core"}));
  EXPECT_THAT(names_of(PresetKind::Node), IsSupersetOf({"dgx-a100-40gb", "dgx-a100-80gb", "hgx-a100-4gpu-40gb",
                                                        "a100-pcie-8gpu", "dgx1-v100", "cpu-host"}));
  EXPECT_THAT(names_of(PresetKind::Fabric), IsSupersetOf({"ib-hdr-8x200", "ib-edr-4x100", "eth-100g", "eth-10g"}));
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
    EXPECT_EQ(node->host.factor, 0.8) << name;
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
                                  {"t4", 40, 16, 320, 0.25, 8.1, 0, 65, 0, 0}};
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

}  // namespace
}  // namespace lockstep
