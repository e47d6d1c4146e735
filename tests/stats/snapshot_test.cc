#include "strongbin/stats/snapshot.h"

#include "strongbin/tests/stats/stats_test_util.h"

namespace strongbin {
namespace {

// The cells whose snapshot is `stats`.
template <template <class> class Metrics>
void Store(const Metrics<uint64_t>& stats, Metrics<Cell>& cells) {
  ForEachMetric(
      [](const MetricInfo&, std::span<Cell> to, std::span<const uint64_t> from) {
        for (size_t i = 0; i < to.size(); ++i) to[i].Set(from[i]);
      },
      cells, stats);
}

template <class Stats>
std::vector<uint64_t> NumbersOf(const Stats& stats) {
  std::vector<uint64_t> numbers;
  ForEachMetric([&](const MetricInfo&,
                    std::span<const uint64_t> values) { numbers.insert(numbers.end(), values.begin(), values.end()); },
                stats);
  return numbers;
}

TEST(SnapshotTest, TakesEveryCellOfAPool) {
  PoolCells cells;
  Store(NumberedStats<PoolStats>(3), cells);
  const std::vector<uint64_t> numbers = NumbersOf(Snapshot(cells));
  ASSERT_EQ(numbers.size(), sizeof(PoolStats) / sizeof(uint64_t));
  for (size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(numbers[i], (i + 1) * 3);
}

TEST(SnapshotTest, TakesEveryCellOfATable) {
  TableCells cells;
  Store(NumberedStats<TableStats>(5), cells);
  const std::vector<uint64_t> numbers = NumbersOf(Snapshot(cells));
  ASSERT_EQ(numbers.size(), sizeof(TableStats) / sizeof(uint64_t));
  for (size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(numbers[i], (i + 1) * 5);
}

TEST(SnapshotTest, IsAValueThatLaterChangesDoNotTouch) {
  TableCells cells;
  cells.sorts.Set(1);
  const TableStats before = Snapshot(cells);
  cells.sorts.Add(1);
  EXPECT_EQ(before.sorts, 1u);
  EXPECT_EQ(Snapshot(cells).sorts, 2u);
}

TEST(DiffTest, SubtractsCountersAndKeepsGaugesAndMaxima) {
  const auto earlier = NumberedStats<PoolStats>(10);
  const auto later = NumberedStats<PoolStats>(17);
  const PoolStats diff = Diff(later, earlier);
  size_t n = 0;
  ForEachMetric(
      [&](const MetricInfo& info, std::span<const uint64_t> values) {
        for (const uint64_t value : values) {
          ++n;
          EXPECT_EQ(value, n * (info.type == MetricType::kCounter ? 7 : 17)) << info.name;
        }
      },
      diff);
  EXPECT_EQ(n * sizeof(uint64_t), sizeof(diff));
}

TEST(DiffTest, OfATableKeepsItsEntriesAndSubtractsItsSorts) {
  TableStats earlier;
  TableStats later;
  earlier.entries = 100;
  later.entries = 40;
  earlier.sorts = 2;
  later.sorts = 5;
  earlier.peak_bytes[1] = 4096;
  later.peak_bytes[1] = 8192;
  const TableStats diff = Diff(later, earlier);
  EXPECT_EQ(diff.entries, 40u);
  EXPECT_EQ(diff.sorts, 3u);
  EXPECT_EQ(diff.peak_bytes[1], 8192u);
}

TEST(DiffTest, CountersThatWentBackGiveZero) {
  const PoolStats diff = Diff(NumberedStats<PoolStats>(10), NumberedStats<PoolStats>(17));
  EXPECT_EQ(diff.gets[0], 0u);
  EXPECT_EQ(diff.cap_bytes, NumberedStats<PoolStats>(10).cap_bytes);
}

TEST(SumTest, CountersAndGaugesHaveOneMaximaHaveNone) {
  const auto stats = NumberedStats<PoolStats>(1);
  bool saw_maximum = false;
  ForEachMetric(
      [&](const MetricInfo& info, std::span<const uint64_t> values) {
        uint64_t expected = 0;
        for (const uint64_t value : values) expected += value;
        const std::optional<uint64_t> sum = SumOf(info, values);
        EXPECT_EQ(sum.has_value(), info.type != MetricType::kMax) << info.name;
        EXPECT_EQ(sum.value_or(expected), expected) << info.name;
        saw_maximum |= !sum;
      },
      stats);
  EXPECT_TRUE(saw_maximum);
}

}  // namespace
}  // namespace strongbin
