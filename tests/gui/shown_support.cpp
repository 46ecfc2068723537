#include "tests/gui/shown_support.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "gui/runs/estimator.h"
#include "tests/gui/support.h"

namespace lockstep::gui::testing {

Shown shown_of(const std::string& scenario, const std::vector<std::string>& sets) {
  std::string path = source_path("scenarios/gallery/" + scenario + ".yaml");
  if (!std::filesystem::exists(path)) path = source_path("scenarios/" + scenario + ".yaml");
  LoadedInputs loaded;
  const Estimate estimate = estimate_now({text_of_file(path), path, sets}, loaded, true);
  EXPECT_TRUE(estimate.result) << path << (estimate.errors.empty() ? "" : ": " + to_text(estimate.errors.front()));
  Shown shown;
  shown.result = estimate.result;
  shown.topology = estimate.topology;
  return shown;
}

std::shared_ptr<const Result> measured_twin(const Result& result, double factor) {
  auto measured = std::make_shared<Result>(result);
  measured->kind = "measured";
  for (lockstep::Run& run : measured->runs) {
    run.timeline.clear();
    run.other_timelines.clear();
    run.step_time_s *= factor;
    for (double& part : run.breakdown_s) part *= factor;
    for (BucketTimes& bucket : run.buckets)
      for (double* time : {&bucket.ready_s, &bucket.launch_s, &bucket.start_s, &bucket.end_s}) *time *= factor;
  }
  return measured;
}

}  // namespace lockstep::gui::testing
