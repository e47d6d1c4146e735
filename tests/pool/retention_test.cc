// What stays in the bins at a full cap, and who gives way to whom.
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/pool/chunk_pool.h"
#include "strongbin/tests/pool/pool_test_util.h"

namespace strongbin {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

TEST(RetentionTest, FullBinsDropOnReturnAndCountIt) {
  std::vector<PoolEvent> events;
  ChunkPoolOptions options = PoolOptions(kMiB);
  options.on_event = [&](const PoolEvent& event) { events.push_back(event); };
  ChunkPool pool(options);
  const auto chunks = AcquireMany(&pool, 64 * 1024, 20);  // the cap holds 16
  ChunkPool::Release(chunks);
  const PoolStats stats = pool.Stats();
  EXPECT_EQ(Sum(stats.idle_bytes), kMiB);
  EXPECT_EQ(stats.puts[5], 20u);
  EXPECT_EQ(stats.admission_drops[5], 4u);
  EXPECT_EQ(stats.admission_drop_bytes[5], 4 * 64 * 1024u);
  EXPECT_EQ(stats.returned_bytes[5], 4 * 64 * 1024u);
  EXPECT_EQ(Sum(stats.evictions), 0u);
  EXPECT_EQ(Sum(stats.drops), 0u);
  ExpectIdentities(stats);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].type, PoolEvent::Type::kAdmissionDrop);
  EXPECT_EQ(events[0].bytes, 4 * 64 * 1024u);
}

TEST(RetentionTest, TheCapIsExactForEveryClass) {
  for (size_t slot = 0; slot < kSizeClassCount; slot++) {
    const size_t bytes = ClassBytes(slot);
    for (size_t cap_bytes : {3 * bytes - 1, 3 * bytes, 3 * bytes + 1}) {
      ChunkPool pool(PoolOptions(cap_bytes));
      ChunkPool::Release(AcquireMany(&pool, bytes, 4));
      EXPECT_EQ(pool.Stats().idle_bytes[slot], cap_bytes / bytes * bytes);
      EXPECT_EQ(pool.Stats().admission_drops[slot], 4 - cap_bytes / bytes);
      ExpectIdentities(pool.Stats());
    }
  }
}

TEST(RetentionTest, CapZeroMapsFreshAndGivesBackEveryTime) {
  TestSource source;
  ChunkPool pool(PoolOptions(0, &source));
  for (int round = 0; round < 5; round++) ChunkPool::Release(pool.Acquire(kMiB, ChunkKind::k_key));
  const PoolStats stats = pool.Stats();
  EXPECT_EQ(stats.misses[9], 5u);
  EXPECT_EQ(stats.hits[9], 0u);
  EXPECT_EQ(stats.admission_drops[9], 5u);
  EXPECT_EQ(stats.idle_bytes_max, 0u);
  EXPECT_EQ(source.map_calls, 5u);
  EXPECT_EQ(source.unmap_calls, 5u);
  ExpectIdentities(stats);
}

TEST(RetentionTest, LendingKnowsNoBoundAndReleaseComesBackUnderTheCap) {
  const size_t count = 2000;
  ChunkPool pool(PoolOptions(64 * kMiB));
  std::vector<Chunk> held = AcquireMany(&pool, 256 * 1024, count);
  EXPECT_EQ(Sum(pool.Stats().lent_bytes), count * 256 * 1024);
  ChunkPool::Release(held);
  const PoolStats stats = pool.Stats();
  EXPECT_EQ(Sum(stats.idle_bytes), 64 * kMiB);
  EXPECT_EQ(stats.admission_drops[7], count - 256);
  EXPECT_EQ(stats.returned_bytes[7], (count - 256) * 256 * 1024);
  EXPECT_EQ(Sum(stats.slab_free_bytes), 0u);
  ExpectIdentities(stats);
}

TEST(RetentionTest, BinsFullOfAnotherClassGiveWayToTheClassInUse) {
  ChunkPool pool(PoolOptions(4 * kMiB));
  ChunkPool::Release(AcquireMany(&pool, 2048, 2048));  // the cap is full of 2 KiB chunks
  uint64_t hits_before = 0;
  for (int generation = 0; generation < 4; generation++) {
    hits_before = pool.Stats().hits[9];
    ChunkPool::Release(AcquireMany(&pool, kMiB, 4));
    ExpectIdentities(pool.Stats());
  }
  const PoolStats stats = pool.Stats();
  EXPECT_EQ(stats.hits[9] - hits_before, 4u) << "the stable mix is served from its bin";
  EXPECT_EQ(stats.evictions[0], 2048u);
  EXPECT_EQ(stats.admission_drops[9], 0u);
  EXPECT_EQ(Sum(stats.idle_bytes), 4 * kMiB);
}

TEST(RetentionTest, NoMoreGivesWayThanIsNeeded) {
  ChunkPool pool(PoolOptions(kMiB));
  ChunkPool::Release(AcquireMany(&pool, 2048, 512));
  ChunkPool::Release(pool.Acquire(8192, ChunkKind::k_key));
  EXPECT_EQ(pool.Stats().evictions[0], 4u);
  EXPECT_EQ(Sum(pool.Stats().idle_bytes), kMiB);
}

