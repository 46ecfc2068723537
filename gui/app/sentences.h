// The sentences of an answer in the person's language: by their id and values, from the engine's catalogue.
#pragma once

#include <QString>

#include "simulator/result/result.h"

namespace lockstep::gui {

// Its own text where the catalogue does not know it (a result of another version).
QString text_of(const Sentence& sentence);

}  // namespace lockstep::gui
