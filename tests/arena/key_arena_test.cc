#include "strongbin/arena/key_arena.h"

#include <type_traits>

#include <gtest/gtest.h>

#include "strongbin/arena/value_arena.h"
#include "strongbin/tests/pool/pool_test_util.h"

namespace strongbin {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

template <class Arena>
class KindArenaTest : public testing::Test {};

using KindArenas = testing::Types<KeyArena, ValueArena>;
TYPED_TEST_SUITE(KindArenaTest, KindArenas);

MonotonicArenaOptions ArenaOptions(ChunkPool* pool) {
  MonotonicArenaOptions options;
  options.pool = pool;
  options.kind = ChunkKind::k_run;  // not looked at
  return options;
}

// The chunks that allocations of `count` times 16 bytes take, computed from the rule of growth alone.
uint64_t ExpectedChunks(size_t count) {
  uint64_t chunks = 0;
  size_t reserved_bytes = 0;
  while (reserved_bytes < count * 16) {
    size_t buffer_bytes = kMinChunkBytes;
    while (buffer_bytes < kMaxChunkBytes && buffer_bytes * 2 <= reserved_bytes / 8) buffer_bytes *= 2;
    reserved_bytes += buffer_bytes;
    chunks++;
  }
  return chunks;
}

TYPED_TEST(KindArenaTest, AMillionAllocationsCostExactlyTheComputedChunksAndNoneInAWarmRound) {
  constexpr size_t kCount = 1'000'000;
  TestSource source;
  ChunkPool pool(PoolOptions(64 * kMiB, &source));
  TypeParam arena(ArenaOptions(&pool));
  const auto kind = static_cast<size_t>(std::is_same_v<TypeParam, KeyArena> ? ChunkKind::k_key : ChunkKind::k_value);
  uint64_t maps = 0;
  for (uint64_t round = 1; round <= 3; round++) {
    for (size_t i = 0; i < kCount; i++) ASSERT_NE(arena.Allocate(16), nullptr);
    const PoolStats stats = pool.Stats();
    EXPECT_EQ(stats.kind_gets[kind], round * ExpectedChunks(kCount));
    EXPECT_EQ(Sum(stats.gets), round * ExpectedChunks(kCount));
    EXPECT_EQ(stats.fresh_chunks[kind], ExpectedChunks(kCount)) << "fresh chunks in the first round only";
    EXPECT_EQ(stats.fresh_chunk_bytes[kind], Sum(stats.fresh_bytes));
    if (round == 1) maps = source.map_calls;
    EXPECT_EQ(source.map_calls, maps);
    EXPECT_EQ(arena.used_bytes(), kCount * 16);
    EXPECT_EQ(arena.abandoned_bytes(), 0u);
    arena.Release();
  }
}

TYPED_TEST(KindArenaTest, RefusedMemoryIsNull) {
  TestSource source;
  source.refuse_map = [](uint64_t) { return true; };
  ChunkPool pool(PoolOptions(64 * kMiB, &source));
  TypeParam arena(ArenaOptions(&pool));
  EXPECT_EQ(arena.Allocate(16), nullptr);
  EXPECT_EQ(arena.reserved_bytes(), 0u);
}

}  // namespace
}  // namespace strongbin
