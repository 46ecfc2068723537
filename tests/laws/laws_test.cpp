// Laws that every scenario obeys, as property tests over random ones. Times are compared over the sum of the first
// steps or on the settled step, to 1e-9.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "models/derived.h"
#include "simulator/collectives/ring.h"
#include "simulator/engine/engine.h"
#include "simulator/estimate/estimate.h"
#include "tests/laws/support/checks.h"
#include "tests/laws/support/draw.h"

namespace lockstep::testing {
namespace {

constexpr double kNear = 1e-9;

DrawOptions all_strategies() {
  DrawOptions options;
  options.strategies = {Strategy::Single, Strategy::Dp, Strategy::Ddp};
  return options;
}

DrawOptions only(Strategy strategy, int most_gpus = 32) {
  DrawOptions options;
  options.strategies = {strategy};
  options.most_gpus = most_gpus;
  return options;
}

// The steady steps of a run, watched in the last one.
struct Sample {
  TestPoint point;
  StepGraph graph;
  StepRecord record;
  int last() const { return static_cast<int>(record.steps.size()) - 1; }
};
Sample run_of(const DrawOptions& options) {
  Sample run{draw_point(options), {}, {}};
  run.graph = run.point.graph();
  run.record = simulated(run.graph, 3);
  return run;
}

void expect_nothing_wrong(const Sample& run, const std::string& wrong) {
  if (!wrong.empty()) RC_FAIL(run.point.text() + ": " + wrong);
}

void expect_not_faster(double slow, double fast, const std::string& what) {
  if (slow < fast * (1 - kNear)) RC_FAIL(fmt::format("{}: {} s, {} s", what, slow, fast));
}

// --- baselines ---

TEST(Law, DpOnOneGpuIsTheSingleGpuBitByBit) {
  EXPECT_TRUE(holds("DP on one GPU equals single", 180, [] {
    TestPoint point = draw_point(only(Strategy::Dp, 1));
    const StepGraph dp = point.graph(), single = single_of(point).graph();
    RC_ASSERT(estimated_step_s(dp) == estimated_step_s(single));
    // SimGrid's clock goes on within a process, so a second simulation of it may differ in last bits: see point_alone.
    RC_ASSERT(std::abs(simulated_step_s(dp) - simulated_step_s(single)) <= 1e-12);
  }));
}

bool is_of_ddp(const StepGraph& graph, const Item& item) {
  if (item.label < 0) return false;
  const std::string& label = graph.labels[static_cast<std::size_t>(item.label)];
  for (const char* own : {"copy to bucket", "copy from bucket", "flatten buffers", "copy buffer", "DDP forward",
                          "search unused parameters"})
    if (label.find(own) == 0) return true;
  return false;
}

TEST(Law, DdpOnOneGpuIsTheSingleGpuPlusHooksCopiesBuffersAndWrapper) {
  EXPECT_TRUE(holds("DDP on one GPU is single and more", 180, [] {
    TestPoint point = draw_point(only(Strategy::Ddp, 1));
    const StepGraph ddp = point.graph(), single = single_of(point).graph();
    std::vector<Item> rest;
    for (const auto& item : ddp.steady.programs[0])
      if (!is_of_ddp(ddp, item)) rest.push_back(item);
    const auto& alone = single.steady.programs[0];
    RC_ASSERT(rest.size() == alone.size());
    for (std::size_t i = 0; i < rest.size(); ++i) {
      RC_ASSERT(rest[i].kind == alone[i].kind);
      RC_ASSERT(rest[i].host_s == alone[i].host_s);
      RC_ASSERT(rest[i].device_s == alone[i].device_s);
      RC_ASSERT(rest[i].cause == alone[i].cause);
    }
    RC_ASSERT(rest.size() < ddp.steady.programs[0].size());
    expect_not_faster(estimated_step_s(ddp), estimated_step_s(single), point.text());
  }));
}

TEST(Law, WeakScalingIsNeverBetterThanPerfect) {
  EXPECT_TRUE(holds("efficiency <= 1", 240, [] {
    DrawOptions options = all_strategies();
    options.strategies = {Strategy::Dp, Strategy::Ddp};
    const TestPoint point = draw_point(options);
    expect_not_faster(simulated_step_s(point.graph()), simulated_step_s(single_of(point).graph()), point.text());
  }));
}

// --- monotony ---

TEST(Law, MoreBandwidthIsNeverSlower) {
  EXPECT_TRUE(holds("more bandwidth is never slower", 240, [] {
    DrawOptions options = all_strategies();
    TestPoint point = draw_point(options);
    point.folded = *rc::gen::arbitrary<bool>().as("folded");
    StepGraph graph = point.graph();
    const double before = simulated_sum_s(graph, 3);
    if (graph.links.empty()) RC_DISCARD("no links");
    const auto link = *rc::gen::inRange<std::size_t>(0, graph.links.size()).as("link");
    const auto kind = graph.links[link].link_class;
    const double factor = *rc::gen::element(1.1, 2.0, 10.0).as("factor");
    for (auto& other : graph.links)
      if (other.link_class == kind) other.rate *= factor;
    expect_not_faster(before, simulated_sum_s(graph, 3), point.text() + " with faster " + name_of(kind));
  }));
}

TEST(Law, AFasterMachineIsNeverSlowerThroughTheTopologyEither) {
  EXPECT_TRUE(holds("an override that raises a rate is never slower", 180, [] {
    TestPoint point = draw_point(all_strategies());
    const double before = simulated_sum_s(point.graph(), 3);
    const std::string key = *rc::gen::element<std::string>("nvlink.rate", "nic.rate", "host.rate").as("key");
    const double factor = *rc::gen::element(1.5, 3.0).as("factor");
    double rate = 0;
    const Node& node = point.topology.node;
    if (key == "nvlink.rate") rate = node.gpu.nvlink_links * node.gpu.nvlink_per_link;
    if (key == "nic.rate") rate = (point.topology.fabric ? point.topology.fabric->nics : node.nics).rate;
    if (key == "host.rate") rate = node.host.memory_bandwidth;
    if (rate <= 0 || (key == "nvlink.rate" && node.nvlink == NvLinkKind::None)) RC_DISCARD("no such link");
    point.topology.overrides[key] = rate * factor;
    expect_not_faster(before, simulated_sum_s(point.graph(), 3), point.text() + " with more " + key);
  }));
}

TEST(Law, ASlowerHostIsNeverFaster) {
  EXPECT_TRUE(holds("a larger host factor is never faster", 240, [] {
    TestPoint point = draw_point(all_strategies());
    point.scenario.host_factor = 0.5;
    const double quick = estimated_sum_s(point.graph());
    point.scenario.host_factor = 0.5 * *rc::gen::element(1.05, 1.5, 4.0).as("host factor");
    expect_not_faster(estimated_sum_s(point.graph()), quick, point.text());
  }));
}

TEST(Law, SlowerKernelsAreNeverFaster) {
  EXPECT_TRUE(holds("a larger kernel factor is never faster", 240, [] {
    TestPoint point = draw_point(all_strategies());
    const double before = estimated_sum_s(point.graph());
    point.kernel_factor = *rc::gen::element(1.02, 1.3, 3.0).as("kernel factor");
    expect_not_faster(estimated_sum_s(point.graph()), before, point.text());
  }));
}

// --- the books ---

TEST(Law, TheBreakdownIsTheWholeStepInEveryRankAndStep) {
  EXPECT_TRUE(holds("the breakdown sums to the step", 180, [] {
    DrawOptions options = all_strategies();
    options.most_gpus = 8;
    Sample run{draw_point(options), {}, {}};
    run.point.folded = *rc::gen::arbitrary<bool>().as("folded");
    run.graph = run.point.graph();
    run.record = simulated(run.graph, 3);
    for (int step = 0; step <= run.last(); ++step)
      for (int rank = 0; rank < run.graph.simulated_ranks(); ++rank) {
        const Watched watched = watch(run.graph, run.record, rank, step);
        expect_nothing_wrong(run, breakdown_is_whole(watched));
        expect_nothing_wrong(run, lanes_do_one_thing_at_a_time(watched));
      }
  }));
}

TEST(Law, HiddenCommunicationIsAtMostBackwardAndAtMostCommunication) {
  EXPECT_TRUE(holds("overlap <= min(backward, communication)", 240, [] {
    const Sample run = run_of(only(Strategy::Ddp));
    const Watched watched = watch(run.graph, run.record, 0, run.last());
    expect_nothing_wrong(run, hidden_communication_is_beside_work(watched));
    double backward = 0;  // everything that runs while gradients are made and copied
    for (const Cause cause : {Cause::Backward, Cause::BucketCopies, Cause::Contention, Cause::HostBound})
      backward += watched.replay.breakdown_s[static_cast<std::size_t>(cause)];
    RC_ASSERT(watched.replay.hidden_communication_s <= backward * (1 + kNear));
  }));
}

TEST(Law, ContentionIsPaidForEveryOverlap) {
  EXPECT_TRUE(holds("contention = (1 - 1/phi) x overlap", 180, [] {
    const Sample run = run_of(only(Strategy::Ddp));
    expect_nothing_wrong(run, contention_is_paid(watch(run.graph, run.record, 0, run.last()), run.graph.contention));
  }));
}

// --- collectives and links ---

TEST(Law, BucketsKeepRuleOrderPlanAndLowerBound) {
  EXPECT_TRUE(holds("buckets", 240, [] {
    const Sample run = run_of(only(Strategy::Ddp));
    if (run.point.gpus == 1) RC_DISCARD("nothing to reduce");
    const Watched watched = watch(run.graph, run.record, 0, run.last());
    expect_nothing_wrong(run, buckets_are_those_of_the_rule(run.graph, run.point));
    expect_nothing_wrong(run, buckets_start_in_order(watched));
    expect_nothing_wrong(run, buckets_take_their_plan(watched, run.point));
    expect_nothing_wrong(run, buckets_keep_the_ring_bound(watched, run.point));
    if (run.point.micro_steps == 1) expect_nothing_wrong(run, buckets_follow_their_gradients(watched, run.point));
    expect_nothing_wrong(run, optimizer_follows_the_buckets(watched));
  }));
}

TEST(Law, DataParallelReducesAfterBackward) {
  EXPECT_TRUE(holds("no overlap in DP", 120, [] {
    const Sample run = run_of(only(Strategy::Dp));
    if (run.point.gpus == 1) RC_DISCARD("one GPU");
    for (int step = 0; step <= run.last(); ++step)
      expect_nothing_wrong(run, reduce_follows_backward(run.graph, run.record, step));
  }));
}

TEST(Law, LinksKeepTheirRate) {
  EXPECT_TRUE(holds("no link moves more than its rate", 120, [] {
    DrawOptions options = all_strategies();
    options.most_gpus = 16;
    Sample run{draw_point(options), {}, {}};
    run.point.folded = false;
    run.graph = run.point.graph();
    run.record = simulated(run.graph, 3);
    expect_nothing_wrong(run, links_keep_their_rate(watch(run.graph, run.record, 0, run.last())));
  }));
}

// --- equal ways of asking ---

TEST(Law, FoldedRanksAreUnfoldedRanksToNineDigits) {
  EXPECT_TRUE(holds("folded = unfolded", 180, [] {
    DrawOptions options = all_strategies();
    options.most_gpus = 16;
    TestPoint point = draw_point(options);
    if (!ranks_are_alike(point.request())) RC_DISCARD("ranks differ");
    const double folded = simulated_sum_s(point.graph(), 3);
    point.folded = false;
    const double unfolded = simulated_sum_s(point.graph(), 3);
    if (std::abs(folded - unfolded) > kNear * folded)
      RC_FAIL(fmt::format("{}: folded {} s, unfolded {} s", point.text(), folded, unfolded));
  }));
}

TEST(Law, TheEstimateIsTheSimulationWhereNothingContends) {
  EXPECT_TRUE(holds("estimate = simulation", 240, [] {
    TestPoint point = draw_point(all_strategies());
    const InputOptions& input = point.scenario.input;
    if (point.strategy == Strategy::Dp && input.source == InputSource::Host && input.dp_copy == DpCopy::Scatter &&
        input.memory == HostMemory::Pinned && input.non_blocking)
      RC_DISCARD("the copies of GPU 0 and of the others run side by side over one host memory");
    const StepGraph graph = point.graph();
    const double simulated = simulated_sum_s(graph, 3), estimated = estimated_sum_s(graph, 3);
    if (std::abs(simulated - estimated) > kNear * simulated)
      RC_FAIL(fmt::format("{}: simulated {} s, estimated {} s", point.text(), simulated, estimated));
  }));
}

TEST(Law, ContentionOnlyAddsToTheEstimate) {
  EXPECT_TRUE(holds("estimate <= simulation with shared links", 120, [] {
    DrawOptions options = all_strategies();
    options.most_gpus = 16;
    TestPoint point = draw_point(options);
    point.folded = false;
    const StepGraph graph = point.graph();
    expect_not_faster(simulated_sum_s(graph, 3), estimated_sum_s(graph, 3), point.text());
  }));
}

double message_level_sum_s(const StepGraph& graph) {
  EngineOptions options;
  options.stop.fixed_steady = 2;
  options.messages = true;
  return simulate(graph, options).steps.back().end;
}

// Every hop of the model's ring has the same rate and the border crossings are part of the fixed time, so the two
// levels agree on several nodes as well. Hundreds of messages a step round more than one flow does, the more so the
// further the engine's clock, which runs on through all laws of a process, has come: ten times the usual distance.
TEST(Law, SingleMessagesGiveTheTimeOfOneFlow) {
  EXPECT_TRUE(holds("message level = flow level", 75, [] {
    DrawOptions options = only(Strategy::Ddp, 64);
    options.models = {"mlp", "resnet18", "vgg16"};
    const TestPoint point = draw_point(options);
    if (point.gpus == 1) RC_DISCARD("no ring");
    const StepGraph graph = point.graph();
    const double flows = simulated_sum_s(graph, 2), messages = message_level_sum_s(graph);
    if (std::abs(flows - messages) > 10 * kNear * flows)
      RC_FAIL(fmt::format("{}: flows {} s, messages {} s", point.text(), flows, messages));
  }));
}

StepGraph faster_by(StepGraph graph, double factor) {
  std::vector<StepProgram*> programs{&graph.steady};
  for (auto& program : graph.warm_up) programs.push_back(&program);
  for (auto* program : programs) {
    for (auto& items : program->programs)
      for (auto& item : items) {
        item.host_s /= factor;
        item.device_s /= factor;
      }
    for (auto& meeting : program->meetings) {
      meeting.alpha_s /= factor;
      meeting.ring_fixed_s /= factor;
      meeting.ring_step_s /= factor;
    }
  }
  for (auto& link : graph.links) link.rate *= factor;
  graph.launch_latency_s /= factor;
  return graph;
}

TEST(Law, TwiceTheSpeedOfEverythingIsHalfTheTime) {
  EXPECT_TRUE(holds("all rates x 2 is half the time", 180, [] {
    TestPoint point = draw_point(all_strategies());
    point.folded = *rc::gen::arbitrary<bool>().as("folded");
    if (point.gpus > 16) point.folded = true;
    const StepGraph graph = point.graph(), fast = faster_by(graph, 2);
    RC_ASSERT(estimated_sum_s(fast) == estimated_sum_s(graph) / 2);  // a power of two: no rounding
    const double slow_s = simulated_sum_s(graph, 3), fast_s = simulated_sum_s(fast, 3);
    if (std::abs(slow_s / 2 - fast_s) > kNear * fast_s)
      RC_FAIL(fmt::format("{}: {} s, twice as fast {} s", point.text(), slow_s, fast_s));
  }));
}

TEST(Law, RanksMayBeNumberedInAnyOrder) {
  EXPECT_TRUE(holds("ranks permuted, same step", 90, [] {
    DrawOptions options = only(Strategy::Ddp, 8);
    options.several_nodes = false;
    TestPoint point = draw_point(options);
    point.folded = false;
    const StepGraph graph = point.graph();
    StepGraph turned = graph;
    std::vector<StepProgram*> programs{&turned.steady};
    for (auto& program : turned.warm_up) programs.push_back(&program);
    for (auto* program : programs)
      for (auto& meeting : program->meetings)
        if (meeting.own) std::reverse(meeting.routes.begin(), meeting.routes.end());
    const double before = simulated_sum_s(graph, 3), after = simulated_sum_s(turned, 3);
    if (std::abs(before - after) > kNear * before)
      RC_FAIL(fmt::format("{}: {} s, turned round {} s", point.text(), before, after));
  }));
}

TEST(Law, EveryLinkCarriesTheBytesOfItsMeetings) {
  EXPECT_TRUE(holds("bytes per link are conserved", 120, [] {
    DrawOptions options = all_strategies();
    options.most_gpus = 16;
    Sample run{draw_point(options), {}, {}};
    run.point.folded = false;
    run.graph = run.point.graph();
    run.record = simulated(run.graph, 2);
    std::int64_t by_link = 0, by_meeting = 0;
    for (const auto& use : link_use(run.graph, run.record, run.last())) by_link += use.bytes;
    for (const auto& meeting : run.graph.steady.meetings)
      for (const auto& route : meeting.routes)
        by_meeting += meeting.flow_bytes * static_cast<std::int64_t>(route.size());
    RC_ASSERT(by_link == by_meeting);
  }));
}

// --- noise ---

TEST(Law, WithoutJitterARunRepeatsItselfAndWithJitterItsSeedDoes) {
  EXPECT_TRUE(holds("same seed, same bits", 60, [] {
    DrawOptions options = only(Strategy::Ddp, 8);
    TestPoint point = draw_point(options);
    point.folded = false;
    const StepGraph graph = point.graph();
    const JitterSource jitter{0.05, false, *rc::gen::inRange<std::uint64_t>(1, 1000).as("seed")};
    RC_ASSERT(estimate(graph, {}).steps.back().end == estimate(graph, {}).steps.back().end);
    StopRule rule;
    rule.fixed_steady = 5;
    const StepRecord one = estimate(graph, rule, jitter), two = estimate(graph, rule, jitter);
    RC_ASSERT(one.steps.back().stream_ends == two.steps.back().stream_ends);
    const double first = simulated(graph, 3, jitter).steps.back().end,
                 second = simulated(graph, 3, jitter).steps.back().end;
    RC_ASSERT(std::abs(first - second) <= 1e-12 * first);
  }));
}

TEST(Law, TheEngineWithJitterIsTheEstimateWithTheSameJitter) {
  EXPECT_TRUE(holds("estimate = simulation with jitter and no shared link", 90, [] {
    DrawOptions options = only(Strategy::Ddp, 16);
    options.host_input = false;
    TestPoint point = draw_point(options);
    point.folded = false;
    const StepGraph graph = point.graph();
    const JitterSource jitter{0.05, false, 3};
    StopRule rule;
    rule.fixed_steady = 3;
    const auto estimated = estimate(graph, rule, jitter).steps.back().stream_ends;
    const auto simulation = simulated(graph, 3, jitter).steps.back().stream_ends;
    for (std::size_t r = 0; r < estimated.size(); ++r)
      RC_ASSERT(std::abs(estimated[r] - simulation[r]) <= kNear * estimated[r]);
  }));
}

}  // namespace
}  // namespace lockstep::testing
