#include "tests/gui/support.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QEventLoop>
#include <QFile>
#include <QStandardPaths>
#include <QTabWidget>
#include <QTemporaryDir>
#include <QTimer>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>

#include "gui/app/theme.h"

namespace lockstep::gui::testing {
namespace {

class QtEnvironment : public ::testing::Environment {
 public:
  void SetUp() override {
    if (std::getenv("LOCKSTEP_TEST_PLATFORM") == nullptr) {
      setenv("QT_QPA_PLATFORM", "offscreen", 1);
    } else {
      setenv("QT_QPA_PLATFORM", std::getenv("LOCKSTEP_TEST_PLATFORM"), 1);
    }
    setenv("LOCKSTEP_PROGRAM", LOCKSTEP_PROGRAM_FILE, 1);
    QStandardPaths::setTestModeEnabled(true);
    folder_ = std::make_unique<QTemporaryDir>();
    setenv("XDG_CONFIG_HOME", folder_->path().toLocal8Bit().constData(), 1);  // settings of a person stay untouched
    static int count = 1;
    static char name[] = "test_gui";
    static char* arguments[] = {name, nullptr};
    application_ = std::make_unique<QApplication>(count, arguments);
    QApplication::setOrganizationName("lockstep-test");
    QApplication::setApplicationName("lockstep-gui");
    set_up_style();
  }
  void TearDown() override {
    application_.reset();
    folder_.reset();
  }

 private:
  std::unique_ptr<QTemporaryDir> folder_;
  std::unique_ptr<QApplication> application_;
};

[[maybe_unused]] const auto* const kEnvironment = ::testing::AddGlobalTestEnvironment(new QtEnvironment);

QTemporaryDir& scratch() {
  static QTemporaryDir folder;
  return folder;
}

}  // namespace

bool wait_until(const std::function<bool()>& done, int ms) {
  QEventLoop loop;
  QTimer poll, limit;
  limit.setSingleShot(true);
  QObject::connect(&poll, &QTimer::timeout, &loop, [&] {
    if (done()) loop.quit();
  });
  QObject::connect(&limit, &QTimer::timeout, &loop, &QEventLoop::quit);
  poll.start(2);
  limit.start(ms);
  if (!done()) loop.exec();
  return done();
}

std::string source_path(const std::string& relative) {
  return std::string(LOCKSTEP_SOURCE_DIR) + '/' + relative;
}

std::string text_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

QString temporary_path(const QString& name) {
  return scratch().filePath(name);
}

QString script(const QString& body) {
  static int number = 0;
  const QString path = temporary_path(QStringLiteral("program%1.sh").arg(number++));
  QFile file(path);
  if (file.open(QIODevice::WriteOnly)) file.write(("#!/bin/sh\n" + body + "\n").toUtf8());
  file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
  return path;
}

QString tab_in_front(const QWidget& window) {
  const auto* tabs = window.findChild<QTabWidget*>();
  return tabs == nullptr ? QString() : tabs->tabText(tabs->currentIndex());
}

}  // namespace lockstep::gui::testing
