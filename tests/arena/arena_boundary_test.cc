// Sizes at every edge: fill to the last byte, alignments, sums that overflow.
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/arena/monotonic_arena.h"
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

size_t LeftBytes(const MonotonicArena& arena) {
  return arena.reserved_bytes() - arena.used_bytes() - arena.abandoned_bytes();
}

TEST(ArenaBoundaryTest, ExactlyTheRestFitsAndOneByteMoreDoesNot) {
  ChunkPool pool(PoolOptions(64 * kMiB));
  for (size_t slot = 0; slot < kSizeClassCount; slot++) {
    for (size_t rest = 0; rest <= 32; rest++) {
      for (int more : {-1, 0, 1}) {
        if (rest == 0 && more < 0) continue;
        SCOPED_TRACE(testing::Message() << ClassBytes(slot) << " rest " << rest << " more " << more);
        MonotonicArena arena(ArenaOptions(&pool, ClassBytes(slot)));
        char* base = arena.Allocate(0);
        for (size_t left = ClassBytes(slot) - rest; left > 0;) {
          const size_t step = std::min(left, ClassBytes(slot) / 4);
          ASSERT_NE(arena.Allocate(step), nullptr);
          left -= step;
        }
        ASSERT_EQ(LeftBytes(arena), rest);
        ASSERT_EQ(arena.buffer_count(), 1u);
        const size_t bytes = rest + static_cast<size_t>(more + 1) - 1;
        char* data = arena.Allocate(bytes);
        ASSERT_NE(data, nullptr);
        std::memset(data, 1, bytes);
        EXPECT_EQ(arena.buffer_count(), more > 0 ? 2u : 1u);
        if (more <= 0) {
          EXPECT_EQ(data, base + ClassBytes(slot) - rest);
          EXPECT_EQ(LeftBytes(arena), rest - bytes);
        } else {
          EXPECT_EQ(arena.abandoned_bytes(), rest);
        }
      }
    }
  }
}

