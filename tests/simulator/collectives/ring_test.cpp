// All-reduce times of protocol Simple on a ring, to the digits of docs/cost-models.md ("collectives"), and what holds
// for every ring.
#include "simulator/collectives/ring.h"

#include <gtest/gtest.h>

#include "topologies/reader.h"

namespace lockstep {
namespace {

constexpr double kUs = 1e-6;
constexpr double kGB = 1e9;
constexpr std::int64_t kMiB = 1 << 20;

Ring ring_on(const std::string& node, const std::string& fabric, int gpus) {
  TopologyRequest request;
  request.node = node;
  request.fabric = fabric;
  request.max_gpus = gpus;
  return ring_of(load_topology(request, {{LOCKSTEP_SOURCE_DIR "/topologies"}}).value(), gpus);
}

Ring ring_of_class(PathClass path, int ranks, int nodes, double rate, double hop_latency = 0) {
  Ring ring;
  ring.path = ring.intra_path = path;
  ring.ranks = ranks;
  ring.nodes = nodes;
  ring.ranks_per_node = ranks / nodes;
  ring.channel_rate = rate;
  ring.hop_latency = hop_latency;
  return ring;
}

double all_reduce_us(const Ring& ring, std::int64_t bytes) {
  return plan_collective(ring, CollectiveOperation::AllReduce, bytes).seconds() / kUs;
}

void expect_times(const Ring& ring, const std::vector<std::pair<std::int64_t, double>>& golden) {
  for (const auto& [mebibytes, microseconds] : golden)
    EXPECT_NEAR(all_reduce_us(ring, mebibytes * kMiB), microseconds, 0.051) << mebibytes << " MiB";
}

TEST(RingSimple, OnEightA100WithNvSwitch) {
  expect_times(ring_on("dgx-a100-40gb", "", 8), {{25, 307.9}, {100, 913.9}, {1024, 8380.3}});
}

TEST(RingSimple, OnTwoA100WithNvSwitch) {
  expect_times(ring_on("dgx-a100-40gb", "", 2), {{1, 47.8}, {4, 64.5}, {25, 181.6}, {100, 599.5}, {1024, 5748.8}});
}

TEST(RingSimple, OnEightV100OfACubeMesh) {
  expect_times(ring_on("dgx1-v100", "", 8), {{25, 413.2}, {100, 1395.5}, {1024, 13498.0}});
}

TEST(RingSimple, OnNodesJoinedByInfiniBand) {
  expect_times(ring_on("dgx-a100-40gb", "ib-hdr-8x200", 16), {{1024, 10742.0}});
  expect_times(ring_on("dgx-a100-40gb", "ib-hdr-8x200", 32), {{1024, 11333.9}});
}

TEST(RingSimple, OnFourGpusWithPeerAccessByPcie) {
  expect_times(ring_of_class(PathClass::PcieP2p, 4, 1, 24 * kGB),
               {{1, 119.8}, {4, 317.1}, {25, 1697.6}, {100, 6627.9}, {1024, 67370.1}});
}

TEST(RingSimple, SplitsIntoFixedPartStepsAndTransfer) {
  const auto plan = plan_collective(ring_on("dgx-a100-40gb", "", 8), CollectiveOperation::AllReduce, 25 * kMiB);
  EXPECT_NEAR(plan.ring_fixed_s / kUs, 29, 1e-9);
  EXPECT_EQ(plan.ring_steps, 14);
  EXPECT_NEAR((plan.ring_steps + plan.ring_tail) * plan.ring_step_s / kUs, 76.85, 1e-9);
  EXPECT_NEAR(static_cast<double>(plan.flow_bytes) / plan.rate / kUs, 202, 0.1);
  EXPECT_NEAR(plan.alpha_s, plan.ring_fixed_s + (plan.ring_steps + plan.ring_tail) * plan.ring_step_s, 1e-18);
}

// a + H lambda + 2(n-1) h + 2(n-1)/n S / rate, H = 2(n-1)/ppn, a 50 us, h 4.3 us.
TEST(TheTcpForm, IsThatOfTheTrainingRuns) {
  const Ring ring = ring_of_class(PathClass::Tcp, 8, 2, 1.15 * kGB, 40 * kUs);
  for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{4}, 25 * kMiB, 411 * kMiB}) {
    const double by_hand = 50 + 3.5 * 40 + 14 * 4.3 + 1.75 * static_cast<double>(bytes) / 1.15e3;
    EXPECT_NEAR(all_reduce_us(ring, bytes), by_hand, 1e-3) << bytes;
  }
  EXPECT_NEAR(all_reduce_us(ring_of_class(PathClass::Tcp, 4, 1, 4.7 * kGB), 28351488),
              50 + 6 * 4.3 + 1.5 * 28351488 / 4.7e3, 1e-3);
}

