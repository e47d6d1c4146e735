// Tables of many segments, stretches and runs.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/memtable/append_only_memtable.h"
#include "strongbin/memtable/sort_scratch.h"
#include "strongbin/memtable/sorted_run.h"
#include "strongbin/tests/memtable/fixtures.h"
#include "strongbin/tests/memtable/test_keys.h"

namespace strongbin {
namespace {

// Up to this many entries are sorted in their run's own chunk, more in buckets, and more than 4 Mi in several
// stretches.
constexpr uint64_t kChunkEntries = 65'536;

class LargeTableTest : public testing::Test {
 protected:
  void PutAll(const std::vector<std::string>& keys) {
    for (const std::string& key : keys) ASSERT_TRUE(table_.Put(key, ++sequence_, key).ok());
    keys_.insert(keys_.end(), keys.begin(), keys.end());
  }
  void ExpectAll() {
    std::sort(keys_.begin(), keys_.end());
    MemtableIterator iterator = table_.NewIterator();
    iterator.SeekToFirst();
    for (const std::string& key : keys_) {
      ASSERT_TRUE(iterator.Valid());
      ASSERT_EQ(iterator.key(), key);
      ASSERT_EQ(iterator.value(), key);
      iterator.Next();
    }
    ASSERT_FALSE(iterator.Valid());
    iterator.SeekToLast();
    for (auto it = keys_.rbegin(); it != keys_.rend(); ++it, iterator.Prev()) {
      ASSERT_TRUE(iterator.Valid());
      ASSERT_EQ(iterator.key(), *it);
    }
    ASSERT_FALSE(iterator.Valid());
    for (const std::string& key : keys_) ASSERT_TRUE(table_.Get(key).found());
    for (size_t i = 0; i < keys_.size(); i += 97) {
      iterator.Seek(keys_[i]);
      ASSERT_EQ(iterator.key(), keys_[i]);
      iterator.Seek(keys_[i] + '\0');
      ASSERT_EQ(iterator.Valid(), i + 1 < keys_.size());
      if (iterator.Valid()) {
        ASSERT_EQ(iterator.key(), keys_[i + 1]);
      }
      iterator.SeekForPrev(keys_[i] + '\0');
      ASSERT_EQ(iterator.key(), keys_[i]);
    }
  }
  static std::vector<std::string> Scrambled(const std::string& common, uint64_t first, uint64_t count) {
    std::vector<std::string> keys;
    for (uint64_t i = first; i < first + count; ++i) keys.push_back(common + NumberKey(Scramble(i), 20));
    return keys;
  }

