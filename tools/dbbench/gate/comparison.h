// Two sides, one metric, one test.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "strongbin/tools/dbbench/gate/statistics.h"

namespace strongbin::dbbench {

inline constexpr const char* kMeanOfTests = "mean";

// What one run measured: test -> metric -> value.
using RunMetrics = std::map<std::string, std::map<std::string, double>>;
struct PairMetrics {
  RunMetrics baseline;
  RunMetrics candidate;
};

struct Comparison {
  std::string test;  // or kMeanOfTests: the geometric mean of the tests' ratios, without values of the sides
  std::string metric;
  std::vector<double> baseline_values;
  std::vector<double> candidate_values;
  std::vector<double> ratios;  // of candidate to baseline, pair by pair
  double baseline = 0;         // medians
  double candidate = 0;
  double ratio = 0;
  Interval baseline_interval;
  Interval candidate_interval;
  Interval ratio_interval;
  double p = 1;  // of the Mann-Whitney test
};

inline constexpr double kConfidence = 0.95;

// Nothing by nothing is 1: two sides that never do something do it equally often.
double RatioOf(double candidate, double baseline);

// In the order of the metrics; a metric that a pair lacks on one side is left out of that pair.
std::vector<Comparison> Compare(const std::vector<PairMetrics>& pairs);

// "1.05 (1.02 to 1.07)"
std::string WithInterval(double value, const Interval& interval);

// A comparison for a table: "geometric mean" and no values of the sides where it is that of the tests.
struct ComparisonCells {
  std::string test;
  std::string baseline;
  std::string candidate;
  std::string ratio;
  std::string p;
};
ComparisonCells CellsOf(const Comparison& found);

}  // namespace strongbin::dbbench
