#include "gui/charts/breakdown_bars.h"

#include <QCoreApplication>
#include <algorithm>
#include <set>

#include "gui/compare/difference.h"

namespace lockstep::gui {
namespace {

double seconds_of(const std::vector<BreakdownPart>& parts, Cause cause) {
  double seconds = 0;
  for (const BreakdownPart& part : parts) seconds += part.cause == cause ? part.seconds : 0;
  return seconds;
}

std::vector<BreakdownPart> parts_of_step(const Run& run) {
  std::vector<BreakdownPart> parts;
  for (const Cause cause : kCauses)
    if (run.part_s(cause) > 0) parts.push_back({cause, run.part_s(cause)});
  return parts;
}

BreakdownBar bar_of(const Run& run, Devices devices) {
  BreakdownBar bar;
  bar.name = run_name(run, devices);
  bar.strategy = run.strategy;
  bar.gpus = run.gpus;
  bar.step_s = run.step_time_s;
  bar.hidden_s = run.hidden_communication_s;
  bar.fits = run.fits_memory;
  bar.parts = parts_of_step(run);
  return bar;
}

bool is_same_run(const BreakdownBar& a, const BreakdownBar& b) {
  return a.strategy == b.strategy && a.gpus == b.gpus;
}

// Behind the last bar of the same run, or at the end.
void insert_beside(std::vector<BreakdownBar>& bars, BreakdownBar bar) {
  const auto twin =
      std::find_if(bars.rbegin(), bars.rend(), [&](const BreakdownBar& other) { return is_same_run(other, bar); });
  bars.insert(twin.base() == bars.begin() ? bars.end() : twin.base(), std::move(bar));
}

void add_pinned(std::vector<BreakdownBar>& bars, const Shown& shown, Devices devices) {
  for (const PinnedPair& pair : pinned_pairs(shown))
    for (BreakdownBar& bar : bars) {
      if (!bar.present || bar.strategy != pair.present->strategy || bar.gpus != pair.present->gpus) continue;
      bar.pinned_s = pair.pinned->step_time_s;
      bar.pinned_parts = parts_of_step(*pair.pinned);
      bar.unsure = pair.unsure;
      bar.same_work = pair.same_work();
    }
  for (const Run* run : runs_of(*shown.baseline)) {
    BreakdownBar bar = bar_of(*run, devices);
    if (bar.parts.empty()) continue;
    bar.pinned = true;
    bar.name += QCoreApplication::translate("lockstep::gui::BreakdownView", " pinned");
    insert_beside(bars, std::move(bar));
  }
}

void make_names_unique(std::vector<BreakdownBar>& bars) {
  std::set<QString> names;
  for (BreakdownBar& bar : bars) {
    const QString name = bar.name;
    for (int n = 2; !names.insert(bar.name).second; ++n) bar.name = QStringLiteral("%1 (%2)").arg(name).arg(n);
  }
}

}  // namespace

double BreakdownBar::part_s(Cause cause) const {
  return seconds_of(parts, cause);
}
double BreakdownBar::pinned_part_s(Cause cause) const {
  return seconds_of(pinned_parts, cause);
}

std::vector<BreakdownBar> breakdown_bars(const Shown& shown) {
  std::vector<BreakdownBar> bars;
  const Devices devices = devices_of(shown);
  if (shown.result)
    for (const Run* run : runs_of(*shown.result)) {
      BreakdownBar bar = bar_of(*run, devices);
      bar.present = true;
      if (!bar.parts.empty()) bars.push_back(std::move(bar));
    }
  if (shown.baseline) add_pinned(bars, shown, devices);
  for (std::size_t i = 0; i < shown.measured.size(); ++i)
    for (const Run* run : runs_of(*shown.measured[i].result)) {
      BreakdownBar bar = bar_of(*run, devices);
      if (bar.parts.empty()) continue;
      bar.measured = shown.measured[i].result->kind == "measured";
      bar.file = shown.measured[i].name;
      bar.name += ' ' + loaded_name(shown, i);
      insert_beside(bars, std::move(bar));
    }
  for (BreakdownBar& bar : bars)
    if (!bar.fits.value_or(true))
      bar.name = QCoreApplication::translate("lockstep::gui::BreakdownView", "%1, does not fit").arg(bar.name);
  make_names_unique(bars);
  return bars;
}

std::vector<BreakdownBar> bars_that_fit(std::vector<BreakdownBar> bars, int room) {
  while (static_cast<int>(bars.size()) > room) {
    // The fewest GPUs go first, but for one without a wrapper; of those all bars at once.
    const BreakdownBar* least = nullptr;
    for (const BreakdownBar& bar : bars)
      if (bar.strategy != Strategy::Single && (least == nullptr || bar.gpus < least->gpus)) least = &bar;
    const bool all_alike = least == nullptr || std::all_of(bars.begin(), bars.end(), [&](const BreakdownBar& bar) {
                             return bar.strategy == Strategy::Single || bar.gpus == least->gpus;
                           });
    if (all_alike) break;
    const int gpus = least->gpus;
    bars.erase(
        std::remove_if(bars.begin(), bars.end(),
                       [&](const BreakdownBar& bar) { return bar.strategy != Strategy::Single && bar.gpus == gpus; }),
        bars.end());
  }
  return bars;
}

std::vector<Cause> visible_causes(const std::vector<BreakdownBar>& bars, double least) {
  std::vector<Cause> causes;
  for (const Cause cause : kCauses)
    if (cause != Cause::Other && std::any_of(bars.begin(), bars.end(), [&](const BreakdownBar& bar) {
          return bar.part_s(cause) > 0 && bar.part_s(cause) >= least * bar.step_s;
        }))
      causes.push_back(cause);
  return causes;
}

}  // namespace lockstep::gui
