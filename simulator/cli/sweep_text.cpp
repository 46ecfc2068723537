#include "simulator/cli/sweep_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "simulator/base/format.h"
#include "simulator/cli/prediction_table.h"
#include "simulator/cli/table.h"

namespace lockstep {
namespace {

struct SweepColumn {
  std::string title, unit;
  std::function<std::string(const Run&)> cell;
};

std::vector<SweepColumn> columns_of(const std::vector<Run>& runs) {
  double longest_s = 0;
  std::string throughput_unit;
  for (const Run& run : runs) {
    longest_s = std::max(longest_s, run.step_time_s);
    if (!run.throughput_unit.empty()) throughput_unit = run.throughput_unit;
  }
  const std::string samples = throughput_unit.substr(0, throughput_unit.find('/'));
  const TimeUnit step = step_unit_for(longest_s);
  std::vector<SweepColumn> columns = {
      {"step", step.name, [=](const Run& r) { return format_significant(r.step_time_s / step.seconds); }}};
  if (std::any_of(runs.begin(), runs.end(), [](const Run& r) { return r.spread.has_value(); }))
    columns.push_back({"p5-p95", step.name, [=](const Run& r) {
                         if (!r.spread) return std::string("-");
                         return format_significant(r.spread->p5 / step.seconds) + '-' +
                                format_significant(r.spread->p95 / step.seconds);
                       }});
  columns.insert(columns.end(), {{samples, "per s", [](const Run& r) { return format_significant(r.throughput); }},
                                 {"speedup", "", [](const Run& r) { return format_factor(r.speedup); }},
                                 {"effic.", "%", [](const Run& r) { return format_significant(r.efficiency * 100); }}});
  if (std::any_of(runs.begin(), runs.end(), [](const Run& r) { return r.cost_total.has_value(); })) {
    columns.push_back(
        {"per GPU", samples + "/s", [](const Run& r) { return format_significant(r.throughput / r.gpus); }});
    columns.push_back({"cost", "epoch", [](const Run& r) { return format_significant(r.cost_per_epoch.value_or(0)); }});
    columns.push_back({"cost", "total", [](const Run& r) { return format_significant(r.cost_total.value_or(0)); }});
  }
  return columns;
}

std::string value_at(const Run& run, const std::string& key) {
  const auto found = run.point.find(key);
  return found == run.point.end() ? "" : found->second;
}

}  // namespace

std::string sweep_table(const std::vector<Run>& runs, const std::vector<std::string>& keys, const Output& output) {
  const std::vector<SweepColumn> columns = columns_of(runs);
  TextTable table;
  for (const std::string& key : keys) table.column(key, "", Align::Left);
  table.column("strategy", "", Align::Left);
  table.column("GPUs", "", Align::Right);
  for (const SweepColumn& column : columns) table.column(column.title, column.unit, Align::Right);
  for (const Run& run : runs) {
    std::vector<std::string> cells;
    for (const std::string& key : keys) cells.push_back(value_at(run, key));
    cells.push_back(name_of(run.strategy));
    cells.push_back(fmt::format("{}", run.gpus));
    if (run.not_run) {
      cells.push_back("not run: " + *run.not_run);
    } else {
      for (const SweepColumn& column : columns) cells.push_back(column.cell(run));
    }
    table.row(std::move(cells), run.not_run.has_value());
  }
  std::string text;
  for (const std::string& line : table.header_lines()) text += heading(line, output) + '\n';
  for (const std::string& line : table.lines()) text += line + '\n';
  return text;
}

std::string progress_bar(std::size_t done, std::size_t total, std::size_t begun, double elapsed_s) {
  constexpr std::size_t kWidth = 30;
  const std::size_t filled = total == 0 ? kWidth : kWidth * done / total;
  std::string text =
      fmt::format("[{}{}] {}/{} points", std::string(filled, '='), std::string(kWidth - filled, ' '), done, total);
  if (done > begun && done < total)
    text += fmt::format(", {:.0f} s left",
                        elapsed_s * static_cast<double>(total - done) / static_cast<double>(done - begun));
  return text;
}

}  // namespace lockstep
