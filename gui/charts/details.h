// The line beside a drawing that tells about what is selected in it, and the words that stand there while nothing is.
#pragma once

#include <QString>
#include <string>

class QLabel;

namespace lockstep::gui {

// `name`: for screen readers. Two lines high, so that nothing moves when words come.
QLabel* make_details(const QString& name);
// `hint` in muted colour where there are no words.
void show_details(QLabel& label, const QString& words, const QString& hint);

// Our texts are UTF-8.
inline QString to_qt(const std::string& text) {
  return QString::fromStdString(text);
}

}  // namespace lockstep::gui
