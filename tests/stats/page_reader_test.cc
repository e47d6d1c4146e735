// What a reader makes of any bytes that call themselves a page.
#include "strongbin/stats/page_reader.h"

#include <cstring>
#include <random>
#include <sys/stat.h>

#include "strongbin/stats/export.h"
#include "strongbin/tests/stats/page_test_util.h"
#include "strongbin/tests/test_scale.h"

namespace strongbin {
namespace {

using namespace stats_internal;

class PageReaderTest : public testing::Test {
 protected:
  // Empty, or why the reader refuses.
  std::string RefusalOf(const void* bytes, size_t count) {
    std::filesystem::remove(path_);
    WriteBytes(path_, bytes, count);
    return RefusalOfFile();
  }
  std::string RefusalOf(const PageLayout& page) { return RefusalOf(&page, sizeof(page)); }
  std::string RefusalOfFile() {
    std::string why;
    return ReadStatsPage(path_, &snapshot_, &why) ? "" : why;
  }

  PageDirectory directory_;
  const std::string path_ = directory_.path() + "/page";
  PageSnapshot snapshot_;
};

TEST_F(PageReaderTest, AGoodPageIsReadCellByCell) {
  const auto page = NumberedPage(4321);
  EXPECT_EQ(RefusalOf(*page), "");
  EXPECT_EQ(snapshot_.pid, 4321u);
  EXPECT_EQ(snapshot_.program, "db_bench");
  uint64_t next = 0;
  const auto check = [&next](const MetricInfo& info, std::span<uint64_t> values) {
    for (const uint64_t value : values) EXPECT_EQ(value, next += 1'000'003) << info.name;
  };
  ForEachMetric(check, snapshot_.rocksdb);
  ForEachMetric(check, snapshot_.tables);
  ASSERT_EQ(snapshot_.pools.size(), 2u);
  EXPECT_EQ(snapshot_.pools[0].name, "default");
  EXPECT_EQ(snapshot_.pools[1].name, "own");
  for (PageSnapshot::Pool& pool : snapshot_.pools) ForEachMetric(check, pool.stats);
  EXPECT_EQ(SumOfPools(snapshot_).cap_bytes, snapshot_.pools[0].stats.cap_bytes + snapshot_.pools[1].stats.cap_bytes);
}

TEST_F(PageReaderTest, EveryShorterFileIsRefused) {
  const auto page = NumberedPage(1);
  for (size_t bytes = 0; bytes < sizeof(PageLayout); bytes += bytes < 2 * sizeof(PageHeader) ? 1 : 97) {
    EXPECT_NE(RefusalOf(page.get(), bytes).find("cut short"), std::string::npos) << bytes;
  }
  EXPECT_EQ(RefusalOf(*page), "");
}

TEST_F(PageReaderTest, AnotherLayoutIsRefusedWithBothVersionsAndWhatToDo) {
  const auto with = [](auto change) {
    auto page = NumberedPage(1);
    change(page->header);
    return page;
  };
  for (const auto& page :
       {with([](PageHeader& header) { header.form = 2; }), with([](PageHeader& header) { header.layout_hash = 0xabc; }),
        with([](PageHeader& header) { header.page_bytes = 64; }),
        with([](PageHeader& header) { header.pool_slots = 1 << 30; })}) {
    const std::string refusal = RefusalOf(*page);
    EXPECT_NE(refusal.find("its layout is "), std::string::npos) << refusal;
    EXPECT_NE(refusal.find("this program reads 1/"), std::string::npos) << refusal;
    EXPECT_NE(refusal.find("use the strongbin-stat that was built with"), std::string::npos) << refusal;
    EXPECT_NE(refusal.find("db_bench"), std::string::npos) << refusal;
  }
  // Another layout may be shorter than ours, and is named as such all the same.
  const auto page = with([](PageHeader& header) { header.layout_hash = 0xabc; });
  EXPECT_NE(RefusalOf(page.get(), sizeof(PageHeader)).find("its layout is 1/abc"), std::string::npos);
}

TEST_F(PageReaderTest, TheLayoutFollowsTheListOfMetrics) {
  EXPECT_NE(kLayoutText.find("pool_class gets Counter chunks\n"), std::string_view::npos);
  EXPECT_NE(kLayoutText.find("table entries Gauge entries\n"), std::string_view::npos);
  EXPECT_NE(kLayoutText.find("chunk_kind value\n"), std::string_view::npos);
  EXPECT_NE(Fnv1a(kLayoutText), Fnv1a(kLayoutText.substr(1)));
}

TEST_F(PageReaderTest, WhatIsNoPageIsRefused) {
  auto page = NumberedPage(1);
  page->header.magic = 0;
  EXPECT_NE(RefusalOf(*page).find("still being made"), std::string::npos);
  page->header.magic = 1;
  EXPECT_NE(RefusalOf(*page).find("no statistics page"), std::string::npos);
  std::filesystem::remove(path_);
  EXPECT_NE(RefusalOfFile().find("No such file"), std::string::npos);
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_NE(RefusalOfFile().find("no regular file"), std::string::npos);
  std::filesystem::remove(path_);
  ASSERT_EQ(mkdir(path_.c_str(), 0700), 0);
  EXPECT_NE(RefusalOfFile().find("no regular file"), std::string::npos);
}

TEST_F(PageReaderTest, LinksAndFilesThatOthersMayWriteAreRefused) {
  EXPECT_EQ(RefusalOf(*NumberedPage(1)), "");
  const std::string elsewhere = directory_.path() + "/elsewhere";
  std::filesystem::rename(path_, elsewhere);
  std::filesystem::create_symlink(elsewhere, path_);
  EXPECT_NE(RefusalOfFile(), "");
  std::filesystem::rename(elsewhere, path_);
  EXPECT_EQ(RefusalOfFile(), "");
  std::filesystem::permissions(path_, std::filesystem::perms::all);
  EXPECT_NE(RefusalOfFile().find("others than its owner"), std::string::npos);
}

TEST_F(PageReaderTest, PagesOfOtherUsersAreRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away and become another user";
  EXPECT_EQ(RefusalOf(*NumberedPage(1)), "");
  ASSERT_EQ(chown(path_.c_str(), 4321, 4321), 0);
  EXPECT_EQ(RefusalOfFile(), "") << "root may look at everybody's";
  std::filesystem::permissions(path_, std::filesystem::perms{0444});
  std::filesystem::permissions(directory_.path(), std::filesystem::perms{0755});
  EXPECT_EQ(InChild([this] {
              REQUIRE_IN_CHILD(seteuid(1234) == 0);
              REQUIRE_IN_CHILD(RefusalOfFile().find("belongs to user 4321") != std::string::npos);
              _exit(0);  // a leak checker could not look at a process that has become another user
            }),
            0);
}

TEST_F(PageReaderTest, NamesAreMadeHarmlessAndDistinct) {
  auto page = NumberedPage(1);
  std::memset(page->header.program, '\x1b', kPageNameBytes);
  std::memset(page->pools[0].name, 'x', kPageNameBytes);
  std::memset(page->pools[2].name, 'x', kPageNameBytes);
  page->pools[2].number = page->pools[0].number.load();
  page->pools[3].number = page->pools[0].number.load();
  EXPECT_EQ(RefusalOf(*page), "");
  EXPECT_EQ(snapshot_.program, std::string(kPageNameBytes, '?'));
  ASSERT_EQ(snapshot_.pools.size(), 3u);
  EXPECT_EQ(snapshot_.pools[0].name, std::string(kPageNameBytes, 'x'));
  EXPECT_EQ(snapshot_.pools[1].name, std::string(kPageNameBytes, 'x') + "-1");
  EXPECT_EQ(snapshot_.pools[2].name, "pool");
}

TEST_F(PageReaderTest, AnyBytesBehindTheHeaderGiveNumbersThatCanBePrinted) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (size_t round = 0; round < TestScale(50, 5'000); ++round) {
    auto page = NumberedPage(1);
    auto* bytes = reinterpret_cast<unsigned char*>(page.get());
    for (size_t i = offsetof(PageHeader, pid); i < sizeof(PageLayout); ++i) {
      bytes[i] = round % 2 == 0 ? static_cast<unsigned char>(random()) : 0xff;
    }
    ASSERT_EQ(RefusalOf(*page), "");
    PrometheusPage prometheus;
    for (const PageSnapshot::Pool& pool : snapshot_.pools) {
      EXPECT_NE(ToText(pool.stats, {{"pool", pool.name}}), "");
      EXPECT_NE(ToJson(pool.stats, {{"pool", pool.name}}), "");
      prometheus.Add(pool.stats, {{"pool", pool.name}});
    }
    prometheus.Add(SumOfPools(snapshot_), {{"pool", "sum"}});
    EXPECT_NE(ToText(snapshot_.tables) + ToText(snapshot_.rocksdb) + prometheus.ToString(), "");
  }
}

TEST_F(PageReaderTest, AnyHeaderIsAnAnswer) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (size_t round = 0; round < TestScale(200, 20'000); ++round) {
    auto page = NumberedPage(1);
    auto* bytes = reinterpret_cast<unsigned char*>(page.get());
    for (int i = 0; i < 4; ++i) bytes[random() % sizeof(PageHeader)] = static_cast<unsigned char>(random());
    RefusalOf(page.get(), random() % 2 == 0 ? sizeof(PageLayout) : random() % sizeof(PageLayout));
  }
}

}  // namespace
}  // namespace strongbin
