#include "simulator/cli/predict_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "simulator/base/format.h"
#include "simulator/cli/table.h"

namespace lockstep {
namespace {

struct TimeUnit {
  const char* name;
  double seconds;
};

// One unit for a column: its largest value stays below 1000 where units allow.
TimeUnit unit_for(double largest_s) {
  constexpr TimeUnit kUnits[] = {{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"min", 60}, {"h", 3600}};
  constexpr double kUpTo_s[] = {1e-3, 10, 600, 36000};
  for (std::size_t i = 0; i < std::size(kUpTo_s); ++i)
    if (largest_s < kUpTo_s[i]) return kUnits[i];
  return kUnits[4];
}

template <class Get>
double largest(const std::vector<Run>& runs, Get get) {
  double most = 0;
  for (const Run& run : runs)
    if (!run.not_run) most = std::max(most, get(run));
  return most;
}

const char* title_of(Cause cause) {
  switch (cause) {
    case Cause::Input:
      return "input";
    case Cause::CopyToDevice:
      return "copy in";
    case Cause::Scatter:
      return "scatter";
    case Cause::Replicate:
      return "replicate";
    case Cause::Forward:
      return "forward";
    case Cause::Gather:
      return "gather";
    case Cause::Backward:
      return "backward";
    case Cause::GradientReduce:
      return "reduce";
    case Cause::BucketCopies:
      return "buckets";
    case Cause::BufferBroadcast:
      return "buffers";
    case Cause::Contention:
      return "contend";
    case Cause::WaitForPeers:
      return "peers";
    case Cause::ExposedCommunication:
      return "exposed";
    case Cause::HostBound:
      return "host";
    case Cause::Optimizer:
      return "optim.";
    case Cause::Other:
      return "other";
  }
  return "?";
}

// One column: title, unit, and a run's cell.
struct TableColumn {
  std::string title, unit;
  std::function<std::string(const Run&)> cell;
};

class PredictionTable {
 public:
  explicit PredictionTable(const Result& result) : result_(result) {}

  TextTable make() const {
    std::vector<TableColumn> columns = fixed_columns();
    // The largest causes that fit, in the order of a step; the others in one column, so that a row adds up.
    std::vector<Cause> shown;
    for (const Cause cause : causes_by_size()) {
      shown.push_back(cause);
      if (table_with(columns, shown).width() > kColumns) {
        shown.pop_back();
        break;
      }
    }
    return table_with(columns, shown);
  }

 private:
  static std::string time_cell(double seconds, const TimeUnit& unit) {
    return format_significant(seconds / unit.seconds);
  }

  std::vector<TableColumn> fixed_columns() const {
    const auto& runs = result_.runs;
    const TimeUnit step = step_unit();
    std::string throughput_unit;
    for (const Run& run : runs)
      if (!run.throughput_unit.empty()) throughput_unit = run.throughput_unit;
    std::vector<TableColumn> columns = {
        {"step", step.name, [=](const Run& r) { return time_cell(r.step_time_s, step); }},
        {"throughput", throughput_unit, [](const Run& r) { return format_significant(r.throughput); }},
        {"speed-up", "", [](const Run& r) { return format_factor(r.speedup); }},
        {"effic.", "%", [](const Run& r) { return format_significant(r.efficiency * 100); }}};
    if (std::any_of(runs.begin(), runs.end(), [](const Run& r) { return r.epoch_time_s.has_value(); })) {
      const TimeUnit epoch = unit_for(largest(runs, [](const Run& r) { return r.epoch_time_s.value_or(0); }));
      const TimeUnit total = unit_for(largest(runs, [](const Run& r) { return r.total_time_s.value_or(0); }));
      columns.push_back(
          {"epoch", epoch.name, [=](const Run& r) { return time_cell(r.epoch_time_s.value_or(0), epoch); }});
      columns.push_back(
          {"total", total.name, [=](const Run& r) { return time_cell(r.total_time_s.value_or(0), total); }});
    }
    return columns;
  }

  TimeUnit step_unit() const {
    return unit_for(largest(result_.runs, [](const Run& r) { return r.step_time_s; }));
  }

