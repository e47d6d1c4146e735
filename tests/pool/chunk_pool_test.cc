#include "strongbin/pool/chunk_pool.h"

#include <cstring>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/tests/pool/pool_test_util.h"

namespace strongbin {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

TEST(ChunkPoolTest, ReleasedChunkIsServedAgainNewestFirst) {
  ChunkPool pool(PoolOptions(kMiB));
  const Chunk first = pool.Acquire(5000, ChunkKind::k_key);
  const Chunk second = pool.Acquire(5000, ChunkKind::k_key);
  ChunkPool::Release(first);
  ChunkPool::Release(second);
  const Chunk again = pool.Acquire(8192, ChunkKind::k_value);
  EXPECT_EQ(again.data, second.data);
  EXPECT_EQ(again.bytes, 8192u);

  const PoolStats stats = pool.Stats();
  EXPECT_EQ(stats.gets[2], 3u);
  EXPECT_EQ(stats.hits[2], 1u);
  EXPECT_EQ(stats.misses[2], 2u);
  EXPECT_EQ(stats.puts[2], 2u);
  EXPECT_EQ(stats.kind_gets[static_cast<size_t>(ChunkKind::k_key)], 2u);
  EXPECT_EQ(stats.kind_gets[static_cast<size_t>(ChunkKind::k_value)], 1u);
  EXPECT_EQ(stats.fresh_chunks[static_cast<size_t>(ChunkKind::k_key)], 2u);
  EXPECT_EQ(stats.fresh_chunk_bytes[static_cast<size_t>(ChunkKind::k_key)], 2 * 8192u);
  EXPECT_EQ(stats.fresh_chunks[static_cast<size_t>(ChunkKind::k_value)], 0u);
  EXPECT_EQ(stats.idle_bytes[2], 8192u);
  EXPECT_EQ(stats.lent_bytes[2], 8192u);
  ExpectIdentities(stats);
  ChunkPool::Release(again);
}

TEST(ChunkPoolTest, EveryBoundaryIsServedByTheSmallestClassThatHoldsIt) {
  ChunkPool pool(PoolOptions(kMiB));
  for (size_t slot = 0; slot < kSizeClassCount; slot++) {
    for (const size_t bytes : {ClassBytes(slot) - 1, ClassBytes(slot), ClassBytes(slot) + 1}) {
      const Chunk chunk = pool.Acquire(bytes, ChunkKind::k_key);
      EXPECT_GE(chunk.bytes, bytes);
      EXPECT_LT(chunk.bytes, 2 * bytes);
      ChunkPool::Release(chunk);
    }
  }
}

TEST(ChunkPoolTest, NothingLeavesABinByItself) {
  TestSource source;
  ChunkPool pool(PoolOptions(64 * kMiB, &source));
  for (size_t slot = 0; slot < kSizeClassCount; slot++) ChunkPool::Release(AcquireMany(&pool, ClassBytes(slot), 3));
  const PoolStats before = pool.Stats();
  // Other traffic of every class, cold and warm, passes by.
  for (size_t slot = 0; slot < kSizeClassCount; slot++) {
    for (int round = 0; round < 50; round++) ChunkPool::Release(AcquireMany(&pool, ClassBytes(slot), 2));
  }
  const PoolStats after = pool.Stats();
  EXPECT_EQ(after.idle_bytes, before.idle_bytes);
  EXPECT_EQ(after.misses, before.misses);
  EXPECT_EQ(source.give_back_calls(), 0u);
}

TEST(ChunkPoolTest, DroppedChunksLeaveNothingInTheBins) {
  ChunkPool pool(PoolOptions(64 * kMiB));
  for (size_t slot = 0; slot < kSizeClassCount; slot++) ChunkPool::Drop(AcquireMany(&pool, ClassBytes(slot), 5));
  const PoolStats stats = pool.Stats();
  EXPECT_EQ(Sum(stats.idle_bytes), 0u);
  EXPECT_EQ(Sum(stats.lent_bytes), 0u);
  EXPECT_EQ(Sum(stats.slab_free_bytes), 0u);
  EXPECT_EQ(stats.returned_bytes, stats.fresh_bytes);
  EXPECT_EQ(Sum(stats.drops), 5 * kSizeClassCount);
  EXPECT_EQ(Sum(stats.puts), 0u);
  EXPECT_EQ(Sum(stats.admission_drops), 0u);
  ExpectIdentities(stats);
}

TEST(ChunkPoolTest, OversizeBlocksAreExactAndNeverKept) {
  TestSource source;
  ChunkPool pool(PoolOptions(64 * kMiB, &source));
  const size_t bytes = 5 * kMiB + 123;
  const Chunk released = pool.Acquire(bytes, ChunkKind::k_value);
  const Chunk dropped = pool.Acquire(bytes, ChunkKind::k_value);
  ASSERT_TRUE(released && dropped);
  std::memset(released.data, 1, released.bytes);
  std::memset(dropped.data, 1, dropped.bytes);
  ChunkPool::Release(released);
  ChunkPool::Drop(dropped);
  const PoolStats stats = pool.Stats();
  EXPECT_EQ(stats.oversize_blocks, 2u);
  EXPECT_EQ(stats.oversize_bytes, 2 * bytes);
  EXPECT_EQ(stats.puts[kOversizeSlot], 1u);
  EXPECT_EQ(stats.drops[kOversizeSlot], 1u);
  EXPECT_EQ(stats.drop_bytes[kOversizeSlot], bytes);
  EXPECT_EQ(stats.admission_drops[kOversizeSlot], 0u);
  EXPECT_EQ(stats.returned_bytes[kOversizeSlot], 2 * bytes);
  EXPECT_EQ(source.unmapped_bytes, 2 * bytes);
  ExpectIdentities(stats);
}

TEST(ChunkPoolTest, EmptyChunksArePassedOver) {
  ChunkPool pool(PoolOptions(kMiB));
  const Chunk chunk = pool.Acquire(1, ChunkKind::k_key);
  const std::vector<Chunk> chunks = {{}, {}, chunk, {}};
  ChunkPool::Release(chunks);
  ChunkPool::Release(Chunk{});
  ChunkPool::Drop(Chunk{});
  ChunkPool::Release(std::span<const Chunk>{});
  EXPECT_EQ(Sum(pool.Stats().puts), 1u);
  EXPECT_EQ(ChunkPool::HomeOf({}), nullptr);
}

TEST(ChunkPoolTest, AChunkGoesHomeToThePoolThatMadeIt) {
  TestSource source_a;
  TestSource source_b;
  ChunkPool a(PoolOptions(4 * kMiB, &source_a));
  ChunkPool b(PoolOptions(4 * kMiB, &source_b));
  std::vector<Chunk> mixed;
  for (int i = 0; i < 100; i++) mixed.push_back((i % 3 == 0 ? a : b).Acquire(4096, ChunkKind::k_key));
  for (int i = 0; i < 100; i++) EXPECT_EQ(ChunkPool::HomeOf(mixed[static_cast<size_t>(i)]), i % 3 == 0 ? &a : &b);
  const size_t oversize_bytes = 3 * kMiB;
  mixed.push_back(a.Acquire(oversize_bytes, ChunkKind::k_key));
  // Another thread, which only ever used the other pool, brings them back.
  std::thread([&] {
    ChunkPool::Release(b.Acquire(1, ChunkKind::k_log));
    ChunkPool::Release(mixed);
  }).join();
  EXPECT_EQ(a.Stats().puts[1], 34u);
  EXPECT_EQ(b.Stats().puts[1], 66u);
  EXPECT_EQ(a.Stats().idle_bytes[1], 34 * 4096u);
  EXPECT_EQ(b.Stats().idle_bytes[1], 66 * 4096u);
  EXPECT_EQ(a.Stats().returned_bytes[kOversizeSlot], oversize_bytes);
  ExpectIdentities(a.Stats());
  ExpectIdentities(b.Stats());
  EXPECT_GT(a.OnMemoryPressure(), 0u);
  EXPECT_EQ(Sum(a.Stats().idle_bytes), 0u);
  EXPECT_EQ(b.Stats().idle_bytes[1], 66 * 4096u);
}

TEST(ChunkPoolTest, HugePagesAreAskedForBehindLargeChunksAtOnce) {
  for (bool huge_pages : {true, false}) {
    for (size_t slot = 0; slot < kSizeClassCount; slot++) {
      TestSource source;
      ChunkPoolOptions options = PoolOptions(0, &source);
      options.cold_start.huge_pages = huge_pages;
      ChunkPool pool(options);
      ChunkPool::Release(pool.Acquire(ClassBytes(slot), ChunkKind::k_key));
      EXPECT_EQ(source.huge_maps, huge_pages && ClassBytes(slot) >= 256 * 1024 ? 1u : 0u) << ClassBytes(slot);
    }
  }
}

TEST(ChunkPoolTest, HugePagesAreAskedForBehindSmallChunksOfAClassInGreatUse) {
  for (size_t slot = 0; ClassBytes(slot) < 256 * 1024; slot++) {
    TestSource source;
    ChunkPool pool(PoolOptions(0, &source));
    const size_t bytes = ClassBytes(slot), chunks_per_slab = 2 * kMiB / bytes;
    auto lent = AcquireMany(&pool, bytes, 2 * chunks_per_slab);
    EXPECT_EQ(source.huge_maps, 0u) << bytes;
    const auto other_class = AcquireMany(&pool, ClassBytes(slot == 0 ? 1 : slot - 1), 1);
    EXPECT_EQ(source.huge_maps, 0u) << bytes;
    const auto more = AcquireMany(&pool, bytes, chunks_per_slab + 1);
    EXPECT_EQ(source.huge_maps, 2u) << bytes;
    ChunkPool::Release(lent);
    ChunkPool::Release(more);
    ChunkPool::Release(other_class);
    ChunkPool::Release(pool.Acquire(bytes, ChunkKind::k_key));
    EXPECT_EQ(source.huge_maps, 2u) << bytes << ": the class is hardly used any more";
  }
}

TEST(ChunkPoolTest, FreshChunksArePopulatedOnceAndHugeOnesAreLeftToTheirPages) {
  for (bool huge_pages : {true, false}) {
    for (size_t slot = 0; slot < kSizeClassCount; slot++) {
      const size_t bytes = ClassBytes(slot);
      TestSource source;
      ChunkPoolOptions options = PoolOptions(64 * kMiB, &source);
      options.cold_start = {.huge_pages = huge_pages, .populate = true};
      ChunkPool pool(options);
      const bool populates = bytes >= 16 * 1024 && !(huge_pages && bytes >= 256 * 1024);
      // Two from one slab; then one out of the bin.
      const auto chunks = AcquireMany(&pool, bytes, 2);
      EXPECT_EQ(source.populated_bytes, populates ? 2 * bytes : 0u) << bytes;
      ChunkPool::Release(chunks);
      ChunkPool::Release(pool.Acquire(bytes, ChunkKind::k_key));
      EXPECT_EQ(source.populated_bytes, populates ? 2 * bytes : 0u) << bytes;
      pool.SetColdStart({.huge_pages = huge_pages, .populate = false});
      const auto more = AcquireMany(&pool, bytes, 3);
      EXPECT_EQ(source.populated_bytes, populates ? 2 * bytes : 0u) << bytes;
      ChunkPool::Release(more);
    }
  }
}

TEST(ChunkPoolTest, MallocSourceKeepsTheSameBooks) {
  ChunkPoolOptions options = PoolOptions(kMiB);
  options.source = ChunkSourceKind::kMalloc;
  ChunkPool pool(options);
  for (int round = 0; round < 3; round++) {
    std::vector<Chunk> chunks;
    for (size_t slot = 0; slot < kSizeClassCount; slot++) {
      chunks.push_back(pool.Acquire(ClassBytes(slot), ChunkKind::k_key));
      std::memset(chunks.back().data, 7, chunks.back().bytes);
    }
    chunks.push_back(pool.Acquire(3 * kMiB, ChunkKind::k_key));
    ExpectIdentities(pool.Stats());
    round == 1 ? ChunkPool::Drop(chunks) : ChunkPool::Release(chunks);
    ExpectIdentities(pool.Stats());
  }
  EXPECT_EQ(pool.OnMemoryPressure(), kMiB - 2048);
  EXPECT_EQ(pool.Stats().returned_bytes, pool.Stats().fresh_bytes);
}

TEST(ChunkPoolTest, EveryChunkIsAlignedForAnyObject) {
  for (ChunkSourceKind kind : {ChunkSourceKind::kMmapSlab, ChunkSourceKind::kMalloc}) {
    ChunkPoolOptions options = PoolOptions(64 * kMiB);
    options.source = kind;
    ChunkPool pool(options);
    for (int round = 0; round < 2; round++) {  // cold, then warm
      std::vector<Chunk> chunks;
      for (size_t bytes = 1; bytes <= 4 * kMiB; bytes = bytes * 3 + 1) {
        chunks.push_back(pool.Acquire(bytes, ChunkKind::k_key));
        EXPECT_EQ(reinterpret_cast<uintptr_t>(chunks.back().data) % alignof(std::max_align_t), 0u);
      }
      ChunkPool::Release(chunks);
    }
  }
}

TEST(ChunkPoolTest, MaximaAreKept) {
  ChunkPool pool(PoolOptions(kMiB));
  ChunkPool::Release(AcquireMany(&pool, 2048, 10));
  ChunkPool::Drop(AcquireMany(&pool, 2048, 4));
  const PoolStats stats = pool.Stats();
  EXPECT_EQ(stats.class_lent_bytes_max[0], 20480u);
  EXPECT_EQ(stats.lent_bytes_max, 20480u);
  EXPECT_EQ(stats.class_idle_bytes_max[0], 20480u);
  EXPECT_EQ(stats.idle_bytes_max, 20480u);
  EXPECT_EQ(stats.idle_bytes[0], 6 * 2048u);
  EXPECT_EQ(stats.lent_bytes[0], 0u);
  EXPECT_EQ(stats.cap_bytes, kMiB);
  EXPECT_EQ(pool.cap_bytes(), kMiB);
}

TEST(ChunkPoolTest, TheDefaultPoolIsOneAndHasTheDefaultCap) {
  EXPECT_EQ(&ChunkPool::Default(), &ChunkPool::Default());
  EXPECT_EQ(ChunkPool::Default().cap_bytes(), 64 * kMiB);
}

#ifndef NDEBUG
TEST(ChunkPoolDeathTest, ReleasingTwiceIsCaughtWhereAssertionsAreOn) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        ChunkPool pool(PoolOptions(kMiB));
        const Chunk chunk = pool.Acquire(1, ChunkKind::k_key);
        ChunkPool::Release(chunk);
        ChunkPool::Release(chunk);
      },
      "came back twice");
}
#endif

TEST(ChunkPoolDeathTest, IdleAndFreeChunksArePoisonedUnderAddressSanitizer) {
#ifndef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "needs AddressSanitizer";
#else
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  ChunkPool pool(PoolOptions(kMiB));
  const Chunk chunk = pool.Acquire(1, ChunkKind::k_key);
  chunk.data[2047] = 1;
  EXPECT_DEATH(chunk.data[2048] = 1, "use-after-poison");  // its neighbour is free
  ChunkPool::Release(chunk);
  EXPECT_DEATH(chunk.data[0] = 1, "use-after-poison");
  const Chunk again = pool.Acquire(1, ChunkKind::k_key);
  ASSERT_EQ(again.data, chunk.data);
  again.data[0] = 1;
  ChunkPool::Release(again);
#endif
}

}  // namespace
}  // namespace strongbin
