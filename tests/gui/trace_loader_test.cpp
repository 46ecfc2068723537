#include "gui/runs/trace_loader.h"

#include <gtest/gtest.h>

#include <fstream>

#include "gui/runs/spans_run.h"
#include "tests/gui/support.h"

namespace lockstep::gui {
namespace {

using testing::wait_until;

QString data(const char* name) {
  return QString::fromStdString(testing::source_path(std::string("tests/data/traces/") + name));
}

QString many_kernels(int count) {
  const QString path = testing::temporary_path("many.json");
  std::ofstream file(path.toStdString());
  file << R"({"traceEvents": [)";
  for (int i = 0; i < count; ++i)
    file << (i > 0 ? "," : "") << R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":)" << 10 * i
         << R"(,"dur":5})";
  file << "]}";
  return path;
}

TEST(TraceLoader, ReadsOneAfterAnotherAndNamesTheOnesThatFail) {
  TraceLoader loader;
  std::vector<std::string> loaded;
  QStringList failed;
  QObject::connect(&loader, &TraceLoader::loaded, [&](const auto& file) { loaded.push_back(file->file); });
  QObject::connect(&loader, &TraceLoader::failed, [&](const QString& path, const Errors& errors) {
    EXPECT_FALSE(errors.empty());
    failed << path;
  });
  loader.read(data("ddp-two-gpus-rank0.json"));
  loader.read(data("nowhere.json"));
  loader.read(data("ddp-two-gpus-rank1.json"));
  EXPECT_TRUE(loader.running());
  ASSERT_TRUE(wait_until([&] { return !loader.running(); }));
  ASSERT_EQ(loaded.size(), 2U);
  EXPECT_TRUE(loaded[1].ends_with("rank1.json"));
  EXPECT_EQ(failed, QStringList{data("nowhere.json")});
}

TEST(TraceLoader, IsSilentOnceItIsStopped) {
  const QString path = many_kernels(300'000);
  TraceLoader loader;
  int heard = 0;
  QObject::connect(&loader, &TraceLoader::loaded, [&] { ++heard; });
  QObject::connect(&loader, &TraceLoader::failed, [&] { ++heard; });
  loader.read(path);
  loader.stop();
  EXPECT_FALSE(loader.running());
  loader.read(data("gloo-ddp-2.json"));  // which is through once the other has ended
  ASSERT_TRUE(wait_until([&] { return !loader.running(); }));
  EXPECT_EQ(heard, 1);
}

TEST(TraceLoader, MayGoWhileItReads) {
  const QString path = many_kernels(300'000);
  TraceLoader loader;
  loader.read(path);
}

TEST(SpansRun, BringsTheRunsThatHaveATimeline) {
  SpansRun run;
  std::shared_ptr<const std::vector<lockstep::Run>> runs;
  QObject::connect(&run, &SpansRun::known, [&](auto known) { runs = std::move(known); });
  run.start(LOCKSTEP_PROGRAM_FILE, "model: resnet50\nbatch: {per_gpu: 8}\ntopology: dgx-a100-80gb\ngpus: [1, 2]\n",
            "/");
  ASSERT_TRUE(wait_until([&] { return runs != nullptr; }));
  EXPECT_FALSE(run.running());
  ASSERT_FALSE(runs->empty());
  for (const lockstep::Run& one : *runs) EXPECT_FALSE(one.timeline.empty());
  EXPECT_EQ(runs->back().gpus, 2);
}

TEST(SpansRun, TellsWhatTheProgramSaid) {
  SpansRun run;
  QString why;
  QObject::connect(&run, &SpansRun::failed, [&](const QString& text) { why = text; });
  run.start(testing::script("echo no such thing >&2; exit 1"), "", "/");
  ASSERT_TRUE(wait_until([&] { return !why.isEmpty(); }));
  EXPECT_TRUE(why.contains("no such thing")) << why.toStdString();
  why.clear();
  run.start(testing::script("while [ $# -gt 1 ]; do shift; done; echo '{}' > \"$1\""), "", "/");
  ASSERT_TRUE(wait_until([&] { return !why.isEmpty(); }));
  why.clear();
  run.start("/nowhere/lockstep", "", "/");
  ASSERT_TRUE(wait_until([&] { return !why.isEmpty(); }));
  EXPECT_FALSE(run.running());
}

TEST(SpansRun, IsSilentOnceItIsStopped) {
  SpansRun run;
  int heard = 0;
  QObject::connect(&run, &SpansRun::known, [&] { ++heard; });
  QObject::connect(&run, &SpansRun::failed, [&] { ++heard; });
  run.start(testing::script("sleep 60"), "", "/");
  run.stop();
  EXPECT_FALSE(run.running());
  bool waited = wait_until([] { return false; }, 200);
  EXPECT_FALSE(waited);
  EXPECT_EQ(heard, 0);
}

}  // namespace
}  // namespace lockstep::gui
