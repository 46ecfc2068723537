// A run against its twin of the pinned result: how much less or more, and when that says nothing. Pure.
//
// When a difference says nothing: below 0.5 % of the step, or within what the two predictions do not know in common.
// Both share uncertain kernels, hosts and networks; of the ratio of their steps only that is uncertain by which their
// 80 % bands in ln(step) differ, sqrt(|a^2 - b^2|) (docs/cost-models.md: bands add as squares).
#pragma once

#include <QColor>
#include <QString>
#include <vector>

#include "gui/charts/axis.h"
#include "gui/charts/device_words.h"
#include "simulator/answers/scenario_differences.h"

namespace lockstep::gui {

inline constexpr double kSameStep = 0.005;  // of a step

struct PinnedPair {
  const Run* present = nullptr;
  const Run* pinned = nullptr;
  double absolute_s() const { return present->step_time_s - pinned->step_time_s; }
  double relative() const { return present->step_time_s / pinned->step_time_s - 1; }
  bool same_work() const { return present->global_batch == pinned->global_batch; }
  bool unsure = false;  // says nothing, of the step
};

// Runs of the prediction that the pinned result has as well (strategy, GPUs), in its order. Empty without a baseline.
std::vector<PinnedPair> pinned_pairs(const Shown& shown);
// Those to tell first: of each strategy the most GPUs; one GPU without a wrapper where there is nothing else.
std::vector<PinnedPair> largest_pairs(const Shown& shown);

// The rule above. `time_ratio`: present / pinned of a time, or pinned / present of a rate.
bool says_nothing(double time_ratio, const Run& present, const Run& pinned);

// Keys that the two scenarios resolve differently, pinned value -> present value; without the question.
std::vector<ScenarioDifference> changed_keys(const Shown& shown);
// "batch.per_gpu 8 → 16, precision fp32 → fp16", at most so many.
QString changed_text(const std::vector<ScenarioDifference>& keys, std::size_t most = 4);

// A number with its sign, which is a true minus: "−12.4", "+3.10".
QString signed_digits(double value);
QString signed_column(double value);      // for tables and CSV: "+12.40", "-3.100", "0"
QString points_text(double fraction);     // of two percentages: "+12.3 points"
QString signed_percent(double fraction);  // "−8.3 %", one digit as `lockstep compare` prints it

// "DDP on 8 GPUs: 137 ms instead of 151 ms pinned, " and "−9.3 %", and a word where that says nothing or the batch
// changed.
struct PinnedSentence {
  QString text, change, rest;
  double relative = 0;
  bool unsure = false, same_work = true;
  QString plain() const { return text + change + rest; }
};
std::vector<PinnedSentence> pinned_sentences(const Shown& shown);
// "Pinned: a.yaml; changed since: ..."
QString pinned_line(const Shown& shown);

// Colour of a change by its size: grey where it says nothing, plain below 2 % or where neither is better (the step of
// another batch), then green for better and red for worse. Never without the sign in words.
enum class Better { Less, More, Neither };
QColor change_colour(double relative, Better better, bool unsure);

}  // namespace lockstep::gui
