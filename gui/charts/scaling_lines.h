// Efficiency, throughput or step time over the number of GPUs, as numbers: what ScalingView draws. Pure.
#pragma once

#include <optional>
#include <vector>

#include "gui/charts/axis.h"
#include "gui/charts/view.h"

namespace lockstep::gui {

enum class Metric { Efficiency, Throughput, StepTime };

// Against the pinned result: present - pinned in the metric's unit, present / pinned - 1, and whether that says
// anything (gui/compare/difference.h).
struct PointDifference {
  double absolute = 0, relative = 0;
  bool unsure = false, same_work = true;  // same_work: both train the same batch
};

// One point of a line. Efficiency is a fraction, throughput samples per second, step time seconds.
struct ScalingPoint {
  int gpus = 1;
  double value = 0;
  std::optional<double> low, high;            // predicted: the 80 % band; measured: the fastest and slowest step
  int samples = 0;                            // measured: steps
  std::optional<PointDifference> difference;  // of the prediction, where the pinned result has this point
  std::optional<bool> fits = {};              // in the memory of its GPUs, where that is known
};

struct ScalingLine {
  enum class Kind { Predicted, Baseline, Measured, Loaded, Ideal };  // loaded: the prediction of another file
  Kind kind = Kind::Predicted;
  Strategy strategy = Strategy::Single;
  QString name;                      // "DDP", "DDP measured"
  std::vector<ScalingPoint> points;  // by number of GPUs
  int source = 0;                    // which of the loaded results
};

// 22 of 26 published rows of DDP, the step of one GPU given, lie within this of the prediction (docs/accuracy.md: 20 on
// V100, 2 of 6 on A100): no efficiency is claimed more surely, however much of its band it shares with one GPU.
inline constexpr double kLeastEfficiencyBand = 0.03;  // of ln(step)

// What the chart draws, as numbers. Band of the efficiency: what a run's band in ln(step) has beyond that of the single
// GPU, as both share the uncertain kernel and host times (docs/cost-models.md, bands add as squares), and
// kLeastEfficiencyBand for what the model leaves out.
std::vector<ScalingLine> scaling_lines(const Shown& shown, Metric metric);

std::vector<int> gpus_of(const std::vector<ScalingLine>& lines);  // ascending

QString metric_text(double value, Metric metric, const AxisUnit& unit);  // "94.9 %", "137 ms", "7450"
// "−14.0 ms, −9.3 %"; of efficiency, which is a percentage itself, "+12.3 points".
// The shorter of it: "−9.3 %", "+12.3 points".
QString short_difference_text(const PointDifference& difference, Metric metric);
QString difference_text(const PointDifference& difference, Metric metric, const AxisUnit& unit);

}  // namespace lockstep::gui
