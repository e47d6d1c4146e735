// What the exporters see of a group of metrics: the list of its metrics with their numbers, and nothing by name.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "strongbin/stats/snapshot.h"

namespace strongbin::stats_internal {

struct MetricView {
  MetricInfo info;
  std::span<const uint64_t> values;  // into the snapshot that was given
};

template <class Stats>
std::vector<MetricView> ViewsOf(const Stats& stats) {
  std::vector<MetricView> views;
  ForEachMetric(
      [&](const MetricInfo& info, std::span<const uint64_t> values) {
        views.push_back({info, values});
      },
      stats);
  return views;
}

// What the numbers belong to; part of the exported names.
template <class Stats>
inline constexpr std::string_view kGroupOf = kGroup<Stats> == Group::kPool      ? "pool"
                                             : kGroup<Stats> == Group::kRocksDB ? "rocksdb"
                                                                                : "table";

}  // namespace strongbin::stats_internal
