// The statistics of a pool, kept so that their identities hold after every entry.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "strongbin/pool/chunk_pool.h"
#include "strongbin/pool/size_class.h"
#include "strongbin/stats/snapshot.h"
#include "strongbin/stats/stats_page.h"
#include "strongbin/stats/test_points.h"

namespace strongbin {

// The numbers are private at first. Once this process has a statistics page, the next entry moves them there, and they
// live in the page from then on; where the page has no slot left they stay private.
//
// Every move of bytes between the states of memory, one method each:
//
//   operating system or slab free --Miss--> lent;  lent --Kept--> idle;  idle --Hit--> lent
//   operating system --MadeAhead--> slab free
//   lent --FreedFromLent--> slab free;  idle --FreedFromIdle--> slab free;  slab free --Returned--> operating system
//
// The other methods count events and move nothing.
//
// Thread safety: none; guarded by the pool's mutex.
// Invariant after every call, per slot and in sum: gets = hits + misses,
// fresh_bytes - returned_bytes = idle_bytes + lent_bytes + slab_free_bytes.
class PoolBooks {
 public:
  PoolBooks(size_t cap_bytes, std::string_view name) : name_(name) { SetCap(cap_bytes); }
  ~PoolBooks() {
    if (page_ != nullptr) stats_internal::LeavePoolSlot(page_, slot_);
  }
  PoolBooks(const PoolBooks&) = delete;
  PoolBooks& operator=(const PoolBooks&) = delete;

  // Moves to the page of this process, if there is one and the numbers are not in it yet.
  void FollowPage() {
    stats_internal::PageLayout* page = stats_internal::CurrentPage();
    if (page != nullptr && page != page_) [[unlikely]]
      MoveTo(page);
  }

  void SetCap(size_t cap_bytes) {
    FollowPage();
    cells_->cap_bytes.Set(cap_bytes);
  }

  PoolStats stats() const { return Snapshot(*cells_); }
  uint64_t idle_bytes() const { return idle_bytes_; }
  uint64_t lent_bytes() const { return lent_bytes_; }
  uint64_t lent_bytes(size_t slot) const { return cells_->lent_bytes[slot].Load(); }
  uint64_t slab_free_bytes(size_t slot) const { return cells_->slab_free_bytes[slot].Load(); }

  void Hit(size_t slot, ChunkKind kind, size_t bytes) {
    cells_->hits[slot].Add(1);
    TakeFromIdle(slot, bytes);
    Lend(slot, kind, bytes);
  }

  // A chunk was carved; `was_resident` tells whether its room had never left.
  void Miss(size_t slot, ChunkKind kind, size_t bytes, bool was_resident) {
    cells_->misses[slot].Add(1);
    cells_->fresh_chunks[static_cast<size_t>(kind)].Add(1);
    cells_->fresh_chunk_bytes[static_cast<size_t>(kind)].Add(bytes);
    if (slot == kOversizeSlot) {
      cells_->oversize_blocks.Add(1);
      cells_->oversize_bytes.Add(bytes);
    }
    if (was_resident) {
      assert(cells_->slab_free_bytes[slot].Load() >= bytes);
      cells_->slab_free_bytes[slot].Sub(bytes);
    } else {
      cells_->fresh_bytes[slot].Add(bytes);
    }
    Lend(slot, kind, bytes);
  }

  void MadeAhead(size_t slot, size_t bytes) {
    FollowPage();
    cells_->ahead_bytes[slot].Add(bytes);
    cells_->fresh_bytes[slot].Add(bytes);
    cells_->slab_free_bytes[slot].Add(bytes);
  }

  void Kept(size_t slot, size_t bytes) {
    TakeFromLent(slot, bytes);
    cells_->idle_bytes[slot].Add(bytes);
    idle_bytes_ += bytes;
    cells_->class_idle_bytes_max[slot].RaiseTo(cells_->idle_bytes[slot].Load());
    cells_->idle_bytes_max.RaiseTo(idle_bytes_);
  }

