#include "gui/runs/estimator.h"

#include <gtest/gtest.h>

#include <QFile>

#include "tests/gui/support.h"

namespace lockstep::gui {
namespace {

ScenarioText gallery(const std::string& name) {
  const std::string path = testing::source_path("scenarios/gallery/" + name + ".yaml");
  return {testing::text_of_file(path), path, {}};
}

TEST(Estimator, EstimatesWithoutAnEngineInThisProcess) {
  LoadedInputs loaded;
  const Estimate estimate = estimate_now(gallery("second-node-10gbe"), loaded);
  ASSERT_TRUE(estimate.result);
  EXPECT_EQ(estimate.result->runs.size(), 3U);
  EXPECT_EQ(estimate.result->fidelity.at("network"), "estimated");
  EXPECT_GT(estimate.result->runs.back().step_time_s, 0);
  EXPECT_EQ(estimate.effective.at("topology.override.nic.rate"), "1250MB/s");
  QFile maps("/proc/self/maps");
  ASSERT_TRUE(maps.open(QIODevice::ReadOnly));
  const QByteArray mapped = maps.readAll();
  EXPECT_FALSE(mapped.contains("libsimgrid"));
  EXPECT_FALSE(mapped.contains("libtorch"));
}

TEST(Estimator, NamesOnlyRatesOfLinksThatTheMachineHas) {
  LoadedInputs loaded;
  const auto effective = [&](const char* name) { return estimate_now(gallery(name), loaded).effective; };
  EXPECT_EQ(effective("bert-bucket-cap").count("topology.override.nvlink.rate"), 0U);
  EXPECT_EQ(effective("bert-bucket-cap").count("topology.override.pcie.rate"), 1U);
  EXPECT_EQ(effective("cpu-two-ranks").count("topology.override.pcie.rate"), 0U);
  EXPECT_EQ(effective("v100-dgx1").count("topology.override.nvlink.rate"), 1U);
}

TEST(Estimator, ASettingMovesTheEstimateAsItMovesTheSimulation) {
  LoadedInputs loaded;
  ScenarioText slow = gallery("second-node-10gbe");
  const Estimate before = estimate_now(slow, loaded);
  slow.text += "ddp: {bucket_cap: 100MiB}\n";
  const Estimate after = estimate_now(slow, loaded);
  ASSERT_TRUE(before.result && after.result);
  EXPECT_NE(before.result->runs.back().step_time_s, after.result->runs.back().step_time_s);
}

TEST(Estimator, WhatIsWrongComesBackAsErrors) {
  LoadedInputs loaded;
  ScenarioText wrong = gallery("second-node-10gbe");
  wrong.text.replace(wrong.text.find("eth-10g"), 7, "eth-11g");
  const Estimate estimate = estimate_now(wrong, loaded);
  EXPECT_FALSE(estimate.result);
  ASSERT_FALSE(estimate.errors.empty());
  EXPECT_EQ(estimate.errors.front().key, "topology.fabric");
}

TEST(Estimator, OnlyTheNewestOfManyRequestsNeedsToBeAnswered) {
  Estimator estimator;
  std::vector<quint64> answered;
  QObject::connect(&estimator, &Estimator::done, [&](std::shared_ptr<const Estimate> e) { answered.push_back(e->id); });
  quint64 last = 0;
  for (int i = 0; i < 50; ++i) last = estimator.request(gallery("strong-scaling"));
  ASSERT_TRUE(testing::wait_until([&] { return !answered.empty() && answered.back() == last; }));
  EXPECT_LT(answered.size(), 10U);
}

}  // namespace
}  // namespace lockstep::gui
