#include "strongbin/stats/watched_locks.h"

#include <array>
#include <cstddef>

#include "strongbin/stats/thread_cpu.h"

namespace strongbin {
namespace watched_locks_internal {

namespace {

constexpr auto kLockCount = static_cast<size_t>(WatchedLock::k_count);

struct Hold {
  uint64_t watch = 0;
  uint64_t start_ns = 0;
  uint64_t depth = 0;  // two locks of one name, one within the other, count as one hold
};
thread_local std::array<Hold, kLockCount> t_holds;

// Relaxed, here and below: maxima to look at.
std::array<std::atomic<uint64_t>, kLockCount> longest_ns{};

}  // namespace

std::atomic<uint64_t> watch{0};

void NoteLocked(uint64_t number, WatchedLock lock) {
  Hold& hold = t_holds[static_cast<size_t>(lock)];
  if (hold.watch != number) hold = {.watch = number};
  if (hold.depth++ == 0) hold.start_ns = ThreadCpuNs();
}

void NoteUnlocking(uint64_t number, WatchedLock lock) {
  Hold& hold = t_holds[static_cast<size_t>(lock)];
  if (hold.watch != number || hold.depth == 0 || --hold.depth != 0) return;
  const uint64_t held_ns = ThreadCpuNs() - hold.start_ns;
  std::atomic<uint64_t>& longest = longest_ns[static_cast<size_t>(lock)];
  for (uint64_t known = longest.load(std::memory_order_relaxed);
       held_ns > known && !longest.compare_exchange_weak(known, held_ns, std::memory_order_relaxed);) {
  }
}

}  // namespace watched_locks_internal

void StartWatchingLocks() {
  static uint64_t watches = 0;
  for (auto& longest : watched_locks_internal::longest_ns) longest.store(0, std::memory_order_relaxed);
  watched_locks_internal::watch.store(++watches, std::memory_order_relaxed);
}

void StopWatchingLocks() { watched_locks_internal::watch.store(0, std::memory_order_relaxed); }

uint64_t LongestHoldNs(WatchedLock lock) {
  return watched_locks_internal::longest_ns[static_cast<size_t>(lock)].load(std::memory_order_relaxed);
}

}  // namespace strongbin
