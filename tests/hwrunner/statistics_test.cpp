#include "hwrunner/measure/statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Steps around 100 ms with 1 % of noise, each from the one before by `alike`.
std::vector<double> noisy(std::size_t n, unsigned seed, double alike = 0) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, 1);
  std::vector<double> steps;
  double state = normal(random);
  for (std::size_t i = 0; i < n; ++i) {
    steps.push_back(0.1 * (1 + 0.01 * state));
    state = alike * state + std::sqrt(1 - alike * alike) * normal(random);
  }
  return steps;
}

TEST(Median, is_a_value_that_was_measured) {
  EXPECT_EQ(lower_median({3, 1, 2}), 2);
  EXPECT_EQ(lower_median({4, 1, 3, 2}), 2);
  EXPECT_EQ(lower_median({7}), 7);
}

TEST(Percentile, lies_between_neighbours) {
  EXPECT_DOUBLE_EQ(percentile({10, 20, 30, 40, 50}, 0), 10);
  EXPECT_DOUBLE_EQ(percentile({50, 40, 30, 20, 10}, 0.5), 30);
  EXPECT_DOUBLE_EQ(percentile({10, 20, 30, 40, 50}, 0.95), 48);
  EXPECT_DOUBLE_EQ(percentile({5}, 0.95), 5);
}

TEST(Spread, is_over_the_steps_of_all_repeats) {
  const Spread spread = spread_of({{0, {1, 2, 3}}, {1, {4, 5}}});
  EXPECT_EQ(spread.n, 5);
  EXPECT_EQ(spread.p50, 3);
  EXPECT_DOUBLE_EQ(spread.p5, 1.2);
  EXPECT_EQ(spread.over, "steps");
}

TEST(Deviation, is_that_of_the_values_and_hardly_moved_by_a_few_others) {
  std::vector<double> steps = noisy(2000, 1);
  EXPECT_NEAR(robust_deviation(steps), 1e-3, 1e-4);
  for (int i = 0; i < 100; ++i) steps[static_cast<std::size_t>(i) * 20] = 3;
  EXPECT_NEAR(robust_deviation(steps), 1e-3, 2e-4);
}

TEST(Outliers, are_named_with_repeat_and_step) {
  std::vector<Samples> repeats = {{0, noisy(40, 2)}, {2, noisy(40, 3)}};
  EXPECT_THAT(outliers_of(repeats), IsEmpty());
  repeats[1].step_times_s[17] = 0.2;
  repeats[1].step_times_s[30] = 0.08;
  const auto found = outliers_of(repeats);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].repeat, 2);
  EXPECT_EQ(found[0].step, 17);
  EXPECT_EQ(found[1].step, 30);
}

// Steps that are normal and independent: hardly one measurement in a hundred has an outlier, however short it is.
TEST(Outliers, are_as_rare_in_few_steps_as_in_many) {
  for (const auto& [steps, repeats] : {std::pair{3, 1}, {3, 3}, {5, 1}, {5, 2}, {5, 3}, {10, 1}, {30, 3}}) {
    constexpr unsigned kMeasurements = 2000;
    int false_alarms = 0;
    for (unsigned m = 0; m < kMeasurements; ++m) {
      std::vector<Samples> all;
      for (int r = 0; r < repeats; ++r)
        all.push_back({r, noisy(static_cast<std::size_t>(steps), 10 * m + static_cast<unsigned>(r))});
      false_alarms += outliers_of(all).empty() ? 0 : 1;
    }
    EXPECT_LE(false_alarms, 40) << steps << " steps, " << repeats << " repeats";  // 1 % expected, 2 % beyond chance
  }
}

TEST(Outliers, of_five_steps_are_found_by_what_all_repeats_vary) {
  std::vector<Samples> repeats = {{0, noisy(5, 11)}, {1, noisy(5, 12)}, {2, noisy(5, 13)}};
  EXPECT_THAT(outliers_of(repeats), IsEmpty());
  repeats[2].step_times_s[3] = 0.13;  // 30 % in a noise of 1 %
  const auto found = outliers_of(repeats);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].repeat, 2);
  EXPECT_EQ(found[0].step, 3);
  EXPECT_THAT(outliers_of({{0, {0.1, 0.2}}}), IsEmpty());  // two steps: neither is the odd one out
  EXPECT_THAT(outliers_of({{0, {0.1}}, {1, {0.2}}}), IsEmpty());
}

