// Cold transitions: what becomes of a pool's idle chunks when its tables end.
#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "strongbin/memtable/append_only_memtable.h"
#include "strongbin/tests/memtable/fixtures.h"
#include "strongbin/tests/memtable/on_threads.h"
#include "strongbin/tests/memtable/test_keys.h"

namespace strongbin {
namespace {

class PoolAtEndTest : public testing::Test {
 protected:
  std::unique_ptr<AppendOnlyMemtable> NewTable(PoolAtEnd at_end) {
    auto table = std::make_unique<AppendOnlyMemtable>(MemtableOptions{.pool = &pool_, .pool_at_end = at_end});
    for (uint64_t i = 0; i < 1'000; ++i) EXPECT_TRUE(table->Put(NumberKey(Scramble(i)), i, "value").ok());
    return table;
  }
  // Counted apart from pressure, and what it says is what left.
  void ExpectDrops(uint64_t count) const {
    const PoolStats stats = pool_.Stats();
    EXPECT_EQ(stats.unused_calls, count);
    EXPECT_EQ(stats.unused_drop_bytes > 0, count > 0);
    EXPECT_EQ(stats.pressure_calls, 0u);
    EXPECT_EQ(stats.pressure_drop_bytes, 0u);
  }

  ChunkPool pool_;
};

TEST_F(PoolAtEndTest, KeptByDefault) {
  EXPECT_EQ(MemtableOptions().pool_at_end, PoolAtEnd::kKeep);
  NewTable(PoolAtEnd::kKeep).reset();
  EXPECT_GT(IdleBytes(pool_), 0u);
  ExpectDrops(0);
}

TEST_F(PoolAtEndTest, DroppedWithTheLastTableHoweverItEnds) {
  for (const int how : {0, 1, 2}) {
    SCOPED_TRACE(how);
    auto first = NewTable(PoolAtEnd::kDropWhenLast), second = NewTable(PoolAtEnd::kDropWhenLast);
    ASSERT_TRUE(first->ReleaseWarm().ok());
    EXPECT_GT(IdleBytes(pool_), 0u) << "one is still there";
    if (how == 2) {
      second.reset();
    } else {
      ASSERT_TRUE((how == 0 ? second->ReleaseWarm() : second->ReleaseCold()).ok());
    }
    EXPECT_EQ(IdleBytes(pool_), 0u);
    EXPECT_EQ(pool_.Stats().returned_bytes, pool_.Stats().fresh_bytes);
    ExpectDrops(static_cast<uint64_t>(how) + 1);
  }
}

TEST_F(PoolAtEndTest, TheLastToEndDecides) {
  auto drops = NewTable(PoolAtEnd::kDropWhenLast), keeps = NewTable(PoolAtEnd::kKeep);
  drops.reset();
  EXPECT_GT(IdleBytes(pool_), 0u);
  keeps.reset();
  EXPECT_GT(IdleBytes(pool_), 0u);
  ExpectDrops(0);
}

TEST_F(PoolAtEndTest, ATableSwitchedAwayDropsThePoolThoughOthersStay) {
  const auto stays = NewTable(PoolAtEnd::kKeep);
  const auto leaves = NewTable(PoolAtEnd::kDrop);
  ASSERT_TRUE(leaves->ReleaseWarm().ok());
  EXPECT_EQ(IdleBytes(pool_), 0u);
  ExpectDrops(1);
  for (uint64_t i = 0; i < 1'000; ++i) ASSERT_EQ(stays->Get(NumberKey(Scramble(i))).value, "value");
}

TEST_F(PoolAtEndTest, ResetsEndNoTable) {
  for (const PoolAtEnd at_end : {PoolAtEnd::kDropWhenLast, PoolAtEnd::kDrop}) {
    const uint64_t before = pool_.Stats().unused_calls;
    const auto table = NewTable(at_end);
    ASSERT_TRUE(table->ResetWarm().ok());
    EXPECT_GT(IdleBytes(pool_), 0u);
    ASSERT_TRUE(table->ResetHard().ok());
    ASSERT_TRUE(table->ResetCold().ok());
    EXPECT_EQ(pool_.Stats().unused_calls, before);
    ASSERT_TRUE(table->ReleaseWarm().ok());
    EXPECT_EQ(pool_.Stats().unused_calls, before + 1);
  }
}

// Its chunks come back with the pin, and only then is nobody left.
TEST_F(PoolAtEndTest, ATableThatIsStillReadHasNotEnded) {
  auto table = NewTable(PoolAtEnd::kDropWhenLast);
  auto other = NewTable(PoolAtEnd::kDropWhenLast);
  MemtableIterator iterator = table->NewIterator();
  iterator.SeekToFirst();
  table.reset();
  other.reset();
  EXPECT_GT(IdleBytes(pool_), 0u);
  ExpectDrops(0);
  std::thread([reader = std::move(iterator)]() mutable { EXPECT_TRUE(reader.Valid()); }).join();
  EXPECT_EQ(IdleBytes(pool_), 0u);
  EXPECT_EQ(LentBytes(pool_), 0u);
  ExpectDrops(1);
}

TEST_F(PoolAtEndTest, TablesThatEndTogetherLeaveNothing) {
  for (uint64_t round = 0; round < Scaled(100, 20); ++round) {
    std::unique_ptr<AppendOnlyMemtable> tables[4];
    for (auto& table : tables) table = NewTable(PoolAtEnd::kDropWhenLast);
    OnThreads(4, [&](uint64_t thread) { tables[thread].reset(); });
    ASSERT_EQ(IdleBytes(pool_), 0u) << "round " << round;
  }
}

}  // namespace
}  // namespace strongbin
