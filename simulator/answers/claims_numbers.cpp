#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "simulator/answers/claims_bench.h"
#include "simulator/base/quantity.h"

namespace lockstep {
namespace {

// "3" is one rank, "0-7" stands for eight alike.
double ranks_in(const std::string& range) {
  const std::size_t dash = range.find('-');
  if (dash == std::string::npos) return 1;
  const auto first = parse_integer(range.substr(0, dash)), last = parse_integer(range.substr(dash + 1));
  return first && last ? static_cast<double>(*last - *first + 1) : 1;
}

template <class Get>
double mean_over_ranks(const Run& run, Get get) {
  double sum = 0, ranks = 0;
  for (const RankStats& rank : run.ranks) {
    const double count = ranks_in(rank.ranks);
    sum += count * get(rank);
    ranks += count;
  }
  return ranks > 0 ? sum / ranks : 0;
}

double launch_thread(const Run& run) {
  double most = 0;
  for (const RankStats& rank : run.ranks) most = std::max(most, rank.launch_thread_utilization);
  return most;
}

// Of the critical rank; needs the timeline.
double communication_s(const Run& run) {
  double sum = 0;
  for (const Span& span : run.timeline)
    if (span.lane == Lane::Communication) sum += span.end_s - span.start_s;
  return sum;
}

double value_of(const ClaimReading& reading, const Run& run) {
  switch (reading.key) {
    case ClaimKey::StepTime:
      return run.step_time_s;
    case ClaimKey::EpochTime:
      return run.epoch_time_s.value_or(0);
    case ClaimKey::TotalTime:
      return run.total_time_s.value_or(0);
    case ClaimKey::Throughput:
      return run.throughput;
    case ClaimKey::Speedup:
      return run.speedup;
    case ClaimKey::Efficiency:
      return run.efficiency;
    case ClaimKey::GpuUtilization:
      return mean_over_ranks(run, [](const RankStats& rank) { return rank.gpu_utilization; });
    case ClaimKey::CpuUtilization:
      return run.cpu_utilization.value_or(0);
    case ClaimKey::LaunchThreadUtilization:
      return launch_thread(run);
    case ClaimKey::CommunicationShare:
      return communication_s(run) / run.step_time_s;
    case ClaimKey::BreakdownShare:
      break;
  }
  double sum = 0;
  for (const Cause part : reading.parts) sum += run.part_s(part);
  return sum / run.step_time_s;
}

// Keys that a scenario without `data.samples` does not give.
bool needs_data(ClaimKey key) {
  return key == ClaimKey::EpochTime || key == ClaimKey::TotalTime;
}

bool is_time(const ClaimReading& reading) {
  return reading.unit() == ClaimUnit::Seconds;
}

// Value and band at one setting; nothing when a run that it needs cannot run.
Expected<std::optional<ClaimPrediction>> predict_at(const Claim& claim, const ClaimReading& reading,
                                                    const ClaimSetting& setting, ClaimBench& bench) {
  const bool timeline = reading.key == ClaimKey::CommunicationShare;
  const auto of = bench.run(claim, setting, reading.of, timeline);
  if (!of) return tl::unexpected(of.error());
  if ((*of)->not_run) return std::nullopt;
  ClaimPrediction prediction;
  prediction.setting = setting;
  prediction.value = value_of(reading, **of);
  if (reading.is_ratio) {
    const auto over = bench.run(claim, setting, reading.over, timeline);
    if (!over) return tl::unexpected(over.error());
    if ((*over)->not_run) return std::nullopt;
    prediction.value /= value_of(reading, **over);
  }
  if (!(prediction.value > 0) && needs_data(reading.key)) return std::nullopt;
  prediction.low = prediction.value / kClaimTolerance;
  prediction.high = prediction.value * kClaimTolerance;
  if (is_time(reading)) {
    const auto band = bench.band(claim, setting, reading.of);
    if (!band) return tl::unexpected(band.error());
    const double per_step = prediction.value / (*of)->step_time_s;
    prediction.low = std::min(prediction.low, band->low * per_step);
    prediction.high = std::max(prediction.high, band->high * per_step);
  }
  prediction.agrees = agrees(claim.relation, *claim.value(), prediction);
  return prediction;
}

bool agrees_at(const ReadingResult& reading, const ClaimSetting& setting) {
  return std::any_of(reading.predictions.begin(), reading.predictions.end(),
                     [&](const ClaimPrediction& p) { return p.setting == setting && p.agrees; });
}

Verdict verdict_of(std::size_t predictions, std::size_t agreeing) {
  if (predictions == 0) return Verdict::NotCheckable;
  return agreeing > 0 ? Verdict::Supported : Verdict::Contradicted;
}

std::string about(const ReadingResult& reading) {
  return reading.name.empty() ? "" : reading.name + ": ";
}

// "predicted 20.4 min at the default setting, 1.2 to 85 min over all"
std::string range_sentence(const ReadingResult& reading, const Claim& claim) {
  const auto less = [](const ClaimPrediction& a, const ClaimPrediction& b) { return a.value < b.value; };
  const auto [low, high] = std::minmax_element(reading.predictions.begin(), reading.predictions.end(), less);
  const auto count = std::count_if(reading.predictions.begin(), reading.predictions.end(),
                                   [](const ClaimPrediction& p) { return p.agrees; });
  return fmt::format("{}{} at the default setting ({}), {} to {} over all; {} of {} settings agree", about(reading),
                     claim_value_text(reading.predictions.front().value, claim.unit()),
                     reading.predictions.front().agrees ? "agrees" : "does not agree",
                     claim_value_text(low->value, claim.unit()), claim_value_text(high->value, claim.unit()), count,
                     reading.predictions.size());
}

}  // namespace

bool agrees(ClaimRelation relation, double claimed, const ClaimPrediction& prediction) {
  switch (relation) {
    case ClaimRelation::About:
      return claimed >= prediction.low && claimed <= prediction.high;
    case ClaimRelation::Above:
      return prediction.value > claimed;
    case ClaimRelation::Below:
      return prediction.value < claimed;
  }
  return false;
}

Expected<ClaimResult> try_number(const Claim& claim, const ClaimsFile& file, ClaimBench& bench) {
  ClaimResult result;
  result.claim = claim;
  result.tried = claim_settings(file, claim.fixed);
  for (const ClaimReading& reading : claim.readings) {
    ReadingResult of_reading;
    of_reading.name = reading.name;
    for (const ClaimSetting& setting : result.tried) {
      const auto prediction = predict_at(claim, reading, setting, bench);
      if (!prediction) return tl::unexpected(prediction.error());
      if (*prediction) of_reading.predictions.push_back(**prediction);
    }
    const auto agreeing = std::count_if(of_reading.predictions.begin(), of_reading.predictions.end(),
                                        [](const ClaimPrediction& p) { return p.agrees; });
    of_reading.verdict = verdict_of(of_reading.predictions.size(), static_cast<std::size_t>(agreeing));
    if (of_reading.predictions.empty())
      result.evidence.push_back(about(of_reading) + "no setting can run and give this number");
    else
      result.evidence.push_back(range_sentence(of_reading, claim));
    result.readings.push_back(std::move(of_reading));
  }
  const bool all = claim.readings_are == ClaimReadings::Parts;
  for (const ClaimSetting& setting : result.tried) {
    const auto agree = [&](const ReadingResult& reading) { return agrees_at(reading, setting); };
    if (all ? std::all_of(result.readings.begin(), result.readings.end(), agree)
            : std::any_of(result.readings.begin(), result.readings.end(), agree))
      result.agreeing.push_back(setting);
  }
  std::size_t predictions = 0;
  for (const ReadingResult& reading : result.readings) predictions += reading.predictions.size();
  result.verdict = verdict_of(predictions, result.agreeing.size());
  return result;
}

}  // namespace lockstep
