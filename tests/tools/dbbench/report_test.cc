#include "strongbin/tools/dbbench/report.h"

#include <limits>
#include <set>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "strongbin/tools/dbbench/format.h"

namespace strongbin::dbbench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(FormatTest, GroupsThousands) {
  EXPECT_EQ(Grouped(uint64_t{0}), "0");
  EXPECT_EQ(Grouped(uint64_t{999}), "999");
  EXPECT_EQ(Grouped(uint64_t{1000}), "1,000");
  EXPECT_EQ(Grouped(~uint64_t{0}), "18,446,744,073,709,551,615");
  EXPECT_EQ(Grouped(-1234567.25, 1), "-1,234,567.2");
}

TEST(FormatTest, KeepsThreeDigitsThatCount) {
  EXPECT_EQ(Significant(0), "0");
  EXPECT_EQ(Significant(0.01234), "0.0123");
  EXPECT_EQ(Significant(1.005), "1.00");
  EXPECT_EQ(Significant(12.345), "12.3");
  EXPECT_EQ(Significant(123456.7), "123,457");
}

TEST(FormatTest, ChoosesUnits) {
  EXPECT_EQ(Duration(950), "950 ns");
  EXPECT_EQ(Duration(12'345), "12.3 us");
  EXPECT_EQ(Duration(4'560'000), "4.56 ms");
  EXPECT_EQ(Duration(90'000'000'000), "90.0 s");
  EXPECT_EQ(Bytes(1023), "1023 B");
  EXPECT_EQ(Bytes(1536), "1.50 KiB");
}

Report OneRow() {
  Report report;
  report.settings = {{"label", "a | b"}};
  Row row;
  row.engine = "memtable";
  row.test = "readrandom";
  row.round = "1 cold";
  row.timing = "batch of 10";
  row.loop = "closed";
  row.finished = row.measured = true;
  row.operations = row.planned_operations = 1'234'567;
  row.checksum = 0xabc;
  row.note = "pipe | comma, quote \"";
  report.rows.push_back(row);
  row.engine = "none";
  row.checksum.reset();
  report.rows.push_back(row);
  return report;
}

TEST(ReportTest, NumbersThatJsonDoesNotHaveAreNull) {
  Report report = OneRow();
  report.rows[0].ops_per_second = std::numeric_limits<double>::infinity();
  report.rows[0].us_per_op = std::numeric_limits<double>::quiet_NaN();
  const std::string json = ToJson(report);
  EXPECT_THAT(json, HasSubstr("\"ops_per_second\": null"));
  EXPECT_THAT(json, HasSubstr("\"us_per_op\": null"));
}

TEST(ReportTest, ColumnNamesAreDistinct) {
  std::set<std::string> names;
  for (const Column& column : Columns()) EXPECT_TRUE(names.insert(column.id).second) << column.id;
}

TEST(ReportTest, MarkdownRowsOfATableHaveTheSameWidth) {
  std::istringstream lines(ToMarkdown(OneRow()));
  size_t width = 0;
  size_t table_lines = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("|")) {
      width = 0;
      continue;
    }
    ++table_lines;
    if (width != 0) {
      EXPECT_EQ(line.size(), width) << line;
    }
    width = line.size();
  }
  EXPECT_GT(table_lines, 8u);
}

TEST(ReportTest, MarkdownEscapesPipesAndLeavesOutWhatNobodyMeasured) {
  const std::string text = ToMarkdown(OneRow());
  EXPECT_THAT(text, HasSubstr("pipe \\| comma"));
  EXPECT_THAT(text, HasSubstr("1,234,567"));
  EXPECT_THAT(text, HasSubstr("0000000000000abc"));
  EXPECT_THAT(text, Not(HasSubstr("## Pool")));
  EXPECT_THAT(text, Not(HasSubstr("p99")));
}

TEST(ReportTest, MarkdownShowsTheRowsThatHaveValuesOfTheTable) {
  Report report = OneRow();
  report.rows[1].pool.emplace().gets = 77;
  const std::string text = ToMarkdown(report);
  const std::string pool = text.substr(text.find("## Pool"));
  EXPECT_THAT(pool, HasSubstr("| none "));
  EXPECT_THAT(pool, HasSubstr(" 77 |"));
  EXPECT_THAT(pool, Not(HasSubstr("memtable")));
}

TEST(ReportTest, JsonAndCsvTellAbsentFromZero) {
  const std::string json = ToJson(OneRow());
  EXPECT_THAT(json, HasSubstr("\"checksum\": \"0000000000000abc\""));
  EXPECT_THAT(json, HasSubstr("\"checksum\": null"));
  EXPECT_THAT(json, HasSubstr("\"operations\": 1234567"));
  EXPECT_THAT(json, HasSubstr("pipe | comma, quote \\\""));
  const std::string csv = ToCsv(OneRow());
  EXPECT_THAT(csv, HasSubstr("\"pipe | comma, quote \"\"\""));
  EXPECT_THAT(csv, HasSubstr(",1234567,"));
}

}  // namespace
}  // namespace strongbin::dbbench
