// The step of DDP over its bucket cap: which caps are tried, which is best, and whether that matters. No widgets.
#pragma once

#include <QCoreApplication>
#include <QString>
#include <optional>
#include <string>
#include <vector>

#include "gui/sweep/sweep_plan.h"

namespace lockstep::gui {

// Caps in bytes from half a MiB to beyond all gradients, 10 to 20 of them, at 1, 2, 3, 5 and the like times powers of
// ten MiB; 25 MiB, PyTorch's own, is always one.
std::vector<double> curve_caps(double gradient_bytes);

struct BucketPoint {
  std::string yaml;      // of ddp.bucket_cap
  double cap_bytes = 0;  // of `default`: 25 MiB
  bool is_default = false;
  SweepCell cell;
};

// What Shown holds.
struct BucketCurve {
  int gpus = 0;
  std::vector<BucketPoint> points;   // explicit caps, ascending
  std::optional<BucketPoint> usual;  // `default`: 25 MiB after a first bucket of 1 MiB, so on no line with the others
  std::string present = "default";   // ddp.bucket_cap of the scenario, as YAML
  bool stale = false, running = false;
  int done = 0;            // simulated
  QString missing;         // why there is no curve; empty: there is one
  QString failure;         // of the simulation
  bool estimated() const;  // some points are
};

// All caps within `tolerance` of the fastest that lie beside it without a gap. Only those that fit in memory.
struct Plateau {
  std::size_t best = 0, low = 0, high = 0;  // points
};
inline constexpr double kPlateau = 0.01;
inline constexpr double kWorthAWord = 5e-4;  // a smaller gain is none
std::optional<Plateau> plateau_of(const BucketCurve& curve, double tolerance = kPlateau);
// Every cap is within the plateau: there is no best to speak of.
bool is_flat(const BucketCurve& curve);

// The point of the present setting; nullptr where it is not known yet.
const BucketPoint* present_of(const BucketCurve& curve);
// The fastest of all points that fit in memory, `default` included; nullptr before any is known.
const BucketPoint* fastest_of(const BucketCurve& curve);
// 1 - step / step of the present setting; 0 where either is not known.
double gain_of(const BucketCurve& curve, const BucketPoint& point);

QString cap_text(const BucketPoint& point);        // "12.5 MiB", "the default"
QString curve_sentence(const BucketCurve& curve);  // which is best; a plateau is called one
QString point_sentence(const BucketPoint& point);  // "25 MiB: 137 ms, 6.8 ms exposed, 5 buckets"
// What the same cap took in a pinned curve; empty where it has none.
QString point_against(const BucketPoint& point, const BucketCurve& pinned);

}  // namespace lockstep::gui
