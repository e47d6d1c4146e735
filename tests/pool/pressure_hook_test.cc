// The hook of the process: who hangs on it, in which order, and what may happen while it is called.
#include "strongbin/pool/pressure_hook.h"

#include <atomic>
#include <barrier>
#include <latch>
#include <memory>
#include <optional>
#include <string>
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

// Before main and after it, when no pool has been made yet or all are gone.
struct EarlyAndLate {
  const size_t early_bytes = PressureHook::Process().OnMemoryPressure();
  PressureHook::Registration early = PressureHook::Process().Add([] { return size_t{0}; });
  ~EarlyAndLate() {
    PressureHook::Process().OnMemoryPressure();
    early.Reset();
    if (PressureHook::Process().OnMemoryPressure() != 0) _exit(9);
  }
} early_and_late;

TEST(PressureHookTest, WorksBeforeAnyPoolIsThere) { EXPECT_EQ(early_and_late.early_bytes, 0u); }

TEST(PressureHookTest, DropsEveryPoolOfTheProcessAndEveryCache) {
  ChunkPool first(PoolOptions(kMiB)), second(PoolOptions(kMiB));
  ChunkPool::Release(AcquireMany(&first, 4096, 10));
  ChunkPool::Release(AcquireMany(&second, 8192, 10));
  ChunkPool::Release(AcquireMany(&ChunkPool::Default(), 2048, 2));
  size_t cache_bytes = 1000;
  const auto cache = PressureHook::Process().Add([&] { return std::exchange(cache_bytes, 0); });
  const uint64_t calls = PressureHook::Process().call_count();
  const uint64_t bytes = PressureHook::Process().returned_bytes();
  EXPECT_EQ(PressureHook::Process().OnMemoryPressure(), 40960u + 81920u + 4096u + 1000u);
  EXPECT_EQ(PressureHook::Process().OnMemoryPressure(), 0u);
  EXPECT_EQ(PressureHook::Process().call_count() - calls, 2u);
  EXPECT_EQ(PressureHook::Process().returned_bytes() - bytes, 40960u + 81920u + 4096u + 1000u);
  for (const ChunkPool* pool : {&first, &second}) {
    EXPECT_EQ(Sum(pool->Stats().idle_bytes), 0u);
    EXPECT_EQ(pool->Stats().pressure_calls, 2u);
  }
}

TEST(PressureHookTest, CachesComeBeforePoolsInTheOrderTheyCame) {
  PressureHook hook;
  std::string order;
  const auto note = [&order](char name) {
    return [&order, name] {
      order += name;
      return size_t{1};
    };
  };
  auto p = hook.Add(note('p'), PressureHook::Turn::kPools);
  auto a = hook.Add(note('a')), b = hook.Add(note('b')), c = hook.Add(note('c'));
  EXPECT_EQ(hook.OnMemoryPressure(), 4u);
  EXPECT_EQ(order, "abcp");
  b.Reset();
  order.clear();
  EXPECT_EQ(hook.OnMemoryPressure(), 3u);
  EXPECT_EQ(order, "acp");
  a = std::move(c);  // ends a's, keeps c's
  c.Reset();
  order.clear();
  EXPECT_EQ(hook.OnMemoryPressure(), 2u);
  EXPECT_EQ(order, "cp");
}

TEST(PressureHookTest, WhatACacheGivesToThePoolLeavesWithIt) {
  ChunkPool pool(PoolOptions(kMiB));
  std::vector<Chunk> cached = AcquireMany(&pool, 4096, 10);
  const auto cache = PressureHook::Process().Add([&] {
    ChunkPool::Release(cached);
    cached.clear();
    return size_t{0};
  });
  EXPECT_EQ(PressureHook::Process().OnMemoryPressure(), 40960u);
  EXPECT_EQ(Sum(pool.Stats().idle_bytes), 0u);
}

TEST(PressureHookTest, FunctionsMayCallAddAndRemove) {
  PressureHook hook;
  std::optional<PressureHook::Registration> self, other, added;
  size_t inner_bytes = 1;
  int self_calls = 0, other_calls = 0, added_calls = 0;
  self.emplace(hook.Add([&] {
    self_calls++;
    inner_bytes = hook.OnMemoryPressure();
    other.reset();
    added.emplace(hook.Add([&] {
      added_calls++;
      return size_t{4};
    }));
    self.reset();  // while it runs
    return size_t{2};
  }));
  other.emplace(hook.Add([&] {
    other_calls++;
    return size_t{8};
  }));
  EXPECT_EQ(hook.OnMemoryPressure(), 2u);
  EXPECT_EQ(inner_bytes, 0u) << "from within itself it does nothing";
  EXPECT_EQ(other_calls, 0) << "taken off before its turn";
  EXPECT_EQ(added_calls, 0) << "came too late for this call";
  EXPECT_EQ(hook.OnMemoryPressure(), 4u);
  EXPECT_EQ(self_calls, 1);
}

