#include "simulator/costs/optimizer_cost.h"

#include <gtest/gtest.h>

#include <random>

#include "models/derived.h"
#include "models/zoo/zoo.h"
#include "tests/simulator/costs/reference_gpus.h"
#include "tests/simulator/costs/table.h"

namespace lockstep {
namespace {

using namespace reference;

OptimizerSpec spec_of(OptimizerKind kind, OptimizerImplementation implementation, bool decay) {
  OptimizerSpec spec;
  spec.kind = kind;
  spec.implementation = implementation;
  spec.weight_decay = decay;
  return spec;
}
constexpr auto kForeach = OptimizerImplementation::Foreach;
constexpr auto kFused = OptimizerImplementation::Fused;
constexpr auto kForLoop = OptimizerImplementation::ForLoop;

class OptimizerCost : public testing::Test {
 protected:
  OptimizerCost() {
    context_.gpu = &gpu_;
    context_.batch = 128;
  }
  double seconds(const std::vector<OptimizerKernel>& kernels) const {
    double sum = 0;
    for (const OptimizerKernel& k : kernels) sum += k.cost.seconds;
    return sum;
  }
  double host(const std::vector<OptimizerKernel>& kernels) const {
    double sum = 0;
    for (const OptimizerKernel& k : kernels) sum += k.host_s;
    return sum;
  }
  std::vector<OptimizerKernel> kernels(const OptimizerSpec& spec) const {
    return optimizer_kernels(model_, spec, context_, host_costs(1));
  }

