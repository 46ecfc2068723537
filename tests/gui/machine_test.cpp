#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "gui/topology/machine_drawing.h"
#include "simulator/answers/inputs.h"
#include "tests/gui/shown_support.h"
#include "topologies/rates.h"

namespace lockstep::gui {
namespace {

using testing::shown_of;

const lockstep::Run& run_of(const Shown& shown, Strategy strategy, int gpus) {
  for (const lockstep::Run& run : shown.result->runs)
    if (run.strategy == strategy && run.gpus == gpus) return run;
  ADD_FAILURE() << "no such run";
  return shown.result->runs.front();
}

const LinkUse& use_of(const lockstep::Run& run, const std::string& id) {
  for (const LinkUse& use : run.links)
    if (use.id == id) return use;
  ADD_FAILURE() << "no link " << id;
  return run.links.front();
}

const MachineLink* find(const MachineDrawing& drawing, const std::string& id) {
  for (const MachineLink& link : drawing.links)
    if (link.id == id) return &link;
  return nullptr;
}

int boxes(const MachineDrawing& drawing, MachineBox::Kind kind, bool used_alone = false) {
  return static_cast<int>(std::count_if(drawing.boxes.begin(), drawing.boxes.end(), [&](const MachineBox& box) {
    return box.kind == kind && (box.used || !used_alone);
  }));
}

// No two boxes cover each other, all lie in a frame (but the fabric), and every end of a link is at a box.
void expect_tidy(const MachineDrawing& drawing, const std::string& name) {
  const QRectF whole(QPointF(0, 0), drawing.size);
  for (std::size_t i = 0; i < drawing.boxes.size(); ++i) {
    const MachineBox& box = drawing.boxes[i];
    EXPECT_TRUE(whole.adjusted(-1, -1, 1, 1).contains(box.area)) << name << ' ' << box.label.toStdString();
    for (std::size_t j = i + 1; j < drawing.boxes.size(); ++j)
      EXPECT_FALSE(box.area.intersects(drawing.boxes[j].area))
          << name << ": " << box.label.toStdString() << " covers " << drawing.boxes[j].label.toStdString();
    if (box.kind == MachineBox::Kind::Fabric) continue;
    EXPECT_TRUE(std::any_of(drawing.frames.begin(), drawing.frames.end(),
                            [&](const NodeFrame& frame) { return frame.area.contains(box.area); }))
        << name << ": " << box.label.toStdString();
  }
  for (const MachineLink& link : drawing.links) {
    if (!link.bar.isNull()) continue;
    for (const QPointF& end : {link.points.front(), link.points.back()})
      EXPECT_TRUE(std::any_of(drawing.boxes.begin(), drawing.boxes.end(),
                              [&](const MachineBox& box) { return box.area.adjusted(-1, -1, 1, 1).contains(end); }))
          << name << ": an end of " << link.id << " hangs in the air";
  }
}

TEST(MachineDrawing, IsTidyForEveryMachineThatComesAlong) {
  for (const char* node :
       {"dgx-a100-80gb", "a100-pcie-8gpu", "cpu-host", "dgx1-v100", "dgx2-v100", "gtx1080ti-4gpu", "hgx-a100-4gpu-40gb",
        "hgx-h100", "jetson-orin-nano-board", "rtx2080ti-4gpu", "rtx3090-2gpu-nvlink", "rtx3090-2gpu", "rtx4090-8gpu",
        "titan-rtx-2gpu-nvlink", "titan-rtx-4gpu"}) {
    for (const char* fabric : {"none", "own", "eth-10g", "ib-hdr-8x200", "efa-32x100", "wan-10g-50ms"}) {
      TopologyRequest request;
      const Document document = *parse_document(
          std::string("{model: resnet50, strategy: ddp, gpus: 1, batch: {per_gpu: 32}, topology: {node: ") + node +
              ", fabric: " + fabric + (std::string(fabric).rfind("wan", 0) == 0 ? ", gpus_per_node: 1}}" : "}}"),
          "machine.yaml");
      LoadedInputs loaded;
      const auto inputs = load_inputs(document, loaded);
      if (!inputs) continue;  // NICs of its own that a machine does not have
      const std::string name = std::string(node) + " with " + fabric;
      const MachineDrawing drawing = machine_drawing(inputs->topology, 1, nullptr);
      expect_tidy(drawing, name);
      const int gpus = boxes(drawing, MachineBox::Kind::Gpu);
      if (inputs->topology.node.gpu.vendor != "cpu") {
        EXPECT_EQ(gpus, inputs->topology.node.gpu_count) << name;
      }
      EXPECT_EQ(boxes(drawing, MachineBox::Kind::Gpu, true), 1) << name;
    }
  }
}

TEST(MachineDrawing, OneToSixteenGpusInUseFoldTheNodesThatAreAlike) {
  const Shown shown = shown_of("infiniband-scaling");
  const int per_node = shown.topology->gpus_on(0);
  for (const int gpus : {1, per_node, 2 * per_node, 3 * per_node + 1}) {
    const MachineDrawing drawing = machine_drawing(*shown.topology, gpus, nullptr);
    expect_tidy(drawing, std::to_string(gpus));
    EXPECT_EQ(drawing.frames.size(), gpus == 3 * per_node + 1 ? 2U : 1U);
    EXPECT_EQ(drawing.frames.front().title.contains("× 3 nodes"), gpus == 3 * per_node + 1);
    EXPECT_EQ(drawing.frames.front().title.contains("× 2 nodes"), gpus == 2 * per_node);
  }
}

TEST(MachineDrawing, NodesThatDifferStandBesideEachOther) {
  const Shown shown = shown_of("old-node-beside-new");
  const MachineDrawing drawing = machine_drawing(*shown.topology, 16, nullptr);
  ASSERT_EQ(drawing.frames.size(), 2U);
  expect_tidy(drawing, "mixed");
  EXPECT_TRUE(drawing.frames[0].title.startsWith("dgx-a100-80gb"));
  EXPECT_TRUE(drawing.frames[1].title.startsWith("dgx1-v100"));
  EXPECT_NE(find(drawing, "node1.gpu0.nvlink3"), nullptr);
  EXPECT_NE(find(drawing, "node0.gpu0.nvlink"), nullptr);
}

TEST(MachineDrawing, RatesAreThoseOfTheMachineWithItsOverrides) {
  const Shown shown = shown_of("second-node-10gbe", {"topology.override.nic.rate=3GB/s"});
  const MachineDrawing drawing = machine_drawing(*shown.topology, 8, nullptr);
  ASSERT_NE(find(drawing, "node0.nic0"), nullptr);
  EXPECT_DOUBLE_EQ(find(drawing, "node0.nic0")->rate, 3e9);
  EXPECT_DOUBLE_EQ(find(drawing, "node0.gpu0.pcie")->rate, pcie_slot_rate(*shown.topology));
}

TEST(LinkLoads, ARingOverNvlinkIsOnEveryGpuInUseAndLimitsThere) {
  const Shown shown = shown_of("dp-vs-ddp-resnet50-8xa100");
  const lockstep::Run& run = run_of(shown, Strategy::Ddp, 4);
  const LinkUse& use = use_of(run, "ring.nvlink");
  const auto loads = link_loads(*shown.topology, run);
  for (int gpu = 0; gpu < 8; ++gpu) {
    const auto found = loads.find("node0.gpu" + std::to_string(gpu) + ".nvlink");
    ASSERT_EQ(found != loads.end(), gpu < 4) << gpu;
    if (gpu >= 4) continue;
    EXPECT_EQ(found->second.bytes, use.bytes);
    EXPECT_DOUBLE_EQ(found->second.busy, use.utilization);
    EXPECT_TRUE(found->second.slowest);
  }
}

TEST(LinkLoads, CopiesOfAllRanksAddUpOnWhatTheyShare) {
  const Shown shown = shown_of("dp-vs-ddp-resnet50-8xa100");
  const lockstep::Run& run = run_of(shown, Strategy::Ddp, 8);
  const std::int64_t one = use_of(run, "host_to_device").bytes;
  const auto loads = link_loads(*shown.topology, run);
  EXPECT_EQ(loads.at("node0.gpu5.pcie").bytes, one);
  EXPECT_EQ(loads.at("node0.switch1.uplink").bytes, 2 * one);
  EXPECT_EQ(loads.at("node0.host").bytes, 8 * one);
  EXPECT_FALSE(loads.at("node0.host").slowest);
}

TEST(LinkLoads, BetweenNodesTheNicsLimitAndShareTheBytes) {
  const Shown shown = shown_of("infiniband-scaling");
  const lockstep::Run& run = shown.result->runs.back();
  ASSERT_GT(run.nodes, 1);
  const LinkUse& use = use_of(run, "ring.nic");
  const auto loads = link_loads(*shown.topology, run);
  std::int64_t sum = 0;
  int nics = 0;
  for (const auto& [id, load] : loads) {
    if (id.find(".nic") == std::string::npos) {
      EXPECT_FALSE(load.slowest) << id;
      continue;
    }
    EXPECT_TRUE(load.slowest) << id;
    sum += load.bytes;
    ++nics;
  }
  EXPECT_GT(nics, 0);
  EXPECT_NEAR(static_cast<double>(sum), static_cast<double>(use.bytes), 0.001 * static_cast<double>(use.bytes));
}

TEST(LinkLoads, AMeshSharesTheRingAmongItsNvlinks) {
  const Shown shown = shown_of("v100-dgx1");
  const lockstep::Run& run = run_of(shown, Strategy::Ddp, 8);
  const auto loads = link_loads(*shown.topology, run);
  const auto bytes = static_cast<double>(use_of(run, "ring.nvlink").bytes);
  double of_gpu0 = 0;
  for (const auto& [id, load] : loads)
    if (id.rfind("node0.gpu0.nvlink", 0) == 0) of_gpu0 += static_cast<double>(load.bytes);
  EXPECT_NEAR(of_gpu0, bytes, 10);
  EXPECT_TRUE(loads.at("node0.gpu4.nvlink7").slowest);
}

TEST(LinkLoads, DataParallelsScatterIsOneBatchForEachOtherGpu) {
  const Shown shown = shown_of("dp-vs-ddp-resnet50-8xa100");
  const lockstep::Run& run = run_of(shown, Strategy::Dp, 8);
  const auto loads = link_loads(*shown.topology, run);
  const std::int64_t ring = use_of(run, "ring.nvlink").bytes, all = use_of(run, "node0.gpu1.nvlink").bytes;
  EXPECT_EQ(loads.at("node0.gpu0.nvlink").bytes, ring + use_of(run, "node0.gpu0.nvlink").bytes);
  for (const int gpu : {1, 4, 7})
    EXPECT_NEAR(static_cast<double>(loads.at("node0.gpu" + std::to_string(gpu) + ".nvlink").bytes),
                static_cast<double>(ring) + static_cast<double>(all) / 7, 2);
}

TEST(LinkLoads, OnlyTheSlowestOfTheNodesLimitsARingOverNodesThatDiffer) {
  const Shown shown = shown_of("old-node-beside-new");
  const lockstep::Run& run = shown.result->runs.back();
  const auto loads = link_loads(*shown.topology, run);
  const int slowest = ring_of(*shown.topology, run.gpus).slowest_node;
  for (const auto& [id, load] : loads) {
    if (load.slowest) {
      EXPECT_EQ(id.rfind("node" + std::to_string(slowest) + ".", 0), 0U) << id;
    }
  }
  EXPECT_TRUE(std::any_of(loads.begin(), loads.end(), [](const auto& one) { return one.second.slowest; }));
}

TEST(LinkLoads, CpuRanksLoadTheMemoryOfTheirHost) {
  const Shown shown = shown_of("cpu-two-ranks");
  const auto loads = link_loads(*shown.topology, run_of(shown, Strategy::Ddp, 2));
  ASSERT_EQ(loads.count("node0.host"), 1U);
  EXPECT_TRUE(loads.at("node0.host").slowest);
}

TEST(LinkUnderThePointer, IsFoundAlongItsWholeLine) {
  const Shown shown = shown_of("v100-dgx1");
  const MachineDrawing drawing = machine_drawing(*shown.topology, 8, &run_of(shown, Strategy::Ddp, 8));
  for (std::size_t i = 0; i < drawing.links.size(); ++i) {
    const MachineLink& link = drawing.links[i];
    if (link.id.empty()) continue;
    const QPointF middle = !link.bar.isNull() ? link.bar.center()
                           : link.arc         ? 0.25 * link.points[0] + 0.5 * link.points[1] + 0.25 * link.points[2]
                                              : 0.5 * (link.points[0] + link.points[1]);
    const int found = link_at(drawing, middle, 3);
    ASSERT_GE(found, 0) << link.id;
    if (!link.arc) {
      EXPECT_EQ(drawing.links[static_cast<std::size_t>(found)].id, link.id);  // arcs may cross
    }
  }
  EXPECT_EQ(link_at(drawing, QPointF(-50, -50)), -1);
}

TEST(LinkWidth, GrowsWithTheRate) {
  EXPECT_LT(link_width(1e9), link_width(1e10));
  EXPECT_LT(link_width(1e10), link_width(3e11));
  EXPECT_GT(link_width(0), 0);
}

}  // namespace
}  // namespace lockstep::gui
