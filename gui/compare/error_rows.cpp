#include "gui/compare/error_rows.h"

#include <fmt/format.h>

#include <QCoreApplication>
#include <algorithm>
#include <cmath>

#include "scenarios/reader.h"
#include "simulator/base/format.h"

namespace lockstep::gui {
namespace {

constexpr std::size_t kMostKeysTold = 6;

QString tr(const char* text) {
  return QCoreApplication::translate("lockstep::gui::Errors", text);
}

QString percent(double fraction) {
  return QString::fromStdString(fmt::format("{:.1f} %", fraction * 100));
}

struct Source {
  QString name;
  const Result* result;
};

ErrorPoint point_of(const ComparedRow& row, const Run& predicted, const Run& measured, Devices devices) {
  ErrorPoint point;
  point.row = row;
  point.name = run_name(predicted, devices);
  for (const auto& [key, value] : predicted.point)
    point.name += QStringLiteral(", %1=%2").arg(QString::fromStdString(key), QString::fromStdString(value));
  point.strategy = predicted.strategy;
  point.gpus = predicted.gpus;
  if (predicted.uncertainty) point.band_s = {predicted.uncertainty->low, predicted.uncertainty->high};
  for (const Samples& repeat : measured.samples)
    for (const double step_s : repeat.step_times_s) {
      if (!point.spread_s) point.spread_s = {step_s, step_s};
      point.spread_s->first = std::min(point.spread_s->first, step_s);
      point.spread_s->second = std::max(point.spread_s->second, step_s);
      ++point.samples;
    }
  return point;
}

bool is_calibrated(const Result& prediction) {
  const auto read = read_scenario_with_origins(prediction.scenario_yaml, "scenario");
  return read && read->scenario.calibrate_single_gpu.has_value();
}

// What one number for all rows would do: of the rows besides that of one device without a wrapper, which DDP ×1 is not.
QString constant_form(Devices devices, std::size_t rows) {
  if (rows == 1)
    return devices == Devices::Cores
               ? tr(QT_TRANSLATE_NOOP("lockstep::gui::Errors",
                                      "The 1 row besides 1 core alone is off by %1; one core's step taken for it would "
                                      "be off by %2."))
               : tr(QT_TRANSLATE_NOOP(
                     "lockstep::gui::Errors",
                     "The 1 row besides 1 GPU alone is off by %1; one GPU's step taken for it would be "
                     "off by %2."));
  const QString form =
      devices == Devices::Cores
          ? tr(QT_TRANSLATE_NOOP("lockstep::gui::Errors",
                                 "Over the %1 rows besides 1 core alone %2 on average; one core's step taken for all "
                                 "of them would be off by %3."))
          : tr(QT_TRANSLATE_NOOP("lockstep::gui::Errors",
                                 "Over the %1 rows besides 1 GPU alone %2 on average; one GPU's step taken for all of "
                                 "them would be off by %3."));
  return form.arg(rows);
}

// All rows, without that which the prediction was calibrated with.
std::vector<const ComparedRow*> rows_that_tell(const ErrorSet& set) {
  std::vector<const ComparedRow*> rows;
  for (std::size_t i = 0; i < set.comparison.rows.size(); ++i)
    if (!set.calibrated || set.points[i].strategy != Strategy::Single) rows.push_back(&set.comparison.rows[i]);
  return rows;
}

ErrorSet set_of(const Source& prediction, const Source& measurement, Devices devices) {
  ErrorSet set;
  set.prediction = prediction.name;
  set.measurement = measurement.name;
  set.calibrated = is_calibrated(*prediction.result);
  const std::string name = prediction.name.toStdString(), other = measurement.name.toStdString();
  set.comparison = compare_pair({name, *prediction.result}, {other, *measurement.result});
  std::vector<ComparedRow> rows;
  std::vector<std::pair<QString, QStringList>> reasons;  // in the order of rows
  const auto leave_out = [&](const QString& reason, const QString& run) {
    auto at = std::find_if(reasons.begin(), reasons.end(), [&](const auto& one) { return one.first == reason; });
    if (at == reasons.end()) at = reasons.insert(reasons.end(), {reason, {}});
    at->second << run;
  };
  for (const ComparedRow& row : set.comparison.rows) {
    const Run& predicted = prediction.result->runs[row.run];
    const Run& measured = measurement.result->runs[row.reference_run];
    if (row.mixed) {
      leave_out(
          tr(QT_TRANSLATE_NOOP("lockstep::gui::Errors", "%1 was measured, %2 predicted"))
              .arg(QString::fromStdString(measured.implementation), QString::fromStdString(predicted.implementation)),
          run_name(predicted, devices));
    } else if (!row.same_batch()) {
      leave_out(tr(QT_TRANSLATE_NOOP("lockstep::gui::Errors", "a batch of %1 was measured, %2 predicted"))
                    .arg(row.reference_batch)
                    .arg(row.per_gpu_batch),
                run_name(predicted, devices));
    } else {
      rows.push_back(row);
      set.points.push_back(point_of(row, predicted, measured, devices));
    }
  }
  for (const auto& [reason, runs] : reasons)
    set.left_out << QStringLiteral("%1 (%2)").arg(runs.join(QStringLiteral(", ")), reason);
  set.comparison.rows = std::move(rows);
  set.comparison.constant = constant_errors(set.comparison.rows, *measurement.result);
  return set;
}

QString mismatch_of(const QString& name, const Result& loaded, const Result& present) {
  if (loaded.scenario_yaml.empty())
    return tr(QT_TRANSLATE_NOOP("lockstep::gui::Errors",
                                "%1 does not say of what scenario it is: it may be of another model or machine"))
        .arg(name);
  const auto keys = unlike_keys(loaded, present, loaded.kind == "measured");
  if (keys.empty()) return {};
  const auto told = [](const std::string& value) {
    return value.empty() ? tr(QT_TRANSLATE_NOOP("lockstep::gui::Errors", "not set"))
                         : QString::fromStdString(shortened(visible(value), 40));
  };
  QStringList words;
  for (std::size_t i = 0; i < keys.size() && i < kMostKeysTold; ++i)
    words << tr(QT_TRANSLATE_NOOP("lockstep::gui::Errors", "%1 is %2, not %3"))
                 .arg(QString::fromStdString(keys[i].key), told(keys[i].value), told(keys[i].other));
  if (keys.size() > kMostKeysTold)
    words << tr(QT_TRANSLATE_NOOP("lockstep::gui::Errors", "and %1 more")).arg(keys.size() - kMostKeysTold);
  return tr(QT_TRANSLATE_NOOP("lockstep::gui::Errors", "%1 is of another scenario: %2"))
      .arg(name, words.join(QStringLiteral("; ")));
}

}  // namespace

bool ErrorPoint::within_spread() const {
  return spread_s && row.step_time_s >= spread_s->first && row.step_time_s <= spread_s->second;
}

bool ErrorPoint::within_band() const {
  return band_s && row.reference_s >= band_s->first && row.reference_s <= band_s->second;
}

std::vector<ErrorSet> error_sets(const Shown& shown) {
  std::vector<Source> predictions, measurements;
  if (shown.result)
    predictions.push_back({shown.estimated ? tr(QT_TRANSLATE_NOOP("lockstep::gui::Errors", "The estimate"))
                                           : tr(QT_TRANSLATE_NOOP("lockstep::gui::Errors", "This scenario")),
                           shown.result.get()});
  for (const MeasuredResult& one : shown.measured)
    (one.result->kind == "measured" ? measurements : predictions).push_back({one.name, one.result.get()});
  const Devices devices = devices_of(shown);
  std::vector<ErrorSet> sets;
  for (const Source& measurement : measurements)
    for (const Source& prediction : predictions) {
      ErrorSet set = set_of(prediction, measurement, devices);
      if (!set.points.empty() || !set.left_out.empty()) sets.push_back(std::move(set));
    }
  return sets;
}

QStringList mismatch_warnings(const Shown& shown) {
  QStringList warnings;
  if (!shown.result) return warnings;
  for (const MeasuredResult& one : shown.measured)
    if (const QString text = mismatch_of(one.name, *one.result, *shown.result); !text.isEmpty()) warnings << text;
  return warnings;
}

bool is_of_another_scenario(const Shown& shown, std::size_t index) {
  const MeasuredResult& one = shown.measured[index];
  return shown.result && !mismatch_of(one.name, *one.result, *shown.result).isEmpty();
}

QString mismatch_line(const Shown& shown) {
  QStringList words;
  for (std::size_t i = 0; i < shown.measured.size(); ++i)
    if (is_of_another_scenario(shown, i))
      words << tr(QT_TRANSLATE_NOOP("lockstep::gui::Errors", "%1: of another scenario")).arg(loaded_name(shown, i));
  return words.join(QStringLiteral("; "));
}

QString error_sentence(const ErrorSet& set, Devices devices) {
  const Comparison& c = set.comparison;
  if (c.rows.empty())
    return tr(QT_TRANSLATE_NOOP("lockstep::gui::Errors", "%1 against %2: no row is the same thing on both sides."))
        .arg(set.prediction, set.measurement);
  const std::vector<const ComparedRow*> counted = rows_that_tell(set);
  if (counted.empty())
    return tr(QT_TRANSLATE_NOOP("lockstep::gui::Errors",
                                "%1 against %2: only the row that calibrates is on both sides; its error is 0 by "
                                "construction."))
        .arg(set.prediction, set.measurement);
  double mean = 0, worst = 0;
  for (const ComparedRow* row : counted) {
    mean += std::abs(row->error) / static_cast<double>(counted.size());
    worst = std::max(worst, std::abs(row->error));
  }
  const bool besides = counted.size() < c.rows.size();
  const QString text =
      tr(besides ? QT_TRANSLATE_NOOP("lockstep::gui::Errors",
                                     "%1 against %2: mean error over the rows besides the calibrated one %3, worst %4.")
                 : QT_TRANSLATE_NOOP("lockstep::gui::Errors", "%1 against %2: mean error %3, worst %4."))
          .arg(set.prediction, set.measurement, percent(mean), percent(worst));
  if (!c.constant) return text;
  return text + ' ' +
         constant_form(devices, c.constant->rows)
             .arg(percent(c.constant->mean_error), percent(c.constant->constant_mean_error));
}

}  // namespace lockstep::gui
