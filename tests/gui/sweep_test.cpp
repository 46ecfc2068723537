// What the sweeps of the window compute, without widgets: plans, axes, the best bucket cap, scales, places on a map.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "gui/charts/view.h"
#include "gui/runs/estimator.h"
#include "gui/sweep/bucket_curve.h"
#include "gui/sweep/heat_picture.h"
#include "gui/sweep/heat_scale.h"
#include "gui/sweep/sweep_axis.h"
#include "gui/sweep/sweep_grid.h"
#include "gui/sweep/sweep_plan.h"
#include "scenarios/fields.h"
#include "simulator/base/quantity.h"
#include "tests/gui/support.h"

namespace lockstep::gui {
namespace {

constexpr double kMiB = 1 << 20;

ScenarioText gallery(const std::string& name) {
  const std::string path = testing::source_path("scenarios/gallery/" + name + ".yaml");
  return {testing::text_of_file(path), path, {}};
}

PlanAxis axis(const std::string& key, const std::vector<std::string>& values) {
  return {key, values, {}};
}

BucketPoint point_of(double mib, double step_s) {
  BucketPoint point;
  point.yaml = quantity_text(mib * kMiB, Unit::Bytes);
  point.cap_bytes = mib * kMiB;
  point.cell.state = CellState::Known;
  point.cell.estimated = false;
  point.cell.step_s = step_s;
  point.cell.buckets = 3;
  return point;
}

// Explicit caps with their steps, and the default's.
BucketCurve curve_of(const std::vector<std::pair<double, double>>& steps, double usual_s) {
  BucketCurve curve;
  curve.gpus = 8;
  for (const auto& [mib, step_s] : steps) curve.points.push_back(point_of(mib, step_s));
  curve.usual = point_of(25, usual_s);
  curve.usual->yaml = "default";
  curve.usual->is_default = true;
  return curve;
}

TEST(BucketCaps, GoFromHalfAMibibyteBeyondAllGradientsInTenToTwentySteps) {
  for (const double mib : {0.01, 4.0, 40.0, 97.5, 420.0, 528.0, 3000.0, 40000.0}) {
    const auto caps = curve_caps(mib * kMiB);
    EXPECT_EQ(caps.front(), 0.5 * kMiB) << mib;
    EXPECT_GT(caps.back(), mib * kMiB) << mib;
    EXPECT_GE(caps.size(), 10U) << mib;
    EXPECT_LE(caps.size(), 20U) << mib;
    EXPECT_TRUE(std::is_sorted(caps.begin(), caps.end()));
    EXPECT_EQ(std::adjacent_find(caps.begin(), caps.end()), caps.end()) << mib;
    EXPECT_EQ(std::count(caps.begin(), caps.end(), 25 * kMiB), 1) << mib;
  }
}

TEST(BestCap, IsSoldAsAWinOnlyBeyondOnePerCent) {
  const BucketCurve curve =
      curve_of({{1, 0.20}, {5, 0.1015}, {10, 0.100}, {25, 0.1005}, {50, 0.104}, {100, 0.13}}, 0.11);
  const auto plateau = plateau_of(curve);
  ASSERT_TRUE(plateau);
  EXPECT_EQ(plateau->best, 2U);
  EXPECT_EQ(plateau->low, 2U);
  EXPECT_EQ(plateau->high, 3U);
  EXPECT_EQ(fastest_of(curve), &curve.points[2]);
  EXPECT_NEAR(gain_of(curve, curve.points[2]), 1 - 0.100 / 0.11, 1e-12);
  EXPECT_EQ(curve_sentence(curve).toStdString(),
            "10 MiB is best: 100 ms, 9.1 % less than the default. Anything from 10 MiB to 25 MiB is within 1 % of the "
            "fastest.");
}

TEST(BestCap, OfAPlateauIsCalledAsGoodAsAny) {
  BucketCurve curve = curve_of({{1, 0.20}, {5, 0.1005}, {10, 0.100}, {25, 0.1004}, {50, 0.15}}, 0.1004);
  EXPECT_EQ(
      curve_sentence(curve).toStdString(),
      "The default is as good as any: 100 ms; 10 MiB would take 0.40 % less. Anything from 5 MiB to 25 MiB is within "
      "1 % of the fastest.");
  curve.present = "5MiB";
  EXPECT_TRUE(curve_sentence(curve).startsWith("The present 5 MiB is as good as any"));
  curve.present = "10MiB";
  EXPECT_TRUE(curve_sentence(curve).startsWith("10 MiB, as it is set, is fastest"));
  curve = curve_of({{1, 0.1}, {5, 0.1005}, {10, 0.1002}}, 0.1001);
  EXPECT_TRUE(is_flat(curve));
  EXPECT_TRUE(curve_sentence(curve).startsWith("The cap hardly matters here: from 1 MiB to 10 MiB"))
      << curve_sentence(curve).toStdString();
}

TEST(BestCap, NeedsSomethingThatIsKnown) {
  BucketCurve curve = curve_of({{1, 0.1}, {5, 0.2}}, 0.3);
  for (BucketPoint& point : curve.points) point.cell.state = CellState::Pending;
  curve.usual.reset();
  EXPECT_FALSE(plateau_of(curve));
  EXPECT_EQ(fastest_of(curve), nullptr);
  EXPECT_EQ(present_of(curve), nullptr);
  curve.missing = "why";
  EXPECT_EQ(curve_sentence(curve).toStdString(), "why");
}

TEST(BestCap, IsNeverOneThatDoesNotFitInMemory) {
  BucketCurve curve = curve_of({{1, 0.20}, {10, 0.100}, {25, 0.05}}, 0.15);
  curve.points[2].cell.fits = false;
  EXPECT_EQ(fastest_of(curve), &curve.points[1]);
  EXPECT_EQ(plateau_of(curve)->best, 1U);
  EXPECT_TRUE(point_sentence(curve.points[2]).contains("does not fit in the GPU's memory"));
  EXPECT_FALSE(point_sentence(curve.points[1]).contains("fit"));
  for (BucketPoint& point : curve.points) point.cell.fits = false;
  curve.usual->cell.fits = false;
  EXPECT_EQ(fastest_of(curve), nullptr);
  EXPECT_FALSE(plateau_of(curve));
  EXPECT_TRUE(curve_sentence(curve).startsWith("No cap that was tried fits in the GPU's memory"));
}

TEST(HeatScale, IsEvenInLightnessAndStaysDistinct) {
  double last = -1;
  for (int i = 0; i <= 32; ++i) {
    const QColor colour = scale_colour(i / 32.0);
    const double lightness = contrast(colour, Qt::black);
    EXPECT_GT(lightness, last) << i;
    last = lightness;
    EXPECT_GE(contrast(colour, ink_on(colour)), 4.5) << i;
  }
  EXPECT_EQ(scale_colour(-1), scale_colour(0));
  EXPECT_EQ(scale_colour(2), scale_colour(1));
  EXPECT_NEAR(contrast(Qt::black, Qt::white), 21, 1e-6);
}

TEST(HeatLayout, FindsTheCellUnderAPointAndMovesInside) {
  HeatPicture picture;
  picture.across = {"1", "2", "4"};
  picture.up = {"a", "b"};
  picture.cells.resize(6);
  const HeatLayout layout = heat_layout(picture, QRectF(10, 20, 600, 400), QFont(), true);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(layout.at(layout.cell(i).center()), i);
    EXPECT_TRUE(QRectF(10, 20, 600, 400).contains(layout.cell(i)));
  }
  EXPECT_GT(layout.cell(0).top(), layout.cell(3).top());  // rows from below
  EXPECT_FALSE(layout.at({11, 21}));
  EXPECT_EQ(moved(layout, 0, 1, 0), 1U);
  EXPECT_EQ(moved(layout, 2, 1, 0), 2U);
  EXPECT_EQ(moved(layout, 2, 0, 1), 5U);
  EXPECT_EQ(moved(layout, 5, -1, -1), 1U);
}

TEST(SweepPlan, NumbersPointsAndNamesThem) {
  const auto plan = make_plan(gallery("second-node-10gbe"), Strategy::Ddp, 8,
                              {axis("batch.per_gpu", {"32", "64"}), axis("precision", {"fp32", "tf32", "amp-fp16"})});
  ASSERT_TRUE(plan) << to_text(plan.error().front());
  EXPECT_EQ(plan->size(), 6U);
  EXPECT_EQ(plan->index(5, 0), 1U);
  EXPECT_EQ(plan->index(5, 1), 2U);
  EXPECT_EQ(plan->text_of(1).sets.back(), "precision=fp32");
  EXPECT_EQ(set_of(plan->axes[1], {0, 2}), "precision=[fp32, amp-fp16]");
}

TEST(SweepPlan, IsTheSameForAnotherValueOfWhatItSweepsAndAnotherForTheRest) {
  const ScenarioText text = gallery("second-node-10gbe");
  const std::vector<PlanAxis> axes = {axis("gpus", {"4", "8"}), axis("ddp.bucket_cap", {"default", "5MiB"})};
  const auto plan = make_plan(text, Strategy::Ddp, 8, axes);
  const auto swept = make_plan(text.with("ddp.bucket_cap=5MiB").with("gpus=[4]"), Strategy::Ddp, 8, axes);
  const auto other = make_plan(text.with("batch.per_gpu=32"), Strategy::Ddp, 8, axes);
  ASSERT_TRUE(plan && swept && other);
  EXPECT_EQ(plan->identity, swept->identity);
  EXPECT_NE(plan->identity, other->identity);
  EXPECT_EQ(plan->key_of(3), swept->key_of(3));
}

TEST(SweepPlan, RefusesAWrongValueWithItsRange) {
  const auto plan = make_plan(gallery("second-node-10gbe"), Strategy::Ddp, 8,
                              {axis("batch.per_gpu", {"32", "0"}), axis("gpus", {"8"})});
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().front().key, "batch.per_gpu");
  EXPECT_FALSE(plan.error().front().allowed.empty());
}

