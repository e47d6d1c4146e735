// What is behind a ChunkPool: its bins, its slabs and its books under one mutex.
#pragma once

#include <array>
#include <atomic>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>

#include "strongbin/pool/bin.h"
#include "strongbin/pool/chunk_pool.h"
#include "strongbin/pool/chunk_source.h"
#include "strongbin/pool/decay_marks.h"
#include "strongbin/pool/fork_guard.h"
#include "strongbin/pool/page_choice.h"
#include "strongbin/pool/pool_books.h"
#include "strongbin/pool/pool_timer.h"
#include "strongbin/pool/slab.h"
#include "strongbin/stats/watched_locks.h"

namespace strongbin {

// Moves chunks between lent, idle and free, and memory between the slabs and the source.
//
// Thread safety: public methods lock for themselves, but for those marked [lock]. The source and the heap are called
// without the mutex. Giving back: chunks become free room first (and may be carved again). Whoever freed them then
// plans, under the mutex, which whole pages leave; those are shut to carving while the system calls run, and are booked
// as slab_free until they are gone.
class ChunkPool::Impl final : private PoolTimer::Client {
 public:
  Impl(ChunkPool* pool, const ChunkPoolOptions& options);
  ~Impl() override;

  Chunk TakeIdle(size_t slot, ChunkKind kind);
  Chunk CarveFree(size_t slot, ChunkKind kind);
  Chunk MapAndCarve(size_t slot, size_t bytes, ChunkKind kind);

  enum class Purpose : uint8_t { kKeep, kDrop };
  // Takes back chunks of this pool. Returns the bytes that the cap did not allow to keep.
  size_t TakeBack(std::span<const Chunk> chunks, Purpose purpose);

  enum class SweepReason : uint8_t { kPressure, kUnused, kRefused };
  // Empties the bins slab by slab, and gives back what an earlier refusal kept here. Returns the bytes that left.
  size_t Sweep(SweepReason reason);

  // The pressure hook.
  size_t RelievePressure();
  size_t DropUnused();
  size_t DropDecayed();
  bool SetDecayMs(uint64_t decay_ms);
  size_t MakeAhead();

  // Acquire and release, so that the last to go sees what all others have given back.
  void AddUser() { user_count_.fetch_add(1, std::memory_order_relaxed); }
  void RemoveUser(PoolAtEnd at_end) {
    const bool was_last = user_count_.fetch_sub(1, std::memory_order_acq_rel) == 1;
    if (at_end == PoolAtEnd::kDrop || (was_last && at_end == PoolAtEnd::kDropWhenLast)) DropUnused();
  }

  void Tell(PoolEvent::Type type, size_t bytes) const noexcept;
  // False: there is nobody to tell, or the refusal came up while this thread was telling another.
  bool TellRefused(size_t bytes);

  // Calls read_or_change(books) under the mutex.
  template <class Visit>
  auto WithBooks(Visit&& read_or_change) {
    const std::lock_guard lock(mutex_);
    return read_or_change(books_);
  }

  // Relaxed: numbers that stand alone; the pool's state is guarded by the mutex.
  size_t cap_bytes() const { return cap_bytes_.load(std::memory_order_relaxed); }
  void SetCapBytes(size_t cap_bytes);
  void SetColdStart(const ColdStart& cold_start) {
    huge_pages_.store(cold_start.huge_pages, std::memory_order_relaxed);
    populate_.store(cold_start.populate, std::memory_order_relaxed);
    ahead_.store(cold_start.ahead, std::memory_order_relaxed);
  }

 private:
  using Mutex = WatchedMutex<WatchedLock::k_pool>;
  using Lock = std::unique_lock<Mutex>;

  // Work under the mutex is cut into pieces of this many chunks (or slabs looked at), a few microseconds each, so that
  // a large release or drop does not hold up the writers.
  static constexpr size_t kChunksPerLock = 256;
  static constexpr size_t kSlabsPerLock = 64;
  // From here on a class is in great use: it gets huge pages whatever its chunks, and slabs ahead.
  static constexpr size_t kGreatUseBytes = 2 * kSlabBytes;

  // A list through Slab::next_queued of the slabs in which one thread has freed chunks.
  struct GiveBackQueue {
    Slab* first = nullptr;
  };

