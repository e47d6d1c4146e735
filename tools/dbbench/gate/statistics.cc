#include "strongbin/tools/dbbench/gate/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace strongbin::dbbench {
namespace {

constexpr size_t kResamples = 10'000;
constexpr size_t kMostForExact = 50;

double MiddleOf(double a, double b) { return a == b ? a : (a + b) / 2; }

// Pr(U <= u) for samples of n and m values of one distribution.
//
// Of n + m values the largest belongs to the first sample with probability n / (n + m), and then adds m to U.
double ExactAtMost(size_t n, size_t m, double u) {
  std::vector<std::vector<std::vector<double>>> rows(n + 1, std::vector<std::vector<double>>(m + 1));
  for (size_t i = 0; i <= n; ++i) {
    for (size_t j = 0; j <= m; ++j) {
      std::vector<double>& here = rows[i][j];
      here.assign(i * j + 1, 0);
      if (i == 0 || j == 0) {
        here[0] = 1;
        continue;
      }
      const double share = static_cast<double>(i) / static_cast<double>(i + j);
      for (size_t k = 0; k < rows[i - 1][j].size(); ++k) here[k + j] += share * rows[i - 1][j][k];
      for (size_t k = 0; k < rows[i][j - 1].size(); ++k) here[k] += (1 - share) * rows[i][j - 1][k];
    }
    if (i > 0) rows[i - 1].clear();
  }
  double sum = 0;
  for (size_t k = 0; k < rows[n][m].size() && static_cast<double>(k) <= u; ++k) sum += rows[n][m][k];
  return sum;
}

struct Ranked {
  double rank_sum = 0;  // of the first sample
  double ties = 0;      // sum of t^3 - t over groups of t equal values
};

Ranked Rank(std::span<const double> one, std::span<const double> other) {
  std::vector<std::pair<double, bool>> all;
  for (const double value : one) all.emplace_back(value, true);
  for (const double value : other) all.emplace_back(value, false);
  std::sort(all.begin(), all.end());
  Ranked ranked;
  for (size_t i = 0; i < all.size();) {
    size_t end = i;
    size_t of_one = 0;
    for (; end < all.size() && all[end].first == all[i].first; ++end) of_one += size_t{all[end].second};
    const auto count = static_cast<double>(end - i);
    ranked.rank_sum += static_cast<double>(of_one) * (static_cast<double>(i + end + 1) / 2);
    ranked.ties += count * count * count - count;
    i = end;
  }
  return ranked;
}

}  // namespace

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return values.size() % 2 == 1 ? *middle : MiddleOf(*std::max_element(values.begin(), middle), *middle);
}

double GeometricMean(std::span<const double> values) {
  if (values.empty()) return 0;
  double logs = 0;
  for (const double value : values) {
    if (value == 0) return 0;
    logs += std::log(value);
  }
  return std::exp(logs / static_cast<double>(values.size()));
}

Interval MedianInterval(std::span<const double> values, double confidence) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (values.size() < kFewestForInterval) return {-kInfinity, kInfinity};
  std::mt19937_64 random(values.size());
  std::uniform_int_distribution<size_t> pick(0, values.size() - 1);
  std::vector<double> medians;
  std::vector<double> sample(values.size());
  for (size_t i = 0; i < kResamples; ++i) {
    for (double& value : sample) value = values[pick(random)];
    medians.push_back(Median(sample));
  }
  std::sort(medians.begin(), medians.end());
  const auto tail = static_cast<size_t>((1 - confidence) / 2 * static_cast<double>(kResamples));
  return {medians[tail], medians[kResamples - 1 - tail]};
}

double MannWhitneyP(std::span<const double> one, std::span<const double> other) {
  if (one.empty() || other.empty()) return 1;
  const auto n = static_cast<double>(one.size());
  const auto m = static_cast<double>(other.size());
  const Ranked ranked = Rank(one, other);
  const double u = ranked.rank_sum - n * (n + 1) / 2;
  const double smaller = std::min(u, n * m - u);
  if (ranked.ties == 0 && one.size() <= kMostForExact && other.size() <= kMostForExact) {
    return std::min(1.0, 2 * ExactAtMost(one.size(), other.size(), smaller));
  }
  const double all = n + m;
  const double variance = n * m / 12 * (all + 1 - ranked.ties / (all * (all - 1)));
  if (variance <= 0) return 1;  // all values are equal
  const double distance = std::max(0.0, n * m / 2 - smaller - 0.5);
  return std::min(1.0, std::erfc(distance / std::sqrt(2 * variance)));
}

}  // namespace strongbin::dbbench
