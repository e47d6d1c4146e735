// The part of a pool that lets idle chunks decay.
#include <algorithm>

#include "strongbin/pool/chunk_pool_impl.h"

namespace strongbin {

bool ChunkPool::Impl::SetDecayMs(uint64_t decay_ms) {
  constexpr uint64_t kNsPerMs = 1'000'000;
  constexpr uint64_t kMostNs = UINT64_MAX >> 2;  // sums of times stay below the largest number
  const uint64_t decay_ns = std::min(decay_ms, kMostNs / kNsPerMs) * kNsPerMs;
  const uint64_t now_ns = NowNs();
  uint64_t due_ns = 0;
  {
    const std::lock_guard lock(mutex_);
    decay_marks_.Restart(decay_ns, now_ns);
    decays_.store(decay_ns > 0, std::memory_order_relaxed);
    due_ns = decay_marks_.NextExpiry(now_ns);
  }
  // Switched off: the timer learns of it when it calls next.
  if (clock_ns_ || decay_ns == 0) return true;
  knows_timer_.store(true, std::memory_order_relaxed);
  return PoolTimer::Get().Serve(this, due_ns);
}

size_t ChunkPool::Impl::DropDecayed() {
  const uint64_t now_ns = NowNs();
  GiveBackQueue queue;
  Lock lock(mutex_);
  const uint64_t limit = decay_marks_.TakeExpired(now_ns, tick_);
  for (size_t taken = 1;; taken++) {
    ChunkRecord* record = LongestIdle(/*except_slot=*/kOversizeSlot, /*before_tick=*/limit + 1);
    if (record == nullptr) break;
    books_.Decayed(record->slab->slot(), record->slab->chunk_bytes());
    FreeIdle(record);
    Enqueue(record->slab, &queue);
    if (taken % kChunksPerLock == 0) {
      lock.unlock();
      lock.lock();
    }
  }
  return GiveBackAll(&queue, &lock);
}

uint64_t ChunkPool::Impl::OnTimer() {
  MakeAhead();
  if (!decays_.load(std::memory_order_relaxed)) return PoolTimer::kNever;
  DropDecayed();
  const uint64_t now_ns = NowNs();
  const std::lock_guard lock(mutex_);
  return decay_marks_.decay_ns() == 0 ? PoolTimer::kNever : decay_marks_.NextExpiry(now_ns);
}

}  // namespace strongbin
