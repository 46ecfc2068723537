// Errors on open op tables: the model must do about as well as docs/cost-models.md says, and better than the null
// predictor beside it (one constant share of the peak and of the DRAM rate, chosen with the table in hand).
//
// The tables time an op between two events on the host, so that each time contains an overhead that no step has. It is
// taken as a constant of each table, in seconds below.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "simulator/costs/constants.h"
#include "simulator/costs/op_cost.h"
#include "tests/simulator/costs/reference_gpus.h"
#include "tests/simulator/costs/small_models.h"
#include "tests/simulator/costs/table.h"

namespace lockstep {
namespace {

using namespace reference;

struct Sample {
  double predicted_s = 0;  // with the kernel's own 4 us
  double work_flop = 0, bytes = 0;
  double measured_s = 0;
};

Quantiles model_errors(const std::vector<Sample>& samples, double overhead_s) {
  std::vector<double> ratios;
  for (const Sample& s : samples) ratios.push_back((s.predicted_s + overhead_s) / s.measured_s);
  return quantiles(ratios);
}

// The pair of constants with the smallest mean |ln ratio| on the very samples.
Quantiles null_errors(const std::vector<Sample>& samples, const GpuType& gpu, double peak, double overhead_s) {
  Quantiles best;
  for (double of_peak = 0.3; of_peak < 2.0; of_peak += 0.02)
    for (const double of_memory : {0.4, 0.5, 0.6, 0.7, 0.8, 0.9}) {
      std::vector<double> ratios;
      for (const Sample& s : samples) {
        const double roofline = std::max(s.work_flop / (of_peak * peak), s.bytes / (of_memory * gpu.memory_bandwidth));
        ratios.push_back((roofline + 4e-6 + overhead_s) / s.measured_s);
      }
      const Quantiles q = quantiles(ratios);
      if (q.mean_log < best.mean_log) best = q;
    }
  return best;
}

void report(const char* what, const Quantiles& model, const Quantiles& null) {
  fmt::print("{}: {} rows, model {:.1f} / {:.1f} % (mean log {:.3f}), one constant {:.1f} / {:.1f} % ({:.3f})\n", what,
             model.rows, 100 * model.median, 100 * model.p90, model.mean_log, 100 * null.median, 100 * null.p90,
             null.mean_log);
}

double smallest(const std::vector<Sample>& samples) {
  double time = 1;
  for (const Sample& s : samples) time = std::min(time, s.measured_s);
  return time;
}

std::vector<Sample> linear_samples(const std::string& gpu_name, const GpuType& gpu) {
  ComputeContext context;
  context.gpu = &gpu;
  std::vector<Sample> samples;
  for (const Row& row : read_table("op_linear_fp32_a100_v100_neusight.csv")) {
    if (row.at("gpu") != gpu_name) continue;
    const GemmShape s{1, integer(row.at("batch")) * integer(row.at("m")), integer(row.at("k_out")),
                      integer(row.at("n_in"))};
    const double seconds = gemm_seconds(s, Regime::Simt, 4, context) + default_constants().op.launch;
    samples.push_back({seconds, 2.0 * static_cast<double>(s.m * s.n * s.k),
                       4.0 * static_cast<double>(s.m * s.k + s.k * s.n + s.m * s.n),
                       number(row.at("latency_ms")) * 1e-3});
  }
  return samples;
}

TEST(OpTables, Fp32LinearsOnA100AreOffBy8PercentAtTheMedian) {
  const GpuType gpu = a100_40gb();
  const std::vector<Sample> samples = linear_samples("NVIDIA A100-PCIE-40GB", gpu);
  ASSERT_GT(samples.size(), 500u);
  const double overhead = smallest(samples) - 8e-6;
  const Quantiles model = model_errors(samples, overhead), null = null_errors(samples, gpu, gpu.peak_fp32, overhead);
  report("linear A100", model, null);
  EXPECT_NEAR(model.median, 0.078, 0.012);
  EXPECT_NEAR(model.p90, 0.18, 0.03);
  EXPECT_LT(model.mean_log, null.mean_log);
}

TEST(OpTables, Fp32LinearsOnV100AreOffBy5PercentAtTheMedian) {
  const GpuType gpu = v100_pcie();
  const std::vector<Sample> samples = linear_samples("Tesla V100-PCIE-32GB", gpu);
  ASSERT_GT(samples.size(), 500u);
  const double overhead = smallest(samples) - 8e-6;
  const Quantiles model = model_errors(samples, overhead), null = null_errors(samples, gpu, gpu.peak_fp32, overhead);
  report("linear V100", model, null);
  EXPECT_NEAR(model.median, 0.051, 0.012);
  EXPECT_NEAR(model.p90, 0.14, 0.03);
  EXPECT_LT(model.mean_log, null.mean_log);
}

std::vector<Sample> conv_samples(const std::string& gpu_name, const GpuType& gpu) {
  ComputeContext context;
  context.gpu = &gpu;
  context.tf32_conv = false;
  std::vector<Sample> samples;
  for (const Row& row : read_table("op_conv2d_fp32_a100_v100_neusight.csv")) {
    if (row.at("gpu") != gpu_name) continue;
    const std::int64_t in = integer(row.at("in_channels")), out = integer(row.at("out_channels"));
    const std::int64_t size = integer(row.at("input_size_hw")), kernel = integer(row.at("kernel_size"));
    context.batch = integer(row.at("batch"));
    const OneOp one =
        one_conv(in, out, size, square(kernel, integer(row.at("stride")), integer(row.at("padding"))), true);
    const double pixels = static_cast<double>(context.batch * size * size);
    samples.push_back({op_cost(one.model, one.op, context).forward[0].seconds,
                       2 * pixels * static_cast<double>(in * out * kernel * kernel),
                       4 * (pixels * static_cast<double>(in + out) + static_cast<double>(in * out * kernel * kernel)),
                       number(row.at("latency_ms")) * 1e-3});
  }
  return samples;
}

constexpr double kConvOverhead = 15e-6;

TEST(OpTables, Fp32ConvolutionsOnA100AreOffBy31PercentAnd20AboveAMillisecond) {
  const GpuType gpu = a100_80gb_pcie();
  std::vector<Sample> samples = conv_samples("NVIDIA A100 80GB PCIe", gpu);
  ASSERT_GT(samples.size(), 300u);
  const Quantiles all = model_errors(samples, kConvOverhead);
  report("conv A100", all, null_errors(samples, gpu, gpu.peak_fp32, kConvOverhead));
  EXPECT_NEAR(all.median, 0.31, 0.05);
  EXPECT_NEAR(all.p90, 0.68, 0.06);
  std::erase_if(samples, [](const Sample& s) { return s.measured_s < 1e-3; });
  const Quantiles large = model_errors(samples, kConvOverhead);
  EXPECT_NEAR(large.median, 0.20, 0.04);
  EXPECT_NEAR(large.p90, 0.47, 0.06);
}

TEST(OpTables, Fp32ConvolutionsOnV100AreOffBy21PercentAtTheMedian) {
  const GpuType gpu = v100_pcie();
  const std::vector<Sample> samples = conv_samples("Tesla V100-PCIE-32GB", gpu);
  ASSERT_GT(samples.size(), 300u);
  const Quantiles all = model_errors(samples, kConvOverhead);
  const Quantiles null = null_errors(samples, gpu, gpu.peak_fp32, kConvOverhead);
  report("conv V100", all, null);
  EXPECT_NEAR(all.median, 0.21, 0.04);
  EXPECT_NEAR(all.p90, 0.67, 0.06);
  EXPECT_LT(all.mean_log, null.mean_log);
}

TEST(OpTables, Bf16ProductsOnA100AreOffBy3PercentAtTheMedian) {
  const GpuType gpu = a100_80gb_pcie();
  ComputeContext context;
  context.gpu = &gpu;
  context.bf16 = true;
  std::vector<Sample> samples;
  for (const Row& row : read_table("gemm_bf16_efficiency_a100_pcie_simumax.csv")) {
    const GemmShape s{integer(row.at("batch")), integer(row.at("m")), integer(row.at("n")), integer(row.at("k"))};
    const double flop = 2.0 * static_cast<double>(s.batch) * static_cast<double>(s.m * s.n * s.k);
    const double elements = static_cast<double>(s.batch) * static_cast<double>(s.m * s.k + s.k * s.n + s.m * s.n);
    samples.push_back({gemm_seconds(s, Regime::Half, 2, context), flop, 2 * elements,
                       flop / (number(row.at("efficiency")) * gpu.peak_bf16)});
  }
  ASSERT_EQ(samples.size(), 183u);
  const Quantiles model = model_errors(samples, 0), null = null_errors(samples, gpu, gpu.peak_bf16, -4e-6);
  report("BF16 products A100", model, null);
  EXPECT_NEAR(model.median, 0.028, 0.002);
  EXPECT_NEAR(model.p90, 0.11, 0.005);
  EXPECT_LT(model.mean_log, null.mean_log);
}

std::vector<Sample> elementwise_samples(const std::string& op, const GpuType& gpu) {
  ComputeContext context;
  context.gpu = &gpu;
  std::vector<Sample> samples;
  for (const Row& row : read_table("op_elementwise_fp32_a100_neusight.csv")) {
    if (row.at("op") != op) continue;
    context.batch = integer(row.at("rows"));
    const std::int64_t columns = integer(row.at("cols"));
    const OneOp one = one_op({columns}, [&](ModelBuilder& b, OpId x) {
      if (op == "add") return b.add(x, b.unary(OpKind::Scale, x));
      if (op == "mul") return b.multiply(x, b.unary(OpKind::Scale, x));
      if (op == "gelu") return b.unary(OpKind::Gelu, x);
      if (op == "tanh") return b.unary(OpKind::Tanh, x);
      if (op == "softmax") return b.softmax(x);
      if (op == "ln") return b.layer_norm(x, "ln");
      return b.relu(x, "relu", false);
    });
    const double elements = static_cast<double>(context.batch * columns);
    samples.push_back(
        {op_cost(one.model, one.op, context).forward[0].seconds, 0, 8 * elements, number(row.at("latency_ms")) * 1e-3});
  }
  return samples;
}

TEST(OpTables, PointwiseOpsOnA100AreOffByAFewPercentAboveTheTimersFloor) {
  const GpuType gpu = a100_40gb();
  std::vector<Sample> samples;
  for (const char* op : {"add", "mul", "relu", "gelu", "tanh"})
    for (const Sample& s : elementwise_samples(op, gpu)) samples.push_back(s);
  std::erase_if(samples, [](const Sample& s) { return s.measured_s < 55e-6; });
  ASSERT_GT(samples.size(), 50u);
  const Quantiles model = model_errors(samples, 11e-6);
  report("pointwise A100", model, null_errors(samples, gpu, 1e18, 11e-6));
  EXPECT_LT(model.median, 0.04);  // page 2 / 5 %
  EXPECT_LT(model.p90, 0.07);
}

TEST(OpTables, LayerNormAndSoftmaxOnA100AreOffByAbout10And13PercentAtTheMedian) {
  const GpuType gpu = a100_40gb();
  struct Case {
    const char* op;
    double median, p90;
  };
  for (const Case& c : {Case{"ln", 0.095, 0.22}, Case{"softmax", 0.13, 0.30}}) {
    const std::vector<Sample> samples = elementwise_samples(c.op, gpu);
    const double overhead = smallest(samples) - 8e-6;
    const Quantiles model = model_errors(samples, overhead);
    report(c.op, model, null_errors(samples, gpu, 1e18, overhead));
    EXPECT_NEAR(model.median, c.median, 0.04) << c.op;
    EXPECT_NEAR(model.p90, c.p90, 0.06) << c.op;
  }
}

}  // namespace
}  // namespace lockstep
