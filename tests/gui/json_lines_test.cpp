#include "gui/runs/json_lines.h"

#include <gtest/gtest.h>

#include "simulator/result/json.h"

namespace lockstep::gui {
namespace {

TEST(JsonLines, ProgressAndErrorsAreRead) {
  const JsonLine line = read_json_line(R"({"type":"progress","done":3,"total":9,"text":"ddp on 8 GPUs"})");
  ASSERT_TRUE(std::holds_alternative<ProgressLine>(line));
  EXPECT_EQ(std::get<ProgressLine>(line).done, 3);
  EXPECT_EQ(std::get<ProgressLine>(line).text, "ddp on 8 GPUs");
  const JsonLine error = read_json_line(R"({"type":"error","message":"x.yaml:3: gpus: too many"})");
  ASSERT_TRUE(std::holds_alternative<ErrorLine>(error));
}

TEST(JsonLines, ARunIsReadAsItWasWritten) {
  lockstep::Run run;
  run.strategy = Strategy::Ddp;
  run.gpus = run.world_size = run.processes = 8;
  run.step_time_s = 0.1234567890123456;
  const JsonLine line = read_json_line(R"({"type":"run",)" + run_to_json(run).substr(1));
  ASSERT_TRUE(std::holds_alternative<lockstep::Run>(line));
  EXPECT_EQ(std::get<lockstep::Run>(line).step_time_s, run.step_time_s);
  EXPECT_EQ(std::get<lockstep::Run>(line).gpus, 8);
}

TEST(JsonLines, AStepOfAMeasurementIsRead) {
  const JsonLine line = read_json_line(
      R"({"type":"step","strategy":"ddp","gpus":2,"repeat":1,"step":4,"warm_up":false,"step_time_s":0.25})");
  ASSERT_TRUE(std::holds_alternative<StepLine>(line));
  EXPECT_EQ(std::get<StepLine>(line).step_time_s, 0.25);
}

TEST(JsonLines, TheSummaryOfASweepIsRead) {
  const JsonLine line = read_json_line(R"({"type":"summary","points":6,"run":4,"not_run":2,"failed":0})");
  ASSERT_TRUE(std::holds_alternative<SummaryLine>(line));
  EXPECT_EQ(std::get<SummaryLine>(line).points, 6);
  EXPECT_EQ(std::get<SummaryLine>(line).not_run, 2);
}

TEST(JsonLines, NonsenseIsABadLineAndNothingWorse) {
  for (const char* text :
       {"", "Segmentation fault", "[1,2]", "{}", R"({"type":"result"})", R"({"type":"run","gpus":"x"})",
        R"({"type":"step"})", R"({"type":"news"})", "{\"type\":\"progress\"", "\xff\xfe"}) {
    EXPECT_TRUE(std::holds_alternative<BadLine>(read_json_line(text))) << text;
  }
}

}  // namespace
}  // namespace lockstep::gui
