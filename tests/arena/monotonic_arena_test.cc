#include "strongbin/arena/monotonic_arena.h"

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/tests/pool/pool_test_util.h"

namespace strongbin {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

MonotonicArenaOptions ArenaOptions(ChunkPool* pool, size_t min_buffer_bytes = kMinChunkBytes) {
  MonotonicArenaOptions options;
  options.pool = pool;
  options.min_buffer_bytes = min_buffer_bytes;
  return options;
}

// What an arena may say of itself at any quiet point.
void ExpectSound(const MonotonicArena& arena, const ChunkPool& pool) {
  EXPECT_LE(arena.used_bytes(), arena.reserved_bytes());
  EXPECT_LE(arena.used_bytes() + arena.abandoned_bytes(), arena.reserved_bytes());
  EXPECT_LE(arena.reserved_bytes(), arena.peak_bytes());
  EXPECT_EQ(arena.reserved_bytes(), Sum(pool.Stats().lent_bytes));
}

class MonotonicArenaTest : public testing::Test {
 protected:
  TestSource source_;
  ChunkPool pool_{PoolOptions(64 * kMiB, &source_)};
};

TEST_F(MonotonicArenaTest, AnUnusedArenaHoldsNothing) {
  MonotonicArena arena(ArenaOptions(&pool_));
  EXPECT_EQ(arena.reserved_bytes(), 0u);
  EXPECT_EQ(arena.buffer_count(), 0u);
  EXPECT_EQ(arena.used_bytes(), 0u);
  arena.Reset();
  arena.Release();
  arena.Drop();
  EXPECT_EQ(Sum(pool_.Stats().gets), 0u);
}

TEST_F(MonotonicArenaTest, AllocationsLieSideBySideUntilTheBufferIsFull) {
  MonotonicArena arena(ArenaOptions(&pool_));
  char* first = arena.Allocate(100);
  for (int i = 1; i < 20; i++) ASSERT_EQ(arena.Allocate(100), first + 100 * i);
  EXPECT_EQ(arena.used_bytes(), 2000u);
  EXPECT_EQ(arena.reserved_bytes(), 2048u);
  EXPECT_EQ(arena.abandoned_bytes(), 0u);
  EXPECT_EQ(arena.buffers_examined(), 1u);
  // Does not fit any more: the cursor goes on to a new buffer and leaves 48 bytes behind for good.
  char* next = arena.Allocate(49);
  EXPECT_TRUE(next < first || next >= first + 2048);
  EXPECT_EQ(arena.abandoned_bytes(), 48u);
  EXPECT_EQ(arena.buffers_examined(), 2u);
  EXPECT_EQ(arena.Allocate(1), next + 49) << "no look back, though this would have fitted";
  EXPECT_EQ(arena.used_bytes(), 2050u);
  ExpectSound(arena, pool_);
}

TEST_F(MonotonicArenaTest, BuffersGrowToAnEighthOfWhatIsHeld) {
  MonotonicArena arena(ArenaOptions(&pool_));
  while (arena.reserved_bytes() < 64 * kMiB) {
    const size_t held_bytes = arena.reserved_bytes();
    ASSERT_NE(arena.Allocate(16), nullptr);
    const size_t added_bytes = arena.reserved_bytes() - held_bytes;
    if (added_bytes == 0) continue;
    EXPECT_LE(added_bytes, std::max(kMinChunkBytes, held_bytes / 8));
    EXPECT_GT(added_bytes * 2, std::min(kMaxChunkBytes, held_bytes / 8));
  }
  ExpectSound(arena, pool_);
}

TEST_F(MonotonicArenaTest, BuffersExaminedPerAllocationDoNotGrowWithTheirNumber) {
  const auto examined_behind = [&](size_t filled_buffers) {
    MonotonicArena arena(ArenaOptions(&pool_, kMaxChunkBytes));
    while (arena.buffer_count() < filled_buffers) EXPECT_NE(arena.Allocate(4096), nullptr);
    std::mt19937 random(1);
    const uint64_t before = arena.buffers_examined();
    for (int i = 0; i < 20'000; i++) EXPECT_NE(arena.Allocate(1 + random() % 4096), nullptr);
    return arena.buffers_examined() - before;
  };
  const uint64_t behind_10 = examined_behind(10);
  EXPECT_GT(behind_10, 0u);
  EXPECT_EQ(examined_behind(100), behind_10);
  EXPECT_EQ(examined_behind(1'000), behind_10);
}

TEST_F(MonotonicArenaTest, ARequestAboveAQuarterOfTheNextBufferGetsItsOwnAndLeavesTheCursor) {
  MonotonicArena arena(ArenaOptions(&pool_));
  char* first = arena.Allocate(2000);  // the very first: above a quarter of 2 KiB
  EXPECT_EQ(arena.reserved_bytes(), 2048u);
  EXPECT_EQ(arena.abandoned_bytes(), 48u);
  char* small = arena.Allocate(10);
  EXPECT_EQ(arena.reserved_bytes(), 4096u);
  char* large = arena.Allocate(3 * kMiB + 7);
  EXPECT_NE(large, nullptr);
  EXPECT_EQ(arena.abandoned_bytes(), 48u) << "an oversize block is exact";
  EXPECT_EQ(arena.Allocate(10), small + 10);
  EXPECT_EQ(arena.used_bytes(), 2000 + 20 + 3 * kMiB + 7);
  std::memset(first, 1, 2000);
  std::memset(large, 1, 3 * kMiB + 7);
  ExpectSound(arena, pool_);

  arena.Reset();
  EXPECT_EQ(arena.reserved_bytes(), 2048u) << "buffers of their own leave on reset";
  EXPECT_EQ(arena.buffer_count(), 1u);
  EXPECT_EQ(arena.abandoned_bytes(), 0u);
  EXPECT_EQ(arena.used_bytes(), 0u);
  EXPECT_EQ(arena.Allocate(10), small) << "the cursor is back at the first buffer";
  ExpectSound(arena, pool_);
}

TEST_F(MonotonicArenaTest, AfterAResetTheKeptBuffersAreWalkedForward) {
  MonotonicArena arena(ArenaOptions(&pool_));
  std::vector<char*> first_round;
  for (int i = 0; i < 5'000; i++) first_round.push_back(arena.Allocate(100));
  const size_t reserved_bytes = arena.reserved_bytes();
  const size_t abandoned_bytes = arena.abandoned_bytes();
  const uint64_t gets = Sum(pool_.Stats().gets);
  for (int round = 0; round < 3; round++) {
    arena.Reset();
    EXPECT_EQ(arena.used_bytes(), 0u);
    EXPECT_EQ(arena.reserved_bytes(), reserved_bytes);
    for (char* expected : first_round) ASSERT_EQ(arena.Allocate(100), expected);
    EXPECT_EQ(arena.used_bytes(), 500'000u);
    EXPECT_EQ(arena.abandoned_bytes(), abandoned_bytes);
  }
  EXPECT_EQ(Sum(pool_.Stats().gets), gets);
  EXPECT_EQ(arena.peak_bytes(), reserved_bytes);
}

TEST_F(MonotonicArenaTest, ReleaseGoesToThePoolAndDropPastIt) {
  MonotonicArena arena(ArenaOptions(&pool_));
  for (int i = 0; i < 1'000; i++) ASSERT_NE(arena.Allocate(1'000), nullptr);
  const size_t reserved_bytes = arena.reserved_bytes();
  const uint64_t misses = Sum(pool_.Stats().misses);
  arena.Release();
  EXPECT_EQ(arena.reserved_bytes(), 0u);
  EXPECT_EQ(arena.buffer_count(), 0u);
  EXPECT_EQ(arena.peak_bytes(), reserved_bytes);
  EXPECT_EQ(Sum(pool_.Stats().idle_bytes), reserved_bytes);
  for (int i = 0; i < 1'000; i++) ASSERT_NE(arena.Allocate(1'000), nullptr);
  EXPECT_EQ(Sum(pool_.Stats().misses), misses) << "the warm round makes no fresh chunk";
  arena.Drop();
  EXPECT_EQ(Sum(pool_.Stats().idle_bytes), 0u);
  EXPECT_EQ(Sum(pool_.Stats().lent_bytes), 0u);
  EXPECT_EQ(pool_.Stats().returned_bytes, pool_.Stats().fresh_bytes);
}

TEST_F(MonotonicArenaTest, TheDestructorReleases) {
  {
    MonotonicArena arena(ArenaOptions(&pool_));
    ASSERT_NE(arena.Allocate(100), nullptr);
    ASSERT_NE(arena.Allocate(2'000), nullptr);  // in a buffer of its own
  }
  EXPECT_EQ(Sum(pool_.Stats().lent_bytes), 0u);
  EXPECT_EQ(Sum(pool_.Stats().idle_bytes), 4096u);
}

// Every transition recomputes what is left. Under AddressSanitizer a stale pointer is caught by the poison of idle
// chunks.
TEST_F(MonotonicArenaTest, NoAllocationComesFromMemoryThatWasGivenAway) {
  for (size_t first_bytes : {size_t{100}, size_t{512}, size_t{2048}, size_t{2049}}) {
    MonotonicArena arena(ArenaOptions(&pool_));
    const auto append = [&](size_t bytes) {
      char* data = arena.Allocate(bytes);
      ASSERT_NE(data, nullptr);
      std::memset(data, 'k', bytes);
      ExpectSound(arena, pool_);
    };
    const auto fill_exactly = [&] {
      while (arena.reserved_bytes() - arena.used_bytes() - arena.abandoned_bytes() > 0) append(1);
    };
    for (bool full : {false, true}) {
      for (int transition = 0; transition < 4; transition++) {
        append(first_bytes);
        if (full) fill_exactly();
        if (transition == 0) arena.Reset();
        if (transition == 1) arena.Release();
        if (transition == 2) arena.Drop();
        pool_.OnMemoryPressure();
        ExpectSound(arena, pool_);
        append(100);
        EXPECT_EQ(arena.used_bytes() >= 100, true);
      }
    }
  }
}

TEST_F(MonotonicArenaTest, InitialBuffersAreTakenTogetherOrNotAtAll) {
  MonotonicArenaOptions options = ArenaOptions(&pool_, 5'000);
  options.initial_buffer_count = 4;
  MonotonicArena arena(options);
  EXPECT_EQ(arena.reserved_bytes(), 0u);
  ASSERT_NE(arena.Allocate(1), nullptr);
  EXPECT_EQ(arena.reserved_bytes(), 4 * 8192u);
  EXPECT_EQ(arena.buffer_count(), 4u);
  for (int i = 0; i < 4 * 8 - 1; i++) ASSERT_NE(arena.Allocate(1'000), nullptr);
  EXPECT_EQ(arena.reserved_bytes(), 4 * 8192u);
  EXPECT_EQ(arena.used_bytes(), 31'001u);

  source_.refuse_map = [](uint64_t) { return true; };
  options.min_buffer_bytes = kMiB;  // the first fits no slab that is there
  MonotonicArena refused(options);
  EXPECT_EQ(refused.Allocate(1), nullptr);
  EXPECT_EQ(refused.reserved_bytes(), 0u);
  EXPECT_EQ(refused.buffer_count(), 0u);
  ExpectIdentities(pool_.Stats());
}

TEST_F(MonotonicArenaTest, MinimumBufferIsAtMostTheLargestClass) {
  MonotonicArena arena(ArenaOptions(&pool_, 100 * kMiB));
  ASSERT_NE(arena.Allocate(1), nullptr);
  EXPECT_EQ(arena.reserved_bytes(), kMaxChunkBytes);
}

TEST_F(MonotonicArenaTest, WithoutAPoolNothingIsKept) {
  MonotonicArena arena;
  for (int i = 0; i < 10'000; i++) {
    char* data = arena.Allocate(100);
    ASSERT_NE(data, nullptr);
    std::memset(data, 1, 100);
  }
  EXPECT_EQ(arena.used_bytes(), 1'000'000u);
  arena.Release();
  ASSERT_NE(arena.Allocate(100), nullptr);
  arena.Drop();
  EXPECT_EQ(Sum(pool_.Stats().gets), 0u);
}

TEST_F(MonotonicArenaTest, RefusedMemoryIsNullAndChangesNothing) {
  MonotonicArena arena(ArenaOptions(&pool_));
  size_t filled = 0;
  source_.refuse_map = [](uint64_t call) { return call > 3; };
  while (char* data = arena.Allocate(100)) {
    std::memset(data, 1, 100);
    filled++;
  }
  EXPECT_GT(filled, 0u);
  const size_t used_bytes = arena.used_bytes();
  const size_t abandoned_bytes = arena.abandoned_bytes();
  EXPECT_EQ(arena.Allocate(100), nullptr);
  EXPECT_EQ(arena.Allocate(10 * kMiB), nullptr);
  EXPECT_EQ(arena.used_bytes(), used_bytes);
  EXPECT_EQ(arena.abandoned_bytes(), abandoned_bytes);
  ExpectSound(arena, pool_);
  source_.refuse_map = nullptr;
  EXPECT_NE(arena.Allocate(100), nullptr);
  EXPECT_EQ(arena.used_bytes(), used_bytes + 100);
}

TEST_F(MonotonicArenaTest, AbandonedRoomStaysUnderOnePercentForMixedSizes) {
  MonotonicArena arena(ArenaOptions(&pool_));
  std::mt19937 random(11);
  size_t asked_bytes = 0;
  while (asked_bytes < 200'000'000) {
    const size_t bytes = 8 + random() % 4089;
    ASSERT_NE(arena.Allocate(bytes), nullptr);
    asked_bytes += bytes;
  }
  EXPECT_EQ(arena.used_bytes(), asked_bytes);
  EXPECT_LT(arena.abandoned_bytes() * 100, arena.reserved_bytes());
  EXPECT_GT(arena.abandoned_bytes(), 0u);
  RecordProperty("abandoned_bytes", std::to_string(arena.abandoned_bytes()));
}

TEST_F(MonotonicArenaTest, ZeroBytesGiveAPointerAndTakeNothing) {
  MonotonicArena arena(ArenaOptions(&pool_));
  char* nothing = arena.Allocate(0);
  ASSERT_NE(nothing, nullptr);
  EXPECT_EQ(arena.Allocate(0), nothing);
  EXPECT_EQ(arena.Allocate(5), nothing);
  for (int i = 0; i < 2043; i++) ASSERT_NE(arena.Allocate(1), nullptr);
  EXPECT_NE(arena.Allocate(0), nullptr) << "also at the very end of a buffer";
  EXPECT_EQ(arena.reserved_bytes(), 2048u);
}

}  // namespace
}  // namespace strongbin
