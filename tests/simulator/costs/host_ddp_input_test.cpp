// Host constants, DDP's copies and waits, and the copy of the batch, against worked values of docs/cost-models.mds.
#include <gtest/gtest.h>

#include <cmath>

#include "models/derived.h"
#include "models/zoo/zoo.h"
#include "simulator/costs/constants.h"

namespace lockstep {
namespace {

constexpr double kMs = 1e-3, kUs = 1e-6;

TEST(HostCost, TheHostFactorScalesTimesAndLeavesSharesAndTheGpusLatency) {
  const CostConstants base;
  CostConstants scaled = base;
  scaled.host = host_costs(base.host, 0.5);
  int times = 0;
  for (const ConstantInfo& c : constant_table()) {
    if (!c.name.starts_with("host.")) continue;
    const bool time = c.unit.starts_with("s") && c.name != "host.launch_latency";
    EXPECT_DOUBLE_EQ(*find_constant(scaled, c.name), c.value * (time ? 0.5 : 1)) << c.name;
    times += time ? 1 : 0;
  }
  EXPECT_GT(times, 15);
  EXPECT_EQ(host_costs(0.8).factor, 0.8);
}

TEST(HostCost, ReplicateCosts30And36MicrosecondsPerModuleAndTensorOnTwoGpus) {
  const HostCosts h = host_costs(1);
  EXPECT_NEAR(h.m0 + 2 * h.m1, 30 * kUs, 0.5 * kUs);
  EXPECT_NEAR(h.b0 + 2 * h.b1, 36 * kUs, 0.5 * kUs);
  EXPECT_NEAR(h.m0 + 4 * h.m1, 55 * kUs, 0.5 * kUs);
  EXPECT_NEAR(h.b0 + 4 * h.b1, 59 * kUs, 0.5 * kUs);
}

TEST(HostCost, TheLockIsFreeForOneReplicaAndBindsAtTwo) {
  const HostCosts h = host_costs(1);
  EXPECT_EQ(forward_lock_factor(1, h), 1);
  EXPECT_DOUBLE_EQ(forward_lock_factor(2, h), 1.57);  // 1 + kappa > 2 phi
  EXPECT_DOUBLE_EQ(forward_lock_factor(4, h), 2.56);
  EXPECT_EQ(backward_thread_factor(1, h), 1);
  EXPECT_DOUBLE_EQ(backward_thread_factor(4, h), 1.72);
}

TEST(HostCost, OneStepOfResNet50AtBatch12Takes28MillisecondsOfHostTime) {
  const HostCosts h = host_costs(1);
  const Model model = *build_zoo_model("resnet50", {});
  const HostCounts n = host_counts(model);
  const double copy = host_to_device_seconds(batch_bytes(model, 12, DType::Fp32), HostMemory::Pageable, false, 25e9,
                                             default_constants().input);
  const double forward = n.forward_ops * host_seconds(HostClass::ForwardOp, h);
  const double backward = n.convolutions * host_seconds(HostClass::BackwardConv, h) +
                          (n.backward_ops - n.convolutions) * host_seconds(HostClass::BackwardOther, h);
  const double synchronise = 80e-6;  // the measured iterations end with one (docs/cost-models.md, "host")
  const double step = h.start + 2 * n.parameter_tensors * h.c_p + copy + forward + h.t_loss + backward + synchronise;
  EXPECT_NEAR(step, 28 * kMs, 0.5 * kMs);
}

TEST(HostCost, WithoutGradientsAForwardOpCostsLess) {
  const HostCosts h = host_costs(1);
  EXPECT_DOUBLE_EQ(host_seconds(HostClass::ForwardOp, h) - host_seconds(HostClass::ForwardOp, h, false), h.c_ag);
  EXPECT_EQ(host_seconds(HostClass::None, h), 0);
}

// The page's clock of resnet50: the copy is done at 6.6 ms with two GPUs, at 10.5 ms with four.
TEST(InputCost, TheCopyOfResNet50sBatchIsDoneWhenThePageSays) {
  const HostCosts h = host_costs(1);
  const Model model = *build_zoo_model("resnet50", {});
  const auto done = [&](int gpus) {
    const std::int64_t bytes = batch_bytes(model, 12 * gpus, DType::Fp32);
    return h.start + 161 * h.c_p +
           host_to_device_seconds(bytes, HostMemory::Pageable, false, 25e9, default_constants().input);
  };
  EXPECT_NEAR(done(2), 6.6 * kMs, 0.05 * kMs);
  EXPECT_NEAR(done(4), 10.5 * kMs, 0.05 * kMs);
}

TEST(InputCost, PinnedMemoryRunsAtThePathsRateAndHasNoPageFaults) {
  const InputCosts costs;
  const std::int64_t bytes = 1'000'000'000;
  EXPECT_DOUBLE_EQ(host_to_device_seconds(bytes, HostMemory::Pinned, false, 22e9, costs), 1 / 22.0);
  EXPECT_DOUBLE_EQ(host_to_device_seconds(bytes, HostMemory::Pageable, true, 22e9, costs), 1 / 11.0);
  EXPECT_DOUBLE_EQ(host_to_device_seconds(bytes, HostMemory::Pageable, true, 6e9, costs), 1 / 6.0);
  EXPECT_NEAR(host_to_device_seconds(bytes, HostMemory::Pageable, false, 22e9, costs), 1 / 11.0 + 0.18, 1e-12);
}

TEST(InputCost, TokensStayInt64WhateverTypeImagesHave) {
  const Model bert = *build_zoo_model("bert-base", {}), resnet = *build_zoo_model("resnet50", {});
  EXPECT_EQ(batch_bytes(bert, 2, DType::Fp16), batch_bytes(bert, 2, DType::Fp32));
  EXPECT_EQ(batch_bytes(resnet, 2, DType::Fp32), 2 * (3 * 224 * 224 * 4 + 8));
  EXPECT_EQ(batch_bytes(resnet, 2, DType::Fp16), 2 * (3 * 224 * 224 * 2 + 8));
}

TEST(DdpCost, TheExpectedMaximumOfNormalsIsThatOfThePageAndOfMathematics) {
  const std::vector<std::pair<int, double>> page = {{2, .56},   {4, 1.03},  {8, 1.42},  {16, 1.77},
                                                    {32, 2.07}, {64, 2.34}, {128, 2.59}};
  for (const auto& [n, value] : page) EXPECT_NEAR(expected_maximum_of_normals(n), value, 0.005) << n;
  EXPECT_EQ(expected_maximum_of_normals(1), 0);
  EXPECT_NEAR(expected_maximum_of_normals(2), 1 / std::sqrt(M_PI), 1e-12);
  EXPECT_NEAR(expected_maximum_of_normals(3), 1.5 / std::sqrt(M_PI), 1e-12);
  EXPECT_NEAR(expected_maximum_of_normals(4), 6 * std::atan(std::sqrt(2)) / std::pow(M_PI, 1.5), 1e-12);
}

TEST(DdpCost, TheExpectedMaximumGrowsWithTheRanksUpToAMillion) {
  double before = 0;
  for (int n = 2; n <= (1 << 20); n *= 2) {
    const double value = expected_maximum_of_normals(n);
    EXPECT_GT(value, before) << n;
    EXPECT_LT(value, std::sqrt(2 * std::log(n))) << n;  // the classic upper bound
    before = value;
  }
}

TEST(DdpCost, TheWaitsAreThoseOfTheWorkedExamples) {
  const DdpCosts costs;
  EXPECT_NEAR(straggler_wait_seconds(97 * kMs, 8, costs), 2.07 * kMs, 0.005 * kMs);
  EXPECT_NEAR(straggler_wait_seconds(97 * kMs, 32, costs), 3.01 * kMs, 0.006 * kMs);
  EXPECT_NEAR(straggler_wait_seconds(300.8 * kMs, 4, costs), 4.64 * kMs, 0.01 * kMs);
  EXPECT_NEAR(straggler_wait_seconds(300.8 * kMs, 8, costs), 6.42 * kMs, 0.01 * kMs);
  EXPECT_EQ(straggler_wait_seconds(97 * kMs, 1, costs), 0);
}

TEST(DdpCost, TheLastBucketOfResNet50IsCopiedIn0_68Milliseconds) {
  EXPECT_NEAR(bucket_copy_seconds(9724160, 81, 898e9, DdpCosts{}), 0.677 * kMs, 0.001 * kMs);
}

}  // namespace
}  // namespace lockstep
