// What can be done with the numbers of a pool, a table or the RocksDB face as a whole.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <type_traits>

#include "strongbin/stats/metrics.h"

namespace strongbin {

namespace stats_internal {

enum class Group : uint8_t { kPool, kTable, kRocksDB };
template <class Metrics>
inline constexpr Group kGroup = Group::kTable;
template <class V>
inline constexpr Group kGroup<PoolMetrics<V>> = Group::kPool;
template <class V>
inline constexpr Group kGroup<RocksDBMetrics<V>> = Group::kRocksDB;

}  // namespace stats_internal

// ForEachPoolMetric, ForEachTableMetric or ForEachRocksDBMetric, by the type of the numbers.
template <class Visit, class First, class... Rest>
void ForEachMetric(Visit&& visit, First& first, Rest&... rest) {
  constexpr stats_internal::Group group = stats_internal::kGroup<std::remove_const_t<First>>;
  if constexpr (group == stats_internal::Group::kPool) {
    ForEachPoolMetric(visit, first, rest...);
  } else if constexpr (group == stats_internal::Group::kRocksDB) {
    ForEachRocksDBMetric(visit, first, rest...);
  } else {
    ForEachTableMetric(visit, first, rest...);
  }
}

// The numbers of now, by value. They agree with each other only if the caller holds what their writers hold, or at a
// quiet point; each of them alone is whole in any case.
template <template <class> class Metrics>
Metrics<uint64_t> Snapshot(const Metrics<Cell>& cells) {
  Metrics<uint64_t> result;
  ForEachMetric(
      [](const MetricInfo&, std::span<uint64_t> to, std::span<const Cell> from) {
        for (size_t i = 0; i < to.size(); ++i) to[i] = from[i].Load();
      },
      result, cells);
  return result;
}

// Gives `to` the numbers of `from`.
template <template <class> class Metrics>
void CopyCells(const Metrics<Cell>& from, Metrics<Cell>& to) {
  ForEachMetric(
      [](const MetricInfo&, std::span<Cell> new_home, std::span<const Cell> cells) {
        for (size_t i = 0; i < cells.size(); ++i) new_home[i].Set(cells[i].Load());
      },
      to, from);
}

// What happened between two snapshots: counters are subtracted, gauges and maxima are those of `later`. A counter that
// went back (the snapshots are of two pools, or in the wrong order) gives 0 and never wraps.
template <template <class> class Metrics>
Metrics<uint64_t> Diff(const Metrics<uint64_t>& later, const Metrics<uint64_t>& earlier) {
  Metrics<uint64_t> result = later;
  ForEachMetric(
      [](const MetricInfo& info, std::span<uint64_t> to, std::span<const uint64_t> before) {
        if (info.type != MetricType::kCounter) return;
        for (size_t i = 0; i < to.size(); ++i) to[i] = to[i] > before[i] ? to[i] - before[i] : 0;
      },
      result, earlier);
  return result;
}

// Adds the numbers of one to those of many: maxima are compared, all else is added. Of one that has ended the gauges
// are left out.
template <template <class> class Metrics>
void Accumulate(Metrics<uint64_t>* many, const Metrics<uint64_t>& one, bool has_ended) {
  ForEachMetric(
      [has_ended](const MetricInfo& info, std::span<uint64_t> to, std::span<const uint64_t> from) {
        if (has_ended && info.type == MetricType::kGauge) return;
        for (size_t i = 0; i < to.size(); ++i) {
          to[i] = info.type == MetricType::kMax ? (to[i] > from[i] ? to[i] : from[i]) : to[i] + from[i];
        }
      },
      *many, one);
}

// The sum over the labels of one metric.
inline uint64_t SumOfLabels(std::span<const uint64_t> values) {
  return std::accumulate(values.begin(), values.end(), uint64_t{0});
}

// The same where it means something. Nothing for maxima: the highest of each class were not reached at the same time.
inline std::optional<uint64_t> SumOf(const MetricInfo& info, std::span<const uint64_t> values) {
  if (info.type == MetricType::kMax) return std::nullopt;
  return SumOfLabels(values);
}

// A metric as one number: the sum over its labels, of a maximum the largest.
inline uint64_t SumOrLargest(const MetricInfo& info, std::span<const uint64_t> values) {
  return SumOf(info, values).value_or(*std::max_element(values.begin(), values.end()));
}

}  // namespace strongbin
