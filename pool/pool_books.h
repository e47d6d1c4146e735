// The statistics of a pool, kept so that their identities hold after every entry.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "strongbin/pool/chunk_pool.h"
#include "strongbin/pool/size_class.h"
#include "strongbin/stats/metrics.h"

namespace strongbin {

// Every move of bytes between the states of memory, one method each:
//
//   operating system or slab free --Miss--> lent;  lent --Kept--> idle;  idle --Hit--> lent
//   lent --FreedFromLent--> slab free;  idle --FreedFromIdle--> slab free;  slab free --Returned--> operating system
//
// The other methods count events and move nothing.
//
// Thread safety: none; guarded by the pool's mutex.
// Invariant after every call, per slot and in sum: gets = hits + misses,
// fresh_bytes - returned_bytes = idle_bytes + lent_bytes + slab_free_bytes.
class PoolBooks {
 public:
  explicit PoolBooks(size_t cap_bytes) { SetCap(cap_bytes); }

  void SetCap(size_t cap_bytes) { stats_.cap_bytes = cap_bytes; }

  const PoolStats& stats() const { return stats_; }
  uint64_t idle_bytes() const { return idle_bytes_; }
  uint64_t lent_bytes() const { return lent_bytes_; }

  void Hit(size_t slot, ChunkKind kind, size_t bytes) {
    stats_.hits[slot]++;
    TakeFromIdle(slot, bytes);
    Lend(slot, kind, bytes);
  }

  // A chunk was carved; `was_resident` tells whether its room had never left.
  void Miss(size_t slot, ChunkKind kind, size_t bytes, bool was_resident) {
    stats_.misses[slot]++;
    stats_.fresh_chunks[static_cast<size_t>(kind)]++;
    stats_.fresh_chunk_bytes[static_cast<size_t>(kind)] += bytes;
    if (slot == kOversizeSlot) {
      stats_.oversize_blocks++;
      stats_.oversize_bytes += bytes;
    }
    if (was_resident) {
      assert(stats_.slab_free_bytes[slot] >= bytes);
      stats_.slab_free_bytes[slot] -= bytes;
    } else {
      stats_.fresh_bytes[slot] += bytes;
    }
    Lend(slot, kind, bytes);
  }

  void Kept(size_t slot, size_t bytes) {
    TakeFromLent(slot, bytes);
    stats_.idle_bytes[slot] += bytes;
    idle_bytes_ += bytes;
    stats_.class_idle_bytes_max[slot] = std::max(stats_.class_idle_bytes_max[slot], stats_.idle_bytes[slot]);
    stats_.idle_bytes_max = std::max(stats_.idle_bytes_max, idle_bytes_);
  }

  void FreedFromLent(size_t slot, size_t bytes) {
    TakeFromLent(slot, bytes);
    stats_.slab_free_bytes[slot] += bytes;
  }

  void FreedFromIdle(size_t slot, size_t bytes) {
    TakeFromIdle(slot, bytes);
    stats_.slab_free_bytes[slot] += bytes;
  }

  void Returned(size_t slot, size_t bytes) {
    assert(stats_.slab_free_bytes[slot] >= bytes);
    stats_.slab_free_bytes[slot] -= bytes;
    stats_.returned_bytes[slot] += bytes;
  }

  void BroughtBack(size_t slot) { stats_.puts[slot]++; }

  void Dropped(size_t slot, size_t bytes) {
    stats_.drops[slot]++;
    stats_.drop_bytes[slot] += bytes;
  }

  void AdmissionDropped(size_t slot, size_t bytes) {
    stats_.admission_drops[slot]++;
    stats_.admission_drop_bytes[slot] += bytes;
  }

  void Evicted(size_t slot, size_t bytes) {
    stats_.evictions[slot]++;
    stats_.eviction_bytes[slot] += bytes;
  }

  void Decayed(size_t slot, size_t bytes) {
    stats_.decay_drops[slot]++;
    stats_.decay_drop_bytes[slot] += bytes;
  }

  void Refused() { stats_.refusals++; }
  void PressureCalled() { stats_.pressure_calls++; }
  void PressureDropped(size_t bytes) { stats_.pressure_drop_bytes += bytes; }
  void UnusedDropped(size_t bytes) {
    stats_.unused_calls++;
    stats_.unused_drop_bytes += bytes;
  }

 private:
  void Lend(size_t slot, ChunkKind kind, size_t bytes) {
    stats_.gets[slot]++;
    stats_.kind_gets[static_cast<size_t>(kind)]++;
    stats_.lent_bytes[slot] += bytes;
    lent_bytes_ += bytes;
    stats_.class_lent_bytes_max[slot] = std::max(stats_.class_lent_bytes_max[slot], stats_.lent_bytes[slot]);
    stats_.lent_bytes_max = std::max(stats_.lent_bytes_max, lent_bytes_);
  }

  void TakeFromIdle(size_t slot, size_t bytes) {
    assert(stats_.idle_bytes[slot] >= bytes);
    stats_.idle_bytes[slot] -= bytes;
    idle_bytes_ -= bytes;
  }

  void TakeFromLent(size_t slot, size_t bytes) {
    assert(stats_.lent_bytes[slot] >= bytes);
    stats_.lent_bytes[slot] -= bytes;
    lent_bytes_ -= bytes;
  }

  PoolStats stats_;
  uint64_t idle_bytes_ = 0;  // sums over all slots
  uint64_t lent_bytes_ = 0;
};

}  // namespace strongbin
