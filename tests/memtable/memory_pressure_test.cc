// The pressure hook above the pool: scratch of sorts, tables that come and go with it, stores with caches of their own.
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "strongbin/memtable/append_only_memtable.h"
#include "strongbin/memtable/sort_scratch.h"
#include "strongbin/pool/pressure_hook.h"
#include "strongbin/tests/memtable/fixtures.h"
#include "strongbin/tests/memtable/on_threads.h"
#include "strongbin/tests/memtable/test_keys.h"

namespace strongbin {
namespace {

size_t Relieve() { return PressureHook::Process().OnMemoryPressure(); }

void Fill(AppendOnlyMemtable* table, uint64_t count, Sequence first_sequence = 1) {
  for (uint64_t i = 0; i < count; ++i) {
    ASSERT_TRUE(table->Put(NumberKey(Scramble(i)), first_sequence + i, std::string(100, 'v')).ok());
  }
}

TEST(MemoryPressureTest, ScratchKeptBySortsIsGivenBack) {
  Relieve();
  static_cast<void>(SortScratch::Take(SortScratch::kMaxKeptBytes));
  EXPECT_EQ(Relieve(), SortScratch::kMaxKeptBytes);
  EXPECT_EQ(Relieve(), 0u);
  // What is in use stays with its sort, and may be kept afterwards.
  {
    const SortScratch used = SortScratch::Take(1000);
    EXPECT_EQ(Relieve(), 0u);
    static_cast<char*>(used.data())[used.bytes() - 1] = 'x';
  }
  EXPECT_GE(Relieve(), 1000u);
}

TEST(MemoryPressureTest, ALongSortLeavesScratchThatTheHookKnowsOf) {
  ChunkPool pool;
  AppendOnlyMemtable table({.pool = &pool});
  Fill(&table, 100'000);
  Relieve();
  MemtableIterator iterator = table.NewIterator();
  iterator.SeekToFirst();
  EXPECT_TRUE(iterator.Valid());
  const uint64_t idle_bytes = pool.OnMemoryPressure();
  EXPECT_GE(Relieve(), 100'000 * 16u) << "beside the pool's " << idle_bytes;
}

TEST(MemoryPressureTest, ScratchIsTakenAndDroppedByManyThreads) {
  std::atomic<bool> stop = false;
  std::thread caller([&] {
    while (!stop) Relieve();
  });
  OnThreads(3, [](uint64_t thread) {
    for (uint64_t round = 0; round < Scaled(2'000, 300); ++round) {
      const SortScratch scratch = SortScratch::Take(1 + (round + thread) % 3 * (size_t{2} << 20));
      static_cast<char*>(scratch.data())[scratch.bytes() - 1] = static_cast<char>(round);
    }
  });
  stop = true;
  caller.join();
}

// B35 (b): the store's own drop function ends the last table.
TEST(MemoryPressureTest, AStoresCacheMayDestroyTheLastTable) {
  ChunkPool pool;
  auto table = std::make_unique<AppendOnlyMemtable>(MemtableOptions{.pool = &pool});
  Fill(table.get(), 10'000);
  const size_t held_bytes = table->MemoryUsage();
  Relieve();
  size_t inner_bytes = 1;
  const auto cache = PressureHook::Process().Add([&] {
    inner_bytes = Relieve();
    table.reset();
    return size_t{0};  // its chunks go to the pool, which tells of them
  });
  EXPECT_EQ(Relieve(), held_bytes);
  EXPECT_EQ(inner_bytes, 0u);
  EXPECT_EQ(pool.Stats().returned_bytes, pool.Stats().fresh_bytes);
  // B34: after the last table there is nothing to do, however often it is called.
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Relieve(), 0u);
}

// B35 (d) and B34: while other threads make, fill and destroy tables; warm capacity comes back.
TEST(MemoryPressureTest, TablesEndOnOtherThreadsWhileTheHookRuns) {
  ChunkPool pool;
  std::atomic<bool> stop = false;
  std::vector<std::thread> callers;
  std::atomic<uint64_t> returned_bytes = 0;
  for (int i = 0; i < 2; ++i) {
    callers.emplace_back([&] {
      while (!stop) returned_bytes += Relieve();
    });
  }
  OnThreads(3, [&](uint64_t thread) {
    for (uint64_t round = 0; round < Scaled(60, 15); ++round) {
      auto table = std::make_unique<AppendOnlyMemtable>(MemtableOptions{.pool = &pool});
      Fill(table.get(), 500 + 100 * thread);
      MemtableIterator iterator = table->NewIterator();
      iterator.SeekToFirst();
      if (round % 2 == 0) table.reset();
      uint64_t seen = 0;
      for (; iterator.Valid(); iterator.Next()) ++seen;
      EXPECT_EQ(seen, 500 + 100 * thread);
    }
  });
  stop = true;
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(LentBytes(pool), 0u);
  Relieve();
  EXPECT_EQ(IdleBytes(pool), 0u);
  AppendOnlyMemtable table({.pool = &pool});
  Fill(&table, 1'000);
  ASSERT_TRUE(table.ResetWarm().ok());
  EXPECT_GT(IdleBytes(pool), 0u);
}

// B28: tables of two pools, made on one thread and destroyed on another, while both pools are dropped.
TEST(MemoryPressureTest, ChunksOfTablesThatWanderBetweenThreadsGoHome) {
  ChunkPool pools[2];
  constexpr uint64_t kThreads = 4;
  for (uint64_t round = 0; round < Scaled(20, 5); ++round) {
    std::unique_ptr<AppendOnlyMemtable> tables[kThreads];
    uint64_t held_bytes[2] = {};
    OnThreads(kThreads, [&](uint64_t thread) {
      tables[thread] = std::make_unique<AppendOnlyMemtable>(MemtableOptions{.pool = &pools[thread % 2]});
      Fill(tables[thread].get(), 1'000 * (thread + 1));
    });
    for (uint64_t i = 0; i < kThreads; ++i) held_bytes[i % 2] += tables[i]->MemoryUsage();
    for (int i = 0; i < 2; ++i) {
      ASSERT_EQ(LentBytes(pools[i]), held_bytes[i]);
      pools[i].OnMemoryPressure();
    }
    OnThreads(kThreads, [&](uint64_t thread) {
      auto& table = tables[(thread + 1) % kThreads];
      if (round % 2 == 0) {
        EXPECT_TRUE(table->ReleaseWarm().ok());
      }
      table.reset();
    });
    for (int i = 0; i < 2; ++i) {
      ASSERT_EQ(LentBytes(pools[i]), 0u);
      ASSERT_EQ(IdleBytes(pools[i]), held_bytes[i]) << "each chunk in the pool that made it";
    }
  }
}

}  // namespace
}  // namespace strongbin
