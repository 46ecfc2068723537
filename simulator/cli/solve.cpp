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
  json["no_value"] = !s.low.has_value();
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
  if (quiet && s.low) return fmt::format("{} {}\n", solve_value_text(s, *s.low), solve_value_text(s, *s.high));
  std::string text = wrapped(s.answer.text, kColumns, 0) + '\n';
  if (s.baseline) text += wrapped(s.baseline->text, kColumns, 0) + '\n';
  if (s.doubt) text += wrapped(s.doubt->text, kColumns, 0) + '\n';
  return text;
}

std::string in_form(const SolveArguments& arguments, const Solution& solution) {
  switch (arguments.common.form) {
    case Form::Json:
      return to_json(solution).dump(2) + '\n';
    case Form::JsonLines: {
      Json json = {{"type", "result"}};
      json.update(to_json(solution));
      return json.dump() + '\n';
    }
    case Form::Csv:
      return to_csv(solution);
    case Form::Text:
      break;
  }
  return to_text(solution, arguments.common.quiet);
}

}  // namespace

int run_solve(const SolveArguments& arguments, Output& output) {
  const Form form = arguments.common.form;
  const auto given = parse_given(arguments.given);
  if (!given) return report_errors(given.error(), form, output);
  const auto text = read_scenario_text(arguments.file, arguments.common.sets, output);
  if (!text) return report_errors(text.error(), form, output);
  const auto inputs = load_inputs(*text);
  if (!inputs) return report_errors(inputs.error(), form, output);
  SolveOptions options;
  options.method = arguments.estimate ? Method::Estimate : Method::Simulate;
  if (!arguments.common.quiet)
    options.progress = [&output](int samples) { show_progress(fmt::format("sample {}", samples), output); };
  const auto solution = solve(*inputs, arguments.key, *given, options);
  clear_progress(output);
  if (!solution) return report_errors(solution.error(), form, output);
  return write_result(in_form(arguments, *solution), arguments.common, output) ? kGood : kRunFailed;
}

}  // namespace lockstep
