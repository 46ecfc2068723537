// What the books of one rank say about a recorded run: on random graphs and on one written by hand.
#include "simulator/steps/replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "simulator/engine/engine.h"
#include "simulator/estimate/estimate.h"
#include "tests/simulator/support/random_graph.h"

namespace lockstep {
namespace {

constexpr double kUs = 1e-6;

void expect_sound(const Replay& replayed, const std::string& what) {
  const double step = replayed.end_s - replayed.start_s;
  double sum = 0;
  for (std::size_t c = 0; c < replayed.breakdown_s.size(); ++c) {
    EXPECT_GE(replayed.breakdown_s[c], -1e-12 * step) << what << ": " << name_of(static_cast<Cause>(c));
    sum += replayed.breakdown_s[c];
  }
  EXPECT_NEAR(sum, step, 1e-12) << what;
  EXPECT_LE(replayed.compute_busy_s, step * (1 + 1e-12)) << what;
  EXPECT_LE(replayed.compute_busy_s, replayed.gpu_busy_s * (1 + 1e-9)) << what;
  EXPECT_LE(replayed.gpu_busy_s, step * (1 + 1e-12)) << what;
  EXPECT_LE(replayed.hidden_communication_s, replayed.communication_s) << what;
}

void expect_parts_add_up(const Replay& replayed, const std::string& what) {
  std::array<double, kCauseCount> sums{};
  for (const StepPart& part : replayed.parts) {
    EXPECT_FALSE(part.detail.empty()) << what;
    sums[static_cast<std::size_t>(part.cause)] += part.seconds;
  }
  for (const Cause cause : kCauses) {
    const auto c = static_cast<std::size_t>(cause);
    EXPECT_NEAR(sums[c], replayed.breakdown_s[c], 1e-12) << what << ": " << name_of(cause);
  }
}

void expect_no_overlap(std::vector<Span> spans, Lane lane, const std::string& what) {
  spans.erase(std::remove_if(spans.begin(), spans.end(), [lane](const Span& s) { return s.lane != lane; }),
              spans.end());
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.start_s < b.start_s; });
  for (std::size_t i = 0; i < spans.size(); ++i) {
    EXPECT_LE(spans[i].start_s, spans[i].end_s) << what;
    if (i == 0) continue;
    EXPECT_GE(spans[i].start_s, spans[i - 1].end_s - 1e-12) << what << ": " << name_of(lane) << " span " << i;
  }
}

TEST(AReplay, SharesOutTheWholeStepOfRandomGraphs) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const JitterSource jitter{seed % 2 == 0 ? 0 : 0.1, false, seed};
    const StepGraph graph = testing::random_graph(seed, {4, true, true, seed % 10 == 9, seed % 3 == 0});
    EngineOptions options;
    options.jitter = jitter;
    options.stop.fixed_steady = 3;
    const StepRecord record = simulate(graph, options);
    for (int step = 0; step < static_cast<int>(record.steps.size()); ++step)
      for (int rank = 0; rank < graph.simulated_ranks(); ++rank) {
        const std::string what =
            "seed " + std::to_string(seed) + " step " + std::to_string(step) + " rank " + std::to_string(rank);
        const Replay replayed = replay(graph, record, rank, step, jitter, {true, true});
        expect_sound(replayed, what);
        expect_parts_add_up(replayed, what);
        expect_no_overlap(replayed.timeline, Lane::Compute, what);
        expect_no_overlap(replayed.timeline, Lane::Cpu, what);
        if (::testing::Test::HasFailure()) return;
      }
  }
}

// Two kernels, an all-reduce of 100 us launched after the first, awaited after the second; 20 us of input copy before.
StepGraph hand_graph() {
  StepGraph graph;
  graph.classes = {{0, 1, false}};
  graph.launch_latency_s = 0;
  graph.contention = 2;
  graph.links = {{"link", LinkClass::Nvlink, 1e9}};
  Meeting copy;
  copy.name = "batch";
  copy.on = ArriveOn::Host;
  copy.own = true;
  copy.cause = copy.wait_cause = Cause::CopyToDevice;
  copy.alpha_s = 20 * kUs;
  copy.holds = {true};
  copy.routes = {{}};
  Meeting reduce;
  reduce.name = "all-reduce bucket 0";
  reduce.on = ArriveOn::Communication;
  reduce.alpha_s = 40 * kUs;
  reduce.flow_bytes = 60'000;
  reduce.routes = {{0}};
  reduce.holds = {false};
  reduce.bucket = 0;
  reduce.payload_bytes = 60'000;
  reduce.algorithm = "ring";
  graph.steady.meetings = {copy, reduce};
  graph.steady.programs.resize(1);
  ProgramBuilder program(graph, graph.steady.programs[0]);
  program.host_sync();
  program.arrive(0, 5 * kUs, "copy");
  program.kernel(10 * kUs, 30 * kUs, Cause::Backward, "one");
  program.arrive(1, 0, "reduce");
  program.kernel(10 * kUs, 30 * kUs, Cause::Backward, "two");
  program.stream_wait(1);
  program.kernel(10 * kUs, 15 * kUs, Cause::Optimizer, "three");
  return graph;
}

