// `lockstep-gui --export DIR FILE`: the window's views without a window.
#pragma once

#include "gui/app/arguments.h"

namespace lockstep::gui {

// Needs a QApplication (offscreen will do). Files and complaints go to the standard streams; the exit code comes back.
int run_export(const GuiArguments& arguments);

}  // namespace lockstep::gui
