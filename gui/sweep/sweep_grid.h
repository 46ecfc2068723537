// A sweep of two keys as a map: what is in it, which cell is best, what a cell says. No widgets.
#pragma once

#include <QString>
#include <optional>
#include <vector>

#include "gui/sweep/sweep_plan.h"

namespace lockstep::gui {

// What Shown holds. Cell x + y * across(): the first axis runs across, the second up.
struct SweepGrid {
  std::vector<PlanAxis> axes;
  Strategy strategy = Strategy::Ddp;
  int gpus = 0;  // 0: an axis
  std::vector<SweepCell> cells;
  std::optional<std::size_t> present;  // the cell of the scenario as it is
  bool stale = false, running = false;
  int done = 0;     // simulated
  QString missing;  // why there is no map; empty: there is one
  QString failure;  // of the simulation
  QString note;     // what else is fixed
  std::size_t across() const { return axes.size() == 2 ? axes[0].values.size() : 0; }
  std::size_t up() const { return axes.size() == 2 ? axes[1].values.size() : 0; }
};

enum class SweepMetric { Efficiency, Throughput, StepTime, SpeedUp };
inline constexpr SweepMetric kSweepMetrics[] = {SweepMetric::Efficiency, SweepMetric::Throughput, SweepMetric::StepTime,
                                                SweepMetric::SpeedUp};
QString metric_name(SweepMetric metric);

// Numbers of one metric in one unit; better is a larger share.
struct MetricScale {
  SweepMetric metric = SweepMetric::Efficiency;
  QString unit;  // "%", "ms", "images/s"; empty for a factor
  double unit_si = 1;
  double worst = 0, best = 0;        // SI, ends of the scale: the best, and the worst or a fifth below the best
  bool logarithmic = false;          // where the best is over ten times the worst
  bool any = false;                  // cells that are known
  double share(double value) const;  // 0 to 1
  QString text(double value) const;  // three digits, without unit
  QString in_words(double value) const;
};
double value_of_cell(const SweepCell& cell, SweepMetric metric);
// Of cells that fit in memory; of all known ones where none does.
MetricScale metric_scale(const SweepGrid& grid, SweepMetric metric);
// Of those that fit in memory; of equals the one that has most in common with the present settings.
std::optional<std::size_t> best_cell(const SweepGrid& grid, SweepMetric metric);

QString heading_of(const SweepGrid& grid);  // "DDP on 8 GPUs"
// "GPUs 8, Network adapter rate 25GB/s: ..."
QString cell_sentence(const SweepGrid& grid, std::size_t cell, SweepMetric metric);
// Against the run of a pinned result with the same strategy, on as many GPUs or else on its most; empty without one.
QString cell_against(const SweepGrid& grid, std::size_t cell, SweepMetric metric, const Result& pinned);
// Where the best cell is and how far the present one is from it.
QString grid_sentence(const SweepGrid& grid, SweepMetric metric);

}  // namespace lockstep::gui
