// `--given`: what is wanted or was measured.
#include <fmt/format.h>

#include "simulator/answers/solve.h"
#include "simulator/base/quantity.h"

namespace lockstep {
namespace {

tl::unexpected<Errors> refused(ErrorKind kind, const std::string& found, std::string message) {
  Error error;
  error.kind = kind;
  error.file = "command line";
  error.key = "--given";
  error.found = found;
  error.message = std::move(message);
  error.allowed = "step_time=, throughput= or efficiency= a value above 0, before it KEY=VALUE: of the scenario";
  error.hint = "efficiency=0.9, or gpus=16:throughput=160img/s";
  return tl::make_unexpected(Errors{error});
}

Expected<double> number_of(Given& given, const std::string& number, const std::string& text) {
  if (given.goal == Goal::Throughput) {
    const auto rate = parse_sample_rate(number);
    if (!rate) return refused(rate.error().front().kind, text, rate.error().front().message);
    if (rate->iterations) return refused(ErrorKind::Unit, text, "a throughput is in samples: 2000img/s");
    given.word = rate->word;
    return rate->per_second;
  }
  const auto value = given.goal == Goal::StepTime ? parse_quantity(number, Unit::Seconds) : parse_share(number);
  if (!value) return refused(value.error().front().kind, text, value.error().front().message);
  return *value;
}

}  // namespace

const char* name_of(Goal goal) {
  constexpr const char* kNames[] = {"step_time", "throughput", "efficiency"};
  return kNames[static_cast<int>(goal)];
}

double Given::of(const Run& run) const {
  if (goal == Goal::StepTime) return run.step_time_s;
  return goal == Goal::Throughput ? run.throughput : run.efficiency;
}

Expected<Given> parse_given(const std::string& text) {
  Given given;
  given.text = text;
  std::string rest = text;
  for (std::size_t colon = rest.find(':'); colon != std::string::npos; colon = rest.find(':')) {
    given.sets.push_back(rest.substr(0, colon));
    rest.erase(0, colon + 1);
    if (given.sets.back().find('=') == std::string::npos)
      return refused(ErrorKind::Syntax, text, fmt::format("`{}` is no KEY=VALUE", given.sets.back()));
  }
  const auto equals = rest.find('=');
  const std::string name = rest.substr(0, equals);
  for (const Goal goal : {Goal::StepTime, Goal::Throughput, Goal::Efficiency}) {
    if (name != name_of(goal)) continue;
    given.goal = goal;
    const auto value = number_of(given, equals == std::string::npos ? "" : rest.substr(equals + 1), text);
    if (!value) return tl::unexpected(value.error());
    if (*value <= 0) return refused(ErrorKind::Range, text, "the given value must be above 0");
    given.value = *value;
    return given;
  }
  return refused(ErrorKind::UnknownKey, text, fmt::format("`{}` is nothing that can be given", name));
}

}  // namespace lockstep
