// DistributedDataParallel against the table of PyTorch's own benchmark: ResNets and ResNeXts on 1 to 16 V100 of DGX-1
// machines, batch 32 per GPU, fp32 (tests/data/pytorch_ddp_benchmark_v100.csv, medians, rounded to 1 ms).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/laws/support/points.h"
#include "tests/simulator/strategies/measured_tables.h"

namespace lockstep::testing {
namespace {

const std::map<std::string, std::string> kZooNames = {{"resnet50", "resnet50"},
                                                      {"resnet101", "resnet101"},
                                                      {"resnext50_32x4d", "resnext50-32x4d"},
                                                      {"resnext101_32x8d", "resnext101-32x8d"}};

// [GPUs] of DDP; [0]: one GPU without it.
using Measured = std::map<int, double>;

std::map<std::string, Measured> measured_s() {
  std::map<std::string, Measured> result;
  for (const Row& row : read_table("pytorch_ddp_benchmark_v100.csv")) {
    if (row.at("percentile") != "p50") continue;
    const bool plain = row.at("configuration").find("no DDP") == 0;
    result[row.at("model")][plain ? 0 : static_cast<int>(number(row, "gpus_total"))] = number(row, "iteration_time_s");
  }
  return result;
}

TestPoint point_of(const std::string& model) {
  TestPoint point;
  point.model_name = kZooNames.at(model);
  point.node = "dgx1-v100";
  point.fabric = "ib-edr-4x100";
  point.batch = 32;
  point.strategy = Strategy::Single;
  point.scenario.torch_version = "1.4";
  point.scenario.cuda_version = "10.0";
  point.scenario.optimizer_implementation = OptimizerImplementation::ForLoop;
  point.load();
  return point;
}

double predicted_s(TestPoint point, int gpus) {
  if (gpus == 0) return estimated_step_s(point.graph());
  expect_stragglers(point);
  point.strategy = Strategy::Ddp;
  point.gpus = gpus;
  return estimated_step_s(point.graph());
}

TEST(DistributedDataParallelOnDgx1, IsPredictedWithAndWithoutTheStepOfOneGpu) {
  LogErrors given, unmeasured, single, same, scaled;
  double log_ratio = 0;
  const auto table = measured_s();
  ASSERT_EQ(table.size(), 4U);
  for (const auto& [model, times] : table)
    for (const int n : {1, 2, 4, 8, 16}) log_ratio += std::log(times.at(n) / times.at(0)) / 20;
  for (const auto& [model, times] : table) {
    const TestPoint point = point_of(model);
    TestPoint calibrated = point;
    calibrated.kernel_factor = calibrate_kernels(point.inputs(), times.at(0)).factor;
    std::string line = fmt::format("{:16} g {:.3f}:", model, calibrated.kernel_factor);
    single.add(predicted_s(point, 0), times.at(0));
    line += fmt::format("  one GPU {:.1f} ({:.0f})", predicted_s(point, 0) * 1e3, times.at(0) * 1e3);
    for (const int n : {1, 2, 4, 8, 16}) {
      line += fmt::format("  {:.1f}, {:.1f} ({:.0f})", predicted_s(calibrated, n) * 1e3, predicted_s(point, n) * 1e3,
                          times.at(n) * 1e3);
      given.add(predicted_s(calibrated, n), times.at(n));
      unmeasured.add(predicted_s(point, n), times.at(n));
      same.add(times.at(0), times.at(n));
      scaled.add(times.at(0) * std::exp(log_ratio), times.at(n));
    }
    std::cout << line << " ms with T1, without (measured)\n";
  }
  std::cout << fmt::format(
      "mean / worst: model with T1 {}, nothing measured {} (one GPU {}), T1 for every n {}, T1 x one constant {}\n",
      given.text(), unmeasured.text(), single.text(), same.text(), scaled.text());
  EXPECT_LT(given.mean(), 3);
  EXPECT_LT(given.worst(), 6);
  EXPECT_LT(given.mean(), same.mean() / 2);
  EXPECT_LT(unmeasured.mean(), 15);
}

// The overhead grows from 3 to 7 ms between one and sixteen GPUs.
TEST(DistributedDataParallelOnDgx1, LosesAFewMillisecondsThatGrowWithTheGpus) {
  TestPoint point = point_of("resnet50");
  point.kernel_factor = calibrate_kernels(point.inputs(), 0.097).factor;
  EXPECT_NEAR(predicted_s(point, 0), 0.097, 1e-6);
  double before = 0.097;
  for (const int n : {1, 2, 4, 8, 16}) {
    const double step = predicted_s(point, n);
    EXPECT_GT(step, before) << n;
    before = step;
  }
  EXPECT_NEAR(predicted_s(point, 1), 0.100, 0.002);
  EXPECT_NEAR(predicted_s(point, 16), 0.104, 0.002);
}

}  // namespace
}  // namespace lockstep::testing