TEST(TheTcpForm, TakesRateAndLatencyOfTheFabricPreset) {
  const Ring ring = ring_on("dgx1-v100", "eth-10g", 16);
  ASSERT_EQ(ring.path, PathClass::Tcp);
  EXPECT_NEAR(all_reduce_us(ring, 100 * kMiB),
              50 + 30.0 / 8 * 40 + 30 * 4.3 + 30.0 / 16 * 100 * static_cast<double>(kMiB) / 1.15e3, 1e-3);
}

TEST(BroadcastAndReduce, MoveTheBytesOnceOverEachLink) {
  const Ring ring = ring_on("dgx-a100-40gb", "", 8);
  for (const auto operation : {CollectiveOperation::Broadcast, CollectiveOperation::Reduce}) {
    const auto plan = plan_collective(ring, operation, 100 * kMiB);
    EXPECT_EQ(plan.flow_bytes, 100 * kMiB);
    EXPECT_NEAR(plan.seconds() / kUs, 29 + 7 * 5.3 + 100 * static_cast<double>(kMiB) / (0.98 * 240e3), 1e-6);
  }
}

TEST(ACallOnSeveralGpusOfOneThread, TakesAtLeastItsLaunches) {
  const Ring ring = ring_on("dgx-a100-40gb", "", 8);
  const auto alone = plan_collective(ring, CollectiveOperation::Broadcast, 1000);
  const auto launched = plan_collective(ring, CollectiveOperation::Broadcast, 1000, 8);
  EXPECT_NEAR(launched.seconds() / kUs, 8 * (3.9 + 0.33 * ring.communicator_channels), 1e-6);
  EXPECT_GT(launched.seconds(), alone.seconds());
  const auto large = plan_collective(ring, CollectiveOperation::Broadcast, 100 * kMiB, 8);
  EXPECT_EQ(large.seconds(), plan_collective(ring, CollectiveOperation::Broadcast, 100 * kMiB).seconds());
}

TEST(AnyRing, CostsNothingForOneRankAndAlphaForNoBytes) {
  EXPECT_EQ(all_reduce_us(ring_on("dgx-a100-40gb", "", 1), 25 * kMiB), 0);
  const auto empty = plan_collective(ring_on("dgx-a100-40gb", "", 4), CollectiveOperation::AllReduce, 0);
  EXPECT_GT(empty.seconds(), 0);
  EXPECT_EQ(empty.seconds(), empty.alpha_s);
}

TEST(AnyRing, KeepsTheLowerBoundAndGrowsWithBytesAndRanks) {
  struct Machine {
    const char *node, *fabric;
    int most;
  };
  for (const Machine& machine : {Machine{"dgx-a100-80gb", "ib-hdr-8x200", 64}, Machine{"dgx1-v100", "eth-10g", 32},
                                 Machine{"a100-pcie-8gpu", "eth-100g", 16}, Machine{"hgx-a100-4gpu-40gb", "", 4}}) {
    for (const std::int64_t bytes : {std::int64_t{4}, kMiB, 25 * kMiB, 500 * kMiB}) {
      double before = 0;
      for (int gpus = 2; gpus <= machine.most; gpus *= 2) {
        const Ring ring = ring_on(machine.node, machine.fabric, gpus);
        const double seconds = all_reduce_us(ring, bytes) * kUs;
        const double least = 2.0 * (gpus - 1) / gpus * static_cast<double>(bytes);
        EXPECT_GE(seconds, least / ring_rate(ring)) << machine.node << " " << gpus;
        for (const Link& link : ring.links)
          EXPECT_GE(seconds, least * link.share / link.rate) << machine.node << " " << gpus << " " << link.id;
        EXPECT_GT(all_reduce_us(ring, bytes + kMiB) * kUs, seconds);
        // Up to a whole node not: two or four V100 of the mesh have fewer rings than eight.
        if (gpus > 8) {
          EXPECT_GE(seconds, before) << machine.node << " " << gpus;
        }
        before = seconds;
      }
    }
  }
}

TEST(EveryPathClass, SaysWhereItsConstantsComeFrom) {
  for (const auto path :
       {PathClass::SingleGpu, PathClass::NvlinkA100, PathClass::NvlinkV100, PathClass::NvlinkH100, PathClass::PcieP2p,
        PathClass::PcieShm, PathClass::InfiniBand, PathClass::Efa, PathClass::Tcp, PathClass::CpuShared})
    EXPECT_FALSE(ring_constants(path).source.empty()) << name_of(path);
}

}  // namespace
}  // namespace lockstep
