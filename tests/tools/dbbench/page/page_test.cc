#include <fstream>
#include <set>
#include <string>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "strongbin/tools/dbbench/page/chart.h"
#include "strongbin/tools/dbbench/page/document.h"
#include "strongbin/tools/dbbench/page/result_set.h"
#include "strongbin/tools/dbbench/page/sections.h"

namespace strongbin::dbbench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Document Sample() {
  Document document;
  document.title = "a < b";
  Section section;
  section.title = "one & two";
  section.text = "words \"in\" quotes";
  section.figures = {{"figure-1", "a caption", "<svg viewBox='0 0 1 1'></svg>"}};
  section.tables = {{{"name", "value"}, {{"a|b", "1"}}}};
  section.lines = {"dbbench --baseline='<x>'"};
  document.sections.push_back(section);
  return document;
}

TEST(DocumentTest, HtmlIsEscapedAndNeedsNoOtherFile) {
  const std::string html = ToHtml(Sample());
  EXPECT_THAT(html, HasSubstr("a &lt; b"));
  EXPECT_THAT(html, HasSubstr("one &amp; two"));
  EXPECT_THAT(html, HasSubstr("&lt;x&gt;"));
  EXPECT_THAT(html, HasSubstr("<svg viewBox"));
  EXPECT_THAT(html, HasSubstr("prefers-color-scheme: dark"));
  EXPECT_THAT(html, Not(HasSubstr("http")));
  EXPECT_THAT(html, Not(HasSubstr(" src=")));
}

TEST(DocumentTest, MarkdownNamesItsPictures) {
  EXPECT_THAT(ToMarkdown(Sample(), "pictures"), HasSubstr("![a caption](pictures/figure-1.svg)"));
  const std::string plain = ToMarkdown(Sample(), "");
  EXPECT_THAT(plain, Not(HasSubstr("![")));
  EXPECT_THAT(plain, HasSubstr("| a\\|b | 1 |"));
}

class ChartTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!GnuplotIsInstalled()) GTEST_SKIP() << "gnuplot is not installed";
  }
  static void ExpectFitsAPage(const std::string& svg) {
    EXPECT_TRUE(svg.starts_with("<svg"));
    EXPECT_THAT(svg, HasSubstr("viewBox"));
    EXPECT_THAT(svg, HasSubstr("currentColor"));
    EXPECT_THAT(svg, Not(HasSubstr("'black'")));
    EXPECT_THAT(svg, Not(HasSubstr("rgb( 10,  11,  12)")));
    const std::string head = svg.substr(0, svg.find('>'));
    EXPECT_THAT(head, Not(HasSubstr(" width=")));
  }
};

TEST_F(ChartTest, BarsHaveTheirNamesAndNumbers) {
  BarChart chart;
  chart.unit = "op/s";
  chart.mark = 1;
  chart.bars = {{"rocksdb:skip_list", "#3b82f6", 1234567, 1'000'000, 1'300'000}, {"quote\"d", "#f97316", 2, 2, 2}};
  const std::string svg = Draw(chart);
  ExpectFitsAPage(svg);
  EXPECT_THAT(svg, HasSubstr("rocksdb:skip_list"));
  EXPECT_THAT(svg, HasSubstr("1,234,567"));
  EXPECT_TRUE(Draw(BarChart{}).empty());
}

TEST_F(ChartTest, LinesAreDrawnOnEveryKindOfAxis) {
  for (const bool x_log : {false, true}) {
    for (const bool y_log : {false, true}) {
      for (const bool percentiles : {false, true}) {
        LineChart chart;
        chart.x_label = "keys";
        chart.x_log = x_log;
        chart.y_log = y_log;
        chart.x_is_share_of_slowest = percentiles;
        chart.series = {{"#3b82f6", {{1, 100}, {10, 200}, {1000, 3e9}}}};
        ExpectFitsAPage(Draw(chart));
      }
    }
  }
  EXPECT_TRUE(Draw(LineChart{}).empty());
}

class ResultSetTest : public ::testing::Test {
 protected:
  ~ResultSetTest() override { unlink(path_.c_str()); }
  const std::string path_ = testing::TempDir() + "/results-" + std::to_string(getpid());
};

TEST_F(ResultSetTest, WhatIsNoResultIsRefusedByName) {
  for (const char* text :
       {"", "no JSON", "{}", "{\"tool\": \"dbbench\"}", "{\"tool\": \"dbbench\", \"rows\": 5}", "[1]"}) {
    std::ofstream(path_) << text;
    ResultSet results;
    std::string error;
    EXPECT_FALSE(ReadResults({path_}, &results, &error)) << text;
    EXPECT_THAT(error, HasSubstr(path_));
  }
  ResultSet results;
  std::string error;
  EXPECT_FALSE(ReadResults({path_ + ".none"}, &results, &error));
}

TEST_F(ResultSetTest, DurableAndPoolOffAreToldApartAndUnfinishedRowsAreLeftOut) {
  const auto row = [](const std::string& finished) {
    return R"({"engine": "kv", "test": "t", "round": "1 cold", "timing": "batch of 10", "finished": ")" + finished +
           R"(", "operations": 10, "ops_per_second": 5, "fresh_chunks": 3})";
  };
  std::ofstream(path_) << R"({"tool": "dbbench", "parameters": {"keys": "1000", "threads": "2", "profile": "durable",)"
                       << R"( "pool_cap_bytes": "0"}, "rows": [)" << row("yes") << "," << row("no") << "]}";
  ResultSet results;
  std::string error;
  ASSERT_TRUE(ReadResults({path_}, &results, &error)) << error;
  ASSERT_EQ(results.rows.size(), 1u);
  EXPECT_EQ(results.rows[0].series, "kv, pool off");
  EXPECT_EQ(results.rows[0].test, "t, durable");
  EXPECT_EQ(results.rows[0].keys, 1000u);
  EXPECT_EQ(results.rows[0].threads, 2u);
  const Document document = MakeDocument(results);
  std::set<std::string> titles;
  for (const Section& section : document.sections) titles.insert(section.title);
  EXPECT_TRUE(titles.contains("Throughput"));
  EXPECT_FALSE(titles.contains("Threads")) << "one number of threads is no scaling";
}

TEST_F(ResultSetTest, ANumberBeyondAllMeasureIsNone) {
  std::ofstream(path_) << R"({"tool": "dbbench", "parameters": {"keys": "99999999999999999999999"}, "rows": [)"
                       << R"({"engine": "kv", "test": "t", "finished": "yes", "operations": 1}]})";
  ResultSet results;
  std::string error;
  ASSERT_TRUE(ReadResults({path_}, &results, &error)) << error;
  EXPECT_EQ(results.rows.at(0).keys, 0u);
}

TEST(FigureNameTest, IsSafeForAFile) { EXPECT_EQ(FigureName("a/b:c d"), "a-b-c-d"); }

}  // namespace
}  // namespace strongbin::dbbench
