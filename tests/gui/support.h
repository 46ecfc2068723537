// For tests of the window: waiting, texts of scenarios, programs that stand in for `lockstep`.
#pragma once

#include <QString>
#include <QWidget>
#include <functional>
#include <string>

namespace lockstep::gui::testing {

// Runs the event loop until `done` or for at most `ms`; true when done. Not an assertion on time: the limit is far
// away.
bool wait_until(const std::function<bool()>& done, int ms = 60'000);

std::string source_path(const std::string& relative);
std::string text_of_file(const std::string& path);

// An executable shell script in a folder that goes with the process.
QString script(const QString& body);
QString temporary_path(const QString& name);

// The title of the tab that is seen.
QString tab_in_front(const QWidget& window);

}  // namespace lockstep::gui::testing
