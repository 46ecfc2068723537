#include "gui/runs/child_run.h"

#include <gtest/gtest.h>

#include <QElapsedTimer>
#include <QFile>

#include "tests/gui/support.h"

namespace lockstep::gui {
namespace {

using testing::script;
using testing::wait_until;

// What a run told.
struct Heard {
  explicit Heard(ChildRun& run) {
    QObject::connect(&run, &ChildRun::progress, [this](const ProgressLine&) { ++progress; });
    QObject::connect(&run, &ChildRun::run_known, [this](const lockstep::Run&) { ++runs; });
    QObject::connect(&run, &ChildRun::finished, [this](std::shared_ptr<const Result> r, double) { result = r; });
    QObject::connect(&run, &ChildRun::failed, [this](const QString& w, const QString& l) { why = w, last = l; });
    QObject::connect(&run, &ChildRun::stopped, [this] { stopped = true; });
  }
  int progress = 0, runs = 0;
  std::shared_ptr<const Result> result;
  QString why, last;
  bool stopped = false;
};

QByteArray gallery(const char* name) {
  return QByteArray::fromStdString(
      testing::text_of_file(testing::source_path(std::string("scenarios/gallery/") + name + ".yaml")));
}

TEST(ChildRun, TheRealProgramPredictsWhatIsWrittenToIt) {
  ChildRun run;
  Heard heard(run);
  run.start({lockstep_program(), {"predict", "-", "--jsonl"}, gallery("bert-bucket-cap"), "/"});
  ASSERT_TRUE(wait_until([&] { return heard.result != nullptr || !heard.why.isEmpty(); }));
  ASSERT_TRUE(heard.result) << heard.why.toStdString() << heard.last.toStdString();
  EXPECT_EQ(heard.result->runs.size(), 4U);
  EXPECT_EQ(heard.runs, 4);
  EXPECT_GE(heard.progress, 4);
  EXPECT_FALSE(run.running());
}

TEST(ChildRun, ASweepSendsItsPointsAndEndsWithItsSummary) {
  ChildRun run;
  Heard heard(run);
  SummaryLine summary;
  QObject::connect(&run, &ChildRun::swept, [&](const SummaryLine& line, double) { summary = line; });
  run.start({lockstep_program(),
             {"sweep", "-", "--set", "gpus=[2, 99]", "--set", "ddp.bucket_cap=[1MiB, 5MiB]", "--jsonl"},
             gallery("bert-bucket-cap"),
             "/"});
  ASSERT_TRUE(wait_until([&] { return summary.points == 4 || !heard.why.isEmpty(); }));
  EXPECT_EQ(summary.run, 2) << heard.why.toStdString() << heard.last.toStdString();
  EXPECT_EQ(summary.not_run, 2);
  EXPECT_EQ(heard.runs, 4);
  EXPECT_EQ(heard.result, nullptr);
  EXPECT_FALSE(run.running());
}

TEST(ChildRun, AWrongScenarioComesBackWithTheMessageOfTheProgram) {
  ChildRun run;
  Heard heard(run);
  run.start({lockstep_program(), {"predict", "-", "--jsonl"}, "model: resnet5o\nbatch: {per_gpu: 1}\n", "/"});
  ASSERT_TRUE(wait_until([&] { return !heard.why.isEmpty(); }));
  EXPECT_TRUE(heard.last.contains("resnet5o")) << heard.last.toStdString();
}

TEST(ChildRun, ACrashIsToldWithItsLastWords) {
  ChildRun run;
  Heard heard(run);
  run.start({script("echo 'half a line that is no JSON'; echo 'broken invariant at x.cpp:3' >&2; kill -SEGV $$"),
             {},
             {},
             "/"});
  ASSERT_TRUE(wait_until([&] { return !heard.why.isEmpty(); }));
  EXPECT_TRUE(heard.why.contains("11")) << heard.why.toStdString();
  EXPECT_TRUE(heard.last.contains("broken invariant at x.cpp:3")) << heard.last.toStdString();
  EXPECT_TRUE(heard.last.contains("half a line")) << heard.last.toStdString();
}

TEST(ChildRun, AnEndWithoutResultIsAFailure) {
  ChildRun run;
  Heard heard(run);
  run.start({script("echo '{\"type\":\"progress\",\"done\":1,\"total\":2,\"text\":\"\"}'; exit 0"), {}, {}, "/"});
  ASSERT_TRUE(wait_until([&] { return !heard.why.isEmpty(); }));
  EXPECT_EQ(heard.progress, 1);
}

TEST(ChildRun, AProgramThatIsNotThereIsToldAtOnce) {
  ChildRun run;
  Heard heard(run);
  run.start({"/nowhere/lockstep", {}, {}, "/"});
  ASSERT_TRUE(wait_until([&] { return !heard.why.isEmpty(); }));
  EXPECT_TRUE(heard.why.contains("/nowhere/lockstep"));
  EXPECT_FALSE(run.running());
}

TEST(ChildRun, StopEndsAProgramThatIgnoresTheWishToEnd) {
  ChildRun run;
  Heard heard(run);
  const QString mark = testing::temporary_path("pid");
  run.start({script("trap '' TERM; echo $$ > " + mark + "; while true; do sleep 0.1; done"), {}, {}, "/"});
  ASSERT_TRUE(wait_until([&] { return !testing::text_of_file(mark.toStdString()).empty(); }));
  run.stop();
  EXPECT_TRUE(heard.stopped);
  EXPECT_FALSE(run.running());
  const std::string process = "/proc/" + std::to_string(std::stol(testing::text_of_file(mark.toStdString())));
  EXPECT_TRUE(wait_until([&] { return !QFile::exists(QString::fromStdString(process)); }));
}

TEST(ChildRun, ANewStartSilencesTheOldOne) {
  ChildRun run;
  Heard heard(run);
  run.start({script("sleep 0.2; exit 3"), {}, {}, "/"});
  run.start({lockstep_program(), {"predict", "-", "--jsonl"}, gallery("strong-scaling"), "/"});
  ASSERT_TRUE(wait_until([&] { return heard.result != nullptr; }));
  EXPECT_TRUE(heard.why.isEmpty()) << heard.why.toStdString();
}

TEST(ChildRun, ManyLinesLeaveTheEventLoopAlive) {
  ChildRun run;
  Heard heard(run);
  run.start(
      {script("i=0; while [ $i -lt 20000 ]; do echo '{\"type\":\"progress\",\"done\":1,\"total\":2,\"text\":\"x\"}'; "
              "i=$((i+1)); done"),
       {},
       {},
       "/"});
  ASSERT_TRUE(wait_until([&] { return !heard.why.isEmpty(); }));
  EXPECT_EQ(heard.progress, 20000);
}

}  // namespace
}  // namespace lockstep::gui
