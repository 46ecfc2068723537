// Predictions against measurements, row by row, by the very arithmetic of `lockstep compare`. Pure.
#pragma once

#include <optional>
#include <utility>

#include "gui/charts/device_words.h"
#include "simulator/answers/compare.h"

namespace lockstep::gui {

// Seconds; `row.error` is predicted / measured - 1.
struct ErrorPoint {
  ComparedRow row;
  QString name;  // "DDP ×8"
  Strategy strategy = Strategy::Single;
  int gpus = 1;
  std::optional<std::pair<double, double>> band_s;    // 80 % band of the prediction
  std::optional<std::pair<double, double>> spread_s;  // fastest and slowest measured step
  int samples = 0;                                    // measured steps
  bool within_spread() const;                         // the prediction lies between the fastest and the slowest step
  bool within_band() const;                           // the measured median lies in the band
};

// One prediction against one measurement: rows with the same strategy, GPUs, swept keys and batch per GPU, of one
// family of implementations.
struct ErrorSet {
  QString prediction, measurement;  // their names
  bool calibrated = false;          // the prediction's row of one GPU alone is what it was calibrated with
  Comparison comparison;            // of these rows: mean, worst, constant
  std::vector<ErrorPoint> points;
  QStringList left_out;  // rows that both have and that are not the same thing, with the reason
};

// What is open and every loaded prediction against every loaded measurement. Pairs without any common row are left out.
std::vector<ErrorSet> error_sets(const Shown& shown);

// "measured.json is of another scenario: model.name is resnet18, not resnet50": one for each loaded result that is.
QStringList mismatch_warnings(const Shown& shown);
// Whether a loaded result is one of those; false where nothing is predicted.
bool is_of_another_scenario(const Shown& shown, std::size_t index);
// "measured 2: of another scenario" for each of them, to stand in a chart. Empty: none is.
QString mismatch_line(const Shown& shown);

// "mean error 3.0 %, worst 10.0 %", and what one number for all rows would have been off by.
QString error_sentence(const ErrorSet& set, Devices devices);

}  // namespace lockstep::gui
