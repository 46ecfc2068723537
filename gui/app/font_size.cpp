#include "gui/app/font_size.h"

#include <QApplication>
#include <QSettings>
#include <QWidget>
#include <algorithm>
#include <vector>

namespace lockstep::gui {
namespace {

double system_points() {
  static const double points = QApplication::font().pointSizeF();
  return points;
}

}  // namespace

int font_step() {
  return std::clamp(QSettings().value(QStringLiteral("font_step"), 0).toInt(), kSmallestFontStep, kLargestFontStep);
}

void set_font_step(int points) {
  const int step = std::clamp(points, kSmallestFontStep, kLargestFontStep);
  QSettings().setValue(QStringLiteral("font_step"), step);
  QFont font = QApplication::font();
  const double before = font.pointSizeF(), after = system_points() + step;
  if (before == after) return;
  // Fonts with a size of their own do not follow the application's.
  std::vector<std::pair<QWidget*, double>> own;
  for (QWidget* widget : QApplication::allWidgets())
    if (widget->testAttribute(Qt::WA_SetFont)) own.emplace_back(widget, widget->font().pointSizeF());
  font.setPointSizeF(after);
  QApplication::setFont(font);
  // Under a style sheet, most widgets take the application's font only when they are told to.
  for (QWidget* widget : QApplication::allWidgets())
    if (!widget->testAttribute(Qt::WA_SetFont) && widget->font().pointSizeF() != after) widget->setFont(QFont());
  for (const auto& [widget, size] : own) {
    if (widget->font().pointSizeF() != size) continue;  // it did
    QFont scaled = widget->font();
    scaled.setPointSizeF(size * after / before);
    widget->setFont(scaled);
  }
}

}  // namespace lockstep::gui
