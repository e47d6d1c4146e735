// Idle chunks leave after the decay time, the longest idle first, whether or not the process allocates.
#include <atomic>
#include <chrono>
#include <random>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/pool/chunk_pool.h"
#include "strongbin/tests/pool/pool_test_util.h"
#include "strongbin/tests/pool/thread_names.h"
#include "strongbin/tests/test_scale.h"

namespace strongbin {
namespace {

constexpr size_t kMiB = size_t{1} << 20;
constexpr uint64_t kMs = 1'000'000;
constexpr const char* kTimerThread = "strongbin-pool";

// A pool under a clock that the test moves. Decay time 800 ms: chunks leave between 800 and 900.
class DecayTest : public testing::Test {
 protected:
  static constexpr uint64_t kDecayMs = 800;

  ChunkPoolOptions Options(uint64_t decay_ms) {
    ChunkPoolOptions options = PoolOptions(64 * kMiB, &source_);
    options.decay_ms = decay_ms;
    options.clock_ns = [this] { return now_ms_ * kMs; };
    return options;
  }
  static uint64_t Idle(const ChunkPool& pool) { return Sum(pool.Stats().idle_bytes); }

  std::atomic<uint64_t> now_ms_{1'000};
  TestSource source_;
};

TEST_F(DecayTest, OffByDefaultAndBinsStayStrong) {
  EXPECT_EQ(ChunkPoolOptions().decay_ms, 0u);
  ChunkPool pool(Options(0));
  ChunkPool::Release(AcquireMany(&pool, 4096, 10));
  now_ms_ += uint64_t{1} << 40;
  EXPECT_EQ(pool.DropDecayed(), 0u);
  EXPECT_EQ(Idle(pool), 40960u);
}

TEST_F(DecayTest, ChunksLeaveWhenTheirTimeIsOverAndAreCountedApart) {
  ChunkPool pool(Options(kDecayMs));
  ChunkPool::Release(AcquireMany(&pool, 4096, 10));
  ChunkPool::Release(AcquireMany(&pool, kMiB, 2));
  const uint64_t all_bytes = 40960 + 2 * kMiB;
  now_ms_ += kDecayMs - 1;
  EXPECT_EQ(pool.DropDecayed(), 0u);
  EXPECT_EQ(Idle(pool), all_bytes) << "not before its time";
  now_ms_ += kDecayMs / 8 + 1;
  EXPECT_EQ(pool.DropDecayed(), all_bytes);
  const PoolStats stats = pool.Stats();
  EXPECT_EQ(Idle(pool), 0u) << "and an eighth after it at most";
  EXPECT_EQ(stats.decay_drops[1], 10u);
  EXPECT_EQ(stats.decay_drops[9], 2u);
  EXPECT_EQ(Sum(stats.decay_drop_bytes), all_bytes);
  EXPECT_EQ(stats.returned_bytes, stats.fresh_bytes);
  EXPECT_EQ(Sum(stats.drops) + Sum(stats.admission_drops) + Sum(stats.evictions), 0u);
  EXPECT_EQ(stats.pressure_drop_bytes + stats.unused_drop_bytes + stats.unused_calls, 0u);
  ExpectIdentities(stats);
}

TEST_F(DecayTest, TheLongestIdleLeaveFirstWhateverTheirClass) {
  ChunkPool pool(Options(kDecayMs));
  // One chunk every 200 ms, of one class after the other.
  const std::vector<size_t> sizes = {64 * 1024, 2048, kMiB, 2048, 256 * 1024, 4096};
  std::vector<Chunk> chunks;
  for (const size_t bytes : sizes) chunks.push_back(pool.Acquire(bytes, ChunkKind::k_key));
  const uint64_t start_ms = now_ms_;
  for (size_t i = 0; i < chunks.size(); i++) {
    now_ms_ = start_ms + 200 * i;
    ChunkPool::Release(chunks[i]);
  }
  // The last came at 1000; the first two have been due since 900 and 1100.
  for (size_t gone = 1; gone <= chunks.size(); gone++) {
    now_ms_ = start_ms + 200 * (gone - 1) + kDecayMs + kDecayMs / 8;
    pool.DropDecayed();
    const PoolStats stats = pool.Stats();
    uint64_t left_bytes = 0;
    for (size_t i = gone; i < chunks.size(); i++) left_bytes += sizes[i];
    EXPECT_EQ(Sum(stats.idle_bytes), left_bytes) << gone;
    EXPECT_EQ(Sum(stats.decay_drops), gone);
    ExpectIdentities(stats);
  }
}

TEST_F(DecayTest, WhatIsUsedNowAndThenStays) {
  ChunkPool pool(Options(kDecayMs));
  const auto cold = AcquireMany(&pool, 4096, 8);
  ChunkPool::Release(cold);
  for (int i = 0; i < 50; i++) {
    now_ms_ += kDecayMs / 2;
    ChunkPool::Release(pool.Acquire(4096, ChunkKind::k_key));
    pool.DropDecayed();
  }
  const PoolStats stats = pool.Stats();
  EXPECT_EQ(stats.decay_drops[1], 7u) << "all but the one in use";
  EXPECT_EQ(stats.misses[1], 8u) << "which was never fresh again";
}

TEST_F(DecayTest, LentChunksDoNotAge) {
  ChunkPool pool(Options(kDecayMs));
  const auto lent = AcquireMany(&pool, 4096, 3);
  now_ms_ += 10 * kDecayMs;
  pool.DropDecayed();
  ChunkPool::Release(lent);
  pool.DropDecayed();
  EXPECT_EQ(Idle(pool), 3 * 4096u);
}

TEST_F(DecayTest, ANewTimeCountsFromTheCall) {
  ChunkPool pool(Options(0));
  ChunkPool::Release(AcquireMany(&pool, 4096, 4));
  now_ms_ += 100'000;
  EXPECT_TRUE(pool.SetDecayMs(kDecayMs));
  EXPECT_EQ(pool.DropDecayed(), 0u) << "switched on: idle from now on";
  now_ms_ += kDecayMs / 2;
  EXPECT_TRUE(pool.SetDecayMs(80));
  now_ms_ += 79;
  EXPECT_EQ(pool.DropDecayed(), 0u);
  now_ms_ += 11;
  EXPECT_EQ(pool.DropDecayed(), 4 * 4096u);
  ChunkPool::Release(AcquireMany(&pool, 4096, 4));
  EXPECT_TRUE(pool.SetDecayMs(0));
  now_ms_ += 100'000;
  EXPECT_EQ(pool.DropDecayed(), 0u) << "switched off";
  // The longest time there is does not wrap.
  EXPECT_TRUE(pool.SetDecayMs(UINT64_MAX));
  now_ms_ += 100'000;
  EXPECT_EQ(pool.DropDecayed(), 0u);
}

TEST_F(DecayTest, NothingLeavesTooEarlyOrIsForgottenHoweverRarelyItIsAsked) {
  for (uint64_t seed = 1; seed <= 3; seed++) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ChunkPool pool(Options(kDecayMs));
    std::mt19937_64 random(seed);
    std::vector<std::pair<uint64_t, size_t>> idle;  // released when, of which size
    for (size_t step = 0; step < TestScale(2'000, 20'000); step++) {
      now_ms_ += random() % 40;
      if (random() % 50 == 0) now_ms_ += random() % (3 * kDecayMs);
      // Fresh chunks each time: acquired while another of the class lies idle, that one would come.
      std::vector<Chunk> chunks = AcquireMany(&pool, ClassBytes(random() % 4), 1);
      std::erase_if(idle, [&](const auto& one) { return one.second == chunks[0].bytes; });
      ChunkPool::Release(chunks);
      idle.push_back({now_ms_, chunks[0].bytes});
      if (random() % 7 != 0) continue;
      pool.DropDecayed();
      const PoolStats stats = pool.Stats();
      for (auto one = idle.begin(); one != idle.end();) {
        const bool is_there = stats.idle_bytes[ClassFor(one->second)] > 0;
        const uint64_t age_ms = now_ms_ - one->first;
        if (age_ms < kDecayMs || age_ms >= kDecayMs + kDecayMs / 8) {
          ASSERT_EQ(is_there, age_ms < kDecayMs) << "step " << step << ", idle for " << age_ms;
        }
        one = is_there ? one + 1 : idle.erase(one);
      }
    }
    now_ms_ += 2 * kDecayMs;
    pool.DropDecayed();
    EXPECT_EQ(Idle(pool), 0u);
    ExpectIdentities(pool.Stats());
  }
}

TEST_F(DecayTest, ManySmallChunksLeaveInOneCallForEachSlab) {
  ChunkPool pool(Options(kDecayMs));
  ChunkPool::Release(AcquireMany(&pool, 2048, 8 * 1024));
  now_ms_ += 2 * kDecayMs;
  EXPECT_EQ(pool.DropDecayed(), 16 * kMiB);
  EXPECT_EQ(source_.unmap_calls, 8u);
  EXPECT_EQ(source_.discard_calls, 0u);
}

// ---- The timer's thread ----

// Waits until it is so; a test that waits for ever is ended by its time limit.
template <class Condition>
void WaitUntil(Condition&& condition) {
  while (!condition()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

ChunkPoolOptions RealTime(uint64_t decay_ms) {
  ChunkPoolOptions options = PoolOptions(64 * kMiB);
  options.decay_ms = decay_ms;
  return options;
}

TEST(PoolTimerTest, AnIdleProcessGivesBackByOneThreadForAllPools) {
  EXPECT_EQ(CountThreads(kTimerThread), 0u) << "started only when wanted";
  ChunkPool strong(RealTime(0));
  EXPECT_EQ(CountThreads(kTimerThread), 0u);
  ChunkPool quick(RealTime(5)), slow(RealTime(20));
  EXPECT_TRUE(strong.SetDecayMs(0));
  EXPECT_EQ(CountThreads(kTimerThread), 1u);
  for (ChunkPool* pool : {&strong, &quick, &slow}) ChunkPool::Release(AcquireMany(pool, 64 * 1024, 10));
  for (ChunkPool* pool : {&quick, &slow}) {
    WaitUntil([&] { return Sum(pool->Stats().decay_drops) == 10; });
    EXPECT_EQ(Sum(pool->Stats().idle_bytes), 0u);
  }
  EXPECT_EQ(Sum(strong.Stats().idle_bytes), 640 * 1024u);
  // Again, and changed in use.
  EXPECT_TRUE(strong.SetDecayMs(5));
  WaitUntil([&] { return Sum(strong.Stats().decay_drops) == 10; });
  EXPECT_TRUE(quick.SetDecayMs(0));
  ChunkPool::Release(AcquireMany(&quick, 64 * 1024, 10));
  ChunkPool::Release(AcquireMany(&slow, 64 * 1024, 10));
  WaitUntil([&] { return Sum(slow.Stats().decay_drops) == 20; });
  EXPECT_EQ(Sum(quick.Stats().idle_bytes), 640 * 1024u) << "switched off";
  EXPECT_EQ(CountThreads(kTimerThread), 1u);
}

TEST(PoolTimerTest, PoolsComeAndGoWhileTheyDecay) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; t++) {
    threads.emplace_back([] {
      for (size_t round = 0; round < TestScale(100, 2'000); round++) {
        ChunkPool pool(RealTime(1));
        for (int i = 0; i < 20; i++) {
          ChunkPool::Release(AcquireMany(&pool, 2048, 40));
          if (i % 5 == 0) pool.SetDecayMs(i % 10 == 0 ? 1 : 0);
          if (i % 7 == 0) std::this_thread::yield();
        }
        ExpectIdentities(pool.Stats());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(PoolTimerTest, WritersAndDecayShareChunksSoundly) {
  ChunkPool pool(RealTime(1));
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; t++) {
    threads.emplace_back([&pool, t] {
      for (size_t round = 0; round < TestScale(2'000, 50'000); round++) {
        auto chunks = AcquireMany(&pool, ClassBytes(round % 4), 5);
        for (const Chunk& chunk : chunks) chunk.data[0] = chunk.data[chunk.bytes - 1] = static_cast<char>(t);
        for (const Chunk& chunk : chunks) ASSERT_EQ(chunk.data[0], chunk.data[chunk.bytes - 1]);
        ChunkPool::Release(chunks);
        if (round % 64 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  WaitUntil([&] { return Sum(pool.Stats().idle_bytes) == 0; });
  EXPECT_GT(Sum(pool.Stats().decay_drops), 0u);
  ExpectIdentities(pool.Stats());
}

int ExitStatusOf(pid_t child) {
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(PoolTimerTest, AChildHasNoThreadAndItsPoolIsUsable) {
  if (kThreadSanitizer) GTEST_SKIP() << "ThreadSanitizer ends a child that starts a thread";
  ChunkPool pool(RealTime(1)), destroyed_later(RealTime(1));
  auto* destroyed_in_child = new ChunkPool(RealTime(1));
  ChunkPool::Release(AcquireMany(&pool, 4096, 10));
  WaitUntil([&] { return Sum(pool.Stats().decay_drops) == 10; });
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    if (CountThreads(nullptr) != 1) _exit(2);
    ChunkPool::Release(AcquireMany(&pool, 4096, 10));
    usleep(20'000);
    if (Sum(pool.Stats().idle_bytes) != 40960) _exit(3);  // nobody is there
    if (pool.DropDecayed() != 40960) _exit(4);            // but for who asks
    delete destroyed_in_child;
    if (CountThreads(nullptr) != 1) _exit(5);
    // A thread comes when somebody asks, and serves all.
    ChunkPool::Release(AcquireMany(&pool, 4096, 10));
    ChunkPool other(RealTime(0));
    if (!other.SetDecayMs(1)) _exit(6);
    ChunkPool::Release(AcquireMany(&other, 4096, 10));
    WaitUntil([&] { return Sum(other.Stats().decay_drops) == 10 && Sum(pool.Stats().decay_drops) == 30; });
    if (CountThreads(kTimerThread) != 1) _exit(7);
    _exit(0);
  }
  EXPECT_EQ(ExitStatusOf(child), 0);
  delete destroyed_in_child;
  // The parent's thread goes on.
  ChunkPool::Release(AcquireMany(&pool, 4096, 10));
  WaitUntil([&] { return Sum(pool.Stats().decay_drops) == 20; });
}

// The pool of the process outlives static objects, and is used after the timer's thread has ended.
struct UsesTheDefaultPoolAtTheVeryEnd {
  ~UsesTheDefaultPoolAtTheVeryEnd() {
    if (!armed) return;
    if (CountThreads(kTimerThread) != 0) _exit(11);
    ChunkPool& pool = ChunkPool::Default();
    ChunkPool::Release(pool.Acquire(4096, ChunkKind::k_key));
    if (pool.SetDecayMs(7)) _exit(12);  // too late for a thread, and it says so
    if (CountThreads(kTimerThread) != 0) _exit(13);
    ChunkPool late(RealTime(1));
    ChunkPool::Release(late.Acquire(4096, ChunkKind::k_key));
  }
  bool armed = false;
} at_the_very_end;

TEST(PoolTimerDeathTest, TheThreadEndsWithTheProcessAndLatePoolsStillWork) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        at_the_very_end.armed = true;
        ChunkPool& pool = ChunkPool::Default();
        pool.SetDecayMs(1);
        ChunkPool::Release(AcquireMany(&pool, 4096, 100));
        while (Sum(pool.Stats().decay_drops) == 0) usleep(100);
        ChunkPool::Release(AcquireMany(&pool, 4096, 100));
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace strongbin
