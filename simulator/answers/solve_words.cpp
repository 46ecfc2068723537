#include "simulator/answers/solve_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "simulator/answers/catalogue.h"
#include "simulator/answers/sentences.h"
#include "simulator/base/format.h"
#include "simulator/base/quantity.h"
#include "topologies/rates.h"

namespace lockstep {
namespace {

// NCCL reaches 0.92 of a line that bounds it (topologies/rates.cpp).
constexpr double kLeastShareOfLine = 0.9;

// What a value of a key is, after "with"; {} is the value and its unit.
const std::map<std::string, std::string>& phrases() {
  static const std::map<std::string, std::string> texts = {
      {"batch.per_gpu", "a batch of {} per {device}"},
      {"batch.global", "a global batch of {}"},
      {"accumulate.steps", "{} micro-steps"},
      {"host.factor", "a host factor of {}"},
      {"ddp.bucket_cap", "a bucket cap of {}"},
      {"ddp.first_bucket", "a first bucket of {}"},
      {"topology.override.nvlink.rate", "{} of NVLink per {device}"},
      {"topology.override.pcie.rate", "{} per PCIe slot"},
      {"topology.override.host.rate", "{} of host memory per node"},
      {"topology.override.nic.rate", "{} per NIC"},
      {"topology.override.uplink.rate", "{} per PCIe uplink"},
      {"topology.override.wan.rate", "{} per wide-area line"},
      {"topology.override.nvlink.latency", "{} more latency per NVLink crossing"},
      {"topology.override.pcie.latency", "{} more latency per PCIe crossing"},
      {"topology.override.host.latency", "{} more latency per crossing of host memory"},
      {"topology.override.nic.latency", "a network latency of {}"},
      {"topology.override.uplink.latency", "{} more latency per crossing of a PCIe uplink"},
      {"topology.override.wan.latency", "a wide-area latency of {}"},
      {"topology.gpus_per_node", "{} {device}s used per node"},
      {"model.image", "images {} pixels wide"},
      {"model.sequence", "{} tokens per sample"},
      {"noise.jitter.sigma", "a jitter of {}"},
  };
  return texts;
}

void replace(std::string& text, const std::string& what, const std::string& by) {
  if (const std::size_t at = text.find(what); at != std::string::npos) text.replace(at, what.size(), by);
}

// Two values of one unit: "0.98 to 1.5 GB/s".
std::string range_text(const std::string& unit, std::optional<double> low, std::optional<double> high) {
  const auto text = [&](double value) { return solve_value_text(unit, value); };
  if (!low && !high) return "any value";
  if (!low) return "up to " + text(*high);
  if (!high) return text(*low) + " or more";
  std::string first = text(*low), second = text(*high);
  const std::size_t space = first.find(' ');
  if (space != std::string::npos && second.size() > second.find(' ') &&
      first.substr(space) == second.substr(second.find(' ')))
    first.erase(space);
  return first + " to " + second;
}

}  // namespace

std::string solve_value_text(const std::string& unit, double value) {
  struct Scale {
    double factor;
    const char* name;
  };
  const auto scaled = [value](const std::vector<Scale>& scales) {
    for (const Scale& scale : scales)
      if (value >= scale.factor) return format_significant(value / scale.factor, 4) + ' ' + scale.name;
    return format_significant(value / scales.back().factor, 4) + ' ' + scales.back().name;
  };
  if (unit == "B/s") return scaled({{1e12, "TB/s"}, {1e9, "GB/s"}, {1e6, "MB/s"}, {1e3, "kB/s"}});
  if (unit == "B") return scaled({{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}, {1, "B"}});
  if (unit == "s")
    return value == 0 ? "0 s" : scaled({{3600, "h"}, {60, "min"}, {1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}});
  return value >= 1e4 && value == std::floor(value) ? format_count(static_cast<std::int64_t>(value))
                                                    : format_significant(value, 4);
}

std::string SolveWords::device() const {
  return inputs_.topology.node.gpu.vendor == "cpu" ? "core" : "GPU";
}

bool SolveWords::by_neighbours() const {
  return solution_.unit.empty() && solution_.low && *solution_.high - *solution_.low == 1;
}

std::string SolveWords::subject() const {
  if (solution_.strategy == Strategy::Single) return "one " + device();
  const std::string name = make_sentence("solve_subject", {{"strategy", name_of(solution_.strategy)}}).text;
  if (solution_.key == "gpus") return name;
  return fmt::format("{} on {} {}{}", name, solution_.gpus, device(), solution_.gpus == 1 ? "" : "s");
}

std::string SolveWords::with(double value) const {
  if (solution_.key == "gpus") return fmt::format("{} {}{}", text(value), device(), value == 1 ? "" : "s");
  const auto found = phrases().find(solution_.key);
  std::string phrase = found == phrases().end() ? solution_.key + " = {}" : found->second;
  if (value == 1) replace(phrase, "micro-steps", "micro-step");
  replace(phrase, "{device}", device());
  replace(phrase, "{}", text(value));
  return phrase;
}

std::string SolveWords::goal(double value) const {
  switch (solution_.given.goal) {
    case Goal::StepTime:
      return "a step of " + format_time(value);
    case Goal::Efficiency:
      return "an efficiency of " + format_percent(value);
    case Goal::Throughput:
      break;
  }
  return fmt::format("{} {}/s", format_significant(value), inputs_.model.sample_unit);
}

std::map<std::string, std::string> SolveWords::about(std::map<std::string, std::string> values) const {
  values["device"] = device() == "core" ? "core" : "gpu";
  values["key"] = solution_.key == "gpus" ? "number of " + device() + "s" : solution_.key;
  values["the_key"] = (solution_.key == "gpus" ? "the " : "") + values["key"];
  values["strategy"] = name_of(solution_.strategy);
  values["subject"] = values["who"] = subject();
  if (solution_.strategy == Strategy::Single) values["who"].front() = 'O';  // at the start of a sentence
  values["goal"] = goal(solution_.given.value);
  return values;
}

Sentence SolveWords::crossing(double present, std::optional<double> now) const {
  const bool up = solution_.rises_to_goal;
  const double low = *solution_.low, high = *solution_.high;
  const bool countable = solution_.key == "gpus" || solution_.key == "accumulate.steps";
  std::map<std::string, std::string> values = about({{"with", with(up ? high : low)},
                                                     {"value", text(up ? high : low)},
                                                     {"beyond", text(up ? low : high)},
                                                     {"low", text(low)},
                                                     {"high", text(high)},
                                                     {"fewer", countable ? "fewer" : "less"},
                                                     {"present", with(present)}});
  values["border"] = make_sentence(by_neighbours() ? "solve_border_whole" : "solve_border", values).text;
  values["reached"] = now ? goal(*now) : "";
  values["now"] = make_sentence(now ? "solve_now" : "solve_now_not_run", values).text;
  const bool only_one = !up && by_neighbours() && low <= 1;  // nothing is below
  return make_sentence(up ? "solve_at_least" : only_one ? "solve_only" : "solve_at_most", std::move(values));
}

Sentence SolveWords::always() const {
  return make_sentence("solve_always", about({{"from", text(solution_.samples.front().value)},
                                              {"to", text(solution_.samples.back().value)}}));
}

// Where not the line but what NCCL makes of it over sockets bounds the best rate; else empty.
std::string SolveWords::ceiling(double best) const {
  const std::string prefix = "topology.override.";
  Topology t = inputs_.topology;
  const bool rate = solution_.key == prefix + "nic.rate" || solution_.key == prefix + "wan.rate";
  if (!rate || !t.fabric || t.nodes_for(solution_.gpus) < 2) return "";
  t.overrides[solution_.key.substr(prefix.size())] = best;
  const double reached = tcp_rate(t).rate;
  const bool bound = reached > 0 && reached < kLeastShareOfLine * nics_of(t).rate;
  if (!bound) return "";
  const double window = t.fabric->wide_area() ? wide_area_rate(t) : 0;
  const bool by_window = window > 0 && reached >= window;
  return ' ' + make_sentence(by_window ? "solve_ceiling_window" : "solve_ceiling",
                             {{"rate", text(reached)}, {"window", quantity_text(t.fabric->window, Unit::Bytes)}})
                   .text;
}

Sentence SolveWords::none(const SolveSample& best, const SolvePredictions::Closer& closer) const {
  std::map<std::string, std::string> values = about({{"from", text(solution_.samples.front().value)},
                                                     {"to", text(solution_.samples.back().value)},
                                                     {"with", with(best.value)},
                                                     {"value", text(best.value)},
                                                     {"best", goal(best.reached)},
                                                     {"ceiling", ceiling(best.value)},
                                                     {"step_time_s", digits(closer.run.step_time_s)}});
  const auto loss = largest_loss(closer.run, closer.single);
  if (!loss) return make_sentence("solve_none_computing", std::move(values));
  values["cause"] = name_of(loss->cause);
  values["loss_s"] = digits(loss->seconds);
  return make_sentence("solve_none", std::move(values));
}

Sentence SolveWords::fed() const {
  return make_sentence("solve_fed", about({}));
}

Sentence SolveWords::doubt() const {
  if (!solution_.low) return make_sentence("solve_not_monotonic_none", about({}));
  std::vector<std::string> ranges;
  for (const SolveInterval& range : solution_.meeting)
    ranges.push_back(range.low == range.high ? text(range.low) : range_text(solution_.unit, range.low, range.high));
  return make_sentence("solve_not_monotonic",
                       about({{"ranges", ranges.empty() ? "none" : fmt::format("{}", fmt::join(ranges, ", "))}}));
}

// --- several measurements ---

namespace {

// "16 GPUs imply 3.02 GB/s (2.41 to 3.77 GB/s)"
std::string implied_text(const ImpliedValue& one, const Inputs& inputs, bool by_gpus) {
  const Solution& s = one.solution;
  const std::string who = by_gpus ? SolveWords(s, inputs).subject() : "`" + s.given.text + "`";
  if (!one.possible) return who + " fits no value";
  const std::string band = range_text(s.unit, one.band_low, one.band_high);
  if (!s.low) return fmt::format("{} implies {}", who, band);
  return fmt::format("{} implies {} ({})", who, solve_value_text(s.unit, s.rises_to_goal ? *s.high : *s.low), band);
}

}  // namespace

void add_common_verdict(CommonValue& common, const Inputs& inputs) {
  const Solution& first = common.values.front().solution;
  const bool by_gpus = std::all_of(common.values.begin() + 1, common.values.end(), [&](const ImpliedValue& one) {
    return one.solution.gpus != (&one - 1)->solution.gpus;
  });
  std::vector<std::string> implied;
  for (const ImpliedValue& one : common.values) implied.push_back(implied_text(one, inputs, by_gpus));
  std::map<std::string, std::string> values = {
      {"key", first.key},
      {"all", common.values.size() == 2 ? "both" : fmt::format("all {}", common.values.size())},
      {"implied", fmt::format("{}", fmt::join(implied, ", "))},
      {"common", range_text(first.unit, common.low, common.high)}};
  if (common.fits) {
    common.verdict = make_sentence("solve_fits", std::move(values));
    return;
  }
  const bool falls = common.trend == ImpliedTrend::Falls;
  values["trend"] = common.trend == ImpliedTrend::None
                        ? ""
                        : make_sentence(by_gpus ? (falls ? "solve_falls_with_gpus" : "solve_rises_with_gpus")
                                                : (falls ? "solve_falls" : "solve_rises"),
                                        {})
                              .text;
  common.verdict = make_sentence("solve_fits_not", std::move(values));
}

}  // namespace lockstep
