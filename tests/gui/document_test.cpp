#include <gtest/gtest.h>

#include <QFile>
#include <QProcess>

#include "gui/document/scenario_document.h"
#include "gui/runs/child_run.h"
#include "tests/gui/support.h"

namespace lockstep::gui {
namespace {

QString gallery(const char* name) {
  return QString::fromStdString(testing::source_path(std::string("scenarios/gallery/") + name + ".yaml"));
}

std::string value(const ScenarioDocument& document, const char* key) {
  const auto at = document.values().find(key);
  return at == document.values().end() ? "" : at->second.yaml;
}

TEST(Document, OpensWhatTheCommandLineTakes) {
  ScenarioDocument document;
  ASSERT_TRUE(document.open(gallery("bert-bucket-cap")).empty());
  EXPECT_TRUE(document.errors().empty());
  EXPECT_EQ(value(document, "ddp.bucket_cap"), "50MiB");
  EXPECT_FALSE(document.modified());
  EXPECT_EQ(document.name(), "bert-bucket-cap.yaml");
}

TEST(Document, AFileThatIsNotThereChangesNothing) {
  ScenarioDocument document;
  ASSERT_TRUE(document.open(gallery("bert-bucket-cap")).empty());
  EXPECT_FALSE(document.open("/nowhere/x.yaml").empty());
  EXPECT_EQ(document.name(), "bert-bucket-cap.yaml");
}

TEST(Document, AWrongFileOpensWithItsErrors) {
  const QString path = testing::temporary_path("wrong.yaml");
  QFile file(path);
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  file.write("model: resnet50\nbatch: {per_gpu: 0}\ntopology: dgx1-v100\ngpus: 8\n");
  file.close();
  ScenarioDocument document;
  EXPECT_TRUE(document.open(path).empty());
  ASSERT_EQ(document.errors().size(), 1U);
  EXPECT_EQ(document.errors().front().key, "batch.per_gpu");
  EXPECT_TRUE(document.set("batch.per_gpu", "32").empty());
  EXPECT_TRUE(document.errors().empty());
}

TEST(Document, EveryChangeIsUndoneAndDoneAgain) {
  ScenarioDocument document;
  ASSERT_TRUE(document.open(gallery("bert-bucket-cap")).empty());
  const std::string before = document.text();
  ASSERT_TRUE(document.set("ddp.bucket_cap", "5MiB").empty());
  ASSERT_TRUE(document.set("batch.per_gpu", "8").empty());
  EXPECT_TRUE(document.modified());
  const std::string after = document.text();
  document.undo().undo();
  document.undo().undo();
  EXPECT_EQ(document.text(), before);
  EXPECT_FALSE(document.modified());
  document.undo().redo();
  document.undo().redo();
  EXPECT_EQ(document.text(), after);
  EXPECT_NE(after.find("# DistributedDataParallel sends"), std::string::npos);
}

TEST(Document, ADragIsOneStep) {
  ScenarioDocument document;
  ASSERT_TRUE(document.open(gallery("bert-bucket-cap")).empty());
  for (int batch = 17; batch < 40; ++batch) {
    ASSERT_TRUE(document.set("batch.per_gpu", std::to_string(batch), 7).empty());
  }
  EXPECT_EQ(document.undo().count(), 1);
  ASSERT_TRUE(document.set("batch.per_gpu", "64", 8).empty());
  EXPECT_EQ(document.undo().count(), 2);
}

TEST(Document, ARefusedValueChangesNothingAndSaysWhatIsAllowed) {
  ScenarioDocument document;
  ASSERT_TRUE(document.open(gallery("bert-bucket-cap")).empty());
  const std::string before = document.text();
  const Errors errors = document.set("batch.per_gpu", "0");
  ASSERT_FALSE(errors.empty());
  EXPECT_NE(errors.front().allowed.find('1'), std::string::npos) << to_text(errors.front());
  EXPECT_EQ(document.text(), before);
  EXPECT_EQ(document.undo().count(), 0);
  EXPECT_FALSE(document.set("ddp.bucket_cap", "25").empty());
}

TEST(Document, SavingKeepsCommentsAndClearsTheMarker) {
  ScenarioDocument document;
  ASSERT_TRUE(document.open_example(gallery("own-model"), "own-model").empty());
  EXPECT_TRUE(document.path().isEmpty());
  ASSERT_TRUE(document.set("gpus", "[1, 2]").empty());
  const QString path = testing::temporary_path("mine.yaml");
  ASSERT_TRUE(document.save(path).empty());
  EXPECT_FALSE(document.modified());
  EXPECT_EQ(document.name(), "mine.yaml");
  EXPECT_EQ(testing::text_of_file(path.toStdString()), document.text());
  EXPECT_NE(document.text().find("# A network from a file"), std::string::npos);
  EXPECT_FALSE(document.save("/nowhere/mine.yaml").empty());
}

TEST(Document, ATextThatIsWrongIsAStepLikeAnyOther) {
  ScenarioDocument document;
  ASSERT_TRUE(document.open(gallery("bert-bucket-cap")).empty());
  const std::string before = document.text();
  for (const std::string& wrong : {before + "colour: red\n", std::string("model: [\n"), std::string()}) {
    EXPECT_FALSE(document.replace_text(wrong).empty());
    EXPECT_EQ(document.text(), wrong);
    EXPECT_TRUE(document.modified());
    EXPECT_FALSE(document.read().has_value());
    EXPECT_FALSE(document.errors().empty());
    const QString path = testing::temporary_path("as_typed.yaml");
    ASSERT_TRUE(document.save(path).empty());
    EXPECT_EQ(testing::text_of_file(path.toStdString()), wrong);
    document.undo().undo();
    EXPECT_EQ(document.text(), before);
    EXPECT_TRUE(document.errors().empty());
  }
}

TEST(Document, LeversApplyAsOneStep) {
  ScenarioDocument document;
  ASSERT_TRUE(document.open(gallery("second-node-10gbe")).empty());
  ASSERT_TRUE(document.apply({"topology.override.nic.rate=2500MB/s", "ddp.bucket_cap=50MiB"}, "both").empty());
  EXPECT_EQ(value(document, "topology.override.nic.rate"), "2.5GB/s");
  EXPECT_EQ(document.undo().count(), 1);
}

TEST(Document, TheCommandPredictsTheSameAsTheWindow) {
  ScenarioDocument document;
  ASSERT_TRUE(document.open_example(gallery("strong-scaling"), "strong-scaling").empty());
  EXPECT_EQ(document.command().toStdString(), "lockstep predict strong-scaling");
  ASSERT_TRUE(document.set("gpus", "[1, 4]").empty());
  ASSERT_TRUE(document.set("question", "\"Isn't it?\"").empty());
  EXPECT_EQ(document.command().toStdString(),
            R"(lockstep predict strong-scaling --set 'gpus=[1, 4]' --set 'question=Isn'\''t it?')");
  QProcess shell;
  const QString line = document.command().replace(0, 8, lockstep_program());
  shell.start("/bin/sh", {"-c", line + " --csv --estimate"});
  ASSERT_TRUE(shell.waitForFinished(60'000));
  EXPECT_EQ(shell.exitCode(), 0) << shell.readAllStandardError().toStdString();
  EXPECT_EQ(shell.readAllStandardOutput().count('\n'), 4);
}

}  // namespace
}  // namespace lockstep::gui
