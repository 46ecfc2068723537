#include "gui/compare/error_rows.h"

#include <fmt/format.h>

#include <QCoreApplication>
#include <algorithm>

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

ErrorSet set_of(const Source& prediction, const Source& measurement, Devices devices) {
  ErrorSet set;
  set.prediction = prediction.name;
  set.measurement = measurement.name;
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

QString error_sentence(const ErrorSet& set, Devices devices) {
  const Comparison& c = set.comparison;
  if (c.rows.empty())
    return tr(QT_TRANSLATE_NOOP("lockstep::gui::Errors", "%1 against %2: no row is the same thing on both sides."))
        .arg(set.prediction, set.measurement);
  QString text = tr(QT_TRANSLATE_NOOP("lockstep::gui::Errors", "%1 against %2: mean error %3, worst %4."))
                     .arg(set.prediction, set.measurement, percent(c.mean_error()), percent(c.worst_error()));
  if (!c.constant) return text;
  const QString form =
      devices == Devices::Cores
          ? tr(QT_TRANSLATE_NOOP("lockstep::gui::Errors",
                                 " Over the %1 rows beyond one core %2 on average; one core's step taken for all of "
                                 "them would be off by %3."))
          : tr(QT_TRANSLATE_NOOP("lockstep::gui::Errors",
                                 " Over the %1 rows beyond one GPU %2 on average; one GPU's step taken for all of them "
                                 "would be off by %3."));
  return text +
         form.arg(c.constant->rows).arg(percent(c.constant->mean_error), percent(c.constant->constant_mean_error));
}

}  // namespace lockstep::gui
