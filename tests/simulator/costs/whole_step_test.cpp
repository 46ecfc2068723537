// Sums over whole networks against docs/cost-models.md's figures (within 2 %) and against what was measured.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "models/derived.h"
#include "models/zoo/zoo.h"
#include "simulator/costs/constants.h"
#include "simulator/costs/op_cost.h"
#include "simulator/costs/optimizer_cost.h"
#include "tests/simulator/costs/reference_gpus.h"
#include "tests/simulator/costs/table.h"

namespace lockstep {
namespace {

using namespace reference;

struct Step {
  double forward_ms = 0, backward_ms = 0, optimizer_ms = 0;
  double total_ms() const { return forward_ms + backward_ms + optimizer_ms; }
};

OptimizerSpec sgd() {
  return {};
}
OptimizerSpec adam() {
  OptimizerSpec spec;
  spec.kind = OptimizerKind::Adam;
  spec.weight_decay = false;
  return spec;
}

Step step_of(const std::string& name, const ComputeContext& context, const OptimizerSpec& spec) {
  const Model model = *build_zoo_model(name, {});
  const std::vector<OpCost> costs = op_costs(model, context);
  Step step{1e3 * forward_seconds(costs), 1e3 * backward_seconds(costs), 0};
  for (const OptimizerKernel& kernel : optimizer_kernels(model, spec, context, host_costs(1)))
    step.optimizer_ms += 1e3 * kernel.cost.seconds;
  return step;
}

void expect_within(double got, double page, double share, const char* what) {
  EXPECT_NEAR(got, page, share * page) << what;
}

ComputeContext context_for(const GpuType& gpu, std::int64_t batch) {
  ComputeContext context;
  context.gpu = &gpu;
  context.batch = batch;
  return context;
}

TEST(WholeStep, ResNet50OnH100InTf32Takes24Plus46Milliseconds) {
  const GpuType gpu = h100_sxm();
  const Step step = step_of("resnet50", context_for(gpu, 128), adam());
  expect_within(step.forward_ms, 24.2, 0.02, "forward");
  expect_within(step.backward_ms, 45.8, 0.02, "backward");
  EXPECT_NEAR(step.optimizer_ms, 0.8, 0.05);
  expect_within(step.total_ms(), 73.4, 0.05, "measured");
}

TEST(WholeStep, Vgg13OnH100WithFp32LinearsTakes32Plus67Milliseconds) {
  const GpuType gpu = h100_sxm();
  const Step step = step_of("vgg13", context_for(gpu, 128), adam());
  expect_within(step.forward_ms, 31.7, 0.02, "forward");
  expect_within(step.backward_ms, 67.0, 0.02, "backward");
  expect_within(step.optimizer_ms, 4.0, 0.02, "optimizer");
  expect_within(step.total_ms(), 94.0, 0.10, "measured");
}

TEST(WholeStep, ResNet50OnA100InTf32At640Takes607Milliseconds) {
  const GpuType gpu = a100_80gb_sxm4();
  ComputeContext context = context_for(gpu, 640);
  context.tf32_matmul = true;
  const Step step = step_of("resnet50", context, sgd());
  expect_within(step.forward_ms, 210, 0.02, "forward");
  expect_within(step.backward_ms, 396, 0.02, "backward");
  EXPECT_NEAR(step.optimizer_ms, 0.7, 0.06);
  expect_within(step.total_ms(), 596, 0.03, "measured");
}

TEST(WholeStep, ResNet50OnA100UnderAutocastAt1280Takes823Milliseconds) {
  const GpuType gpu = a100_80gb_sxm4();
  ComputeContext context = context_for(gpu, 1280);
  context.autocast = true;
  const Step step = step_of("resnet50", context, sgd());
  expect_within(step.forward_ms, 257, 0.02, "forward");
  expect_within(step.backward_ms, 565, 0.02, "backward");
  EXPECT_NEAR(step.optimizer_ms, 0.7, 0.06);
  expect_within(step.total_ms(), 804, 0.04, "measured");
}

TEST(WholeStep, FourNetworksOnV100InFp32AreWithin2PercentOfThePage) {
  const GpuType gpu = v100_sxm2();
  struct Case {
    const char* name;
    double page_ms, measured_ms, tolerance;
  };
  for (const Case& c : {Case{"resnet50", 95, 97, 0.03}, Case{"resnet101", 162, 162, 0.03},
                        Case{"resnext50-32x4d", 127, 145, 0.14}, Case{"resnext101-32x8d", 407, 415, 0.04}}) {
    const double total = step_of(c.name, context_for(gpu, 32), sgd()).total_ms();
    fmt::print("{}: {:.1f} ms, page {}, measured {}\n", c.name, total, c.page_ms, c.measured_ms);
    expect_within(total, c.page_ms, 0.02, c.name);
    expect_within(total, c.measured_ms, c.tolerance, c.name);
  }
}

// The trace lists a network's operators in the order of the pass, so its n-th convolution is the model's n-th.
std::vector<double> trace_us(const std::string& model, const std::string& operation) {
  std::vector<double> times;
  for (const Row& row : read_table("op_trace_resnet50_vgg13_h100_bs128_triosim.csv"))
    if (row.at("model") == model && row.at("operator") == operation)
      times.push_back(number(row.at("cuda_time_no_overlap_us")));
  return times;
}

struct Predicted {
  double us = 0;
  const Op* op = nullptr;
};

std::vector<Predicted> predicted_us(const Model& model, OpKind kind, bool backward) {
  static const GpuType gpu = h100_sxm();
  const std::vector<OpCost> costs = op_costs(model, context_for(gpu, 128));
  std::vector<OpId> order = backward_order(model);
  if (!backward) std::reverse(order.begin(), order.end());
  std::vector<Predicted> all;
  for (const OpId id : order) {
    if (model.op(id).kind != kind) continue;
    Predicted p{0, &model.op(id)};
    const OpCost& cost = costs[static_cast<std::size_t>(id)];
    for (const KernelCost& kernel : backward ? cost.backward : cost.forward)
      if (std::string(kernel.label) != "gradient_add" && std::string(kernel.label) != "bn_counter")

        p.us += (kernel.seconds - default_constants().op.launch) * 1e6;
    all.push_back(p);
  }
  return all;
}

Quantiles trace_errors(const Model& model, OpKind kind, bool backward, const std::string& operation, int kernel) {
  const std::vector<double> measured = trace_us("resnet50", operation);
  const std::vector<Predicted> predicted = predicted_us(model, kind, backward);
  EXPECT_EQ(measured.size(), predicted.size()) << operation;
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(measured.size(), predicted.size()); ++i)
    if (kernel == 0 || predicted[i].op->conv.kernel_h == kernel) ratios.push_back(predicted[i].us / measured[i]);
  return quantiles(ratios);
}

TEST(WholeStep, OpsOfTheH100TraceHaveThePagesErrors) {
  const Model model = *build_zoo_model("resnet50", {});
  const std::string engine = "autograd::engine::evaluate_function: ";
  struct Case {
    const char* what;
    OpKind kind;
    bool backward;
    std::string operation;
    int kernel;
    double median, p90;  // docs/cost-models.md's
  };
  const std::vector<Case> cases = {
      {"1x1 forward", OpKind::Conv2d, false, "aten::conv2d", 1, 0.09, 0.19},
      {"1x1 backward", OpKind::Conv2d, true, engine + "ConvolutionBackward0", 1, 0.15, 0.39},
      {"3x3 forward", OpKind::Conv2d, false, "aten::conv2d", 3, 0.14, 0.19},
      {"3x3 backward", OpKind::Conv2d, true, engine + "ConvolutionBackward0", 3, 0.08, 0.21},
      {"batch norm forward", OpKind::BatchNorm, false, "aten::batch_norm", 0, 0.07, 0.13},
      {"batch norm backward", OpKind::BatchNorm, true, engine + "CudnnBatchNormBackward0", 0, 0.10, 0.21},
  };
  for (const Case& c : cases) {
    const Quantiles q = trace_errors(model, c.kind, c.backward, c.operation, c.kernel);
    fmt::print("{}: {} ops, {:.1f} / {:.1f} %, page {:.0f} / {:.0f}\n", c.what, q.rows, 100 * q.median, 100 * q.p90,
               100 * c.median, 100 * c.p90);
    EXPECT_LE(q.median, c.median + 0.03) << c.what;
    EXPECT_LE(q.p90, c.p90 + 0.04) << c.what;
  }
}

}  // namespace
}  // namespace lockstep
