// Nodes that differ, and chosen GPUs of a node: what must hold whatever the costs are.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "simulator/answers/points.h"
#include "tests/laws/support/points.h"
#include "tests/simulator/support/event_per_op.h"
#include "topologies/reader.h"

namespace lockstep::testing {
namespace {

TestPoint on_nodes(const std::vector<std::string>& nodes, int gpus, const std::string& fabric = "ib-edr-4x100") {
  TestPoint point;
  point.fabric = fabric;
  point.gpus = gpus;
  point.load();
  TopologyRequest request;
  request.nodes = nodes;
  request.fabric = fabric;
  request.max_gpus = gpus;
  auto loaded = load_topology(request, {{LOCKSTEP_SOURCE_DIR "/topologies"}});
  EXPECT_TRUE(loaded.has_value()) << to_text(loaded.error().front());
  point.topology = *std::move(loaded);
  return point;
}

double step_s(const TestPoint& point) {
  return simulated_step_s(point.graph());
}

TEST(MixedNodes, OfOneTypePredictWhatThatTypePredicts) {
  TestPoint listed = on_nodes({"dgx1-v100", "dgx1-v100"}, 16), plain = listed;
  plain.node = "dgx1-v100";
  plain.load();
  EXPECT_DOUBLE_EQ(step_s(listed), step_s(plain));
}

TEST(MixedNodes, TakeAsLongAsTheSlowerGpuNeedsAndMore) {
  const double mixed = step_s(on_nodes({"dgx-a100-80gb", "dgx1-v100"}, 16));
  const double fast = step_s(on_nodes({"dgx-a100-80gb", "dgx-a100-80gb"}, 16));
  const double slow = step_s(on_nodes({"dgx1-v100", "dgx1-v100"}, 16));
  TestPoint one_slow = on_nodes({"dgx1-v100"}, 1, "");
  one_slow.strategy = Strategy::Single;
  EXPECT_GT(slow, 1.2 * fast);  // else this says nothing
  EXPECT_GT(mixed, step_s(one_slow));
  EXPECT_GT(mixed, 1.1 * fast);
  EXPECT_LT(mixed, 1.05 * slow);
}

TEST(MixedNodes, InAnotherOrderTakeTheSameStep) {
  const double one = step_s(on_nodes({"dgx-a100-80gb", "dgx1-v100"}, 16));
  const double other = step_s(on_nodes({"dgx1-v100", "dgx-a100-80gb"}, 16));
  EXPECT_NEAR(other / one, 1, 1e-9);
}

TEST(MixedNodes, WhereOnlyTheFirstIsUsedAreThatNodeAlone) {
  TestPoint listed = on_nodes({"dgx-a100-80gb", "dgx1-v100"}, 8), plain = listed;
  plain.load();
  EXPECT_NEAR(step_s(listed) / step_s(plain), 1, 1e-9);
}

// GPUs of three types, with copies from the host that share links on one of the nodes.
TestPoint three_types(bool folded) {
  TestPoint point = on_nodes({"dgx-a100-80gb", "dgx1-v100", "titan-rtx-4gpu"}, 20, "eth-100g");
  point.folded = folded;
  point.batch = 8;
  point.scenario.input.source = InputSource::Host;
  point.scenario.input.memory = HostMemory::Pinned;
  return point;
}

TEST(MixedNodes, FoldedEqualExplicitRanks) {
  const TestPoint folded = three_types(ranks_are_alike(three_types(true).request()));
  ASSERT_TRUE(folded.folded);
  const StepGraph graph = folded.graph();
  ASSERT_EQ(graph.classes.size(), 3U);
  EXPECT_EQ(graph.classes[2].first_rank, 16);
  EXPECT_EQ(graph.real_ranks(), 20);
  EXPECT_NEAR(step_s(folded) / step_s(three_types(false)), 1, 1e-9);
}

TEST(MixedNodes, EqualOneEventPerOpAlsoWithJitter) {
  for (const double sigma : {0.0, 0.1}) {
    const StepGraph graph = three_types(false).graph();
    const JitterSource jitter{sigma, false, 7};
    const StepRecord mine = simulated(graph, 3, jitter);
    const auto network = make_simgrid_network();
    const StepRecord theirs = simulate_event_per_op(graph, *network, jitter, static_cast<int>(mine.steps.size()));
    for (std::size_t s = 0; s < mine.steps.size(); ++s)
      EXPECT_NEAR(mine.steps[s].end / theirs.steps[s].end, 1, 1e-9) << "step " << s << ", sigma " << sigma;
  }
}

TEST(MixedNodes, MeetAtTheSameCollectivesInTheSameOrder) {
  const StepGraph graph = three_types(true).graph();
  const auto meetings_of = [&](std::size_t c) {
    std::vector<int> joined;
    for (const Item& item : graph.steady.programs[c])
      if (item.kind == ItemKind::Arrive) joined.push_back(item.meeting);
    return joined;
  };
  for (std::size_t c = 0; c < graph.classes.size(); ++c) {
    EXPECT_EQ(meetings_of(c), meetings_of(0));
    EXPECT_EQ(meetings_of(c).size(), graph.steady.meetings.size());
  }
}

TEST(MixedNodes, TellRanksApartAndFitEachInItsOwnMemory) {
  TestPoint point = on_nodes({"dgx-a100-80gb", "dgx1-v100"}, 16);
  point.batch = 2048;  // about 48 GB: more than the V100's 32 GB, less than the A100's 80 GB
  const lockstep::Run run = predict_point(point.inputs(), {Method::Estimate, false, false});
  ASSERT_EQ(run.ranks.size(), 2U);
  EXPECT_EQ(run.ranks[0].ranks, "0-7");
  EXPECT_EQ(run.ranks[1].ranks, "8-15");
  EXPECT_EQ(gpu_of(run.ranks[1], point.topology).name, "v100-sxm2-32gb");
  EXPECT_GT(run.ranks[1].gpu_compute_utilization, run.ranks[0].gpu_compute_utilization);
  const auto lack = memory_lack(run, point.topology);
  ASSERT_TRUE(lack.has_value());
  EXPECT_EQ(lack->memory_bytes, 32e9);
  EXPECT_LT(run.cpu_utilization.value_or(1), 1);
  point.batch = 8;
  EXPECT_EQ(fits_memory(predict_point(point.inputs(), {Method::Estimate, false, false}), point.topology), true);
}

// On the V100's mesh, GPUs 0 and 3 share two NVLinks, 0 and 5 none.
TEST(ChosenGpus, DecideWhichLinksTheCollectivesTake) {
  const auto with = [](std::vector<int> index) {
    TestPoint point;
    point.node = "dgx1-v100";
    point.gpus = 2;
    point.load();
    TopologyRequest request;
    request.node = point.node;
    request.gpu_index = std::move(index);
    request.max_gpus = 2;
    point.topology = load_topology(request, {{LOCKSTEP_SOURCE_DIR "/topologies"}}).value();
    return point;
  };
  const double near = step_s(with({0, 3})), far = step_s(with({0, 5}));
  EXPECT_GT(far, 1.005 * near);
  TestPoint dp_near = with({0, 3}), dp_far = with({0, 5});
  dp_near.strategy = dp_far.strategy = Strategy::Dp;
  EXPECT_GT(step_s(dp_far), 1.005 * step_s(dp_near));
}

}  // namespace
}  // namespace lockstep::testing
