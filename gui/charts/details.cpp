#include "gui/charts/details.h"

#include <QLabel>

#include "gui/app/theme.h"

namespace lockstep::gui {

QLabel* make_details(const QString& name) {
  auto* label = new QLabel;
  label->setWordWrap(true);
  label->setTextFormat(Qt::PlainText);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  label->setAccessibleName(name);
  label->setMinimumHeight(2 * label->fontMetrics().lineSpacing() + 4);
  label->setAlignment(Qt::AlignVCenter | Qt::AlignLeft);
  label->setMargin(2);
  return label;
}

void show_details(QLabel& label, const QString& words, const QString& hint) {
  label.setText(words.isEmpty() ? hint : words);
  QPalette palette = label.palette();
  palette.setColor(QPalette::WindowText, words.isEmpty() ? theme().muted : theme().text);
  label.setPalette(palette);
}

}  // namespace lockstep::gui
