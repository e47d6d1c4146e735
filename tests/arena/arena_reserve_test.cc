// What Reserve promises holds against a system that refuses everything afterwards.
#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/arena/monotonic_arena.h"
#include "strongbin/tests/pool/pool_test_util.h"

namespace strongbin {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

class ArenaReserveTest : public testing::Test {
 protected:
  ArenaReserveTest() { options_.pool = &pool_; }

  // Refuses any memory, also what lies in slabs or bins already.
  void RefuseAll() {
    source_.refuse_map = [](uint64_t) { return true; };
    gets_ = Sum(pool_.Stats().gets);
  }
  void ExpectNothingTaken() { EXPECT_EQ(Sum(pool_.Stats().gets), gets_); }
  void Allow() { source_.refuse_map = nullptr; }

  TestSource source_;
  ChunkPool pool_{PoolOptions(64 * kMiB, &source_)};
  MonotonicArenaOptions options_;
  uint64_t gets_ = 0;
};

TEST_F(ArenaReserveTest, AnySplitOfThePromisedBytesFitsWithoutTheSystem) {
  std::mt19937 random(21);
  for (int round = 0; round < 600; round++) {
    MonotonicArena arena(options_);
    // Some life before: the cursor anywhere, buffers kept by a reset.
    for (size_t i = random() % 300; i > 0; i--) ASSERT_NE(arena.Allocate(1 + random() % 900), nullptr);
    if (random() % 2 == 0) arena.Reset();
    for (size_t i = random() % 20; i > 0; i--) ASSERT_NE(arena.Allocate(1 + random() % 900), nullptr);

    const size_t total_bytes = 1 + random() % (size_t{1} << (random() % 23));
    const size_t largest_bytes = 1 + random() % std::min(total_bytes, size_t{1} << (random() % 23));
    SCOPED_TRACE(testing::Message() << total_bytes << " in pieces of at most " << largest_bytes);
    ASSERT_TRUE(arena.Reserve(total_bytes, largest_bytes));
    RefuseAll();
    const bool all_largest = random() % 2 == 0;
    for (size_t left = total_bytes; left > 0;) {
      const size_t bytes = std::min(left, all_largest ? largest_bytes : 1 + random() % largest_bytes);
      char* data = arena.Allocate(bytes);
      ASSERT_NE(data, nullptr) << left << " left of it";
      data[0] = data[bytes - 1] = 'x';
      left -= bytes;
    }
    ExpectNothingTaken();
    EXPECT_EQ(arena.reserved_bytes(), Sum(pool_.Stats().lent_bytes));
    EXPECT_LE(arena.used_bytes() + arena.abandoned_bytes(), arena.reserved_bytes());
    Allow();
  }
}

TEST_F(ArenaReserveTest, AlignedPiecesFitToo) {
  MonotonicArena arena(options_);
  ASSERT_NE(arena.Allocate(3), nullptr);
  ASSERT_TRUE(arena.Reserve(1'000 * 48, 48));
  RefuseAll();
  for (int i = 0; i < 1'000; i++) ASSERT_NE(arena.Allocate(32, 16), nullptr);  // 48 with the gap
  ExpectNothingTaken();
}

TEST_F(ArenaReserveTest, WhatIsThereAlreadyIsNotTakenAgain) {
  MonotonicArena arena(options_);
  ASSERT_TRUE(arena.Reserve(kMiB, 100));
  const size_t reserved_bytes = arena.reserved_bytes();
  EXPECT_GE(reserved_bytes, kMiB);
  EXPECT_LE(reserved_bytes, kMiB * 5 / 4);
  ASSERT_TRUE(arena.Reserve(kMiB, 100));
  EXPECT_EQ(arena.reserved_bytes(), reserved_bytes);
  for (int i = 0; i < 5'000; i++) ASSERT_NE(arena.Allocate(100), nullptr);
  arena.Reset();
  ASSERT_TRUE(arena.Reserve(kMiB, 100));
  EXPECT_EQ(arena.reserved_bytes(), reserved_bytes);
  EXPECT_TRUE(arena.Reserve(0, 0));
  EXPECT_TRUE(arena.Reserve(0, SIZE_MAX));
}

TEST_F(ArenaReserveTest, ASmallPromiseCostsASmallBuffer) {
  MonotonicArena arena(options_);
  ASSERT_TRUE(arena.Reserve(100, 100));
  EXPECT_EQ(arena.reserved_bytes(), 2048u);
  ASSERT_TRUE(arena.Reserve(3'000, 3'000));
  EXPECT_EQ(arena.reserved_bytes(), 2048u + 4096u);
}

TEST_F(ArenaReserveTest, ARefusedPromiseLeavesTheArenaAsItWas) {
  for (uint64_t fail_at = 1; fail_at <= 30; fail_at++) {
    MonotonicArena arena(options_);
    char* first = arena.Allocate(10);
    ASSERT_NE(first, nullptr);
    const uint64_t calls = source_.map_calls;
    source_.refuse_map = [=](uint64_t call) { return call >= calls + fail_at; };
    EXPECT_FALSE(arena.Reserve(200 * kMiB, 100'000));
    EXPECT_EQ(arena.reserved_bytes(), 2048u);
    EXPECT_EQ(arena.peak_bytes(), 2048u);
    EXPECT_EQ(arena.buffer_count(), 1u);
    EXPECT_EQ(arena.Allocate(10), first + 10);
    EXPECT_EQ(Sum(pool_.Stats().lent_bytes), 2048u);
    Allow();
    pool_.OnMemoryPressure();
  }
}

}  // namespace
}  // namespace strongbin
