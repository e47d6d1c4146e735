// Keys with very many versions.
#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/memtable/append_only_memtable.h"
#include "strongbin/tests/memtable/fixtures.h"
#include "strongbin/tests/memtable/test_keys.h"

namespace strongbin {
namespace {

enum class Arrival : uint8_t { kOldestFirst, kNewestFirst, kRandom };
// Where the hot key stands: alone, or amid other keys written in between.
struct VersionCase {
  Arrival arrival;
  uint64_t other_keys;
  std::string hot_key;
};

class VersionTest : public testing::TestWithParam<VersionCase> {
 protected:
  // Sequences are even, so that odd snapshots fall between them. Above 256 versions a list gets a higher head.
  const uint64_t kVersions = WideTests() ? 1'000'000 : Scaled(100'000, 20'000);

  void SetUp() override {
    std::vector<uint64_t> order(kVersions);
    std::iota(order.begin(), order.end(), 1);
    if (GetParam().arrival == Arrival::kNewestFirst) std::reverse(order.begin(), order.end());
    if (GetParam().arrival == Arrival::kRandom) std::shuffle(order.begin(), order.end(), random_);
    uint64_t other = 0;
    for (const uint64_t version : order) {
      ASSERT_TRUE(table_.Put(hot_, 2 * version, std::to_string(version)).ok());
      if (other < GetParam().other_keys && OneIn(&random_, 2)) {
        ASSERT_TRUE(table_.Put(OtherKey(other), 2 * other + 1, "other").ok());
        ++other;
      }
    }
    for (; other < GetParam().other_keys; ++other)
      ASSERT_TRUE(table_.Put(OtherKey(other), 2 * other + 1, "other").ok());
  }

  // Half of them before the hot key, half behind it.
  std::string OtherKey(uint64_t number) const {
    return (number % 2 == 0 ? "a" : "z") + NumberKey(Scramble(number), 21);
  }
  uint64_t OthersBefore() const { return (GetParam().other_keys + 1) / 2; }

  Random random_{3};
  const std::string hot_ = GetParam().hot_key;
  ChunkPool pool_;
  AppendOnlyMemtable table_{{.pool = &pool_}};
};

TEST_P(VersionTest, GetFindsTheNewestAtOrBelowEachSnapshot) {
  EXPECT_EQ(table_.Get(hot_, 1).status.code(), Status::Code::kNotFound);
  EXPECT_EQ(table_.Get(hot_, 0).status.code(), Status::Code::kNotFound);
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t version = 1 + Below(&random_, kVersions);
    for (const Sequence snapshot : {2 * version, 2 * version + 1}) {
      const LookupResult found = table_.Get(hot_, snapshot);
      ASSERT_TRUE(found.found()) << snapshot;
      ASSERT_EQ(found.sequence, 2 * version);
      ASSERT_EQ(found.value, std::to_string(version));
    }
  }
  EXPECT_EQ(table_.Get(hot_).sequence, 2 * kVersions);
}

TEST_P(VersionTest, DuplicatesAreFoundAmongManyVersions) {
  for (int i = 0; i < 1000; ++i) {
    const Sequence sequence = 2 * (1 + Below(&random_, kVersions));
    ASSERT_EQ(table_.Put(hot_, sequence, "again").code(), Status::Code::kDuplicate);
    ASSERT_EQ(table_.Delete(hot_, sequence).code(), Status::Code::kDuplicate);
  }
  EXPECT_EQ(table_.entry_count(), kVersions + GetParam().other_keys);
}

TEST_P(VersionTest, AllVersionsComeNewestFirstInBothDirections) {
  MemtableIterator iterator = table_.NewIterator({.all_versions = true});
  iterator.Seek(hot_);
  for (uint64_t version = kVersions; version > 0; --version, iterator.Next()) {
    ASSERT_TRUE(iterator.Valid());
    ASSERT_EQ(iterator.key(), hot_);
    ASSERT_EQ(iterator.sequence(), 2 * version);
  }
  EXPECT_NE(iterator.Valid() ? iterator.key() : "", hot_);
  iterator.SeekForPrev(hot_);
  for (uint64_t version = 1; version <= kVersions; ++version, iterator.Prev()) {
    ASSERT_TRUE(iterator.Valid());
    ASSERT_EQ(iterator.sequence(), 2 * version);
  }
  EXPECT_NE(iterator.Valid() ? iterator.key() : "", hot_);
}

TEST_P(VersionTest, NewestModeShowsOneVersionAndItsNeighbours) {
  for (int i = 0; i < 300; ++i) {
    const Sequence snapshot = 2 + Below(&random_, 2 * kVersions);
    MemtableIterator iterator = table_.NewIterator({.snapshot = snapshot});
    const bool forward = i % 2 == 0;
    forward ? iterator.Seek(hot_) : iterator.SeekForPrev(hot_);
    ASSERT_TRUE(iterator.Valid());
    ASSERT_EQ(iterator.key(), hot_);
    ASSERT_EQ(iterator.sequence(), snapshot / 2 * 2);
    // To a neighbour and back, which turns around amid the versions.
    forward ? iterator.Next() : iterator.Prev();
    if (!iterator.Valid()) continue;
    ASSERT_NE(iterator.key(), hot_);
    forward ? iterator.Prev() : iterator.Next();
    ASSERT_TRUE(iterator.Valid());
    ASSERT_EQ(iterator.key(), hot_);
    ASSERT_EQ(iterator.sequence(), snapshot / 2 * 2);
  }
}

TEST_P(VersionTest, NewestModeCountsEachKeyOnceInBothDirections) {
  MemtableIterator iterator = table_.NewIterator();
  uint64_t count = 0;
  for (iterator.SeekToFirst(); iterator.Valid(); iterator.Next()) {
    if (iterator.key() == hot_) {
      EXPECT_EQ(count, OthersBefore());
    }
    ++count;
  }
  EXPECT_EQ(count, GetParam().other_keys + 1);
  for (iterator.SeekToLast(); iterator.Valid(); iterator.Prev()) --count;
  EXPECT_EQ(count, 0u);
}

INSTANTIATE_TEST_SUITE_P(Arrivals, VersionTest,
                         testing::Values(VersionCase{Arrival::kOldestFirst, 0, "hot"},
                                         VersionCase{Arrival::kNewestFirst, 0, "hot"},
                                         VersionCase{Arrival::kRandom, 0, "h"},
                                         VersionCase{Arrival::kOldestFirst, 5'000, "hot key of many bytes"},
                                         VersionCase{Arrival::kNewestFirst, 5'000, "hot"},
                                         VersionCase{Arrival::kRandom, 5'000, "hot key of many bytes"}));

}  // namespace
}  // namespace strongbin
