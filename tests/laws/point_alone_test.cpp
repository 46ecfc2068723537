// A point's result is the same bits alone, after many others in one process, and in another process.
#include <gtest/gtest.h>

#include <cstring>

#include "simulator/result/json.h"
#include "tests/laws/support/points.h"

namespace lockstep::testing {
namespace {

TestPoint shared_copies() {
  TestPoint point;
  point.model_name = "resnet18";
  point.node = "a100-pcie-8gpu";
  point.gpus = 8;
  point.batch = 16;
  point.scenario.input.source = InputSource::Host;
  point.scenario.noise.jitter = Jitter{0.05, JitterPer::Step};
  point.scenario.noise.runs = 5;
  point.folded = false;
  point.load();
  return point;
}

TestPoint small(int i) {
  TestPoint point;
  point.model_name = "mlp";
  point.gpus = 1 + i % 8;
  point.strategy = i % 3 == 0 ? Strategy::Dp : Strategy::Ddp;
  point.batch = 1 + i;
  point.load();
  return point;
}

std::string result_of(const TestPoint& point) {
  const auto run = predict_point_apart(point.inputs(), {});
  EXPECT_TRUE(run.has_value());
  return run ? run_to_json(*run) : "";
}

TEST(AStoredPoint, IsTheSameBitsAsTheFirstAndAsTheFiveHundredthOfAProcess) {
  const TestPoint point = shared_copies();
  const std::string alone = result_of(point);
  for (int i = 0; i < 498; ++i) {
    const TestPoint other = small(i);
    PointOptions options;
    if (i % 5 != 0) options.method = Method::Estimate;  // in this process
    ASSERT_TRUE(predict_point_apart(other.inputs(), options).has_value()) << i;
  }
  EXPECT_EQ(result_of(point), alone);
}

TEST(AStoredPoint, IsTheSameBitsInThisProcessAsInAChild) {
  const TestPoint point = shared_copies();
  const std::string apart = result_of(point);
  EXPECT_EQ(run_to_json(predict_point(point.inputs(), {})), apart);
}

TEST(AStoredPoint, OfDataParallelOnOneGpuIsThatOfTheSingleGpu) {
  TestPoint point = shared_copies();
  point.gpus = 1;
  point.strategy = Strategy::Dp;
  point.scenario.noise = {};
  const auto dp = predict_point_apart(point.inputs(), {});
  const auto single = predict_point_apart(single_of(point).inputs(), {});
  ASSERT_TRUE(dp && single);
  EXPECT_EQ(dp->step_time_s, single->step_time_s);
  EXPECT_EQ(dp->breakdown_s, single->breakdown_s);
}

TEST(AStoredPoint, WithJitterIsThatOfItsSeed) {
  TestPoint point = shared_copies();
  const std::string seed_one = result_of(point);
  EXPECT_EQ(result_of(point), seed_one);
  point.scenario.seed = 2;
  EXPECT_NE(result_of(point), seed_one);
}

}  // namespace
}  // namespace lockstep::testing
