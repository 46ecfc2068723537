// Judges a Chrome trace by the rules of its format; shared with the tests of the command line.
#pragma once

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::testing {

// Empty when complete events of each pid and tid nest or are disjoint; else a description of the first that does not.
inline std::string nesting_problem(const nlohmann::json& trace) {
  using Times = std::pair<long long, long long>;  // ns; the format carries three decimals of a us
  std::map<std::pair<int, int>, std::vector<Times>> threads;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    const long long start = std::llround(event["ts"].get<double>() * 1000);
    const long long length = std::llround(event["dur"].get<double>() * 1000);
    if (length < 0) return "negative duration: " + event.dump();
    threads[{event["pid"].get<int>(), event["tid"].get<int>()}].push_back({start, start + length});
  }
  for (auto& [thread, spans] : threads) {
    std::sort(spans.begin(), spans.end(), [](const Times& a, const Times& b) {
      return a.first != b.first ? a.first < b.first : a.second > b.second;
    });
    std::vector<long long> open;
    for (const auto& [start, end] : spans) {
      while (!open.empty() && open.back() <= start) open.pop_back();
      if (!open.empty() && end > open.back())
        return "pid " + std::to_string(thread.first) + " tid " + std::to_string(thread.second) + " at " +
               std::to_string(start) + " ns";
      open.push_back(end);
    }
  }
  return "";
}

}  // namespace lockstep::testing