  void FreedFromLent(size_t slot, size_t bytes) {
    TakeFromLent(slot, bytes);
    cells_->slab_free_bytes[slot].Add(bytes);
  }

  void FreedFromIdle(size_t slot, size_t bytes) {
    TakeFromIdle(slot, bytes);
    cells_->slab_free_bytes[slot].Add(bytes);
  }

  void Returned(size_t slot, size_t bytes) {
    assert(cells_->slab_free_bytes[slot].Load() >= bytes);
    cells_->slab_free_bytes[slot].Sub(bytes);
    cells_->returned_bytes[slot].Add(bytes);
  }

  void BroughtBack(size_t slot) { cells_->puts[slot].Add(1); }

  void Dropped(size_t slot, size_t bytes) {
    cells_->drops[slot].Add(1);
    cells_->drop_bytes[slot].Add(bytes);
  }

  void AdmissionDropped(size_t slot, size_t bytes) {
    cells_->admission_drops[slot].Add(1);
    cells_->admission_drop_bytes[slot].Add(bytes);
  }

  void Evicted(size_t slot, size_t bytes) {
    cells_->evictions[slot].Add(1);
    cells_->eviction_bytes[slot].Add(bytes);
  }

  void Decayed(size_t slot, size_t bytes) {
    cells_->decay_drops[slot].Add(1);
    cells_->decay_drop_bytes[slot].Add(bytes);
  }

  void Refused() { cells_->refusals.Add(1); }
  void PressureCalled() { cells_->pressure_calls.Add(1); }
  void PressureDropped(size_t bytes) { cells_->pressure_drop_bytes.Add(bytes); }
  void UnusedDropped(size_t bytes) {
    cells_->unused_calls.Add(1);
    cells_->unused_drop_bytes.Add(bytes);
  }

 private:
  [[gnu::cold, gnu::noinline]] void MoveTo(stats_internal::PageLayout* page) {
    stats_internal::PoolSlot* slot = stats_internal::TakePoolSlot(page, name_);
    if (slot != nullptr) {
      CopyCells(*cells_, slot->cells);
      cells_ = &slot->cells;
    }
    // In a child of fork() the page before is a private copy of the parent's, in which nobody else takes slots.
    page_ = page;
    slot_ = slot;
  }

  void Lend(size_t slot, ChunkKind kind, size_t bytes) {
    FollowPage();
    cells_->gets[slot].Add(1);
    cells_->kind_gets[static_cast<size_t>(kind)].Add(1);
    cells_->lent_bytes[slot].Add(bytes);
    lent_bytes_ += bytes;
    cells_->class_lent_bytes_max[slot].RaiseTo(cells_->lent_bytes[slot].Load());
    cells_->lent_bytes_max.RaiseTo(lent_bytes_);
  }

  void TakeFromIdle(size_t slot, size_t bytes) {
    assert(cells_->idle_bytes[slot].Load() >= bytes);
    cells_->idle_bytes[slot].Sub(bytes);
    idle_bytes_ -= bytes;
  }

  void TakeFromLent(size_t slot, size_t bytes) {
    FollowPage();
    assert(cells_->lent_bytes[slot].Load() >= bytes);
    if (!Mutated(Mutation::k_counter_not_decremented)) cells_->lent_bytes[slot].Sub(bytes);
    lent_bytes_ -= bytes;
  }

  const std::string name_;
  PoolCells own_cells_;
  PoolCells* cells_ = &own_cells_;
  stats_internal::PageLayout* page_ = nullptr;  // where a slot was asked for last
  stats_internal::PoolSlot* slot_ = nullptr;    // null: there was none
  uint64_t idle_bytes_ = 0;                     // sums over all slots
  uint64_t lent_bytes_ = 0;
};

}  // namespace strongbin
