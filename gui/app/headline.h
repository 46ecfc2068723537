// The answer in few words: which of a result's sentences stand on top, which behind "more".
#pragma once

#include <QString>
#include <QStringList>

#include "simulator/result/result.h"

namespace lockstep::gui {

struct Headline {
  QString main;      // speed-up and efficiency
  QString why;       // the largest loss, or what else limits
  QStringList more;  // doubts, notes, comparisons
};
Headline headline(const Result& result);

// Of a lever: "input.memory=pinned", "217 ms, +14.9 %".
QString lever_effect(const Lever& lever);

}  // namespace lockstep::gui
