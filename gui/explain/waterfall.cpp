#include "gui/explain/waterfall.h"

#include <algorithm>
#include <cmath>

#include "gui/charts/axis.h"

namespace lockstep::gui {
namespace {

constexpr double kLeastShare = 0.003;
constexpr double kCutBelow = 0.35;  // of the longer step: differences that reach no further are looked at closely

std::vector<StepPart> parts_of(const Run& run, Cause cause) {
  std::vector<StepPart> parts;
  for (const StepPart& part : run.parts)
    if (part.cause == cause && part.seconds > 0 && !part.detail.empty()) parts.push_back(part);
  std::stable_sort(parts.begin(), parts.end(),
                   [](const StepPart& a, const StepPart& b) { return a.seconds > b.seconds; });
  return parts;
}

// Bars follow each other: each starts where the one above ended.
void place(Waterfall& waterfall) {
  double at = waterfall.base_s;
  for (WaterfallRow& row : waterfall.rows) {
    row.from_s = at;
    at += row.seconds();
  }
}

}  // namespace

Waterfall waterfall_of(const Run& base, const Run& run) {
  Waterfall out;
  if (base.global_batch <= 0 || run.gpus <= 0) return out;
  const double samples = static_cast<double>(run.global_batch) / static_cast<double>(base.global_batch);
  const double share = samples * base.gpus / run.gpus;
  out.base_step_s = base.step_time_s;
  out.base_s = base.step_time_s * share;
  out.run_s = run.step_time_s;
  WaterfallRow small;
  small.joined = true;
  for (const Cause cause : kCauses) {
    WaterfallRow row;
    row.cause = cause;
    row.base_s = base.part_s(cause) * share;
    row.run_s = run.part_s(cause);
    if (std::abs(row.seconds()) < kLeastShare * std::max(out.base_s, out.run_s)) {
      small.base_s += row.base_s;
      small.run_s += row.run_s;
      continue;
    }
    row.parts = parts_of(run, cause);
    out.rows.push_back(std::move(row));
  }
  const double way = out.run_s < out.base_s ? -1 : 1;
  std::stable_sort(out.rows.begin(), out.rows.end(), [way](const WaterfallRow& a, const WaterfallRow& b) {
    return way * a.seconds() > way * b.seconds();
  });
  if (std::abs(small.seconds()) > 1e-9 * out.run_s) out.rows.push_back(std::move(small));
  place(out);
  return out;
}

WaterfallAxis axis_of(const Waterfall& waterfall) {
  double least = std::min(waterfall.base_s, waterfall.run_s), most = std::max(waterfall.base_s, waterfall.run_s);
  for (const WaterfallRow& row : waterfall.rows) {
    least = std::min({least, row.from_s, row.from_s + row.seconds()});
    most = std::max({most, row.from_s, row.from_s + row.seconds()});
  }
  WaterfallAxis axis{0, most > 0 ? most : 1};
  if (most - least > 0 && most - least < kCutBelow * most) {
    const Ticks ticks = nice_ticks(least - 0.45 * (most - least), most, 5);
    axis.low_s = std::max(0.0, ticks.low);
  }
  return axis;
}

}  // namespace lockstep::gui
