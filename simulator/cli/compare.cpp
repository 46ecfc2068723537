#include "simulator/answers/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "simulator/base/document.h"
#include "simulator/cli/commands.h"
#include "simulator/cli/prediction_table.h"
#include "simulator/cli/table.h"
#include "simulator/result/json.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t kMostPartsShown = 2;

Json unlike_json(const Comparison& c) {
  Json all = Json::array();
  for (const UnlikeResult& result : c.unlike)
    for (const ScenarioDifference& d : result.keys) {
      Json one = {{"set", result.set}, {"key", d.key}};
      if (!d.value.empty()) one["value"] = d.value;
      if (!d.other.empty()) one["reference"] = d.other;
      all.push_back(std::move(one));
    }
  return all;
}

Json to_json(const Comparison& c) {
  const char* mine = c.against_measured ? "predicted_s" : "step_time_s";
  const char* other = c.against_measured ? "measured_s" : "reference_s";
  Json json = {{"reference", c.reference}, {"rows", Json::array()}};
  for (const ComparedRow& row : c.rows) {
    Json parts = Json::array();
    for (const StepPart& part : row.parts) parts.push_back({{"cause", name_of(part.cause)}, {"seconds", part.seconds}});
    json["rows"].push_back({{"name", row.name},
                            {"set", row.set},
                            {mine, row.step_time_s},
                            {other, row.reference_s},
                            {"error", row.error},
                            {"kind", "step_time"},
                            {"parts", parts}});
  }
  json["unmatched"] = c.unmatched;
  json["differs"] = unlike_json(c);
  json["warnings"] = c.warnings;
  json["summary"] = {{"mean_error", c.mean_error()}, {"worst_error", c.worst_error()}};
  if (c.constant) json["summary"]["null_errors"] = {{"single", c.constant->constant_mean_error}};
  return json;
}

std::string to_csv(const Comparison& c) {
  std::string text = "set,name,step_time_s,reference_s,error\n";
  for (const ComparedRow& row : c.rows)
    text += fmt::format("\"{}\",\"{}\",{},{},{}\n", row.set, row.name, row.step_time_s, row.reference_s, row.error);
  return text;
}

std::string parts_text(const ComparedRow& row, const TimeUnit& unit) {
  std::vector<std::string> shown;
  for (const StepPart& part : row.parts)
    if (shown.size() < kMostPartsShown)
      shown.push_back(fmt::format("{} {:+.3f}", name_of(part.cause), part.seconds / unit.seconds));
  return fmt::format("{}", fmt::join(shown, ", "));
}

std::string to_text(const Comparison& c, const Output& output, bool table_only) {
  double longest = 0;
  for (const ComparedRow& row : c.rows) longest = std::max({longest, row.step_time_s, row.reference_s});
  const TimeUnit unit = step_unit_for(longest);
  std::string text;
  std::string set;
  TextTable table;
  const auto flush = [&] {
    if (table.columns() == 0) return;
    if (!text.empty()) text += '\n';
    text += wrapped(fmt::format("{} against {}", set, c.reference), kColumns, 0) + '\n';
    for (const std::string& line : table.header_lines()) text += heading(line, output) + '\n';
    for (const std::string& line : table.lines()) text += line + '\n';
  };
  for (const ComparedRow& row : c.rows) {
    if (row.set != set) {
      flush();
      set = row.set;
      table = {};
      table.column("row", "", Align::Left);
      table.column(c.against_measured ? "predicted" : "step", unit.name, Align::Right);
      table.column(c.against_measured ? "measured" : "reference", unit.name, Align::Right);
      table.column("error", "%", Align::Right);
      table.column("largest parts", unit.name, Align::Left);
    }
    table.row({row.name, fmt::format("{:.3f}", row.step_time_s / unit.seconds),
               fmt::format("{:.3f}", row.reference_s / unit.seconds), fmt::format("{:+.1f}", row.error * 100),
               parts_text(row, unit)});
  }
  flush();
  if (table_only) return text;
  text += fmt::format("\nMean error {:.1f} %, worst {:.1f} %.\n", c.mean_error() * 100, c.worst_error() * 100);
  for (const std::string& row : c.unmatched) text += wrapped("Only in " + row, kColumns, 2) + '\n';
  return text;
}

