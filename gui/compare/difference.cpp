#include "gui/compare/difference.h"

#include <fmt/format.h>

#include <QCoreApplication>
#include <algorithm>
#include <cmath>

#include "gui/app/theme.h"
#include "simulator/base/format.h"

namespace lockstep::gui {
namespace {

constexpr double kSmallChange = 0.02;

QString tr(const char* text) {
  return QCoreApplication::translate("lockstep::gui::Difference", text);
}

QString time_text(double seconds) {
  return QString::fromStdString(format_time(seconds));
}

QString with_minus(const std::string& number) {
  QString text = QString::fromStdString(number);
  if (text.startsWith('-')) text.replace(0, 1, QChar(0x2212));
  return text;
}

// What one band in ln(step) has beyond the other.
double beyond_each_other(double a_end, double a_step, double b_end, double b_step) {
  const double a = std::log(a_end / a_step), b = std::log(b_end / b_step);
  return std::sqrt(std::abs(a * a - b * b));
}

}  // namespace

bool says_nothing(double time_ratio, const Run& present, const Run& pinned) {
  const double change = std::log(time_ratio);
  if (std::abs(change) < std::log1p(kSameStep)) return true;
  if (!present.uncertainty || !pinned.uncertainty) return false;
  const Uncertainty &a = *present.uncertainty, &b = *pinned.uncertainty;
  // A shorter step might be no shorter if the truth lies at the upper ends, a longer one at the lower ends.
  return std::abs(change) < (change < 0 ? beyond_each_other(a.high, present.step_time_s, b.high, pinned.step_time_s)
                                        : beyond_each_other(a.low, present.step_time_s, b.low, pinned.step_time_s));
}

std::vector<PinnedPair> pinned_pairs(const Shown& shown) {
  std::vector<PinnedPair> pairs;
  if (!shown.result || !shown.baseline) return pairs;
  const std::vector<const Run*> pinned = runs_of(*shown.baseline);
  for (const Run* run : runs_of(*shown.result)) {
    const auto twin = std::find_if(pinned.begin(), pinned.end(), [&](const Run* other) {
      return other->strategy == run->strategy && other->gpus == run->gpus && other->point == run->point;
    });
    if (twin == pinned.end()) continue;
    pairs.push_back({run, *twin, says_nothing(run->step_time_s / (*twin)->step_time_s, *run, **twin)});
  }
  return pairs;
}

std::vector<PinnedPair> largest_pairs(const Shown& shown) {
  std::vector<PinnedPair> largest;
  const std::vector<PinnedPair> all = pinned_pairs(shown);
  for (const PinnedPair& pair : all) {
    if (pair.present->strategy == Strategy::Single) continue;
    const auto known = std::find_if(largest.begin(), largest.end(), [&](const PinnedPair& other) {
      return other.present->strategy == pair.present->strategy;
    });
    if (known == largest.end())
      largest.push_back(pair);
    else if (pair.present->gpus >= known->present->gpus)
      *known = pair;
  }
  if (largest.empty() && !all.empty()) largest.push_back(all.back());
  return largest;
}

std::vector<ScenarioDifference> changed_keys(const Shown& shown) {
  if (!shown.result || !shown.baseline) return {};
  auto keys = scenario_differences(shown.baseline->scenario_yaml, shown.result->scenario_yaml);
  keys.erase(std::remove_if(keys.begin(), keys.end(), [](const ScenarioDifference& d) { return d.key == "question"; }),
             keys.end());
  return keys;
}

QString changed_text(const std::vector<ScenarioDifference>& keys, std::size_t most) {
  const auto told = [](const std::string& value) {
    return value.empty() ? tr(QT_TRANSLATE_NOOP("lockstep::gui::Difference", "not set"))
                         : QString::fromStdString(shortened(visible(value), 40));
  };
  QStringList words;
  for (std::size_t i = 0; i < keys.size() && i < most; ++i)
    words << QStringLiteral("%1 %2 → %3")
                 .arg(QString::fromStdString(keys[i].key), told(keys[i].value), told(keys[i].other));
  QString text = words.join(QStringLiteral(", "));
  if (keys.size() > most)
    text += tr(QT_TRANSLATE_NOOP("lockstep::gui::Difference", " and %1 more")).arg(keys.size() - most);
  return text;
}

QString signed_digits(double value) {
  const std::string digits = format_column(std::abs(value));
  return with_minus((value < 0 ? "-" : "+") + digits);
}

QString signed_column(double value) {
  if (value == 0) return QStringLiteral("0");
  return QString::fromStdString((value < 0 ? "-" : "+") + format_column(std::abs(value), 4));
}

QString points_text(double fraction) {
  return tr(QT_TRANSLATE_NOOP("lockstep::gui::Difference", "%1 points")).arg(signed_digits(fraction * 100));
}

QString signed_percent(double fraction) {
  return with_minus(fmt::format("{:+.1f}", fraction * 100)) + QStringLiteral(" %");
}

std::vector<PinnedSentence> pinned_sentences(const Shown& shown) {
  std::vector<PinnedSentence> out;
  const Devices devices = devices_of(shown);
  for (const PinnedPair& pair : largest_pairs(shown)) {
    PinnedSentence one;
    one.relative = pair.relative();
    one.unsure = pair.unsure;
    one.same_work = pair.same_work();
    const QString who =
        pair.present->strategy == Strategy::Single
            ? device_count(pair.present->gpus, devices)
            : tr(QT_TRANSLATE_NOOP("lockstep::gui::Difference", "%1 on %2"))
                  .arg(strategy_name(pair.present->strategy), device_count(pair.present->gpus, devices));
    one.text = tr(QT_TRANSLATE_NOOP("lockstep::gui::Difference", "%1: %2 instead of %3 pinned, "))
                   .arg(who, time_text(pair.present->step_time_s), time_text(pair.pinned->step_time_s));
    one.change = signed_percent(one.relative);
    QStringList rest;
    if (one.unsure)
      rest << (std::abs(std::log1p(one.relative)) < std::log1p(kSameStep)
                   ? tr(QT_TRANSLATE_NOOP("lockstep::gui::Difference", "about the same"))
                   : tr(QT_TRANSLATE_NOOP("lockstep::gui::Difference", "within what both do not know")));
    if (!one.same_work)
      rest << tr(QT_TRANSLATE_NOOP("lockstep::gui::Difference", "throughput %1"))
                  .arg(signed_percent(pair.present->throughput / pair.pinned->throughput - 1));
    if (!rest.isEmpty()) one.rest = QStringLiteral(" (%1)").arg(rest.join(QStringLiteral("; ")));
    out.push_back(std::move(one));
  }
  return out;
}

QString pinned_line(const Shown& shown) {
  if (!shown.baseline) return {};
  QString line =
      (shown.baseline_estimated ? tr(QT_TRANSLATE_NOOP("lockstep::gui::Difference", "Pinned: %1, an estimate"))
                                : tr(QT_TRANSLATE_NOOP("lockstep::gui::Difference", "Pinned: %1")))
          .arg(shown.baseline_name);
  const auto keys = changed_keys(shown);
  line += keys.empty()
              ? tr(QT_TRANSLATE_NOOP("lockstep::gui::Difference", "; nothing was changed since"))
              : tr(QT_TRANSLATE_NOOP("lockstep::gui::Difference", "; changed since: %1")).arg(changed_text(keys));
  if (shown.estimated && !shown.baseline_estimated)
    line +=
        tr(QT_TRANSLATE_NOOP("lockstep::gui::Difference", "; an estimate, without contention, against a simulation"));
  return line;
}

QColor change_colour(double relative, Better better, bool unsure) {
  if (unsure) return theme().muted;
  if (better == Better::Neither || std::abs(relative) < kSmallChange) return theme().text;
  return (relative > 0) == (better == Better::More) ? theme().good : theme().error;
}

}  // namespace lockstep::gui
