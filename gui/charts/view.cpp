#include "gui/charts/view.h"

#include <QCoreApplication>
#include <algorithm>

namespace lockstep::gui {

std::vector<const Run*> runs_of(const Result& result) {
  std::vector<const Run*> runs;
  for (const Run& run : result.runs)
    if (!run.not_run && run.step_time_s > 0) runs.push_back(&run);
  return runs;
}

QString loaded_name(const Shown& shown, std::size_t index) {
  const std::string& kind = shown.measured[index].result->kind;
  const auto is_same = [&](const MeasuredResult& one) { return one.result->kind == kind; };
  const auto begin = shown.measured.begin();
  QString name = kind == "measured" ? QCoreApplication::translate("lockstep::gui::Views", "measured")
                                    : QCoreApplication::translate("lockstep::gui::Views", "prediction");
  if (std::count_if(begin, shown.measured.end(), is_same) > 1)
    name += QStringLiteral(" %1").arg(std::count_if(begin, begin + static_cast<std::ptrdiff_t>(index) + 1, is_same));
  return name;
}

QString loaded_title(const Shown& shown, std::size_t index) {
  const QString& file = shown.measured[index].name;
  const QString name = loaded_name(shown, index);
  return file.isEmpty() || file.startsWith(name) ? file : QStringLiteral("%1: %2").arg(name, file);
}

}  // namespace lockstep::gui
