// What is told of how long locks were held.
#include "strongbin/stats/watched_locks.h"

#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "strongbin/memtable/append_only_memtable.h"
#include "strongbin/memtable/writer_lock.h"
#include "strongbin/stats/thread_cpu.h"

namespace strongbin {
namespace {

constexpr uint64_t kLongNs = 20'000'000;

void Work(uint64_t cpu_ns) {
  for (const uint64_t end_ns = ThreadCpuNs() + cpu_ns; ThreadCpuNs() < end_ns;) {
  }
}

class WatchedLocksTest : public testing::Test {
 protected:
  ~WatchedLocksTest() override { StopWatchingLocks(); }

  WatchedMutex<WatchedLock::k_pool> mutex_;
};

TEST_F(WatchedLocksTest, TheLongestHoldIsTold) {
  StartWatchingLocks();
  for (const uint64_t cpu_ns : {uint64_t{0}, kLongNs, kLongNs / 2}) {
    const std::lock_guard lock(mutex_);
    Work(cpu_ns);
  }
  EXPECT_GE(LongestHoldNs(WatchedLock::k_pool), kLongNs);
  EXPECT_EQ(LongestHoldNs(WatchedLock::k_writers), 0u);
  StartWatchingLocks();
  EXPECT_EQ(LongestHoldNs(WatchedLock::k_pool), 0u) << "each watch has its own";
}

TEST_F(WatchedLocksTest, WhatIsDoneBeforeAndBehindALockIsNotPartOfIt) {
  StartWatchingLocks();
  std::unique_lock lock(mutex_, std::try_to_lock);
  lock.unlock();
  Work(kLongNs);
  lock.lock();
  lock.unlock();
  EXPECT_LT(LongestHoldNs(WatchedLock::k_pool), kLongNs);
}

TEST_F(WatchedLocksTest, AHoldThatNobodySawBeginOrEndIsNotTold) {
  {
    const std::lock_guard lock(mutex_);
    StartWatchingLocks();
    Work(kLongNs);
  }
  EXPECT_EQ(LongestHoldNs(WatchedLock::k_pool), 0u);
  {
    const std::lock_guard lock(mutex_);
    Work(kLongNs);
    StopWatchingLocks();
  }
  StartWatchingLocks();
  { const std::lock_guard lock(mutex_); }
  EXPECT_LT(LongestHoldNs(WatchedLock::k_pool), kLongNs);
}

TEST_F(WatchedLocksTest, AHoldWithinAHoldOfTheSameNameIsOne) {
  WatchedMutex<WatchedLock::k_pool> inner;
  StartWatchingLocks();
  {
    const std::lock_guard lock(mutex_);
    Work(kLongNs / 2);
    { const std::lock_guard inner_lock(inner); }
    Work(kLongNs / 2);
  }
  EXPECT_GE(LongestHoldNs(WatchedLock::k_pool), kLongNs);
}

TEST_F(WatchedLocksTest, AWriterLockIsTimedWhereItIsOne) {
  WriterLock off(/*enabled=*/false), on(/*enabled=*/true);
  StartWatchingLocks();
  {
    const std::lock_guard lock(off);
    Work(kLongNs);
  }
  EXPECT_EQ(LongestHoldNs(WatchedLock::k_writers), 0u);
  {
    const std::lock_guard lock(on);
    Work(kLongNs);
  }
  EXPECT_GE(LongestHoldNs(WatchedLock::k_writers), kLongNs);
}

TEST_F(WatchedLocksTest, ATableHoldsAllOfThemNowAndThen) {
  ChunkPool pool;
  AppendOnlyMemtable table({.pool = &pool});
  StartWatchingLocks();
  std::thread other([&] {
    for (Sequence sequence = 1000; sequence > 900; --sequence) {
      ASSERT_TRUE(table.Put(std::to_string(sequence), sequence, "value").ok());
    }
  });
  other.join();
  MemtableIterator iterator = table.NewIterator();
  iterator.SeekToFirst();
  EXPECT_TRUE(iterator.Valid());
#define STRONGBIN_WATCHED_LOCK(name) EXPECT_GT(LongestHoldNs(WatchedLock::k_##name), 0u) << #name;
  STRONGBIN_WATCHED_LOCKS(STRONGBIN_WATCHED_LOCK)
#undef STRONGBIN_WATCHED_LOCK
}

}  // namespace
}  // namespace strongbin
