#include "simulator/answers/claims_trial.h"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep {

ClaimTrial::ClaimTrial(const Claim& claim, const ClaimsFile& file, ClaimBench& bench)
    : claim_(claim), file_(file), bench_(bench) {
  result_.claim = claim;
  std::vector<std::string> names;
  for (const ClaimAxis& axis : file.axes) names.push_back(axis.name);
  defaults_ = claim_settings(file, names);
}

Expected<ClaimResult> ClaimTrial::run() {
  if (auto done = decide(); !done) return tl::unexpected(std::move(done.error()));
  result_.tried = std::move(tried_);
  if (result_.verdict == Verdict::Supported) result_.agreeing = result_.tried;
  return std::move(result_);
}

ClaimTrial::Done ClaimTrial::decide() {
  switch (claim_.rule) {
    case ClaimRule::Overlap:
      return overlap();
    case ClaimRule::HostGather:
      return host_gather();
    case ClaimRule::LinkRate:
      return link_rate();
    case ClaimRule::OtherBackend:
      return other_backend();
    case ClaimRule::LargeModel:
      return large_model();
    case ClaimRule::EqualShares:
      return equal_shares();
    case ClaimRule::Timeout:
      return timeout();
    case ClaimRule::DeviceIds:
      return device_ids();
    case ClaimRule::NoSync:
      return no_sync();
    case ClaimRule::ZeroGrad:
      return zero_grad();
    case ClaimRule::None:
      break;
  }
  return {};
}

Expected<const Run*> ClaimTrial::run_of(const ClaimSetting& setting, const std::vector<std::string>& more,
                                        bool timeline) {
  ClaimPoint point = claim_.of;
  point.sets.insert(point.sets.end(), more.begin(), more.end());
  return bench_.run(claim_, setting, point, timeline);
}

std::string ClaimTrial::point_name() const {
  return fmt::format("{} on {} GPU{}", claim_.of.strategy == Strategy::Dp ? "DataParallel" : "DDP", claim_.of.gpus,
                     claim_.of.gpus == 1 ? "" : "s");
}

void ClaimTrial::part(const std::string& name, Verdict verdict) {
  ReadingResult part;
  part.name = name;
  part.verdict = verdict;
  result_.readings.push_back(std::move(part));
}

void ClaimTrial::conclude() {
  const auto has = [&](Verdict verdict) {
    return std::any_of(result_.readings.begin(), result_.readings.end(),
                       [&](const ReadingResult& one) { return one.verdict == verdict; });
  };
  result_.verdict = has(Verdict::Contradicted)   ? Verdict::Contradicted
                    : has(Verdict::NotCheckable) ? Verdict::NotCheckable
                                                 : Verdict::Supported;
}

bool ClaimTrial::cannot_run(const Run& run) {
  if (!run.not_run) return false;
  say(fmt::format("{} cannot run: {}", point_name(), *run.not_run));
  result_.verdict = Verdict::NotCheckable;
  return true;
}

Expected<ClaimResult> try_rule(const Claim& claim, const ClaimsFile& file, ClaimBench& bench) {
  return ClaimTrial(claim, file, bench).run();
}

}  // namespace lockstep
