#include "gui/app/headline.h"

#include <QCoreApplication>
#include <QRegularExpression>
#include <algorithm>
#include <array>
#include <string_view>

#include "gui/app/sentences.h"
#include "gui/app/theme.h"
#include "gui/charts/device_words.h"
#include "simulator/answers/sentences.h"
#include "simulator/base/format.h"

namespace lockstep::gui {
namespace {

template <std::size_t N>
bool is_one_of(const std::string& id, const std::array<std::string_view, N>& ids) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

constexpr std::array<std::string_view, 3> kMain = {"speedup", "speedup_one", "single"};
constexpr std::array<std::string_view, 9> kWhy = {"largest_loss",          "largest_loss_strong", "slower_kernels",
                                                  "slower_kernels_strong", "small_loss",          "host_bound",
                                                  "loader_bound",          "loader_in_process",   "more_is_slower"};

constexpr std::string_view kUnfit = "does_not_fit";

// A number and its unit stay on one line.
QString joined_units(QString text) {
  static const QRegularExpression gap(QStringLiteral("(\\d) (?=\\S)"));
  return text.replace(gap, QStringLiteral("\\1\u00a0"));
}

}  // namespace

Headline headline(const Result& result) {
  Headline out;
  QStringList main, why, warnings;
  for (const Sentence& sentence : result.answer.sentences) {
    const QString text = joined_units(text_of(sentence));
    if (is_one_of(sentence.id, kMain))
      main << text;
    else if (sentence.id == kUnfit)
      warnings << text;
    else if (is_one_of(sentence.id, kWhy) && why.size() < 2)
      why << text;
    else if (sentence.id != "best_lever" && sentence.id != "no_lever")  // the levers stand beside it
      out.more << text;
  }
  for (const Run& run : result.runs)
    if (run.not_run)
      out.more << QCoreApplication::translate("lockstep::gui::Headline", "%1 on %2 cannot run: %3")
                      .arg(strategy_name(run.strategy), device_count(run.gpus, devices_of(result)),
                           QString::fromStdString(*run.not_run));
  out.main = main.join(' ');
  out.warning = warnings.join(' ');
  out.why = (warnings + why).join(' ');
  return out;
}

QString lever_effect(const Lever& lever) {
  return QCoreApplication::translate("lockstep::gui::Headline", "%1, throughput +%2")
      .arg(QString::fromStdString(format_time(lever.step_time_s)), QString::fromStdString(format_percent(lever.gain)));
}

QString lever_short(const Lever& lever) {
  return QStringLiteral("%1, +%2").arg(QString::fromStdString(format_time(lever.step_time_s)),
                                       QString::fromStdString(format_percent(lever.gain)));
}

QString lever_title(const Result& result) {
  const auto focus = focus_run(result.runs);
  if (!focus || result.runs[*focus].strategy == Strategy::Single)
    return QCoreApplication::translate("lockstep::gui::Headline", "What would help (step, throughput):");
  return QCoreApplication::translate("lockstep::gui::Headline", "What would help %1 (step, throughput):")
      .arg(result.runs[*focus].strategy == Strategy::Dp ? QStringLiteral("DataParallel")
                                                        : strategy_name(result.runs[*focus].strategy));
}

}  // namespace lockstep::gui
