// Slabs that are made ahead of their use: when, how many, where they go, and when they go again.
#include <algorithm>
#include <atomic>
#include <cstring>
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
constexpr size_t kGreatUseBytes = 2 * kSlabBytes;
constexpr size_t kMaxReadyBytes = 3 * kMiB;

class MakeAheadTest : public testing::Test {
 protected:
  // Without a thread: the test calls MakeAhead itself.
  ChunkPoolOptions Options(size_t cap_bytes = 64 * kMiB) {
    ChunkPoolOptions options = PoolOptions(cap_bytes, &source_);
    options.cold_start.ahead = true;
    options.clock_ns = [] { return uint64_t{1}; };
    return options;
  }
  ChunkPoolOptions OptionsWithThread() {
    ChunkPoolOptions options = Options();
    options.clock_ns = {};
    return options;
  }

  TestSource source_;
};

uint64_t Ready(const ChunkPool& pool) { return Sum(pool.Stats().slab_free_bytes); }

TEST_F(MakeAheadTest, AClassInGreatUseFindsItsNextSlabMade) {
  for (size_t slot = 0; slot < kSizeClassCount; slot++) {
    SCOPED_TRACE(kClassLabels[slot]);
    const size_t bytes = ClassBytes(slot);
    ChunkPool pool(Options());
    auto lent = AcquireMany(&pool, bytes, kGreatUseBytes / bytes - 1);
    EXPECT_EQ(pool.MakeAhead(), 0u) << "not in great use yet";
    lent.push_back(pool.Acquire(bytes, ChunkKind::k_key));
    EXPECT_EQ(pool.MakeAhead(), kSlabBytes);
    EXPECT_EQ(pool.MakeAhead(), 0u) << "one at a time";
    const PoolStats made = pool.Stats();
    EXPECT_EQ(made.ahead_bytes[slot], kSlabBytes);
    EXPECT_EQ(made.slab_free_bytes[slot], kSlabBytes);
    ExpectIdentities(made);

    const uint64_t map_calls = source_.map_calls;
    for (const Chunk& chunk : AcquireMany(&pool, bytes, kSlabBytes / bytes)) {
      std::memset(chunk.data, 1, chunk.bytes);
      lent.push_back(chunk);
    }
    EXPECT_EQ(source_.map_calls, map_calls) << "all of it was there";
    EXPECT_EQ(pool.Stats().fresh_bytes, made.fresh_bytes) << "and counted when it was made";
    EXPECT_EQ(pool.MakeAhead(), kSlabBytes) << "little is left: the next one";
    ChunkPool::Drop(lent);
    ExpectIdentities(pool.Stats());
  }
}

TEST_F(MakeAheadTest, RoomThatIsReadyGoesBeforeRoomThatIsNot) {
  ChunkPool pool(Options());
  // The last slab of its own has room for one more, whose pages nobody has made.
  auto lent = AcquireMany(&pool, kMiB, 5);
  ASSERT_EQ(pool.MakeAhead(), kSlabBytes);
  lent.push_back(pool.Acquire(kMiB, ChunkKind::k_key));
  EXPECT_EQ(Ready(pool), kMiB);
  ChunkPool::Release(lent);
}

TEST_F(MakeAheadTest, WhatLiesReadyIsBoundedHoweverManyAreTaken) {
  for (const size_t bytes : {size_t{2048}, size_t{32} << 10, kMiB}) {
    ChunkPool pool(Options());
    std::vector<Chunk> lent;
    for (size_t taken = 0; taken < 24 * kMiB; taken += bytes) {
      lent.push_back(pool.Acquire(bytes, ChunkKind::k_key));
      pool.MakeAhead();
      ASSERT_LE(Ready(pool), kMaxReadyBytes);
    }
    EXPECT_GE(Sum(pool.Stats().ahead_bytes), 16 * kMiB) << "and most of it was";
    ChunkPool::Release(lent);
  }
}

