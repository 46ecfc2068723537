// The scenarios that come along, as questions to start from: what to try, what to notice, and the answer that was
// predicted when the window was built.
#pragma once

#include <QString>
#include <QStringList>
#include <memory>
#include <vector>

#include "simulator/result/result.h"

namespace lockstep::gui {

struct GalleryCard {
  QString name;      // second-node-10gbe
  QString path;      // of the scenario file
  QString question;  // from the file
  QString setting;   // "ResNet-50 on 2 × 4 A100": model and machine, from the file
  QString to_try;    // one thing to change
  QString to_notice;
  QString try_set;      // the same as --set
  QString answer_path;  // of the stored result; empty where none was made
};

// In the order of the gallery; scenarios without words of their own come last, with their question alone.
std::vector<GalleryCard> gallery_cards();

// nullptr when it is not there or cannot be read.
std::shared_ptr<const Result> stored_answer(const GalleryCard& card);

}  // namespace lockstep::gui
