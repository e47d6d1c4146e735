#include "strongbin/tools/dbbench/gate/journal.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "strongbin/tools/dbbench/gate/metrics.h"

namespace strongbin::dbbench {
namespace {

using ::testing::HasSubstr;

class JournalTest : public ::testing::Test {
 protected:
  ~JournalTest() override { std::filesystem::remove(path_); }

  const std::string path_ = testing::TempDir() + "/journal-" + std::to_string(getpid()) + ".jsonl";
  const nlohmann::json header_ = {{"baseline", "a"}, {"candidate", "b"}};
};

TEST_F(JournalTest, PairsAreThereAgain) {
  {
    Journal journal(path_);
    ASSERT_TRUE(journal.Open(header_));
    ASSERT_TRUE(journal.Add({{"pair", 1}}));
    ASSERT_TRUE(journal.Add({{"pair", 2}}));
  }
  Journal journal(path_);
  ASSERT_TRUE(journal.Open(header_));
  ASSERT_EQ(journal.pairs().size(), 2u);
  EXPECT_EQ(journal.pairs()[1]["pair"], 2);
}

TEST_F(JournalTest, ALineThatACrashCutOffIsDropped) {
  {
    Journal journal(path_);
    ASSERT_TRUE(journal.Open(header_));
    ASSERT_TRUE(journal.Add({{"pair", 1}}));
  }
  std::ofstream(path_, std::ios::app) << "{\"pair\": 2, \"half";
  {
    Journal journal(path_);
    ASSERT_TRUE(journal.Open(header_));
    EXPECT_EQ(journal.pairs().size(), 1u);
    ASSERT_TRUE(journal.Add({{"pair", 3}}));
  }
  Journal journal(path_);
  ASSERT_TRUE(journal.Open(header_));
  ASSERT_EQ(journal.pairs().size(), 2u);
  EXPECT_EQ(journal.pairs()[1]["pair"], 3);
}

TEST_F(JournalTest, AnotherComparisonAndOtherFilesAreRefused) {
  {
    Journal journal(path_);
    ASSERT_TRUE(journal.Open(header_));
  }
  Journal other(path_);
  EXPECT_FALSE(other.Open({{"baseline", "a"}, {"candidate", "c"}}));
  EXPECT_THAT(other.error(), HasSubstr("another comparison"));
  std::ofstream(path_) << "no JSON\n";
  Journal foreign(path_);
  EXPECT_FALSE(foreign.Open(header_));
}

nlohmann::json Row(const char* test, const char* round, double operations, double seconds) {
  return {{"engine", "memtable"},    {"test", test},
          {"round", round},          {"timing", "batch of 10"},
          {"finished", "yes"},       {"operations", operations},
          {"wall_seconds", seconds}, {"fresh_chunks_key", 5},
          {"distinct_keys", 1},      {"bytes", 1},
          {"checksum", "abc"},       {"service_max_ns", 100 * seconds}};
}

TEST(MetricsTest, RoundsAreAddedAndWarmOnesAlsoApart) {
  nlohmann::json single = Row("t", "3 warm", 1e9, 1);
  single["timing"] = "single";
  const nlohmann::json report = {{"rows", {Row("t", "1 cold", 100, 3), Row("t", "2 warm", 300, 1), single}}};
  RunMetrics metrics;
  std::string error;
  ASSERT_TRUE(MetricsOf(report, &metrics, &error)) << error;
  EXPECT_EQ(metrics["t"]["ops"], 100);
  EXPECT_EQ(metrics["t"]["warm_ops"], 300);
  EXPECT_EQ(metrics["t"]["fresh_key_chunks"], 10);
  EXPECT_EQ(metrics["t"]["warm_fresh_key_chunks"], 5);
  EXPECT_EQ(metrics["t"]["max_ns"], 300);
  EXPECT_FALSE(metrics["t"].contains("rss")) << "was not measured";
}

TEST(MetricsTest, UnfinishedRunsAndTwoEnginesAreRefused) {
  nlohmann::json unfinished = Row("t", "1 cold", 100, 3);
  unfinished["finished"] = "no";
  unfinished["note"] = "too slow";
  nlohmann::json other = Row("t", "1 cold", 100, 3);
  other["engine"] = "none";
  for (const nlohmann::json& rows :
       {nlohmann::json::array(), nlohmann::json{unfinished}, nlohmann::json{Row("t", "1 cold", 100, 3), other}}) {
    RunMetrics metrics;
    std::string error;
    EXPECT_FALSE(MetricsOf({{"rows", rows}}, &metrics, &error)) << rows;
    EXPECT_FALSE(error.empty());
  }
}

TEST(MetricsTest, EqualWorkWithDifferentContentIsAnError) {
  const auto side = [](const nlohmann::json& row) {
    return nlohmann::json{{"metrics", RunMetrics{}}, {"report", {{"rows", {row}}}}};
  };
  nlohmann::json row = Row("t", "1 cold", 100, 3);
  nlohmann::json pair = {{"baseline", side(row)}, {"candidate", side(row)}};
  PairMetrics metrics;
  std::string error;
  EXPECT_TRUE(MetricsOfPair(pair, &metrics, &error)) << error;
  row["checksum"] = "def";
  pair["candidate"] = side(row);
  EXPECT_FALSE(MetricsOfPair(pair, &metrics, &error));
  row["operations"] = 101;  // other work may have other content
  pair["candidate"] = side(row);
  EXPECT_TRUE(MetricsOfPair(pair, &metrics, &error)) << error;
}

TEST(MetricsTest, AMetricBelowZeroIsRefused) {
  const auto side = [](double ops) {
    return nlohmann::json{{"metrics", {{"t", {{"ops", ops}}}}}, {"report", {{"rows", nlohmann::json::array()}}}};
  };
  PairMetrics metrics;
  std::string error;
  EXPECT_TRUE(MetricsOfPair({{"baseline", side(1)}, {"candidate", side(0)}}, &metrics, &error)) << error;
  EXPECT_FALSE(MetricsOfPair({{"baseline", side(1)}, {"candidate", side(-1)}}, &metrics, &error));
  EXPECT_THAT(error, HasSubstr("below 0"));
}

}  // namespace
}  // namespace strongbin::dbbench
