// Numbers and places of the append log.
#include "strongbin/memtable/append_log.h"

#include <cstdint>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/tests/memtable/fixtures.h"

namespace strongbin {
namespace {

struct alignas(64) Wide {
  uint64_t number;
  char rest[56];
};

template <class Slot>
class AppendLogTest : public testing::Test {};
using Slots = testing::Types<uint32_t, uint64_t, Wide>;
TYPED_TEST_SUITE(AppendLogTest, Slots);

// Fills the log beyond its 72 small segments and some of the 1 MiB ones: each number must keep a slot of its own.
TYPED_TEST(AppendLogTest, EveryNumberHasItsOwnSlotAcrossAllClasses) {
  ChunkPool pool;
  AppendLog<TypeParam> log(&pool, ChunkKind::k_log);
  constexpr uint64_t kSmallSlots = 8 * (kMinChunkBytes / sizeof(TypeParam)) * 511;
  constexpr uint64_t kSlots = kSmallSlots + 5 * (kMaxChunkBytes / sizeof(TypeParam)) + 3;
  for (uint64_t number = 0; number < kSlots; ++number) {
    ASSERT_TRUE(log.EnsureRoom(1));
    std::memcpy(static_cast<void*>(log.At(number)), &number, sizeof(uint32_t));
    log.Publish(1);
  }
  ASSERT_EQ(log.size(), kSlots);
  for (uint64_t number = 0; number < kSlots; ++number) {
    uint32_t found;
    std::memcpy(&found, static_cast<const void*>(log.At(number)), sizeof(found));
    ASSERT_EQ(found, number);
  }
  EXPECT_EQ(log.reserved_bytes(), LentBytes(pool));
}

TYPED_TEST(AppendLogTest, ContiguousSlotsLieBehindEachOther) {
  ChunkPool pool;
  AppendLog<TypeParam> log(&pool, ChunkKind::k_log);
  ASSERT_TRUE(log.EnsureRoom(200'000));
  uint64_t segments = 0;
  for (uint64_t number = 0; number < log.room(); ++segments) {
    const uint64_t count = AppendLog<TypeParam>::ContiguousFrom(number);
    ASSERT_GT(count, 0u);
    for (const uint64_t step : {uint64_t{1}, count / 2, count - 1}) {
      if (step < count) {
        ASSERT_EQ(log.At(number + step), log.At(number) + step);
      }
      if (step < count) {
        ASSERT_EQ(AppendLog<TypeParam>::ContiguousFrom(number + step), count - step);
      }
    }
    number += count;
  }
  uint64_t lent_chunks = 0;
  const PoolStats stats = pool.Stats();
  for (const uint64_t gets : stats.gets) lent_chunks += gets;
  EXPECT_GE(lent_chunks, segments);
  EXPECT_LE(lent_chunks, segments + 1);  // and a page of pointers to the 1 MiB segments
}

TEST(AppendLogRoomTest, NextSegmentIsAtMostAnEighthOfWhatIsHeld) {
  ChunkPool pool;
  AppendLog<Wide> log(&pool, ChunkKind::k_log);
  EXPECT_EQ(log.reserved_bytes(), 0u);
  for (int i = 0; i < 90; ++i) {
    const size_t held = log.reserved_bytes(), next = log.GrowthBytes(log.room() + 1);
    EXPECT_LE(next, std::max<size_t>(held / 8, kMinChunkBytes) + 2 * kMinChunkBytes);  // with a page of pointers
    ASSERT_TRUE(log.EnsureRoom(log.room() + 1));
    EXPECT_EQ(log.reserved_bytes(), held + next);
  }
}

// From the 72nd segment on segments are found through pages of 256, 512, ... pointers.
TEST(AppendLogRoomTest, MoreSegmentsThanOnePageHolds) {
  ChunkPool pool;
  AppendLog<Wide> log(&pool, ChunkKind::k_log);
  constexpr uint64_t kSlots = 8 * (kMinChunkBytes / sizeof(Wide)) * 511 + 260 * (kMaxChunkBytes / sizeof(Wide));
  ASSERT_TRUE(log.EnsureRoom(kSlots));  // 264 MiB of address space, of which few pages are touched
  std::vector<uint64_t> numbers;
  for (uint64_t number = 0; number < kSlots; number += AppendLog<Wide>::ContiguousFrom(number))
    numbers.push_back(number);
  for (const uint64_t number : numbers) log.At(number)->number = number;
  for (const uint64_t number : numbers) ASSERT_EQ(log.At(number)->number, number);
  EXPECT_EQ(log.reserved_bytes(), LentBytes(pool));
}

TEST(AppendLogRoomTest, RefusedRoomLeavesWhatIsThere) {
  RefusingSource source;
  ChunkPool pool(UnpooledFrom(&source));
  AppendLog<uint64_t> log(&pool, ChunkKind::k_log);
  ASSERT_TRUE(log.EnsureRoom(1));
  *log.At(0) = 42;
  log.Publish(1);
  source.RefuseAfter(0);
  EXPECT_FALSE(log.EnsureRoom(kMinChunkBytes / sizeof(uint64_t)));
  EXPECT_EQ(*log.At(0), 42u);
  EXPECT_EQ(log.size(), 1u);
  source.GrantAll();
  EXPECT_TRUE(log.EnsureRoom(kMinChunkBytes / sizeof(uint64_t)));
}

}  // namespace
}  // namespace strongbin
