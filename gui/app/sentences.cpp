#include "gui/app/sentences.h"

#include <QCoreApplication>

#include "simulator/answers/catalogue.h"

namespace lockstep::gui {

QString text_of(const Sentence& sentence) {
  const auto text = sentence_in(sentence, [](const std::string& english) {
    return QCoreApplication::translate("lockstep::gui::Sentences", english.c_str()).toStdString();
  });
  return QString::fromStdString(text.value_or(sentence.text));
}

}  // namespace lockstep::gui
