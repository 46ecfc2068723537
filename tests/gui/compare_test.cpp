// Differences and errors as numbers, without a window.
#include <gtest/gtest.h>

#include <QImage>
#include <QPainter>
#include <cmath>
#include <set>

#include "gui/app/theme.h"
#include "gui/charts/breakdown_bars.h"
#include "gui/charts/breakdown_view.h"
#include "gui/charts/scaling_lines.h"
#include "gui/charts/scaling_view.h"
#include "gui/compare/difference_view.h"
#include "gui/compare/error_view.h"
#include "gui/export/export_view.h"
#include "gui/export/report.h"
#include "simulator/result/json.h"
#include "tests/gui/shown_support.h"
#include "tests/gui/support.h"

namespace lockstep::gui {
namespace {

using testing::measured_twin;
using testing::shown_of;

// DDP on so many GPUs with a band of ln(step) on both sides.
lockstep::Run ddp(double step_s, double band = 0) {
  lockstep::Run run;
  run.strategy = Strategy::Ddp;
  run.gpus = run.world_size = 8;
  run.per_gpu_batch = 32;
  run.global_batch = 256;
  run.step_time_s = step_s;
  run.throughput = 256 / step_s;
  run.implementation = "model of DDP";
  run.breakdown_s[static_cast<std::size_t>(Cause::Forward)] = step_s;
  if (band > 0) run.uncertainty = Uncertainty{step_s * std::exp(-band), step_s * std::exp(band), 0.8, "test"};
  return run;
}

std::shared_ptr<Result> result_of(std::vector<lockstep::Run> runs) {
  auto result = std::make_shared<Result>();
  result->runs = std::move(runs);
  return result;
}

Shown pinned_and_changed(const std::string& scenario, const std::vector<std::string>& sets) {
  Shown shown = shown_of(scenario, sets);
  shown.baseline = shown_of(scenario).result;
  shown.baseline_name = "before.yaml";
  return shown;
}

TEST(PinnedDifference, HalfAPercentSaysNothingAndOnePercentDoes) {
  EXPECT_TRUE(says_nothing(1.004, ddp(0.1), ddp(0.1)));
  EXPECT_TRUE(says_nothing(0.996, ddp(0.1), ddp(0.1)));
  EXPECT_FALSE(says_nothing(1.01, ddp(0.1), ddp(0.1)));
  EXPECT_FALSE(says_nothing(0.99, ddp(0.1), ddp(0.1)));
}

// sqrt(0.15^2 - 0.09^2) = 0.12; bands alike cancel.
TEST(PinnedDifference, OnlyWhatTheBandsDoNotShareCanHideADifference) {
  EXPECT_FALSE(says_nothing(std::exp(0.02), ddp(0.1, 0.15), ddp(0.1, 0.15)));
  EXPECT_TRUE(says_nothing(std::exp(0.119), ddp(0.1, 0.15), ddp(0.1, 0.09)));
  EXPECT_TRUE(says_nothing(std::exp(-0.119), ddp(0.1, 0.09), ddp(0.1, 0.15)));
  EXPECT_FALSE(says_nothing(std::exp(0.121), ddp(0.1, 0.15), ddp(0.1, 0.09)));
  EXPECT_FALSE(says_nothing(std::exp(-0.121), ddp(0.1, 0.09), ddp(0.1, 0.15)));
}

TEST(PinnedDifference, SentencesTellBothStepsTheChangeAndItsDoubt) {
  Shown shown;
  shown.result = result_of({ddp(0.137)});
  shown.baseline = result_of({ddp(0.151)});
  auto sentences = pinned_sentences(shown);
  ASSERT_EQ(sentences.size(), 1U);
  EXPECT_EQ(sentences[0].plain().toStdString(), "DDP on 8 GPUs: 137 ms instead of 151 ms pinned, −9.3 %");
  shown.baseline = result_of({ddp(0.1371)});
  EXPECT_TRUE(pinned_sentences(shown)[0].plain().contains("about the same"));
  shown.result = result_of({ddp(0.137, 0.2)});
  shown.baseline = result_of({ddp(0.151, 0.02)});
  EXPECT_TRUE(pinned_sentences(shown)[0].plain().contains("within what both do not know"));
  lockstep::Run other = ddp(0.151);
  other.global_batch = 128;
  other.throughput = 128 / 0.151;
  shown.baseline = result_of({other});
  EXPECT_TRUE(pinned_sentences(shown)[0].plain().contains("throughput +120.4 %"));
  EXPECT_FALSE(pinned_sentences(shown)[0].same_work);
  other.gpus = 4;
  shown.baseline = result_of({other});
  EXPECT_TRUE(pinned_sentences(shown).empty());
}

TEST(PinnedDifference, CausesAddUpToTheDifferenceOfTheStepsAndTheRestIsOnePart) {
  const Shown shown = pinned_and_changed("dp-vs-ddp-resnet50-8xa100", {"batch.per_gpu=64", "ddp.bucket_cap=5MiB"});
  const auto pairs = pinned_pairs(shown);
  ASSERT_EQ(pairs.size(), runs_of(*shown.result).size());
  for (const PinnedPair& pair : pairs) {
    double all = 0, large = 0;
    for (const CauseDifference& one : cause_differences(pair)) all += one.difference_s();
    for (const CauseDifference& one : largest_differences(pair, 0.05)) large += one.difference_s();
    EXPECT_NEAR(all, pair.absolute_s(), 1e-9 * pair.pinned->step_time_s);
    EXPECT_NEAR(large, pair.absolute_s(), 6e-4 * pair.pinned->step_time_s);
    EXPECT_LE(largest_differences(pair, 0.05).size(), cause_differences(pair).size());
  }
  const auto keys = changed_keys(shown);
  ASSERT_EQ(keys.size(), 2U);
  EXPECT_EQ(changed_text(keys).toStdString(), "batch.per_gpu 128 → 64, ddp.bucket_cap default → 5MiB");
  EXPECT_EQ(pinned_line(shown).toStdString(),
            "Pinned: before.yaml; changed since: batch.per_gpu 128 → 64, ddp.bucket_cap default → 5MiB");
}

TEST(PinnedDifference, EveryPointOfALineHasItsExactDifference) {
  const Shown shown = pinned_and_changed("second-node-10gbe", {"ddp.bucket_cap=100MiB"});
  for (const Metric metric : {Metric::Efficiency, Metric::Throughput, Metric::StepTime}) {
    int points = 0;
    const auto lines = scaling_lines(shown, metric);
    for (const ScalingLine& line : lines) {
      if (line.kind != ScalingLine::Kind::Predicted) continue;
      for (const ScalingPoint& point : line.points) {
        ASSERT_TRUE(point.difference);
        ++points;
        for (const ScalingLine& other : lines)
          if (other.kind == ScalingLine::Kind::Baseline && other.strategy == line.strategy)
            for (const ScalingPoint& before : other.points)
              if (before.gpus == point.gpus) {
                EXPECT_EQ(point.difference->absolute, point.value - before.value);
                EXPECT_EQ(point.difference->relative, point.value / before.value - 1);
              }
      }
    }
    EXPECT_EQ(points, static_cast<int>(runs_of(*shown.result).size()));
  }
}

TEST(PinnedDifference, OfEfficiencyIsInPointsAndOfTheRestInPercent) {
  lockstep::Run before = ddp(0.1), after = ddp(0.08);
  before.efficiency = 0.522;
  after.efficiency = 0.645;
  Shown shown;
  shown.result = result_of({after});
  shown.baseline = result_of({before});
  const auto difference_of = [&](Metric metric) {
    for (const ScalingLine& line : scaling_lines(shown, metric))
      if (line.kind == ScalingLine::Kind::Predicted) return *line.points[0].difference;
    return PointDifference{};
  };
  const AxisUnit percent{QStringLiteral("%"), 0.01}, ms{QStringLiteral("ms"), 1e-3};
  const PointDifference efficiency = difference_of(Metric::Efficiency), step = difference_of(Metric::StepTime);
  EXPECT_EQ(difference_text(efficiency, Metric::Efficiency, percent).toStdString(), "+12.3 points");
  EXPECT_EQ(short_difference_text(efficiency, Metric::Efficiency).toStdString(), "+12.3 points");
  EXPECT_EQ(difference_text(step, Metric::StepTime, ms).toStdString(), "−20.0 ms, −20.0 %");
  EXPECT_EQ(short_difference_text(step, Metric::StepTime).toStdString(), "−20.0 %");
  ScalingView shares(Metric::Efficiency), times(Metric::StepTime);
  shares.show_result(shown);
  times.show_result(shown);
  EXPECT_TRUE(shares.table().header.contains("against pinned (points)"));
  EXPECT_FALSE(shares.table().header.contains("against pinned (%)"));
  EXPECT_TRUE(times.table().header.contains("against pinned (%)"));
  for (const DataTable& table : {shares.table(), times.table()})
    for (const QStringList& row : table.rows) EXPECT_EQ(row.size(), table.header.size());
}

TEST(Memory, ThatIsTooSmallIsToldAtThePointInTheBarAndInTheTables) {
  lockstep::Run small = ddp(0.1), large = ddp(0.2);
  small.gpus = 4;
  small.fits_memory = true;
  large.fits_memory = false;
  small.efficiency = large.efficiency = 0.9;
  Shown shown;
  shown.result = result_of({small, large});
  const auto bars = breakdown_bars(shown);
  EXPECT_EQ(bars[0].name.toStdString(), "DDP ×4");
  EXPECT_EQ(bars[1].name.toStdString(), "DDP ×8, does not fit");
  BreakdownView breakdown;
  breakdown.show_result(shown);
  ScalingView scaling(Metric::Throughput);
  scaling.show_result(shown);
  for (const DataTable& table : {breakdown.table(), scaling.table()}) {
    const auto column = table.header.indexOf("fits in memory");
    ASSERT_GE(column, 0);
    EXPECT_EQ(table.rows[0][column].toStdString(), "yes");
    EXPECT_EQ(table.rows[1][column].toStdString(), "no");
    EXPECT_FALSE(table.header.contains("n")) << "nothing is measured";
  }
  auto measured = std::make_shared<Result>(*measured_twin(*shown.result, 1.1));
  measured->runs[0].samples = {{0, {0.11, 0.12}}};
  shown.measured.push_back({"a.json", measured});
  scaling.show_result(shown);
  EXPECT_TRUE(scaling.table().header.contains("n"));
  for (const QStringList& row : scaling.table().rows) EXPECT_EQ(row.size(), scaling.table().header.size());
}

TEST(EfficiencyBand, IsNeverOfZeroWidthButForOneDeviceWithoutAWrapper) {
  Shown shown;
  auto result = result_from_json(
      testing::text_of_file(std::string(LOCKSTEP_ANSWERS) + "/dp-vs-ddp-resnet50-8xa100.json"), "stored");
  ASSERT_TRUE(result);
  shown.result = std::make_shared<Result>(*std::move(result));
  int banded = 0;
  for (const ScalingLine& line : scaling_lines(shown, Metric::Efficiency))
    for (const ScalingPoint& point : line.points) {
      if (line.strategy == Strategy::Single) {
        EXPECT_FALSE(point.low);
        continue;
      }
      ++banded;
      EXPECT_LE(*point.low, point.value * std::exp(-kLeastEfficiencyBand) * (1 + 1e-12));
      EXPECT_GE(*point.high, point.value * std::exp(kLeastEfficiencyBand) * (1 - 1e-12));
    }
  EXPECT_EQ(banded, 8);
}

TEST(ErrorRows, AreThoseOfCompareToTheLastBit) {
  Shown shown = shown_of("cpu-two-ranks");
  shown.measured.push_back({"m.json", measured_twin(*shown.result, 1.12)});
  auto second = std::make_shared<Result>(*shown.result);
  for (lockstep::Run& run : second->runs) run.step_time_s *= 0.9;
  shown.measured.push_back({"p.json", second});
  const auto sets = error_sets(shown);
  ASSERT_EQ(sets.size(), 2U);
  const std::pair<const char*, const Result*> predictions[] = {{"This scenario", shown.result.get()},
                                                               {"p.json", second.get()}};
  for (std::size_t i = 0; i < 2; ++i) {
    const auto expected =
        compare_results({{predictions[i].first, *predictions[i].second}, {"m.json", *shown.measured[0].result}}, false);
    ASSERT_TRUE(expected);
    EXPECT_EQ(sets[i].prediction.toStdString(), predictions[i].first);
    ASSERT_EQ(sets[i].points.size(), expected->rows.size());
    for (std::size_t k = 0; k < expected->rows.size(); ++k) {
      EXPECT_EQ(sets[i].points[k].row.error, expected->rows[k].error);
      ASSERT_EQ(sets[i].points[k].row.parts.size(), expected->rows[k].parts.size());
      for (std::size_t part = 0; part < expected->rows[k].parts.size(); ++part)
        EXPECT_EQ(sets[i].points[k].row.parts[part].seconds, expected->rows[k].parts[part].seconds);
    }
    EXPECT_EQ(sets[i].comparison.mean_error(), expected->mean_error());
    EXPECT_EQ(sets[i].comparison.worst_error(), expected->worst_error());
    EXPECT_EQ(sets[i].comparison.constant->constant_mean_error, expected->constant->constant_mean_error);
  }
  EXPECT_NEAR(sets[0].comparison.mean_error(), 1 - 1 / 1.12, 1e-12);
}

TEST(ErrorRows, TheSentenceSaysWhatItCountsAndLeavesTheCalibratedRowOut) {
  Shown shown = shown_of("cpu-two-ranks");
  auto measured = std::make_shared<Result>(*measured_twin(*shown.result, 1.25));
  for (lockstep::Run& run : measured->runs)
    if (run.strategy == Strategy::Single) run.step_time_s /= 1.25;  // its error is 0
  shown.measured.push_back({"m.json", measured});
  auto sets = error_sets(shown);
  ASSERT_EQ(sets.size(), 1U);
  ASSERT_GT(sets[0].points.size(), 2U);
  EXPECT_FALSE(sets[0].calibrated);
  const QString others = QString::number(sets[0].points.size() - 1);
  QString said = error_sentence(sets[0], Devices::Cores);
  EXPECT_TRUE(said.contains("Over the " + others + " rows besides 1 core alone 20.0 % on average"))
      << said.toStdString();
  EXPECT_FALSE(said.contains("besides the calibrated one"));
  EXPECT_FALSE(said.contains("mean error 20.0 %")) << "the row without an error counts";
  Shown calibrated = shown_of("cpu-two-ranks", {"calibrate.single_gpu=0.5s/it"});
  auto again = std::make_shared<Result>(*measured_twin(*calibrated.result, 1.25));
  for (lockstep::Run& run : again->runs)
    if (run.strategy == Strategy::Single) run.step_time_s /= 1.25;
  calibrated.measured.push_back({"m.json", again});
  sets = error_sets(calibrated);
  ASSERT_EQ(sets.size(), 1U);
  EXPECT_TRUE(sets[0].calibrated);
  said = error_sentence(sets[0], Devices::Cores);
  EXPECT_TRUE(said.contains("mean error over the rows besides the calibrated one 20.0 %, worst 20.0 %"))
      << said.toStdString();
  for (std::size_t i = sets[0].points.size(); i-- > 2;) sets[0].points.pop_back();
  sets[0].comparison.rows.resize(2);
  sets[0].comparison.constant->rows = 1;
  EXPECT_TRUE(error_sentence(sets[0], Devices::Gpus).contains("The 1 row besides 1 GPU alone is off by"));
}

TEST(ErrorRows, OtherBatchesAndOtherImplementationsAreLeftOutWithTheReason) {
  Shown shown;
  lockstep::Run dp = ddp(0.2), other = ddp(0.1);
  dp.strategy = Strategy::Dp;
  dp.implementation = "model of DataParallel";
  other.gpus = 4;
  shown.result = result_of({ddp(0.1), dp, other});
  auto measured = result_of({ddp(0.11), dp, other});
  measured->kind = "measured";
  measured->runs[0].per_gpu_batch = 16;
  measured->runs[1].implementation = "cpu stand-in";
  shown.measured.push_back({"m.json", measured});
  const auto sets = error_sets(shown);
  ASSERT_EQ(sets.size(), 1U);
  ASSERT_EQ(sets[0].points.size(), 1U);
  EXPECT_EQ(sets[0].points[0].name.toStdString(), "DDP ×4");
  ASSERT_EQ(sets[0].left_out.size(), 2);
  EXPECT_EQ(sets[0].left_out[0].toStdString(), "DDP ×8 (a batch of 16 was measured, 32 predicted)");
  EXPECT_TRUE(sets[0].left_out[1].contains("cpu stand-in was measured"));
}

TEST(ErrorRows, SayWhetherTheSpreadOrTheBandHoldsTheError) {
  ErrorPoint point;
  point.row.step_time_s = 0.105;
  point.row.reference_s = 0.1;
  EXPECT_FALSE(point.within_spread());
  EXPECT_FALSE(point.within_band());
  point.spread_s = {0.09, 0.104};
  point.band_s = {0.101, 0.2};
  EXPECT_FALSE(point.within_spread());
  EXPECT_FALSE(point.within_band());
  point.spread_s->second = 0.106;
  point.band_s->first = 0.099;
  EXPECT_TRUE(point.within_spread());
  EXPECT_TRUE(point.within_band());
}

TEST(LoadedResults, OfAnotherScenarioAreNamedWithTheKeysThatDiffer) {
  Shown shown = shown_of("dp-vs-ddp-resnet50-8xa100");
  shown.measured.push_back({"same.json", measured_twin(*shown.result, 1.1)});
  EXPECT_TRUE(mismatch_warnings(shown).isEmpty());
  const Shown other = shown_of("dp-vs-ddp-resnet50-8xa100", {"model.name=resnet18", "batch.per_gpu=16"});
  shown.measured.push_back({"measured.json", measured_twin(*other.result, 1.1)});
  // A prediction may differ in a setting; a measurement is of what is open or not.
  const Shown setting = shown_of("dp-vs-ddp-resnet50-8xa100", {"ddp.bucket_cap=1MiB"});
  shown.measured.push_back({"what-if.json", setting.result});
  const QStringList warnings = mismatch_warnings(shown);
  ASSERT_EQ(warnings.size(), 1);
  EXPECT_EQ(warnings[0].toStdString(),
            "measured.json is of another scenario: model.name is resnet18, not resnet50; batch.per_gpu is 16, not 128");
  shown.measured = {{"m.json", measured_twin(*setting.result, 1)}};
  EXPECT_EQ(mismatch_warnings(shown).size(), 1);
}

TEST(LoadedResults, OfAnotherScenarioAreToldInTheReportAndInTheHeadOfTheChart) {
  Shown shown = shown_of("cpu-two-ranks");
  shown.measured.push_back({"other.json", measured_twin(*shown_of("cpu-two-ranks", {"batch.per_gpu=4"}).result, 1.1)});
  ASSERT_TRUE(is_of_another_scenario(shown, 0));
  EXPECT_EQ(mismatch_line(shown).toStdString(), "measured: of another scenario");
  ReportSource source{"", "a.yaml", "", "", shown.result.get(), {}, mismatch_warnings(shown)};
  ASSERT_EQ(source.warnings.size(), 1);
  const QByteArray page = html_report(source);
  EXPECT_TRUE(page.contains("To know as well"));
  EXPECT_TRUE(page.contains("other.json is of another scenario: batch.per_gpu"));
  EXPECT_GT(pdf_report(source).size(), pdf_report({"", "a.yaml", "", "", shown.result.get(), {}, {}}).size());
  for (const bool throughput : {false, true}) {
    ScalingView scaling(Metric::Throughput);
    BreakdownView breakdown;
    View& view = throughput ? static_cast<View&>(scaling) : breakdown;
    view.show_result(shown);
    EXPECT_TRUE(picture_bytes(view, ExportFormat::Svg).contains("of another scenario")) << view.id().toStdString();
  }
  shown.measured = {{"same.json", measured_twin(*shown.result, 1.1)}};
  EXPECT_FALSE(is_of_another_scenario(shown, 0));
  EXPECT_TRUE(mismatch_line(shown).isEmpty());
}

TEST(DeviceWords, AreCoresWhereRanksTrainOnTheCpuAndGpusElsewhere) {
  const Shown cores = shown_of("cpu-two-ranks"), gpus = shown_of("pcie-box");
  EXPECT_EQ(devices_of(cores), Devices::Cores);
  EXPECT_EQ(devices_of(*cores.result), Devices::Cores);
  EXPECT_EQ(devices_of(gpus), Devices::Gpus);
  EXPECT_EQ(device_count(1, Devices::Cores).toStdString(), "1 core");
  EXPECT_EQ(device_count(2, Devices::Cores).toStdString(), "2 cores");
  EXPECT_EQ(device_count(1, Devices::Gpus).toStdString(), "1 GPU");
  BreakdownView breakdown;
  breakdown.show_result(cores);
  EXPECT_EQ(breakdown.table().rows.front().front().toStdString(), "1 core");
  EXPECT_FALSE(breakdown.table().csv().contains("GPU"));
  for (const Cause cause : kCauses) EXPECT_FALSE(cause_name(cause, Devices::Cores).contains("GPU"));
}

TEST(BreakdownBars, StandBesideTheirTwinsUnderNamesOfTheirOwn) {
  Shown shown = pinned_and_changed("cpu-two-ranks", {"batch.per_gpu=4"});
  shown.measured.push_back({"a.json", measured_twin(*shown.result, 1.1)});
  shown.measured.push_back({"b.json", measured_twin(*shown.result, 1.2)});
  const auto bars = breakdown_bars(shown);
  const std::size_t runs = runs_of(*shown.result).size();
  ASSERT_EQ(bars.size(), 4 * runs);
  std::set<QString> names;
  for (const BreakdownBar& bar : bars) names.insert(bar.name);
  EXPECT_EQ(names.size(), bars.size());
  for (std::size_t i = 0; i < bars.size(); i += 4) {
    EXPECT_TRUE(bars[i].present);
    EXPECT_TRUE(bars[i + 1].pinned);
    EXPECT_EQ(*bars[i].pinned_s, bars[i + 1].step_s);
    EXPECT_EQ(bars[i + 2].name, bars[i].name + " measured 1");
    EXPECT_EQ(bars[i + 3].file.toStdString(), "b.json");
    EXPECT_TRUE(bars[i + 3].measured);
  }
  const auto few = bars_that_fit(bars, 14);
  EXPECT_LE(few.size(), 14U);
  EXPECT_EQ(few.front().strategy, Strategy::Single);
  EXPECT_EQ(few.back().gpus, 2);
}

TEST(BreakdownBars, SmallCausesAreOnePartOfThePictureAndAllAreInTheTable) {
  lockstep::Run run = ddp(0.1);
  run.breakdown_s = {};
  const std::pair<Cause, double> parts[] = {{Cause::Forward, 0.0300},
                                            {Cause::Backward, 0.0690},
                                            {Cause::HostBound, 0.0004},
                                            {Cause::Optimizer, 0.0003},
                                            {Cause::Other, 0.0003}};
  for (const auto& [cause, seconds] : parts) run.breakdown_s[static_cast<std::size_t>(cause)] = seconds;
  Shown shown;
  shown.result = result_of({run});
  const auto bars = breakdown_bars(shown);
  EXPECT_EQ(visible_causes(bars), (std::vector<Cause>{Cause::Forward, Cause::Backward}));
  BreakdownView view;
  view.show_result(shown);
  const DataTable table = view.table();
  EXPECT_TRUE(table.header.contains("waiting for CPU (ms)"));
  EXPECT_TRUE(table.header.contains("optimizer (ms)"));
  EXPECT_TRUE(table.header.contains("other (ms)"));
  EXPECT_EQ(table.rows[0][table.header.indexOf("waiting for CPU (ms)")].toStdString(), "0.4000");
}

TEST(Colours, OfCausesAreAllDifferentAndSoAreSpansFromWaits) {
  for (const ThemeChoice choice : {ThemeChoice::Light, ThemeChoice::Dark}) {
    set_theme(choice);
    std::set<QRgb> colours;
    for (const Cause cause : kCauses) colours.insert(theme().cause(cause).rgb());
    colours.insert(theme().span(Lane::Cpu, Cause::HostBound).rgb());
    colours.insert(theme().span(Lane::Communication, Cause::ExposedCommunication).rgb());
    EXPECT_EQ(colours.size(), kCauses.size() + 2);
    EXPECT_EQ(theme().span(Lane::Compute, Cause::Forward), theme().cause(Cause::Forward));
  }
  set_theme(ThemeChoice::Light);
  EXPECT_EQ(change_colour(0.5, Better::Less, true), theme().muted);
  EXPECT_EQ(change_colour(0.5, Better::Less, false), theme().error);
  EXPECT_EQ(change_colour(0.5, Better::More, false), theme().good);
  EXPECT_EQ(change_colour(0.01, Better::More, false), theme().text);
  EXPECT_EQ(change_colour(0.5, Better::Neither, false), theme().text);
}

TEST(DivergingPictures, KeepEveryRowInsideAndTellWhatDoesNotFit) {
  DivergingPicture picture;
  for (int i = 0; i < 60; ++i) {
    DivergingRow row;
    row.label = QStringLiteral("row %1").arg(i);
    row.value = i - 30;
    row.callout = row.label;
    picture.rows.push_back(row);
  }
  picture.rows[0].kind = DivergingRow::Kind::Heading;
  picture.rows[0].callout.clear();
  DivergingChart chart;
  chart.show(picture);
  QImage image(600, 400, QImage::Format_ARGB32_Premultiplied);
  QPainter painter(&image);
  chart.paint(painter, QRectF(0, 0, 600, 400), true);
  int reachable = 0;
  std::set<int> rows;
  for (int y = 0; y < 400; ++y) rows.insert(chart.row_at({50, static_cast<qreal>(y)}));
  for (const int row : rows) reachable += row >= 0 ? 1 : 0;
  EXPECT_GT(reachable, 15);
  EXPECT_LT(reachable, 59);
  EXPECT_EQ(rows.count(0), 0U);  // a heading tells nothing
  EXPECT_EQ(chart.next(-1, 1), 1);
  EXPECT_EQ(chart.next(59, 1), 1);
  EXPECT_EQ(chart.next(1, -1), 59);
  EXPECT_GT(chart.height_for(600, true), 60 * 20);
}

}  // namespace
}  // namespace lockstep::gui
