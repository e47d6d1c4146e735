// What the pool does when the operating system refuses memory.
#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/pool/chunk_pool.h"
#include "strongbin/tests/pool/pool_test_util.h"
#include "strongbin/tests/test_scale.h"

namespace strongbin {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

TEST(RefusalTest, IdleChunksGiveWayBeforeTheCallerIsRefused) {
  TestSource source;
  std::vector<PoolEvent> events;
  ChunkPoolOptions options = PoolOptions(64 * kMiB, &source);
  options.on_event = [&](const PoolEvent& event) { events.push_back(event); };
  ChunkPool pool(options);
  ChunkPool::Release(AcquireMany(&pool, 64 * 1024, 96));  // three slabs
  source.refuse_map = [&](uint64_t) { return source.mapped_bytes - source.unmapped_bytes >= 3 * kSlabBytes; };
  const Chunk chunk = pool.Acquire(kMiB, ChunkKind::k_key);
  EXPECT_TRUE(chunk);
  EXPECT_EQ(pool.Stats().evictions[5], 96u);
  EXPECT_EQ(pool.Stats().refusals, 0u);
  EXPECT_TRUE(events.empty());
  ExpectIdentities(pool.Stats());
  ChunkPool::Release(chunk);
}

TEST(RefusalTest, TheCallbackIsAskedOnceAndThenTheCallerIsRefused) {
  TestSource source;
  int asked = 0;
  ChunkPoolOptions options = PoolOptions(kMiB, &source);
  options.on_event = [&](const PoolEvent& event) { asked += event.type == PoolEvent::Type::kRefused; };
  ChunkPool pool(options);
  source.refuse_map = [](uint64_t) { return true; };
  EXPECT_FALSE(pool.Acquire(1, ChunkKind::k_key));
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(source.map_calls, 2u);
  EXPECT_EQ(pool.Stats().refusals, 1u);
  EXPECT_EQ(Sum(pool.Stats().gets), 0u);
  source.refuse_map = nullptr;
  const Chunk chunk = pool.Acquire(1, ChunkKind::k_key);
  EXPECT_TRUE(chunk) << "a refusal is not for ever";
  ChunkPool::Release(chunk);
}

TEST(RefusalTest, ACallbackThatIsRefusedItselfIsNotCalledAgain) {
  TestSource source;
  ChunkPool* self = nullptr;
  int asked = 0;
  ChunkPoolOptions options = PoolOptions(kMiB, &source);
  options.on_event = [&](const PoolEvent&) {
    asked++;
    EXPECT_FALSE(self->Acquire(1, ChunkKind::k_key));
  };
  ChunkPool pool(options);
  self = &pool;
  source.refuse_map = [](uint64_t) { return true; };
  EXPECT_FALSE(pool.Acquire(1, ChunkKind::k_key));
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(pool.Stats().refusals, 2u);
}

TEST(RefusalTest, RoomThatIsThereIsUsedWithoutAskingTheSystem) {
  TestSource source;
  ChunkPool pool(PoolOptions(0, &source));
  const Chunk first = pool.Acquire(2048, ChunkKind::k_key);
  source.refuse_map = [](uint64_t) { return true; };
  auto rest = AcquireMany(&pool, 2048, 1023);
  EXPECT_FALSE(pool.Acquire(2048, ChunkKind::k_key));
  rest.push_back(first);
  ChunkPool::Release(rest);
}

// Every kind of call, from two threads.
void RunWorkload(ChunkPool* pool, std::atomic<uint64_t>* refused) {
  const auto work = [&](size_t seed) {
    std::vector<Chunk> held;
    for (size_t i = 0; i < 120; i++) {
      const size_t bytes = (i + seed) % 11 == 10 ? 2 * kMiB : ClassBytes((i * 7 + seed) % kSizeClassCount);
      const Chunk chunk = pool->Acquire(bytes, ChunkKind::k_key);
      if (!chunk) {
        (*refused)++;
      } else {
        chunk.data[chunk.bytes - 1] = 'x';
        held.push_back(chunk);
      }
      if (i % 13 == 12) {
        i % 2 == 0 ? ChunkPool::Drop(held) : ChunkPool::Release(held);
        held.clear();
      }
      if (i % 20 == 19) pool->OnMemoryPressure();
      if (i % 8 == 7) ExpectIdentities(pool->Stats());
    }
    ChunkPool::Release(held);
  };
  std::thread other([&] { work(3); });
  work(0);
  other.join();
}

class RefusalAtTest : public testing::TestWithParam<bool> {};

TEST_P(RefusalAtTest, TheNthRequestFailsAndEverythingStaysSound) {
  const bool carves = GetParam();
  const uint64_t stride = TestScale(3, 1);
  uint64_t reached = 0;
  for (uint64_t fail_at = 1; fail_at <= 200 && !HasFailure(); fail_at += stride) {
    SCOPED_TRACE(fail_at);
    TestSource source(carves);
    source.refuse_map = [=](uint64_t call) { return call == fail_at; };
    ChunkPool pool(PoolOptions(256 * 1024, &source));
    std::atomic<uint64_t> refused = 0;
    RunWorkload(&pool, &refused);
    EXPECT_LE(refused, 1u);
    EXPECT_EQ(pool.Stats().refusals, refused);
    EXPECT_EQ(Sum(pool.Stats().lent_bytes), 0u);
    ExpectIdentities(pool.Stats());
    if (source.map_calls < fail_at) break;  // fewer mappings were asked for: every one of them has had its turn
    reached = fail_at;
    source.refuse_map = nullptr;
    const Chunk chunk = pool.Acquire(kMiB, ChunkKind::k_key);
    EXPECT_TRUE(chunk) << "the pool works after a refusal";
    ChunkPool::Drop(chunk);
  }
  EXPECT_GE(reached, carves ? 20u : 100u);
}

INSTANTIATE_TEST_SUITE_P(Sources, RefusalAtTest, testing::Values(true, false),
                         [](const auto& param_info) { return param_info.param ? "Slabs" : "SingleChunks"; });

TEST(RefusalTest, ASystemThatRefusesFromSomePointOnLeavesWhatWasLentUsable) {
  for (uint64_t fail_from = 1; fail_from <= 10; fail_from++) {
    SCOPED_TRACE(fail_from);
    TestSource source;
    source.refuse_map = [=](uint64_t call) { return call >= fail_from; };
    ChunkPool pool(PoolOptions(256 * 1024, &source));
    std::atomic<uint64_t> refused = 0;
    RunWorkload(&pool, &refused);
    EXPECT_GT(refused, 0u);
    EXPECT_EQ(pool.Stats().refusals, refused);
    EXPECT_EQ(Sum(pool.Stats().lent_bytes), 0u);
  }
}

}  // namespace
}  // namespace strongbin
