#include "simulator/answers/claims.h"

#include <fmt/format.h>

#include <algorithm>

#include "simulator/answers/claims_bench.h"
#include "simulator/base/format.h"

namespace lockstep {
namespace {

// The setting that agrees with most of the claims that were tried at all of them.
void find_best_setting(ClaimsResult& result) {
  const std::vector<ClaimSetting> all = claim_settings(result.file);
  std::vector<const ClaimResult*> comparable;
  for (const ClaimResult& one : result.results)
    if (!one.claim.readings.empty() && one.claim.fixed.empty()) comparable.push_back(&one);
  result.comparable = comparable.size();
  for (const ClaimSetting& setting : all) {
    std::vector<std::string> ids;
    for (const ClaimResult* one : comparable)
      if (std::find(one->agreeing.begin(), one->agreeing.end(), setting) != one->agreeing.end())
        ids.push_back(one->claim.id);
    if (ids.size() <= result.best_ids.size()) continue;
    result.best_setting = setting;
    result.best_ids = std::move(ids);
  }
}

}  // namespace

const char* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::Supported:
      return "supported";
    case Verdict::Contradicted:
      return "contradicted";
    case Verdict::NotCheckable:
      return "not checkable";
  }
  return "?";
}

int ClaimsResult::count(Verdict verdict) const {
  return static_cast<int>(std::count_if(results.begin(), results.end(),
                                        [verdict](const ClaimResult& one) { return one.verdict == verdict; }));
}

std::string claim_value_text(double value, ClaimUnit unit) {
  switch (unit) {
    case ClaimUnit::Seconds:
      return format_time(value);
    case ClaimUnit::Share:
      return format_percent(value);
    case ClaimUnit::Factor:
      return format_factor(value);
    case ClaimUnit::BytesPerSecond:
      return format_rate(value);
  }
  return "?";
}

Expected<ClaimsResult> try_claims(const ClaimsFile& file, const ClaimsOptions& options) {
  ClaimsResult result;
  result.file = file;
  result.notes = claims_notes(file, options.sets);
  ClaimBench bench(file, options);
  if (auto good = bench.check_scenarios(); !good) return tl::unexpected(std::move(good.error()));
  const int total = static_cast<int>(file.claims.size());
  for (const Claim& claim : file.claims) {
    if (options.progress) options.progress(static_cast<int>(result.results.size()), total, claim.id);
    auto one = claim.rule == ClaimRule::None ? try_number(claim, file, bench) : try_rule(claim, file, bench);
    if (!one) return tl::unexpected(std::move(one.error()));
    result.results.push_back(*std::move(one));
  }
  find_best_setting(result);
  return result;
}

}  // namespace lockstep
