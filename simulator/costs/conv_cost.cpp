// Convolutions: tensor cores with layout passes, FP32 with Winograd, grouped, depthwise (docs/cost-models.md, section
// "convolution"). A backward has one kernel per gradient: input (unless nothing before it needs one) and weight.
#include <algorithm>
#include <cmath>

#include "simulator/base/ensure.h"
#include "simulator/costs/op_view.h"
#include "simulator/costs/pricing.h"

namespace lockstep {
namespace {

struct Conv {
  std::int64_t batch, in_channels, out_channels, out_h, out_w, groups, window, kernel_h, kernel_w, stride, dilation;
  double flop;     // of one pass
  double x, w, y;  // bytes
  Regime regime;
  double element_bytes;

  std::int64_t group_channels() const { return in_channels / groups; }
  bool depthwise() const { return groups > 1 && group_channels() == 1; }
  bool pointwise() const { return window == 1; }
  bool winograd_fits() const { return kernel_h == 3 && kernel_w == 3 && stride == 1 && dilation == 1 && groups == 1; }
  double bytes() const { return x + w + y; }
};

Conv describe(const OpView& view, const Model& model) {
  const ConvAttributes& a = view.op->conv;
  const Shape& in = model.input_shape(*view.op);
  const Shape& out = view.op->output;
  LOCKSTEP_ENSURE(in.size() == 3 && out.size() == 3, "{}: {} and {} dimensions", view.op->name, in.size(), out.size());
  LOCKSTEP_ENSURE(a.groups >= 1 && in[0] % a.groups == 0, "{}: {} channels in {} groups", view.op->name, in[0],
                  a.groups);
  Conv c{view.batch,
         in[0],
         out[0],
         out[1],
         out[2],
         a.groups,
         a.kernel_h * a.kernel_w,
         a.kernel_h,
         a.kernel_w,
         std::max(a.stride_h, a.stride_w),
         a.dilation,
         0,
         0,
         0,
         0,
         view.regime,
         0};
  c.element_bytes = static_cast<double>(bytes_of(view.output.dtype));
  const double weights = static_cast<double>(c.out_channels * c.group_channels() * c.window);
  c.flop = 2 * static_cast<double>(c.batch * c.out_h * c.out_w) * weights;
  c.x = view.inputs[0].elements * c.element_bytes;
  c.w = weights * c.element_bytes;
  c.y = view.output.elements * c.element_bytes;
  return c;
}

// Tensor cores work on channel counts padded to a multiple: the 3-channel stem pays for 4 or 8.
double channel_padding(const Conv& conv) {
  if (conv.regime == Regime::Simt || conv.groups > 1) return 1;
  const std::int64_t multiple = conv.regime == Regime::Tf32 ? 4 : 8;
  const std::int64_t padded = (conv.in_channels + multiple - 1) / multiple * multiple;
  return static_cast<double>(padded) / static_cast<double>(conv.in_channels);
}

double forward_efficiency(const Conv& conv, const Pricing& pricing) {
  const OpConstants& c = pricing.constants();
  const bool simt = conv.regime == Regime::Simt;
  if (conv.pointwise() && conv.groups == 1) {
    if (simt) return c.e_conv_1x1_simt;
    if (pricing.channels_last()) return c.e_conv_1x1_half_nhwc;
    return c.e_conv_1x1_0 / (1 + pricing.rho(conv.regime) / c.rho1);
  }
  const double dense = simt ? c.e_conv_kxk_simt : c.e_conv_kxk_tf32_and_half;
  const double channels = static_cast<double>(conv.group_channels());
  return conv.groups == 1 ? dense : dense * channels / (channels + c.cg0);
}

double backward_factor(const Conv& conv, const Pricing& pricing) {
  if (conv.regime == Regime::Simt) return 1;
  if (pricing.channels_last()) return pricing.constants().b_conv;
  return 1 / (1 + pricing.rho(conv.regime) / pricing.constants().rho_b);
}

// Extra passes over input and output: NCHW to the layout of the tensor-core kernel and back.
double layout_seconds(const Conv& conv, const Pricing& pricing) {
  if (conv.regime == Regime::Simt || pricing.channels_last()) return 0;
  double passes = pricing.constants().relay_kxk;
  if (conv.pointwise()) passes = conv.regime == Regime::Half ? pricing.constants().relay_1x1 : 0;
  return pricing.pointwise_seconds(passes * (conv.x + conv.y));
}

// FP32 3x3 with stride 1: the faster of one implicit product and Winograd F(4x4, 3x3), i.e. 36 products on 6x6 tiles
// whose transforms read and write 2 x 36 values per tile and channel.
double winograd_or_gemm_seconds(const Conv& c, const Pricing& pricing) {
  const OpConstants& constants = pricing.constants();
  const GemmShape implicit{1, c.batch * c.out_h * c.out_w, c.out_channels, 9 * c.in_channels};
  const std::int64_t tiles = c.batch * ((c.out_h + 3) / 4) * ((c.out_w + 3) / 4);
  const GemmShape winograd{36, tiles, c.out_channels, c.in_channels};
  const double channels = static_cast<double>(c.in_channels + c.out_channels);
  const double transforms =
      c.element_bytes * 72 *
      (static_cast<double>(tiles) * channels + static_cast<double>(c.in_channels * c.out_channels));
  const double by_gemm = gemm_compute_seconds(implicit, c.regime, constants.e_conv3_gemm, pricing);
  const double by_winograd = gemm_compute_seconds(winograd, c.regime, constants.e_conv3_wino, pricing) +
                             pricing.memory_seconds(transforms + c.bytes(), constants.em_conv);
  return std::max(std::min(by_gemm, by_winograd), pricing.memory_seconds(c.bytes(), constants.em_conv));
}

struct ConvSeconds {
  double forward = 0, per_gradient = 0;
};

ConvSeconds conv_seconds(const Conv& conv, const Pricing& pricing) {
  const OpConstants& constants = pricing.constants();
  if (conv.depthwise()) {
    const double forward = pricing.memory_seconds(conv.x + conv.y, constants.em_dw);
    return {forward, constants.dw_b * forward};
  }
  if (conv.regime == Regime::Simt && conv.winograd_fits()) {
    const double seconds = winograd_or_gemm_seconds(conv, pricing);
    return {seconds, seconds};
  }
  const double compute =
      conv.flop * channel_padding(conv) / (pricing.peak(conv.regime) * forward_efficiency(conv, pricing));
  const double memory = pricing.memory_seconds(conv.bytes(), constants.em_conv);
  const double layout = layout_seconds(conv, pricing);
  return {std::max(compute, memory) + layout, std::max(compute / backward_factor(conv, pricing), memory) + layout};
}

}  // namespace

void append_conv(const OpView& view, const Model& model, const Pricing& pricing, OpCost& cost) {
  const Conv conv = describe(view, model);
  const ConvSeconds seconds = conv_seconds(conv, pricing);
  cost.forward.push_back(pricing.kernel(seconds.forward, HostClass::ForwardOp, "conv"));
  if (view.op->conv.bias)
    cost.forward.push_back(pricing.kernel(pricing.pointwise_seconds(2 * conv.y), HostClass::None, "conv_bias"));
  if (!view.output.needs_gradient) return;
  HostClass host = HostClass::BackwardConv;
  if (view.input_gradient) {
    cost.backward.push_back(pricing.kernel(seconds.per_gradient, host, "conv_dgrad"));
    host = HostClass::None;
  }
  cost.backward.push_back(pricing.kernel(seconds.per_gradient, host, "conv_wgrad"));
  if (view.op->conv.bias) {
    const double column_sum = pricing.memory_seconds(conv.y, pricing.constants().em_reduce);
    cost.backward.push_back(pricing.kernel(column_sum, HostClass::None, "bias_grad"));
  }
}

}  // namespace lockstep
