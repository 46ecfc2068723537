// What a list of step times says, and what it hides. Seconds. A repeat is one launch; its steps are in their order.
#pragma once

#include <string>
#include <vector>

#include "simulator/result/result.h"

namespace lockstep {

// The middle value; of an even number the lower of the two, so that it is an actual step. Not of an empty list.
double lower_median(std::vector<double> values);
// The value below which a share of all lies, by linear interpolation between neighbours (0 <= share <= 1).
double percentile(std::vector<double> values, double share);
// 1.4826 times the median distance from the median: the standard deviation where the values are normal, and hardly
// moved by a few that are not.
double robust_deviation(const std::vector<double>& values);

// Steps of all repeats together.
std::vector<double> all_steps(const std::vector<Samples>& repeats);
Spread spread_of(const std::vector<Samples>& repeats);

// An outlier lies further from the median of its repeat than `outlier_deviations` robust deviations, and more than 1 %
// of it. The deviation is that of its repeat or of all repeats about their own medians, whichever is larger: of five
// steps alone it would often be far too small.
struct Outlier {
  int repeat = 0, step = 0;  // from 0
  double step_time_s = 0, median_s = 0;
};
// 5 + 650 / N^2.5 of N distances that say something (of each repeat one less than it has steps: the median's own is 0).
// Hampel's identifier (Davies and Gather, J. Am. Stat. Assoc. 88 (1993) 782) with its factor, as there, from
// simulation: in at most about 1 % of measurements whose steps are independent and normal a step is called an outlier
// (the curve lies on or above the 99th percentiles of 20 000 draws of 3 to 300 steps in 1 to 5 repeats).
double outlier_deviations(std::size_t distances);
std::vector<Outlier> outliers_of(const std::vector<Samples>& repeats);

// The median of the last third of the steps over that of the first, less 1: the mean over repeats of at least nine
// steps. `significant`: beyond 2 %, and beyond three standard errors of such a difference.
struct Drift {
  double change = 0;
  bool significant = false;
};
Drift drift_of(const std::vector<Samples>& repeats);

// The same between repeats: the largest median over the smallest, less 1. `significant` as above.
Drift repeats_apart(const std::vector<Samples>& repeats);

// How alike a step and the next one are: lag-1 autocorrelation of the distances from the repeat's mean, all repeats
// together. `significant`: above 0.3 and above 2.6 / sqrt(n), 1 % of independent series. Where it is, n steps say as
// much as n (1 - r) / (1 + r) independent ones.
struct Autocorrelation {
  double lag1 = 0;
  bool significant = false;
  int effective_steps = 0;
};
Autocorrelation autocorrelation_of(const std::vector<Samples>& repeats);

// All of that in sentences; none where there is nothing to say.
std::vector<std::string> doubts_about(const std::vector<Samples>& repeats);

}  // namespace lockstep