TEST(Outliers, need_more_deviations_where_there_are_few_steps) {
  EXPECT_NEAR(outlier_deviations(4), 25.3, 0.05);
  EXPECT_NEAR(outlier_deviations(12), 6.3, 0.05);
  EXPECT_NEAR(outlier_deviations(89), 5, 0.01);
}

TEST(Outliers, are_not_made_of_steps_that_are_equal_but_for_the_clock) {
  std::vector<double> steps(30, 0.1);
  steps[3] = 0.1000001;
  EXPECT_THAT(outliers_of({{0, steps}}), IsEmpty());
}

TEST(Drift, is_seen_above_the_noise_and_not_in_it) {
  int false_alarms = 0;
  for (unsigned seed = 0; seed < 200; ++seed)
    false_alarms += drift_of({{0, noisy(30, seed)}, {1, noisy(30, seed + 1000)}}).significant ? 1 : 0;
  EXPECT_LE(false_alarms, 4);
  std::vector<double> warming = noisy(60, 9);
  for (std::size_t i = 0; i < warming.size(); ++i) warming[i] *= 1 + 0.002 * static_cast<double>(i);
  const Drift drift = drift_of({{0, warming}});
  EXPECT_TRUE(drift.significant);
  EXPECT_NEAR(drift.change, 0.08, 0.015);
}

TEST(Drift, of_few_steps_is_not_judged) {
  EXPECT_FALSE(drift_of({{0, {1, 1, 1, 1, 2, 2, 2, 2}}}).significant);
  EXPECT_FALSE(drift_of({}).significant);
}

TEST(Repeats, that_differ_are_noticed) {
  EXPECT_FALSE(repeats_apart({{0, noisy(30, 4)}, {1, noisy(30, 5)}}).significant);
  std::vector<double> slower = noisy(30, 5);
  for (double& step : slower) step *= 1.1;
  const Drift apart = repeats_apart({{0, noisy(30, 4)}, {1, slower}});
  EXPECT_TRUE(apart.significant);
  EXPECT_NEAR(apart.change, 0.1, 0.02);
}

TEST(Autocorrelation, is_found_where_it_is_and_costs_independent_steps) {
  int false_alarms = 0;
  for (unsigned seed = 0; seed < 200; ++seed)
    false_alarms += autocorrelation_of({{0, noisy(90, seed)}}).significant ? 1 : 0;
  EXPECT_LE(false_alarms, 4);
  const Autocorrelation alike = autocorrelation_of({{0, noisy(2000, 6, 0.6)}, {1, noisy(2000, 7, 0.6)}});
  EXPECT_TRUE(alike.significant);
  EXPECT_NEAR(alike.lag1, 0.6, 0.05);
  EXPECT_NEAR(alike.effective_steps, 4000 * 0.4 / 1.6, 150);
}

TEST(Autocorrelation, of_repeats_with_different_means_is_not_alarmed_by_the_step_between_them) {
  std::vector<double> slower = noisy(100, 8);
  for (double& step : slower) step *= 2;
  EXPECT_FALSE(autocorrelation_of({{0, noisy(100, 7)}, {1, slower}}).significant);
}

TEST(Doubts, are_sentences_and_none_where_all_is_well) {
  EXPECT_THAT(doubts_about({{0, noisy(40, 2)}, {1, noisy(40, 3)}}), IsEmpty());
  std::vector<double> steps = noisy(40, 2);
  steps[4] = 0.15;
  EXPECT_THAT(doubts_about({{0, steps}}),
              ElementsAre(HasSubstr("1 outlier among 40 steps (step 5 of repeat 1: 150 ms against")));
}

}  // namespace
}  // namespace lockstep
