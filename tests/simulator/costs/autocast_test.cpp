// Types of tensors under autocast and the casts that follow from them.
#include <gtest/gtest.h>

#include <map>

#include "models/zoo/zoo.h"
#include "simulator/costs/constants.h"
#include "simulator/costs/op_cost.h"
#include "tests/simulator/costs/reference_gpus.h"
#include "tests/simulator/costs/small_models.h"

namespace lockstep {
namespace {

using namespace reference;

class Autocast : public testing::Test {
 protected:
  Autocast() {
    context_.gpu = &gpu_;
    context_.batch = 8;
    context_.autocast = true;
    context_.bf16 = true;
  }
  std::map<OpKind, DType> kinds_of(const Model& model) const {
    std::map<OpKind, DType> kinds;
    const std::vector<DType> dtypes = output_dtypes(model, context_);
    for (std::size_t i = 0; i < dtypes.size(); ++i) kinds[model.ops[i].kind] = dtypes[i];  // the last of each kind
    return kinds;
  }

  GpuType gpu_ = a100_80gb_sxm4();
  ComputeContext context_;
};

TEST_F(Autocast, AConvolutionalNetworkIsHalfFromTheFirstConvolutionToTheLoss) {
  const Model model = *build_zoo_model("resnet18", {});
  const std::vector<DType> dtypes = output_dtypes(model, context_);
  EXPECT_EQ(dtypes.front(), DType::Fp32);
  for (std::size_t i = 1; i + 1 < dtypes.size(); ++i) EXPECT_EQ(dtypes[i], DType::Bf16) << model.ops[i].name;
  EXPECT_EQ(dtypes.back(), DType::Fp32);
}

TEST_F(Autocast, ATransformerKeepsItsResidualStreamAndSoftmaxInFp32) {
  const std::map<OpKind, DType> kinds = kinds_of(*build_zoo_model("gpt2", {}));
  EXPECT_EQ(kinds.at(OpKind::LayerNorm), DType::Fp32);
  EXPECT_EQ(kinds.at(OpKind::Softmax), DType::Fp32);
  EXPECT_EQ(kinds.at(OpKind::Add), DType::Fp32);  // half branch plus fp32 stream
  EXPECT_EQ(kinds.at(OpKind::Conv1dGpt), DType::Bf16);
  EXPECT_EQ(kinds.at(OpKind::MatMul), DType::Bf16);
  EXPECT_EQ(kinds.at(OpKind::Tanh), DType::Bf16);
}

TEST_F(Autocast, WeightsAreCastForwardAndTheirGradientsBack) {
  const OneOp one = one_op({256}, [](ModelBuilder& b, OpId x) { return b.linear(x, "fc", 512, false); });
  const OpCost c = op_cost(one.model, one.op, context_);
  const auto find = [](const std::vector<KernelCost>& kernels, const std::string& label) {
    for (const KernelCost& kernel : kernels)
      if (kernel.label == label) return kernel.seconds - default_constants().op.launch;
    return 0.0;
  };
  const double rate = 0.85 * gpu_.memory_bandwidth;
  EXPECT_NEAR(find(c.forward, "weight_cast"), 256.0 * 512 * 6 / rate, 1e-13);
  EXPECT_NEAR(find(c.backward, "gradient_cast"), 256.0 * 512 * 6 / rate, 1e-13);
  EXPECT_NEAR(find(c.forward, "cast"), 8.0 * 256 * 6 / rate, 1e-13);  // the layer norm before it gives fp32
  EXPECT_NEAR(find(c.backward, "cast"), 8.0 * 256 * 6 / rate, 1e-13);
}

TEST_F(Autocast, WithoutItNothingIsCast) {
  context_.autocast = false;
  for (const OpCost& cost : op_costs(*build_zoo_model("gpt2", {}), context_))
    for (const auto* kernels : {&cost.forward, &cost.backward})
      for (const KernelCost& kernel : *kernels)
        EXPECT_FALSE(std::string(kernel.label).ends_with("cast")) << kernel.label;
}

// The page: BERT-large under autocast takes about 1.4 times the step of one whose tensors are all half (1.30 here, at
// batch 16 and 128 tokens; docs/cost-models.md's shape is not given).
TEST_F(Autocast, BertLargeIsAThirdToAHalfSlowerThanPureHalf) {
  const Model mixed = *build_zoo_model("bert-large", {});
  Model half = mixed;
  for (Op& op : half.ops)
    if (op.output_dtype == DType::Fp32) op.output_dtype = DType::Bf16;
  for (Parameter& parameter : half.parameters) parameter.dtype = DType::Bf16;
  ComputeContext pure = context_;
  pure.autocast = false;
  pure.batch = context_.batch = 16;
  const auto step = [](const std::vector<OpCost>& costs) { return forward_seconds(costs) + backward_seconds(costs); };
  const double ratio = step(op_costs(mixed, context_)) / step(op_costs(half, pure));
  RecordProperty("ratio", std::to_string(ratio));
  EXPECT_GT(ratio, 1.2);
  EXPECT_LT(ratio, 1.6);
}

}  // namespace
}  // namespace lockstep
