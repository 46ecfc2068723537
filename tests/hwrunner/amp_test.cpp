// The scaler of gradients and clipping, against what can be worked out by hand; training in the number formats of amp.
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "hwrunner/trainers/torch_amp.h"
#include "hwrunner/trainers/trainer.h"
#include "tests/models/zoo_helpers.h"

namespace lockstep {
namespace {

constexpr double kRate = 1e-3;  // torch_optimizer.cpp
const float kInf = std::numeric_limits<float>::infinity();

TrainerOptions plain_sgd(OptimizerImplementation implementation = OptimizerImplementation::Foreach) {
  TrainerOptions options;
  options.optimizer = OptimizerKind::Sgd;
  options.optimizer_implementation = implementation;
  options.weight_decay = false;
  return options;
}

at::Tensor parameter_of(std::vector<float> values) {
  return at::tensor(values, at::kFloat).requires_grad_(true);
}
void give_gradient(at::Tensor& parameter, std::vector<float> values) {
  parameter.mutable_grad() = at::tensor(values, at::kFloat);
}
double at_index(const at::Tensor& tensor, std::int64_t i) {
  return tensor[i].item<double>();
}

const OptimizerImplementation kBoth[] = {OptimizerImplementation::Foreach, OptimizerImplementation::Fused};

TEST(GradScaler, ScalesTheLossAndTheOptimizerSeesGradientsDividedByIt) {
  for (const OptimizerImplementation implementation : kBoth) {
    GradScaler scaler(at::kCPU);
    EXPECT_EQ(scaler.scale(), 65536);
    EXPECT_EQ(scaler.scaled(at::ones({})).item<double>(), 65536);
    at::Tensor p = parameter_of({1, 2});
    give_gradient(p, {65536 * 0.5F, 65536 * -4.0F});
    TorchOptimizer optimizer(plain_sgd(implementation), {p});
    scaler.step(optimizer);
    scaler.update();
    EXPECT_NEAR(at_index(p, 0), 1 - kRate * 0.5, 1e-7);
    EXPECT_NEAR(at_index(p, 1), 2 + kRate * 4, 1e-7);
    EXPECT_EQ(scaler.scale(), 65536);
  }
}

TEST(GradScaler, SkipsAStepWithAnInfinityOrANanAndHalvesTheScale) {
  for (const OptimizerImplementation implementation : kBoth)
    for (const float broken : {kInf, -kInf, std::nanf("")}) {
      GradScaler scaler(at::kCPU);
      at::Tensor p = parameter_of({1, 2}), q = parameter_of({3});
      TorchOptimizer optimizer(plain_sgd(implementation), {p, q});
      give_gradient(p, {1, 1});
      give_gradient(q, {broken});
      scaler.step(optimizer);
      scaler.update();
      EXPECT_EQ(at_index(p, 0), 1);
      EXPECT_EQ(at_index(q, 0), 3);
      EXPECT_EQ(scaler.scale(), 32768);
      give_gradient(p, {32768, 0});  // the next step is taken again
      give_gradient(q, {0});
      scaler.step(optimizer);
      scaler.update();
      EXPECT_NEAR(at_index(p, 0), 1 - kRate, 1e-7);
      EXPECT_EQ(scaler.scale(), 32768);
    }
}

TEST(GradScaler, DoublesTheScaleAfterEnoughGoodStepsInARow) {
  GradScaler::Settings settings;
  settings.initial_scale = 8;
  settings.growth_interval = 3;
  GradScaler scaler(settings, at::kCPU);
  at::Tensor p = parameter_of({1});
  TorchOptimizer optimizer(plain_sgd(), {p});
  std::vector<double> scales;
  for (const float gradient : {1.0F, 1.0F, kInf, 1.0F, 1.0F, 1.0F, 1.0F}) {
    give_gradient(p, {gradient});
    scaler.step(optimizer);
    scaler.update();
    scales.push_back(scaler.scale());
  }
  EXPECT_EQ(scales, (std::vector<double>{8, 8, 4, 4, 4, 8, 8}));
}

TEST(GradScaler, UnscalesOnceInAStep) {
  for (const OptimizerImplementation implementation : kBoth) {
    GradScaler scaler(at::kCPU);
    at::Tensor p = parameter_of({1});
    TorchOptimizer optimizer(plain_sgd(implementation), {p});
    give_gradient(p, {65536});
    scaler.unscale(optimizer.gradients());
    EXPECT_EQ(at_index(p.grad(), 0), 1);
    scaler.unscale(optimizer.gradients());
    scaler.step(optimizer);
    EXPECT_NEAR(at_index(p, 0), 1 - kRate, 1e-7);
    scaler.update();
    give_gradient(p, {65536});
    scaler.step(optimizer);  // anew after update()
    EXPECT_NEAR(at_index(p, 0), 1 - 2 * kRate, 1e-7);
  }
}

TEST(GradScaler, DoesNotCountASkippedStepOfAdam) {
  TrainerOptions options = plain_sgd(OptimizerImplementation::Fused);
  options.optimizer = OptimizerKind::Adam;
  GradScaler scaler(at::kCPU);
  at::Tensor p = parameter_of({1}), q = parameter_of({1, 1});
  TorchOptimizer optimizer(options, {p, q});
  for (const float gradient : {kInf, 32768.0F}) {
    give_gradient(p, {gradient});
    give_gradient(q, {1, 1});
    scaler.step(optimizer);
    scaler.update();
  }
  EXPECT_NEAR(at_index(p, 0), 1 - kRate, 1e-6);  // Adam's first step is its rate, whatever the gradient
}

TEST(Clipping, ScalesGradientsDownToTheNorm) {
  // The norm of (3, 0) and (0, 4, 12) together is 13.
  const std::vector<at::Tensor> gradients = {at::tensor({3.0F, 0.0F}), at::tensor({0.0F, 4.0F, 12.0F})};
  EXPECT_NEAR(clip_grad_norm(gradients, 1).item<double>(), 13, 1e-5);
  EXPECT_NEAR(at_index(gradients[0], 0), 3.0 / 13, 1e-6);
  EXPECT_NEAR(at_index(gradients[1], 2), 12.0 / 13, 1e-6);
  EXPECT_NEAR(clip_grad_norm(gradients, 1).item<double>(), 1, 1e-5);
}

TEST(Clipping, LeavesSmallGradientsAlone) {
  const std::vector<at::Tensor> gradients = {at::tensor({0.3F, 0.4F})};
  EXPECT_NEAR(clip_grad_norm(gradients, 1).item<double>(), 0.5, 1e-6);
  EXPECT_EQ(at_index(gradients[0], 0), static_cast<double>(0.3F));
  EXPECT_EQ(clip_grad_norm({}, 1).item<double>(), 0);
}

// --- Training -------------------------------------------------------------------------------------

std::shared_ptr<const Model> mlp() {
  ModelOptions options;
  options.inputs = 40;
  options.hidden = {64, 48};
  return std::make_shared<const Model>(zoo_model("mlp", options));
}

struct Trained {
  std::vector<std::vector<float>> gradients;
  MeasuredStep last;
};

Trained trained(const std::shared_ptr<const Model>& model, const TrainerOptions& options, int steps) {
  Trained result;
  auto trainer = make_trainer(model, options);
  EXPECT_TRUE(trainer) << to_text(trainer.error().front());
  for (int i = 0; trainer && i < steps; ++i) {
    auto step = (*trainer)->step();
    EXPECT_TRUE(step) << to_text(step.error().front());
    if (step) result.last = *step;
  }
  if (trainer) result.gradients = (*trainer)->gradients();
  return result;
}

double norm_of(const Trained& one) {
  double sum = 0;
  for (const auto& list : one.gradients)
    for (const float g : list) sum += static_cast<double>(g) * static_cast<double>(g);
  return std::sqrt(sum);
}
double difference(const Trained& a, const Trained& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.gradients.size(); ++i)
    for (std::size_t k = 0; k < a.gradients[i].size(); ++k)
      sum += std::pow(static_cast<double>(a.gradients[i][k]) - static_cast<double>(b.gradients[i][k]), 2);
  return std::sqrt(sum) / norm_of(b);
}

TrainerOptions of_one_rank() {
  TrainerOptions options;
  options.batch = 8;
  options.optimizer = OptimizerKind::None;
  return options;
}

// Eleven bits of a half and eight of a bfloat16 are lost in each product; without the cast nothing would be.
TEST(AmpTraining, HasTheGradientsOfFp32ButForTheBitsOfTheFormat) {
  const Trained exact = trained(mlp(), of_one_rank(), 1);
  for (const auto& [precision, least, most] :
       {std::tuple{Precision::AmpBf16, 1e-4, 5e-2}, {Precision::AmpFp16, 1e-6, 5e-3}}) {
    TrainerOptions options = of_one_rank();
    options.precision = precision;
    Trained amp = trained(mlp(), options, 1);
    if (precision == Precision::AmpFp16)  // without an optimizer nothing divides by the scale
      for (auto& list : amp.gradients)
        for (float& g : list) g /= 65536;
    EXPECT_LT(difference(amp, exact), most) << name_of(precision);
    EXPECT_GT(difference(amp, exact), least) << name_of(precision);
    EXPECT_NEAR(amp.last.loss, exact.last.loss, 2e-2 * exact.last.loss);
  }
}

TEST(AmpTraining, UnscalesBeforeItClips) {
  TrainerOptions options = of_one_rank();
  options.precision = Precision::AmpFp16;
  options.optimizer = OptimizerKind::Sgd;
  options.clip_grad_norm = true;
  const double clipped = norm_of(trained(mlp(), options, 1));
  EXPECT_LT(clipped, 1 + 1e-4);
  options.clip_grad_norm = false;
  const double whole = norm_of(trained(mlp(), options, 1));
  EXPECT_NEAR(clipped, std::min(1.0, whole), 1e-3);
  EXPECT_LT(whole, 100);  // divided by the scale
}

TEST(AmpTraining, OfReplicasOnThreadsIsThatOfOneWithTheWholeBatch) {
  TrainerOptions options = of_one_rank();
  options.precision = Precision::AmpBf16;
  options.strategy = Strategy::Dp;
  options.replicas = 2;
  options.batch = 4;
  const Trained replicas = trained(mlp(), options, 1);
  options.strategy = Strategy::Single;
  options.batch = 8;
  const Trained whole = trained(mlp(), options, 1);
  EXPECT_LT(difference(replicas, whole), 1e-2);
  options.precision = Precision::Fp32;
  EXPECT_GT(difference(replicas, trained(mlp(), options, 1)), 1e-4);  // its threads did cast
}

TEST(HostInput, IsTimedAsACopyAndTrainsTheSame) {
  const Trained ready = trained(mlp(), of_one_rank(), 1);
  EXPECT_EQ(ready.last.copy_to_device_s, 0);
  for (const HostMemory memory : {HostMemory::Pageable, HostMemory::Pinned}) {
    TrainerOptions options = of_one_rank();
    options.input.source = InputSource::Host;
    options.input.memory = memory;
    const Trained hosted = trained(mlp(), options, 1);
    EXPECT_GT(hosted.last.copy_to_device_s, 0);
    EXPECT_EQ(difference(hosted, ready), 0);
  }
}

TEST(HostInput, InHalfPrecisionIsCastOnTheDevice) {
  TrainerOptions options = of_one_rank();
  options.input.source = InputSource::Host;
  options.input.dtype = DType::Fp16;
  const double off = difference(trained(mlp(), options, 1), trained(mlp(), of_one_rank(), 1));
  EXPECT_GT(off, 1e-6);
  EXPECT_LT(off, 5e-3);
}

TEST(GilStandIn, HoldsUpEachReplicaForEachOp) {
  TrainerOptions options = of_one_rank();
  options.strategy = Strategy::Dp;
  options.replicas = 2;
  options.batch = 4;
  options.gil_hold_s = 2e-3;
  const Trained held = trained(mlp(), options, 1);
  // Two replicas of at least five ops each, one at a time. A wait cannot be shorter than it is asked for.
  EXPECT_GE(held.last.forward_s, 2 * 5 * options.gil_hold_s);
  options.gil_hold_s = 0;
  EXPECT_EQ(difference(held, trained(mlp(), options, 1)), 0);
}

}  // namespace
}  // namespace lockstep
