#include "gui/app/keys.h"

#include <QCoreApplication>
#include <QKeySequence>

namespace lockstep::gui {
namespace {

struct Entry {
  const char *keys, *what;
};

// Keys that widgets take themselves.
constexpr Entry kOfWidgets[] = {
    {QT_TRANSLATE_NOOP("lockstep::gui::Keys", "Tab, Shift+Tab"),
     QT_TRANSLATE_NOOP("lockstep::gui::Keys", "to the next or previous control")},
    {QT_TRANSLATE_NOOP("lockstep::gui::Keys", "Left, Right"),
     QT_TRANSLATE_NOOP("lockstep::gui::Keys",
                       "from point to point of a chart, span to span of a timeline, link to link of a machine")},
    {QT_TRANSLATE_NOOP("lockstep::gui::Keys", "Up, Down"),
     QT_TRANSLATE_NOOP("lockstep::gui::Keys", "from lane to lane of a timeline; in a box: step the number")},
    {QT_TRANSLATE_NOOP("lockstep::gui::Keys", "Home, End"),
     QT_TRANSLATE_NOOP("lockstep::gui::Keys", "to the beginning or the end of a timeline, a list, a slider")},
    {QT_TRANSLATE_NOOP("lockstep::gui::Keys", "+, -, 0"),
     QT_TRANSLATE_NOOP("lockstep::gui::Keys", "zoom a timeline, and fit it; W, S and F do the same")},
    {QT_TRANSLATE_NOOP("lockstep::gui::Keys", "A, D, Page Up, Page Down"),
     QT_TRANSLATE_NOOP("lockstep::gui::Keys", "move along a timeline")},
    {QT_TRANSLATE_NOOP("lockstep::gui::Keys", ". ,"),
     QT_TRANSLATE_NOOP("lockstep::gui::Keys", "to the next or previous bucket of a timeline")},
    {QT_TRANSLATE_NOOP("lockstep::gui::Keys", "Enter"),
     QT_TRANSLATE_NOOP(
         "lockstep::gui::Keys",
         "in a chart or a machine: shows in the timeline what is chosen; in a map: takes the cell's values")},
    {QT_TRANSLATE_NOOP("lockstep::gui::Keys", "Space"),
     QT_TRANSLATE_NOOP("lockstep::gui::Keys", "presses a button, opens a group of settings")},
    {QT_TRANSLATE_NOOP("lockstep::gui::Keys", "Esc"),
     QT_TRANSLATE_NOOP("lockstep::gui::Keys", "takes back what is wrong in a box; ends a selection")}};

QString say(const char* text) {
  return QCoreApplication::translate("lockstep::gui::Keys", text);
}

}  // namespace

QList<KeyRow> key_rows(const QList<QAction*>& actions) {
  QList<KeyRow> rows;
  for (const QAction* one : actions) {
    QStringList keys;
    for (const QKeySequence& sequence : one->shortcuts()) keys << sequence.toString(QKeySequence::NativeText);
    keys.removeDuplicates();
    QString text = one->text();
    if (!keys.isEmpty()) rows << KeyRow{keys.mid(0, 2).join(QStringLiteral("  ")), text.remove('&')};
  }
  for (const Entry& entry : kOfWidgets) rows << KeyRow{say(entry.keys), say(entry.what)};
  return rows;
}

QString keys_text(const QList<QAction*>& actions) {
  QString rows;
  for (const KeyRow& row : key_rows(actions))
    rows += QStringLiteral("<tr><td><code>%1</code>&nbsp;&nbsp;&nbsp;</td><td>%2</td></tr>")
                .arg(row.keys.toHtmlEscaped(), row.what.toHtmlEscaped());
  return QStringLiteral("<table>%1</table>").arg(rows);
}

}  // namespace lockstep::gui
