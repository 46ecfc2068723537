#include "hwrunner/crew/clock_offset.h"

#include <algorithm>
#include <cmath>

namespace lockstep {

std::optional<ClockReading> read_clock(const std::function<std::optional<double>()>& ask,
                                       const std::function<double()>& ours, int exchanges) {
  std::optional<ClockReading> best;
  for (int i = 0; i < exchanges; ++i) {
    const double sent_s = ours();
    const auto other_s = ask();
    const double back_s = ours();
    if (!other_s) break;
    const double half_way_s = 0.5 * (back_s - sent_s);
    if (!best || half_way_s < best->uncertainty_s)
      best = ClockReading{sent_s + half_way_s, *other_s - (sent_s + half_way_s), half_way_s};
  }
  return best;
}

double ClockOffset::uncertainty_s() const {
  return std::max(before_.uncertainty_s, after_.uncertainty_s);
}

double ClockOffset::drift() const {
  const double between_s = after_.at_s - before_.at_s;
  const double change_s = after_.offset_s - before_.offset_s;
  if (between_s <= 0 || std::abs(change_s) <= before_.uncertainty_s + after_.uncertainty_s) return 0;
  return change_s / between_s;
}

double ClockOffset::to_ours(double other_s) const {
  // other = ours + offset + drift (ours - before.at), solved for ours.
  return before_.at_s + (other_s - before_.offset_s - before_.at_s) / (1 + drift());
}

Record on_our_clock(Record record, const ClockOffset& offset) {
  const auto move = [&offset](double& at_s) { at_s = offset.to_ours(at_s); };
  if (auto* start = std::get_if<StartRecord>(&record)) move(start->at_s);
  if (auto* bucket = std::get_if<BucketRecord>(&record))
    for (double* one : {&bucket->ready_s, &bucket->launch_s, &bucket->end_s}) move(*one);
  if (auto* step = std::get_if<RankStepRecord>(&record)) {
    move(step->end_s);
    if (step->idle_from_s) move(*step->idle_from_s);
    if (step->idle_to_s) move(*step->idle_to_s);
  }
  return record;
}

}  // namespace lockstep
