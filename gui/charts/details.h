// What views that draw themselves share: the line that tells about what is selected, with the words that stand there
// while nothing is, and the heading of their pictures.
#pragma once

#include <QString>
#include <string>

class QLabel;
class QPainter;
class QRectF;

namespace lockstep::gui {

// `name`: for screen readers. Two lines high, so that nothing moves when words come.
QLabel* make_details(const QString& name);
// `hint` in muted colour where there are no words.
void show_details(QLabel& label, const QString& words, const QString& hint);

// In the upper left corner of a picture; returns its base line.
double draw_heading(QPainter& painter, const QRectF& picture, const QString& words);

// Our texts are UTF-8.
inline QString to_qt(const std::string& text) {
  return QString::fromStdString(text);
}

}  // namespace lockstep::gui
