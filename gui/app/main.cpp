#include <QApplication>
#include <QLibraryInfo>
#include <QLocale>
#include <QSettings>
#include <QTimer>
#include <QTranslator>
#include <cstdio>
#include <cstdlib>

#include "gui/app/arguments.h"
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
  lockstep::gui::MainWindow window;
  window.show();
  QTimer::singleShot(0, &window, [&] {
    // A scenario first: what is opened after it stands beside it.
    for (const bool beside : {false, true})
      for (const std::string& file : arguments.files)
        if (beside == (file.ends_with(".json") || file.ends_with(".json.gz")))
          window.open_any(QString::fromStdString(file));
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
      break;
    case GuiArguments::Do::Open:
      break;
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