std::string in_form(const CompareArguments& arguments, const Comparison& comparison, const Output& output) {
  switch (arguments.common.form) {
    case Form::Json:
      return to_json(comparison).dump(2) + '\n';
    case Form::JsonLines: {
      Json json = {{"type", "result"}};
      json.update(to_json(comparison));
      return json.dump() + '\n';
    }
    case Form::Csv:
      return to_csv(comparison);
    case Form::Text:
      break;
  }
  return to_text(comparison, output, arguments.common.quiet);
}

// Where a document names what it is by other keys than a result has: the first key that tells.
std::string what_it_is(const Json& document) {
  const std::pair<const char*, const char*> kinds[] = {
      {"difference", "an answer of explain"}, {"total_s", "an answer of explain"},   {"given", "an answer of solve"},
      {"measurements", "an answer of solve"}, {"unmatched", "an answer of compare"}, {"error", "an error"}};
  if (!document.is_object() || document.contains("format")) return "";
  for (const auto& [key, what] : kinds)
    if (document.contains(key)) return what;
  return "";
}

Error no_result(const std::string& file, const std::string& what) {
  Error error;
  error.kind = ErrorKind::NotSupported;
  error.file = file;
  error.message = fmt::format("this is {}, not a result", what);
  error.hint = "lockstep predict FILE --json -o RESULT writes a result";
  return error;
}

// One result, or the several of `predict A B --json`, in their order.
Expected<std::vector<NamedResult>> results_of(const std::string& text, const std::string& file) {
  std::vector<NamedResult> results;
  const auto add = [&](const Json& document, const std::string& name,
                       const std::string& its_text) -> tl::expected<void, Errors> {
    if (const std::string what = what_it_is(document); !what.empty())
      return tl::make_unexpected(Errors{no_result(name, what)});
    auto result = result_from_json(its_text, name);
    if (!result) return tl::unexpected(std::move(result.error()));
    results.push_back({name, *std::move(result)});
    return {};
  };
  const Json document = Json::parse(text, nullptr, false);
  const bool several = document.is_object() && document.contains("results") && document["results"].is_array();
  if (!several) {
    if (auto added = add(document, file, text); !added) return tl::unexpected(std::move(added.error()));
    return results;
  }
  for (const Json& part : document["results"]) {
    const bool named = part.is_object() && part.contains("file") && part["file"].is_string();
    const std::string name = named ? fmt::format("{}: {}", file, part["file"].get<std::string>()) : file;
    if (auto added = add(part, name, part.dump()); !added) return tl::unexpected(std::move(added.error()));
  }
  return results;
}

}  // namespace

int run_compare(const CompareArguments& arguments, Output& output) {
  const Form form = arguments.common.form;
  std::vector<NamedResult> results;
  for (const std::string& file : arguments.files) {
    const auto text = read_text_file(file);
    if (!text) return report_errors(text.error(), form, output);
    auto of_file = results_of(*text, file);
    if (!of_file) return report_errors(of_file.error(), form, output);
    std::move(of_file->begin(), of_file->end(), std::back_inserter(results));
  }
  const auto comparison = compare_results(results, arguments.force);
  if (!comparison) return report_errors(comparison.error(), form, output);
  for (const std::string& warning : comparison->warnings)
    output.err << harmless(wrapped("lockstep compare: warning: " + warning, kColumns, 2), output) << '\n';
  if (!write_result(in_form(arguments, *comparison, output), arguments.common, output)) return kRunFailed;
  const bool outside = arguments.fail_above && comparison->worst_error() > *arguments.fail_above;
  return outside ? kOutsideTolerance : kGood;
}

}  // namespace lockstep
