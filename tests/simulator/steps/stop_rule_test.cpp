#include <gtest/gtest.h>

#include "simulator/steps/step_record.h"

namespace lockstep {
namespace {

StepRecord record_of(const std::vector<double>& step_times, int warm_up) {
  StepRecord record;
  record.warm_up_steps = warm_up;
  double end = 0;
  for (const double time : step_times) {
    record.steps.emplace_back();
    record.steps.back().end = end += time;
  }
  return record;
}

TEST(ARunEnds, WhenTwoSteadyStepsAgree) {
  EXPECT_FALSE(finished(record_of({1, 1, 1}, 0), {}));  // fewer than four steps
  EXPECT_TRUE(finished(record_of({1, 1, 1, 1}, 0), {}));
  EXPECT_FALSE(finished(record_of({1, 1, 1, 1.0001}, 0), {}));
  EXPECT_FALSE(finished(record_of({3, 3, 3, 3}, 3), {}));  // one steady step only
  EXPECT_TRUE(finished(record_of({3, 3, 3, 3, 3}, 3), {}));
}

TEST(ARunEnds, AfterTheMostStepsWhateverTheyShow) {
  std::vector<double> never_settles;
  for (int i = 0; i < 19; ++i) never_settles.push_back(1 + i);
  EXPECT_FALSE(finished(record_of(never_settles, 0), {}));
  never_settles.push_back(30);
  EXPECT_TRUE(finished(record_of(never_settles, 0), {}));
}

TEST(ARunEnds, WithNoiseAfterAFixedNumberOfSteadySteps) {
  StopRule rule;
  rule.fixed_steady = 3;
  EXPECT_FALSE(finished(record_of({1, 1, 1, 1}, 2), rule));
  EXPECT_TRUE(finished(record_of({1, 1, 1, 1, 1}, 2), rule));
}

}  // namespace
}  // namespace lockstep
