// The page's own predicted values for single ops (docs/cost-models.md, "golden numbers"), to the printed
// digits (docs/cost-models.md cuts 306.55 and 490.50 where this rounds).
#include <gtest/gtest.h>

#include "simulator/costs/constants.h"
#include "simulator/costs/op_cost.h"
#include "tests/simulator/costs/reference_gpus.h"
#include "tests/simulator/costs/small_models.h"

namespace lockstep {
namespace {

using namespace reference;

// Microseconds of the kernels' work, their own launch time taken off; the batch norm's counter has no work.
double work_us(const std::vector<KernelCost>& kernels) {
  double sum = 0;
  for (const KernelCost& kernel : kernels) sum += kernel.seconds - default_constants().op.launch;
  return sum * 1e6;
}

class GoldenOnH100 : public testing::Test {
 protected:
  OpCost cost(const OneOp& one) const { return op_cost(one.model, one.op, context_); }

  GpuType gpu_ = h100_sxm();
  ComputeContext context_ = [this] {
    ComputeContext context;
    context.gpu = &gpu_;
    context.batch = 128;
    return context;
  }();
};

TEST_F(GoldenOnH100, Convolution3x3With64ChannelsTakes315And727Microseconds) {
  const OpCost c = cost(one_conv(64, 64, 56, square(3, 1, 1)));
  EXPECT_NEAR(work_us(c.forward), 315, 0.6);
  EXPECT_NEAR(work_us(c.backward), 727, 0.6);
}

TEST_F(GoldenOnH100, Convolution1x1From256To64Takes192And383Microseconds) {
  const OpCost c = cost(one_conv(256, 64, 56, square(1, 1, 0)));
  EXPECT_NEAR(work_us(c.forward), 192, 0.6);
  EXPECT_NEAR(work_us(c.backward), 383, 0.6);
}

TEST_F(GoldenOnH100, Convolution1x1From1024To256Takes94MicrosecondsAndAHalf) {
  EXPECT_NEAR(work_us(cost(one_conv(1024, 256, 14, square(1, 1, 0))).forward), 94.5, 0.05);
}

TEST_F(GoldenOnH100, BatchNormPaysForFewChannels) {
  const auto norm = [](ModelBuilder& b, OpId x) { return b.batch_norm(x, "bn"); };
  const OpCost few = cost(one_op({64, 112, 112}, norm));
  EXPECT_NEAR(work_us(few.forward), 1018, 0.6);
  EXPECT_NEAR(work_us(few.backward), 1696, 0.6);
  const OpCost many = cost(one_op({256, 56, 56}, norm));
  EXPECT_NEAR(work_us(many.forward), 490, 0.6);
  EXPECT_NEAR(work_us(many.backward), 817, 0.6);
}

TEST_F(GoldenOnH100, ReluInPlaceAndItsBackwardTake273And409Microseconds) {
  const OpCost c = cost(one_op({64, 112, 112}, [](ModelBuilder& b, OpId x) { return b.relu(x, "relu"); }));
  EXPECT_NEAR(work_us(c.forward), 273, 0.6);
  EXPECT_NEAR(work_us(c.backward), 409, 0.6);
}

TEST_F(GoldenOnH100, MaxPoolBackwardIsThreeAndAHalfTimesItsForward) {
  const OpCost c = cost(one_op({64, 112, 112}, [](ModelBuilder& b, OpId x) { return b.max_pool(x, "pool", 3, 2, 1); }));
  EXPECT_NEAR(work_us(c.forward), 358, 0.6);
  EXPECT_NEAR(work_us(c.backward), 1262, 0.6);
}

TEST(GoldenOnA100, Bf16ProductsTake306And2885And124Microseconds) {
  const GpuType gpu = a100_80gb_pcie();
  ComputeContext context;
  context.gpu = &gpu;
  context.bf16 = true;
  const auto us = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    return 1e6 * gemm_seconds({1, m, n, k}, Regime::Half, 2, context);
  };
  EXPECT_NEAR(us(4096, 1536, 5120), 306, 0.6);
  EXPECT_NEAR(us(4096, 5120, 16384), 2885, 0.6);
  EXPECT_NEAR(us(4096, 576, 5120), 124, 0.6);
}

}  // namespace
}  // namespace lockstep
