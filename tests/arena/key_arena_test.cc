#include "strongbin/arena/key_arena.h"

#include <string>
#include <string_view>
#include <vector>

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
  EXPECT_EQ(arena.Copy("key"), nullptr);
  EXPECT_EQ(arena.reserved_bytes(), 0u);
}

TEST(KeyArenaTest, CopiesAKeyGivenInTwoParts) {
  ChunkPool pool(PoolOptions(kMiB));
  KeyArena arena(ArenaOptions(&pool));
  std::vector<std::pair<char*, std::string>> copies;
  for (size_t i = 0; i < 3'000; i++) {
    const std::string part1(i % 40, static_cast<char>('a' + i % 26));
    const std::string part2(i % 7 * 50, '\0');
    char* copy = arena.Copy(part1, part2);
    ASSERT_NE(copy, nullptr);
    copies.emplace_back(copy, part1 + part2);
  }
  for (const auto& [copy, key] : copies) ASSERT_EQ(std::string_view(copy, key.size()), key);
  EXPECT_NE(arena.Copy({}, {}), nullptr) << "the empty key is a key";
  EXPECT_NE(arena.Copy(std::string_view(nullptr, 0), std::string_view(nullptr, 0)), nullptr);
}

TEST(KeyArenaTest, PartsWhoseSumOverflowsAreRefused) {
  ChunkPool pool(PoolOptions(kMiB));
  KeyArena arena(ArenaOptions(&pool));
  const char byte = 'k';
  EXPECT_EQ(arena.Copy(std::string_view(&byte, SIZE_MAX / 2), std::string_view(&byte, SIZE_MAX / 2 + 2)), nullptr);
  EXPECT_EQ(arena.reserved_bytes(), 0u);
}

TEST(ValueArenaTest, CopiesValues) {
  ChunkPool pool(PoolOptions(kMiB));
  ValueArena arena(ArenaOptions(&pool));
  const std::string value(3 * kMiB, 'v');
  for (size_t bytes : {size_t{0}, size_t{1}, size_t{500}, size_t{5'000}, 3 * kMiB}) {
    char* copy = arena.Copy(std::string_view(value).substr(0, bytes));
    ASSERT_NE(copy, nullptr);
    EXPECT_EQ(std::string_view(copy, bytes), std::string_view(value).substr(0, bytes));
  }
}

}  // namespace
}  // namespace strongbin