TEST(RetentionTest, TheLongestIdleGivesWayFirst) {
  ChunkPool pool(PoolOptions(64 * 1024));
  const auto older = AcquireMany(&pool, 32 * 1024, 1);
  const auto newer = AcquireMany(&pool, 16 * 1024, 2);
  ChunkPool::Release(newer);
  ChunkPool::Release(older);
  ChunkPool::Release(pool.Acquire(4096, ChunkKind::k_key));
  const PoolStats stats = pool.Stats();
  EXPECT_EQ(stats.evictions[3], 1u);
  EXPECT_EQ(stats.evictions[4], 0u);
  EXPECT_EQ(stats.idle_bytes[1], 4096u);
}

TEST(RetentionTest, WhatIsTooSmallToMakeRoomStays) {
  ChunkPool pool(PoolOptions(kMiB));
  const auto own = AcquireMany(&pool, 512 * 1024, 2);
  ChunkPool::Release(AcquireMany(&pool, 2048, 8));
  const auto late = AcquireMany(&pool, 512 * 1024, 1);
  ChunkPool::Release(own[0]);
  // 512 KiB + 16 KiB are idle. Making room for 512 KiB more takes all 2 KiB chunks, which are old enough.
  ChunkPool::Release(late);
  EXPECT_EQ(pool.Stats().evictions[0], 8u);
  // Now the rest is of its own class, which never gives way.
  ChunkPool::Release(own[1]);
  const PoolStats stats = pool.Stats();
  EXPECT_EQ(stats.evictions[8], 0u);
  EXPECT_EQ(stats.admission_drops[8], 1u);
  ExpectIdentities(stats);
}

TEST(RetentionTest, YoungerChunksDoNotGiveWay) {
  ChunkPool pool(PoolOptions(kMiB));
  const auto held = AcquireMany(&pool, kMiB, 1);
  ChunkPool::Release(AcquireMany(&pool, 2048, 4));  // became idle while the other was in use
  ChunkPool::Release(held);
  EXPECT_EQ(Sum(pool.Stats().evictions), 0u);
  EXPECT_EQ(pool.Stats().admission_drops[9], 1u);
}

TEST(RetentionTest, AStableMixLargerThanTheCapDoesNotDriveItselfOut) {
  ChunkPool pool(PoolOptions(kMiB));
  uint64_t hits_before = 0;
  for (int generation = 0; generation < 20; generation++) {
    const uint64_t hits = Sum(pool.Stats().hits);
    std::vector<Chunk> mix;
    for (size_t i = 0; i < 60; i++) mix.push_back(pool.Acquire(size_t{4096} << (i % 5), ChunkKind::k_key));
    ChunkPool::Release(mix);
    if (generation >= 2) {
      EXPECT_EQ(Sum(pool.Stats().hits) - hits, hits_before) << generation;
    }
    hits_before = Sum(pool.Stats().hits) - hits;
    ExpectIdentities(pool.Stats());
  }
  EXPECT_EQ(Sum(pool.Stats().evictions), 0u);
  EXPECT_GE(Sum(pool.Stats().idle_bytes), kMiB * 9 / 10);
  EXPECT_GE(hits_before, 20u);
}

TEST(RetentionTest, ALowerCapDrivesTheLongestIdleOut) {
  TestSource source;
  ChunkPool pool(PoolOptions(4 * kMiB, &source));
  const auto old_chunks = AcquireMany(&pool, 64 * 1024, 32);
  const auto new_chunks = AcquireMany(&pool, 256 * 1024, 8);
  ChunkPool::Release(old_chunks);
  ChunkPool::Release(new_chunks);
  ASSERT_EQ(Sum(pool.Stats().idle_bytes), 4 * kMiB);
  pool.SetCapBytes(3 * kMiB);
  EXPECT_EQ(pool.cap_bytes(), 3 * kMiB);
  EXPECT_EQ(pool.Stats().cap_bytes, 3 * kMiB);
  EXPECT_EQ(pool.Stats().idle_bytes[5], kMiB);
  EXPECT_EQ(pool.Stats().idle_bytes[7], 2 * kMiB);
  EXPECT_EQ(pool.Stats().evictions[5], 16u);
  pool.SetCapBytes(0);
  EXPECT_EQ(Sum(pool.Stats().idle_bytes), 0u);
  EXPECT_EQ(pool.Stats().returned_bytes, pool.Stats().fresh_bytes);
  EXPECT_EQ(pool.Stats().idle_bytes_max, 4 * kMiB);
}

TEST(RetentionTest, AHigherCapKeepsMore) {
  ChunkPool pool(PoolOptions(kMiB));
  pool.SetCapBytes(2 * kMiB);
  ChunkPool::Release(AcquireMany(&pool, 64 * 1024, 40));
  EXPECT_EQ(Sum(pool.Stats().idle_bytes), 2 * kMiB);
}

TEST(RetentionTest, DropIdleEmptiesTheBinsAndIsNoPressure) {
  ChunkPool pool(PoolOptions(4 * kMiB));
  const Chunk lent = pool.Acquire(64 * 1024, ChunkKind::k_key);
  ChunkPool::Release(AcquireMany(&pool, 64 * 1024, 10));
  EXPECT_EQ(pool.DropIdle(), 640 * 1024u);
  const PoolStats stats = pool.Stats();
  EXPECT_EQ(Sum(stats.idle_bytes), 0u);
  EXPECT_EQ(stats.drops[5], 10u);
  EXPECT_EQ(stats.pressure_calls, 0u);
  EXPECT_EQ(stats.pressure_drop_bytes, 0u);
  EXPECT_EQ(stats.lent_bytes[5], 64 * 1024u);
  EXPECT_EQ(pool.DropIdle(), 0u);
  ChunkPool::Release(lent);
}

}  // namespace
}  // namespace strongbin
