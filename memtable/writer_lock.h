// The lock that writers of one table take.
#pragma once

#include <atomic>
#include <sched.h>

#include "strongbin/stats/test_points.h"
#include "strongbin/stats/watched_locks.h"

namespace strongbin {

// A test-and-set lock for sections of some ten to some thousand nanoseconds.
//
// Thread safety: lock and unlock from any thread; not recursive, not fair. Owns nothing and cannot fail.
// Cost: one locked instruction and one plain store when free, where a mutex takes two locked instructions; a waiter
// spins shortly and then yields, so that a descheduled owner gets its core back. Switched off (one writer at a time by
// the caller's promise) both calls are a predictable branch.
class WriterLock {
 public:
  explicit WriterLock(bool enabled) : enabled_(enabled) {}
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;

  void lock() {
    if (!enabled_) return;
    YieldPoint(YieldAt::k_before_writer_lock);
    // Acquire: what the last owner wrote before its release is visible to us.
    while (held_.exchange(true, std::memory_order_acquire)) WaitUntilFree();
    NoteLocked(WatchedLock::k_writers);
  }
  void unlock() {
    NoteUnlocking(WatchedLock::k_writers);
    YieldPoint(YieldAt::k_before_writer_unlock);
    // Release: the next owner sees all that we wrote.
    if (enabled_) held_.store(false, std::memory_order_release);
  }

 private:
  void WaitUntilFree() const {
    constexpr int kSpinCount = 64;
    // Relaxed: only a hint when to try the exchange again.
    for (int spin = 0; held_.load(std::memory_order_relaxed); ++spin) {
      spin < kSpinCount ? Pause() : static_cast<void>(sched_yield());
    }
  }
  // Leaves the core to its other thread, which may be the owner's, for some cycles.
  static void Pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb");
#endif
  }

  const bool enabled_;
  std::atomic<bool> held_{false};
};

}  // namespace strongbin