  GpuType gpu_ = h100_sxm();
  ComputeContext context_;
  Model model_ = *build_zoo_model("resnet50", {});
};

TEST_F(OptimizerCost, PassesAreThoseOfThePage) {
  EXPECT_EQ(optimizer_passes(spec_of(OptimizerKind::SgdMomentum, kForeach, true)), 11);
  EXPECT_EQ(optimizer_passes(spec_of(OptimizerKind::Sgd, kForeach, false)), 3);
  EXPECT_EQ(optimizer_passes(spec_of(OptimizerKind::Adam, kForeach, false)), 19);
  EXPECT_EQ(optimizer_passes(spec_of(OptimizerKind::AdamW, kForeach, true)), 20);
  EXPECT_EQ(optimizer_passes(spec_of(OptimizerKind::SgdMomentum, kFused, true)), 5);
  EXPECT_EQ(optimizer_passes(spec_of(OptimizerKind::Adam, kFused, true)), 7);
  EXPECT_EQ(optimizer_passes(spec_of(OptimizerKind::AdamW, kFused, true)), 7);
  EXPECT_EQ(optimizer_passes(spec_of(OptimizerKind::None, kForeach, true)), 0);
}

TEST_F(OptimizerCost, AdamIsTheTracesSevenMultiTensorOpsWithin15PercentOfTheirSum) {
  for (const char* name : {"resnet50", "vgg13"}) {
    double measured_us = 0;
    int ops = 0;
    for (const Row& row : read_table("op_trace_resnet50_vgg13_h100_bs128_triosim.csv"))
      if (row.at("model") == name && row.at("operator").starts_with("aten::_foreach")) {
        measured_us += number(row.at("cuda_time_no_overlap_us"));
        ++ops;
      }
    model_ = *build_zoo_model(name, {});
    const auto adam = kernels(spec_of(OptimizerKind::Adam, kForeach, false));
    EXPECT_EQ(static_cast<int>(adam.size()), ops) << name;
    EXPECT_NEAR(seconds(adam) * 1e6, measured_us, 0.15 * measured_us) << name;
  }
}

TEST_F(OptimizerCost, AForLoopLaunchesEveryOpForEveryParameter) {
  const auto loop = kernels(spec_of(OptimizerKind::SgdMomentum, kForLoop, true));
  const auto foreach = kernels(spec_of(OptimizerKind::SgdMomentum, kForeach, true));
  EXPECT_EQ(loop.size(), 161u * 4);
  EXPECT_EQ(foreach.size(), 4u);
  EXPECT_NEAR(seconds(loop) - seconds(foreach), (161 * 4 - 4) * 4e-6, 1e-9);
  EXPECT_GT(host(loop), 5 * host(foreach));
  EXPECT_LT(seconds(kernels(spec_of(OptimizerKind::SgdMomentum, kFused, true))), 0.5 * seconds(foreach));
}

TEST_F(OptimizerCost, ClippingReadsOnceAndRewritesTheGradients) {
  OptimizerSpec plain, clip;
  clip.clip_grad_norm = true;
  const double bytes = static_cast<double>(parameter_bytes(model_));
  EXPECT_NEAR(seconds(kernels(clip)) - seconds(kernels(plain)), 3 * bytes / (0.75 * gpu_.memory_bandwidth) + 4 * 4e-6,
              1e-12);
}

TEST_F(OptimizerCost, TheScalerUnscalesFirstAndMakesTheHostWait) {
  OptimizerSpec spec;
  spec.gradient_scaler = true;
  const auto list = kernels(spec);
  EXPECT_STREQ(list[0].cost.label, "unscale");
  EXPECT_TRUE(list[1].host_waits);
  for (std::size_t i = 2; i < list.size(); ++i) EXPECT_FALSE(list[i].host_waits);
}

TEST_F(OptimizerCost, ZeroingIsOnePassInOneKernelPerParameterAndAccumulatingThree) {
  const HostCosts h = host_costs(1);
  const auto zero = zero_grad_kernels(model_, context_, h);
  const double bytes = static_cast<double>(parameter_bytes(model_)), rate = 0.75 * gpu_.memory_bandwidth;
  EXPECT_EQ(zero.size(), 161u);
  EXPECT_NEAR(seconds(zero), bytes / rate + 161 * 4e-6, 1e-12);
  EXPECT_NEAR(host(zero), 161 * h.c_p, 1e-12);
  double accumulate = 0;
  for (const Parameter& p : model_.parameters) accumulate += accumulate_kernel(p, context_, h).cost.seconds;
  EXPECT_NEAR(accumulate, 3 * bytes / rate + 161 * 4e-6, 1e-12);
}

TEST_F(OptimizerCost, ParametersWithoutGradientTakeNoPart) {
  Model model = model_;
  model.parameters[0].used = false;
  const auto all = kernels(OptimizerSpec{});
  model_ = model;
  EXPECT_LT(seconds(kernels(OptimizerSpec{})), seconds(all));
  EXPECT_EQ(zero_grad_kernels(model_, context_, host_costs(1)).size(), 160u);
  for (Parameter& p : model_.parameters) p.used = false;
  EXPECT_TRUE(kernels(OptimizerSpec{}).empty());
}

// The rule chunk by chunk, as a kernel launcher would walk its lists.
int launches_chunk_by_chunk(const std::vector<std::int64_t>& elements, int tensor_slots, int chunk_slots) {
  int launches = 0, tensors = 0, chunks_used = 0;
  for (std::size_t t = 0; t < elements.size(); ++t) {
    const std::int64_t chunks = (elements[t] + 65535) / 65536;
    ++tensors;
    for (std::int64_t c = 0; c < chunks; ++c) {
      ++chunks_used;
      const bool last_of_tensor = c + 1 == chunks;
      const bool last = last_of_tensor && t + 1 == elements.size();
      if ((tensors == tensor_slots && last_of_tensor) || chunks_used == chunk_slots || last) {
        ++launches;
        chunks_used = 0;
        tensors = last_of_tensor ? 0 : 1;
      }
    }
  }
  return launches;
}

TEST_F(OptimizerCost, LaunchesAreCutWhereTensorOrChunkSlotsEnd) {
  EXPECT_EQ(multi_tensor_launches(std::vector<std::int64_t>(110, 10), 1, 12), 1);
  EXPECT_EQ(multi_tensor_launches(std::vector<std::int64_t>(111, 10), 1, 12), 2);
  EXPECT_EQ(multi_tensor_launches(std::vector<std::int64_t>(111, 10), 1, 13), 1);
  EXPECT_EQ(multi_tensor_launches({65536 * 320}, 2, 12), 1);
  EXPECT_EQ(multi_tensor_launches({65536 * 320 + 1}, 2, 12), 2);
  EXPECT_EQ(multi_tensor_launches({}, 2, 12), 0);
  std::mt19937 random(7);
  const int slots[5] = {110, 64, 48, 36, 30};
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<std::int64_t> elements(1 + random() % 300);
    for (std::int64_t& e : elements) e = 1 + random() % (random() % 4 == 0 ? 30'000'000 : 200'000);
    const int lists = 1 + static_cast<int>(random() % 5);
    EXPECT_EQ(multi_tensor_launches(elements, lists, 12), launches_chunk_by_chunk(elements, slots[lists - 1], 320));
    EXPECT_EQ(multi_tensor_launches(elements, lists, 13),
              launches_chunk_by_chunk(elements, 7 * slots[lists - 1], 7 * 320));
  }
}

}  // namespace
}  // namespace lockstep
