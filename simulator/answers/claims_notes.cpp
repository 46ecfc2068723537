#include <fmt/format.h>

#include <algorithm>

#include "simulator/answers/claims.h"

namespace lockstep {
namespace {

std::string key_of(const std::string& set) {
  return set.substr(0, set.find('='));
}

// `batch` and `batch.per_gpu` touch each other, `batch` and `batches` don't.
bool touch(const std::string& a, const std::string& b) {
  const std::string& shorter = a.size() < b.size() ? a : b;
  const std::string& longer = a.size() < b.size() ? b : a;
  return longer.compare(0, shorter.size(), shorter) == 0 &&
         (longer.size() == shorter.size() || longer[shorter.size()] == '.');
}

bool point_sets(const ClaimPoint& point, const std::string& key) {
  return std::any_of(point.sets.begin(), point.sets.end(),
                     [&](const std::string& set) { return touch(key_of(set), key); });
}

bool claim_sets(const Claim& claim, const std::string& key) {
  return point_sets(claim.of, key) ||
         std::any_of(claim.readings.begin(), claim.readings.end(), [&](const ClaimReading& reading) {
           return point_sets(reading.of, key) || (reading.is_ratio && point_sets(reading.over, key));
         });
}

class Notes {
 public:
  Notes(const ClaimsFile& file, std::string set) : file_(file), set_(std::move(set)), key_(key_of(set_)) {}

  std::vector<std::string> take() {
    if (key_ == "gpus" || key_ == "strategy") {
      notes_.push_back(fmt::format("`--set {}` has no effect: every claim says itself {} it speaks of", set_,
                                   key_ == "gpus" ? "how many GPUs" : "which strategy"));
      return std::move(notes_);
    }
    for (const ClaimAxis& axis : file_.axes) overruled(axis);
    std::vector<std::string> ids;
    for (const Claim& claim : file_.claims)
      if (claim_sets(claim, key_)) ids.push_back(claim.id);
    if (!ids.empty())
      notes_.push_back(
          fmt::format("`--set {}` overrules what these claims set themselves: {}", set_, fmt::join(ids, ", ")));
    return std::move(notes_);
  }

 private:
  void overruled(const ClaimAxis& axis) {
    std::vector<std::string> names;
    for (const ClaimAxisValue& value : axis.values)
      if (touch(key_of(value.set), key_)) names.push_back(value.name);
    if (!names.empty())
      notes_.push_back(fmt::format("`--set {}` holds at every setting, whatever `{}` says ({})", set_, axis.name,
                                   fmt::join(names, ", ")));
  }

  const ClaimsFile& file_;
  std::string set_, key_;
  std::vector<std::string> notes_;
};

}  // namespace

std::vector<std::string> claims_notes(const ClaimsFile& file, const std::vector<std::string>& sets) {
  std::vector<std::string> notes;
  for (const std::string& set : sets)
    for (std::string& note : Notes(file, set).take()) notes.push_back(std::move(note));
  return notes;
}

}  // namespace lockstep
