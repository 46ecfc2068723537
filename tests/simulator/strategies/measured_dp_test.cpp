// DataParallel against measured iteration times: seven torchvision models on 1 to 4 GPUs of a DGX A100, batch 12 per
// GPU (tests/data/dp_iteration_times_a100_open.csv, medians). One GPU is given, more are predicted. Beside the model
// stand two predictors that know nothing of DataParallel.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/laws/support/points.h"
#include "tests/simulator/strategies/measured_tables.h"

namespace lockstep::testing {
namespace {

const std::map<std::string, std::string> kZooNames = {{"resnet18", "resnet18"},
                                                      {"resnet34", "resnet34"},
                                                      {"resnet50", "resnet50"},
                                                      {"resnext50_32x4d", "resnext50-32x4d"},
                                                      {"vgg11_bn", "vgg11-bn"},
                                                      {"vgg16", "vgg16"},
                                                      {"wide_resnet50_2", "wide-resnet50-2"}};

// module.half(): parameters, buffers and activations in fp16.
const Model& half_model(const std::string& name) {
  static std::map<std::string, Model> known;
  const auto found = known.find(name);
  if (found != known.end()) return found->second;
  Model model = zoo_model(name);
  const auto halve = [](DType& dtype) {
    if (dtype == DType::Fp32) dtype = DType::Fp16;
  };
  halve(model.input_dtype);
  for (auto& parameter : model.parameters) halve(parameter.dtype);
  for (auto& buffer : model.buffers) halve(buffer.dtype);
  for (auto& op : model.ops) halve(op.output_dtype);
  return known.emplace(name, std::move(model)).first->second;
}

struct Case {
  std::string model, precision;
  std::map<int, double> measured_s;  // [GPUs]
};

std::vector<Case> cases() {
  std::map<std::pair<std::string, std::string>, Case> found;
  for (const Row& row : read_table("dp_iteration_times_a100_open.csv")) {
    if (row.at("precision") == "double" || !kZooNames.count(row.at("model"))) continue;
    Case& c = found[{row.at("model"), row.at("precision")}];
    c.model = row.at("model");
    c.precision = row.at("precision");
    c.measured_s[static_cast<int>(number(row, "gpus"))] = number(row, "median_iteration_ms") * 1e-3;
  }
  std::vector<Case> result;
  for (const auto& [key, c] : found) result.push_back(c);
  return result;
}

// Pageable batch in memory that a loader worker wrote (float), or that a conversion touched before the clock started
// (half); gradients set to zero; no optimizer.
TestPoint point_of(const Case& c) {
  TestPoint point;
  point.model_name = kZooNames.at(c.model);
  point.node = "dgx-a100-40gb";
  point.strategy = Strategy::Single;
  point.batch = 12;
  point.load();
  const bool half = c.precision == "half";
  if (half) point.model = &half_model(point.model_name);
  Scenario& s = point.scenario;
  s.torch_version = "1.7";
  s.cuda_version = "11.1";
  s.host_factor = 1.0;
  s.zero_grad = ZeroGrad::Zeros;
  s.optimizer = OptimizerKind::None;
  s.input.source = InputSource::Host;
  s.input.touched = half;
  s.input.dtype = half ? DType::Fp16 : DType::Fp32;
  return point;
}

double predicted_s(TestPoint point, int gpus) {
  point.strategy = gpus == 1 ? Strategy::Single : Strategy::Dp;
  point.gpus = gpus;
  return estimated_step_s(point.graph());
}

TEST(DataParallelOnADgxA100, IsPredictedFromOneGpu) {
  const auto all = cases();
  ASSERT_EQ(all.size(), 14U);
  std::map<int, LogErrors> model, unmeasured, same, scaled;
  LogErrors model_all, unmeasured_all, same_all, scaled_all;
  std::map<int, double> log_ratio;
  for (const Case& c : all)
    for (const int n : {2, 3, 4}) log_ratio[n] += std::log(c.measured_s.at(n) / c.measured_s.at(1)) / 14;
  for (const Case& c : all) {
    TestPoint point = point_of(c);
    unmeasured[1].add(predicted_s(point, 1), c.measured_s.at(1));
    TestPoint calibrated = point;
    const auto calibration = calibrate_kernels(point.inputs(), c.measured_s.at(1));
    calibrated.kernel_factor = calibration.factor;
    std::string line = fmt::format("{:16} {:5} g {:.3f}{}:", c.model, c.precision, calibration.factor,
                                   calibration.host_limits ? " (host limits)" : "");
    for (const int n : {1, 2, 3, 4}) {
      const double measured = c.measured_s.at(n);
      const double predicted = predicted_s(calibrated, n);
      line += fmt::format("  {:.1f} ({:.1f})", predicted * 1e3, measured * 1e3);
      if (n == 1) continue;
      model[n].add(predicted, measured);
      model_all.add(predicted, measured);
      unmeasured[n].add(predicted_s(point, n), measured);
      unmeasured_all.add(predicted_s(point, n), measured);
      same_all.add(c.measured_s.at(1), measured);
      scaled_all.add(c.measured_s.at(1) * std::exp(log_ratio[n]), measured);
    }
    std::cout << line << " ms predicted (measured)\n";
  }
  std::cout << "nothing measured, one GPU: " << unmeasured[1].text() << "\n";
  for (const int n : {2, 3, 4})
    std::cout << n << " GPUs, T1 given: " << model[n].text() << ", nothing measured: " << unmeasured[n].text() << "\n";
  std::cout << fmt::format(
      "all, mean / worst: model with T1 {}, nothing measured {}, T1 for every N {}, T1 x constant of N {}\n",
      model_all.text(), unmeasured_all.text(), same_all.text(), scaled_all.text());
  EXPECT_LT(model_all.mean(), 6);
  EXPECT_LT(model_all.worst(), 15);
  EXPECT_LT(model_all.mean(), scaled_all.mean() / 2);
  EXPECT_LT(model_all.mean(), same_all.mean() / 4);
  EXPECT_LT(unmeasured_all.mean(), scaled_all.mean());
}

}  // namespace
}  // namespace lockstep::testing
