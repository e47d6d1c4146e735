#include <algorithm>
#include <limits>

#include "strongbin/stats/export.h"
#include "strongbin/tests/stats/stats_test_util.h"

namespace strongbin {
namespace {

size_t LongestLine(const std::string& text) {
  size_t longest = 0;
  for (const std::string& line : LinesOf(text)) longest = std::max(longest, line.size());
  return longest;
}

TEST(TextTest, PoolMatchesGolden) {
  ExpectGolden("tests/stats/testdata/pool.txt", ToText(NumberedStats<PoolStats>(1'000'003), {{"pool", "default"}}));
}

TEST(TextTest, TableMatchesGolden) {
  ExpectGolden("tests/stats/testdata/table.txt", ToText(NumberedStats<TableStats>(1'000'003), {{"table", "orders"}}));
}

TEST(TextTest, RocksDBFaceMatchesGolden) {
  ExpectGolden("tests/stats/testdata/rocksdb.txt", ToText(NumberedStats<RocksDBStats>(1'000'003)));
}

TEST(TextTest, QuietPoolShowsOnlyWhatIsNotZero) {
  PoolStats stats;
  stats.gets[0] = 1234567;
  stats.hits[0] = 1234567;
  stats.idle_bytes[9] = 1536;
  stats.class_idle_bytes_max[9] = uint64_t{3} << 20;
  stats.cap_bytes = uint64_t{64} << 20;
  const std::string text = ToText(stats);
  EXPECT_EQ(text.substr(0, text.find("\nall zero:")),
            "strongbin pool\n"
            "\n"
            "class                     2 KiB    1 MiB        sum\n"
            "gets                  1,234,567        0  1,234,567\n"
            "hits                  1,234,567        0  1,234,567\n"
            "idle_bytes                  0 B  1.5 KiB    1.5 KiB\n"
            "class_idle_bytes_max        0 B    3 MiB          -\n"
            "\n"
            "cap_bytes  64 MiB\n");
}

TEST(TextTest, AllZeroLineNamesEveryRowLeftOut) {
  const std::string text = ToText(TableStats());
  for (const MetricInfo& info : ListOf<TableStats>()) {
    EXPECT_NE(text.find(' ' + std::string(info.name)), std::string::npos) << info.name;
  }
  EXPECT_LE(LongestLine(text), kTextWidth);
}

TEST(TextTest, StaysWithinTheWidthWithTheLargestNumbers) {
  PoolStats pool;
  TableStats table;
  const auto fill = [](const MetricInfo&, std::span<uint64_t> values) {
    std::ranges::fill(values, std::numeric_limits<uint64_t>::max() / 16);
  };
  ForEachMetric(fill, pool);
  ForEachMetric(fill, table);
  EXPECT_LE(LongestLine(ToText(pool)), kTextWidth);
  EXPECT_LE(LongestLine(ToText(table)), kTextWidth);
}

struct UnitCase {
  uint64_t bytes;
  const char* text;
};

TEST(TextTest, BytesAreRoundedToOneDecimalOfABinaryUnit) {
  const UnitCase cases[] = {
      {1, "1 B"},
      {1023, "1,023 B"},
      {1024, "1 KiB"},
      {1536, "1.5 KiB"},
      {(uint64_t{1} << 20) - 1, "1 MiB"},  // 1,023.999 KiB rounds up into the next unit
      {(uint64_t{1} << 20) - 103, "1,023.9 KiB"},
      {uint64_t{5} << 40, "5 TiB"},
      {std::numeric_limits<uint64_t>::max(), "16 EiB"},
  };
  for (const UnitCase& c : cases) {
    PoolStats stats;
    stats.cap_bytes = c.bytes;
    EXPECT_NE(ToText(stats).find(std::string("cap_bytes  ") + c.text + '\n'), std::string::npos) << ToText(stats);
  }
}

TEST(TextTest, LabelsCannotBreakTheLine) {
  EXPECT_EQ(LinesOf(ToText(PoolStats(), {{"pool", "a\nb"}}))[0], "strongbin pool pool=\"a\\nb\"");
}

}  // namespace
}  // namespace strongbin
