// Resets, releases, freezing, expectations.
#include <atomic>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/memtable/append_only_memtable.h"
#include "strongbin/tests/memtable/fixtures.h"
#include "strongbin/tests/memtable/test_keys.h"

namespace strongbin {
namespace {

class LifecycleTest : public testing::Test {
 protected:
  void Fill(uint64_t count, size_t value_bytes = 100, Sequence first_sequence = 1) {
    for (uint64_t i = 0; i < count; ++i) {
      ASSERT_TRUE(table_.Put(NumberKey(Scramble(i), 16), first_sequence + i, std::string(value_bytes, 'v')).ok());
    }
  }
  void ExpectEmptyAndUsable() {
    EXPECT_TRUE(table_.empty());
    EXPECT_EQ(table_.MemoryUsage(), 0u);
    EXPECT_EQ(LentBytes(pool_), 0u);
    EXPECT_EQ(table_.Get(NumberKey(Scramble(0), 16)).status.code(), Status::Code::kNotFound);
    MemtableIterator iterator = table_.NewIterator();
    iterator.SeekToFirst();
    EXPECT_FALSE(iterator.Valid());
    iterator.SeekToLast();
    EXPECT_FALSE(iterator.Valid());
    EXPECT_TRUE(iterator.status().ok());
    ASSERT_TRUE(table_.Put("key after reset", 1, "value").ok());
    EXPECT_EQ(table_.Get("key after reset").value, "value");
  }
  static void Scan(const AppendOnlyMemtable& table) {
    MemtableIterator iterator = table.NewIterator();
    for (iterator.SeekToFirst(); iterator.Valid(); iterator.Next()) {
    }
  }

