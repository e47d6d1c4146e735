// Snapshots as text for people, as JSON and as Prometheus text.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "strongbin/stats/metrics.h"

namespace strongbin {

// What tells one pool or table from another, for instance {{"pool", "default"}}. Values may hold any bytes: they are
// escaped, and what is not UTF-8 is replaced. Names are meant to be letters, digits and underscores; others become
// underscores.
using StatsLabels = std::vector<std::pair<std::string, std::string>>;

// The functions below take a snapshot by reference and keep nothing of it. Any thread. They are for reports, not for
// the write path: they allocate, and std::bad_alloc is the caller's.

// An aligned table, at most kTextWidth columns wide as far as one name and one number fit in it: bytes in binary units,
// other numbers with thousands separators. Rows and columns without any number but 0 are left out; the last line names
// those rows.
inline constexpr size_t kTextWidth = 100;
std::string ToText(const PoolStats& stats, const StatsLabels& labels = {});
std::string ToText(const TableStats& stats, const StatsLabels& labels = {});
std::string ToText(const RocksDBStats& stats, const StatsLabels& labels = {});

// One JSON object: {"group": ..., "labels": {...}, "metrics": {name: number, or {label: number, ..., "sum": number}}},
// one metric a line, all digits, in the order of metrics.def. Maxima have no sum.
std::string ToJson(const PoolStats& stats, const StatsLabels& labels = {});
std::string ToJson(const TableStats& stats, const StatsLabels& labels = {});
std::string ToJson(const RocksDBStats& stats, const StatsLabels& labels = {});

// Collects pools and tables into one page of Prometheus text (format 0.0.4), where each family is introduced once.
//
// Owns copies of all it was given. Not thread-safe.
// Names: strongbin_pool_<metric>, strongbin_table_<metric> and strongbin_rocksdb_<metric>; counters, and only they, end
// in _total; a gauge or maximum whose name in the list does not say its unit ends in the unit. Maxima are gauges.
// Metrics with labels have one sample for each label and no sum, which is Prometheus' own work. When wrong: two pools
// (or tables) with equal labels give samples that Prometheus refuses; the caller keeps them apart. Cost: O(numbers
// added).
class PrometheusPage {
 public:
  void Add(const PoolStats& stats, const StatsLabels& labels = {});
  void Add(const TableStats& stats, const StatsLabels& labels = {});
  void Add(const RocksDBStats& stats, const StatsLabels& labels = {});
  std::string ToString() const;

 private:
  struct Family {
    std::string head;     // the HELP and TYPE lines
    std::string samples;  // one line for each number so far
  };
  template <class Stats>
  static void AddTo(std::vector<Family>& families, const Stats& stats, const StatsLabels& labels);

  // One family for each metric, in the order of the list; empty until the first Add.
  std::vector<Family> pool_families_;
  std::vector<Family> table_families_;
  std::vector<Family> rocksdb_families_;
};

// A page of its own for one pool or table.
std::string ToPrometheus(const PoolStats& stats, const StatsLabels& labels = {});
std::string ToPrometheus(const TableStats& stats, const StatsLabels& labels = {});
std::string ToPrometheus(const RocksDBStats& stats, const StatsLabels& labels = {});

}  // namespace strongbin
