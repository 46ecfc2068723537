// The program itself, in an environment without any display.
#include <gtest/gtest.h>

#include <QDir>
#include <QImage>
#include <QProcess>

#include "simulator/result/result.h"
#include "tests/gui/support.h"

namespace lockstep::gui {
namespace {

struct Ended {
  int code = -1;
  QString out, err;
};

Ended run(const QStringList& arguments) {
  QProcess process;
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"}) environment.remove(name);
  process.setProcessEnvironment(environment);
  process.start(LOCKSTEP_GUI_FILE, arguments);
  EXPECT_TRUE(process.waitForFinished(120'000));
  return {process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -2, process.readAllStandardOutput(),
          process.readAllStandardError()};
}

// The smallest rectangle that holds all pixels unlike the first.
QRect drawn_in(const QImage& image) {
  QRect ink;
  const QRgb ground = image.pixel(0, 0);
  for (int y = 0; y < image.height(); y += 2)
    for (int x = 0; x < image.width(); x += 2)
      if (image.pixel(x, y) != ground) ink |= QRect(x, y, 1, 1);
  return ink;
}

TEST(Program, HelpAndVersionNeedNoDisplay) {
  const Ended help = run({"--help"});
  EXPECT_EQ(help.code, 0) << help.err.toStdString();
  EXPECT_TRUE(help.out.startsWith("usage: lockstep-gui"));
  EXPECT_EQ(run({"--version"}).out.trimmed(), QStringLiteral("lockstep-gui %1").arg(lockstep_version()));
  EXPECT_EQ(run({"--nonsense"}).code, 1);
}

TEST(Program, ExportsEveryViewWithoutADisplay) {
  const QString folder = testing::temporary_path("exported");
  const Ended done = run({"--export", folder, "second-node-10gbe"});
  EXPECT_EQ(done.code, 0) << done.err.toStdString();
  const QStringList files = QDir(folder).entryList(QDir::Files);
  for (const char* view :
       {"efficiency", "throughput", "step-time", "breakdown", "timeline", "topology", "sweep", "bucket-size"})
    for (const char* suffix : {"png", "svg", "pdf", "csv"})
      EXPECT_TRUE(files.contains(QStringLiteral("second-node-10gbe-%1.%2").arg(view, suffix))) << view << suffix;
  EXPECT_EQ(done.out.count('\n'), 34);
  const std::string page = testing::text_of_file((folder + "/second-node-10gbe-report.html").toStdString());
  EXPECT_NE(page.find("Is a second machine worth it"), std::string::npos);
  EXPECT_NE(page.find("<svg"), std::string::npos);
  EXPECT_NE(page.find("lockstep predict second-node-10gbe"), std::string::npos);
  EXPECT_EQ(testing::text_of_file((folder + "/second-node-10gbe-report.pdf").toStdString()).substr(0, 4), "%PDF");
  const std::string sweep = testing::text_of_file((folder + "/second-node-10gbe-sweep.csv").toStdString());
  EXPECT_NE(sweep.find(",simulated\n"), std::string::npos);
  EXPECT_EQ(sweep.find("estimate"), std::string::npos);
  // The picture is filled: something is drawn near every edge.
  for (const char* view : {"efficiency", "throughput", "step-time", "breakdown", "sweep", "bucket-size"}) {
    const QImage image(QStringLiteral("%1/second-node-10gbe-%2.png").arg(folder, view));
    const QRect ink = drawn_in(image);
    EXPECT_GT(ink.width(), 0.85 * image.width()) << view;
    EXPECT_GT(ink.height(), 0.85 * image.height()) << view;
  }
}

TEST(Program, ExportSaysWhatIsWrong) {
  const Ended missing = run({"--export", testing::temporary_path("x"), "/nowhere.yaml"});
  EXPECT_EQ(missing.code, 1);
  EXPECT_TRUE(missing.err.contains("/nowhere.yaml"));
}

}  // namespace
}  // namespace lockstep::gui
