#include "simulator/base/nearest.h"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep {

std::string canonical_name(std::string_view name) {
  std::string out(name);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '_') c = '-';
  }
  return out;
}

// Optimal string alignment: three rows of the usual table, so that swapped neighbours cost 1.
int edit_distance(std::string_view a, std::string_view b) {
  const std::string x = canonical_name(a), y = canonical_name(b);
  std::vector<int> before(y.size() + 1), last(y.size() + 1), row(y.size() + 1);
  for (std::size_t j = 0; j <= y.size(); ++j) last[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= x.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= y.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (x[i - 1] == y[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && x[i - 1] == y[j - 2] && x[i - 2] == y[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[y.size()];
}

std::optional<std::string> nearest(std::string_view name, const std::vector<std::string>& candidates) {
  constexpr std::size_t kLongestName = 64;  // longer text is no mistyped name, and the table would be large
  if (name.empty() || name.size() > kLongestName) return std::nullopt;
  const std::string* best = nullptr;
  int best_distance = 0;
  for (const std::string& candidate : candidates) {
    const int distance = edit_distance(name, candidate);
    const int limit = std::max(1, static_cast<int>(std::max(name.size(), candidate.size()) / 3));
    if (distance <= limit && (best == nullptr || distance < best_distance)) {
      best = &candidate;
      best_distance = distance;
    }
  }
  if (best == nullptr) return std::nullopt;
  return *best;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates) {
  const std::optional<std::string> best = nearest(name, candidates);
  return best ? fmt::format("did you mean `{}`?", *best) : std::string{};
}

}  // namespace lockstep
