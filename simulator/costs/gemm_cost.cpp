// Matrix products: roofline with tile and wave quantisation (docs/cost-models.md, section "gemm").
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "simulator/base/ensure.h"
#include "simulator/costs/pricing.h"

namespace lockstep {
namespace {

struct Tile {
  bool simt;
  std::int64_t rows, columns;
  double rate;
};

constexpr auto kTiles = std::to_array<Tile>({
#define LOCKSTEP_GEMM_TILE(simt, rows, columns, rate) {simt, rows, columns, rate},
#include "simulator/costs/op_constants.inc"
#undef LOCKSTEP_GEMM_TILE
});
constexpr std::array<std::int64_t, 5> kSplits = {1, 2, 4, 8, 16};

constexpr std::int64_t ceil_divide(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace

double gemm_tile_factor(const GemmShape& shape, Regime regime, const Pricing& pricing) {
  const bool simt = regime == Regime::Simt;
  const double k0 = simt ? pricing.constants().k0_simt : pricing.constants().k0_tensor;
  const double sm_count = pricing.gpu().sm_count;
  const double useful = static_cast<double>(shape.batch) * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
                        static_cast<double>(shape.k);
  double best = 0;
  for (const Tile& tile : kTiles) {
    if (tile.simt != simt) continue;
    const std::int64_t tiles = shape.batch * ceil_divide(shape.m, tile.rows) * ceil_divide(shape.n, tile.columns);
    for (const std::int64_t split : kSplits) {
      const double waves = std::ceil(static_cast<double>(tiles * split) / sm_count);
      const double depth = static_cast<double>(ceil_divide(shape.k, split)) + k0;
      const double issued = waves * sm_count * static_cast<double>(tile.rows * tile.columns) * depth;
      best = std::max(best, useful * tile.rate / issued);
    }
  }
  return best;
}

double gemm_compute_seconds(const GemmShape& shape, Regime regime, double efficiency, const Pricing& pricing) {
  const double flop = 2 * static_cast<double>(shape.batch) * static_cast<double>(shape.m) *
                      static_cast<double>(shape.n) * static_cast<double>(shape.k);
  return flop / (pricing.peak(regime) * efficiency * gemm_tile_factor(shape, regime, pricing));
}

double gemm_seconds(const GemmShape& shape, Regime regime, int element_bytes, const Pricing& pricing) {
  LOCKSTEP_ENSURE(shape.batch > 0 && shape.m > 0 && shape.n > 0 && shape.k > 0, "product {} x {} x {} x {}",
                  shape.batch, shape.m, shape.n, shape.k);
  const double elements =
      static_cast<double>(shape.batch) * static_cast<double>(shape.m * shape.k + shape.k * shape.n + shape.m * shape.n);
  return std::max(gemm_compute_seconds(shape, regime, pricing.gemm_efficiency(regime), pricing),
                  pricing.memory_seconds(element_bytes * elements, pricing.constants().em_conv));
}

double gemm_seconds(const GemmShape& shape, Regime regime, int element_bytes, const ComputeContext& context) {
  return gemm_seconds(shape, regime, element_bytes, Pricing(context));
}

}  // namespace lockstep
