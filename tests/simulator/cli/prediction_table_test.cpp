#include "simulator/cli/prediction_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "simulator/cli/output.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

lockstep::Run run_with(Strategy strategy, int gpus, const std::map<Cause, double>& parts_s) {
  lockstep::Run run;
  run.strategy = strategy;
  run.gpus = gpus;
  run.per_gpu_batch = 128;
  run.global_batch = 128 * gpus;
  run.scaling = "weak";
  run.throughput_unit = "images/s";
  for (const auto& [cause, seconds] : parts_s) {
    run.breakdown_s[static_cast<std::size_t>(cause)] = seconds;
    run.step_time_s += seconds;
  }
  run.throughput = static_cast<double>(run.global_batch) / run.step_time_s;
  run.speedup = run.efficiency = 1;
  return run;
}

Result result_of(std::vector<lockstep::Run> runs) {
  Result result;
  result.runs = std::move(runs);
  return result;
}

std::string text_of(const TextTable& table) {
  std::string text;
  for (const std::string& line : table.header_lines()) text += line + '\n';
  for (const std::string& line : table.lines()) text += line + '\n';
  return text;
}

// Computing is most of every step; what DataParallel adds is many parts, each of a few per cent.
Result crowded() {
  const std::map<Cause, double> computing = {
      {Cause::Forward, 0.0428}, {Cause::Backward, 0.0800}, {Cause::Optimizer, 0.0007}};
  auto single = computing, dp = computing, ddp = computing;
  single[Cause::CopyToDevice] = ddp[Cause::CopyToDevice] = 0.0070;
  dp[Cause::CopyToDevice] = 0.0561;
  dp[Cause::Replicate] = 0.0416;
  dp[Cause::HostBound] = 0.0261;
  dp[Cause::Scatter] = 0.0018;
  ddp[Cause::BucketCopies] = 0.0031;
  ddp[Cause::WaitForPeers] = 0.0028;
  Result result = result_of(
      {run_with(Strategy::Single, 1, single), run_with(Strategy::Dp, 8, dp), run_with(Strategy::Ddp, 8, ddp)});
  for (lockstep::Run& run : result.runs) {
    run.epoch_time_s = 50000 * run.step_time_s / static_cast<double>(run.global_batch);
    run.total_time_s = 100 * *run.epoch_time_s;
  }
  return result;
}

TEST(PredictionTable, shows_what_differs_from_one_gpu_and_folds_computing_where_room_is_short) {
  const TextTable table = prediction_table(crowded(), false);
  EXPECT_LE(table.width(), kColumns);
  const std::string text = text_of(table);
  for (const char* title : {"copy in", "compute", "replicate", "host", "rest"}) EXPECT_THAT(text, HasSubstr(title));
  EXPECT_THAT(text, Not(HasSubstr("forward")));
}

TEST(PredictionTable, a_cause_that_explains_more_takes_the_place_of_the_epochs) {
  Result result = crowded();
  result.runs[1].breakdown_s[static_cast<std::size_t>(Cause::ExposedCommunication)] = 0.03;  // more than the host's
  result.runs[1].step_time_s += 0.03;
  const TextTable table = prediction_table(result, false);
  EXPECT_LE(table.width(), kColumns);
  EXPECT_THAT(text_of(table), HasSubstr("exposed"));
  EXPECT_THAT(text_of(table), Not(HasSubstr("epoch")));
  EXPECT_THAT(text_of(table), HasSubstr("total"));
}

TEST(PredictionTable, no_row_of_the_crowded_one_leaves_much_to_rest) {
  const std::vector<std::string> lines = prediction_table(crowded(), false).lines();
  ASSERT_EQ(lines.size(), 3U);
  // Of 249, 131 and 136 ms; the columns after it are the epoch's.
  for (const auto& [line, rest] : {std::pair{0, "-"}, {1, "1.8"}, {2, "5.9"}}) {
    std::istringstream words(lines[static_cast<std::size_t>(line)]);
    std::vector<std::string> all;
    for (std::string word; words >> word;) all.push_back(word);
    EXPECT_EQ(all[all.size() - 3], rest) << line;
  }
}

