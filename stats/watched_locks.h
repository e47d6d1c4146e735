// How long locks are held, exactly. Only in builds with STRONGBIN_TEST_POINTS; in all others nothing of this is left.
#pragma once

#include <cstdint>
#include <mutex>

#ifdef STRONGBIN_TEST_POINTS
#include <atomic>
#endif

namespace strongbin {

// Those that a write or an ordered read may wait for.
#define STRONGBIN_WATCHED_LOCKS(X)                        \
  X(writers) /* of one table                           */ \
  X(order)   /* of one table: held while order is made */ \
  X(run_set) /* of one table                           */ \
  X(pool)

enum class WatchedLock : uint8_t {
#define STRONGBIN_WATCHED_LOCK(name) k_##name,
  STRONGBIN_WATCHED_LOCKS(STRONGBIN_WATCHED_LOCK)
#undef STRONGBIN_WATCHED_LOCK
      k_count,
};

#ifndef STRONGBIN_TEST_POINTS

constexpr void NoteLocked(WatchedLock) {}
constexpr void NoteUnlocking(WatchedLock) {}

template <WatchedLock>
using WatchedMutex = std::mutex;

#else

namespace watched_locks_internal {

extern std::atomic<uint64_t> watch;  // its number, 0 while there is none
void NoteLocked(uint64_t number, WatchedLock lock);
void NoteUnlocking(uint64_t number, WatchedLock lock);

}  // namespace watched_locks_internal

// Relaxed: a hold at whose beginning or end nobody watched is not counted, and nothing must be ordered by it.
inline void NoteLocked(WatchedLock lock) {
  const uint64_t number = watched_locks_internal::watch.load(std::memory_order_relaxed);
  if (number != 0) [[unlikely]]
    watched_locks_internal::NoteLocked(number, lock);
}
inline void NoteUnlocking(WatchedLock lock) {
  const uint64_t number = watched_locks_internal::watch.load(std::memory_order_relaxed);
  if (number != 0) [[unlikely]]
    watched_locks_internal::NoteUnlocking(number, lock);
}

// A std::mutex that is watched by whoever locks it as what it is.
template <WatchedLock kLock>
class WatchedMutex : public std::mutex {
 public:
  void lock() {
    std::mutex::lock();
    NoteLocked(kLock);
  }
  bool try_lock() {
    const bool locked = std::mutex::try_lock();
    if (locked) NoteLocked(kLock);
    return locked;
  }
  void unlock() {
    NoteUnlocking(kLock);
    std::mutex::unlock();
  }
};

// From now on holds are timed: two calls of the clock each. One thread at a time.
void StartWatchingLocks();
void StopWatchingLocks();
// The longest hold since the last start, by the processor time of the thread that held it.
uint64_t LongestHoldNs(WatchedLock lock);

#endif

}  // namespace strongbin
