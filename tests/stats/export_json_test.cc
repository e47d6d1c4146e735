#include <limits>

#include "strongbin/stats/export.h"
#include "strongbin/tests/stats/stats_test_util.h"

namespace strongbin {
namespace {

TEST(JsonTest, PoolMatchesGolden) {
  ExpectGolden("tests/stats/testdata/pool.json",
               ToJson(NumberedStats<PoolStats>(1'000'003), {{"pool", "de\"fault\\"}, {"host", "a\nb"}}));
}

TEST(JsonTest, TableMatchesGolden) {
  ExpectGolden("tests/stats/testdata/table.json", ToJson(NumberedStats<TableStats>(1'000'003)));
}

TEST(JsonTest, RocksDBFaceMatchesGolden) {
  ExpectGolden("tests/stats/testdata/rocksdb.json", ToJson(NumberedStats<RocksDBStats>(1'000'003)));
}

template <class Stats>
void ExpectOneKeyForEachMetricInOrder() {
  const std::vector<MetricInfo> list = ListOf<Stats>();
  std::vector<std::string> keys;
  for (const std::string& line : LinesOf(ToJson(Stats()))) {
    if (line.starts_with("    \"")) keys.push_back(line.substr(5, line.find('"', 5) - 5));
  }
  ASSERT_EQ(keys.size(), list.size());
  for (size_t i = 0; i < keys.size(); ++i) EXPECT_EQ(keys[i], list[i].name);
}

TEST(JsonTest, KeysAreTheListInItsOrder) {
  ExpectOneKeyForEachMetricInOrder<PoolStats>();
  ExpectOneKeyForEachMetricInOrder<TableStats>();
  ExpectOneKeyForEachMetricInOrder<RocksDBStats>();
}

TEST(JsonTest, NumbersHaveAllDigits) {
  PoolStats stats;
  stats.cap_bytes = std::numeric_limits<uint64_t>::max();
  EXPECT_NE(ToJson(stats).find("\"cap_bytes\": 18446744073709551615,"), std::string::npos);
}

}  // namespace
}  // namespace strongbin