TEST_F(MakeAheadTest, MoreLiesReadyTheMoreIsLentUpToABound) {
  ChunkPool pool(Options());
  std::vector<Chunk> lent;
  uint64_t most_ready = 0;
  for (size_t lent_bytes = kMiB; lent_bytes <= 256 * kMiB; lent_bytes += kMiB) {
    lent.push_back(pool.Acquire(kMiB, ChunkKind::k_key));
    const uint64_t left = Ready(pool);
    const size_t made = pool.MakeAhead();
    most_ready = std::max(most_ready, Ready(pool));
    ASSERT_LE(Ready(pool), std::min(std::max(3 * kMiB, lent_bytes / 16 + kSlabBytes), 10 * kMiB)) << lent_bytes;
    if (lent_bytes >= 128 * kMiB && made > 0) {
      EXPECT_LT(left, 4 * kMiB);
      EXPECT_GE(Ready(pool), 8 * kMiB) << "the thread is woken for several slabs at once";
    }
  }
  EXPECT_GE(most_ready, 8 * kMiB);
  ChunkPool::Drop(lent);
}

TEST_F(MakeAheadTest, OfWhatIsNotReadyAUserMakesTheBeginning) {
  ChunkPoolOptions options = Options();
  options.cold_start = {.huge_pages = true, .populate = true, .ahead = true};
  ChunkPool pool(options);
  const Chunk large = pool.Acquire(kMiB, ChunkKind::k_key);
  EXPECT_EQ(source_.populated_bytes, kMiB / 4);
  const Chunk small = pool.Acquire(64 << 10, ChunkKind::k_key);
  EXPECT_EQ(source_.populated_bytes, kMiB / 4 + (64 << 10));
  ChunkPool::Drop(large);
  ChunkPool::Drop(small);
}

TEST_F(MakeAheadTest, NothingLiesReadyOnceTheClassIsNotUsed) {
  for (const bool warm : {true, false}) {
    ChunkPool pool(Options());
    auto lent = AcquireMany(&pool, kMiB, 4);
    const auto other_class = AcquireMany(&pool, 4096, 1);
    ASSERT_EQ(pool.MakeAhead(), kSlabBytes);
    const Chunk last = lent.back();
    lent.pop_back();
    warm ? ChunkPool::Release(lent) : ChunkPool::Drop(lent);
    EXPECT_GE(Ready(pool), kSlabBytes) << "somebody may grow again";
    warm ? ChunkPool::Release(last) : ChunkPool::Drop(last);
    EXPECT_EQ(Ready(pool), 0u);
    EXPECT_EQ(Sum(pool.Stats().idle_bytes), warm ? 4 * kMiB : 0u) << "what was used stays as warm as ever";
    ExpectIdentities(pool.Stats());
    ChunkPool::Release(other_class);
  }
}

TEST_F(MakeAheadTest, PressureTakesItAndNothingIsMadeUntilTheClassHasTakenASlabOfItsOwn) {
  ChunkPool pool(Options());
  auto lent = AcquireMany(&pool, kMiB, 4);
  ASSERT_EQ(pool.MakeAhead(), kSlabBytes);
  EXPECT_EQ(pool.OnMemoryPressure(), kSlabBytes);
  EXPECT_EQ(Ready(pool), 0u);
  const uint64_t huge_maps = source_.huge_maps;
  lent.push_back(pool.Acquire(kMiB, ChunkKind::k_key));
  EXPECT_EQ(pool.MakeAhead(), 0u);
  EXPECT_EQ(source_.huge_maps, huge_maps) << "under pressure no more is taken than is touched";
  lent.push_back(pool.Acquire(kMiB, ChunkKind::k_key));
  EXPECT_EQ(pool.MakeAhead(), kSlabBytes) << "the pressure is over";
  EXPECT_EQ(source_.huge_maps, huge_maps + 1);
  ChunkPool::Drop(lent);
}

TEST_F(MakeAheadTest, AWishFromBeforeThePressureIsNotGranted) {
  ChunkPool pool(Options());
  const auto lent = AcquireMany(&pool, kMiB, 4);
  pool.OnMemoryPressure();
  EXPECT_EQ(pool.MakeAhead(), 0u);
  ChunkPool::Drop(lent);
}

TEST_F(MakeAheadTest, SmallPagesUnderPressureAreNotPopulatedEither) {
  ChunkPoolOptions options = Options();
  options.cold_start = {.huge_pages = false, .populate = true};
  ChunkPool pool(options);
  pool.OnMemoryPressure();
  auto lent = AcquireMany(&pool, kMiB, 2);
  EXPECT_EQ(source_.populated_bytes, 0u) << "one slab of the class";
  lent.push_back(pool.Acquire(kMiB, ChunkKind::k_key));
  EXPECT_EQ(source_.populated_bytes, kMiB) << "and the next as ever";
  ChunkPool::Drop(lent);
}

