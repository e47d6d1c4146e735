// The statistics of paired runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace strongbin::dbbench {

// All functions are pure; values may be infinite. Empty input answers 0, or 1 for a probability.

// The middle value, or the mean of the two middle ones.
double Median(std::vector<double> values);

// The n-th root of the product; 0 when one value is 0.
double GeometricMean(std::span<const double> values);

struct Interval {
  double low = 0;
  double high = 0;
};

// With fewer values even the whole range covers the median with less than 95 % probability.
inline constexpr size_t kFewestForInterval = 6;

// Where the median lies, with this confidence: percentile bootstrap, the same for the same values. From minus to plus
// infinity with fewer than kFewestForInterval values.
Interval MedianInterval(std::span<const double> values, double confidence);

// The probability of a difference in ranks at least this large between two samples of one distribution (two-sided
// Mann-Whitney U test). Exact without ties up to 50 values a side; otherwise by the normal distribution, with the
// corrections for ties and continuity.
double MannWhitneyP(std::span<const double> one, std::span<const double> other);

}  // namespace strongbin::dbbench
