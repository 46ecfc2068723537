#include "simulator/cli/sweep_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "simulator/base/format.h"
#include "simulator/cli/prediction_table.h"
#include "simulator/cli/table.h"

namespace lockstep {
namespace {

struct SweepColumn {
  std::string title, unit;
  std::function<std::string(const Run&)> cell;
};

// What may be left out where room is short; CSV and JSON have it all.
enum class Room { Ample, NoRates, NoSpread };

void add_costs(const std::vector<Run>& runs, Room room, std::vector<SweepColumn>& columns) {
  const auto paid = std::find_if(runs.begin(), runs.end(), [](const Run& r) { return r.cost_total.has_value(); });
  if (paid == runs.end()) return;
  if (room == Room::Ample)
    columns.push_back(
        {"per GPU", samples_of(*paid) + "/s", [](const Run& r) { return format_column(r.throughput / r.gpus); }});
  columns.push_back({"cost", "epoch", [](const Run& r) { return money_cell(r.cost_per_epoch); }});
  columns.push_back({"cost", "total", [](const Run& r) { return money_cell(r.cost_total); }});
}

std::vector<SweepColumn> columns_of(const std::vector<Run>& runs, Room room) {
  const auto ran = std::find_if(runs.begin(), runs.end(), [](const Run& r) { return !r.not_run; });
  if (ran == runs.end()) return {{"step", "", [](const Run&) { return std::string(); }}};
  double longest_s = 0;
  for (const Run& run : runs) longest_s = std::max(longest_s, run.step_time_s);
  const TimeUnit step = step_unit_for(longest_s);
  std::vector<SweepColumn> columns = {
      {"step", step.name, [=](const Run& r) { return format_column(r.step_time_s / step.seconds); }}};
  const bool spread = std::any_of(runs.begin(), runs.end(), [](const Run& r) { return r.spread.has_value(); });
  if (spread && room != Room::NoSpread)
    columns.push_back({"p5-p95", step.name, [=](const Run& r) {
                         if (!r.spread) return std::string("-");
                         return format_column(r.spread->p5 / step.seconds) + '-' +
                                format_column(r.spread->p95 / step.seconds);
                       }});
  columns.insert(columns.end(), {{samples_of(*ran), "per s", [](const Run& r) { return format_column(r.throughput); }},
                                 {"speedup", "", [](const Run& r) { return format_factor_column(r.speedup); }},
                                 {"effic.", "%", [](const Run& r) { return format_column(r.efficiency * 100); }}});
  add_costs(runs, room, columns);
  if (any_too_large(runs)) columns.push_back({"memory", "", memory_cell});
  return columns;
}

std::string value_at(const Run& run, const std::string& key) {
  const auto found = run.point.find(key);
  return found == run.point.end() ? "" : found->second;
}

// Keys with a column each, and what a column is headed.
struct KeyColumns {
  std::vector<std::string> keys;
  std::vector<std::pair<std::string, std::string>> titles;  // two lines
};

// The shortest ends of dotted names that tell them apart; of links two words, as `nic.rate`.
std::string short_title(const std::string& key, const std::vector<std::string>& keys) {
  std::size_t at = key.rfind('.');
  const auto ends_so = [&](const std::string& other) {
    const std::string end = key.substr(at);
    return other != key && other.size() >= end.size() && other.compare(other.size() - end.size(), end.size(), end) == 0;
  };
  while (at != std::string::npos && at != 0 && std::any_of(keys.begin(), keys.end(), ends_so))
    at = key.rfind('.', at - 1);
  const std::string link = ".override.";
  if (const std::size_t found = key.find(link); found != std::string::npos && at != std::string::npos)
    at = std::min(at, found + link.size() - 1);
  return at == std::string::npos ? key : key.substr(at + 1);
}

// In two lines, at the dot or underscore nearest to the middle.
std::pair<std::string, std::string> in_two_lines(const std::string& title) {
  std::size_t best = std::string::npos;
  const auto off_middle = [&](std::size_t at) {
    const std::size_t twice = 2 * at + 2;
    return twice > title.size() ? twice - title.size() : title.size() - twice;
  };
  for (std::size_t i = 0; i + 1 < title.size(); ++i)
    if ((title[i] == '.' || title[i] == '_') && (best == std::string::npos || off_middle(i) < off_middle(best)))
      best = i;
  if (best == std::string::npos) return {title, ""};
  return {title.substr(0, best + 1), title.substr(best + 1)};
}

KeyColumns whole_titles(const std::vector<std::string>& keys) {
  KeyColumns columns{keys, {}};
  for (const std::string& key : keys) columns.titles.emplace_back(key, "");
  return columns;
}

KeyColumns short_titles(const std::vector<std::string>& keys) {
  KeyColumns columns{keys, {}};
  for (const std::string& key : keys) columns.titles.push_back(in_two_lines(short_title(key, keys)));
  return columns;
}

// "topology.fabric=own, seed=1"
std::string settings(const Run& run, const std::vector<std::string>& keys) {
  std::vector<std::string> parts;
  for (const std::string& key : keys) parts.push_back(key + "=" + value_at(run, key));
  return fmt::format("{}", fmt::join(parts, ", "));
}

// `numbers`: of the rows' settings, in a column of their own; empty: without.
TextTable make_table(const std::vector<Run>& runs, const KeyColumns& key_columns,
                     const std::vector<std::size_t>& numbers, Room room = Room::Ample) {
  const std::vector<SweepColumn> columns = columns_of(runs, room);
  TextTable table;
  if (!numbers.empty()) table.column("set", "", Align::Right);
  for (const auto& [first, second] : key_columns.titles) table.column(first, second, Align::Left);
  table.column("strategy", "", Align::Left);
  table.column("GPUs", "", Align::Right);
  for (const SweepColumn& column : columns)
    table.column(column.title, column.unit, column.title == "memory" ? Align::Left : Align::Right);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Run& run = runs[i];
    std::vector<std::string> cells;
    if (!numbers.empty()) cells.push_back(fmt::format("{}", numbers[i]));
    for (const std::string& key : key_columns.keys) cells.push_back(value_at(run, key));
    cells.push_back(name_of(run.strategy));
    cells.push_back(fmt::format("{}", run.gpus));
    if (run.not_run) {
      cells.push_back("not run: " + *run.not_run);
    } else {
      for (const SweepColumn& column : columns) cells.push_back(column.cell(run));
    }
    table.row(std::move(cells), run.not_run.has_value());
  }
  return table;
}

// Keys whose values do not fit beside the numbers: each combination of them has a number, explained below the table.
std::string numbered_table(const std::vector<Run>& runs, const std::vector<std::string>& keys, const Output& output) {
  std::map<std::string, std::size_t> known;
  std::vector<std::size_t> numbers;
  std::string legend;
  for (const Run& run : runs) {
    const auto [at, added] = known.try_emplace(settings(run, keys), known.size() + 1);
    numbers.push_back(at->second);
    if (added) legend += wrapped(fmt::format("set {}: {}", at->second, at->first), kColumns, 4) + '\n';
  }
  TextTable table = make_table(runs, {}, numbers);
  for (const Room room : {Room::NoRates, Room::NoSpread})
    if (table.width() > kColumns) table = make_table(runs, {}, numbers, room);
  return table_text(table, output) + legend;
}

}  // namespace

std::string sweep_table(const std::vector<Run>& runs, const std::vector<std::string>& keys, const Output& output) {
  const TextTable whole = make_table(runs, whole_titles(keys), {});
  if (whole.width() <= kColumns || runs.empty()) return table_text(whole, output);
  // What is the same in all rows needs no column.
  std::vector<std::string> same, varied;
  for (const std::string& key : keys) {
    const bool equal = std::all_of(runs.begin(), runs.end(),
                                   [&](const Run& run) { return value_at(run, key) == value_at(runs.front(), key); });
    (equal ? same : varied).push_back(key);
  }
  const std::string in_all =
      same.empty() ? "" : wrapped("in all rows: " + settings(runs.front(), same), kColumns, 4) + '\n';
  for (const KeyColumns& columns : {whole_titles(varied), short_titles(varied)})
    if (const TextTable table = make_table(runs, columns, {}); table.width() <= kColumns)
      return in_all + table_text(table, output);
  return in_all + numbered_table(runs, varied, output);
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
