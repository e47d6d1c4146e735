#include "strongbin/tools/dbbench/gate/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace strongbin::dbbench {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(StatisticsTest, MedianIsTheMiddle) {
  EXPECT_EQ(Median({}), 0);
  EXPECT_EQ(Median({7}), 7);
  EXPECT_EQ(Median({9, 1, 5}), 5);
  EXPECT_EQ(Median({9, 1, 5, 6}), 5.5);
  EXPECT_EQ(Median({kInfinity, 1, kInfinity, kInfinity}), kInfinity);
}

TEST(StatisticsTest, GeometricMeanOfRatiosAndTheirInversesIsOne) {
  EXPECT_NEAR(GeometricMean(std::vector<double>{2, 8}), 4, 1e-12);
  EXPECT_NEAR(GeometricMean(std::vector<double>{3, 1.0 / 3}), 1, 1e-12);
  EXPECT_EQ(GeometricMean(std::vector<double>{0, 8}), 0);
}

// Values of R's wilcox.test and of SciPy's mannwhitneyu, both exact and two-sided.
TEST(StatisticsTest, MannWhitneyEqualsPublishedValues) {
  const std::vector<double> males = {19, 22, 16, 29, 24};
  const std::vector<double> females = {20, 11, 17, 12};
  EXPECT_NEAR(MannWhitneyP(males, females), 0.1111111111111111, 1e-12);
  EXPECT_NEAR(MannWhitneyP(females, males), 0.1111111111111111, 1e-12);
}

TEST(StatisticsTest, SevenPairsApartAreJustEnoughForAThousandth) {
  const auto apart = [](int count) {
    std::vector<double> low, high;
    for (int i = 0; i < count; ++i) {
      low.push_back(i);
      high.push_back(100 + i);
    }
    return MannWhitneyP(low, high);
  };
  EXPECT_NEAR(apart(7), 2.0 / 3432, 1e-12);  // one of C(14, 7) orders, either way
  EXPECT_NEAR(apart(6), 2.0 / 924, 1e-12);
  EXPECT_LT(apart(7), 0.001);
  EXPECT_GT(apart(6), 0.001);
}

TEST(StatisticsTest, TiesGoThroughTheNormalDistribution) {
  // U = 2 of 25, variance 25 / 12 * (11 - 12 / 90), continuity 0.5.
  const std::vector<double> low = {1, 2, 3, 4, 4};
  const std::vector<double> high = {4, 6, 7, 8, 9};
  const double u = 1;  // two half points for the ties of 4
  const double z = (12.5 - u - 0.5) / std::sqrt(25.0 / 12 * (11 - 24.0 / 90));
  EXPECT_NEAR(MannWhitneyP(low, high), std::erfc(z / std::sqrt(2)), 1e-12);
  EXPECT_EQ(MannWhitneyP(std::vector<double>{5, 5, 5}, std::vector<double>{5, 5}), 1);
}

TEST(StatisticsTest, ExactAndNormalAgreeOnLargeSamples) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  std::vector<double> one, other;
  for (int i = 0; i < 50; ++i) {
    one.push_back(normal(random));
    other.push_back(normal(random) + 0.4);
  }
  const double exact = MannWhitneyP(one, other);
  // Two values of one side between which there is none of the other become equal: a tie that leaves U as it is.
  std::sort(one.begin(), one.end());
  size_t tied = 0;
  for (size_t i = 0; i + 1 < one.size() && tied == 0; ++i) {
    const bool between =
        std::any_of(other.begin(), other.end(), [&](double v) { return one[i] < v && v < one[i + 1]; });
    if (!between) tied = i + 1;
  }
  ASSERT_GT(tied, 0u);
  one[tied] = one[tied - 1];
  EXPECT_NEAR(MannWhitneyP(one, other), exact, 0.005);
}

TEST(StatisticsTest, EqualDistributionsSeldomLookDifferent) {
  std::mt19937_64 random(6);
  std::uniform_real_distribution<double> uniform;
  int below = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<double> one, other;
    for (int i = 0; i < 8; ++i) {
      one.push_back(uniform(random));
      other.push_back(uniform(random));
    }
    below += MannWhitneyP(one, other) < 0.05 ? 1 : 0;
  }
  EXPECT_NEAR(below, 100, 40);
}

TEST(StatisticsTest, IntervalCoversTheMedianAsOftenAsItSays) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> skewed(0, 1);  // its median is 1
  int covered = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<double> values;
    for (int i = 0; i < 15; ++i) values.push_back(skewed(random));
    const Interval interval = MedianInterval(values, 0.95);
    EXPECT_LE(interval.low, Median(values));
    EXPECT_GE(interval.high, Median(values));
    covered += interval.low <= 1 && 1 <= interval.high ? 1 : 0;
  }
  EXPECT_GT(covered, 273);  // 91 %
}

TEST(StatisticsTest, FewValuesBoundNothing) {
  const Interval interval = MedianInterval(std::vector<double>{1, 1, 1, 1, 1}, 0.95);
  EXPECT_EQ(interval.low, -kInfinity);
  EXPECT_EQ(interval.high, kInfinity);
  const Interval known = MedianInterval(std::vector<double>{1, 1, 1, 1, 1, 1}, 0.95);
  EXPECT_EQ(known.low, 1);
  EXPECT_EQ(known.high, 1);
}

}  // namespace
}  // namespace strongbin::dbbench
