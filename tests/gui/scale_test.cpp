// Sliders, axes, headlines, the command line: arithmetic and text without a window.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "gui/app/arguments.h"
#include "gui/app/headline.h"
#include "gui/app/slider_scale.h"
#include "gui/app/what_if_panel.h"
#include "gui/charts/axis.h"
#include "gui/charts/breakdown_view.h"
#include "gui/charts/scaling_view.h"
#include "scenarios/fields.h"
#include "simulator/result/json.h"
#include "tests/gui/support.h"

namespace lockstep::gui {
namespace {

const FieldInfo& field(const char* key) {
  return *scenario_fields().info().find(key);
}

TEST(SliderScale, EveryPositionIsAValueTheFieldAllowsAndComesBack) {
  int tried = 0;
  for (const FieldInfo& one : scenario_fields().info().fields) {
    const auto scale = slider_scale(one, std::nullopt);
    if (!scale) continue;
    double last = -1;
    for (int p = 0; p <= kSliderSteps; p += 20) {
      const double value = scale->value(p);
      EXPECT_GE(value, last) << one.key;
      last = value;
      const auto again = number_of(scale->yaml(value), scale->unit);
      ASSERT_TRUE(again) << one.key << ' ' << scale->yaml(value);
      EXPECT_NEAR(*again, value, 1e-9 * std::abs(value) + 1e-15) << one.key;
      if (one.low) {
        EXPECT_GE(*again, *one.low) << one.key;
      }
      if (one.high) {
        EXPECT_LE(*again, *one.high) << one.key;
      }
    }
    EXPECT_EQ(scale->position(scale->low), 0) << one.key;
    EXPECT_EQ(scale->position(scale->high), kSliderSteps) << one.key;
    ++tried;
  }
  EXPECT_GT(tried, 20);
}

TEST(SliderScale, ABucketCapMovesInWholeMebibytes) {
  const auto scale = slider_scale(field("ddp.bucket_cap"), 25.0 * (1 << 20));
  ASSERT_TRUE(scale);
  EXPECT_EQ(scale->yaml(scale->rounded(27.4e6)), "26MiB");
  EXPECT_EQ(scale->yaml(scale->stepped(25.0 * (1 << 20), 1)), "50MiB");
}

TEST(SliderScale, AValueBeyondTheUsualStretchesTheSlider) {
  const auto scale = slider_scale(field("batch.per_gpu"), 5000.0);
  ASSERT_TRUE(scale);
  EXPECT_EQ(scale->position(5000), kSliderSteps);
}

TEST(SliderScale, GpusKeepTheirListBelowTheNewLargest) {
  EXPECT_EQ(gpus_up_to({1, 2, 4, 8}, 32), (std::vector<int>{1, 2, 4, 8, 16, 32}));
  EXPECT_EQ(gpus_up_to({1, 2, 4, 8}, 4), (std::vector<int>{1, 2, 4}));
  EXPECT_EQ(gpus_up_to({1, 2, 3, 4}, 8), (std::vector<int>{1, 2, 3, 4, 8}));
  EXPECT_EQ(gpus_up_to({8}, 16), (std::vector<int>{8, 16}));
  EXPECT_EQ(gpus_up_to({8}, 8), (std::vector<int>{8}));
  EXPECT_EQ(list_of("1, 2,4"), (std::vector<int>{1, 2, 4}));
  EXPECT_EQ(list_of("1 2\t4  8"), (std::vector<int>{1, 2, 4, 8}));
  EXPECT_TRUE(list_of("1, x").empty());
  EXPECT_EQ(list_yaml({1, 2}), "[1, 2]");
}

TEST(Axis, TicksAreRoundAndCoverTheRange) {
  for (const double high : {0.00012, 0.9, 1.0, 7.3, 131.0, 250.0, 18300.0, 1e9}) {
    const Ticks ticks = nice_ticks(0, high, 5);
    EXPECT_EQ(ticks.low, 0);
    EXPECT_GE(ticks.high, high * (1 - 1e-9));
    EXPECT_LE(ticks.count(), 8);
    EXPECT_GE(ticks.count(), 3);
    EXPECT_NE(QString::number(ticks.step, 'f', ticks.decimals), QString::number(0.0, 'f', ticks.decimals)) << high;
  }
  EXPECT_EQ(nice_ticks(0, 0.25, 5).decimals, 2);
}

TEST(Axis, LabelsOfManyGpusKeepTheEndsAndStayApart) {
  std::vector<int> all;
  for (int g = 1; g <= 64; ++g) all.push_back(g);
  const auto shown = labelled(all, 7);
  EXPECT_EQ(shown.front(), 1);
  EXPECT_EQ(shown.back(), 64);
  EXPECT_LE(shown.size(), 8U);
  EXPECT_EQ(labelled({1, 2, 4}, 9), (std::vector<int>{1, 2, 4}));
}

TEST(Panel, HoldsEveryKeyOfThisVersionOnce) {
  std::map<std::string, int> times;
  for (const FieldGroup& group : field_groups())
    for (const FieldInfo* one : group.fields) ++times[one->key];
  for (const FieldInfo& one : scenario_fields().info().fields) {
    const bool later = one.type == FieldType::Later || one.type == FieldType::Ignored;
    const bool single_choice = one.type == FieldType::Choice && one.choices.size() < 2;
    EXPECT_EQ(times[one.key], later || single_choice ? 0 : 1) << one.key;
  }
}

std::shared_ptr<const Result> stored(const char* name) {
  const auto text = testing::text_of_file(std::string(LOCKSTEP_ANSWERS) + "/" + name + ".json");
  auto result = result_from_json(text, name);
  EXPECT_TRUE(result) << name;
  return result ? std::make_shared<Result>(*std::move(result)) : nullptr;
}

TEST(Scaling, LinesAreTheRunsOfTheResult) {
  Shown shown;
  shown.result = stored("dp-vs-ddp-resnet50-8xa100");
  ASSERT_TRUE(shown.result);
  const auto lines = scaling_lines(shown, Metric::StepTime);
  ASSERT_EQ(lines.size(), 4U);  // ideal, no wrapper, DP, DDP
  EXPECT_EQ(lines[0].kind, ScalingLine::Kind::Ideal);
  const ScalingLine& ddp = lines[3];
  ASSERT_EQ(ddp.points.size(), 4U);
  const lockstep::Run& last = shown.result->runs.back();
  EXPECT_EQ(ddp.points.back().value, last.step_time_s);
  EXPECT_EQ(ddp.points.back().low, last.uncertainty->low);
  EXPECT_EQ(ddp.points.back().high, last.uncertainty->high);
}

TEST(Scaling, TheBandOfTheEfficiencyIsNarrowerThanThatOfTheStep) {
  Shown shown;
  shown.result = stored("dp-vs-ddp-resnet50-8xa100");
  ASSERT_TRUE(shown.result);
  for (const ScalingLine& line : scaling_lines(shown, Metric::Efficiency))
    for (const ScalingPoint& point : line.points) {
      if (!point.low) continue;
      EXPECT_LE(*point.low, point.value);
      EXPECT_GE(*point.high, point.value);
    }
  const auto throughput = scaling_lines(shown, Metric::Throughput),
             efficiency = scaling_lines(shown, Metric::Efficiency);
  const ScalingPoint &t = throughput.back().points.back(), &e = efficiency.back().points.back();
  EXPECT_LT(*e.high / *e.low, *t.high / *t.low);
}

TEST(Scaling, WhiskersOfAMeasurementReachFromTheFastestToTheSlowestStep) {
  auto measured = std::make_shared<Result>();
  lockstep::Run run;
  run.strategy = Strategy::Ddp;
  run.gpus = 2;
  run.global_batch = 16;
  run.step_time_s = 0.2;
  run.throughput = 80;
  run.samples = {{0, {0.19, 0.2}}, {1, {0.25, 0.2}}};
  measured->kind = "measured";
  measured->runs = {run};
  Shown shown;
  shown.measured.push_back({"m", measured});
  const auto lines = scaling_lines(shown, Metric::Throughput);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].points[0].samples, 4);
  EXPECT_NEAR(*lines[0].points[0].low, 16 / 0.25, 1e-9);
  EXPECT_NEAR(*lines[0].points[0].high, 16 / 0.19, 1e-9);
}

