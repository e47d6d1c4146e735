#include "strongbin/tools/dbbench/gate/comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "strongbin/tools/dbbench/format.h"
#include "strongbin/tools/dbbench/gate/metrics.h"

namespace strongbin::dbbench {
namespace {

std::optional<double> ValueOf(const RunMetrics& run, const std::string& test, const std::string& metric) {
  const auto of_test = run.find(test);
  if (of_test == run.end()) return std::nullopt;
  const auto value = of_test->second.find(metric);
  return value == of_test->second.end() ? std::nullopt : std::optional(value->second);
}

void Summarise(Comparison* found) {
  found->baseline = Median(found->baseline_values);
  found->candidate = Median(found->candidate_values);
  found->ratio = Median(found->ratios);
  found->baseline_interval = MedianInterval(found->baseline_values, kConfidence);
  found->candidate_interval = MedianInterval(found->candidate_values, kConfidence);
  found->ratio_interval = MedianInterval(found->ratios, kConfidence);
  found->p = MannWhitneyP(found->baseline_values, found->candidate_values);
}

// The geometric mean over tests of the same pairs, pair by pair.
Comparison MeanOf(const std::vector<Comparison>& tests, const std::string& metric) {
  Comparison mean;
  mean.test = kMeanOfTests;
  mean.metric = metric;
  for (size_t pair = 0; pair < tests.front().ratios.size(); ++pair) {
    std::vector<double> ratios, baseline, candidate;
    for (const Comparison& test : tests) {
      ratios.push_back(test.ratios[pair]);
      baseline.push_back(test.baseline_values[pair]);
      candidate.push_back(test.candidate_values[pair]);
    }
    mean.ratios.push_back(GeometricMean(ratios));
    mean.baseline_values.push_back(GeometricMean(baseline));
    mean.candidate_values.push_back(GeometricMean(candidate));
  }
  Summarise(&mean);
  return mean;
}

std::string Number(double value) { return std::isinf(value) ? (value > 0 ? "inf" : "-inf") : Significant(value); }

}  // namespace

double RatioOf(double candidate, double baseline) {
  if (candidate == baseline) return 1;
  return baseline == 0 ? std::numeric_limits<double>::infinity() : candidate / baseline;
}

std::vector<Comparison> Compare(const std::vector<PairMetrics>& pairs) {
  std::set<std::string> tests;
  for (const PairMetrics& pair : pairs) {
    for (const auto& [test, values] : pair.baseline) tests.insert(test);
  }
  std::vector<Comparison> all;
  for (const Metric& metric : AllMetrics()) {
    const std::string name(metric.name);
    std::vector<Comparison> of_metric;
    for (const std::string& test : tests) {
      Comparison found;
      found.test = test;
      found.metric = name;
      for (const PairMetrics& pair : pairs) {
        const auto baseline = ValueOf(pair.baseline, test, name);
        const auto candidate = ValueOf(pair.candidate, test, name);
        if (!baseline || !candidate) continue;
        found.baseline_values.push_back(*baseline);
        found.candidate_values.push_back(*candidate);
        found.ratios.push_back(RatioOf(*candidate, *baseline));
      }
      if (found.ratios.empty()) continue;
      Summarise(&found);
      of_metric.push_back(found);
    }
    if (of_metric.empty()) continue;
    all.insert(all.end(), of_metric.begin(), of_metric.end());
    const size_t pairs_of_first = of_metric.front().ratios.size();
    const bool same_pairs = std::all_of(of_metric.begin(), of_metric.end(),
                                        [&](const Comparison& found) { return found.ratios.size() == pairs_of_first; });
    if (of_metric.size() > 1 && same_pairs) all.push_back(MeanOf(of_metric, name));
  }
  return all;
}

std::string WithInterval(double value, const Interval& interval) {
  if (std::isinf(interval.low) && std::isinf(interval.high) && interval.low < 0) {
    return Number(value) + " (fewer than " + std::to_string(kFewestForInterval) + " pairs)";
  }
  return Number(value) + " (" + Number(interval.low) + " to " + Number(interval.high) + ")";
}

ComparisonCells CellsOf(const Comparison& found) {
  const bool mean = found.test == kMeanOfTests;
  return {.test = mean ? "geometric mean" : found.test,
          .baseline = mean ? "" : WithInterval(found.baseline, found.baseline_interval),
          .candidate = mean ? "" : WithInterval(found.candidate, found.candidate_interval),
          .ratio = WithInterval(found.ratio, found.ratio_interval),
          .p = Significant(found.p)};
}

}  // namespace strongbin::dbbench