TEST(ArenaBoundaryTest, EveryAlignmentHoldsInEveryBufferColdAndWarm) {
  for (ChunkSourceKind kind : {ChunkSourceKind::kMmapSlab, ChunkSourceKind::kMalloc}) {
    ChunkPoolOptions options = PoolOptions(64 * kMiB);
    options.source = kind;
    ChunkPool pool(options);
    MonotonicArena arena(ArenaOptions(&pool));
    for (int round = 0; round < 3; round++) {
      for (size_t alignment = 1; alignment <= kMaxChunkBytes; alignment *= 2) {
        for (size_t bytes : {size_t{0}, size_t{1}, size_t{24}, size_t{300}, size_t{5'000}, kMiB, kMiB + 1, 2 * kMiB}) {
          ASSERT_NE(arena.Allocate(3), nullptr);  // an odd-sized key in between
          char* data = arena.Allocate(bytes, alignment);
          ASSERT_NE(data, nullptr);
          ASSERT_EQ(reinterpret_cast<uintptr_t>(data) % alignment, 0u) << bytes << " at " << alignment;
          if (bytes > 0) data[0] = data[bytes - 1] = 'x';
          ASSERT_LE(arena.used_bytes() + arena.abandoned_bytes(), arena.reserved_bytes());
        }
      }
      round == 0 ? arena.Reset() : arena.Release();
    }
  }
}

TEST(ArenaBoundaryTest, AlignedAllocationsNeverOverlap) {
  ChunkPool pool(PoolOptions(64 * kMiB));
  MonotonicArena arena(ArenaOptions(&pool));
  std::vector<std::pair<char*, size_t>> all;
  for (size_t i = 0; i < 20'000; i++) {
    const size_t bytes = 1 + i * 37 % 700;
    char* data = arena.Allocate(bytes, size_t{1} << (i % 7));
    ASSERT_NE(data, nullptr);
    std::memset(data, static_cast<int>(i & 127), bytes);
    all.emplace_back(data, bytes);
  }
  for (size_t i = 0; i < all.size(); i++) {
    for (size_t at : {size_t{0}, all[i].second - 1}) ASSERT_EQ(all[i].first[at], static_cast<char>(i & 127)) << i;
  }
}

TEST(ArenaBoundaryTest, SumsThatOverflowAreRefusedAndMoveNothing) {
  TestSource source;
  ChunkPool pool(PoolOptions(64 * kMiB, &source));
  MonotonicArena arena(ArenaOptions(&pool));
  char* before = arena.Allocate(1);
  const size_t used_bytes = arena.used_bytes();
  for (size_t alignment : {size_t{1}, size_t{16}, size_t{64}, kMaxChunkBytes}) {
    for (size_t bytes : {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX - 7, SIZE_MAX - 15, SIZE_MAX - kMaxChunkBytes, SIZE_MAX / 2,
                         SIZE_MAX / 2 + 1}) {
      EXPECT_EQ(arena.Allocate(bytes, alignment), nullptr) << bytes << " at " << alignment;
    }
  }
  EXPECT_FALSE(arena.Reserve(SIZE_MAX, 1));
  EXPECT_FALSE(arena.Reserve(SIZE_MAX, SIZE_MAX));
  EXPECT_FALSE(arena.Reserve(size_t{1} << 60, 16));
  EXPECT_EQ(arena.used_bytes(), used_bytes);
  EXPECT_EQ(arena.buffer_count(), 1u);
  EXPECT_EQ(arena.Allocate(1), before + 1);
  ExpectIdentities(pool.Stats());
}

TEST(ArenaBoundaryTest, ALargeKeyDoesNotCostTheNextClassForNothing) {
  ChunkPool pool(PoolOptions(64 * kMiB));
  MonotonicArena arena(ArenaOptions(&pool));
  ASSERT_NE(arena.Allocate(513 * 1024), nullptr);
  EXPECT_EQ(arena.reserved_bytes(), kMiB);
  ASSERT_NE(arena.Allocate(kMiB), nullptr);
  EXPECT_EQ(arena.reserved_bytes(), 2 * kMiB);
  ASSERT_NE(arena.Allocate(kMiB + 1), nullptr);
  EXPECT_EQ(arena.reserved_bytes(), 3 * kMiB + 1);
}

// Used over taken for distributions that powers of two are bad at: the rest is at most one key in each buffer and the
// tail.
TEST(ArenaBoundaryTest, ManyKeysInOneChunkLeaveLittleWaste) {
  std::vector<std::vector<size_t>> distributions;
  for (int bit = 3; bit <= 17; bit++) distributions.push_back({(size_t{1} << bit) + 1});
  for (int bit = 3; bit <= 18; bit++) distributions.push_back({size_t{1} << bit});
  distributions.push_back({16 + 24});
  distributions.push_back({16 + 1024});
  for (const std::vector<size_t>& sizes : distributions) {
    ChunkPool pool(PoolOptions(0));
    MonotonicArena arena(ArenaOptions(&pool));
    size_t asked_bytes = 0;
    while (asked_bytes < 64 * kMiB) {
      for (size_t bytes : sizes) {
        ASSERT_NE(arena.Allocate(bytes), nullptr);
        asked_bytes += bytes;
      }
    }
    EXPECT_EQ(arena.used_bytes(), asked_bytes);
    const size_t unreached_bytes = LeftBytes(arena);
    EXPECT_LE(unreached_bytes, kMaxChunkBytes);
    const double used_ratio =
        static_cast<double>(asked_bytes) / static_cast<double>(arena.reserved_bytes() - unreached_bytes);
    // A buffer of 1 MiB holds seven keys of 128 KiB + 1 and leaves the room of one; before the arena has grown that
    // far, each has a buffer of its own, of twice its size.
    EXPECT_GE(used_ratio, sizes[0] <= 4'097 ? 0.99 : 0.83) << sizes[0];
    RecordProperty("used_ratio_of_" + std::to_string(sizes[0]), std::to_string(used_ratio));
  }
}

}  // namespace
}  // namespace strongbin
