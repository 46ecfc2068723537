#include "hwrunner/launch/pinning.h"

#include <fmt/format.h>
#include <sched.h>

namespace lockstep {

std::vector<int> allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(static_cast<std::size_t>(core), &set)) cores.push_back(core);
  return cores;
}

std::vector<std::vector<int>> cores_for(int processes, int cores_each, const std::vector<int>& allowed) {
  const auto each = static_cast<std::size_t>(cores_each), count = static_cast<std::size_t>(processes);
  if (each * count > allowed.size()) return {};
  std::vector<std::vector<int>> cores;
  for (std::size_t i = 0; i < count; ++i) {
    const auto first = allowed.begin() + static_cast<std::ptrdiff_t>(i * each);
    cores.emplace_back(first, first + static_cast<std::ptrdiff_t>(each));
  }
  return cores;
}

std::string core_list(const std::vector<int>& cores) {
  std::string text;
  for (std::size_t i = 0; i < cores.size();) {
    std::size_t last = i;
    while (last + 1 < cores.size() && cores[last + 1] == cores[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += last == i ? fmt::format("{}", cores[i]) : fmt::format("{}-{}", cores[i], cores[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace lockstep
