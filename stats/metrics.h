// Snapshots and live cells of all counters and gauges, generated from metrics.def.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include "strongbin/stats/cell.h"

namespace strongbin {

enum class MetricType : uint8_t { kCounter, kGauge, kMax };

// What is known of a metric besides its numbers. All views are literals.
struct MetricInfo {
  std::string_view name;
  MetricType type;
  std::string_view unit;
  std::string_view help;
  std::string_view label;                    // empty for a metric of one cell
  std::span<const std::string_view> labels;  // one value per cell; empty for a metric of one cell
};

#define STRONGBIN_LABEL_CHUNK_KIND(NAME, HELP) k_##NAME,
enum class ChunkKindLabel : uint8_t {
#include "strongbin/stats/metrics.def"
  kCount
};
#define STRONGBIN_LABEL_RESET_KIND(NAME, HELP) k_##NAME,
enum class ResetKindLabel : uint8_t {
#include "strongbin/stats/metrics.def"
  kCount
};

inline constexpr size_t kChunkKindCount = static_cast<size_t>(ChunkKindLabel::kCount);
inline constexpr size_t kResetKindCount = static_cast<size_t>(ResetKindLabel::kCount);
// Ten size classes from 2 KiB to 1 MiB, then one place for oversize blocks.
inline constexpr size_t kClassSlotCount = 11;

inline constexpr std::array<std::string_view, kChunkKindCount> kChunkKindLabels = {
#define STRONGBIN_LABEL_CHUNK_KIND(NAME, HELP) #NAME,
#include "strongbin/stats/metrics.def"
};
inline constexpr std::array<std::string_view, kResetKindCount> kResetKindLabels = {
#define STRONGBIN_LABEL_RESET_KIND(NAME, HELP) #NAME,
#include "strongbin/stats/metrics.def"
};
inline constexpr std::array<std::string_view, kClassSlotCount> kClassLabels = {
    "2048", "4096", "8192", "16384", "32768", "65536", "131072", "262144", "524288", "1048576", "oversize"};

// The numbers of one pool. V is uint64_t in a snapshot and Cell where they live.
template <class V>
struct PoolMetrics {
#define STRONGBIN_POOL_CLASS(NAME, TYPE, UNIT, HELP) std::array<V, kClassSlotCount> NAME{};
#define STRONGBIN_POOL_KIND(NAME, TYPE, UNIT, HELP) std::array<V, kChunkKindCount> NAME{};
#define STRONGBIN_POOL(NAME, TYPE, UNIT, HELP) V NAME{};
#include "strongbin/stats/metrics.def"
};

// The numbers of one table.
template <class V>
struct TableMetrics {
#define STRONGBIN_TABLE_KIND(NAME, TYPE, UNIT, HELP) std::array<V, kChunkKindCount> NAME{};
#define STRONGBIN_TABLE_RESET(NAME, TYPE, UNIT, HELP) std::array<V, kResetKindCount> NAME{};
#define STRONGBIN_TABLE(NAME, TYPE, UNIT, HELP) V NAME{};
#include "strongbin/stats/metrics.def"
};

// The numbers of the RocksDB face.
template <class V>
struct RocksDBMetrics {
#define STRONGBIN_ROCKSDB(NAME, TYPE, UNIT, HELP) V NAME{};
#include "strongbin/stats/metrics.def"
};

using PoolStats = PoolMetrics<uint64_t>;
using PoolCells = PoolMetrics<Cell>;
using TableStats = TableMetrics<uint64_t>;
using TableCells = TableMetrics<Cell>;
using RocksDBStats = RocksDBMetrics<uint64_t>;
using RocksDBCells = RocksDBMetrics<Cell>;

// Cells can be placed in shared memory: zero bytes are a valid start, nothing points anywhere, and no access takes a
// lock that another process might hold.
static_assert(std::atomic<uint64_t>::is_always_lock_free);
static_assert(sizeof(Cell) == sizeof(uint64_t) && std::is_standard_layout_v<Cell>);
static_assert(std::is_standard_layout_v<PoolCells> && std::is_trivially_destructible_v<PoolCells>);
static_assert(std::is_standard_layout_v<TableCells> && std::is_trivially_destructible_v<TableCells>);
static_assert(std::is_standard_layout_v<RocksDBCells> && std::is_trivially_destructible_v<RocksDBCells>);
static_assert(sizeof(PoolCells) == sizeof(PoolStats) && sizeof(TableCells) == sizeof(TableStats));
static_assert(std::is_trivially_copyable_v<PoolStats> && std::is_trivially_copyable_v<TableStats>);

namespace stats_internal {

template <class V>
std::span<V> Cells(V& one) {
  return {&one, 1};
}
template <class V, size_t N>
std::span<V> Cells(std::array<V, N>& many) {
  return many;
}
template <class V>
std::span<const V> Cells(const V& one) {
  return {&one, 1};
}
template <class V, size_t N>
std::span<const V> Cells(const std::array<V, N>& many) {
  return many;
}

#define STRONGBIN_VISIT(NAME, TYPE, UNIT, HELP, LABEL, LABELS) \
  visit(MetricInfo{#NAME, MetricType::k##TYPE, #UNIT, HELP, LABEL, LABELS}, Cells(metrics.NAME)...);

}  // namespace stats_internal

// Calls visit(info, cells...) for each metric of the list, in the order of the list, with the cells of each argument.
template <class Visit, class... Metrics>
void ForEachPoolMetric(Visit&& visit, Metrics&... metrics) {
  using stats_internal::Cells;
#define STRONGBIN_POOL_CLASS(NAME, TYPE, UNIT, HELP) STRONGBIN_VISIT(NAME, TYPE, UNIT, HELP, "class", kClassLabels)
#define STRONGBIN_POOL_KIND(NAME, TYPE, UNIT, HELP) STRONGBIN_VISIT(NAME, TYPE, UNIT, HELP, "kind", kChunkKindLabels)
#define STRONGBIN_POOL(NAME, TYPE, UNIT, HELP) STRONGBIN_VISIT(NAME, TYPE, UNIT, HELP, "", {})
#include "strongbin/stats/metrics.def"
}

template <class Visit, class... Metrics>
void ForEachTableMetric(Visit&& visit, Metrics&... metrics) {
  using stats_internal::Cells;
#define STRONGBIN_TABLE_KIND(NAME, TYPE, UNIT, HELP) STRONGBIN_VISIT(NAME, TYPE, UNIT, HELP, "kind", kChunkKindLabels)
#define STRONGBIN_TABLE_RESET(NAME, TYPE, UNIT, HELP) STRONGBIN_VISIT(NAME, TYPE, UNIT, HELP, "kind", kResetKindLabels)
#define STRONGBIN_TABLE(NAME, TYPE, UNIT, HELP) STRONGBIN_VISIT(NAME, TYPE, UNIT, HELP, "", {})
#include "strongbin/stats/metrics.def"
}

template <class Visit, class... Metrics>
void ForEachRocksDBMetric(Visit&& visit, Metrics&... metrics) {
  using stats_internal::Cells;
#define STRONGBIN_ROCKSDB(NAME, TYPE, UNIT, HELP) STRONGBIN_VISIT(NAME, TYPE, UNIT, HELP, "", {})
#include "strongbin/stats/metrics.def"
}

#undef STRONGBIN_VISIT

}  // namespace strongbin