TEST_F(MakeAheadTest, APoolThatIsOffOrDoesNotCarveOrDoesNotWantItHasNothingMade) {
  TestSource apart(/*carves=*/false);
  ChunkPoolOptions without_slabs = Options();
  without_slabs.custom_source = &apart;
  ChunkPoolOptions unwanted = Options();
  unwanted.cold_start.ahead = false;
  for (const ChunkPoolOptions& options : {Options(0), Options(kMiB), without_slabs, unwanted}) {
    ChunkPool pool(options);
    const auto lent = AcquireMany(&pool, kMiB, 8);
    EXPECT_EQ(pool.MakeAhead(), 0u);
    EXPECT_EQ(Sum(pool.Stats().ahead_bytes), 0u);
    ChunkPool::Release(lent);
  }
  ChunkPool pool(Options());
  const Chunk oversize = pool.Acquire(64 * kMiB, ChunkKind::k_key);
  EXPECT_EQ(pool.MakeAhead(), 0u);
  ChunkPool::Release(oversize);
}

TEST_F(MakeAheadTest, WhereMemoryIsRefusedTheWriterGetsTheSameAnswerAndTheNextChunkAsksAgain) {
  ChunkPool pool(Options());
  auto lent = AcquireMany(&pool, kMiB, 4);
  source_.refuse_map = [](uint64_t) { return true; };
  EXPECT_EQ(pool.MakeAhead(), 0u);
  EXPECT_EQ(pool.Stats().refusals, 0u) << "nobody was refused";
  source_.refuse_map = nullptr;
  lent.push_back(pool.Acquire(kMiB, ChunkKind::k_key));
  EXPECT_EQ(pool.MakeAhead(), kSlabBytes);
  ChunkPool::Drop(lent);
}

// Where the source populates, it does so on a thread that is not the writer's.
class TwoThreadSource final : public TestSource {
 public:
  void Populate(void* ptr, size_t bytes) override {
    TestSource::Populate(ptr, bytes);
    if (bytes == kSlabBytes) populated_slabs++;
    populated_slabs.notify_all();
  }
  std::atomic<uint64_t> populated_slabs = 0;
};

TEST_F(MakeAheadTest, TheThreadOfThePoolsMakesThemWhileWritersTake) {
  TwoThreadSource source;
  ChunkPoolOptions options = OptionsWithThread();
  options.custom_source = &source;
  ChunkPool pool(options);
  const size_t rounds = TestScale(20, 500);
  std::vector<std::thread> writers;
  for (size_t writer = 0; writer < 3; writer++) {
    writers.emplace_back([&, writer] {
      for (size_t round = 0; round < rounds; round++) {
        std::vector<Chunk> lent = AcquireMany(&pool, writer == 0 ? 32 * 1024 : kMiB, writer == 0 ? 160 : 6);
        for (const Chunk& chunk : lent) chunk.data[chunk.bytes - 1] = static_cast<char>(writer);
        for (const Chunk& chunk : lent) EXPECT_EQ(chunk.data[chunk.bytes - 1], static_cast<char>(writer));
        round % 2 == 0 ? ChunkPool::Drop(lent) : ChunkPool::Release(lent);
        if (round % 5 == 0) pool.OnMemoryPressure();
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  ExpectIdentities(pool.Stats());

  // Two slabs, so that at least one is taken when there is no pressure any more.
  const auto lent = AcquireMany(&pool, kMiB, 70);
  source.populated_slabs.wait(0);
  EXPECT_EQ(CountThreads("strongbin-pool"), 1u);
  ChunkPool::Release(lent);
}

TEST_F(MakeAheadTest, AChildOfForkGetsAThreadOfItsOwn) {
  if (kThreadSanitizer) GTEST_SKIP() << "ThreadSanitizer lets no child of a process with threads start another";
  TwoThreadSource source;
  ChunkPoolOptions options = OptionsWithThread();
  options.custom_source = &source;
  ChunkPool pool(options);
  auto lent = AcquireMany(&pool, kMiB, 6);
  source.populated_slabs.wait(0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    source.populated_slabs = 0;
    for (size_t i = 0; i < 6; i++) lent.push_back(pool.Acquire(kMiB, ChunkKind::k_key));
    source.populated_slabs.wait(0);
    _exit(CountThreads("strongbin-pool") == 1 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  ChunkPool::Drop(lent);
}

}  // namespace
}  // namespace strongbin
