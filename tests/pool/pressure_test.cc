// The pressure hook: what it hands back, from where it may be called, and by how many at once.
#include <atomic>
#include <barrier>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/pool/chunk_pool.h"
#include "strongbin/tests/pool/pool_test_util.h"
#include "strongbin/tests/test_scale.h"

namespace strongbin {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

// Calls the hook before main and after it; the exit status of the program tells of the second.
struct EarlyAndLate {
  const size_t early_bytes = ChunkPool::Default().OnMemoryPressure();
  ~EarlyAndLate() { ChunkPool::Default().OnMemoryPressure(); }
} early_and_late;

TEST(PressureTest, WorksBeforeThePoolIsUsed) {
  EXPECT_EQ(early_and_late.early_bytes, 0u);
  ChunkPool pool;
  EXPECT_EQ(pool.OnMemoryPressure(), 0u);
  EXPECT_EQ(pool.Stats().pressure_calls, 1u);
}

TEST(PressureTest, EmptiesTheBinsAndLeavesWhatIsLent) {
  std::vector<PoolEvent> events;
  ChunkPoolOptions options = PoolOptions(64 * kMiB);
  options.on_event = [&](const PoolEvent& event) { events.push_back(event); };
  ChunkPool pool(options);
  std::vector<Chunk> lent;
  size_t idle_bytes = 0;
  for (size_t slot = 0; slot < kSizeClassCount; slot++) {
    auto chunks = AcquireMany(&pool, ClassBytes(slot), 4);
    for (int i = 0; i < 2; i++) {
      lent.push_back(chunks.back());
      chunks.pop_back();
      lent.back().data[lent.back().bytes - 1] = 'x';
    }
    ChunkPool::Release(chunks);
    idle_bytes += 2 * ClassBytes(slot);
  }
  EXPECT_EQ(pool.OnMemoryPressure(), idle_bytes);
  const PoolStats stats = pool.Stats();
  EXPECT_EQ(Sum(stats.idle_bytes), 0u);
  EXPECT_EQ(Sum(stats.lent_bytes), idle_bytes);
  EXPECT_EQ(Sum(stats.drops), 2 * kSizeClassCount);
  EXPECT_EQ(Sum(stats.drop_bytes), idle_bytes);
  EXPECT_EQ(stats.pressure_drop_bytes, idle_bytes);
  EXPECT_EQ(stats.pressure_calls, 1u);
  ExpectIdentities(stats);
  for (const Chunk& chunk : lent) EXPECT_EQ(chunk.data[chunk.bytes - 1], 'x');
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].type, PoolEvent::Type::kPressureDrop);
  EXPECT_EQ(events[0].bytes, idle_bytes);
  EXPECT_EQ(pool.OnMemoryPressure(), 0u) << "nothing is idle any more";
  EXPECT_EQ(events.size(), 1u) << "nothing handed back is no event";
  ChunkPool::Release(lent);
  EXPECT_EQ(Sum(pool.Stats().idle_bytes), idle_bytes) << "warm capacity comes back";
}

TEST(PressureTest, FromWithinItsOwnCallbackItDoesNothing) {
  ChunkPool* self = nullptr;
  size_t inner_bytes = 1;
  int calls = 0;
  ChunkPoolOptions options = PoolOptions(kMiB);
  options.on_event = [&](const PoolEvent& event) {
    if (event.type != PoolEvent::Type::kPressureDrop) return;
    calls++;
    ChunkPool::Release(self->Acquire(1, ChunkKind::k_key));  // the pool itself is free to be used
    inner_bytes = self->OnMemoryPressure();
  };
  ChunkPool pool(options);
  self = &pool;
  ChunkPool::Release(AcquireMany(&pool, 4096, 10));
  EXPECT_EQ(pool.OnMemoryPressure(), 40960u);
  EXPECT_EQ(inner_bytes, 0u);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(pool.OnMemoryPressure(), 2048u) << "and afterwards it works again";
}

TEST(PressureTest, MayBeCalledFromTheCallbackOfARefusedRequest) {
  TestSource source;
  ChunkPool* self = nullptr;
  size_t handed_back_bytes = 0;
  std::vector<Chunk> cache;
  ChunkPoolOptions options = PoolOptions(4 * kMiB, &source);
  options.on_event = [&](const PoolEvent& event) {
    if (event.type != PoolEvent::Type::kRefused) return;
    EXPECT_EQ(event.bytes, kMiB);
    ChunkPool::Release(cache);  // as the destructor of the last table would
    cache.clear();
    handed_back_bytes += self->OnMemoryPressure();
    source.refuse_map = nullptr;
  };
  ChunkPool pool(options);
  self = &pool;
  cache = AcquireMany(&pool, 4096, 100);
  source.refuse_map = [](uint64_t) { return true; };
  const Chunk chunk = pool.Acquire(kMiB, ChunkKind::k_key);
  EXPECT_TRUE(chunk) << "the callback has freed memory, so the pool asks again";
  EXPECT_EQ(handed_back_bytes, 409600u);
  EXPECT_EQ(pool.Stats().refusals, 0u);
  ChunkPool::Release(chunk);
}

TEST(PressureTest, MayBeCalledFromTheCallbackOfAnAdmissionDrop) {
  ChunkPool* self = nullptr;
  size_t handed_back_bytes = 0;
  ChunkPoolOptions options = PoolOptions(8192);
  options.on_event = [&](const PoolEvent& event) {
    if (event.type == PoolEvent::Type::kAdmissionDrop) handed_back_bytes += self->OnMemoryPressure();
  };
  ChunkPool pool(options);
  self = &pool;
  ChunkPool::Release(AcquireMany(&pool, 4096, 3));
  EXPECT_EQ(handed_back_bytes, 8192u);
  EXPECT_EQ(Sum(pool.Stats().idle_bytes), 0u);
}

TEST(PressureTest, ManyCallersAtOnceHandEachByteBackOnce) {
  constexpr size_t kThreads = 8;
  constexpr size_t kWriters = 2;
  const size_t rounds = TestScale(50, 1'000);
  ChunkPool pool(PoolOptions(8 * kMiB));
  std::atomic<bool> stop = false;
  std::atomic<uint64_t> handed_back_bytes = 0;
  std::vector<std::thread> writers;
  for (size_t w = 0; w < kWriters; w++) {
    writers.emplace_back([&] {
      while (!stop) ChunkPool::Release(AcquireMany(&pool, 16 * 1024, 20));
    });
  }
  std::barrier wave(kThreads);
  std::vector<std::thread> callers;
  for (size_t t = 0; t < kThreads; t++) {
    callers.emplace_back([&] {
      for (size_t round = 0; round < rounds; round++) {
        ChunkPool::Release(AcquireMany(&pool, 64 * 1024, 2));
        wave.arrive_and_wait();
        handed_back_bytes += pool.OnMemoryPressure();
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  stop = true;
  for (std::thread& writer : writers) writer.join();
  const PoolStats stats = pool.Stats();
  EXPECT_EQ(stats.pressure_calls, kThreads * rounds);
  EXPECT_EQ(stats.pressure_drop_bytes, handed_back_bytes);
  EXPECT_EQ(Sum(stats.puts), Sum(stats.gets));
  ExpectIdentities(stats);
  pool.OnMemoryPressure();
  EXPECT_EQ(Sum(pool.Stats().idle_bytes), 0u);
  EXPECT_EQ(pool.Stats().returned_bytes, pool.Stats().fresh_bytes);
}

}  // namespace
}  // namespace strongbin