TEST(AReplay, OfAHandMadeStepNamesEveryMicrosecond) {
  const StepGraph graph = hand_graph();
  const StepRecord record = estimate(graph, {});
  // host: 5 issues the copy, 20 copying, 10 to the first launch: the stream idles for 35; 30 of work; reduce 65 to 165;
  // second kernel 65 to 125 at half speed; waits until 165; three until 180.
  const int last = static_cast<int>(record.steps.size()) - 1;
  const Replay replayed = replay(graph, record, 0, last, {}, {true, false});
  const auto part = [&](Cause cause) { return replayed.breakdown_s[static_cast<std::size_t>(cause)] / kUs; };
  EXPECT_NEAR(part(Cause::HostBound), 15, 1e-6);
  EXPECT_NEAR(part(Cause::CopyToDevice), 20, 1e-6);
  EXPECT_NEAR(part(Cause::Backward), 60, 1e-6);
  EXPECT_NEAR(part(Cause::Contention), 30, 1e-6);
  EXPECT_NEAR(part(Cause::ExposedCommunication), 40, 1e-6);
  EXPECT_NEAR(part(Cause::Optimizer), 15, 1e-6);
  EXPECT_NEAR((replayed.end_s - replayed.start_s) / kUs, 180, 1e-6);
  EXPECT_NEAR(replayed.communication_s / kUs, 100, 1e-6);
  EXPECT_NEAR(replayed.hidden_communication_s / kUs, 60, 1e-6);
  EXPECT_NEAR(replayed.compute_busy_s / kUs, 105, 1e-6);
  EXPECT_NEAR(replayed.gpu_busy_s / kUs, 145, 1e-6);
  EXPECT_NEAR(replayed.host_busy_s / kUs, 35, 1e-6);
}

TEST(AReplay, NamesThePiecesOfEachCauseOnlyWhenAsked) {
  const StepGraph graph = hand_graph();
  const StepRecord record = estimate(graph, {});
  const Replay replayed = replay(graph, record, 0, 2, {}, {false, true});
  std::map<std::string, double> us;
  for (const StepPart& part : replayed.parts)
    us[std::string(name_of(part.cause)) + ": " + part.detail] += part.seconds / kUs;
  EXPECT_EQ(us.size(), 8U);
  EXPECT_NEAR(us["copy_to_device: batch"], 20, 1e-6);
  EXPECT_NEAR(us["host_bound: copy"], 5, 1e-6);
  EXPECT_NEAR(us["host_bound: one"], 10, 1e-6);
  EXPECT_NEAR(us["backward: one"], 30, 1e-6);
  EXPECT_NEAR(us["backward: two"], 30, 1e-6);
  EXPECT_NEAR(us["contention: two"], 30, 1e-6);
  EXPECT_NEAR(us["exposed_communication: all-reduce bucket 0"], 40, 1e-6);
  EXPECT_NEAR(us["optimizer: three"], 15, 1e-6);
  EXPECT_TRUE(replay(graph, record, 0, 2, {}, {}).parts.empty());
}

TEST(AReplay, TellsWhenABucketWasReadyLaunchedAndMoved) {
  const StepGraph graph = hand_graph();
  const StepRecord record = estimate(graph, {});
  const Replay replayed = replay(graph, record, 0, 2, {}, {false, false});
  ASSERT_EQ(replayed.buckets.size(), 1U);
  const BucketTimes& bucket = replayed.buckets[0];
  EXPECT_NEAR(bucket.ready_s / kUs, 65, 1e-6);
  EXPECT_NEAR(bucket.launch_s / kUs, 35, 1e-6);
  EXPECT_NEAR(bucket.start_s / kUs, 65, 1e-6);
  EXPECT_NEAR(bucket.end_s / kUs, 165, 1e-6);
  EXPECT_NEAR(bucket.transfer_s / kUs, 100, 1e-6);
  EXPECT_TRUE(replayed.timeline.empty());
}

TEST(LinkUse, CountsBytesAndTheTimeTheyTook) {
  const StepGraph graph = hand_graph();
  const StepRecord record = estimate(graph, {});
  const auto uses = link_use(graph, record, 2);
  ASSERT_EQ(uses.size(), 1U);
  EXPECT_EQ(uses[0].bytes, 60'000);
  EXPECT_NEAR(uses[0].busy_s / kUs, 60, 1e-6);
  EXPECT_NEAR(uses[0].utilization, 60.0 / 180, 1e-9);
}

}  // namespace
}  // namespace lockstep