  // Causes that take 0.5 % of some step, by their largest share.
  std::vector<Cause> causes_by_size() const {
    std::vector<std::pair<double, Cause>> sizes;
    for (const Cause cause : kCauses)
      sizes.emplace_back(largest(result_.runs, [&](const Run& r) { return r.part_s(cause) / r.step_time_s; }), cause);
    std::stable_sort(sizes.begin(), sizes.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<Cause> causes;
    for (const auto& [share, cause] : sizes)
      if (share >= 0.005) causes.push_back(cause);
    return causes;
  }

  TextTable table_with(const std::vector<TableColumn>& fixed, std::vector<Cause> causes) const {
    std::sort(causes.begin(), causes.end());
    std::vector<TableColumn> columns = fixed;
    const TimeUnit step = step_unit();
    auto at = columns.begin() + 4;
    for (const Cause cause : causes)
      at = columns.insert(
               at, {title_of(cause), step.name, [=](const Run& r) { return cause_cell(r.part_s(cause), step); }}) +
           1;
    at = columns.insert(at, {"rest", step.name, [=](const Run& r) {
                               double rest = r.step_time_s;
                               for (const Cause cause : causes) rest -= r.part_s(cause);
                               return cause_cell(rest, step);
                             }});
    TextTable table;
    table.column("strategy", "", Align::Left);
    table.column("GPUs", "", Align::Right);
    for (const TableColumn& column : columns) table.column(column.title, column.unit, Align::Right);
    for (const Run& run : result_.runs) {
      std::vector<std::string> cells = {name_of(run.strategy), fmt::format("{}", run.gpus)};
      if (run.not_run) {
        cells.push_back("not run: " + *run.not_run);
        table.row(std::move(cells), true);
        continue;
      }
      for (const TableColumn& column : columns) cells.push_back(column.cell(run));
      table.row(std::move(cells));
    }
    return table;
  }

  // Parts are shown to the digits that the step has.
  static std::string cause_cell(double seconds, const TimeUnit& unit) {
    return std::abs(seconds) < 1e-9 ? "-" : format_significant(seconds / unit.seconds);
  }

  const Result& result_;
};

void add_sentences(const Result& result, std::string& text) {
  for (const Sentence& sentence : result.answer.sentences)
    if (sentence.id != "note" && sentence.id != "best_lever") text += wrapped(sentence.text, kColumns, 0) + '\n';
}

void add_levers(const Result& result, const Output& output, std::string& text) {
  if (result.answer.levers.empty()) return;
  text += '\n';
  for (const Sentence& sentence : result.answer.sentences)
    if (sentence.id == "best_lever") text += wrapped(sentence.text, kColumns, 0) + '\n';
  TextTable table;
  table.column("what would help", "as --set", Align::Left);
  table.column("step", "ms", Align::Right);
  table.column("throughput", "%", Align::Right);
  for (const Lever& lever : result.answer.levers)
    table.row({lever.set, format_significant(lever.step_time_s * 1e3), "+" + format_significant(lever.gain * 100)});
  for (const std::string& line : table.header_lines()) text += heading(line, output) + '\n';
  for (const std::string& line : table.lines()) text += line + '\n';
}

void add_notes(const Result& result, std::string& text) {
  bool first = true;
  for (const Sentence& sentence : result.answer.sentences) {
    if (sentence.id != "note") continue;
    if (first) text += '\n';
    first = false;
    text += wrapped("Note: " + sentence.text, kColumns, 6) + '\n';
  }
}

}  // namespace

std::string prediction_title(const Inputs& inputs) {
  const Scenario& s = inputs.scenario();
  std::vector<std::string> options;
  const ModelOptions& o = s.model_options;
  if (o.image) options.push_back(fmt::format("image {}", *o.image));
  if (o.classes) options.push_back(fmt::format("{} classes", *o.classes));
  if (o.stem) options.push_back(*o.stem + " stem");
  if (o.sequence) options.push_back(fmt::format("sequence {}", *o.sequence));
  std::string title = s.model_name;
  if (!options.empty()) title += fmt::format(" ({})", fmt::join(options, ", "));
  title += fmt::format(" on {}, {}, ", inputs.topology.name, name_of(s.precision));
  title += s.per_gpu_batch ? fmt::format("{} {} per GPU", *s.per_gpu_batch, inputs.model.sample_unit)
                           : fmt::format("{} {} in all", *s.global_batch, inputs.model.sample_unit);
  if (s.accumulate_steps > 1) title += fmt::format(", {} micro-steps", s.accumulate_steps);
  return title;
}

std::string prediction_text(const Result& result, const Inputs& inputs, const Output& output, bool table_only) {
  std::string text;
  const Scenario& s = inputs.scenario();
  if (!table_only) {
    if (!s.question.empty()) text += wrapped(s.question, kColumns, 0) + '\n';
    const auto network = result.fidelity.find("network");
    const bool estimated = network != result.fidelity.end() && network->second == "estimated";
    text +=
        wrapped(fmt::format("{}: {}", estimated ? "Estimated" : "Predicted", prediction_title(inputs)), kColumns, 0);
    text += "\n\n";
  }
  const TextTable table = PredictionTable(result).make();
  for (const std::string& line : table.header_lines()) text += heading(line, output) + '\n';
  for (const std::string& line : table.lines()) text += line + '\n';
  if (table_only) return text;
  text += '\n';
  add_sentences(result, text);
  add_levers(result, output, text);
  add_notes(result, text);
  return text;
}

}  // namespace lockstep
