#include <locale>
#include <map>
#include <regex>
#include <set>

#include "strongbin/stats/export.h"
#include "strongbin/tests/stats/stats_test_util.h"

namespace strongbin {
namespace {

std::string FullPage() {
  PrometheusPage page;
  page.Add(NumberedStats<PoolStats>(1), {{"pool", "a"}});
  page.Add(NumberedStats<TableStats>(2), {{"table", "t1"}});
  page.Add(NumberedStats<PoolStats>(3), {{"pool", "b"}});
  page.Add(NumberedStats<TableStats>(4), {{"table", "t2"}});
  page.Add(NumberedStats<RocksDBStats>(5), {{"process", "a"}});
  page.Add(NumberedStats<RocksDBStats>(6), {{"process", "b"}});
  return page.ToString();
}

TEST(PrometheusTest, PoolMatchesGolden) {
  ExpectGolden("tests/stats/testdata/pool.prom",
               ToPrometheus(NumberedStats<PoolStats>(1'000'003), {{"pool", "de\"fault\\"}, {"host", "a\nb"}}));
}

TEST(PrometheusTest, TableMatchesGolden) {
  ExpectGolden("tests/stats/testdata/table.prom", ToPrometheus(NumberedStats<TableStats>(1'000'003)));
}

TEST(PrometheusTest, RocksDBFaceMatchesGolden) {
  ExpectGolden("tests/stats/testdata/rocksdb.prom", ToPrometheus(NumberedStats<RocksDBStats>(1'000'003)));
}

TEST(PrometheusTest, NamesFollowTheRules) {
  const std::regex type_line("# TYPE (strongbin_(?:pool|table|rocksdb)_[a-z][a-z0-9_]*) (counter|gauge)");
  std::map<std::string, std::string> type_of;
  for (const std::string& line : LinesOf(FullPage())) {
    if (!line.starts_with("# TYPE")) continue;
    std::smatch match;
    ASSERT_TRUE(std::regex_match(line, match, type_line)) << line;
    EXPECT_TRUE(type_of.emplace(match[1], match[2]).second) << "twice: " << line;
    EXPECT_EQ(match[1].str().ends_with("_total"), match[2] == "counter") << line;
    for (const char* reserved : {"_sum", "_count", "_bucket"}) EXPECT_FALSE(match[1].str().ends_with(reserved)) << line;
  }
  EXPECT_EQ(type_of.size(), ListOf<PoolStats>().size() + ListOf<TableStats>().size() + ListOf<RocksDBStats>().size());
}

TEST(PrometheusTest, GaugesNameTheirUnitOnce) {
  const std::string page = FullPage();
  EXPECT_NE(page.find("# TYPE strongbin_table_longest_chain_slots gauge\n"), std::string::npos);
  EXPECT_NE(page.find("# TYPE strongbin_pool_idle_bytes gauge\n"), std::string::npos);
  EXPECT_EQ(page.find("bytes_bytes"), std::string::npos);
}

TEST(PrometheusTest, FamiliesOfSeveralPoolsAndTablesStandTogetherWithOneHead) {
  std::set<std::string> finished;
  std::string current;
  size_t samples = 0;
  for (const std::string& line : LinesOf(FullPage())) {
    if (line.starts_with("# HELP ")) {
      EXPECT_TRUE(current.empty() || finished.insert(current).second) << current;
      current = line.substr(7, line.find(' ', 7) - 7);
    } else if (line.starts_with("# TYPE ")) {
      EXPECT_TRUE(line.starts_with("# TYPE " + current + ' ')) << line;
    } else {
      EXPECT_TRUE(line.starts_with(current + '{')) << line;
      ++samples;
    }
  }
  EXPECT_FALSE(finished.contains(current));
  EXPECT_EQ(samples, 2 * (sizeof(PoolStats) + sizeof(TableStats) + sizeof(RocksDBStats)) / sizeof(uint64_t));
}

TEST(PrometheusTest, SeriesAreDistinct) {
  std::set<std::string> series;
  for (const std::string& line : LinesOf(FullPage())) {
    if (line.starts_with('#')) continue;
    EXPECT_TRUE(series.insert(line.substr(0, line.rfind(' '))).second) << line;
  }
}

TEST(PrometheusTest, NoSampleIsASumOverLabels) {
  PoolStats stats;
  stats.fresh_bytes = {1, 2, 4};
  const std::string page = ToPrometheus(stats);
  EXPECT_NE(page.find("strongbin_pool_fresh_bytes_total{class=\"2048\"} 1\n"), std::string::npos);
  EXPECT_EQ(page.find("strongbin_pool_fresh_bytes_total "), page.find("strongbin_pool_fresh_bytes_total bytes newly"));
  EXPECT_EQ(page.find("\"sum\""), std::string::npos);
}

TEST(PrometheusTest, CallersLabelsAreEscapedAndStandFirst) {
  PoolStats stats;
  stats.gets[1] = 5;
  const std::string page = ToPrometheus(stats, {{"data base", "a\\b\"c\nd"}});
  EXPECT_NE(page.find("strongbin_pool_gets_total{data_base=\"a\\\\b\\\"c\\nd\",class=\"4096\"} 5\n"),
            std::string::npos);
  EXPECT_NE(page.find("strongbin_pool_cap_bytes{data_base=\"a\\\\b\\\"c\\nd\"} 0\n"), std::string::npos);
}

struct GroupingByThousands : std::numpunct<char> {
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST(PrometheusTest, NumbersHaveAllDigitsInAnyLocale) {
  const std::locale before = std::locale::global(std::locale(std::locale::classic(), new GroupingByThousands));
  PoolStats stats;
  stats.cap_bytes = UINT64_MAX;
  const std::string page = ToPrometheus(stats);
  std::locale::global(before);
  EXPECT_NE(page.find("strongbin_pool_cap_bytes 18446744073709551615\n"), std::string::npos);
}

TEST(PrometheusTest, EmptyPageIsEmpty) { EXPECT_EQ(PrometheusPage().ToString(), ""); }

}  // namespace
}  // namespace strongbin
