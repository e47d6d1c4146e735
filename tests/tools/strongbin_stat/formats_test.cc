#include "strongbin/tools/strongbin_stat/formats.h"

#include <algorithm>
#include <string>

#include "strongbin/tests/stats/page_test_util.h"
#include "strongbin/tests/stats/stats_test_util.h"

namespace strongbin::stat_tool {
namespace {

// The fixed page, as a reader sees it.
PageSnapshot Numbered() {
  const PageDirectory directory;
  const std::string path = directory.path() + "/page";
  WriteBytes(path, NumberedPage(4321).get(), sizeof(stats_internal::PageLayout));
  PageSnapshot snapshot;
  std::string why;
  EXPECT_TRUE(ReadStatsPage(path, &snapshot, &why)) << why;
  return snapshot;
}

constexpr const char* kTestdata = "tests/tools/strongbin_stat/testdata/";

TEST(FormatsTest, TextMatchesGolden) { ExpectGolden(std::string(kTestdata) + "page.txt", AsText(Numbered())); }
TEST(FormatsTest, JsonMatchesGolden) { ExpectGolden(std::string(kTestdata) + "page.json", AsJson(Numbered())); }
TEST(FormatsTest, PrometheusMatchesGolden) {
  ExpectGolden(std::string(kTestdata) + "page.prom", AsPrometheus(Numbered()));
}
TEST(FormatsTest, CsvMatchesGolden) {
  ExpectGolden(std::string(kTestdata) + "page.csv", CsvHead() + CsvRow(Numbered(), 1'700'000'000'007));
}

TEST(FormatsTest, TextNamesPoolsThatThePageHasNoRoomFor) {
  PageSnapshot snapshot = Numbered();
  EXPECT_EQ(AsText(snapshot).find("more pools"), std::string::npos);
  snapshot.pools_left_out = 3;
  EXPECT_NE(AsText(snapshot).find("and 3 more pools"), std::string::npos);
}

TEST(FormatsTest, AProcessWithoutPoolsHasTables) {
  PageSnapshot snapshot;
  snapshot.tables.entries = 5;
  EXPECT_NE(AsText(snapshot).find("entries  5"), std::string::npos);
  EXPECT_NE(AsJson(snapshot).find("\"pools\": [\n]"), std::string::npos);
  EXPECT_NE(AsPrometheus(snapshot).find("strongbin_table_entries{"), std::string::npos);
}

TEST(FormatsTest, CsvRowsHaveAsManyFieldsAsTheHead) {
  const auto fields = [](const std::string& line) { return std::ranges::count(line, ','); };
  EXPECT_EQ(fields(CsvHead()), fields(CsvRow(Numbered(), 0)));
}

}  // namespace
}  // namespace strongbin::stat_tool
