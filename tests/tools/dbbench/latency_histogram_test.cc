#include "strongbin/tools/dbbench/latency_histogram.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/tools/dbbench/key_permutation.h"

namespace strongbin::dbbench {
namespace {

TEST(LatencyHistogramTest, EmptyAnswersZero) {
  const LatencyHistogram histogram;
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.max_ns(), 0u);
  EXPECT_EQ(histogram.Quantile(0.5), 0u);
}

TEST(LatencyHistogramTest, SmallDurationsAreExact) {
  LatencyHistogram histogram;
  for (uint64_t ns = 1; ns <= 100; ++ns) histogram.Record(ns);
  EXPECT_EQ(histogram.Quantile(0.5), 50u);
  EXPECT_EQ(histogram.Quantile(0.99), 99u);
  EXPECT_EQ(histogram.Quantile(1.0), 100u);
}

TEST(LatencyHistogramTest, QuantilesOfAnySizeAreNeverBelowAndAtMostOneSixtyFourthAbove) {
  LatencyHistogram histogram;
  std::vector<uint64_t> all;
  for (uint64_t i = 0; i < 20'000; ++i) {
    const uint64_t random = KeyPermutation::Scramble(i);
    all.push_back(random >> (random % 60));  // every magnitude
    histogram.Record(all.back());
  }
  std::sort(all.begin(), all.end());
  for (const double quantile : {0.01, 0.5, 0.9, 0.99, 0.999, 0.9999, 1.0}) {
    const auto rank = static_cast<size_t>(std::ceil(quantile * static_cast<double>(all.size()))) - 1;
    const auto exact = static_cast<double>(all[rank]);
    const auto told = static_cast<double>(histogram.Quantile(quantile));
    EXPECT_GE(told, exact) << quantile;
    EXPECT_LE(told, exact * (1 + 1.0 / 64) + 1) << quantile;
  }
  EXPECT_EQ(histogram.max_ns(), all.back());
}

TEST(LatencyHistogramTest, TheLongestDurationHasABucket) {
  LatencyHistogram histogram;
  histogram.Record(~uint64_t{0});
  EXPECT_EQ(histogram.Quantile(0.5), ~uint64_t{0});
}

TEST(LatencyHistogramTest, MergeIsTheSameAsRecordingAll) {
  LatencyHistogram one;
  LatencyHistogram other;
  LatencyHistogram all;
  for (uint64_t ns = 0; ns < 10'000; ns += 7) {
    (ns % 2 == 0 ? one : other).Record(ns);
    all.Record(ns);
  }
  one.Merge(other);
  EXPECT_EQ(one.count(), all.count());
  EXPECT_EQ(one.max_ns(), all.max_ns());
  for (const double quantile : {0.1, 0.5, 0.9, 0.999}) EXPECT_EQ(one.Quantile(quantile), all.Quantile(quantile));
}

}  // namespace
}  // namespace strongbin::dbbench