  ChunkPool pool_;
  AppendOnlyMemtable table_{{.pool = &pool_}};
};

TEST_F(LifecycleTest, WarmResetKeepsChunksInThePool) {
  Fill(5000);
  Scan(table_);
  const size_t usage = table_.MemoryUsage();
  ASSERT_TRUE(table_.ResetWarm().ok());
  EXPECT_EQ(IdleBytes(pool_), usage);
  ExpectEmptyAndUsable();
}

TEST_F(LifecycleTest, SecondIdenticalGenerationTakesNoFreshChunk) {
  for (const uint64_t count : {10u, 1000u, 30'000u, 100'000u}) {
    ASSERT_TRUE(table_.ResetHard().ok());
    pool_.OnMemoryPressure();
    Fill(count);
    Scan(table_);
    const uint64_t fresh = FreshChunks(pool_);
    for (int generation = 2; generation <= 4; ++generation) {
      ASSERT_TRUE(table_.ResetWarm().ok());
      Fill(count);
      Scan(table_);
      EXPECT_EQ(FreshChunks(pool_) - fresh, 0u) << count << " entries, generation " << generation;
    }
  }
}

TEST_F(LifecycleTest, ColdResetRetainsNothing) {
  Fill(5000);
  Scan(table_);
  ASSERT_TRUE(table_.ResetCold().ok());
  EXPECT_EQ(IdleBytes(pool_), 0u);
  ExpectEmptyAndUsable();
}

TEST_F(LifecycleTest, HardResetKeepsChunksInThePool) {
  Fill(5000);
  const size_t usage = table_.MemoryUsage();
  ASSERT_TRUE(table_.ResetHard().ok());
  EXPECT_EQ(IdleBytes(pool_), usage);
  ExpectEmptyAndUsable();
}

TEST_F(LifecycleTest, ReleasedTableAnswersClosedToEverything) {
  for (const bool cold : {false, true}) {
    AppendOnlyMemtable table({.pool = &pool_});
    ASSERT_TRUE(table.Put("k", 1, "v").ok());
    ASSERT_TRUE((cold ? table.ReleaseCold() : table.ReleaseWarm()).ok());
    EXPECT_EQ(LentBytes(pool_), 0u);
    EXPECT_EQ(IdleBytes(pool_) == 0, cold);
    pool_.OnMemoryPressure();
    const Status closed = Status::Code::kClosed;
    EXPECT_EQ(table.Put("k", 2, "v"), closed);
    EXPECT_EQ(table.AppendFilled({.key = "k", .sequence = 3}, 1, [](std::span<char>) { return true; }), closed);
    EXPECT_EQ(table.AppendBatch({}), closed);
    EXPECT_EQ(table.Reserve({1, 1, 1}), closed);
    EXPECT_EQ(table.Get("k").status, closed);
    EXPECT_FALSE(table.Pin());
    MemtableIterator iterator = table.NewIterator();
    EXPECT_EQ(iterator.status(), closed);
    iterator.SeekToFirst();
    EXPECT_FALSE(iterator.Valid());
    EXPECT_EQ(iterator.status(), closed);
    EXPECT_EQ(table.ResetWarm(), closed);
    EXPECT_EQ(table.ResetHard(), closed);
    EXPECT_EQ(table.ReleaseWarm(), closed);
    EXPECT_EQ(table.MemoryUsage(), 0u);
    EXPECT_EQ(table.entry_count(), 0u);
    EXPECT_EQ(table.Stats()
                  .resets[static_cast<size_t>(cold ? ResetKindLabel::k_release_cold : ResetKindLabel::k_release_warm)],
              1u);
  }
}

TEST_F(LifecycleTest, BusyResetsChangeNothing) {
  Fill(100);
  table_.Freeze();
  const Capacity expected = table_.expected_capacity();
  const size_t usage = table_.MemoryUsage();
  {
    ReadPin pin = table_.Pin();
    EXPECT_EQ(table_.ResetWarm().code(), Status::Code::kBusy);
    EXPECT_EQ(table_.ResetCold().code(), Status::Code::kBusy);
    pin.Reset();
    MemtableIterator iterator = table_.NewIterator();
    EXPECT_EQ(table_.ResetHard().code(), Status::Code::kBusy);
    EXPECT_EQ(table_.ReleaseWarm().code(), Status::Code::kBusy);
    EXPECT_EQ(table_.ReleaseCold().code(), Status::Code::kBusy);
  }
  EXPECT_EQ(table_.Stats().busy_resets, 5u);
  EXPECT_TRUE(table_.frozen());
  EXPECT_EQ(table_.entry_count(), 100u);
  EXPECT_EQ(table_.MemoryUsage(), usage);
  EXPECT_EQ(table_.expected_capacity().entries, expected.entries);
  for (uint64_t i = 0; i < 100; ++i) EXPECT_TRUE(table_.Get(NumberKey(Scramble(i), 16)).found());
  ASSERT_TRUE(table_.ResetWarm().ok());
  EXPECT_FALSE(table_.frozen());
  ExpectEmptyAndUsable();
}

TEST_F(LifecycleTest, WaitingResetWaitsForPins) {
  Fill(10);
  ReadPin pin = table_.Pin();
  std::atomic<bool> let_go{false};
  std::thread holder([&, held = std::move(pin)]() mutable {
    // Not before the reset has found the table busy at least once.
    while (table_.Stats().busy_resets == 0) std::this_thread::yield();
    let_go = true;
    held.Reset();
  });
  ASSERT_TRUE(table_.ResetWarm(WhenBusy::kWait).ok());
  EXPECT_TRUE(let_go.load());
  holder.join();
  ExpectEmptyAndUsable();
}

TEST_F(LifecycleTest, FreezeEndsWritingAndLosesNothing) {
  Fill(10);
  table_.Freeze();
  const Status frozen = Status::Code::kFrozen;
  EXPECT_EQ(table_.Put("k", 100, "v"), frozen);
  EXPECT_EQ(table_.Delete("k", 100), frozen);
  EXPECT_EQ(table_.PutPointer("k", 100, {}), frozen);
  EXPECT_EQ(table_.AppendFilled({.key = "k", .sequence = 100}, 1, [](std::span<char>) { return true; }), frozen);
  EXPECT_EQ(table_.AppendProduced(1, [](size_t, Write* write) { return write->sequence = 100, true; }), frozen);
  EXPECT_EQ(table_.Reserve({1, 1, 1}), frozen);
  EXPECT_EQ(table_.entry_count(), 10u);
  for (uint64_t i = 0; i < 10; ++i) EXPECT_TRUE(table_.Get(NumberKey(Scramble(i), 16)).found());
  Scan(table_);
}

TEST_F(LifecycleTest, FreezeBetweenFillAndAppendIsAnsweredFrozen) {
  const auto fill = [&](std::span<char>) {
    table_.Freeze();
    return true;
  };
  EXPECT_EQ(table_.AppendFilled({.key = "k", .sequence = 1}, 4, fill).code(), Status::Code::kFrozen);
  EXPECT_TRUE(table_.empty());
}

TEST_F(LifecycleTest, FillKeepsTheTableFromBeingReset) {
  Status inner;
  const auto fill = [&](std::span<char> room) {
    inner = table_.ResetWarm();
    std::fill(room.begin(), room.end(), 'f');
    return true;
  };
  ASSERT_TRUE(table_.AppendFilled({.key = "k", .sequence = 1}, 4, fill).ok());
  EXPECT_EQ(inner.code(), Status::Code::kBusy);
  EXPECT_EQ(table_.Get("k").value, "ffff");
}

// Against an arena that points into freed memory: each append after each transition lies in memory that the table
// owns now.
TEST_F(LifecycleTest, EveryTransitionIsFollowedByGoodAppends) {
  const std::string fills_a_chunk(kMinChunkBytes / 4, 'c');
  for (const std::string& first : {std::string(100, 'a'), fills_a_chunk, std::string(kMinChunkBytes, 'x')}) {
    for (int transition = 0; transition < 4; ++transition) {
      for (int repeat = 0; repeat < 4; ++repeat)
        ASSERT_TRUE(table_.Put(first, 1 + static_cast<Sequence>(repeat), first).ok());
      ASSERT_TRUE(table_.Put("a key of more than eight bytes", 1, "value").ok());
      EXPECT_EQ(table_.Get(first).value, first);
      EXPECT_EQ(table_.Get("a key of more than eight bytes").value, "value");
      EXPECT_EQ(table_.MemoryUsage(), LentBytes(pool_));
      if (transition == 0) {
        ASSERT_TRUE(table_.ResetWarm().ok());
      }
      if (transition == 1) {
        ASSERT_TRUE(table_.ResetCold().ok());
      }
      if (transition == 2) {
        ASSERT_TRUE(table_.ResetHard().ok());
      }
      if (transition == 3) {
        ASSERT_TRUE(table_.ResetWarm().ok());
      }
      pool_.OnMemoryPressure();
    }
  }
}

TEST_F(LifecycleTest, ExpectationFollowsAGenerationAndForgetsASpike) {
  Fill(10'000);
  ASSERT_TRUE(table_.ResetWarm().ok());
  EXPECT_EQ(table_.expected_capacity().entries, 10'000u);
  EXPECT_GE(table_.expected_capacity().key_bytes, 160'000u);
  EXPECT_GE(table_.expected_capacity().value_bytes, 1'000'000u);
  for (int generation = 0; generation < 12; ++generation) {
    Fill(10);
    ASSERT_TRUE(table_.ResetWarm().ok());
  }
  EXPECT_EQ(table_.expected_capacity().entries, 10u);
  EXPECT_LE(table_.expected_capacity().value_bytes, 2 * kMinChunkBytes);
  Fill(1);
  EXPECT_LE(table_.MemoryUsage(), 4 * kMinChunkBytes);
}

TEST_F(LifecycleTest, TrimAndHardResetLowerTheExpectation) {
  AppendOnlyMemtable table({.pool = &pool_, .base_capacity = {.entries = 5, .key_bytes = 50, .value_bytes = 500}});
  EXPECT_EQ(table.expected_capacity().entries, 5u);
  for (Sequence i = 0; i < 1000; ++i) ASSERT_TRUE(table.Put(NumberKey(i), i, std::string(100, 'v')).ok());
  ASSERT_TRUE(table.ResetWarm().ok());
  EXPECT_EQ(table.expected_capacity().entries, 1000u);
  table.Trim({.entries = 100, .key_bytes = 1000, .value_bytes = 10'000});
  EXPECT_EQ(table.expected_capacity().entries, 100u);
  EXPECT_EQ(table.expected_capacity().key_bytes, 1000u);
  EXPECT_EQ(table.expected_capacity().value_bytes, 10'000u);
  ASSERT_TRUE(table.ResetHard().ok());
  EXPECT_EQ(table.expected_capacity().entries, 5u);
  EXPECT_EQ(table.expected_capacity().key_bytes, 50u);
  EXPECT_EQ(table.expected_capacity().value_bytes, 500u);
}

// Any counter or offset of 32 bits would wrap on the way.
TEST_F(LifecycleTest, MoreThanFourGiBPassThroughOneTable) {
  constexpr size_t kValueBytes = size_t{1} << 20;
  constexpr uint64_t kValues = 32;
  constexpr uint64_t kGenerations = (uint64_t{1} << 32) / kValueBytes / kValues + 2;
  for (uint64_t generation = 0; generation < kGenerations; ++generation) {
    for (uint64_t i = 0; i < kValues; ++i) {
      // Only the ends are touched, so that it costs little.
      const auto fill = [&](std::span<char> room) {
        room.front() = static_cast<char>(i);
        room.back() = static_cast<char>(generation);
        return true;
      };
      ASSERT_TRUE(table_.AppendFilled({.key = NumberKey(Scramble(i)), .sequence = generation}, kValueBytes, fill).ok());
    }
    for (uint64_t i = 0; i < kValues; ++i) {
      const std::string_view value = table_.Get(NumberKey(Scramble(i))).value;
      ASSERT_EQ(value.size(), kValueBytes);
      ASSERT_EQ(value.front(), static_cast<char>(i));
      ASSERT_EQ(value.back(), static_cast<char>(generation));
    }
    ASSERT_EQ(table_.MemoryUsage(), LentBytes(pool_));
    ASSERT_GT(table_.MemoryUsage(), kValues * kValueBytes);
    ASSERT_TRUE(table_.ResetWarm().ok());
  }
  EXPECT_EQ(LentBytes(pool_), 0u);
  const PoolStats stats = pool_.Stats();
  EXPECT_GE(stats.gets[kSizeClassCount - 1], kGenerations * kValues);
  EXPECT_EQ(stats.misses[kSizeClassCount - 1], kValues);
}

TEST_F(LifecycleTest, ResetsAreCountedByKind) {
  const auto count = [&](ResetKindLabel kind) { return table_.Stats().resets[static_cast<size_t>(kind)]; };
  ASSERT_TRUE(table_.ResetWarm().ok());
  ASSERT_TRUE(table_.ResetWarm().ok());
  ASSERT_TRUE(table_.ResetCold().ok());
  ASSERT_TRUE(table_.ResetHard().ok());
  ASSERT_TRUE(table_.ReleaseCold().ok());
  EXPECT_EQ(count(ResetKindLabel::k_reset_warm), 2u);
  EXPECT_EQ(count(ResetKindLabel::k_reset_cold), 1u);
  EXPECT_EQ(count(ResetKindLabel::k_reset_hard), 1u);
  EXPECT_EQ(count(ResetKindLabel::k_release_warm), 0u);
  EXPECT_EQ(count(ResetKindLabel::k_release_cold), 1u);
}

}  // namespace
}  // namespace strongbin
