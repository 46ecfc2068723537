#include "simulator/answers/bands.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "topologies/rates.h"
#include "topologies/routes.h"

namespace lockstep {
namespace {

// The presets' host factor of 0.8 is the geometric middle of 0.5 and 1.3.
constexpr double kHostLow = 0.5 / 0.8, kHostHigh = 1.3 / 0.8;
// Left with the right host factor: 12 % in 9 of 10 measured points of DataParallel, which is about 9 % in 8 of 10.
constexpr double kKnownHost = 0.09;

constexpr std::int64_t kMiB = 1 << 20;

bool is_depthwise(const Model& model) {
  int convolutions = 0, depthwise = 0;
  for (const Op& op : model.ops) {
    if (op.kind != OpKind::Conv2d) continue;
    ++convolutions;
    depthwise += op.conv.groups > 1 && op.conv.groups == model.input_shape(op).front() ? 1 : 0;
  }
  return depthwise * 4 > convolutions;
}

bool is_transformer(const Model& model) {
  return std::any_of(model.ops.begin(), model.ops.end(),
                     [](const Op& op) { return op.kind == OpKind::Softmax || op.kind == OpKind::Attention; });
}

bool is_data_center_gpu(const GpuType& gpu) {
  for (const char* name : {"v100", "a100", "h100", "h200"})
    if (gpu.name.rfind(name, 0) == 0) return true;
  return false;
}

struct SizeBands {
  double below_64kib, below_4mib, below_64mib, above;
};

// Multiply and divide, about 80 % (all-reduce tables against the model, uncalibrated).
SizeBands size_bands(PathClass path) {
  switch (path) {
    case PathClass::NvlinkA100:
    case PathClass::NvlinkV100:
    case PathClass::NvlinkH100:
      return {1.5, 1.5, 1.25, 1.1};
    case PathClass::InfiniBand:
      return {1.4, 1.6, 1.3, 1.2};
    case PathClass::Efa:
      return {1.4, 1.7, 1.4, 1.2};
    case PathClass::PcieP2p:
      return {1.2, 1.2, 1.15, 1.1};
    case PathClass::PcieShm:  // no measured rate: x/÷ 2 for PCIe
    case PathClass::CpuShared:
    case PathClass::Tcp:
      return {2, 2, 2, 2};
    case PathClass::SingleGpu:
      break;
  }
  return {1, 1, 1, 1};
}

// NCCL's LL and LL128 protocols and its trees are not modelled: for small messages they are faster than the ring with
// Simple by more than the bands above hold (1 MiB on 8 A100: 114 us predicted, 92 measured; on two nodes of 8: 267 and
// 119; comparison in docs/accuracy.md, "All-reduce"). The lower end stays this low until they are modelled.
double times_faster_by_other_protocols(PathClass path, std::int64_t bytes) {
  if (bytes >= 4 * kMiB) return 1;
  switch (path) {
    case PathClass::InfiniBand:
    case PathClass::Efa:
    case PathClass::Tcp:
      return 3;
    case PathClass::NvlinkA100:
    case PathClass::NvlinkV100:
    case PathClass::NvlinkH100:
    case PathClass::PcieP2p:
    case PathClass::PcieShm:
      return 2;
    case PathClass::CpuShared:  // Gloo has no such protocols
    case PathClass::SingleGpu:
      break;
  }
  return 1;
}

// TCP fabrics know the band of their own rate.
CollectiveBand collective_band_on(const Topology& topology, PathClass path, std::int64_t bytes) {
  CollectiveBand band = collective_band(path, bytes);
  if (path != PathClass::Tcp) return band;
  const TcpRate tcp = tcp_rate(topology);
  if (tcp.low <= 0 || tcp.high <= 0) return band;
  return {tcp.rate / tcp.low, std::max(tcp.high / tcp.rate, times_faster_by_other_protocols(path, bytes))};
}

// The buckets of DDP with each transfer `longer` or `shorter`: when the last one would end. A bucket starts when it is
// ready on the slowest rank and the one before it has ended.
double last_bucket_end_s(const Run& run, const Topology& topology, PathClass path, bool longer) {
  double end = 0;
  for (const BucketTimes& bucket : run.buckets) {
    const CollectiveBand band = collective_band_on(topology, path, bucket.bytes);
    const double ready = std::max(bucket.launch_s, bucket.ready_s);
    end = std::max(ready, end) + bucket.transfer_s * (longer ? band.longer : 1 / band.shorter);
  }
  return end;
}

// Change of the step when collectives are slower (or faster) than predicted.
double network_change_s(const Run& run, const Topology& topology, PathClass path, bool longer) {
  if (run.strategy == Strategy::Ddp) {
    if (run.buckets.empty()) return 0;
    const BucketTimes& last = run.buckets.back();
    const double backward_end = std::max(last.ready_s, last.end_s - run.part_s(Cause::ExposedCommunication));
    const double before = std::max(0.0, last.end_s - backward_end);
    return std::max(0.0, last_bucket_end_s(run, topology, path, longer) - backward_end) - before;
  }
  // DataParallel's broadcast and reduce overlap with nothing. Their time is what the ring's links are busy, at least
  // the reduce.
  const Ring ring = ring_of(topology, run.gpus);
  double busy = run.part_s(Cause::GradientReduce);
  std::int64_t bytes = 0;
  for (const LinkUse& link : run.links)
    if (link.link_class == name_of(ring.slowest) && link.busy_s > busy) {
      busy = link.busy_s;
      bytes = link.bytes;
    }
  const CollectiveBand band = collective_band_on(topology, path, bytes / 2);
  return busy * (longer ? band.longer - 1 : 1 / band.shorter - 1);
}

// ln(step with changed constants / step), both estimated.
class Reestimate {
 public:
  Reestimate(const Run& run, Points& points, double single_step_s)
      : points_(points),
        inputs_(points.point_inputs(run.strategy, run.gpus, {run.per_gpu_batch, run.micro_steps}, single_step_s)) {}

