// The program itself, in an environment without any display.
#include <gtest/gtest.h>

#include <QDir>
#include <QImage>
#include <QProcess>
#include <QStandardPaths>
#include <fstream>

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
  // Those with something to show: nothing is measured or pinned here.
  const QStringList views = {"efficiency", "throughput",  "step-time", "breakdown", "explain",
                             "sweep",      "bucket-size", "timeline",  "topology"};
  for (const QString& view : views)
    for (const char* suffix : {"png", "svg", "pdf", "csv"})
      EXPECT_TRUE(files.contains(QStringLiteral("second-node-10gbe-%1.%2").arg(view, suffix)))
          << view.toStdString() << suffix;
  EXPECT_EQ(done.out.count('\n'), 4 * views.size() + 2) << done.out.toStdString();
  const std::string page = testing::text_of_file((folder + "/second-node-10gbe-report.html").toStdString());
  EXPECT_NE(page.find("Is a second machine worth it"), std::string::npos);
  EXPECT_NE(page.find("<svg"), std::string::npos);
  EXPECT_NE(page.find("lockstep predict second-node-10gbe"), std::string::npos);
  EXPECT_EQ(testing::text_of_file((folder + "/second-node-10gbe-report.pdf").toStdString()).substr(0, 4), "%PDF");
  EXPECT_NE(page.find("Timeline"), std::string::npos);
  const std::string one_page = testing::text_of_file((folder + "/second-node-10gbe-report.pdf").toStdString());
  EXPECT_NE(one_page.find("/Count 1"), std::string::npos);
  // The timeline is the simulated one.
  const std::string spans = testing::text_of_file((folder + "/second-node-10gbe-timeline.svg").toStdString());
  EXPECT_NE(spans.find("predicted"), std::string::npos);
  EXPECT_EQ(spans.find("without contention"), std::string::npos);
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

TEST(Program, WithoutADisplayOneLineSaysWhatToDo) {
  const Ended ended = run({"second-node-10gbe"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_TRUE(ended.err.contains("--export")) << ended.err.toStdString();
  EXPECT_EQ(ended.err.count('\n'), 1) << ended.err.toStdString();
}

TEST(Program, AResultAloneBringsItsScenarioAndTheExportIsQuiet) {
  const QString result = testing::temporary_path("measured.json"), folder = testing::temporary_path("of-result");
  QProcess predict;
  predict.start(LOCKSTEP_PROGRAM_FILE, {"predict", "strong-scaling", "--estimate", "--json", "-o", result});
  ASSERT_TRUE(predict.waitForFinished(60'000));
  std::string text = testing::text_of_file(result.toStdString());
  const std::size_t at = text.find("\"predicted\"");
  ASSERT_NE(at, std::string::npos);
  std::ofstream(result.toStdString()) << text.replace(at, 11, "\"measured\"");
  const Ended done = run({"--export", folder, result});
  EXPECT_EQ(done.code, 0) << done.err.toStdString();
  EXPECT_TRUE(done.err.isEmpty()) << done.err.toStdString();
  const std::string numbers = testing::text_of_file((folder + "/measured-efficiency.csv").toStdString());
  EXPECT_NE(numbers.find("DDP"), std::string::npos) << numbers;
  EXPECT_NE(numbers.find("measured"), std::string::npos) << numbers;
}

TEST(Program, ExportDrawsTracesBelowThePrediction) {
  const QString folder = testing::temporary_path("traced");
  const QString trace = QString::fromStdString(testing::source_path("tests/data/traces/ddp-two-gpus-rank1.json"));
  const Ended done = run({"--export", folder, "dp-vs-ddp-resnet50-8xa100", trace});
  EXPECT_EQ(done.code, 0) << done.err.toStdString();
  const std::string table = testing::text_of_file((folder + "/dp-vs-ddp-resnet50-8xa100-timeline.csv").toStdString());
  EXPECT_NE(table.find("measured"), std::string::npos);
  EXPECT_NE(table.find("ncclDevKernel_AllReduce"), std::string::npos);
  const Ended wrong = run({"--export", folder, "dp-vs-ddp-resnet50-8xa100", "/nowhere/trace.json"});
  EXPECT_EQ(wrong.code, 1);
}

// The last of the page are the settings and the command: where they are, nothing has run over its end.
TEST(Program, TheReportIsOnePageThatHoldsAllOfIt) {
  const QString reader = QStandardPaths::findExecutable(QStringLiteral("pdftotext"));
  if (reader.isEmpty()) GTEST_SKIP() << "no pdftotext (Debian's poppler-utils)";
  for (const char* name : {"dp-vs-ddp-resnet50-8xa100", "noisy-ranks", "own-model"}) {
    const QString folder = testing::temporary_path(QStringLiteral("page-%1").arg(name));
    ASSERT_EQ(run({"--export", folder, name}).code, 0) << name;
    QProcess words;
    words.start(reader, {"-layout", QStringLiteral("%1/%2-report.pdf").arg(folder, name), "-"});
    ASSERT_TRUE(words.waitForFinished());
    const QString text = words.readAllStandardOutput();
    EXPECT_TRUE(text.contains(QStringLiteral("lockstep predict %1").arg(name))) << name << '\n' << text.toStdString();
    EXPECT_EQ(text.count('\f'), 1) << name;
  }
}

TEST(Program, ExportSaysWhatIsWrong) {
  const Ended missing = run({"--export", testing::temporary_path("x"), "/nowhere.yaml"});
  EXPECT_EQ(missing.code, 1);
  EXPECT_TRUE(missing.err.contains("/nowhere.yaml"));
  const Ended two = run({"--export", testing::temporary_path("x"), "strong-scaling", "second.yaml"});
  EXPECT_EQ(two.code, 1);
  EXPECT_TRUE(two.err.contains("one scenario, then results and traces")) << two.err.toStdString();
  EXPECT_TRUE(two.err.contains("second.yaml"));
  const QString broken = testing::temporary_path("broken-trace.json");
  std::ofstream(broken.toStdString()) << R"({"traceEvents": [{"ph": "X", )";
  const Ended trace = run({"--export", testing::temporary_path("x"), "strong-scaling", broken});
  EXPECT_EQ(trace.code, 1);
  EXPECT_TRUE(trace.err.contains("broken-trace.json")) << trace.err.toStdString();
}

}  // namespace
}  // namespace lockstep::gui
