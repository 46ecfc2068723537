// What the keyboard does, as a page.
#pragma once

#include <QAction>
#include <QList>
#include <QString>

namespace lockstep::gui {

struct KeyRow {
  QString keys, what;
};
// Of actions that have keys, in their order, then of the views and boxes, which listen themselves.
QList<KeyRow> key_rows(const QList<QAction*>& actions);
QString keys_text(const QList<QAction*>& actions);  // HTML

}  // namespace lockstep::gui