TEST(PressureHookTest, ManyNewFunctionsInOneCallDoNotKeepItGoing) {
  PressureHook hook;
  std::vector<PressureHook::Registration> registrations;
  std::function<size_t()> breed = [&] {
    registrations.push_back(hook.Add(breed));
    return size_t{1};
  };
  registrations.push_back(hook.Add(breed));
  EXPECT_EQ(hook.OnMemoryPressure(), 1u);
  EXPECT_EQ(hook.OnMemoryPressure(), 2u);
  registrations.clear();
}

TEST(PressureHookTest, TheEndOfARegistrationWaitsForItsCallOnAnotherThread) {
  PressureHook hook;
  std::latch inside(1), go_on(1);
  std::atomic<bool> returned = false;
  auto cache = std::make_unique<int>(7);
  auto registration = hook.Add([&] {
    inside.count_down();
    go_on.wait();
    const size_t bytes = static_cast<size_t>(*cache);  // is still there
    returned = true;
    return bytes;
  });
  std::thread caller([&] { EXPECT_EQ(hook.OnMemoryPressure(), 7u); });
  inside.wait();
  EXPECT_EQ(hook.OnMemoryPressure(), 0u) << "another thread is at it";
  std::thread ender([&] {
    registration.Reset();
    EXPECT_TRUE(returned);
    cache.reset();
  });
  go_on.count_down();
  ender.join();
  caller.join();
}

TEST(PressureHookTest, CachesComeAndGoWhileManyThreadsCall) {
  constexpr size_t kCallers = 8;
  const size_t rounds = TestScale(200, 5'000);
  PressureHook hook;
  std::atomic<bool> stop = false;
  std::vector<std::thread> owners;
  for (int t = 0; t < 3; t++) {
    owners.emplace_back([&] {
      while (!stop) {
        auto cache = std::make_unique<size_t>(1);
        auto registration = hook.Add([data = cache.get()] { return *data; });
        std::this_thread::yield();
        registration.Reset();
        *cache = 0;  // nobody looks any more
      }
    });
  }
  // One drop per wave: whoever comes meanwhile is told 0.
  std::atomic<uint64_t> waves_bytes = 0;
  std::atomic<uint64_t> full = 0;
  const auto whole = hook.Add([&] {
    full++;
    return size_t{1000};
  });
  std::barrier wave(kCallers);
  std::vector<std::thread> callers;
  for (size_t t = 0; t < kCallers; t++) {
    callers.emplace_back([&] {
      for (size_t round = 0; round < rounds; round++) {
        wave.arrive_and_wait();
        waves_bytes += hook.OnMemoryPressure();
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  stop = true;
  for (std::thread& owner : owners) owner.join();
  EXPECT_EQ(hook.call_count(), kCallers * rounds);
  EXPECT_EQ(hook.returned_bytes(), waves_bytes);
  EXPECT_GE(full, rounds);
  EXPECT_LE(full, kCallers * rounds);
}

TEST(PressureHookTest, PoolsEndWhileTheHookRuns) {
  std::atomic<bool> stop = false;
  std::thread caller([&] {
    while (!stop) PressureHook::Process().OnMemoryPressure();
  });
  for (size_t round = 0; round < TestScale(300, 5'000); round++) {
    ChunkPool pool(PoolOptions(kMiB));
    ChunkPool::Release(AcquireMany(&pool, 4096, 4));
    const Chunk chunk = pool.Acquire(8192, ChunkKind::k_key);
    ChunkPool::Release(chunk);
    ExpectIdentities(pool.Stats());
  }
  stop = true;
  caller.join();
}

TEST(PressureHookTest, AChildMayCallItWhateverTheParentWasDoing) {
  if (kThreadSanitizer) GTEST_SKIP() << "ThreadSanitizer does not follow a fork of many threads";
  PressureHook hook;
  std::latch inside(1), go_on(1);
  const auto slow = hook.Add([&] {
    inside.count_down();
    go_on.wait();
    return size_t{1};
  });
  std::thread caller([&] { hook.OnMemoryPressure(); });
  inside.wait();
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    auto quick = hook.Add([] { return size_t{5}; });
    go_on.count_down();  // of the child's own copy
    if (hook.OnMemoryPressure() != 6) _exit(2);
    quick.Reset();
    _exit(0);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  go_on.count_down();
  caller.join();
}

}  // namespace
}  // namespace strongbin
