// How memory leaves: which system calls are made, what is booked, and what happens when they are refused.
#include <algorithm>
#include <cstring>
#include <latch>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/pool/chunk_pool.h"
#include "strongbin/tests/pool/pool_test_util.h"

namespace strongbin {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

TEST(GiveBackTest, ADropOfManySmallChunksIsOneCallForEachSlab) {
  TestSource source;
  ChunkPool pool(PoolOptions(64 * kMiB, &source));
  auto chunks = AcquireMany(&pool, 2048, 32 * 1024);
  std::shuffle(chunks.begin(), chunks.end(), std::mt19937(3));
  ChunkPool::Drop(chunks);
  EXPECT_EQ(source.map_calls, 32u);
  EXPECT_EQ(source.unmap_calls, 32u);
  EXPECT_EQ(source.discard_calls, 0u);
  EXPECT_EQ(pool.Stats().returned_bytes[0], 64 * kMiB);
}

TEST(GiveBackTest, PressureOnManySmallChunksIsOneCallForEachSlab) {
  TestSource source;
  ChunkPool pool(PoolOptions(64 * kMiB, &source));
  auto chunks = AcquireMany(&pool, 2048, 32 * 1024);
  std::shuffle(chunks.begin(), chunks.end(), std::mt19937(4));
  ChunkPool::Release(chunks);
  EXPECT_EQ(pool.OnMemoryPressure(), 64 * kMiB);
  EXPECT_EQ(source.unmap_calls, 32u);
  EXPECT_EQ(source.discard_calls, 0u);
}

TEST(GiveBackTest, NeighboursAroundALentChunkLeaveInTwoCalls) {
  TestSource source;
  ChunkPool pool(PoolOptions(0, &source));
  auto chunks = AcquireMany(&pool, 2048, 1024);
  const Chunk kept = chunks[500];
  chunks.erase(chunks.begin() + 500);
  ChunkPool::Drop(chunks);
  EXPECT_EQ(source.discard_calls, 2u);
  EXPECT_EQ(source.unmap_calls, 0u);
  // Its neighbour on the page has to stay, and is booked as such.
  EXPECT_EQ(pool.Stats().slab_free_bytes[0], 2048u);
  EXPECT_EQ(pool.Stats().returned_bytes[0], 1022 * 2048u);
  ExpectIdentities(pool.Stats());
  ChunkPool::Drop(kept);
  EXPECT_EQ(source.unmap_calls, 1u);
  EXPECT_EQ(pool.Stats().slab_free_bytes[0], 0u);
}

TEST(GiveBackTest, RoomThatCouldNotLeaveIsCarvedFirstAndAddsNothingToFreshBytes) {
  ChunkPool pool(PoolOptions(0));
  const auto chunks = AcquireMany(&pool, 2048, 10);
  ChunkPool::Drop(chunks[5]);
  PoolStats stats = pool.Stats();
  EXPECT_EQ(stats.slab_free_bytes[0], 2048u);
  EXPECT_EQ(stats.returned_bytes[0], 0u);
  EXPECT_EQ(stats.fresh_bytes[0], 10 * 2048u);

  const Chunk again = pool.Acquire(1, ChunkKind::k_run);
  EXPECT_EQ(again.data, chunks[5].data);
  stats = pool.Stats();
  EXPECT_EQ(stats.misses[0], 11u);
  EXPECT_EQ(stats.fresh_chunks[static_cast<size_t>(ChunkKind::k_run)], 1u);
  EXPECT_EQ(stats.fresh_bytes[0], 10 * 2048u);
  EXPECT_EQ(stats.slab_free_bytes[0], 0u);
  ExpectIdentities(stats);

  std::vector<Chunk> rest(chunks);
  rest[5] = again;
  ChunkPool::Drop(rest);
  EXPECT_EQ(pool.Stats().returned_bytes[0], pool.Stats().fresh_bytes[0]);
}

TEST(GiveBackTest, DroppedRoomIsCarvedBeforeANewSlabIsMapped) {
  TestSource source;
  ChunkPool pool(PoolOptions(0, &source));
  auto chunks = AcquireMany(&pool, 4096, 512);  // one slab, full
  for (int round = 0; round < 3; round++) {
    ChunkPool::Drop(std::span(chunks).first(100));
    const auto again = AcquireMany(&pool, 4096, 100);
    std::copy(again.begin(), again.end(), chunks.begin());
  }
  EXPECT_EQ(source.map_calls, 1u);
  EXPECT_EQ(pool.Stats().fresh_bytes[1], (512 + 300) * 4096u) << "discarded pages are taken from the system anew";
  ExpectIdentities(pool.Stats());
  ChunkPool::Drop(chunks);
}

TEST(GiveBackTest, DiscardedMemoryIsUsableAgainAndOthersAreNotTouched) {
  ChunkPool pool(PoolOptions(0));
  auto chunks = AcquireMany(&pool, 2048, 1024);
  for (const Chunk& chunk : chunks) std::memset(chunk.data, 0x5a, chunk.bytes);
  std::mt19937 random(5);
  for (int round = 0; round < 200; round++) {
    const size_t first = random() % 1000;
    const size_t count = 1 + random() % 24;
    ChunkPool::Drop(std::span(chunks).subspan(first, count));
    for (size_t i = 0; i < chunks.size(); i++) {
      if (i >= first && i < first + count) continue;
      ASSERT_EQ(chunks[i].data[0], 0x5a);
      ASSERT_EQ(chunks[i].data[2047], 0x5a);
    }
    for (size_t i = first; i < first + count; i++) {
      chunks[i] = pool.Acquire(2048, ChunkKind::k_key);
      std::memset(chunks[i].data, 0x5a, 2048);
    }
    ExpectIdentities(pool.Stats());
  }
  ChunkPool::Drop(chunks);
}

TEST(GiveBackTest, ARefusedUnmapFallsBackToDiscardAndTheSlabIsCarvedAgain) {
  TestSource source;
  ChunkPool pool(PoolOptions(0, &source));
  source.refuse_unmap = true;
  ChunkPool::Drop(AcquireMany(&pool, kMiB, 2));
  EXPECT_EQ(source.discard_calls, 1u);
  EXPECT_EQ(Sum(pool.Stats().slab_free_bytes), 0u);
  EXPECT_EQ(pool.Stats().returned_bytes[9], 2 * kMiB);
  const auto again = AcquireMany(&pool, kMiB, 2);
  EXPECT_EQ(source.map_calls, 1u);
  EXPECT_EQ(pool.Stats().fresh_bytes[9], 4 * kMiB);
  ExpectIdentities(pool.Stats());
  source.refuse_unmap = false;
  ChunkPool::Drop(again);
  EXPECT_EQ(source.unmapped_bytes, source.mapped_bytes);
}

TEST(GiveBackTest, WhatTheSystemRefusesToTakeStaysBookedUntilItDoes) {
  TestSource source;
  ChunkPool pool(PoolOptions(0, &source));
  source.refuse_unmap = true;
  source.refuse_discard = true;
  const size_t oversize_bytes = 5 * kMiB;
  ChunkPool::Drop(pool.Acquire(oversize_bytes, ChunkKind::k_value));
  ChunkPool::Drop(AcquireMany(&pool, 2048, 7));
  PoolStats stats = pool.Stats();
  EXPECT_EQ(stats.slab_free_bytes[kOversizeSlot], oversize_bytes);
  EXPECT_EQ(stats.slab_free_bytes[0], 7 * 2048u);
  EXPECT_EQ(Sum(stats.returned_bytes), 0u);
  ExpectIdentities(stats);
  EXPECT_EQ(pool.OnMemoryPressure(), 0u);

  source.refuse_discard = false;  // pages can leave, addresses cannot
  EXPECT_EQ(pool.OnMemoryPressure(), oversize_bytes + 7 * 2048);
  EXPECT_EQ(Sum(pool.Stats().slab_free_bytes), 0u);
  EXPECT_EQ(source.unmapped_bytes, 0u);

  source.refuse_unmap = false;
  EXPECT_EQ(pool.OnMemoryPressure(), 0u) << "no byte leaves the resident size twice";
  EXPECT_EQ(source.unmapped_bytes, source.mapped_bytes);
  ExpectIdentities(pool.Stats());
}

TEST(GiveBackTest, AChunkIsNotCarvedWhileItsPageLeaves) {
  TestSource source;
  ChunkPool pool(PoolOptions(0, &source));
  auto chunks = AcquireMany(&pool, 4096, 512);
  std::latch discarding(1);
  std::latch go_on(1);
  source.on_discard = [&] {
    discarding.count_down();
    go_on.wait();
  };
  std::thread dropper([&] { ChunkPool::Drop(chunks[8]); });
  discarding.wait();
  // The system call is in progress and no lock is held: the pool answers, and has booked the page as not gone yet.
  const PoolStats during = pool.Stats();
  EXPECT_EQ(during.slab_free_bytes[1], 4096u);
  ExpectIdentities(during);
  const Chunk other = pool.Acquire(4096, ChunkKind::k_key);
  EXPECT_NE(other.data, chunks[8].data);
  EXPECT_EQ(source.map_calls, 2u);
  go_on.count_down();
  dropper.join();
  source.on_discard = nullptr;
  EXPECT_EQ(pool.Stats().slab_free_bytes[1], 0u);
  chunks[8] = other;
  ChunkPool::Drop(chunks);
  EXPECT_EQ(source.unmapped_bytes, source.mapped_bytes);
}

TEST(GiveBackTest, TheLastOfTwoThreadsThatEmptyASlabUnmapsIt) {
  TestSource source;
  ChunkPool pool(PoolOptions(0, &source));
  auto chunks = AcquireMany(&pool, kMiB, 2);
  std::latch discarding(1);
  std::latch go_on(1);
  source.on_discard = [&] {
    if (source.discard_calls > 1) return;
    discarding.count_down();
    go_on.wait();
  };
  std::thread dropper([&] { ChunkPool::Drop(chunks[0]); });
  discarding.wait();
  ChunkPool::Drop(chunks[1]);
  EXPECT_EQ(source.unmap_calls, 0u);
  go_on.count_down();
  dropper.join();
  EXPECT_EQ(source.unmap_calls, 1u);
  EXPECT_EQ(pool.Stats().returned_bytes[9], 2 * kMiB);
  ExpectIdentities(pool.Stats());
}

TEST(GiveBackTest, ThePoolGivesEverythingBackWhenItEnds) {
  TestSource source;
  {
    ChunkPool pool(PoolOptions(64 * kMiB, &source));
    for (size_t slot = 0; slot < kSizeClassCount; slot++) ChunkPool::Release(AcquireMany(&pool, ClassBytes(slot), 3));
  }
  EXPECT_EQ(source.unmapped_bytes, source.mapped_bytes);
}

}  // namespace
}  // namespace strongbin