  enum class MadeBy : uint8_t { kUser, kPoolsThread };
  Slab::Pages ChoosePages(size_t slot, size_t chunk_bytes, MadeBy made_by);  // [lock]
  // A slab of the class, not linked; null when memory is refused.
  Slab* MapSlab(size_t slot, size_t chunk_bytes, Slab::Pages pages);
  void UnmapSlab(Slab* slab);
  void Populate(const Chunk& chunk);
  // Whether the pool's thread is to be asked for a slab of the class.
  bool WishAhead(size_t slot);  // [lock]
  void AskForThread();
  // One slab, if it is asked for; then the wish is open until enough lies ready. Returns its bytes.
  size_t MakeSlabAhead(size_t slot);
  void EnqueueUnused(size_t slot, GiveBackQueue* queue);                              // [lock]
  Chunk Lend(ChunkRecord* record);                                                    // [lock]
  ChunkRecord* Carve(size_t slot, ChunkKind kind, bool* was_resident);                // [lock]
  void KeepOrFree(ChunkRecord* record, GiveBackQueue* queue, size_t* refused_bytes);  // [lock]
  bool MakeRoom(ChunkRecord* incoming, GiveBackQueue* queue);                         // [lock]
  ChunkRecord* LongestIdle(size_t except_slot, uint64_t before_tick);                 // [lock]
  void FreeLent(ChunkRecord* record);                                                 // [lock]
  void FreeIdle(ChunkRecord* record);                                                 // [lock]
  void UpdateRoom(Slab* slab);                                                        // [lock]
  void Enqueue(Slab* slab, GiveBackQueue* queue);                                     // [lock]
  size_t GiveBackAll(GiveBackQueue* queue, Lock* lock);                               // [lock]
  // Lets go of the mutex for the system calls. The slab may be gone afterwards. Returns the bytes that left.
  size_t GiveBackSlab(Slab* slab, Lock* lock);  // [lock]
  void CarryOut(Slab* slab, GiveBack* give_back);
  void LinkSlab(Slab* slab);    // [lock]
  void UnlinkSlab(Slab* slab);  // [lock]
  uint64_t OnTimer() override;
  uint64_t NowNs() const { return clock_ns_ ? clock_ns_() : PoolTimer::NowNs(); }
  static void RepairAfterFork(void* impl);

  ChunkPool* const pool_;
  std::atomic<size_t> cap_bytes_;
  std::atomic<bool> huge_pages_;
  std::atomic<bool> populate_;
  std::atomic<bool> ahead_;
  const bool wipes_;
  const std::unique_ptr<ChunkSource> own_source_;
  ChunkSource* const source_;
  const std::function<void(const PoolEvent&)> on_event_;
  const std::function<uint64_t()> clock_ns_;
  std::atomic<bool> decays_{false};       // relaxed: whether the time of a release matters
  std::atomic<bool> knows_timer_{false};  // relaxed, for ever: who asked the timer sets it before the pool ends
  std::atomic<uint64_t> user_count_{0};
  std::atomic<bool> pressure_running_{false};  // relaxed: keeps a second sweep away and guards nothing

  Mutex mutex_;
  // All below is guarded by mutex_.
  PoolBooks books_;
  uint64_t tick_ = 0;  // advances with every chunk that is lent or comes back
  DecayMarks decay_marks_;
  std::array<Bin, kSizeClassCount> bins_;
  // Per class, the slabs with room to carve: those whose room is still resident come first.
  struct RoomyList {
    Slab* first = nullptr;
    Slab* last = nullptr;
  };
  std::array<RoomyList, kClassSlotCount> roomy_;
  Slab* first_slab_ = nullptr;
  Slab* last_slab_ = nullptr;
  size_t slab_count_ = 0;
  std::bitset<kSizeClassCount> wished_ahead_;
  PageChoice page_choice_;
  // Classes that have had no new slab since the pressure hook gave all room back.
  std::bitset<kClassSlotCount> under_pressure_;
  uint64_t sweep_count_ = 0;

  ForkGuard fork_guard_;  // last, so that fork() lets go of the mutex before it ends
};

}  // namespace strongbin
