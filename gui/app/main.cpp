#include <QApplication>
#include <QLibraryInfo>
#include <QLocale>
#include <QSettings>
#include <QTimer>
#include <QTranslator>
#include <cstdio>
#include <cstdlib>

#include "gui/app/arguments.h"
#include "gui/app/font_size.h"
#include "gui/app/main_window.h"
#include "gui/app/theme.h"
#include "gui/export/headless.h"
#include "simulator/result/result.h"

namespace {

using lockstep::gui::GuiArguments;

lockstep::gui::ThemeChoice theme_of(const std::string& name) {
  if (name == "light") return lockstep::gui::ThemeChoice::Light;
  if (name == "dark") return lockstep::gui::ThemeChoice::Dark;
  return lockstep::gui::ThemeChoice::System;
}

// Qt ends a program that finds no display by abort(): this says what to do instead.
bool has_display() {
  for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"})
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return true;
  return false;
}

// What Qt says of a folder that an export does not use is nobody's business.
void without_runtime_folder(QtMsgType type, const QMessageLogContext&, const QString& text) {
  if (text.startsWith(QLatin1String("QStandardPaths:"))) return;
  std::fprintf(stderr, "%s\n", text.toLocal8Bit().constData());
  if (type == QtFatalMsg) std::abort();
}

// Our catalogue for the person's language, and Qt's own; English has plural forms alone.
void load_words(QApplication& application) {
  static QTranslator ours, english, qts;
  const QString folder = QCoreApplication::applicationDirPath() + QStringLiteral("/../share/lockstep/i18n");
  if (english.load(QStringLiteral("lockstep_en"), folder)) application.installTranslator(&english);
  if (ours.load(QLocale(), QStringLiteral("lockstep"), QStringLiteral("_"), folder))
    application.installTranslator(&ours);
  if (qts.load(QLocale(), QStringLiteral("qtbase"), QStringLiteral("_"),
               QLibraryInfo::path(QLibraryInfo::TranslationsPath)))
    application.installTranslator(&qts);
}

int open_window(QApplication&, const GuiArguments& arguments) {
  QString theme = QString::fromStdString(arguments.theme);
  if (theme == QLatin1String("system")) theme = QSettings().value("theme", "system").toString();
  lockstep::gui::set_theme(theme_of(theme.toStdString()));
  lockstep::gui::set_up_style();
  lockstep::gui::set_font_step(lockstep::gui::font_step());
  lockstep::gui::MainWindow window;
  window.show();
  QTimer::singleShot(0, &window, [&] {
    QStringList files;
    for (const std::string& file : arguments.files) files << QString::fromStdString(file);
    window.open_several(files);
  });
  return QApplication::exec();
}

}  // namespace

int main(int argc, char** argv) {
  const GuiArguments arguments = lockstep::gui::read_arguments({argv + 1, argv + argc});
  switch (arguments.what) {
    case GuiArguments::Do::Help:
      std::fputs(lockstep::gui::help_text().c_str(), stdout);
      return 0;
    case GuiArguments::Do::Version:
      std::printf("lockstep-gui %s\n", lockstep::lockstep_version());
      return 0;
    case GuiArguments::Do::Wrong:
      std::fprintf(stderr, "lockstep-gui: %s\n%s", arguments.error.c_str(),
                   "`lockstep-gui --help` lists the options\n");
      return 1;
    case GuiArguments::Do::Export:
      setenv("QT_QPA_PLATFORM", "offscreen", 0);  // a display is neither needed nor used unless asked for
      qInstallMessageHandler(without_runtime_folder);
      break;
    case GuiArguments::Do::Open:
      if (has_display()) break;
      std::fputs(
          "lockstep-gui: there is no display (DISPLAY and WAYLAND_DISPLAY are not set); "
          "`lockstep-gui --export DIR FILE` writes the charts of FILE without one\n",
          stderr);
      return 2;
  }
  QApplication::setOrganizationName(QStringLiteral("lockstep"));
  QApplication::setApplicationName(QStringLiteral("lockstep-gui"));
  QApplication::setApplicationVersion(QString::fromLatin1(lockstep::lockstep_version()));
  QApplication::setDesktopFileName(QStringLiteral("io.github.lockstep.lockstep-gui"));
  QApplication application(argc, argv);
  load_words(application);
  if (arguments.what == GuiArguments::Do::Open) return open_window(application, arguments);
  lockstep::gui::set_theme(theme_of(arguments.theme == "system" ? "light" : arguments.theme));
  lockstep::gui::set_up_style();
  return lockstep::gui::run_export(arguments);
}
