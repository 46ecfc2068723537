#include <gtest/gtest.h>

#include <cmath>

#include "simulator/steps/step_record.h"

namespace lockstep {
namespace {

TEST(Jitter, IsExactlyOneWithoutSigma) {
  EXPECT_EQ(JitterSource{}.factor(3, 5), 1.0);
}

TEST(Jitter, HasMeanOneAndTheSigmaOfItsLogarithm) {
  const JitterSource jitter{0.2, false, 77};
  constexpr int kRanks = 400, kSteps = 500;
  constexpr double kDraws = kRanks * kSteps;
  double sum = 0, log_sum = 0, log_squares = 0;
  for (int rank = 0; rank < kRanks; ++rank)
    for (int step = 0; step < kSteps; ++step) {
      const double factor = jitter.factor(rank, step);
      sum += factor;
      log_sum += std::log(factor);
      log_squares += std::log(factor) * std::log(factor);
    }
  const double deviation = std::sqrt(std::expm1(0.2 * 0.2));  // of a lognormal with mean 1
  EXPECT_NEAR(sum / kDraws, 1, 5 * deviation / std::sqrt(kDraws));
  const double log_mean = log_sum / kDraws;
  EXPECT_NEAR(log_mean, -0.2 * 0.2 / 2, 5 * 0.2 / std::sqrt(kDraws));
  EXPECT_NEAR(std::sqrt(log_squares / kDraws - log_mean * log_mean), 0.2, 5 * 0.2 / std::sqrt(2 * kDraws));
}

TEST(Jitter, OfNeighbouringRanksAndStepsIsUncorrelated) {
  const JitterSource jitter{0.1, false, 5};
  constexpr int kDraws = 40'000;
  double ranks = 0, steps = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double here = std::log(jitter.factor(i, 7)) + 0.005;
    ranks += here * (std::log(jitter.factor(i + 1, 7)) + 0.005);
    steps += here * (std::log(jitter.factor(i, 8)) + 0.005);
  }
  const double bound = 5 * 0.01 / std::sqrt(kDraws);
  EXPECT_NEAR(ranks / kDraws, 0, bound);
  EXPECT_NEAR(steps / kDraws, 0, bound);
}

TEST(Jitter, IsTheSameBitsInWhateverOrderItIsAskedFor) {
  const JitterSource jitter{0.05, false, 9};
  std::vector<double> forwards, backwards;
  for (int i = 0; i < 1000; ++i) forwards.push_back(jitter.factor(i / 40, i % 40));
  for (int i = 999; i >= 0; --i) backwards.push_back(JitterSource{0.05, false, 9}.factor(i / 40, i % 40));
  for (std::size_t i = 0; i < 1000; ++i) EXPECT_EQ(forwards[i], backwards[999 - i]);
}

TEST(Jitter, PerRankIsOneFactorForAllSteps) {
  const JitterSource jitter{0.05, true, 9};
  EXPECT_EQ(jitter.factor(4, 0), jitter.factor(4, 31));
  EXPECT_NE(jitter.factor(4, 0), jitter.factor(5, 0));
}

TEST(Jitter, DependsOnTheSeed) {
  EXPECT_NE((JitterSource{0.05, false, 1}.factor(0, 0)), (JitterSource{0.05, false, 2}.factor(0, 0)));
}

}  // namespace
}  // namespace lockstep
