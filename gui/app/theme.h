// Colours and style of the window, light and dark. Same thing, same colour, in every view: strategies and causes have
// their colours here. Sets of colours that most colour-blind people can tell apart (Okabe and Ito), and never colour
// alone: estimates are dashed, exposed communication is hatched.
#pragma once

#include <QColor>
#include <QIcon>
#include <QPalette>
#include <QString>

#include "simulator/result/result.h"

namespace lockstep::gui {

enum class ThemeChoice { System, Light, Dark };

struct Theme {
  bool dark = false;
  QColor window, surface, raised, border, text, muted, accent, on_accent, error, warning, good, grid;
  QColor strategy(Strategy s) const;
  QColor cause(Cause c) const;
  // Of a span in its lane: the CPU that launches kernels is not the GPU that waits for it, and a collective at work is
  // not the communication that is left over; both would share the colour of the cause.
  QColor span(Lane lane, Cause c) const;
};

const Theme& theme();  // the one in force
void set_theme(ThemeChoice choice);
ThemeChoice theme_choice();
// Fusion, palette and style sheet of the application; again after set_theme.
void set_up_style();

// A small line icon by name (open, save, undo, redo, run, stop, pin, export, copy, gallery, help, reset, measure,
// table, close) in the colour of text.
QIcon icon(const QString& name);

// What people call it: "DDP", "DataParallel", "1 GPU"; "forward", "exposed communication".
QString strategy_name(Strategy strategy);
QString cause_name(Cause cause);

}  // namespace lockstep::gui
