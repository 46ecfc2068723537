// Mistakes put in on purpose: a sound graph passes the check that a law uses, the spoiled copy does not. So the laws
// are known to see what they are there for.
#include <gtest/gtest.h>

#include <algorithm>

#include "simulator/costs/constants.h"
#include "simulator/engine/engine.h"
#include "simulator/estimate/estimate.h"
#include "tests/laws/support/checks.h"

namespace lockstep::testing {
namespace {

TestPoint point_of(Strategy strategy, const std::string& model = "resnet50") {
  TestPoint point;
  point.model_name = model;
  point.strategy = strategy;
  point.gpus = 8;
  point.load();
  return point;
}

// Sixteen V100 over 10 Gb/s Ethernet: the network is the limit.
TestPoint slow_network() {
  TestPoint point = point_of(Strategy::Ddp);
  point.node = "dgx1-v100";
  point.fabric = "eth-10g";
  point.gpus = 16;
  point.load();
  return point;
}

Watched watched(const StepGraph& graph, StepRecord& record, bool engine = false) {
  record = engine ? simulated(graph) : estimate(graph, {});
  return watch(graph, record, 0, static_cast<int>(record.steps.size()) - 1);
}

std::vector<Item>& program(StepGraph& graph, std::size_t rank_class = 0) {
  return graph.steady.programs[rank_class];
}
bool labelled(const StepGraph& graph, const Item& item, const std::string& prefix) {
  return item.label >= 0 && graph.labels[static_cast<std::size_t>(item.label)].find(prefix) == 0;
}
std::vector<Item>::iterator item_labelled(StepGraph& graph, const std::string& prefix, std::size_t rank_class = 0) {
  auto& items = program(graph, rank_class);
  const auto found =
      std::find_if(items.begin(), items.end(), [&](const Item& item) { return labelled(graph, item, prefix); });
  EXPECT_NE(found, items.end()) << prefix;
  return found;
}
int bucket_meeting(const StepGraph& graph, int bucket) {
  for (std::size_t m = 0; m < graph.steady.meetings.size(); ++m)
    if (graph.steady.meetings[m].bucket == bucket) return static_cast<int>(m);
  return -1;
}

TEST(ASeededBug, OfABucketTooManyIsSeen) {
  const TestPoint point = point_of(Strategy::Ddp);
  StepGraph graph = point.graph();
  ASSERT_EQ(buckets_are_those_of_the_rule(graph, point), "");
  const int split = bucket_meeting(graph, 2);
  Meeting half = graph.steady.meetings[static_cast<std::size_t>(split)];
  half.payload_bytes /= 2;
  half.flow_bytes /= 2;
  graph.steady.meetings[static_cast<std::size_t>(split)] = half;
  graph.steady.meetings.push_back(half);
  const auto first = item_labelled(graph, "ncclAllReduce bucket 2");
  Item second = *first;
  second.meeting = static_cast<int>(graph.steady.meetings.size()) - 1;
  program(graph).insert(first + 1, second);
  EXPECT_NE(buckets_are_those_of_the_rule(graph, point), "");
}

TEST(ASeededBug, OfABucketThatLosesATensorIsSeen) {
  const TestPoint point = point_of(Strategy::Ddp);
  StepGraph graph = point.graph();
  graph.steady.meetings[static_cast<std::size_t>(bucket_meeting(graph, 1))].payload_bytes -= 4096;
  EXPECT_NE(buckets_are_those_of_the_rule(graph, point), "");
}

TEST(ASeededBug, OfSwappedBucketsIsSeen) {
  const TestPoint point = point_of(Strategy::Ddp);
  StepGraph graph = point.graph();
  StepRecord record;
  ASSERT_EQ(buckets_start_in_order(watched(graph, record)), "");
  std::swap(item_labelled(graph, "ncclAllReduce bucket 1")->meeting,
            item_labelled(graph, "ncclAllReduce bucket 2")->meeting);
  const Watched run = watched(graph, record);
  EXPECT_NE(buckets_start_in_order(run), "");
  EXPECT_NE(buckets_follow_their_gradients(run, point), "");
}

TEST(ASeededBug, OfABucketLaunchedBeforeItsLastGradientIsSeen) {
  const TestPoint point = point_of(Strategy::Ddp);
  StepGraph graph = point.graph();
  StepRecord record;
  ASSERT_EQ(buckets_follow_their_gradients(watched(graph, record), point), "");
  auto& items = program(graph);
  const auto launch = item_labelled(graph, "ncclAllReduce bucket 3");
  const Item moved = *launch;
  const auto earlier = std::find_if(items.rbegin() + (items.end() - launch), items.rend(),
                                    [&](const Item& item) { return labelled(graph, item, "copy to bucket"); });
  ASSERT_NE(earlier, items.rend());
  items.erase(launch);
  items.insert(earlier.base() - 1, moved);
  EXPECT_NE(buckets_follow_their_gradients(watched(graph, record), point), "");
}

TEST(ASeededBug, OfAForgottenAlphaIsSeen) {
  const TestPoint point = point_of(Strategy::Ddp);
  StepGraph graph = point.graph();
  StepRecord record;
  ASSERT_EQ(buckets_take_their_plan(watched(graph, record), point), "");
  for (auto& meeting : graph.steady.meetings) meeting.alpha_s = 0;
  EXPECT_NE(buckets_take_their_plan(watched(graph, record), point), "");
}

TEST(ASeededBug, OfHalfTheRingsBytesIsSeen) {
  const TestPoint point = point_of(Strategy::Ddp, "vgg16");
  StepGraph graph = point.graph();
  StepRecord record;
  ASSERT_EQ(buckets_keep_the_ring_bound(watched(graph, record), point), "");
  for (auto& meeting : graph.steady.meetings) meeting.flow_bytes /= 2;  // n-1 steps instead of 2(n-1)
  EXPECT_NE(buckets_keep_the_ring_bound(watched(graph, record), point), "");
}

TEST(ASeededBug, OfForgottenContentionWithKernelsIsSeen) {
  const TestPoint point = point_of(Strategy::Ddp);
  const double phi = default_constants().ddp.phi;
  StepGraph graph = point.graph();
  StepRecord record;
  ASSERT_EQ(contention_is_paid(watched(graph, record), phi), "");
  graph.contention = 1;
  EXPECT_NE(contention_is_paid(watched(graph, record), phi), "");
}

// The estimate looks at no other copy: on a machine whose switches share an uplink it must not pass for the engine.
TEST(ASeededBug, OfForgottenContentionOnSharedLinksIsSeen) {
  TestPoint point = point_of(Strategy::Ddp);
  point.node = "a100-pcie-8gpu";
  point.scenario.input.source = InputSource::Host;
  point.scenario.input.memory = HostMemory::Pinned;
  point.folded = false;
  point.load();
  const StepGraph graph = point.graph();
  StepRecord record;
  EXPECT_EQ(links_keep_their_rate(watched(graph, record, true)), "");
  EXPECT_NE(links_keep_their_rate(watched(graph, record, false)), "");
}

TEST(ASeededBug, OfAnOptimizerThatDoesNotWaitIsSeen) {
  const TestPoint point = slow_network();
  StepGraph graph = point.graph();
  StepRecord record;
  ASSERT_EQ(optimizer_follows_the_buckets(watched(graph, record)), "");
  auto& items = program(graph);
  items.erase(std::remove_if(items.begin(), items.end(), [](const Item& i) { return i.kind == ItemKind::StreamWait; }),
              items.end());
  EXPECT_NE(optimizer_follows_the_buckets(watched(graph, record)), "");
}

TEST(ASeededBug, OfOverlapInDataParallelIsSeen) {
  const TestPoint point = point_of(Strategy::Dp);
  StepGraph graph = point.graph();
  StepRecord record = estimate(graph, {});
  ASSERT_EQ(reduce_follows_backward(graph, record, 3), "");
  for (std::size_t c = 0; c < 2; ++c) {
    auto& items = program(graph, c);
    const auto reduce = item_labelled(graph, "ncclReduce gradients", c);
    const Item moved = *reduce;
    items.erase(reduce);
    const auto first =
        std::find_if(items.begin(), items.end(), [](const Item& i) { return i.cause == Cause::Backward; });
    items.insert(first + (items.end() - first) / 2, moved);
  }
  record = estimate(graph, {});
  EXPECT_NE(reduce_follows_backward(graph, record, 3), "");
}

TEST(ASeededBug, OfALaunchQueueWithoutAnEndIsSeen) {
  TestPoint point = point_of(Strategy::Single);
  point.gpus = 1;
  point.batch = 256;
  point.scenario.host_factor = 0.1;
  const StepGraph graph = point.graph();
  EXPECT_EQ(host_is_at_most_the_queue_ahead(launches_of(graph, 12)), "");
  EXPECT_NE(host_is_at_most_the_queue_ahead(launches_of(graph, 12, true)), "");
}

TEST(ASeededBug, OfAKernelChargedTwiceIsSeen) {
  const StepGraph graph = point_of(Strategy::Ddp).graph();
  StepRecord record;
  Watched run = watched(graph, record);
  ASSERT_EQ(breakdown_is_whole(run), "");
  run.replay.breakdown_s[static_cast<std::size_t>(Cause::Backward)] += 1e-6;
  EXPECT_NE(breakdown_is_whole(run), "");
}

TEST(ASeededBug, OfExposedTimeCalledHiddenIsSeen) {
  const StepGraph graph = slow_network().graph();
  StepRecord record;
  Watched run = watched(graph, record);
  ASSERT_EQ(hidden_communication_is_beside_work(run), "");
  run.replay.hidden_communication_s += run.replay.breakdown_s[static_cast<std::size_t>(Cause::ExposedCommunication)];
  EXPECT_NE(hidden_communication_is_beside_work(run), "");
}

}  // namespace
}  // namespace lockstep::testing
