// A mapping that chunks are carved from, and what the pool knows of each chunk.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "strongbin/pool/chunk_source.h"
#include "strongbin/pool/size_class.h"

namespace strongbin {

class ChunkPool;
class Slab;

enum class ChunkState : uint8_t { kFree, kIdle, kLent };

// What the pool knows of one chunk. Guarded by the pool's mutex, but for `slab`, which never changes.
struct ChunkRecord {
  static constexpr uint64_t kTickMask = (uint64_t{1} << 56) - 1;

  ChunkRecord* newer = nullptr;  // towards the top of the bin; only while idle
  ChunkRecord* older = nullptr;
  Slab* slab = nullptr;
  uint64_t tick : 56 = 0;  // pool time at which the chunk was lent or became idle
  ChunkState state : 8 = ChunkState::kFree;
};
static_assert(sizeof(ChunkRecord) == 32);

inline constexpr size_t kMaxChunksPerSlab = kSlabBytes / kMinChunkBytes;
using ChunkBits = std::array<uint64_t, kMaxChunksPerSlab / 64>;

// Calls visit(first, count) for each stretch of set bits.
template <class Visit>
void ForEachRun(const ChunkBits& bits, Visit&& visit) {
  size_t first = 0;
  size_t count = 0;
  for (size_t w = 0; w < bits.size(); w++) {
    const uint64_t word = bits[w];
    for (size_t at = 0; at < 64;) {
      const uint64_t rest = word >> at;
      const size_t zeros = rest == 0 ? 64 - at : static_cast<size_t>(std::countr_zero(rest));
      if (zeros > 0 && count > 0) {
        visit(first, count);
        count = 0;
      }
      at += zeros;
      if (at == 64) break;
      const size_t ones = static_cast<size_t>(std::countr_one(word >> at));
      if (count == 0) first = w * 64 + at;
      count += ones;
      at += ones;
    }
  }
  if (count > 0) visit(first, count);
}

// One piece of giving back: planned under the pool's mutex, carried out without it, booked under it again.
struct GiveBack {
  ChunkBits leaving{};    // chunks that nobody may carve meanwhile
  ChunkBits left{};       // those of them whose pages have left
  bool whole = false;     // the slab is to be unmapped
  bool unmapped = false;  // and it was
};

// One mapping of a source: a slab of equal chunks, or a single chunk where the source does not carve, or an oversize
// block.
//
// Owns its records, on the heap: nothing of it lies inside the chunks. The mapping itself is the pool's to give back.
// Thread safety: none; guarded by the pool's mutex. What Create was given never changes and may be read without it.
// Invariants: leaving and resident are meaningful for free chunks only; a free chunk that is leaving is never carved.
class Slab {
 public:
  // Where the next chunk can come from.
  enum class Room : uint8_t { kNone, kDiscarded, kResident };
  // How its pages are made: huge ones were asked for; small ones, which may be populated; small ones, each at its first
  // use.
  enum class Pages : uint8_t { kHuge, kSmall, kSmallAtFirstUse };

  // Null when the heap refuses. All chunks are free and not resident.
  static Slab* Create(ChunkPool* pool, char* base, size_t slot, size_t chunk_bytes, size_t chunk_count);
  static void Destroy(Slab* slab);

  ChunkPool* pool() const { return pool_; }
  char* base() const { return base_; }
  size_t bytes() const { return chunk_bytes_ * chunk_count_; }
  size_t slot() const { return slot_; }
  size_t chunk_bytes() const { return chunk_bytes_; }
  ChunkRecord* record(size_t index) { return Records() + index; }
  char* DataOf(const ChunkRecord* record) { return base_ + IndexOf(record) * chunk_bytes_; }

  // All free chunks are resident: the mapping was populated.
  void MarkResident();
  // Takes the lowest free chunk, out of resident room if there is any, and tells which it was. Null when there is none.
  ChunkRecord* Carve(bool* was_resident);
  // The chunk becomes free room that is still resident.
  void Free(ChunkRecord* record);
  Room FindRoom() const;
  bool AllFree() const { return free_count_ == chunk_count_; }

  // Chooses what can leave: the whole slab if all of it is free, else all whole pages that are free. False: nothing.
  // `may_unmap` false keeps the slab itself.
  bool PlanGiveBack(size_t page_bytes, bool may_unmap, GiveBack* give_back);
  // Books what was carried out; returns the bytes that left the resident size.
  size_t FinishGiveBack(const GiveBack& give_back);
  // Another thread may have taken the mapping away already.
  bool unmapping() const { return unmapping_; }
  // Ends what other threads had begun when this process was forked from them. A slab that was being unmapped stays as
  // it is: nobody carves from it or gives it back, since nobody knows whether its mapping is still there.
  void ForgetGiveBackAfterFork();

  template <class Visit>
  void ForEachIdle(Visit&& visit) {
    for (size_t i = 0; i < chunk_count_ && idle_count > 0; i++) {
      if (record(i)->state == ChunkState::kIdle) visit(record(i));
    }
  }

  // The pool's own notes.
  Pages pages = Pages::kSmall;  // set before the slab is linked, and then never changes
  size_t idle_count = 0;
  Room room = Room::kNone;  // which end of the list of slabs with room it is on
  bool queued = false;      // on some thread's list of slabs to give back; that thread alone may unmap it
  Slab* next_queued = nullptr;
  Slab* prev_slab = nullptr;  // all slabs of the pool
  Slab* next_slab = nullptr;
  Slab* prev_roomy = nullptr;  // slabs of a class with room
  Slab* next_roomy = nullptr;

 private:
  Slab(ChunkPool* pool, char* base, size_t slot, size_t chunk_bytes, size_t chunk_count)
      : pool_(pool), base_(base), slot_(slot), chunk_bytes_(chunk_bytes), chunk_count_(chunk_count) {}

  static size_t WordCount(size_t chunk_count) { return (chunk_count + 63) / 64; }
  // Behind the object lie its three bitmaps and then its records.
  uint64_t* Words(size_t map) { return reinterpret_cast<uint64_t*>(this + 1) + map * WordCount(chunk_count_); }
  const uint64_t* Words(size_t map) const { return const_cast<Slab*>(this)->Words(map); }
  uint64_t* Free() { return Words(0); }
  uint64_t* Resident() { return Words(1); }
  uint64_t* Leaving() { return Words(2); }
  ChunkRecord* Records() { return reinterpret_cast<ChunkRecord*>(Words(3)); }
  size_t IndexOf(const ChunkRecord* record) { return static_cast<size_t>(record - Records()); }

  ChunkPool* const pool_;
  char* const base_;
  const size_t slot_;
  const size_t chunk_bytes_;
  const size_t chunk_count_;
  size_t free_count_ = 0;
  size_t leaving_count_ = 0;
  bool unmapping_ = false;
};

}  // namespace strongbin
