// The order of events in a step of DistributedDataParallel (torch/csrc/distributed/c10d/reducer.cpp,
// torch/nn/parallel/distributed.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/builder.h"
#include "models/derived.h"
#include "simulator/collectives/ring.h"
#include "simulator/costs/constants.h"
#include "simulator/estimate/estimate.h"
#include "tests/laws/support/checks.h"

namespace lockstep::testing {
namespace {

using ::testing::ElementsAre;

TestPoint ddp_point(const std::string& model, int gpus = 8) {
  TestPoint point;
  point.model_name = model;
  point.gpus = gpus;
  point.scenario.noise.none = true;
  point.load();
  return point;
}

int count_meetings(const StepProgram& program, const std::string& name) {
  return static_cast<int>(std::count_if(program.meetings.begin(), program.meetings.end(),
                                        [&](const Meeting& m) { return m.name.find(name) == 0; }));
}

int count_items(const StepGraph& graph, const StepProgram& program, const std::string& label) {
  int count = 0;
  for (const auto& item : program.programs[0])
    count += item.label >= 0 && graph.labels[static_cast<std::size_t>(item.label)].find(label) == 0;
  return count;
}

double last_backward_end_s(const Watched& run) {
  double last = 0;
  for (const auto& span : run.replay.timeline)
    if (span.lane == Lane::Compute && span.cause == Cause::Backward) last = std::max(last, span.end_s);
  return last;
}

TEST(StepsOfDdp, HaveOneBucketFirstAndTheRebuiltOnesFromTheSecondOn) {
  const StepGraph graph = ddp_point("resnet18").graph();
  ASSERT_EQ(graph.warm_up.size(), 2U);
  EXPECT_THAT(graph.warm_up[0].bucket_bytes, ElementsAre(46758048));
  EXPECT_THAT(graph.warm_up[1].bucket_bytes, ElementsAre(2052000, 28852224, 15853824));
  EXPECT_THAT(graph.steady.bucket_bytes, ElementsAre(2052000, 28852224, 15853824));
  EXPECT_EQ(count_meetings(graph.warm_up[0], "bucket order"), 0);
  EXPECT_EQ(count_meetings(graph.warm_up[1], "bucket order"), 2);  // rank 0's order goes to all, once
  EXPECT_EQ(count_meetings(graph.steady, "bucket order"), 0);
}

TEST(StepsOfDdp, HaveNoOverlapInTheFirst) {
  const StepGraph graph = ddp_point("resnet18").graph();
  const StepRecord record = estimate(graph, {});
  const Watched first = watch(graph, record, 0, 0);
  ASSERT_EQ(first.replay.buckets.size(), 1U);
  EXPECT_GE(first.replay.buckets[0].start_s, last_backward_end_s(first));
}

TEST(StepsOfDdp, WithAStaticGraphKeepTheSingleBucketForTwoSteps) {
  TestPoint point = ddp_point("resnet18");
  point.scenario.ddp.static_graph = true;
  const StepGraph graph = point.graph();
  ASSERT_EQ(graph.warm_up.size(), 3U);
  EXPECT_EQ(graph.warm_up[0].bucket_bytes.size(), 1U);
  EXPECT_EQ(graph.warm_up[1].bucket_bytes.size(), 1U);
  EXPECT_EQ(graph.warm_up[2].bucket_bytes.size(), 3U);
  const StepRecord record = estimate(graph, {});
  const Watched first = watch(graph, record, 0, 0);
  for (const auto& bucket : first.replay.buckets) EXPECT_GE(bucket.start_s, last_backward_end_s(first));
}

TEST(StepsOfDdp, WithFindUnusedAreAlikeFromTheFirst) {
  TestPoint point = ddp_point("resnet18");
  point.scenario.ddp.find_unused_parameters = true;
  const StepGraph graph = point.graph();
  EXPECT_TRUE(graph.warm_up.empty());
  EXPECT_THAT(graph.steady.bucket_bytes, ElementsAre(11497376, 33744896, 1515776));
  EXPECT_EQ(count_meetings(graph.steady, "used parameters"), 1);
}

// A model that registers its layers in the order of execution reversed: the bucket that is launched first is complete
// last, and holds all others back.
TEST(BucketsOfDdp, StartInOrderEvenWhenALaterOneIsCompleteFirst) {
  ModelBuilder builder("reversed", "samples", {1024}, DType::Fp32, 1);
  OpId x = builder.input();
  for (const char* name : {"a", "b", "c"}) x = builder.linear(x, name, 1024, false);
  builder.cross_entropy(x);
  builder.reorder_parameters({"c.weight", "b.weight", "a.weight"});
  const Model model = std::move(builder).finish();
  TestPoint point = ddp_point("mlp");
  point.model = &model;
  point.scenario.ddp.find_unused_parameters = true;
  point.scenario.ddp.bucket_cap_bytes = 1 << 20;
  const StepGraph graph = point.graph();
  ASSERT_EQ(graph.steady.bucket_bytes.size(), 3U);
  const StepRecord record = estimate(graph, {});
  const Watched run = watch(graph, record, 0, 2);
  EXPECT_EQ(buckets_start_in_order(run), "");
  EXPECT_GE(run.replay.buckets[0].start_s, last_backward_end_s(run));
}

TEST(BucketsOfDdp, FollowTheirGradientsAndTakeTheirPlan) {
  for (const std::string model : {"resnet18", "vgg16", "bert-base", "gpt2"}) {
    TestPoint point = ddp_point(model);
    const StepGraph graph = point.graph();
    const StepRecord record = simulated(graph);
    const Watched run = watch(graph, record, 0, static_cast<int>(record.steps.size()) - 1);
    EXPECT_EQ(buckets_are_those_of_the_rule(graph, point), "") << model;
    EXPECT_EQ(buckets_start_in_order(run), "") << model;
    EXPECT_EQ(buckets_follow_their_gradients(run, point), "") << model;
    EXPECT_EQ(buckets_take_their_plan(run, point), "") << model;
    EXPECT_EQ(optimizer_follows_the_buckets(run), "") << model;
  }
}

// With the first layer's gradients in it the last bucket cannot be hidden.
TEST(BucketsOfDdp, EndAtLeastOneAllReduceAfterBackward) {
  for (const std::string model : {"resnet50", "vgg16", "gpt2"}) {
    TestPoint point = ddp_point(model);
    const StepGraph graph = point.graph();
    const StepRecord record = estimate(graph, {});
    const Watched run = watch(graph, record, 0, 3);
    const BucketTimes& last = run.replay.buckets.back();
    const double alone =
        plan_collective(ring_of(point.topology, point.gpus), CollectiveOperation::AllReduce, last.bytes).seconds();
    EXPECT_GE(last.end_s, last_backward_end_s(run) + alone) << model;
  }
}

TEST(BucketsOfDdp, GoOutOncePerStepUnderNoSync) {
  TestPoint point = ddp_point("resnet18");
  point.micro_steps = point.scenario.accumulate_steps = 4;
  const StepGraph graph = point.graph();
  EXPECT_EQ(count_meetings(graph.steady, "all-reduce bucket"), 3);
  EXPECT_EQ(count_meetings(graph.steady, "buffer broadcast"), 2);  // fp32 and int64, before the first forward only
  EXPECT_EQ(count_items(graph, graph.steady, "copy to bucket"), 62);
  point.scenario.accumulate_no_sync = false;
  const StepGraph each = point.graph();
  EXPECT_EQ(count_meetings(each.steady, "all-reduce bucket"), 12);
  EXPECT_EQ(count_meetings(each.steady, "buffer broadcast"), 8);
  EXPECT_GT(estimated_step_s(each), estimated_step_s(graph));
}

TEST(CopiesOfDdp, AreOneInAndOneOutPerParameterUnlessGradientsAreViews) {
  TestPoint point = ddp_point("resnet50");
  const StepGraph copied = point.graph();
  EXPECT_EQ(count_items(copied, copied.steady, "copy to bucket"), 161);
  EXPECT_EQ(count_items(copied, copied.steady, "copy from bucket"), 161);
  point.scenario.ddp.gradient_as_bucket_view = true;
  const StepGraph views = point.graph();
  EXPECT_EQ(count_items(views, views.steady, "copy to bucket"), 161);
  EXPECT_EQ(count_items(views, views.steady, "copy from bucket"), 0);
}

TEST(BuffersOfDdp, AreBroadcastBeforeForwardAndExposed) {
  TestPoint point = ddp_point("resnet50");
  const StepGraph graph = point.graph();
  std::vector<std::int64_t> bytes;
  for (const auto& meeting : graph.steady.meetings)
    if (meeting.name == "buffer broadcast") bytes.push_back(meeting.payload_bytes);
  EXPECT_THAT(bytes, ::testing::UnorderedElementsAre(212480, 424));
  const StepRecord record = estimate(graph, {});
  EXPECT_GT(watch(graph, record, 0, 3).replay.breakdown_s[static_cast<std::size_t>(Cause::BufferBroadcast)], 0);
  point.scenario.ddp.broadcast_buffers = false;
  EXPECT_EQ(count_meetings(point.graph().steady, "buffer broadcast"), 0);
}

TEST(DdpOnOneGpu, CopiesButReducesNothing) {
  const StepGraph graph = ddp_point("resnet50", 1).graph();
  EXPECT_EQ(count_items(graph, graph.steady, "copy to bucket"), 161);
  EXPECT_EQ(count_meetings(graph.steady, "all-reduce bucket"), 0);
  EXPECT_EQ(count_meetings(graph.steady, "buffer broadcast"), 0);
}

TEST(TheExpectedWait, IsSigmaTimesTheSingleStepTimesTheExpectedMaximum) {
  TestPoint point = ddp_point("resnet50");
  const double without = estimated_step_s(point.graph());
  point.scenario.noise.none = false;
  point.single_step_s = 0.1;
  EXPECT_NEAR(estimated_step_s(point.graph()) - without, 0.015 * 0.1 * 1.4236, 1e-7);
  point.scenario.noise.jitter = Jitter{};  // drawn noise replaces it
  EXPECT_EQ(estimated_step_s(point.graph()), without);
}

}  // namespace
}  // namespace lockstep::testing
