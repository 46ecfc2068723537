// The answer in few words: which of a result's sentences stand on top, which behind "more".
#pragma once

#include <QString>
#include <QStringList>

#include "simulator/result/result.h"

namespace lockstep::gui {

struct Headline {
  QString main;      // speed-up and efficiency
  QString why;       // what cannot run; the largest loss, or what else limits
  QString warning;   // what `why` begins with where something cannot run as it stands
  QStringList more;  // doubts, notes, comparisons
};
Headline headline(const Result& result);

// Of a lever: "217 ms, throughput +14.9 %".
QString lever_effect(const Lever& lever);
// The same under lever_title: "217 ms, +14.9 %".
QString lever_short(const Lever& lever);
// "What would help DataParallel:", of the run that the levers were tried for.
QString lever_title(const Result& result);

}  // namespace lockstep::gui
