#include "strongbin/tools/strongbin_stat/watch_view.h"

#include <regex>
#include <string>

#include "strongbin/tests/stats/stats_test_util.h"

namespace strongbin::stat_tool {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kOpened = 1'700'000'000 * kSecond;

PageSnapshot LookAt(uint64_t second) {
  PageSnapshot look;
  look.pid = 4321;
  look.program = "db_bench";
  look.opened_unix_ns = kOpened;
  PoolStats pool;
  pool.cap_bytes = 64 << 20;
  for (size_t slot = 0; slot < kClassSlotCount; ++slot) {
    pool.gets[slot] = 100 * (slot + 1) * second;
    pool.hits[slot] = 90 * (slot + 1) * second;
    pool.idle_bytes[slot] = (slot + 1) << 19;
    pool.lent_bytes[slot] = (slot + 1) << 20;
  }
  pool.drops[3] = 7;
  pool.drop_bytes[3] = 7 << 14;
  pool.pressure_calls = 2;
  look.pools = {{"default", pool}};
  look.tables.entries = 1'234'567;
  look.tables.appended_entries = 250'000 * second * second;
  look.tables.used_bytes[0] = 60 << 20;
  look.tables.reserved_bytes[0] = 64 << 20;
  look.tables.resets[0] = 3 * second;
  look.tables.sorts = 5;
  look.tables.runs = 2;
  look.tables.delta_entries = 1'024;
  look.rocksdb.memtables = 2;
  look.rocksdb.made_memtables = 15;
  return look;
}

WatchView AfterLooks(uint64_t count) {
  WatchView view(1);
  for (uint64_t second = 1; second <= count; ++second) {
    view.Add(LookAt(second), second * kSecond, kOpened + 3600 * kSecond + second * kSecond);
  }
  return view;
}

std::string WithoutColours(const std::string& frame) {
  return std::regex_replace(frame, std::regex("\033\\[\\d*m"), "");
}

// Columns of a line: each character of UTF-8 is one, colours are none.
size_t WidthOf(const std::string& line) {
  const std::string plain = WithoutColours(line);
  return static_cast<size_t>(std::ranges::count_if(plain, [](char c) { return (c & 0xC0) != 0x80; }));
}

TEST(WatchViewTest, FramesMatchGolden) {
  const WatchView view = AfterLooks(20);
  ExpectGolden("tests/tools/strongbin_stat/testdata/watch.ansi", view.Draw({.columns = 100, .rows = 30}) + '\n');
  ExpectGolden("tests/tools/strongbin_stat/testdata/watch.txt",
               WithoutColours(view.Draw({.columns = 80, .rows = 30, .utf8 = false})) + '\n');
}

TEST(WatchViewTest, TheFirstLookHasNoRates) {
  const std::string frame = WithoutColours(AfterLooks(1).Draw({}));
  EXPECT_NE(frame.find("gets/s 0 "), std::string::npos) << frame;
  EXPECT_NE(frame.find("now - "), std::string::npos) << frame;
}

TEST(WatchViewTest, RatesAreBySecondsPassedAndNotByInterval) {
  WatchView view(1);
  view.Add(LookAt(0), 10 * kSecond, kOpened);
  view.Add(LookAt(10), 14 * kSecond, kOpened);
  EXPECT_NE(WithoutColours(view.Draw({})).find("gets/s 16,500"), std::string::npos);
}

TEST(WatchViewTest, CountersThatGoBackGiveNoRate) {
  WatchView view(1);
  view.Add(LookAt(10), kSecond, kOpened);
  view.Add(LookAt(5), 2 * kSecond, kOpened);
  const std::string frame = WithoutColours(view.Draw({.columns = 100, .rows = 40}));
  EXPECT_NE(frame.find("gets/s 0 "), std::string::npos) << frame;
  EXPECT_NE(frame.find("entries/s 0"), std::string::npos) << frame;
}

TEST(WatchViewTest, NoFrameIsLargerThanItsScreen) {
  const WatchView view = AfterLooks(200);
  for (size_t columns = 1; columns < 140; columns += 7) {
    for (size_t rows = 1; rows < 40; rows += 3) {
      for (const bool utf8 : {false, true}) {
        const std::vector<std::string> lines = LinesOf(view.Draw({columns, rows, utf8}));
        EXPECT_LE(lines.size(), rows);
        for (const std::string& line : lines) EXPECT_LE(WidthOf(line), columns) << line;
      }
    }
  }
}

TEST(WatchViewTest, AnyNumbersCanBeDrawn) {
  WatchView view(0.05);
  for (const uint64_t fill : {uint64_t{0}, UINT64_MAX, uint64_t{1} << 63, uint64_t{1}, UINT64_MAX}) {
    PageSnapshot look = LookAt(1);
    const auto set = [fill](const MetricInfo&, std::span<uint64_t> values) { std::ranges::fill(values, fill); };
    ForEachMetric(set, look.pools[0].stats);
    ForEachMetric(set, look.tables);
    ForEachMetric(set, look.rocksdb);
    look.opened_unix_ns = fill;
    view.Add(look, fill % 3 + 1, kOpened);
    for (const std::string& line : LinesOf(view.Draw({.columns = 100, .rows = 40}))) EXPECT_LE(WidthOf(line), 100u);
  }
}

TEST(WatchViewTest, SeveralPoolsAreAddedUpAndCounted) {
  PageSnapshot look = LookAt(1);
  look.pools.push_back({"own", look.pools[0].stats});
  look.pools_left_out = 4;
  WatchView view(1);
  view.Add(look, kSecond, kOpened);
  const std::string frame = WithoutColours(view.Draw({.columns = 100, .rows = 40}));
  EXPECT_NE(frame.find("2 pools (and 4 unseen)"), std::string::npos) << frame;
  EXPECT_NE(frame.find("of 128 MiB"), std::string::npos) << frame;
}

}  // namespace
}  // namespace strongbin::stat_tool
