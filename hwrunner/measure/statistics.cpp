#include "hwrunner/measure/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "simulator/base/ensure.h"
#include "simulator/base/format.h"

namespace lockstep {
namespace {

constexpr double kNormalPerMedianDistance = 1.4826;  // 1 / quantile(3/4) of the normal distribution
constexpr double kMedianErrorFactor = 1.2533;        // sqrt(pi / 2): a median's standard error over a mean's
constexpr double kOutlierDeviations = 5, kOutlierShare = 0.01, kFewSteps = 650, kFewStepsPower = 2.5;
constexpr double kDriftShare = 0.02, kDriftErrors = 3;
constexpr std::size_t kLeastForDrift = 9, kLeastForAutocorrelation = 10;
constexpr double kAlike = 0.3, kAlikeErrors = 2.6;
constexpr std::size_t kMostNamed = 3;

double median_error(double deviation, std::size_t n) {
  return kMedianErrorFactor * deviation / std::sqrt(static_cast<double>(n));
}

// Distances from the median without that of the median itself, which is always 0.
std::vector<double> distances_of(const std::vector<double>& values) {
  if (values.size() < 2) return {};
  const double median = lower_median(values);
  std::vector<double> distances;
  for (const double value : values) distances.push_back(std::abs(value - median));
  distances.erase(std::min_element(distances.begin(), distances.end()));
  return distances;
}

}  // namespace

double lower_median(std::vector<double> values) {
  LOCKSTEP_ENSURE(!values.empty(), "the median of {} values", values.size());
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double percentile(std::vector<double> values, double share) {
  LOCKSTEP_ENSURE(!values.empty(), "a percentile of {} values", values.size());
  std::sort(values.begin(), values.end());
  const double at = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  if (below + 1 >= values.size()) return values.back();
  return values[below] + (at - static_cast<double>(below)) * (values[below + 1] - values[below]);
}

double robust_deviation(const std::vector<double>& values) {
  const double median = lower_median(values);
  std::vector<double> distances;
  for (const double value : values) distances.push_back(std::abs(value - median));
  return kNormalPerMedianDistance * lower_median(std::move(distances));
}

std::vector<double> all_steps(const std::vector<Samples>& repeats) {
  std::vector<double> all;
  for (const Samples& one : repeats) all.insert(all.end(), one.step_times_s.begin(), one.step_times_s.end());
  return all;
}

Spread spread_of(const std::vector<Samples>& repeats) {
  const std::vector<double> all = all_steps(repeats);
  Spread spread;
  spread.p5 = percentile(all, 0.05);
  spread.p50 = lower_median(all);
  spread.p95 = percentile(all, 0.95);
  spread.n = static_cast<int>(all.size());
  spread.over = "steps";
  return spread;
}

double outlier_deviations(std::size_t distances) {
  return kOutlierDeviations + kFewSteps / std::pow(static_cast<double>(distances), kFewStepsPower);
}

std::vector<Outlier> outliers_of(const std::vector<Samples>& repeats) {
  std::vector<double> all;
  for (const Samples& one : repeats)
    for (const double distance : distances_of(one.step_times_s)) all.push_back(distance);
  if (all.size() < 2) return {};
  const double factor = outlier_deviations(all.size()) * kNormalPerMedianDistance;
  const double of_all = lower_median(all);
  std::vector<Outlier> found;
  for (const Samples& one : repeats) {
    if (one.step_times_s.size() < 2) continue;
    const double median = lower_median(one.step_times_s);
    const double distance = std::max(of_all, lower_median(distances_of(one.step_times_s)));
    const double limit = std::max(factor * distance, kOutlierShare * median);
    for (std::size_t i = 0; i < one.step_times_s.size(); ++i)
      if (std::abs(one.step_times_s[i] - median) > limit)
        found.push_back({one.repeat, static_cast<int>(i), one.step_times_s[i], median});
  }
  return found;
}

Drift drift_of(const std::vector<Samples>& repeats) {
  double sum = 0, variance = 0;
  int count = 0;
  for (const Samples& one : repeats) {
    const auto& steps = one.step_times_s;
    if (steps.size() < kLeastForDrift) continue;
    const auto third = static_cast<std::ptrdiff_t>(steps.size() / 3);
    const std::vector<double> first(steps.begin(), steps.begin() + third), last(steps.end() - third, steps.end());
    const double before = lower_median(first), after = lower_median(last);
    const double error = median_error(std::max(robust_deviation(first), robust_deviation(last)), first.size()) / before;
    sum += after / before - 1;
    variance += 2 * error * error;
    ++count;
  }
  if (count == 0) return {};
  const double change = sum / count, error = std::sqrt(variance) / count;
  return {change, std::abs(change) > kDriftShare && std::abs(change) > kDriftErrors * error};
}

Drift repeats_apart(const std::vector<Samples>& repeats) {
  double least = 0, most = 0, worst_error = 0;
  for (const Samples& one : repeats) {
    if (one.step_times_s.empty()) continue;
    const double median = lower_median(one.step_times_s);
    least = least == 0 ? median : std::min(least, median);
    most = std::max(most, median);
    worst_error =
        std::max(worst_error, median_error(robust_deviation(one.step_times_s), one.step_times_s.size()) / median);
  }
  if (least == 0) return {};
  const double change = most / least - 1;
  return {change, change > kDriftShare && change > kDriftErrors * std::sqrt(2.0) * worst_error};
}

Autocorrelation autocorrelation_of(const std::vector<Samples>& repeats) {
  double together = 0, alone = 0;
  std::size_t n = 0;
  for (const Samples& one : repeats) {
    const auto& steps = one.step_times_s;
    if (steps.empty()) continue;
    double mean = 0;
    for (const double step : steps) mean += step / static_cast<double>(steps.size());
    for (std::size_t i = 0; i < steps.size(); ++i) {
      alone += (steps[i] - mean) * (steps[i] - mean);
      if (i > 0) together += (steps[i] - mean) * (steps[i - 1] - mean);
    }
    n += steps.size();
  }
  Autocorrelation result;
  result.effective_steps = static_cast<int>(n);
  if (n < kLeastForAutocorrelation || alone <= 0) return result;
  result.lag1 = together / alone;
  result.significant = result.lag1 > std::max(kAlike, kAlikeErrors / std::sqrt(static_cast<double>(n)));
  if (result.significant)
    result.effective_steps =
        std::max(1, static_cast<int>(std::lround(static_cast<double>(n) * (1 - result.lag1) / (1 + result.lag1))));
  return result;
}

std::vector<std::string> doubts_about(const std::vector<Samples>& repeats) {
  std::vector<std::string> doubts;
  if (const auto outliers = outliers_of(repeats); !outliers.empty()) {
    std::vector<std::string> named;
    for (const Outlier& one : outliers)
      if (named.size() < kMostNamed)
        named.push_back(fmt::format("step {} of repeat {}: {} against {}", one.step + 1, one.repeat + 1,
                                    format_time(one.step_time_s), format_time(one.median_s)));
    std::string text = fmt::format("{}", fmt::join(named, "; "));
    if (outliers.size() > named.size()) text += fmt::format("; {} more", outliers.size() - named.size());
    doubts.push_back(fmt::format("{} outlier{} among {} steps ({})", outliers.size(), outliers.size() == 1 ? "" : "s",
                                 all_steps(repeats).size(), text));
  }
  if (const Drift drift = drift_of(repeats); drift.significant)
    doubts.push_back(fmt::format("steps drift: the last third takes {} {} than the first",
                                 format_percent(std::abs(drift.change)), drift.change > 0 ? "longer" : "less"));
  if (const Drift apart = repeats_apart(repeats); apart.significant)
    doubts.push_back(fmt::format("repeats differ: their medians are up to {} apart", format_percent(apart.change)));
  if (const Autocorrelation alike = autocorrelation_of(repeats); alike.significant)
    doubts.push_back(
        fmt::format("a step resembles the one before (autocorrelation {}): {} steps say as much as {} independent ones",
                    format_significant(alike.lag1, 2), all_steps(repeats).size(), alike.effective_steps));
  return doubts;
}

}  // namespace lockstep
