// The pool in the child after fork().
#include <atomic>
#include <cstring>
#include <latch>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/pool/chunk_pool.h"
#include "strongbin/tests/pool/pool_test_util.h"
#include "strongbin/tests/test_scale.h"

namespace strongbin {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

bool IdentitiesHold(const PoolStats& stats) {
  for (size_t slot = 0; slot < kClassSlotCount; slot++) {
    if (stats.fresh_bytes[slot] - stats.returned_bytes[slot] !=
        stats.idle_bytes[slot] + stats.lent_bytes[slot] + stats.slab_free_bytes[slot]) {
      return false;
    }
  }
  return true;
}

// Uses the pool in every way; an alarm ends the child should it wait for a lock that nobody holds any more.
int UseInChild(ChunkPool* pool) {
  alarm(20);
  for (int round = 0; round < 3; round++) {
    std::vector<Chunk> chunks;
    for (size_t slot = 0; slot <= kSizeClassCount; slot++) {
      for (int i = 0; i < 3; i++) {
        const Chunk chunk = pool->Acquire(slot < kSizeClassCount ? ClassBytes(slot) : 2 * kMiB, ChunkKind::k_key);
        if (!chunk) return 2;
        chunk.data[0] = chunk.data[chunk.bytes - 1] = 'c';
        chunks.push_back(chunk);
      }
    }
    round == 1 ? ChunkPool::Drop(chunks) : ChunkPool::Release(chunks);
    pool->OnMemoryPressure();
    if (!IdentitiesHold(pool->Stats())) return 3;
  }
  return 0;
}

int ForkAndUse(ChunkPool* pool) {
  const pid_t child = fork();
  if (child == 0) _exit(UseInChild(pool));
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(ForkTest, TheChildUsesThePoolsWhateverOtherThreadsOfTheParentWereDoing) {
  if (kAddressSanitizer || kThreadSanitizer) {
    GTEST_SKIP() << "the sanitizer's own heap may be locked in the child of a process with many threads";
  }
  ChunkPool pool(PoolOptions(8 * kMiB));
  ChunkPool other(PoolOptions(kMiB));
  std::atomic<bool> stop = false;
  std::vector<std::thread> traffic;
  for (int t = 0; t < 3; t++) {
    traffic.emplace_back([&] {
      while (!stop) {
        ChunkPool::Release(AcquireMany(&pool, 8192, 50));
        ChunkPool::Drop(AcquireMany(&pool, 2048, 10));
        ChunkPool::Release(AcquireMany(&other, kMiB, 2));
        pool.OnMemoryPressure();
      }
    });
  }
  for (int round = 0; round < 5; round++) {
    EXPECT_EQ(ForkAndUse(&pool), 0);
    EXPECT_EQ(ForkAndUse(&other), 0);
  }
  stop = true;
  for (std::thread& thread : traffic) thread.join();
  ExpectIdentities(pool.Stats());
}

TEST(ForkTest, ASlabThatWasBeingUnmappedIsNotUsedInTheChild) {
  TestSource source;
  ChunkPool pool(PoolOptions(8 * kMiB, &source));
  std::latch unmapping(1);
  std::latch go_on(1);
  const auto chunks = AcquireMany(&pool, kMiB, 2);
  const auto half = AcquireMany(&pool, 512 * 1024, 2);
  std::atomic<int> unmaps = 0;
  source.on_unmap = [&] {
    if (unmaps++ > 0) return;
    unmapping.count_down();
    go_on.wait();
  };
  std::thread dropper([&] { ChunkPool::Drop(chunks); });
  unmapping.wait();
  const pid_t child = fork();
  if (child == 0) {
    // The mapping may be gone by now: nothing may be carved from it.
    const Chunk chunk = pool.Acquire(kMiB, ChunkKind::k_key);
    if (!chunk || chunk.data == chunks[0].data || chunk.data == chunks[1].data) _exit(4);
    ChunkPool::Release(chunk);
    if (pool.OnMemoryPressure() != kMiB) _exit(5);  // the hook is not thought to be running
    _exit(UseInChild(&pool));
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  go_on.count_down();
  dropper.join();
  ChunkPool::Release(half);
  ExpectIdentities(pool.Stats());
}

TEST(ForkTest, PagesThatWereLeavingAreUsedAgainInTheChild) {
  TestSource source;
  ChunkPool pool(PoolOptions(8 * kMiB, &source));
  std::latch discarding(1);
  std::latch go_on(1);
  const auto chunks = AcquireMany(&pool, kMiB, 2);
  source.on_discard = [&] {
    if (source.discard_calls > 1) return;
    discarding.count_down();
    go_on.wait();
  };
  std::thread dropper([&] { ChunkPool::Drop(chunks[0]); });
  discarding.wait();
  const pid_t child = fork();
  if (child == 0) {
    const Chunk chunk = pool.Acquire(kMiB, ChunkKind::k_key);
    if (chunk.data != chunks[0].data) _exit(4);
    std::memset(chunk.data, 1, chunk.bytes);
    ChunkPool::Release(chunk);
    _exit(UseInChild(&pool));
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  go_on.count_down();
  dropper.join();
  ChunkPool::Release(chunks[1]);
  ExpectIdentities(pool.Stats());
}

TEST(ForkTest, ThePoolOfTheProcessWorksInTheChild) { EXPECT_EQ(ForkAndUse(&ChunkPool::Default()), 0); }

}  // namespace
}  // namespace strongbin