  Expected<double> step_s(double kernel_factor, double host_factor) {
    PointInputs changed = inputs_;
    changed.host_scale *= host_factor;
    changed.kernel_factor *= kernel_factor;
    changed.single_step_s *= kernel_factor;
    const auto run = points_.source().run(changed, {Method::Estimate, false, false, true});
    if (!run) return tl::unexpected(run.error());
    return run->step_time_s;
  }

 private:
  Points& points_;
  PointInputs inputs_;
};

// Of the rank that is busy longest: the others wait for it.
const GpuType& slowest_gpu(const Run& run, const Topology& topology) {
  const auto slowest = std::max_element(run.ranks.begin(), run.ranks.end(), [](const RankStats& a, const RankStats& b) {
    return a.gpu_compute_utilization < b.gpu_compute_utilization;
  });
  return slowest == run.ranks.end() ? topology.node.gpu : gpu_of(*slowest, topology);
}

}  // namespace

Band kernel_band(const Model& model, const GpuType& gpu, bool calibrated) {
  if (calibrated) return {0.94, 1.09, "kernels 0.94 to 1.09 (calibrated)"};
  if (gpu.vendor == "cpu") return {0.5, 2, "kernels 0.5 to 2 (CPU cores)"};
  if (!is_data_center_gpu(gpu)) return {0.55, 1.4, "kernels 0.55 to 1.4 (uncalibrated GPU)"};
  if (is_transformer(model)) return {0.95, 1.3, "kernels 0.95 to 1.3 (transformer)"};
  if (is_depthwise(model)) return {0.95, 1.45, "kernels 0.95 to 1.45 (depthwise network)"};
  return {0.85, 1.15, "kernels 0.85 to 1.15 (dense network)"};
}

CollectiveBand collective_band(PathClass path, std::int64_t bytes) {
  const SizeBands bands = size_bands(path);
  const double band = bytes < 64 * 1024   ? bands.below_64kib
                      : bytes < 4 * kMiB  ? bands.below_4mib
                      : bytes < 64 * kMiB ? bands.below_64mib
                                          : bands.above;
  return {band, std::max(band, times_faster_by_other_protocols(path, bytes))};
}

Expected<Uncertainty> uncertainty_of(const Run& run, Points& points) {
  const Inputs& inputs = points.inputs();
  const Topology& topology = inputs.topology;
  const auto single_s = points.single_step_s({run.per_gpu_batch, run.micro_steps});
  if (!single_s) return tl::unexpected(single_s.error());
  Reestimate again(run, points, *single_s);
  const bool calibrated = inputs.scenario().calibrate_single_gpu && !points.calibration().host_limits;
  const Band kernels = kernel_band(inputs.model, slowest_gpu(run, topology), calibrated);
  const bool host_known = inputs.scenario().host_factor.has_value();

  // An estimated run is its own estimate.
  const auto base = points.method() == Method::Estimate ? Expected<double>(run.step_time_s) : again.step_s(1, 1);
  if (!base) return tl::unexpected(base.error());
  double square_low = 0, square_high = 0;
  const auto add = [&](double ratio_low, double ratio_high) {
    square_low += std::pow(std::min(0.0, std::log(ratio_low)), 2);
    square_high += std::pow(std::max(0.0, std::log(ratio_high)), 2);
  };
  const auto estimated = [&](double factor_low, double factor_high, bool host) -> tl::expected<void, Errors> {
    const auto low = again.step_s(host ? 1 : factor_low, host ? factor_low : 1);
    const auto high = again.step_s(host ? 1 : factor_high, host ? factor_high : 1);
    if (!low || !high) return tl::unexpected(low ? high.error() : low.error());
    add(*low / *base, *high / *base);
    return {};
  };
  if (auto done = estimated(kernels.low, kernels.high, false); !done) return tl::unexpected(done.error());
  std::string from = kernels.from;
  // A factor that was given belongs to the machine, but not to this very model: see kKnownHost.
  const double host_low = host_known ? 1 - kKnownHost : kHostLow;
  const double host_high = host_known ? 1 + kKnownHost : kHostHigh;
  if (auto done = estimated(host_low, host_high, true); !done) return tl::unexpected(done.error());
  const double factor = inputs.scenario().host_factor.value_or(topology.node.host.factor);
  from += fmt::format(", host factor {:.3g} to {:.3g}", factor * host_low, factor * host_high);
  if (run.gpus > 1) {
    const PathClass path = ring_of(topology, run.gpus).path;
    const double step = run.step_time_s;
    add(std::max(0.01, 1 + network_change_s(run, topology, path, false) / step),
        1 + network_change_s(run, topology, path, true) / step);
    from += fmt::format(", collectives over {}", name_of(path));
  }
  double spread_low = std::sqrt(square_low), spread_high = std::sqrt(square_high);
  if (run.strategy == Strategy::Dp && run.gpus > 4) {
    spread_low *= 2;
    spread_high *= 2;
    from += ", twice that beyond 4 GPUs under DataParallel";
  }
  if (run.gpus > 32) {
    spread_high += std::log(1.08);
    from += ", upper end + 8 % above 32 ranks";
  }
  return Uncertainty{run.step_time_s * std::exp(-spread_low), run.step_time_s * std::exp(spread_high), 0.8, from};
}

}  // namespace lockstep
