#include "strongbin/stats/metrics.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include "strongbin/stats/identities.h"
#include "strongbin/tests/stats/stats_test_util.h"

namespace strongbin {
namespace {

template <class Stats>
class MetricListTest : public testing::Test {};
using AllStats = testing::Types<PoolStats, TableStats, RocksDBStats>;
TYPED_TEST_SUITE(MetricListTest, AllStats);

TYPED_TEST(MetricListTest, EveryByteOfTheStructBelongsToOneVisitedCell) {
  TypeParam stats;
  std::set<const uint64_t*> cells;
  ForEachMetric(
      [&](const MetricInfo&, std::span<uint64_t> values) {
        for (uint64_t& value : values) EXPECT_TRUE(cells.insert(&value).second);
      },
      stats);
  EXPECT_EQ(cells.size() * sizeof(uint64_t), sizeof(stats));
}

TYPED_TEST(MetricListTest, NamesAreDistinctAndFitEveryFormat) {
  const std::regex name_rule("[a-z][a-z0-9]*(_[a-z0-9]+)*");
  std::set<std::string> names;
  for (const MetricInfo& info : ListOf<TypeParam>()) {
    const std::string name(info.name);
    EXPECT_TRUE(std::regex_match(name, name_rule)) << name;
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_FALSE(info.help.empty()) << name;
    EXPECT_FALSE(info.unit.empty()) << name;
  }
}

// A reader must be able to tell bytes from counts by the name, and a maximum from its gauge.
TYPED_TEST(MetricListTest, BytesAndMaximaSayWhatTheyAre) {
  for (const MetricInfo& info : ListOf<TypeParam>()) {
    const bool says_bytes = info.name.find("bytes") != std::string_view::npos;
    EXPECT_EQ(says_bytes, info.unit == "bytes") << info.name;
    EXPECT_TRUE(!info.name.ends_with("_max") || info.type == MetricType::kMax) << info.name;
  }
}

TYPED_TEST(MetricListTest, LabelsAreOneForEachCellAndDistinct) {
  TypeParam stats;
  ForEachMetric(
      [](const MetricInfo& info, std::span<uint64_t> values) {
        if (info.labels.empty()) {
          EXPECT_EQ(values.size(), 1u) << info.name;
          EXPECT_TRUE(info.label.empty()) << info.name;
          return;
        }
        EXPECT_FALSE(info.label.empty()) << info.name;
        EXPECT_EQ(values.size(), info.labels.size()) << info.name;
        EXPECT_EQ(std::set<std::string_view>(info.labels.begin(), info.labels.end()).size(), info.labels.size());
      },
      stats);
}

// The part of the page for people that the list alone decides; it cannot lag behind.
std::string GeneratedReference() {
  std::string page;
  const auto append = [&page](std::string_view title, std::string_view group, const std::vector<MetricInfo>& infos) {
    page += "\n## " + std::string(title) +
            "\n\n| name | type | unit | one for each | what it is |\n| --- | --- | --- | --- | --- |\n";
    for (const MetricInfo& info : infos) {
      const std::string_view type = info.type == MetricType::kCounter ? "counter"
                                    : info.type == MetricType::kGauge ? "gauge"
                                                                      : "maximum";
      page += "| `" + std::string(info.name) + "` | " + std::string(type) + " | " + std::string(info.unit) + " | " +
              std::string(info.label) + " | " + std::string(info.help) + " |\n";
    }
    page += "\nAt every quiet point:\n\n";
    for (const Identity& identity : AllIdentities()) {
      if (identity.group != group) continue;
      page += "- `" + std::string(identity.text) + "`" +
              (identity.label.empty() ? "" : ", for each " + std::string(identity.label)) + ": " +
              std::string(identity.help) + "\n";
    }
  };
  append("A pool", "pool", ListOf<PoolStats>());
  append("A table", "table", ListOf<TableStats>());
  append("The RocksDB face", "rocksdb", ListOf<RocksDBStats>());
  return page;
}

TEST(MetricReferenceTest, DocsShowTheWholeListAndWhatHoldsWithinIt) {
  const std::string file = "docs/statistics.md";
  std::ifstream stream(SourceRoot() / file);
  const std::string page{std::istreambuf_iterator<char>(stream), {}};
  const std::string begin = "<!-- from here on made from stats/metrics.def -->\n";
  const size_t at = page.find(begin);
  ASSERT_NE(at, std::string::npos);
  ExpectGolden(file, page.substr(0, at + begin.size()) + GeneratedReference());
}

TEST(IdentityTest, EachIsFoundBrokenByTheNumbersThatBreakIt) {
  EXPECT_EQ(BrokenIdentities(PoolStats()) + BrokenIdentities(TableStats()) + BrokenIdentities(RocksDBStats()), "");
  PoolStats pool;
  pool.gets[3] = 1;
  EXPECT_EQ(BrokenIdentities(pool), "gets == hits + misses (16384)\ngets == kind_gets\n");
  pool.hits[3] = 1;
  pool.kind_gets[0] = 1;
  EXPECT_EQ(BrokenIdentities(pool), "");
  pool.idle_bytes[1] = pool.fresh_bytes[1] = 4096;
  EXPECT_EQ(BrokenIdentities(pool), "idle_bytes <= cap_bytes\n");
  pool.cap_bytes = 4096;
  EXPECT_EQ(BrokenIdentities(pool), "");
  pool.returned_bytes[1] = 1;
  EXPECT_EQ(BrokenIdentities(pool),
            "fresh_bytes - returned_bytes == idle_bytes + lent_bytes + slab_free_bytes (4096)\n");
  TableStats table;
  table.used_bytes[2] = 1;
  table.entries = 1;
  EXPECT_EQ(BrokenIdentities(table), "used_bytes <= reserved_bytes (log)\nentries <= appended_entries\n");
  RocksDBStats rocksdb;
  rocksdb.memtables = 1;
  EXPECT_EQ(BrokenIdentities(rocksdb), "memtables <= made_memtables\nmemtables <= memtables_max\n");
}

TEST(CellTest, ZeroBytesAreAValidStart) {
  alignas(PoolCells) unsigned char page[sizeof(PoolCells)];
  auto* cells = new (page) PoolCells;
  const unsigned char zeros[sizeof(PoolCells)] = {};
  EXPECT_EQ(std::memcmp(page, zeros, sizeof(page)), 0);
  cells->cap_bytes.Set(7);
  EXPECT_EQ(Snapshot(*cells).cap_bytes, 7u);
}

TEST(CellTest, RaiseToKeepsTheHighest) {
  Cell cell;
  cell.RaiseTo(5);
  cell.RaiseTo(3);
  EXPECT_EQ(cell.Load(), 5u);
  cell.RaiseTo(9);
  EXPECT_EQ(cell.Load(), 9u);
}

TEST(CellTest, AddSubAndAddSharedCount) {
  Cell cell;
  cell.Add(10);
  cell.Sub(4);
  cell.AddShared(5);
  EXPECT_EQ(cell.Load(), 11u);
}

}  // namespace
}  // namespace strongbin