TEST(PredictionTable, forward_and_backward_stand_apart_where_there_is_room) {
  const std::string text = text_of(prediction_table(
      result_of({run_with(Strategy::Single, 1, {{Cause::Forward, 0.04}, {Cause::Backward, 0.08}}),
                 run_with(Strategy::Ddp, 8,
                          {{Cause::Forward, 0.04}, {Cause::Backward, 0.08}, {Cause::ExposedCommunication, 0.02}})}),
      false));
  for (const char* title : {"forward", "backward", "exposed"}) EXPECT_THAT(text, HasSubstr(title));
  EXPECT_THAT(text, Not(HasSubstr("compute")));
}

TEST(PredictionTable, epochs_are_told_in_seconds_minutes_and_hours) {
  Result result = result_of({run_with(Strategy::Single, 1, {{Cause::Forward, 0.02}})});
  const auto units_for = [&](double epoch_s, double total_s) {
    result.runs[0].epoch_time_s = epoch_s;
    result.runs[0].total_time_s = total_s;
    std::istringstream words(prediction_table(result, false).header_lines()[1]);
    std::vector<std::string> all;
    for (std::string word; words >> word;) all.push_back(word);
    return std::vector<std::string>(all.end() - 2, all.end());
  };
  EXPECT_EQ(units_for(0.9, 1.0), (std::vector<std::string>{"ms", "s"}));
  EXPECT_EQ(units_for(119, 120), (std::vector<std::string>{"s", "min"}));
  EXPECT_EQ(units_for(7199, 7200), (std::vector<std::string>{"min", "h"}));
}

TEST(PredictionTable, where_steps_vary_a_column_says_how_much) {
  auto single = run_with(Strategy::Single, 1, {{Cause::Forward, 0.030}, {Cause::Backward, 0.060}});
  auto ddp = run_with(Strategy::Ddp, 8, {{Cause::Forward, 0.030}, {Cause::Backward, 0.070}});
  EXPECT_THAT(text_of(prediction_table(result_of({single, ddp}), false)), Not(HasSubstr("p5-p95")));
  ddp.spread = Spread{0.0951, 0.1, 0.1123, 200, "steps"};
  const std::string text = text_of(prediction_table(result_of({single, ddp}), false));
  EXPECT_THAT(text, HasSubstr("step    p5-p95  images"));
  EXPECT_THAT(text, HasSubstr("ddp          8   100  95.1-112"));
  EXPECT_THAT(text, HasSubstr("single       1  90.0         -"));
}

TEST(PredictionTable, cores_are_not_called_gpus) {
  const Result result = result_of({run_with(Strategy::Single, 1, {{Cause::Forward, 0.02}})});
  EXPECT_THAT(prediction_table(result, true).header_lines()[0], HasSubstr("cores"));
  EXPECT_THAT(prediction_table(result, false).header_lines()[0], HasSubstr("GPUs"));
}

TEST(PredictionTable, says_which_runs_do_not_fit_and_says_nothing_where_all_do) {
  Result result = crowded();
  for (lockstep::Run& run : result.runs) run.fits_memory = true;
  EXPECT_THAT(text_of(prediction_table(result, false)), Not(HasSubstr("memory")));
  result.runs[1].fits_memory = false;
  const TextTable table = prediction_table(result, false);
  EXPECT_LE(table.width(), kColumns);
  EXPECT_THAT(table.header_lines().front(), ::testing::EndsWith("memory"));
  EXPECT_THAT(table.lines()[1], ::testing::EndsWith("does not fit"));
  for (const std::size_t line : {0, 2}) EXPECT_THAT(table.lines()[line], Not(HasSubstr("fit")));
}

TEST(PredictionTable, a_price_leaves_the_causes_their_columns) {
  Result result = crowded();
  const std::string without = text_of(prediction_table(result, false));
  EXPECT_FALSE(cost_table(result, false).has_value());
  for (lockstep::Run& run : result.runs) {
    run.cost_per_epoch = 1.25e205 * run.gpus;  // the price is anybody's
    run.cost_total = 64;
  }
  EXPECT_EQ(text_of(prediction_table(result, false)), without);
  const auto costs = cost_table(result, false);
  ASSERT_TRUE(costs.has_value());
  EXPECT_LE(costs->width(), kColumns);
  EXPECT_THAT(costs->lines()[1], HasSubstr("1.00e+206"));
  EXPECT_THAT(costs->lines()[1], ::testing::EndsWith("64.0"));
  EXPECT_THAT(text_of(*costs), HasSubstr("per s and GPU"));
}

}  // namespace
}  // namespace lockstep