TEST(SweepPlan, FindsTheListsOfAFileAndFixesThoseThatItDoesNotSweep) {
  const ScenarioText text = gallery("strong-scaling")
                                .with("ddp.bucket_cap=[1MiB, 25MiB]")
                                .with("precision=[fp32, tf32]")
                                .with("optimizer.name=[sgd, adam]");
  const auto listed = listed_axes(text);
  ASSERT_EQ(listed.size(), 3U);
  EXPECT_EQ(listed_axes(gallery("strong-scaling")).size(), 0U);
  const auto plan = make_plan(text, Strategy::Ddp, 4, {listed[0], listed[1]});
  ASSERT_TRUE(plan) << to_text(plan.error().front());
  EXPECT_EQ(plan->size(), 4U);
  LoadedInputs loaded;
  EXPECT_EQ(estimate_cell(*plan, 3, loaded).state, CellState::Known);
}

TEST(ValueLists, AreReadAsPeopleTypeThem) {
  EXPECT_EQ(values_of_text("1, 2,  25 MiB").value(), (std::vector<std::string>{"1", "2", "25 MiB"}));
  EXPECT_EQ(values_of_text(" [a, b]").value(), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(values_of_text("").value().empty());
  EXPECT_FALSE(values_of_text("{a, "));
}

AxisContext context_of(const Scenario& scenario, std::map<std::string, std::string> effective) {
  AxisContext context;
  context.scenario = &scenario;
  context.effective = std::move(effective);
  return context;
}

TEST(SweepAxis, ValuesSurroundThePresentOneWithinTheRangeOfTheKey) {
  Scenario scenario;
  scenario.gpus = {2, 8};
  scenario.per_gpu_batch = 64;
  AxisContext context = context_of(scenario, {{"topology.override.nic.rate", "1250MB/s"}});
  context.values = {{"batch.per_gpu", "64"}, {"accumulate.steps", "1"}, {"ddp.bucket_cap", "30MiB"}};
  EXPECT_EQ(default_axis("gpus", context).values, (std::vector<std::string>{"1", "2", "4", "8", "16"}));
  context.most_gpus = 8;
  EXPECT_EQ(default_axis("gpus", context).values, (std::vector<std::string>{"1", "2", "4", "8"}));
  EXPECT_EQ(default_axis("batch.per_gpu", context).values, (std::vector<std::string>{"16", "32", "64", "128", "256"}));
  EXPECT_EQ(default_axis("accumulate.steps", context).values, (std::vector<std::string>{"1", "2", "4"}));
  const PlanAxis rates = default_axis("topology.override.nic.rate", context);
  EXPECT_EQ(rates.values, (std::vector<std::string>{"0.3125GB/s", "0.625GB/s", "1.25GB/s", "2.5GB/s", "5GB/s"}));
  EXPECT_EQ(present_index(rates, context), 2U);
  EXPECT_EQ(axis_labels(rates).title.toStdString(), "Network adapter rate (GB/s)");
  EXPECT_EQ(axis_labels(rates).labels[0].toStdString(), "0.3125");
  const PlanAxis caps = default_axis("ddp.bucket_cap", context);
  EXPECT_EQ(caps.values[5], "30MiB");
  EXPECT_EQ(present_index(caps, context), 5U);
  context.values.erase("ddp.bucket_cap");
  EXPECT_EQ(present_index(caps, context), 0U);  // `default`, not 25 MiB
}

TEST(SweepAxis, OffersEveryKeyThatHasAnInfluenceReadyOnesFirst) {
  Scenario scenario;
  scenario.gpus = {8};
  scenario.global_batch = 256;
  const AxisKeys keys = axis_keys(context_of(scenario, {{"topology.override.nvlink.rate", "300GB/s"}}));
  ASSERT_GE(keys.ready, 4U);
  EXPECT_EQ(keys.fields[0]->key, "gpus");
  EXPECT_EQ(keys.fields[1]->key, "topology.override.nvlink.rate");
  EXPECT_EQ(keys.fields[2]->key, "batch.global");
  EXPECT_EQ(keys.fields[3]->key, "ddp.bucket_cap");
  EXPECT_GT(keys.fields.size(), 25U);
  for (const FieldInfo* field : keys.fields) {
    EXPECT_NE(field->key, "batch.per_gpu");
    EXPECT_NE(field->key, "question");
    EXPECT_NE(field->key, "measure.steps");
  }
}

// Whatever is chosen from the list can be swept as it is proposed.
TEST(SweepAxis, EveryProposedListIsAcceptedAsItStands) {
  const ScenarioText text = gallery("second-node-10gbe");
  const auto read = read_scenario_with_origins(text.text, text.file);
  ASSERT_TRUE(read);
  LoadedInputs loaded;
  AxisContext context = context_of(read->scenario, estimate_now(text, loaded).effective);
  for (const ResolvedField& field : scenario_fields().resolved(read->scenario, read->reading))
    context.values[field.key] = field.yaml;
  for (const FieldInfo* field : axis_keys(context).fields) {
    const PlanAxis proposed = default_axis(field->key, context);
    EXPECT_FALSE(proposed.values.empty()) << field->key;
    EXPECT_LE(proposed.values.size(), kMostAxisValues) << field->key;
    const auto plan = make_plan(text, Strategy::Ddp, 8, {proposed});
    EXPECT_TRUE(plan) << field->key << ": " << (plan ? "" : to_text(plan.error().front()));
    if (present_value(field->key, context).empty()) continue;  // of a link that nobody has set
    EXPECT_TRUE(present_index(proposed, context)) << field->key << " of " << text_of_values(proposed.values);
  }
}

SweepGrid grid_of(const std::vector<double>& efficiencies) {
  SweepGrid grid;
  grid.axes = {{"gpus", {"1", "2"}, {"1", "2"}}, {"batch.per_gpu", {"32", "64"}, {"32", "64"}}};
  for (const double efficiency : efficiencies) {
    SweepCell cell;
    cell.state = efficiency > 0 ? CellState::Known : CellState::NotRun;
    cell.reason = "too many";
    cell.efficiency = efficiency;
    cell.step_s = 0.1 / std::max(0.01, efficiency);
    grid.cells.push_back(cell);
  }
  grid.present = 3;
  return grid;
}

TEST(SweepGrid, KnowsTheBestAndPrefersEqualsThatLookLikeThePresent) {
  EXPECT_EQ(best_cell(grid_of({0.9, 0.5, 0.9, 0.4}), SweepMetric::Efficiency), 2U);
  EXPECT_EQ(best_cell(grid_of({0.9, 0.5, 0.8, 0.4}), SweepMetric::StepTime), 0U);
  EXPECT_FALSE(best_cell(grid_of({0, 0, 0, 0}), SweepMetric::Efficiency));
}

TEST(SweepGrid, GivesSmallDifferencesSmallDifferencesOfColour) {
  const MetricScale narrow = metric_scale(grid_of({0.95, 0.94, 0.93, 0.92}), SweepMetric::Efficiency);
  EXPECT_NEAR(narrow.worst, 0.8 * 0.95, 1e-12);
  EXPECT_GT(narrow.share(0.92), 0.8);
  const MetricScale wide = metric_scale(grid_of({0.9, 0.5, 0.3, 0.1}), SweepMetric::Efficiency);
  EXPECT_EQ(wide.share(0.1), 0);
  EXPECT_EQ(wide.share(0.9), 1);
  const MetricScale time = metric_scale(grid_of({0.9, 0.5, 0.3, 0.1}), SweepMetric::StepTime);
  EXPECT_EQ(time.share(time.best), 1);
  EXPECT_EQ(time.share(time.worst), 0);
  EXPECT_LT(time.best, time.worst);
  EXPECT_EQ(time.unit.toStdString(), "s");
}

TEST(SweepGrid, SaysWhatACellSays) {
  const SweepGrid grid = grid_of({0.9, 0, 0.3, 0.45});
  EXPECT_EQ(cell_sentence(grid, 1, SweepMetric::Efficiency).toStdString(),
            "GPUs 2, Batch per GPU 32: cannot run. too many");
  EXPECT_TRUE(cell_sentence(grid, 3, SweepMetric::Efficiency).contains("efficiency 45.0 %"));
  EXPECT_TRUE(cell_sentence(grid, 3, SweepMetric::Efficiency).contains("50 % of the best"));
  EXPECT_EQ(
      grid_sentence(grid, SweepMetric::Efficiency).toStdString(),
      "DDP: the best efficiency is 90.0 % at GPUs 1, Batch per GPU 32. The present settings reach 45.0 %, 50 % of "
      "the best.");
  const HeatPicture picture = heat_picture(grid, SweepMetric::Efficiency);
  EXPECT_EQ(picture.cells[1].kind, HeatCell::Kind::NotRun);
  EXPECT_EQ(picture.cells[0].text.toStdString(), "90.0");
}

TEST(SweepGrid, LeavesWhatDoesNotFitInMemoryOutOfTheBest) {
  SweepGrid grid = grid_of({0.9, 0.95, 0.3, 0.45});
  grid.cells[1].fits = false;
  EXPECT_EQ(best_cell(grid, SweepMetric::Efficiency), 0U);
  EXPECT_EQ(metric_scale(grid, SweepMetric::Efficiency).best, 0.9);
  EXPECT_TRUE(grid_sentence(grid, SweepMetric::Efficiency).contains("is 90.0 % at GPUs 1"));
  EXPECT_TRUE(cell_sentence(grid, 1, SweepMetric::Efficiency).endsWith("; does not fit in the GPU's memory)"));
  EXPECT_FALSE(heat_picture(grid, SweepMetric::Efficiency).cells[1].fits);
  EXPECT_TRUE(heat_picture(grid, SweepMetric::Efficiency).cells[0].fits);
  grid.present = 1;
  EXPECT_TRUE(
      grid_sentence(grid, SweepMetric::Efficiency).endsWith("The present settings do not fit in the GPU's memory."));
  for (SweepCell& cell : grid.cells) cell.fits = false;
  EXPECT_FALSE(best_cell(grid, SweepMetric::Efficiency));
  EXPECT_TRUE(grid_sentence(grid, SweepMetric::Efficiency).contains("no cell that is known fits"));
}

// Already the estimate knows: nobody simulates for it.
TEST(SweepCells, KnowWhetherTheyFitInMemory) {
  const ScenarioText text{
      "model: vit-b-16\nbatch: {per_gpu: 64}\ntopology: dgx1-v100\ngpus: [8]\nstrategy: ddp\n", "fits.yaml", {}};
  LoadedInputs loaded;
  const auto plan = make_plan(text, Strategy::Ddp, 8, {axis("batch.per_gpu", {"64", "600"})});
  ASSERT_TRUE(plan) << to_text(plan.error().front());
  EXPECT_TRUE(estimate_cell(*plan, 0, loaded).fits);
  EXPECT_FALSE(estimate_cell(*plan, 1, loaded).fits);
}

TEST(SweepGrid, SaysHowACellDiffersFromThePinnedResult) {
  SweepGrid grid = grid_of({0.9, 0, 0.3, 0.45});
  grid.cells[3].gpus = 2;
  Result pinned;
  for (const int gpus : {2, 8}) {
    lockstep::Run run;
    run.strategy = Strategy::Ddp;
    run.gpus = gpus;
    run.step_time_s = 0.1;
    run.efficiency = gpus == 2 ? 0.5 : 0.25;
    pinned.runs.push_back(run);
  }
  EXPECT_EQ(cell_against(grid, 3, SweepMetric::Efficiency, pinned).toStdString(),
            "Pinned (2 GPUs): 50.0 %; this is −5.00 points.");
  grid.cells[3].gpus = 4;
  EXPECT_EQ(cell_against(grid, 3, SweepMetric::Efficiency, pinned).toStdString(),
            "Pinned (8 GPUs): 25.0 %; this is +20.0 points.");
  EXPECT_TRUE(cell_against(grid, 1, SweepMetric::Efficiency, pinned).isEmpty());
  grid.strategy = Strategy::Dp;
  EXPECT_TRUE(cell_against(grid, 3, SweepMetric::Efficiency, pinned).isEmpty());
  const BucketCurve before = curve_of({{5, 0.2}}, 0.3), after = curve_of({{5, 0.1}}, 0.33);
  EXPECT_EQ(point_against(after.points[0], before).toStdString(), "pinned: 200 ms; this is -50 %");
  EXPECT_EQ(point_against(*after.usual, before).toStdString(), "pinned: 300 ms; this is +10 %");
}

// What is set explicitly to the value that holds anyway changes nothing: estimates of both sweeps agree with the
// scenario's own, at every machine of the gallery.
TEST(SweepCells, AtThePresentValuesAreThePrediction) {
  for (const char* name : {"second-node-10gbe", "pcie-box", "v100-dgx1", "infiniband-scaling", "bert-bucket-cap",
                           "old-node-beside-new", "cpu-two-ranks", "gpt2-accumulation", "vgg16-data-parallel"}) {
    const ScenarioText text = gallery(name);
    LoadedInputs loaded;
    const Estimate estimate = estimate_now(text, loaded);
    ASSERT_TRUE(estimate.result) << name;
    const auto read = read_scenario_with_origins(text.text, text.file);
    ASSERT_TRUE(read);
    AxisContext context = context_of(read->scenario, estimate.effective);
    for (const ResolvedField& field : scenario_fields().resolved(read->scenario, read->reading))
      context.values[field.key] = field.yaml;
    context.most_gpus = estimate.topology->most_gpus();
    const lockstep::Run* largest = nullptr;
    for (const lockstep::Run* run : runs_of(*estimate.result))
      if (run->strategy != Strategy::Single && (largest == nullptr || run->gpus >= largest->gpus)) largest = run;
    ASSERT_NE(largest, nullptr) << name;
    const std::vector<PlanAxis> axes = first_axes(context);
    const auto plan = make_plan(text, largest->strategy, largest->gpus, axes);
    ASSERT_TRUE(plan) << name << ": " << to_text(plan.error().front());
    const auto x = present_index(plan->axes[0], context), y = present_index(plan->axes[1], context);
    ASSERT_TRUE(x && y) << name << ": " << text_of_values(axes[1].values);
    const SweepCell cell = estimate_cell(*plan, *x + *y * axes[0].values.size(), loaded);
    EXPECT_NEAR(cell.step_s, largest->step_time_s, 1e-9 * largest->step_time_s) << name << ' ' << axes[1].key;
    const auto caps = make_plan(text, Strategy::Ddp, largest->gpus, {default_axis("ddp.bucket_cap", context)});
    if (largest->strategy != Strategy::Ddp) continue;
    const auto at = present_index(caps->axes[0], context);
    ASSERT_TRUE(at) << name;
    const SweepCell bucket = estimate_cell(*caps, *at, loaded);
    EXPECT_EQ(bucket.step_s, largest->step_time_s) << name;
    ASSERT_FALSE(largest->buckets.empty()) << name;
    EXPECT_EQ(bucket.buckets, largest->buckets.back().index + 1) << name;
  }
}

}  // namespace
}  // namespace lockstep::gui
