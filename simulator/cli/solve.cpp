#include "simulator/answers/solve.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "simulator/cli/commands.h"
#include "simulator/cli/files.h"
#include "simulator/cli/table.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const Solution& s) {
  Json json = {{"for", s.key}, {"given", s.given.text}};
  if (s.low) {
    json["low"] = *s.low;
    json["high"] = *s.high;
    json["direction"] = s.rises_to_goal ? "at_least" : "at_most";
  }
  json["unit"] = s.unit;
  const bool always = s.answer.id == "solve_always";
  json["no_value"] = !s.low.has_value() && !always;
  if (always) json["every_value"] = true;
  json["reason"] = s.answer.text;
  if (s.baseline) json["baseline"] = s.baseline->text;
  if (s.floor_cause) json["floor_cause"] = *s.floor_cause;
  json["strategy"] = name_of(s.strategy);
  if (s.key != "gpus") json["gpus"] = s.gpus;
  json["monotonic"] = s.monotonic;
  json["meeting"] = Json::array();
  for (const SolveInterval& range : s.meeting) json["meeting"].push_back({range.low, range.high});
  json["samples"] = Json::array();
  for (const SolveSample& one : s.samples)
    json["samples"].push_back({{"value", one.value}, {name_of(s.given.goal), one.reached}, {"meets", one.meets}});
  return json;
}

std::string to_csv(const Solution& s) {
  std::string text = fmt::format("{},{},meets\n", s.key, name_of(s.given.goal));
  for (const SolveSample& one : s.samples) text += fmt::format("{},{},{}\n", one.value, one.reached, one.meets);
  return text;
}

std::string to_text(const Solution& s, bool quiet) {
  if (quiet && s.low)
    return fmt::format("{} {}\n", solve_value_text(s.unit, *s.low), solve_value_text(s.unit, *s.high));
  std::string text = wrapped(s.answer.text, kColumns, 0) + '\n';
  if (s.baseline) text += wrapped(s.baseline->text, kColumns, 0) + '\n';
  if (s.doubt) text += wrapped(s.doubt->text, kColumns, 0) + '\n';
  return text;
}

// --- several measurements ---

Json to_json(const ImpliedValue& one) {
  Json json = to_json(one.solution);
  json.erase("samples");
  json["possible"] = one.possible;
  Json band = Json::object();
  if (one.band_low) band["low"] = *one.band_low;
  if (one.band_high) band["high"] = *one.band_high;
  if (one.possible) json["band"] = band;
  return json;
}

Json to_json(const CommonValue& common) {
  const Solution& first = common.values.front().solution;
  Json json = {{"for", first.key}, {"unit", first.unit}, {"one_value_fits", common.fits}};
  if (common.low) json["low"] = *common.low;
  if (common.high) json["high"] = *common.high;
  if (common.trend != ImpliedTrend::None) json["trend"] = common.trend == ImpliedTrend::Falls ? "falls" : "rises";
  json["reason"] = common.verdict.text;
  json["measurements"] = Json::array();
  for (const ImpliedValue& one : common.values) json["measurements"].push_back(to_json(one));
  return json;
}

std::string to_csv(const CommonValue& common) {
  std::string text = "given,gpus,low,high,band_low,band_high,possible\n";
  const auto cell = [](const std::optional<double>& value) { return value ? fmt::format("{}", *value) : ""; };
  for (const ImpliedValue& one : common.values)
    text += fmt::format("{},{},{},{},{},{},{}\n", one.solution.given.text, one.solution.gpus, cell(one.solution.low),
                        cell(one.solution.high), cell(one.band_low), cell(one.band_high), one.possible);
  return text;
}

std::string to_text(const CommonValue& common, bool quiet) {
  std::string text;
  for (const ImpliedValue& one : common.values)
    if (!quiet) text += to_text(one.solution, false);
  return text + wrapped(common.verdict.text, kColumns, 0) + '\n';
}

template <class Answer>
std::string in_form(const SolveArguments& arguments, const Answer& answer) {
  switch (arguments.common.form) {
    case Form::Json:
      return to_json(answer).dump(2) + '\n';
    case Form::JsonLines: {
      Json json = {{"type", "result"}};
      json.update(to_json(answer));
      return json.dump() + '\n';
    }
    case Form::Csv:
      return to_csv(answer);
    case Form::Text:
      break;
  }
  return to_text(answer, arguments.common.quiet);
}

template <class Answer>
int write_answer(const Expected<Answer>& answer, const SolveArguments& arguments, Output& output) {
  clear_progress(output);
  if (!answer) return report_errors(answer.error(), arguments.common.form, output);
  return write_result(in_form(arguments, *answer), arguments.common, output) ? kGood : kRunFailed;
}

}  // namespace

int run_solve(const SolveArguments& arguments, Output& output) {
  const Form form = arguments.common.form;
  std::vector<Given> givens;
  for (const std::string& text : arguments.givens) {
    auto given = parse_given(text);
    if (!given) return report_errors(given.error(), form, output);
    givens.push_back(*std::move(given));
  }
  const auto text = read_scenario_text(arguments.file, arguments.common.sets, output);
  if (!text) return report_errors(text.error(), form, output);
  const auto inputs = load_inputs(*text);
  if (!inputs) return report_errors(inputs.error(), form, output);
  SolveOptions options;
  options.method = arguments.estimate ? Method::Estimate : Method::Simulate;
  if (!arguments.common.quiet)
    options.progress = [&output](int samples) { show_progress(fmt::format("sample {}", samples), output); };
  if (givens.size() == 1) return write_answer(solve(*inputs, arguments.key, givens[0], options), arguments, output);
  return write_answer(solve_common(*inputs, arguments.key, givens, options), arguments, output);
}

}  // namespace lockstep