  ChunkPool pool_;
  AppendOnlyMemtable table_{{.pool = &pool_, .freeze_bytes = size_t{1} << 30}};
  Sequence sequence_ = 0;
  std::vector<std::string> keys_;
};

TEST_F(LargeTableTest, LongTailIsSortedAtOnce) {
  PutAll(Scrambled("", 0, 2 * kChunkEntries + 1000));
  ExpectAll();
  const TableStats stats = table_.Stats();
  EXPECT_EQ(stats.runs, 1u);
  EXPECT_EQ(stats.sorts, 1u);
  EXPECT_EQ(stats.sorted_entries, stats.entries);
  EXPECT_GT(stats.sort_scratch_bytes, 0u);
  EXPECT_LT(stats.sort_scratch_bytes, SortScratch::kMaxKeptBytes) << "it could not be kept for the next one";
  EXPECT_EQ(table_.MemoryUsage(), LentBytes(pool_)) << "the scratch is not the pool's";
  ASSERT_TRUE(table_.ResetWarm().ok());
  EXPECT_EQ(table_.Stats().sort_scratch_bytes, stats.sort_scratch_bytes)
      << "a maximum of the table, not of a generation";
}

// Keys whose records agree, in every bucket, and more versions of one key than a bucket holds: those are then sorted as
// one, in a scratch for all.
TEST_F(LargeTableTest, VersionsAmongManyKeys) {
  for (const uint64_t version_count : {uint64_t{30'000}, kChunkEntries + 10'000}) {
    ASSERT_TRUE(table_.ResetWarm().ok());
    std::vector<std::pair<std::string, Sequence>> expected;
    for (uint64_t i = 0; i < kChunkEntries + 20'000; ++i) {
      const std::string start = NumberKey(Scramble(i / 2), 20);
      for (const std::string& key :
           {i < version_count ? std::string("5 hot") : start, start + (i % 2 == 0 ? "b" : "a")}) {
        ASSERT_TRUE(table_.Put(key, ++sequence_, "").ok());
        expected.emplace_back(key, kMaxSequence - sequence_);
      }
    }
    std::sort(expected.begin(), expected.end());
    MemtableIterator iterator = table_.NewIterator({.all_versions = true});
    iterator.SeekToFirst();
    for (const auto& [key, from_top] : expected) {
      ASSERT_TRUE(iterator.Valid());
      ASSERT_EQ(iterator.key(), key);
      ASSERT_EQ(iterator.sequence(), kMaxSequence - from_top);
      iterator.Next();
    }
    ASSERT_FALSE(iterator.Valid());
    if (version_count > kChunkEntries) {
      EXPECT_GE(table_.Stats().sort_scratch_bytes, expected.size() * sizeof(RunRecord));
    }
  }
}

// Keys that do not begin as the sample says, one of which stands at the end.
TEST_F(LargeTableTest, LastKeyTellsThatLessIsCommon) {
  PutAll(Scrambled("common", 0, kChunkEntries + 5'000));
  PutAll({"con"});
  ExpectAll();
}

TEST(LargeTableRefusalTest, SortWithoutMemoryInItsMiddleSaysSoAndWorksLater) {
  RefusingSource source;
  ChunkPool pool(UnpooledFrom(&source));
  AppendOnlyMemtable table({.pool = &pool, .freeze_bytes = size_t{1} << 30});
  constexpr uint64_t kCount = 2 * kChunkEntries + 5'000;
  for (uint64_t i = 0; i < kCount; ++i) ASSERT_TRUE(table.Put(NumberKey(Scramble(i), 20), i + 1, "").ok());
  const size_t before = LentBytes(pool);
  // Three chunks and the samples, which a run can do without.
  for (int64_t granted = 0; granted < 3; ++granted) {
    source.RefuseAfter(granted);
    MemtableIterator iterator = table.NewIterator();
    iterator.SeekToFirst();
    EXPECT_EQ(iterator.status().code(), Status::Code::kOutOfMemory) << granted;
    EXPECT_EQ(LentBytes(pool), before) << granted;
  }
  source.GrantAll();
  MemtableIterator iterator = table.NewIterator();
  uint64_t count = 0;
  std::string last;
  for (iterator.SeekToFirst(); iterator.Valid(); iterator.Next(), ++count) {
    ASSERT_LT(last, iterator.key());
    last = iterator.key();
  }
  EXPECT_EQ(count, kCount);
}

TEST_F(LargeTableTest, TailOfMoreThanOneStretchIsWhole) {
  if (!WideTests()) GTEST_SKIP() << "4.3 million entries; STRONGBIN_TEST_SCALE=wide";
  PutAll(Scrambled("", 0, 66 * kChunkEntries));
  ExpectAll();
  EXPECT_EQ(table_.Stats().runs, 1u);
  EXPECT_EQ(table_.Stats().merges, 1u);
  PutAll(Scrambled("", 66 * kChunkEntries, 40 * kChunkEntries));
  ExpectAll();
  EXPECT_EQ(table_.Stats().runs, 1u);
}

TEST_F(LargeTableTest, TableOfATableIdThenKeysThatShareLessAndNothing) {
  PutAll(Scrambled(std::string(64, 'm'), 0, 5000));
  ExpectAll();  // a run that leaves out 64 bytes
  PutAll(Scrambled(std::string(64, 'm'), 5000, 100));
  ExpectAll();
  PutAll(Scrambled(std::string(8, 'm'), 10'000, 3000));
  ExpectAll();  // merged, or beside a run that leaves out 8
  PutAll({"", "a", "z", std::string(8, 'm'), std::string(64, 'm'), std::string(7, 'm'), std::string(65, 'm')});
  ExpectAll();
  PutAll(Scrambled("q", 20'000, 20'000));
  ExpectAll();
  EXPECT_GT(table_.Stats().merges, 0u);
}

TEST_F(LargeTableTest, SeeksOutsideWhatAllKeysShare) {
  PutAll(Scrambled(std::string(64, 'm'), 0, 1000));
  MemtableIterator iterator = table_.NewIterator();
  std::sort(keys_.begin(), keys_.end());
  for (const std::string& low : {std::string(), std::string("a"), std::string(63, 'm'), std::string(64, 'm'),
                                 std::string(63, 'm') + "l" + std::string(30, 'z')}) {
    iterator.Seek(low);
    ASSERT_TRUE(iterator.Valid());
    EXPECT_EQ(iterator.key(), keys_.front());
    iterator.SeekForPrev(low);
    EXPECT_FALSE(iterator.Valid());
  }
  for (const std::string& high : {std::string("n"), std::string(63, 'm') + "n", std::string(64, 'm') + "z"}) {
    iterator.Seek(high);
    EXPECT_FALSE(iterator.Valid());
    iterator.SeekForPrev(high);
    ASSERT_TRUE(iterator.Valid());
    EXPECT_EQ(iterator.key(), keys_.back());
  }
}

TEST_F(LargeTableTest, AscendingBaseWithLaterKeysAllOverIt) {
  std::vector<std::string> ascending;
  for (uint64_t i = 0; i < 30'000; ++i) ascending.push_back(NumberKey(10 * i, 20));
  PutAll(ascending);
  ExpectAll();
  EXPECT_EQ(table_.Stats().sorts, 0u);
  EXPECT_EQ(table_.Stats().ascending_entries, 30'000u);
  std::vector<std::string> between;
  for (uint64_t i = 0; i < 3'000; ++i)
    between.push_back(NumberKey(10 * (Scramble(i) % 30'000) + 1 + i % 9, 20) + "x" + std::to_string(i));
  PutAll(between);
  ExpectAll();
}

TEST_F(LargeTableTest, WrittenOnlyTableNeverSorts) {
  PutAll(Scrambled("", 0, 20'000));
  for (uint64_t i = 0; i < 20'000; ++i) ASSERT_TRUE(table_.Get(keys_[i]).found());
  table_.Freeze();
  MemtableIterator iterator = table_.NewIterator();  // creation sorts nothing either
  const TableStats stats = table_.Stats();
  EXPECT_EQ(stats.sorts, 0u);
  EXPECT_EQ(stats.merges, 0u);
  EXPECT_EQ(stats.runs, 0u);
  EXPECT_EQ(stats.reserved_bytes[static_cast<size_t>(ChunkKind::k_run)], 0u);
}

// Each entry is put in order once, and moved by merges about 9 * log8(n) times at most.
TEST_F(LargeTableTest, SmallWritesBetweenScansCostLogarithmicallyManyMoves) {
  const uint64_t count = Scaled(100'000, 20'000);
  MemtableIterator iterator = table_.NewIterator();
  ASSERT_TRUE(table_.Put("z", 1, "").ok());
  uint64_t most_runs = 0;
  for (uint64_t i = 0; i < count; ++i) {
    ASSERT_TRUE(table_.Put(NumberKey(Scramble(i), 20), i + 2, "").ok());
    if (i % 4 != 0) continue;
    iterator.Seek("05");
    if (i % 1000 == 0) most_runs = std::max(most_runs, table_.Stats().runs);
  }
  iterator.SeekToFirst();
  const TableStats stats = table_.Stats();
  EXPECT_EQ(stats.sorted_entries + stats.delta_inserts, count + 1);
  EXPECT_EQ(stats.sorts, 1u);
  EXPECT_LE(stats.merged_entries, 9 * 6 * count);  // 6: log8 of the count
  EXPECT_LE(most_runs, 6u);
}

TEST_F(LargeTableTest, ScanAfterScanWithoutWritesDoesNoWork) {
  PutAll(Scrambled("", 0, 10'000));
  MemtableIterator first = table_.NewIterator();
  first.SeekToFirst();
  const TableStats before = table_.Stats();
  MemtableIterator second = table_.NewIterator();
  second.SeekToLast();
  second.Seek("05");
  const TableStats after = table_.Stats();
  EXPECT_EQ(after.sorts, before.sorts);
  EXPECT_EQ(after.merges, before.merges);
  EXPECT_EQ(after.reserved_bytes, before.reserved_bytes);  // iterators share runs and copy no entries
}

}  // namespace
}  // namespace strongbin