TEST(Breakdown, BarsAddUpToTheStep) {
  for (const char* name : {"dp-vs-ddp-resnet50-8xa100", "second-node-10gbe", "data-loader-limit"}) {
    Shown shown;
    shown.result = stored(name);
    ASSERT_TRUE(shown.result);
    const auto bars = breakdown_bars(shown);
    EXPECT_EQ(bars.size(), runs_of(*shown.result).size());
    for (const BreakdownBar& bar : bars) {
      double sum = 0;
      for (const BreakdownPart& part : bar.parts) sum += part.seconds;
      EXPECT_NEAR(sum, bar.step_s, 1e-9 * bar.step_s) << name << ' ' << bar.name.toStdString();
    }
  }
}

TEST(Headline, SpeedFirstThenWhyAndEveryOtherSentenceBehindMore) {
  const auto result = stored("second-node-10gbe");
  ASSERT_TRUE(result);
  const Headline head = headline(*result);
  EXPECT_TRUE(head.main.contains(QStringLiteral("8\u00a0GPUs")));
  EXPECT_TRUE(head.why.contains("all-reduce"));
  EXPECT_FALSE(head.more.isEmpty());
}

TEST(Arguments, AreReadWithoutADisplay) {
  EXPECT_EQ(read_arguments({"--help"}).what, GuiArguments::Do::Help);
  EXPECT_EQ(read_arguments({"x.yaml", "--version"}).what, GuiArguments::Do::Version);
  EXPECT_EQ(read_arguments({"--export", "out"}).what, GuiArguments::Do::Wrong);
  EXPECT_EQ(read_arguments({"--theme", "pink"}).what, GuiArguments::Do::Wrong);
  EXPECT_EQ(read_arguments({"--frobnicate"}).what, GuiArguments::Do::Wrong);
  const GuiArguments both = read_arguments({"--export", "out", "a.yaml", "m.json"});
  EXPECT_EQ(both.what, GuiArguments::Do::Export);
  EXPECT_EQ(both.files.size(), 2U);
}

}  // namespace
}  // namespace lockstep::gui
