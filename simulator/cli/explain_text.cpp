#include "simulator/cli/explain_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "simulator/base/format.h"
#include "simulator/cli/predict_text.h"
#include "simulator/cli/prediction_table.h"
#include "simulator/cli/table.h"
#include "simulator/result/csv.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

// Pieces shorter than this share of the step, or after so many, stand together in one line of the table.
constexpr double kLeastShare = 0.002;
constexpr std::size_t kMostParts = 12;

std::string seconds_cell(double seconds, const TimeUnit& unit) {
  return fmt::format("{:.3f}", seconds / unit.seconds);
}
std::string percent_cell(double share) {
  return fmt::format("{:.1f}", share * 100);
}

void add_table(const TextTable& table, const Output& output, std::string& text) {
  for (const std::string& line : table.header_lines()) text += heading(line, output) + '\n';
  for (const std::string& line : table.lines()) text += line + '\n';
}

void add_parts(const ExplainedCause& row, double step_s, const TimeUnit& unit, TextTable& table) {
  if (row.parts.size() == 1 && row.parts.front().detail.empty()) return;
  double rest = 0;
  std::size_t shown = 0, left = 0;
  for (const StepPart& part : row.parts) {
    if (shown < kMostParts && part.seconds >= kLeastShare * step_s) {
      ++shown;
      table.row({"  " + part.detail, seconds_cell(part.seconds, unit), percent_cell(part.seconds / step_s), ""});
    } else {
      rest += part.seconds;
      ++left;
    }
  }
  if (shown > 0 && left > 0)
    table.row({fmt::format("  {} shorter", left), seconds_cell(rest, unit), percent_cell(rest / step_s), ""});
}

TextTable run_table(const ExplainedRun& one) {
  const TimeUnit unit = step_unit_for(one.run.step_time_s);
  TextTable table;
  table.column(fmt::format("{} on {}", name_of(one.run.strategy), one.run.gpus), "", Align::Left);
  table.column("time", unit.name, Align::Right);
  table.column("share", "%", Align::Right);
  table.column("the critical GPU was", "", Align::Left);
  for (const ExplainedCause& row : one.rows) {
    table.row({name_of(row.cause), seconds_cell(row.seconds, unit), percent_cell(row.share), row.note});
    add_parts(row, one.run.step_time_s, unit, table);
  }
  table.row({"step", seconds_cell(one.run.step_time_s, unit), percent_cell(1), ""});
  return table;
}

TextTable difference_table(const Explanation& explanation) {
  double dp = 0, ddp = 0;
  for (const DifferenceRow& row : explanation.difference) {
    dp += row.dp_s;
    ddp += row.ddp_s;
  }
  const TimeUnit unit = step_unit_for(std::max(dp, ddp));
  TextTable table;
  table.column("dp against ddp", "", Align::Left);
  for (const char* title : {"dp", "ddp", "dp - ddp"}) table.column(title, unit.name, Align::Right);
  table.column("why", "", Align::Left);
  for (const DifferenceRow& row : explanation.difference)
    table.row({row.cause, seconds_cell(row.dp_s, unit), seconds_cell(row.ddp_s, unit),
               fmt::format("{:+.3f}", row.seconds() / unit.seconds), shortened(row.note, 58)},
              true);
  table.row(
      {"step", seconds_cell(dp, unit), seconds_cell(ddp, unit), fmt::format("{:+.3f}", (dp - ddp) / unit.seconds), ""});
  return table;
}

Json rows_json(const ExplainedRun& one) {
  Json rows = Json::array();
  for (const ExplainedCause& row : one.rows) {
    Json parts = Json::array();
    for (const StepPart& part : row.parts)
      if (!part.detail.empty())
        parts.push_back(
            {{"detail", part.detail}, {"seconds", part.seconds}, {"share", part.seconds / one.run.step_time_s}});
    Json object = {{"cause", name_of(row.cause)}, {"seconds", row.seconds}, {"share", row.share}, {"note", row.note}};
    if (!parts.empty()) object["parts"] = parts;
    rows.push_back(object);
  }
  return rows;
}

Json difference_json(const Explanation& explanation, double dp_step_s) {
  Json rows = Json::array();
  for (const DifferenceRow& row : explanation.difference)
    rows.push_back({{"cause", row.cause},
                    {"dp_s", row.dp_s},
                    {"ddp_s", row.ddp_s},
                    {"seconds", row.seconds()},
                    {"share", row.seconds() / dp_step_s},
                    {"note", row.note}});
  return rows;
}

double step_of(const Explanation& explanation, Strategy strategy) {
  for (const ExplainedRun& one : explanation.runs)
    if (one.run.strategy == strategy) return one.run.step_time_s;
  return 0;
}

}  // namespace

std::string explanation_text(const Explanation& explanation, const Inputs& inputs, const Output& output,
                             bool table_only) {
  std::string text;
  if (!table_only) text += wrapped("Critical path: " + prediction_title(inputs), kColumns, 0) + "\n\n";
  for (std::size_t i = 0; i < explanation.runs.size(); ++i) {
    if (i > 0) text += '\n';
    add_table(run_table(explanation.runs[i]), output, text);
  }
  if (!explanation.difference.empty()) {
    text += '\n';
    add_table(difference_table(explanation), output, text);
  }
  if (table_only) return text;
  text += '\n';
  for (const Sentence& sentence : explanation.sentences) text += wrapped(sentence.text, kColumns, 0) + '\n';
  return text;
}

std::string explanation_json(const Explanation& explanation, bool one_line) {
  const ExplainedRun& focus = explanation.runs[explanation.focus];
  Json json;
  if (one_line) json["type"] = "result";
  json["strategy"] = name_of(focus.run.strategy);
  json["gpus"] = focus.run.gpus;
  json["rows"] = rows_json(focus);
  json["total_s"] = focus.run.step_time_s;
  json["runs"] = Json::array();
  for (const ExplainedRun& one : explanation.runs)
    json["runs"].push_back({{"strategy", name_of(one.run.strategy)},
                            {"gpus", one.run.gpus},
                            {"rows", rows_json(one)},
                            {"total_s", one.run.step_time_s}});
  if (!explanation.difference.empty()) {
    const double dp_s = step_of(explanation, Strategy::Dp);
    json["difference"] = {{"rows", difference_json(explanation, dp_s)},
                          {"total_s", dp_s - step_of(explanation, Strategy::Ddp)}};
  }
  json["sentences"] = Json::array();
  for (const Sentence& sentence : explanation.sentences)
    json["sentences"].push_back({{"id", sentence.id}, {"values", sentence.values}, {"text", sentence.text}});
  return json.dump(one_line ? -1 : 2) + '\n';
}

std::string explanation_csv(const Explanation& explanation) {
  std::string text = "strategy,gpus,cause,detail,seconds,share\n";
  for (const ExplainedRun& one : explanation.runs)
    for (const ExplainedCause& row : one.rows)
      for (const StepPart& part : row.parts)
        text += fmt::format("{},{},{},{},{},{}\n", name_of(one.run.strategy), one.run.gpus, name_of(row.cause),
                            csv_field(part.detail), part.seconds, part.seconds / one.run.step_time_s);
  const double dp_s = step_of(explanation, Strategy::Dp);
  for (const DifferenceRow& row : explanation.difference)
    text += fmt::format("dp-ddp,{},{},,{},{}\n", explanation.runs.front().run.gpus, row.cause, row.seconds(),
                        row.seconds() / dp_s);
  return text;
}

}  // namespace lockstep
