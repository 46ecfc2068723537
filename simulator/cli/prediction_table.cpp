#include "simulator/cli/prediction_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "simulator/answers/sentences.h"
#include "simulator/base/format.h"
#include "simulator/cli/output.h"

namespace lockstep {
namespace {

// Epochs and whole runs, by the longest.
TimeUnit unit_for(double largest_s) {
  if (largest_s < 1) return {"ms", 1e-3};
  if (largest_s < 120) return {"s", 1};
  return largest_s < 7200 ? TimeUnit{"min", 60} : TimeUnit{"h", 3600};
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

// What one column of causes adds up, in the order of a step.
using Causes = std::vector<Cause>;

double part_s(const Run& run, const Causes& causes) {
  double sum = 0;
  for (const Cause cause : causes) sum += run.part_s(cause);
  return sum;
}

const Causes& computing() {
  static const Causes causes = {Cause::Forward, Cause::Backward, Cause::Optimizer};
  return causes;
}

// Causes of less than this share of every step get no column.
constexpr double kLeastShare = 0.005;
// A row whose causes shown leave more than this share of the step to `rest` is not explained.
constexpr double kRestShare = 0.05;

class PredictionTable {
 public:
  PredictionTable(const Result& result, bool on_cores) : result_(result), on_cores_(on_cores) {}

  // The causes that explain the rows best within the width, in the order of a step; the others in one column, so that
  // a row adds up. Forward, backward and optimizer share a column where there is no room for all.
  TextTable make() const {
    const auto apart = causes_that_fit({{Cause::Forward}, {Cause::Backward}});
    if (largest_rest(apart) <= kRestShare) return table_with(apart);
    const auto together = causes_that_fit({computing()});
    if (largest_rest(together) <= kRestShare) return table_with(together);
    // The whole run says what an epoch says; a cause says more.
    PredictionTable narrower(result_, on_cores_);
    narrower.epochs_ = false;
    const auto without_epochs = narrower.causes_that_fit({computing()});
    if (largest_rest(without_epochs) < std::min(largest_rest(together), largest_rest(apart)))
      return narrower.table_with(without_epochs);
    return table_with(largest_rest(together) < largest_rest(apart) ? together : apart);
  }

 private:
  static std::string time_cell(double seconds, const TimeUnit& unit) {
    return format_significant(seconds / unit.seconds);
  }

  // Of the steps of a run: nine of ten lie in between.
  static std::string spread_cell(const Run& run, const TimeUnit& unit) {
    if (!run.spread) return "-";
    return time_cell(run.spread->p5, unit) + '-' + time_cell(run.spread->p95, unit);
  }

  std::vector<TableColumn> fixed_columns() const {
    const auto& runs = result_.runs;
    const TimeUnit step = step_unit();
    std::string throughput_unit;
    for (const Run& run : runs)
      if (!run.throughput_unit.empty()) throughput_unit = run.throughput_unit;
    std::vector<TableColumn> columns = {
        {"step", step.name, [=](const Run& r) { return time_cell(r.step_time_s, step); }}};
    if (std::any_of(runs.begin(), runs.end(), [](const Run& r) { return r.spread.has_value(); }))
      columns.push_back({"p5-p95", step.name, [=](const Run& r) { return spread_cell(r, step); }});
    if (result_.kind == "measured")
      columns.push_back({"of", "steps", [](const Run& r) { return fmt::format("{}", r.spread.value_or(Spread{}).n); }});
    columns.insert(
        columns.end(),
        {{throughput_unit.substr(0, throughput_unit.find('/')), "per s",
          [](const Run& r) { return format_significant(r.throughput); }},
         {"speedup", "", [](const Run& r) { return r.speedup > 0 ? format_factor(r.speedup) : std::string("-"); }},
         {"effic.", "%",
          [](const Run& r) { return r.efficiency > 0 ? format_significant(r.efficiency * 100) : std::string("-"); }}});
    if (std::any_of(runs.begin(), runs.end(), [](const Run& r) { return r.epoch_time_s.has_value(); })) {
      const TimeUnit epoch = unit_for(largest(runs, [](const Run& r) { return r.epoch_time_s.value_or(0); }));
      const TimeUnit total = unit_for(largest(runs, [](const Run& r) { return r.total_time_s.value_or(0); }));
      if (epochs_)
        columns.push_back(
            {"epoch", epoch.name, [=](const Run& r) { return time_cell(r.epoch_time_s.value_or(0), epoch); }});
      columns.push_back(
          {"total", total.name, [=](const Run& r) { return time_cell(r.total_time_s.value_or(0), total); }});
    }
    // What is paid for, beside what it gives.
    if (std::any_of(runs.begin(), runs.end(), [](const Run& r) { return r.cost_total.has_value(); })) {
      columns.push_back({"per GPU", throughput_unit.substr(0, throughput_unit.find('/')) + "/s",
                         [](const Run& r) { return format_significant(r.throughput / r.gpus); }});
      columns.push_back(
          {"cost", "epoch", [](const Run& r) { return format_significant(r.cost_per_epoch.value_or(0)); }});
      columns.push_back({"cost", "total", [](const Run& r) { return format_significant(r.cost_total.value_or(0)); }});
    }
    return columns;
  }

  TimeUnit step_unit() const {
    return step_unit_for(largest(result_.runs, [](const Run& r) { return r.step_time_s; }));
  }

  double largest_share(Cause cause) const {
    return largest(result_.runs, [&](const Run& r) { return r.part_s(cause) / r.step_time_s; });
  }
  double largest_loss_share(Cause cause) const {
    const Run& baseline = result_.runs.front();
    if (baseline.not_run) return 0;
    return largest(result_.runs, [&](const Run& r) { return loss_s(r, baseline, cause) / r.step_time_s; });
  }
  double largest_rest(const std::vector<Causes>& shown) const {
    return largest(result_.runs, [&](const Run& r) { return rest_s(r, shown) / r.step_time_s; });
  }
  static double rest_s(const Run& run, const std::vector<Causes>& shown) {
    double rest = run.step_time_s;
    for (const Causes& causes : shown) rest -= part_s(run, causes);
    return rest;
  }

  // Causes worth a column, by their largest share of a step; what is lost against one GPU counts twice, since it is
  // what makes rows differ.
  std::vector<Cause> candidates() const {
    std::vector<std::pair<double, Cause>> weights;
    for (const Cause cause : kCauses)
      if (const double share = largest_share(cause); share >= kLeastShare)
        weights.emplace_back(share + largest_loss_share(cause), cause);
    std::stable_sort(weights.begin(), weights.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<Cause> causes;
    for (const auto& [weight, cause] : weights) causes.push_back(cause);
    return causes;
  }

  // `first`, and of the candidates each that still fits.
  std::vector<Causes> causes_that_fit(const std::vector<Causes>& first) const {
    std::vector<Causes> shown;
    for (const Causes& causes : first)
      if (largest(result_.runs, [&](const Run& r) { return part_s(r, causes) / r.step_time_s; }) >= kLeastShare)
        shown.push_back(causes);
    for (const Cause cause : candidates()) {
      const bool there = std::any_of(first.begin(), first.end(), [&](const Causes& causes) {
        return std::find(causes.begin(), causes.end(), cause) != causes.end();
      });
      if (there) continue;
      shown.push_back({cause});
      if (table_with(shown).width() > kColumns) shown.pop_back();
    }
    return shown;
  }

  TextTable table_with(std::vector<Causes> shown) const {
    std::sort(shown.begin(), shown.end());
    std::vector<TableColumn> columns = fixed_columns();
    const TimeUnit step = step_unit();
    // Behind the efficiency.
    auto at =
        std::find_if(columns.begin(), columns.end(), [](const TableColumn& c) { return c.title == "effic."; }) + 1;
    for (const Causes& causes : shown) {
      const char* title = causes.size() > 1 ? "compute" : title_of(causes.front());
      at = columns.insert(at, {title, step.name,
                               [this, causes, step](const Run& r) { return cause_cell(part_s(r, causes), step); }}) +
           1;
    }
    at = columns.insert(
        at, {"rest", step.name, [this, shown, step](const Run& r) { return cause_cell(rest_s(r, shown), step); }});
    TextTable table;
    table.column("strategy", "", Align::Left);
    table.column(on_cores_ ? "cores" : "GPUs", "", Align::Right);
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

  // Three digits, but none finer than a thousandth of the shortest step: small parts are no better known than that.
  std::string cause_cell(double seconds, const TimeUnit& unit) const {
    if (std::abs(seconds) < 1e-9) return "-";
    const auto decimals = [](double value) { return 2 - static_cast<int>(std::floor(std::log10(value))); };
    const double value = seconds / unit.seconds;
    const int finest = 1 + decimals(shortest_step_s() / unit.seconds);
    if (decimals(std::abs(value)) < finest) return format_significant(value);
    return fmt::format("{:.{}f}", value, std::max(0, finest));
  }
  double shortest_step_s() const {
    return 1 / largest(result_.runs, [](const Run& r) { return 1 / r.step_time_s; });
  }

  const Result& result_;
  bool on_cores_;
  bool epochs_ = true;  // a column for the time of one epoch
};

}  // namespace

TimeUnit step_unit_for(double longest_s) {
  if (longest_s < 1e-3) return {"us", 1e-6};
  return longest_s < 10 ? TimeUnit{"ms", 1e-3} : TimeUnit{"s", 1};
}

TextTable prediction_table(const Result& result, bool on_cores) {
  return PredictionTable(result, on_cores).make();
}

}  // namespace lockstep
